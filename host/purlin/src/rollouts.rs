//! Roll-outs (SPEC §9): changed documents on their way to the environments of a state.
//!
//! A roll-out is recorded once, beside the environments: the documents, which environments they concern, in which
//! waves. From then on each turn of any host ([`crate::Fleet`]) puts them into the documents of the environments
//! that are open, and the environment says in its own history that it has them. Everything else follows from
//! what the environments say: how far the roll-out is, whether the next wave opens, and whether it stops.

mod desired;
mod plan;
mod report;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use purlin_model::Diagnostic;
use purlin_state::{
    AuditAction, Change, Environment, EnvironmentSummary, MarkState, MayLose, Rollout, RolloutMark,
    RolloutStatus,
};
use sha2::{Digest as _, Sha256};

pub(crate) use self::desired::{Desired, Rollouts};
pub(crate) use self::plan::{ChangedDocuments, RolloutPlan, Substituted};
use self::report::Next;
pub use self::report::{RolloutEnvironment, RolloutReport, RolloutState};
use crate::archive::Archive;
use crate::audited::Act;
use crate::impact::{EnvironmentImpact, Proposal};
use crate::selection::PRODUCTION;
use crate::{Documents, Error, Purlin, SelectedEnvironment, Session};

/// How many roll-outs that are over a state keeps.
const KEPT: usize = 20;

/// How long to wait for others who change the roll-outs.
const OTHERS: Duration = Duration::from_secs(10);

/// How a roll-out goes through its environments. Those of the type `production` come last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waves {
    /// All at once.
    #[default]
    Together,
    /// This many environments at a time.
    Of(usize),
    /// This part of all environments at a time, in percent.
    Percent(u8),
    /// One type of environments after the other, in the order of their names.
    ByType,
}

/// The options of [`Purlin::start_rollout`].
#[derive(Clone, Debug, Default)]
pub struct RolloutOptions {
    /// How it goes through its environments.
    pub waves: Waves,
    /// The number of waves after which it pauses once.
    pub pause_after: Option<u32>,
    /// It stops once more environments than this have failed.
    pub max_failures: u32,
    /// The reason, for people.
    pub reason: Option<Arc<str>>,
    /// Whether data may be lost.
    pub may_lose: bool,
    /// Whether it takes the place of roll-outs about the same files that are not over.
    pub supersede: bool,
}

/// What to do with a roll-out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutChange {
    /// Begin no more environments.
    Pause,
    /// Go on. After a pause between waves, the next wave opens; environments that failed are tried again.
    /// `may_lose` are the environments in which data may be lost from now on, in addition to those so far.
    Resume {
        /// The environments.
        may_lose: MayLose,
    },
    /// Restore the earlier documents in each environment that still has those of the roll-out.
    Undo {
        /// The environments in which data may be lost.
        may_lose: MayLose,
    },
}

