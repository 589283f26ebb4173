//! How far a roll-out is: what became of it in each environment, and what follows from that.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::ResourceStatus;
use purlin_state::{Environment, EnvironmentSummary, MarkState, Outcome, Rollout, RolloutStatus};
use serde::Serialize;

use super::desired::{KnownRollout, Rollouts};

/// What became of a roll-out in an environment.
///
/// It serialises in the published, versioned form: `state` of `rollout status` in
/// `docs/src/reference/json.md`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum RolloutState {
    /// Resources failed, or the documents with it were rejected.
    Failed,
    /// Something in it is not done without consent.
    NeedsConsent,
    /// It has the documents, and something in it is under way, waits or is paused.
    InProgress,
    /// It is closed to deployments.
    Closed,
    /// It has yet to be reached.
    Pending,
    /// It has the documents of the roll-out, and matches them.
    Matching,
    /// Somebody has deployed other documents there since: the roll-out leaves it alone.
    Left,
    /// A later roll-out about the same documents took its place there.
    Superseded,
    /// The earlier documents are restored.
    Undone,
    /// It had the documents of the roll-out before, and has them still.
    Unchanged,
    /// It was never reached before the roll-out was undone.
    Unreached,
    /// It was destroyed, or forgotten.
    Gone,
}

impl RolloutState {
    /// The word, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// All of them, those that need somebody first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Whether the roll-out has nothing more to do there.
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Failed | Self::NeedsConsent | Self::InProgress | Self::Closed | Self::Pending)
    }
}

/// An environment that a roll-out covers.
///
/// It serialises in the published, versioned form.
#[derive(Clone, Debug, Serialize)]
pub struct RolloutEnvironment {
    /// The environment.
    #[serde(flatten)]
    pub environment: Environment,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Arc<str>,
    /// Its wave, from 1.
    pub wave: u32,
    /// What became of the roll-out there.
    pub state: RolloutState,
    /// Why it failed, as far as one sentence says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
}

/// How far a roll-out is.
#[derive(Clone, Debug)]
pub struct RolloutReport {
    /// The roll-out.
    pub rollout: Rollout,
    /// The environments that it covers, in the order of the waves.
    pub environments: Vec<RolloutEnvironment>,
}

/// What follows from the state of the environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// The next wave may be reached.
    Open,
    /// The roll-out has this status now, for this reason.
    Becomes(RolloutStatus, Option<Arc<str>>),
}

impl RolloutReport {
    pub(super) fn new(
        known: &KnownRollout,
        rollouts: &Rollouts,
        summaries: &HashMap<&Environment, &EnvironmentSummary>,
    ) -> Self {
        let rollout = known.rollout.clone();
        let covered = known.plan.iter().flat_map(|plan| plan.environments());
        let environments = covered.map(|covered| {
            let environment = covered.environment();
            let (state, why) = match summaries.get(&environment) {
                Some(summary) if !summary.is_destroyed() => {
                    match state(&rollout, covered.had_it, rollouts, summary) {
                        (RolloutState::Pending, _) if summary.closed_by.is_some() => {
                            (RolloutState::Closed, None)
                        }
                        state => state,
                    }
                }
                _ => (RolloutState::Gone, None),
            };
            RolloutEnvironment {
                kind: Arc::clone(&covered.kind),
                wave: covered.wave.saturating_add(1),
                state,
                why,
                environment,
            }
        });
        Self { environments: environments.collect(), rollout }
    }

    /// The number of environments in each state that occurs, those that need somebody first. They add up to
    /// all environments.
    pub fn counts(&self) -> Vec<(RolloutState, usize)> {
        let count = |state: &RolloutState| {
            (*state, self.environments.iter().filter(|one| one.state == *state).count())
        };
        RolloutState::ALL.iter().map(count).filter(|(_, count)| *count > 0).collect()
    }

    /// Whether turns can do nothing more at the moment: what is left needs somebody.
    pub fn is_settled(&self) -> bool {
        let moves =
            |one: &RolloutEnvironment| matches!(one.state, RolloutState::Pending | RolloutState::InProgress);
        !self.open_environments().any(moves)
    }

    /// The environments that turns may change now.
    pub fn opened(&self) -> HashSet<Environment> {
        self.open_environments().map(|one| one.environment.clone()).collect()
    }

