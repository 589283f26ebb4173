//! What the documents of an environment are to be, as roll-outs want it.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_model::Reconcile;
use purlin_state::{Environment, MarkState, Rollout, RolloutMark, RolloutStatus};

use super::plan::{ChangedDocuments, RolloutPlan};
use crate::archive::Archive;
use crate::{Error, Purlin};

/// The roll-outs of a state, as they were last read, by number.
#[derive(Clone, Default)]
pub(crate) struct Rollouts {
    pub(crate) all: Vec<KnownRollout>,
}

/// A roll-out with its plan.
#[derive(Clone)]
pub(crate) struct KnownRollout {
    pub(crate) rollout: Rollout,
    /// `None` if nothing of it can matter any more.
    pub(crate) plan: Option<Arc<RolloutPlan>>,
}

/// What a turn does to the documents of an environment.
#[derive(Default)]
pub(crate) struct Desired {
    /// What to put into them, in order.
    steps: Vec<Arc<RolloutPlan>>,
    restored: Vec<ChangedDocuments>,
    /// The marks once they are in force.
    pub(crate) marks: Arc<[RolloutMark]>,
    /// The roll-outs that are new to the environment.
    new: Vec<u64>,
    /// What the roll-outs that are put in accept to be missing.
    pub(crate) accept_missing: Vec<String>,
    /// What may happen without asking, beyond the workspace.
    pub(crate) consent: Option<Consented>,
}

/// What the people who began the roll-outs of an environment agreed to: deletions and replacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Consented {
    /// Also to losses of data.
    pub(crate) data_loss: bool,
}

impl Consented {
    /// A policy with this consent.
    pub(crate) fn applied_to(self, policy: &Reconcile) -> Reconcile {
        let data_loss = policy.data_loss || self.data_loss;
        Reconcile { delete: true, replace: true, data_loss, ..policy.clone() }
    }
}

impl Desired {
    /// Puts everything into the documents of the last deployment.
    pub(crate) fn revise(&self, archive: &mut Archive) {
        for before in &self.restored {
            before.substitute(archive);
        }
        for plan in &self.steps {
            plan.changed.substitute(archive);
        }
    }

    /// The marks if the documents are rejected for this reason: those before stay in force.
    pub(crate) fn refused(&self, before: &[RolloutMark], why: &Arc<str>) -> Arc<[RolloutMark]> {
        let mut marks = before.to_vec();
        for number in &self.new {
            mark(&mut marks, *number, MarkState::Refused(Arc::clone(why)));
        }
        marks.into()
    }
}

/// Sets what an environment says of a roll-out.
pub(super) fn mark(marks: &mut Vec<RolloutMark>, number: u64, state: MarkState) {
    marks.retain(|mark| mark.number != number);
    marks.push(RolloutMark { number, state });
    marks.sort_by_key(|mark| mark.number);
}

impl Rollouts {
    /// What an environment is to have that says this of roll-outs.
    pub(crate) fn desired(&self, environment: &Environment, marks: &[RolloutMark]) -> Desired {
        let mut desired = Desired::default();
        let mut after = marks.to_vec();
        for KnownRollout { rollout, plan } in &self.all {
            let Some(plan) = plan else { continue };
            let Some(covered) = plan.find(environment) else { continue };
            let state = marks.iter().find(|mark| mark.number == rollout.number).map(|mark| &mark.state);
            let is_superseded = self.superseding(rollout.number, environment, &after).is_some();
            let is_due = matches!(state, None | Some(MarkState::Refused(_))) && covered.wave < rollout.opened;
            if rollout.status == RolloutStatus::Running && !is_superseded && is_due {
                desired.steps.push(Arc::clone(plan));
                desired.new.push(rollout.number);
                mark(&mut after, rollout.number, MarkState::Applied);
                desired.accept_missing.extend(plan.accept_missing.iter().cloned());
                desired.agree(rollout, environment);
            }
            let is_active = matches!(rollout.status, RolloutStatus::Running | RolloutStatus::Undoing);
            if is_active && state.is_some_and(|state| *state != MarkState::Left) && !is_superseded {
                desired.agree(rollout, environment);
            }
        }
        // The latest one is taken back first, and then what it had taken the place of.
        for KnownRollout { rollout, plan } in
            self.all.iter().rev().filter(|known| known.rollout.status.is_undone())
        {
            let Some((covered, plan)) = plan.as_ref().and_then(|plan| Some((plan.find(environment)?, plan)))
            else {
                continue;
            };
            let is_applied =
                after.iter().any(|mark| mark.number == rollout.number && mark.state == MarkState::Applied);
            if !is_applied || self.superseding(rollout.number, environment, &after).is_some() {
                continue;
            }
            if let Some(before) = plan.before(covered) {
                desired.restored.push(before.clone());
                mark(&mut after, rollout.number, MarkState::Undone);
                desired.agree(rollout, environment);
            }
        }
        desired.marks = after.into();
        desired
    }

