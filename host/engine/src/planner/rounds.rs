//! Decides about all resources until no decision changes another. Each round decides about every
//! resource and builds the operations; their order, which depends on all decisions, can make a resource
//! wait or be replaced with its host, which the next round takes into account.

use std::collections::{BTreeMap, HashMap, HashSet};

use purlin_graph::NodeId;
use purlin_model::{Diagnostic, Key, Reason, Urn};
use purlin_state::RecordId;

use super::decisions::Decisions;
use super::undecided::Undecided;
use super::{Ground, Planner, operations, protection, twins, validate, waits};
use crate::driver::Drivers;
use crate::error::{Cause, Error};
use crate::plan::{Action, Operation, OperationKind, Prepared, Step, Warning};
use crate::records::recorded::exists;
use crate::values::rules;

/// What the rounds are about; it is the same in each.
pub(super) struct Rounds<'a> {
    pub(super) ground: Ground<'a>,
    /// Finds the drivers of documents that are checked on their own.
    pub(super) drivers: &'a dyn Drivers,
    pub(super) undecided: Undecided,
    /// The resources that the documents no longer contain and that are to be deleted.
    pub(super) removed: Vec<Urn>,
    /// Those that keep their old name for now, with the new one.
    pub(super) renamed_later: BTreeMap<Urn, Key>,
    /// Warnings about resources that are kept whatever is decided.
    pub(super) kept: Vec<Warning>,
}

/// The decisions, once no one changes another.
pub(super) struct Settled {
    pub(super) steps: Vec<Step>,
    pub(super) operations: Vec<Operation>,
    pub(super) warnings: Vec<Warning>,
    pub(super) drafts: HashMap<NodeId, Prepared>,
}

/// The decisions of one round about the resources of the graph.
struct Round {
    decided: Decisions,
    step_of: Vec<u32>,
    drafts: HashMap<NodeId, Prepared>,
    warnings: Vec<Warning>,
    named: Vec<twins::NewName>,
}

