//! Executes one operation: resolve the inputs, check them, call the driver, record the result.
//!
//! The intent is on disk before a driver is called with effects. The result is submitted before the
//! operation counts as done. Every following operation first waits for its own intent, which comes
//! after that result in the same sequence (SPEC §10).

mod call;
mod delete;
mod effort;
mod foresee;
mod inputs;
mod pending;
mod provision;
pub(crate) mod read;
mod recover;

use std::sync::Arc;

use purlin_graph::Node;
use purlin_model::driver::Inputs;
use purlin_model::{Finding, Label, Reason, Unfinished, Urn};
use purlin_state::{Change, Durable, Record, RecordId, Status};
use tokio::sync::OwnedSemaphorePermit;

pub use self::call::last_attempts;
use self::effort::Effort;
use crate::changes::fate;
use crate::driver::Driver;
use crate::driver::{recorded_name, requirement_name};
use crate::error::Cause;
use crate::event::Phase;
use crate::plan::{Action, Operation, OperationKind, Prepared, Step};
use crate::records::making::{
    between, deleted_with, dependencies, named, record_of, share, version, with_possible_hosts,
};
use crate::records::recorded::exists;
use crate::run::run_state::RunState;
use crate::values::evaluate::NodeValues;

/// The result of an operation.
pub(crate) struct Completed {
    /// The action that was taken.
    pub action: Action,
    /// Resolves when the result is durable; `None` if there was nothing to record.
    pub durable: Option<Durable>,
}

/// The result of an operation, or the cause of its failure.
pub(crate) type Outcome = Result<Completed, Cause>;

/// The permission to call drivers. It is returned before a result is recorded, so that waiting for
/// the disk does not block other calls.
pub(crate) type CallPermit = Option<OwnedSemaphorePermit>;

/// An operation with its step and the state that all operations share.
#[derive(Clone, Copy)]
struct Task<'a> {
    shared: &'a Arc<RunState>,
    index: u32,
    operation: &'a Operation,
    step: &'a Step,
    effort: &'a Effort,
}

/// Executes an operation.
pub(crate) async fn carry_out(shared: &Arc<RunState>, index: u32, permit: CallPermit) -> Outcome {
    let Some(operation) = shared.plan.operations.get(index as usize) else { return Ok(nothing()) };
    let Some(step) = shared.plan.steps.get(operation.step as usize) else { return Ok(nothing()) };
    let effort = Effort::default();
    let task = Task { shared, index, operation, step, effort: &effort };
    // Boxed, since these are large, and most operations are small.
    let outcome = match &operation.kind {
        OperationKind::Keep { prepared } => task.keep(prepared.as_deref()),
        OperationKind::Pass => Box::pin(task.pass()).await,
        OperationKind::Create { prepared, instead_of, certain, with, .. } => {
            let goes = with.as_ref().map(|host| task.is_replaced(host));
            // If the host was kept after all, this resource is judged on its own.
            let prepared = prepared.as_deref().filter(|_| *certain || goes != Some(false));
            Box::pin(task.create(prepared, *instead_of, *certain || goes == Some(true), permit)).await
        }
        OperationKind::Update { prepared, always } => {
            Box::pin(task.update(prepared.as_deref(), *always, permit)).await
        }
        OperationKind::Adopt { found } => Box::pin(task.adopt(found)).await,
        OperationKind::Observe { id, found } => Box::pin(task.observe(id, found.as_deref())).await,
        OperationKind::Delete { id, call, goes_with, stays, .. } => {
            Box::pin(task.delete(id, *call || *goes_with, *stays, permit)).await
        }
        OperationKind::Refresh => Box::pin(task.refresh()).await,
        OperationKind::Recover { id, look_only } => Box::pin(task.recover(id, *look_only)).await,
        OperationKind::Undecided => Err(Cause::Undecided),
        OperationKind::Refused(cause) => Err(Cause::clone(cause)),
    };
    outcome.map_err(|cause| task.explained(cause))
}