    /// The roll-out that takes the place of another one in an environment that says this: the latest about the
    /// same files that it has, or is to have. One that is undone takes nobody's place once it is taken back.
    pub(super) fn superseding(
        &self,
        number: u64,
        environment: &Environment,
        marks: &[RolloutMark],
    ) -> Option<&Rollout> {
        let takes_place = |later: &&KnownRollout| {
            let state = marks.iter().find(|mark| mark.number == later.rollout.number).map(|mark| &mark.state);
            let is_in_force = match state {
                Some(MarkState::Applied | MarkState::Left) => true,
                Some(MarkState::Undone) => false,
                Some(MarkState::Refused(_)) | None => !later.rollout.status.is_undone(),
            };
            is_in_force
                && later.rollout.supersedes.contains(&number)
                && later.plan.as_ref().is_some_and(|plan| plan.find(environment).is_some())
        };
        self.all.iter().rev().find(takes_place).map(|later| &later.rollout)
    }

    /// Whether an environment names a roll-out that began after these were read.
    pub(crate) fn are_older_than(&self, marks: &[RolloutMark]) -> bool {
        let last = self.all.last().map_or(0, |known| known.rollout.number);
        marks.iter().any(|mark| mark.number > last)
    }
}

impl Desired {
    fn agree(&mut self, rollout: &Rollout, environment: &Environment) {
        let data_loss = rollout.may_lose.includes(environment);
        let before = self.consent.is_some_and(|before| before.data_loss);
        self.consent = Some(Consented { data_loss: data_loss || before });
    }
}

impl Purlin {
    /// The roll-outs of the state, with the plans of those that can still matter. `known` are plans that were
    /// read before, by their digest.
    ///
    /// # Errors
    /// [`Error::State`] if they cannot be read; [`Error::Archive`] if a newer program wrote them.
    pub(crate) async fn known_rollouts(
        &self,
        known: &mut HashMap<[u8; 32], Arc<RolloutPlan>>,
    ) -> Result<Rollouts, Error> {
        let rollouts = self.snapshot(&Environment::fleet()).await?.rollouts;
        // Those that are over matter only as long as another one is not.
        let matters = rollouts.iter().any(|rollout| !rollout.status.is_over());
        let mut all = Vec::with_capacity(rollouts.len());
        for rollout in rollouts {
            let plan = match matters {
                true => Some(self.rollout_plan(&rollout, known).await?),
                false => None,
            };
            all.push(KnownRollout { rollout, plan });
        }
        known.retain(|digest, _| all.iter().any(|one| one.rollout.plan == *digest));
        Ok(Rollouts { all })
    }

    /// The plan of a roll-out.
    pub(super) async fn rollout_plan(
        &self,
        rollout: &Rollout,
        known: &mut HashMap<[u8; 32], Arc<RolloutPlan>>,
    ) -> Result<Arc<RolloutPlan>, Error> {
        if let Some(plan) = known.get(&rollout.plan) {
            return Ok(Arc::clone(plan));
        }
        let bytes = self.store().await?.documents(&Environment::fleet(), &rollout.plan).await?;
        let bytes = bytes.ok_or_else(|| {
            Error::Archive(format!(
                "the plan of roll-out {} is missing; run `purlin state repair`",
                rollout.number
            ))
        })?;
        let plan = Arc::new(RolloutPlan::decode(&bytes)?);
        known.insert(rollout.plan, Arc::clone(&plan));
        Ok(plan)
    }
}