impl Rounds<'_> {
    /// # Errors
    /// See [`plan`](super::plan).
    pub(super) async fn settle(&self, to_replace: &HashMap<Urn, Reason>) -> Result<Settled, Error> {
        let Ground { graph, context, recorded, transition_cycles, options, .. } = self.ground;
        let mut waiting = waits::find(graph, context, recorded, &options.left_alone, transition_cycles);
        let mut forced = to_replace.clone();
        loop {
            let Round { decided, step_of, drafts, mut warnings, named } =
                self.round(&waiting, &forced).await?;
            let removed = self.deletable(&decided, &mut warnings);
            let scope = self.ground.in_scope.as_ref();
            let operations::Built { steps, operations, blocked } =
                operations::build(Some(graph), recorded, scope, decided, &step_of, &removed, &mut warnings)?;
            warnings.extend(protection::no_longer_paused(recorded, &steps));
            warnings.extend(twins::warnings(recorded, &steps, &named));
            if waits::block(graph, context, recorded, transition_cycles, &mut waiting, blocked) {
                // A resource that was to be deleted with one that now waits may stay with it.
                forced.clone_from(to_replace);
                continue;
            }
            let mut losing_their_host =
                operations::losing_their_host(graph, context, recorded, &steps, &operations);
            // Resources that cannot be replaced, such as undecided ones, keep their decision.
            losing_their_host.retain(|(urn, _)| !forced.contains_key(urn));
            if losing_their_host.is_empty() {
                return Ok(Settled { steps, operations, warnings, drafts });
            }
            forced.extend(losing_their_host);
        }
    }

    /// Decides about every resource of the graph.
    async fn round(
        &self,
        waiting: &HashMap<NodeId, Vec<Reason>>,
        forced: &HashMap<Urn, Reason>,
    ) -> Result<Round, Error> {
        let Ground { graph, context, recorded, .. } = self.ground;
        let mut planner = Planner::new(&self.ground, waiting.clone(), forced);
        for level in graph.levels() {
            planner.level(level).await?;
        }
        self.check(&mut planner).await?;
        let Planner { decided, step_of, drafts, mut warnings, remarks, named, node_values, .. } = planner;
        // The values are no longer needed and take much memory.
        drop(node_values);
        let is_undecided = |urn: &Urn| {
            let mut decided = decided.iter();
            decided.any(|(step, kind)| step.urn == *urn && matches!(kind, OperationKind::Undecided))
        };
        warnings.extend(self.undecided.warnings(is_undecided).cloned());
        warnings.extend(self.kept.iter().cloned());
        let remarks = graph.warnings().iter().chain(&remarks);
        warnings.extend(remarks.map(|(key, remark)| Warning::of_documents(key, remark)));
        warnings.extend(protection::ended(recorded, graph, context));
        Ok(Round { decided, step_of, drafts, warnings, named })
    }

    /// # Errors
    /// With all faults that the decisions showed.
    async fn check(&self, planner: &mut Planner<'_>) -> Result<(), Error> {
        let Ground { graph, context, options, .. } = self.ground;
        let invalid = rules::by_place(std::mem::take(&mut planner.invalid));
        let doubtful: Vec<Diagnostic> = planner.doubtful.drain(..).chain(invalid).collect();
        // Documents that are wrong whatever the resources return are rejected as a whole.
        if !doubtful.is_empty()
            && (planner.are_wrong
                || !planner.errors.is_empty()
                || options.offline
                || validate::finds(&doubtful, graph, context, self.drivers, options).await?)
        {
            planner.errors.extend(doubtful);
        }
        let (faults, lacking) = planner.missing_grants();
        planner.errors.extend(faults);
        let errors = std::mem::take(&mut planner.errors);
        if !lacking.is_empty() {
            return Err(Error::NotGranted { faults: errors, lacking });
        }
        if !errors.is_empty() {
            return Err(Error::Documents(rules::once(errors)));
        }
        // Nothing is left out in silence.
        let is_left_out = |id: NodeId| planner.step_of.get(id.index()) == Some(&u32::MAX);
        match graph.nodes().find(|node| is_left_out(node.id)) {
            Some(node) => Err(Error::Integrity(format!("nothing was decided about `{}`", node.key))),
            None => Ok(()),
        }
    }

    /// The removed resources that this run deletes. The others have a warning that says who needs them.
    fn deletable(&self, decided: &Decisions, warnings: &mut Vec<Warning>) -> Vec<Urn> {
        let Ground { context, recorded, .. } = self.ground;
        let needed = self.needed(decided);
        let mut removed = self.removed.clone();
        // What cannot be resolved may be what a resource that left the documents became.
        if let Some(unresolved) = decided.iter().find_map(|(step, kind)| match kind {
            OperationKind::Refused(cause) if matches!(**cause, Cause::Inputs(_)) => Some(&step.key),
            _ => None,
        }) {
            for key in removed.drain(..).filter_map(|urn| urn.key()) {
                let message =
                    format!("it is kept for now, because the inputs of `{unresolved}` cannot be resolved");
                warnings.push(Warning { key, message });
            }
        }
        removed.retain(|urn| !needed.contains_key(urn));
        for (urn, by) in &needed {
            let Some(key) = urn.key() else { continue };
            let by_urn = Urn::new(context, by);
            let is_there = recorded.current(&by_urn).is_some_and(|record| exists(record));
            let needs_it = match !is_there && recorded.is_perhaps_made(&RecordId::current(by_urn)) {
                true => "which depends on it, may have been created by an interrupted run",
                false => "which is left alone, depends on it according to the state",
            };
            let message = format!("it is kept for now, because `{by}`, {needs_it}");
            warnings.push(Warning { key, message });
        }
        removed
    }

    /// The removed resources that one needs which this run does not handle, each with that one.
    fn needed(&self, decided: &Decisions) -> BTreeMap<Urn, Key> {
        let Ground { recorded, in_scope, .. } = self.ground;
        let is_passed = |kind: &OperationKind| matches!(kind, OperationKind::Pass);
        let left_alone = decided.iter().filter(|(step, kind)| is_passed(kind) && !step.left_out);
        let left_alone = left_alone.map(|(step, _)| &step.urn);
        // A resource that may have been created still needs its dependencies if this run does not
        // handle it.
        let handled: HashSet<&Urn> =
            decided.iter().filter(|(_, kind)| !is_passed(kind)).map(|(step, _)| &step.urn).collect();
        let perhaps_made = recorded.perhaps_made().map(|made| &made.urn);
        let left_alone = left_alone.chain(perhaps_made.filter(|urn| !handled.contains(urn)));
        let left_alone = left_alone.chain(self.renamed_later.keys());
        let is_replaced = |step: &&Step| step.action == Action::Replace;
        let replaced: HashSet<&Urn> =
            decided.steps.iter().filter(is_replaced).map(|step| &step.urn).collect();
        let left_out = |urn: &Urn| in_scope.as_ref().is_some_and(|scope| !scope.contains(urn));
        waits::needed(recorded, left_alone, left_out, &replaced, &self.removed)
    }
}