impl Purlin {
    /// Records a roll-out of changed documents to these environments, as far as they were deployed from these
    /// files. `impacts` are the effects of the documents on them ([`Purlin::impact`]). Its first wave is open when
    /// this returns. If a roll-out that is not over brings the same documents to all of them, returns that one.
    ///
    /// # Errors
    /// [`Error::Documents`] if no environment uses the documents, if more environments would reject them than
    /// may fail, or if another roll-out is about the same files; [`Error::State`] if it cannot be recorded;
    /// [`Error::Archive`] if a newer program recorded documents.
    pub async fn start_rollout(
        &self,
        proposal: &Proposal,
        impacts: &[(SelectedEnvironment, EnvironmentImpact)],
        options: RolloutOptions,
    ) -> Result<Rollout, Error> {
        let session = self.begin_fleet().await?;
        let known = session.snapshot().await?.rollouts;
        let number = known.last().map_or(1, |last| last.number.saturating_add(1));
        let mut plan = RolloutPlan::new(number, proposal.changed.clone(), proposal.accept_missing.clone());
        for (SelectedEnvironment { known: summary, kind }, _) in impacts {
            let Some(last) = self.last_deployed_of(summary).await? else { continue };
            plan.add(&summary.environment, kind.clone().unwrap_or_default(), last.archive()?);
        }
        let total = plan.environments().len();
        if total == 0 {
            let none = Diagnostic::error(
                "no-environment",
                "no environment that is selected was deployed from these files",
            );
            return Err(Error::Documents(vec![none.help(
                "`purlin env list` shows the environments, and `purlin impact` what a change concerns",
            )]));
        }
        check_rejected(impacts, total, options.max_failures)?;
        let waves = divide(&mut plan, options.waves);
        let (mut supersedes, mut in_the_way) = (Vec::new(), Vec::new());
        let mut plans = HashMap::new();
        for other in known.iter().filter(|other| other.status != RolloutStatus::Undone) {
            let others = self.rollout_plan(other, &mut plans).await?;
            if !other.status.is_over() && !other.status.is_undone() && others.brings_all_of(&plan) {
                // It was begun by a command that was interrupted, for example.
                session.release().await?;
                return Ok(other.clone());
            }
            if others.overlaps(&plan) {
                supersedes.push(other.number);
                in_the_way.extend((!other.status.is_over()).then_some(other.number));
            }
        }
        if let (Some(number), false) = (in_the_way.first(), options.supersede) {
            let message = format!("roll-out {number} is about the same files, and is not over");
            let help = format!(
                "`purlin rollout status {number}` shows how far it is; with `--supersede`, this one takes its place in each environment that both cover"
            );
            return Err(Error::Documents(vec![Diagnostic::error("rollout-in-the-way", message).help(help)]));
        }
        let bytes = plan.encode();
        let holder = self.holder_now(&session);
        let rollout = Rollout {
            number,
            changed: holder.clone(),
            holder,
            reason: options.reason,
            plan: Sha256::digest(&bytes).into(),
            status: RolloutStatus::Running,
            why: None,
            waves,
            opened: 1,
            pause_after: options.pause_after,
            max_failures: options.max_failures,
            excused: Vec::new(),
            may_lose: if options.may_lose { MayLose::Everywhere } else { MayLose::Nowhere },
            supersedes,
        };
        let mut changes = vec![Change::Roll { rollout: Box::new(rollout.clone()), plan: Some(bytes) }];
        let over = known.iter().rev().filter(|one| one.status.is_over());
        changes.extend(over.skip(KEPT).map(|old| Change::ForgetRollout(Box::new(old.clone()))));
        let act = Act::new(AuditAction::StartRollout, [number.to_string()]);
        session.lock.record(act, changes).await?;
        session.release().await?;
        let first = plan.environments().iter().filter(|one| one.wave == 0);
        let first: Vec<Environment> = first.map(plan::CoveredEnvironment::environment).collect();
        self.store().await?.request_turns(&first, false).await?;
        Ok(rollout)
    }

    /// The roll-outs of the state, by number.
    ///
    /// # Errors
    /// [`Error::State`] if they cannot be read.
    pub async fn rollouts(&self) -> Result<Vec<Rollout>, Error> {
        Ok(self.snapshot(&Environment::fleet()).await?.rollouts)
    }

    /// How far a roll-out is; `None` if there is none with this number.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be read; [`Error::Archive`] if a newer program wrote it.
    pub async fn rollout(&self, number: u64) -> Result<Option<RolloutReport>, Error> {
        let mut plans = HashMap::new();
        let mut rollouts = self.known_rollouts(&mut plans).await?;
        let place = rollouts.all.iter().position(|one| one.rollout.number == number);
        let Some(place) = place else { return Ok(None) };
        for known in rollouts.all.iter_mut().skip(place).filter(|known| known.plan.is_none()) {
            known.plan = Some(self.rollout_plan(&known.rollout, &mut plans).await?);
        }
        let summaries = self.known_environments().await?;
        let by_name = by_name(&summaries);
        Ok(rollouts.all.get(place).map(|known| RolloutReport::new(known, &rollouts, &by_name)))
    }

