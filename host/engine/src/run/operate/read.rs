//! Reads existing objects: resources that others manage, resources to adopt, and drift.

use std::sync::Arc;
use std::time::Duration;

use purlin_graph::{Graph, Node};
use purlin_model::driver::{Failure, Observed, ResourceState};
use purlin_model::{Finding, Label, Unfinished};
use purlin_sandbox::CallError;
use purlin_state::{Change, Record, RecordId, Status};

use super::provision::{broken_promise, id_taken, partial};
use super::{Completed, Outcome, Task, nothing};
use crate::changes::{ask, diff, digest, fate};
use crate::driver::{Call, Driver, ReadRequest};
use crate::error::Cause;
use crate::plan::Action;
use crate::records::making::{
    in_progress, named, record_of, reports_all, with_possible_hosts, with_unknown_host,
};
use crate::records::recorded::{are_one, exists, hosts};
use crate::records::visibility::{not_shown_for, seconds};
use crate::run::run_state::RunState;
use crate::values::evaluate::{self, NodeValues};

/// The cause of the failure if the object that the documents name does not exist.
fn not_found(node: Node<'_>, id: &str) -> Cause {
    Cause::NotFound { id: id.to_owned(), at: node.lifecycle.id_location.clone() }
}

impl Task<'_> {
    /// Records an existing object as a managed resource.
    pub(super) async fn adopt(self, found: &Record) -> Outcome {
        let Some(node) = self.node() else { return Ok(nothing()) };
        let driver = self.driver(&node)?;
        let mut record = self.stamped(found);
        // The object may have been deleted together with its old host since the plan was made.
        if self.deleted_with(node).is_some_and(|host| self.shared.has_made(&host))
            && self.look_at_record(&**driver, &record).await?.is_none()
        {
            return Err(not_found(node, record.state.id.expose()));
        }
        if driver.implements(&self.step.key).name {
            match self.name_of_adopted(node, &**driver, &record).await {
                Ok(name) => record.name = name,
                // A secret is still to be generated. The object has its id.
                Err(Cause::Call(failed)) if failed.pointers().next().is_some() && is_unconfirmed(&record) => {
                }
                Err(cause) => return Err(cause),
            }
        }
        let broken = self.broken_promise(&**driver, &record.state);
        if let Some(cause) = &broken {
            record = partial(record, cause);
        }
        let settle = Change::Settle(RecordId::current(record.urn.clone()));
        let is_anothers = |holder: &Record| holder.urn != record.urn && !holder.external;
        // The plan checked this too, but this run may have created the object with that id.
        let changes = vec![Change::Put(Box::new(record.clone())), settle];
        let durable = self.shared.claim(&record, is_anothers, changes)?;
        let durable = durable.map_err(|holder| id_taken(&**driver, &record, &holder))?;
        self.recorded_unless(broken, Completed { action: Action::Adopt, durable: Some(durable) }).await
    }

    /// The name of an adopted object, with the secrets that may have been generated since it was
    /// found.
    async fn name_of_adopted(
        self,
        node: Node<'_>,
        driver: &dyn Driver,
        record: &Record,
    ) -> Result<Label, Cause> {
        let RunState { node_values, plan, .. } = &**self.shared;
        let wanted = match plan.graph.as_ref().filter(|_| is_unconfirmed(record)) {
            Some(graph) => {
                evaluate::read_inputs(graph, node, node_values, plan).await.map_err(Cause::Inputs)?
            }
            None => record.inputs.clone(),
        };
        let wanted = ask::known_part(&fate::compared(record, &wanted));
        Ok(driver.name(&self.call(), &wanted).await?)
    }

    /// Records a resource that others manage.
    pub(super) async fn observe(self, id: &str, found: Option<&Record>) -> Outcome {
        let Some(node) = self.node() else { return Ok(nothing()) };
        let record = match found {
            Some(found) => self.stamped(found),
            None => {
                let driver = self.driver(&node)?;
                let Some(graph) = self.shared.plan.graph.as_ref() else { return Ok(nothing()) };
                let RunState { node_values, plan, .. } = &**self.shared;
                let inputs = evaluate::read_inputs(graph, node, node_values, plan).await;
                let mut inputs = inputs.map_err(Cause::Inputs)?;
                self.shared.plan.rules.connect(&**driver, node.key.type_name(), &mut inputs);
                let request =
                    ReadRequest { id: Some(id), name: "", inputs: &inputs, state: None, known: &[] };
                let Some(found) = read_if_exists(&**driver, &self.call(), request).await? else {
                    return Err(not_found(node, id));
                };
                let reads_params = plan.rules.reads_params(&**driver, node);
                let digest = digest::of(&inputs, reads_params, driver.known_as(), driver.digest());
                let name = self.step.urn.guresid().as_str().into();
                let inputs = ask::found_inputs(&inputs, &found);
                let record = record_of(graph, node, &self.shared.plan.context, &**driver, inputs, name);
                self.stamped(&Record {
                    external: true,
                    named: named(node, &found.state),
                    state: found.state,
                    digest,
                    ..with_unknown_host(&record)
                })
            }
        };
        if let Some(cause) = self.broken_promise(&**self.driver(&node)?, &record.state) {
            return Err(cause);
        }
        // It stays where it was: that others manage it moves nothing.
        let record = match self.current().filter(|before| are_one(before, &record)) {
            Some(before) => with_possible_hosts(&record, hosts(&before)),
            None => record,
        };
        let settle = Change::Settle(RecordId::current(record.urn.clone()));
        // An observed object may be a managed resource under another name, as long as that resource
        // stays.
        let stays = |holder: &Record| self.shared.plan.graph().is_some_and(|graph| holds(graph, holder));
        let is_anothers = |holder: &Record| holder.urn != record.urn && !holder.external && !stays(holder);
        let changes = vec![Change::Put(Box::new(record.clone())), settle];
        let durable = self.shared.claim(&record, is_anothers, changes)?;
        let durable = match (durable, self.driver(&node)) {
            (Ok(durable), _) => durable,
            (Err(holder), driver) => return Err(id_taken(&**driver?, &record, &holder)),
        };
        self.shared.node_values.fill(node.id, NodeValues::settled(&record.inputs, &record.state));
        Ok(Completed { action: Action::Read, durable: Some(durable) })
    }

    /// Reads a resource and records the result.
    pub(super) async fn refresh(self) -> Outcome {
        let Some(record) = self.current().filter(|record| exists(record)) else { return Ok(nothing()) };
        let driver = self.driver_of(&record)?;
        let looked = self.shared.moments.now();
        let found = self.look_at_record(&**driver, &record).await?;
        // Meanwhile, its host may have been found gone, and the resource with it, although its system still
        // shows it.
        let is_it = |now: &Arc<Record>| exists(now) && now.state.id == record.state.id;
        let Some(record) = self.current().filter(is_it) else {
            return Ok(Completed { action: Action::Read, durable: None });
        };
        let Some(found) = found else {
            if let Some(left) = self.not_shown_for(&**driver, &record, looked) {
                self.shared.note_not_shown(&self.step.key);
                self.observed(Finding::NotVisible { seconds: seconds(left) }, Vec::new());
                return Ok(Completed { action: Action::Read, durable: None });
            }
            self.observed(Finding::Gone, Vec::new());
            let durable = self.shared.submit(self.gone_with_guests(&record, false))?;
            return Ok(Completed { action: Action::Read, durable: Some(durable) });
        };
        let mut read = self.refreshed(&**driver, &record, &found);
        if self.shared.plan.may_be_stale && read.inputs.values != record.inputs.values {
            // If others changed the resource after it was recorded, they may also have moved it.
            read = with_unknown_host(&read);
        }
        let broken = self.broken_promise(&**driver, &found.state);
        if let Some(cause) = &broken {
            read = partial(read, cause);
        }
        let changes = diff::observed(&record, &read.inputs.values, &read.state.outputs);
        let is_drifted = !changes.is_empty() || matches!(read.status, Status::Partial(Unfinished::Drifted));
        // A resource that others manage has no desired state to drift from.
        if is_drifted && !record.external {
            self.shared.note_drift(&self.step.key);
        }
        if !changes.is_empty() {
            self.observed(Finding::Changed, changes);
        }
        let durable = match read == *record {
            true => None,
            false => Some(self.shared.submit(vec![Change::Put(Box::new(read))])?),
        };
        self.recorded_unless(broken, Completed { action: Action::Read, durable }).await
    }

    /// Records that a resource is gone if its driver could not find it for an update and a read
    /// finds nothing either. Otherwise every later run would try the same update. `refresh` decides
    /// instead while the system may not show a new resource yet, and if the resource has guests.
    pub(super) async fn note_missing(self, driver: &dyn Driver, record: &Record) -> Result<(), Cause> {
        let now = self.shared.moments.now();
        let is_decided_here =
            self.not_shown_for(driver, record, now).is_none() && !self.shared.has_guests(&record.id());
        let is_read = driver.implements_for(record).read && is_decided_here;
        // A failure to read matters less than the failure of the update.
        if !is_read || !matches!(self.look_at_record(driver, record).await, Ok(None)) {
            return Ok(());
        }
        self.observed(Finding::Gone, Vec::new());
        self.written(self.gone_with_guests(record, false)).await?;
        Ok(())
    }

    /// As [`broken_promise`], for a state that was read.
    pub(super) fn broken_promise(self, driver: &dyn Driver, state: &ResourceState) -> Option<Cause> {
        broken_promise(driver, &self.shared.plan.rules, self.step.key.type_name(), state)
    }

    /// The outcome of a call whose result is recorded even if it is a failure.
    pub(super) async fn recorded_unless(self, failure: Option<Cause>, completed: Completed) -> Outcome {
        let Some(failure) = failure else { return Ok(completed) };
        if let Some(durable) = completed.durable {
            durable.await?;
        }
        Err(failure)
    }

    /// How much longer the system may not show a new resource, which is then not gone although it is
    /// not found. `looked` is when the look began: what its answer shows may be as old as that.
    pub(super) fn not_shown_for(self, driver: &dyn Driver, record: &Record, looked: u64) -> Option<Duration> {
        not_shown_for(record.created, looked, driver.grace())
    }

    /// A record with the state that was found. If that differs from the desired state, the next plan
    /// checks it again. A resource that is incomplete or in doubt stays so until an update, unless the
    /// driver reported all of its inputs: what it does not report, such as a secret, may not be as
    /// recorded, also if the documents ask again for what they asked for before.
    pub(super) fn refreshed(self, driver: &dyn Driver, record: &Record, found: &Observed) -> Record {
        let mut read = ask::as_found(record, found);
        if record.external || fate::is_going(record) {
            return read;
        }
        if read.inputs != record.inputs {
            read.digest = [0; 32];
        }
        let is_known = reports_all(&record.inputs, found) && !self.may_have_other_params(driver, record);
        if let Some(pending) = &found.pending {
            let status = if is_known { Status::Ready } else { read.status };
            return in_progress(Record { status, ..read }, pending);
        }
        // What was in progress is ready, whatever its driver reports of it, unless an earlier call is in
        // doubt.
        if fate::is_on_its_way(record) {
            let status = match is_known || fate::is_finished(record) {
                true => Status::Ready,
                false => Status::Partial(Unfinished::InterruptedUpdate),
            };
            return Record { status, ..read };
        }
        // A change of inputs that the driver does not report is visible only in the outputs.
        let has_other_outputs = read.state.outputs != record.state.outputs && !is_known;
        let status = match read.status {
            Status::Partial(_) if is_known => Status::Ready,
            Status::Ready if has_other_outputs => Status::Partial(Unfinished::Drifted),
            _ => return read,
        };
        Record { status, digest: [0; 32], ..read }
    }

    /// Whether a lost update may have left a resource with other params than the recorded ones, which no
    /// driver reports.
    fn may_have_other_params(self, driver: &dyn Driver, record: &Record) -> bool {
        let is_in_doubt = matches!(
            record.status,
            Status::Partial(Unfinished::InterruptedUpdate | Unfinished::InProgress { in_doubt: true, .. })
        );
        is_in_doubt
            && record.inputs.params.as_map().is_some_and(|params| !params.is_empty())
            && self.shared.plan.rules.gives_params(driver, self.step.key.type_name())
    }

    /// The record with the current time and deployment.
    fn stamped(self, record: &Record) -> Record {
        let now = self.shared.moments.next();
        let created = if record.created == 0 { now } else { record.created };
        Record {
            created,
            updated: now,
            deployment: Arc::clone(&self.shared.plan.context.deployment),
            ..record.clone()
        }
    }
}

fn is_unconfirmed(record: &Record) -> bool {
    record.status == Status::Partial(Unfinished::Unconfirmed)
}

/// Whether the documents contain the recorded resource.
fn holds(graph: &Graph, record: &Record) -> bool {
    record.urn.key().is_some_and(|key| graph.find(key.as_str()).is_some())
}

/// Reads a resource. An object that the driver cannot find counts as gone.
pub(super) async fn read_if_exists(
    driver: &dyn Driver,
    call: &Call,
    request: ReadRequest<'_>,
) -> Result<Option<Observed>, Cause> {
    match driver.read(call, request).await {
        Ok(found) => Ok(found),
        Err(CallError::Failure(Failure::NotFound(_))) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