    fn open_environments(&self) -> impl Iterator<Item = &RolloutEnvironment> {
        self.environments.iter().filter(|one| match self.rollout.status {
            RolloutStatus::Running => one.wave <= self.rollout.opened,
            RolloutStatus::Undoing => true,
            _ => false,
        })
    }

    /// Whether what follows from this has yet to be recorded, such as that the next wave opens.
    pub fn next_is_due(&self) -> bool {
        self.next() != Next::Wait
    }

    /// Whether each environment has it, or is no longer its own.
    pub fn is_complete(&self) -> bool {
        self.environments.iter().all(|one| one.state.is_settled())
    }

    /// The environments of the open waves that a turn has yet to reach.
    pub(super) fn pending(&self) -> Vec<Environment> {
        let pending = self.open_environments().filter(|one| one.state == RolloutState::Pending);
        pending.map(|one| one.environment.clone()).collect()
    }

    /// What follows from the state of the environments.
    pub(super) fn next(&self) -> Next {
        let rollout = &self.rollout;
        let all_settled = self.is_complete();
        let has_pending = || self.environments.iter().any(|one| one.state == RolloutState::Pending);
        match rollout.status {
            RolloutStatus::Undoing if all_settled => Next::Becomes(RolloutStatus::Undone, None),
            // What had taken its place there was taken back since. A resource that fails later is another matter:
            // nobody agreed to anything about that.
            RolloutStatus::Undone if has_pending() => Next::Becomes(RolloutStatus::Undoing, None),
            RolloutStatus::Done if has_pending() => Next::Becomes(RolloutStatus::Running, None),
            RolloutStatus::Running if all_settled => Next::Becomes(RolloutStatus::Done, None),
            RolloutStatus::Running => {
                let failed = self.environments.iter().filter(|one| one.state == RolloutState::Failed);
                let failed = failed.filter(|one| !rollout.excused.contains(&one.environment)).count();
                if failed > rollout.max_failures as usize {
                    let what = if failed == 1 { "environment" } else { "environments" };
                    let why = format!("{failed} {what} failed");
                    return Next::Becomes(RolloutStatus::Stopped, Some(why.into()));
                }
                let open = self.environments.iter().filter(|one| one.wave <= rollout.opened);
                let is_through =
                    |one: &RolloutEnvironment| one.state.is_settled() || one.state == RolloutState::Failed;
                if rollout.opened >= rollout.waves || !open.clone().all(is_through) {
                    return Next::Wait;
                }
                match rollout.pause_after {
                    Some(after) if after == rollout.opened => {
                        let why = match after {
                            1 => "it was to pause after the first wave".to_owned(),
                            after => format!("it was to pause after {after} waves"),
                        };
                        Next::Becomes(RolloutStatus::Paused, Some(why.into()))
                    }
                    _ => Next::Open,
                }
            }
            _ => Next::Wait,
        }
    }
}

/// What became of a roll-out in an environment that exists.
fn state(
    rollout: &Rollout,
    had_it: bool,
    rollouts: &Rollouts,
    summary: &EnvironmentSummary,
) -> (RolloutState, Option<Arc<str>>) {
    use RolloutState::{Failed, Left, Matching, Pending, Superseded, Unchanged, Undone, Unreached};
    let marks = summary.last.as_ref().map_or(&[][..], |last| &last.rollouts);
    let of = |number: u64| marks.iter().find(|mark| mark.number == number).map(|mark| &mark.state);
    let superseding = rollouts.superseding(rollout.number, &summary.environment, marks);
    let mark = of(rollout.number);
    if let Some(later) = superseding
        && match mark {
            Some(MarkState::Left) => of(later.number).is_some(),
            // One that is taken back waits for the later one, which brings its own.
            Some(MarkState::Applied) => of(later.number).is_some() || rollout.status.is_undone(),
            _ => true,
        }
    {
        return (Superseded, None);
    }
    match mark {
        Some(MarkState::Left) => (Left, None),
        Some(MarkState::Refused(_)) if rollout.status.is_undone() => (Unreached, None),
        Some(MarkState::Refused(why)) => (Failed, Some(Arc::clone(why))),
        Some(MarkState::Applied) if rollout.status.is_undone() => (Pending, None),
        Some(MarkState::Applied) => progress(summary, Matching),
        Some(MarkState::Undone) if had_it => progress(summary, Unchanged),
        Some(MarkState::Undone) => progress(summary, Undone),
        None if rollout.status.is_undone() => (Unreached, None),
        None => (Pending, None),
    }
}