    /// Changes the status of a roll-out. Returns it as it is then; `None` if there is none with this number.
    ///
    /// # Errors
    /// [`Error::Documents`] if the change does not fit its status; [`Error::State`] if it cannot be recorded.
    pub async fn change_rollout(
        &self,
        number: u64,
        change: &RolloutChange,
    ) -> Result<Option<Rollout>, Error> {
        let session = self.begin_fleet().await?;
        let rollouts = session.snapshot().await?.rollouts;
        let Some(rollout) = rollouts.into_iter().find(|one| one.number == number) else {
            return Ok(None);
        };
        let mut changed = Rollout { changed: self.holder_now(&session), ..changed(rollout, change)? };
        if let (RolloutChange::Resume { .. }, Some(report)) = (change, self.rollout(number).await?) {
            let failed = report.environments.into_iter().filter(|one| one.state == RolloutState::Failed);
            changed.excused = failed.map(|one| one.environment).collect();
        }
        let roll = Change::Roll { rollout: Box::new(changed.clone()), plan: None };
        let action = match change {
            RolloutChange::Pause => AuditAction::PauseRollout,
            RolloutChange::Resume { .. } => AuditAction::ResumeRollout,
            RolloutChange::Undo { .. } => AuditAction::UndoRollout,
        };
        session.lock.record(Act::new(action, [number.to_string()]), vec![roll]).await?;
        session.release().await?;
        if let Some(report) = self.rollout(number).await? {
            let environments: Vec<Environment> = match change {
                RolloutChange::Pause => Vec::new(),
                // Those that failed, or need consent, are tried again.
                RolloutChange::Resume { .. } | RolloutChange::Undo { .. } => {
                    let left = report.environments.into_iter().filter(|one| !one.state.is_settled());
                    left.map(|one| one.environment).collect()
                }
            };
            self.store().await?.request_turns(&environments, false).await?;
        }
        Ok(Some(changed))
    }

    /// Draws the conclusions from the state of the environments: opens the next wave of a roll-out, stops it, or
    /// ends it. Returns the environments whose turn should come soon.
    ///
    /// # Errors
    /// [`Error::State`] if the state cannot be read or written; also if another process draws them now.
    pub(crate) async fn advance_rollouts(&self, rollouts: &Rollouts) -> Result<Vec<Environment>, Error> {
        let mut soon = Vec::new();
        if rollouts.all.iter().all(|known| known.plan.is_none()) {
            return Ok(soon);
        }
        let summaries = self.known_environments().await?;
        let by_name = by_name(&summaries);
        let mut now = rollouts.clone();
        // What follows for one may matter to those that it took the place of.
        for _ in 0..=now.all.len() {
            let mut has_changed = false;
            for place in 0..now.all.len() {
                let Some(known) = now.all.get(place).filter(|known| known.plan.is_some()) else { continue };
                let (seen, mut report) = (known.rollout.clone(), RolloutReport::new(known, &now, &by_name));
                match report.next() {
                    Next::Wait => continue,
                    Next::Open => report.rollout.opened = report.rollout.opened.saturating_add(1),
                    Next::Becomes(status, why) => {
                        (report.rollout.status, report.rollout.why) = (status, why);
                    }
                }
                self.conclude(&seen, &report.rollout).await?;
                if let Some(known) = now.all.get_mut(place) {
                    known.rollout = report.rollout;
                }
                has_changed = true;
            }
            if !has_changed {
                break;
            }
        }
        for known in now.all.iter().filter(|known| known.plan.is_some()) {
            soon.extend(RolloutReport::new(known, &now, &by_name).pending());
        }
        Ok(soon)
    }

    /// Records what follows for a roll-out, unless somebody has changed it meanwhile.
    async fn conclude(&self, seen: &Rollout, now: &Rollout) -> Result<(), Error> {
        let session = self.begin_fleet().await?;
        let known = session.snapshot().await?.rollouts;
        if known.iter().any(|one| one == seen) {
            let changed = match seen.status == now.status {
                true => now.changed.clone(),
                false => self.holder_now(&session),
            };
            let rollout = Box::new(Rollout { changed, ..now.clone() });
            let act = Act::new(AuditAction::AdvanceRollout, [rollout.number.to_string()]);
            session.lock.record(act, vec![Change::Roll { rollout, plan: None }]).await?;
        }
        session.release().await
    }