/// Nothing was done, and there is nothing to record.
fn nothing() -> Completed {
    Completed { action: Action::None, durable: None }
}

impl<'a> Task<'a> {
    fn node(self) -> Option<Node<'a>> {
        self.shared.plan.graph.as_ref()?.node(self.operation.node?)
    }

    /// Reports a finding.
    fn observed(self, finding: Finding, changes: Vec<crate::plan::ValueChange>) {
        let action = self.operation.kind.action();
        self.shared.events.tell_of(self.index, &self.step.key, action, Phase::Observed { finding, changes });
    }

    /// The current record, including the changes of this run.
    fn recorded(self, id: &RecordId) -> Option<Arc<Record>> {
        self.shared.recorded(id)
    }

    fn current(self) -> Option<Arc<Record>> {
        self.recorded(&RecordId::current(self.step.urn.clone()))
    }

    /// Whether this run replaced the recorded resource, or removed it for a new one.
    fn is_replaced(self, urn: &Urn) -> bool {
        let id = RecordId::current(urn.clone());
        let before = self.shared.plan.recorded.get(&id).filter(|record| exists(record));
        let now = self.recorded(&id).filter(|record| exists(record));
        before.is_some_and(|before| now.is_none_or(|now| now.state.id != before.state.id))
    }

    /// The driver that the recipe names.
    fn driver(self, node: &Node<'_>) -> Result<&'a Arc<dyn Driver>, Cause> {
        let slot = requirement_name(&node.recipe.driver);
        self.shared.plan.drivers.get(&slot).ok_or(Cause::NoDriver(slot))
    }

    /// The driver that made the recorded resource.
    fn driver_of(self, record: &Record) -> Result<&'a Arc<dyn Driver>, Cause> {
        let slot = recorded_name(record);
        self.shared.plan.drivers.get(&slot).ok_or(Cause::NoDriver(slot))
    }

    /// Leaves a resource alone. Its record still follows the graph where no call is needed: the
    /// dependencies, the lifecycle settings, and with `prepared` the driver, the digest and the
    /// connection. Otherwise the record would name resources that are gone.
    fn keep(self, prepared: Option<&Prepared>) -> Outcome {
        let (Some(node), Some(record)) = (self.node(), self.current()) else { return Ok(nothing()) };
        self.shared.node_values.fill(node.id, NodeValues::settled(&record.inputs, &record.state));
        let lifecycle = node.lifecycle;
        if !exists(&record) {
            return Err(self.deleted_meanwhile());
        }
        // If the resource was only found, its host is uncertain until the resource matches the
        // documents.
        let is_as_wanted = !record.external && (prepared.is_some() || record.digest != [0; 32]);
        let known = self.at_home(&record, self.deleted_with(node), is_as_wanted);
        let mut kept = Record {
            definition: node.recipe.name.clone(),
            dependencies: self.dependencies(node),
            protect: lifecycle.protect,
            retain: lifecycle.retain,
            named: named(node, &record.state),
            share: share(node, Some(&record)),
            abandoned: false,
            ..known
        };
        if let Some(prepared) = prepared {
            kept.digest = prepared.digest;
            kept.inputs.connection = prepared.inputs.connection.clone();
            kept.inputs.params = prepared.inputs.params.clone();
            kept.driver = version(&**self.driver(&node)?);
        }
        if kept == *record {
            return Ok(nothing());
        }
        let durable = self.shared.submit(vec![Change::Put(Box::new(kept))])?;
        Ok(Completed { action: Action::None, durable: Some(durable) })
    }

    /// The record with its host, as far as that is known without a call, since without a call no
    /// resource moves.
    fn at_home(self, record: &Record, home: Option<Urn>, is_as_wanted: bool) -> Record {
        let is_known = record.perhaps_deleted_with.is_empty();
        if !is_as_wanted {
            return match is_known && record.deleted_with == home {
                true => record.clone(),
                false => with_possible_hosts(record, home.as_slice()),
            };
        }
        // The documents may name another host, but not in the run that deletes the previous host.
        if let (Some(before), Some(host)) = (&record.deleted_with, &home)
            && before != host
            && self.shared.plan.deletes(before)
        {
            return with_possible_hosts(record, home.as_slice());
        }
        if let (false, Some(host)) = (is_known, &home) {
            // The resource cannot live in an object that was created a moment ago. If the records
            // may be stale, its real host may no longer be known.
            if self.shared.has_made(host) {
                if !self.shared.plan.may_be_stale {
                    return with_possible_hosts(record, home.as_slice());
                }
                self.shared.note_found(record.urn.clone());
                return Record { tainted: true, ..record.clone() };
            }
            if self.is_younger(host, record) {
                return with_possible_hosts(record, home.as_slice());
            }
        }
        Record { deleted_with: home, perhaps_deleted_with: Box::default(), ..record.clone() }
    }

    /// Whether the recorded resource of a URN is younger than another resource, which then need not
    /// live in it.
    fn is_younger(self, host: &Urn, guest: &Record) -> bool {
        let host = self.recorded(&RecordId::current(host.clone()));
        host.is_some_and(|host| host.created > guest.created)
    }

    /// Leaves a resource alone, which others may read. Those wait for one that is in progress, so this looks
    /// at it; nobody can read one that is going away.
    async fn pass(self) -> Outcome {
        let (Some(node), Some(record)) = (self.node(), self.current()) else { return Ok(nothing()) };
        let done = match &record.status {
            Status::Partial(unfinished @ Unfinished::InProgress { .. }) if self.is_read_by_others(node) => {
                let driver = self.driver(&node).ok().filter(|driver| fate::made_it(&***driver, &record));
                match driver.filter(|_| fate::is_on_its_way(&record)) {
                    Some(driver) => Some(self.is_done(&**driver, &record, None).await?),
                    None => return Err(Cause::InProgress(unfinished.clone())),
                }
            }
            _ => None,
        };
        let record = done.as_ref().unwrap_or(&record);
        self.shared.node_values.fill(node.id, NodeValues::settled(&record.inputs, &record.state));
        Ok(nothing())
    }

    /// Whether this run provisions something that depends on a resource.
    fn is_read_by_others(self, node: Node<'_>) -> bool {
        let plan = &self.shared.plan;
        let Some(graph) = plan.graph.as_ref() else { return false };
        let dependents = graph.dependents(node.id);
        plan.operations.iter().any(|operation| {
            let is_dependent = operation.node.is_some_and(|node| dependents.contains(&node));
            is_dependent && !matches!(operation.kind, OperationKind::Pass | OperationKind::Keep { .. })
        })
    }

    fn dependencies(self, node: Node<'_>) -> Box<[Urn]> {
        let plan = &self.shared.plan;
        plan.graph.as_ref().map(|graph| dependencies(graph, node, &plan.context)).unwrap_or_default()
    }

    fn deleted_with(self, node: Node<'_>) -> Option<Urn> {
        let plan = &self.shared.plan;
        deleted_with(plan.graph.as_ref()?, node, &plan.context)
    }

    /// The record after a change that was done in part, or whose extent is unknown ([`between`]).
    fn between(self, before: &Record, changed: &Record) -> Record {
        between(before, changed, |on| self.shared.may_depend(&before.urn, on))
    }

    /// The resource was deleted together with its host during this run.
    fn deleted_meanwhile(self) -> Cause {
        Cause::MoreThanPlanned { reasons: vec![Reason::Gone] }
    }

    /// The record of a node that is created or changed now.
    fn record(self, node: Node<'_>, driver: &dyn Driver, inputs: Inputs, name: Label) -> Option<Record> {
        let plan = &self.shared.plan;
        let now = self.shared.moments.next();
        Some(Record {
            created: now,
            updated: now,
            ..record_of(plan.graph.as_ref()?, node, &plan.context, driver, inputs, name)
        })
    }
}