/// How far an environment is that has the documents; `done` if it matches them.
fn progress(summary: &EnvironmentSummary, done: RolloutState) -> (RolloutState, Option<Arc<str>>) {
    use ResourceStatus::{Drifted, Failed, Incomplete, NeedsConsent, Paused};
    let has = |status: ResourceStatus| summary.unready.contains_key(&status);
    if has(Failed) || has(Incomplete) {
        let count: usize = [Failed, Incomplete].iter().filter_map(|status| summary.unready.get(status)).sum();
        let what = if count == 1 { "resource" } else { "resources" };
        return (RolloutState::Failed, Some(format!("{count} {what} failed").into()));
    }
    if has(NeedsConsent) {
        return (RolloutState::NeedsConsent, None);
    }
    let ended = summary.last.as_ref().is_some_and(|last| last.outcome != Outcome::Unfinished);
    // What somebody paused, or wants only reported, stays as it is.
    let rest = summary.unready.keys().filter(|status| !matches!(status, Paused | Drifted));
    match ended && rest.count() == 0 {
        true => (done, None),
        false => (RolloutState::InProgress, None),
    }
}

#[cfg(test)]
mod tests {
    use purlin_state::{Holder, MayLose};

    use super::*;

    fn report(status: RolloutStatus, states: &[RolloutState]) -> RolloutReport {
        let by = Holder { user: "ada".into(), host: "h".into(), pid: 1, command: "purlin".into(), since: 1 };
        let rollout = Rollout {
            number: 1,
            holder: by.clone(),
            reason: None,
            plan: [0; 32],
            status,
            changed: by,
            why: None,
            waves: 2,
            opened: 1,
            pause_after: None,
            max_failures: 0,
            excused: Vec::new(),
            may_lose: MayLose::Nowhere,
            supersedes: Vec::new(),
        };
        let environment =
            |number: usize| Environment { org: "o".into(), app: "a".into(), env: number.to_string().into() };
        let environments = states.iter().enumerate().map(|(number, state)| RolloutEnvironment {
            environment: environment(number),
            kind: "development".into(),
            wave: 1,
            state: *state,
            why: None,
        });
        RolloutReport { environments: environments.collect(), rollout }
    }

    /// With a roll-out, the consent that was given for it would come back.
    #[test]
    fn what_fails_after_a_roll_out_is_over_does_not_bring_it_back() {
        use RolloutState::{Failed, InProgress, Matching, NeedsConsent, Pending, Undone};
        for later in [Failed, NeedsConsent, InProgress] {
            assert_eq!(report(RolloutStatus::Done, &[Matching, later]).next(), Next::Wait);
            assert_eq!(report(RolloutStatus::Undone, &[Undone, later]).next(), Next::Wait);
        }
        // What had taken its place was taken back.
        let again = |status| Next::Becomes(status, None);
        assert_eq!(report(RolloutStatus::Done, &[Matching, Pending]).next(), again(RolloutStatus::Running));
        assert_eq!(report(RolloutStatus::Undone, &[Undone, Pending]).next(), again(RolloutStatus::Undoing));
    }

    #[test]
    fn a_wave_opens_once_the_one_before_is_through() {
        use RolloutState::{Failed, Left, Matching, NeedsConsent};
        let next = |states: &[RolloutState], max_failures| {
            let mut report = report(RolloutStatus::Running, states);
            report.environments.push(RolloutEnvironment {
                wave: 2,
                state: RolloutState::Pending,
                ..report.environments[0].clone()
            });
            report.rollout.max_failures = max_failures;
            report.next()
        };
        assert_eq!(next(&[Matching, Left], 0), Next::Open);
        assert_eq!(next(&[Matching, NeedsConsent], 0), Next::Wait);
        assert_eq!(next(&[Matching, Failed], 1), Next::Open);
        let stops = Next::Becomes(RolloutStatus::Stopped, Some("1 environment failed".into()));
        assert_eq!(next(&[Matching, Failed], 0), stops);
    }
}