    /// The lock of all roll-outs. Others have it for a moment only.
    async fn begin_fleet(&self) -> Result<Session<'_>, Error> {
        let wait = self.lock_timeout.max(OTHERS);
        self.begin_within(&Environment::fleet(), wait, &Default::default()).await
    }

    fn holder_now(&self, session: &Session<'_>) -> purlin_state::Holder {
        purlin_state::Holder { since: (session.clock())(), ..self.holder() }
    }
}

impl Session<'_> {
    /// What an environment says of roll-outs in the entry of a deployment that somebody made from these
    /// documents: they win, and roll-outs that they do not have leave the environment alone. Without
    /// documents, it says what it said before.
    pub(crate) async fn marks_after(
        &self,
        documents: Option<&[u8]>,
        before: &Arc<[RolloutMark]>,
    ) -> Result<Arc<[RolloutMark]>, Error> {
        if let Some(marks) = &self.rollouts {
            return Ok(Arc::clone(marks));
        }
        let Some(documents) = documents else { return Ok(Arc::clone(before)) };
        // Who deploys what is deployed already decides nothing.
        let last = self.purlin.store().await?.last_from_documents(self.environment()).await?;
        if last.and_then(|last| last.documents).is_some_and(|digest| Sha256::digest(documents)[..] == digest)
        {
            return Ok(Arc::clone(before));
        }
        let mut marks = Vec::new();
        let mut plans = HashMap::new();
        let rollouts = self.purlin.rollouts().await?;
        for rollout in &rollouts {
            let had = before.iter().find(|mark| mark.number == rollout.number);
            // Once what took its place is undone, it may go on.
            let mut later = rollouts.iter().filter(|later| later.supersedes.contains(&rollout.number));
            let may_go_on = later.any(|later| later.status != RolloutStatus::Undone);
            if had.is_none() && rollout.status.is_over() && !may_go_on {
                continue;
            }
            let plan = self.purlin.rollout_plan(rollout, &mut plans).await?;
            if plan.find(self.environment()).is_none() {
                continue;
            }
            let substituted = plan.changed.substitute(&mut Archive::read(documents)?);
            let is_in = matches!(substituted, Substituted::Same);
            let state = match (is_in, rollout.status.is_undone()) {
                (true, false) => MarkState::Applied,
                (false, true) if had.is_some_and(|mark| mark.state != MarkState::Left) => MarkState::Undone,
                _ => MarkState::Left,
            };
            desired::mark(&mut marks, rollout.number, state);
        }
        Ok(marks.into())
    }

    /// What the environment says of roll-outs now.
    pub(crate) async fn marks_before(&self) -> Result<Arc<[RolloutMark]>, Error> {
        let history = self.purlin.history(self.environment()).await?;
        Ok(history.into_iter().next_back().map(|latest| latest.rollouts).unwrap_or_default())
    }

    /// The roll-outs that an environment leaves with a deployment from these documents, by number: they cover it,
    /// and the documents do not have what they bring.
    ///
    /// # Errors
    /// [`Error::State`] if they cannot be read.
    pub(crate) async fn left_rollouts(&self, documents: &Documents) -> Result<Vec<u64>, Error> {
        if self.rollouts.is_some() || self.purlin.rollouts().await?.is_empty() {
            return Ok(Vec::new());
        }
        let before = self.marks_before().await?;
        let marks = self.marks_after(Some(&documents.archive()), &before).await?;
        let is_new = |mark: &&RolloutMark| mark.state == MarkState::Left && !before.contains(mark);
        Ok(marks.iter().filter(is_new).map(|mark| mark.number).collect())
    }
}

fn by_name(summaries: &[EnvironmentSummary]) -> HashMap<&Environment, &EnvironmentSummary> {
    summaries.iter().map(|summary| (&summary.environment, summary)).collect()
}

/// Checks that no more environments reject the documents than may fail.
fn check_rejected(
    impacts: &[(SelectedEnvironment, EnvironmentImpact)],
    all: usize,
    max_failures: u32,
) -> Result<(), Error> {
    let rejected = impacts.iter().filter_map(|(selected, impact)| match impact {
        EnvironmentImpact::Rejected(rejections) => Some((&selected.known.environment, rejections.first())),
        _ => None,
    });
    let rejected: Vec<_> = rejected.collect();
    let Some((first, why)) = rejected.first().filter(|_| rejected.len() > max_failures as usize) else {
        return Ok(());
    };
    let why = why.map(|rejection| &rejection.fault);
    let message = format!(
        "{} of {all} environments reject these documents; {first}: {}",
        rejected.len(),
        why.map_or("rejected", |fault| &fault.message)
    );
    let help = "`purlin impact` shows each; `--max-failures N` begins all the same, and leaves those alone";
    let help = match why.and_then(|fault| fault.help.as_deref()) {
        Some(own) => format!("{own}. {help}"),
        None => help.to_owned(),
    };
    Err(Error::Documents(vec![Diagnostic::error("rollout-rejected", message).help(help)]))
}

/// Puts the environments into their order, and gives each its wave. Returns the number of waves.
fn divide(plan: &mut RolloutPlan, waves: Waves) -> u32 {
    let place = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let total = plan.environments().len();
    let by_type = waves == Waves::ByType;
    plan.sort_by_key(|one| {
        let kind = by_type.then(|| Arc::clone(&one.kind));
        (&*one.kind == PRODUCTION, kind, one.environment())
    });
    let mut kinds: Vec<Arc<str>> = plan.environments().iter().map(|one| Arc::clone(&one.kind)).collect();
    kinds.dedup();
    let size = match waves {
        Waves::Together | Waves::ByType => total,
        Waves::Of(size) => size,
        Waves::Percent(percent) => (total * usize::from(percent)).div_ceil(100),
    };
    let size = size.clamp(1, total.max(1));
    plan.divide(|number, one| match by_type {
        true => place(kinds.iter().position(|kind| *kind == one.kind).unwrap_or(0)),
        false => place(number / size),
    });
    plan.environments().last().map_or(0, |last| last.wave.saturating_add(1))
}

/// A roll-out with another status.
fn changed(rollout: Rollout, change: &RolloutChange) -> Result<Rollout, Error> {
    use RolloutStatus::{Done, Paused, Running, Stopped, Undoing, Undone};
    let wrong = |what: &str| {
        let message = format!("roll-out {} {what}", rollout.number);
        Err(Error::Documents(vec![Diagnostic::error("rollout-status", message)]))
    };
    let more = |may_lose: &MayLose| match (&rollout.may_lose, may_lose) {
        (MayLose::In(before), MayLose::In(more)) => MayLose::In(
            before.iter().chain(more.iter().filter(|one| !before.contains(one))).cloned().collect(),
        ),
        (before, MayLose::Nowhere) => before.clone(),
        (MayLose::Everywhere, _) => MayLose::Everywhere,
        (_, more) => more.clone(),
    };
    Ok(match (change, rollout.status) {
        (RolloutChange::Pause, Running) => Rollout { status: Paused, why: None, ..rollout },
        (RolloutChange::Pause, Stopped) => return wrong("has stopped already"),
        (RolloutChange::Pause, Undoing) => return wrong("is being undone, which is not paused"),
        (RolloutChange::Pause, Done) => return wrong("is done"),
        (RolloutChange::Pause | RolloutChange::Resume { .. }, Undone) => return wrong("is undone"),
        // Whoever repeats a command that was interrupted finds what it was to do.
        (RolloutChange::Pause, Paused)
        | (RolloutChange::Resume { .. }, Done)
        | (RolloutChange::Undo { .. }, Undone) => rollout,
        (RolloutChange::Resume { may_lose }, Running | Paused | Stopped | Undoing) => {
            let may_lose = more(may_lose);
            let is_between = rollout.status == Paused && rollout.pause_after == Some(rollout.opened);
            // The pause was once.
            let pause_after = rollout.pause_after.filter(|_| !is_between);
            let status = if rollout.status == Undoing { Undoing } else { Running };
            Rollout { status, why: None, pause_after, may_lose, ..rollout }
        }
        (RolloutChange::Undo { may_lose }, Undoing) => Rollout { may_lose: more(may_lose), ..rollout },
        (RolloutChange::Undo { may_lose }, Running | Paused | Stopped | Done) => {
            Rollout { status: Undoing, why: None, may_lose: may_lose.clone(), ..rollout }
        }
    })
}
