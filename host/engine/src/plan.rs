//! The plan: pure data that the planner makes and apply executes.
//!
//! A plan has two views. [`Step`]s are for users: one for each resource, with the reasons.
//! Operations are for the scheduler: the calls, the records to write, and the order. A replacement
//! is one step and two operations.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::{Graph, NodeId};
use purlin_model::driver::{Forecast, Inputs, Part};
use purlin_model::{Context, Departure, Diagnostic, Key, Reason, ReferenceField, Urn, Value};
use purlin_state::{Record, RecordId};

use crate::changes::data_loss::LostData;
use crate::driver::Driver;
use crate::error::Cause;
use crate::json::is_zero;
use crate::records::recorded::Recorded;
use crate::values::current::CurrentInputs;
use crate::values::secrets::Vault;

/// The action for a resource (SPEC §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Create the resource.
    Create,
    /// Update the resource in place.
    Update,
    /// Replace the resource with a new one.
    Replace,
    /// Delete the resource, or forget it if it is retained.
    Delete,
    /// Read the resource.
    Read,
    /// Adopt an existing object.
    Adopt,
    /// Leave the resource alone.
    None,
}

impl Action {
    /// The word for it, as in the JSON of a plan.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One input or output that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange {
    /// A JSON Pointer into `{values, secrets, params, connection, account}`, or into `{values,
    /// outputs}` for a resource that was read.
    pub path: String,
    /// The recorded value; `None` if there was none.
    pub before: Option<Value>,
    /// The new value, possibly unknown; `None` if the value is removed.
    pub after: Option<Value>,
    /// Whether the change forces a replacement.
    pub replaces: bool,
}

impl ValueChange {
    /// Whether the new value exists only after provisioning.
    pub fn is_unknown(&self) -> bool {
        self.after.as_ref().is_some_and(Value::has_unknown)
    }

    /// Whether either side is secret.
    pub fn is_secret(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(Value::has_secret)
    }
}

/// The data that is lost with a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub(crate) what: LostData,
    pub(crate) allowed: bool,
}

impl Loss {
    /// The data.
    pub fn what(&self) -> &LostData {
        &self.what
    }

    /// Whether the documents (`lifecycle.allow_data_loss`) or a user ([`Plan::allow_losses`]) allow
    /// the loss.
    pub fn is_allowed(&self) -> bool {
        self.allowed
    }
}

/// The action for one resource, with the reasons.
#[derive(Clone, Debug)]
pub struct Step {
    /// The resource's key.
    pub key: Key,
    /// Its URN.
    pub urn: Urn,
    /// The action.
    pub action: Action,
    /// The reasons, the main one first.
    pub reasons: Vec<Reason>,
    /// The changes.
    pub changes: Vec<ValueChange>,
    /// The fields that Purlin takes out of its manifest, and what it fills instead.
    pub references: Arc<[ReferenceField]>,
    /// The previous name of the record, if the resource is renamed.
    pub moved_from: Option<Urn>,
    /// Whether the old resource is deleted before the new one is created.
    pub delete_before_replace: bool,
    /// Whether the resource waits for something that no document declares, so that this run leaves
    /// it alone. Its reasons say what it waits for.
    pub waits: bool,
    /// Whether this run excludes the resource, so that it was not checked at all.
    pub left_out: bool,
    /// Boxed, since few steps have one.
    pub(crate) loss: Option<Box<Loss>>,
    /// What the driver says that the step would make. Its outputs are promises.
    pub(crate) forecast: Option<Box<Forecast>>,
    /// What the driver says that the deletion of the existing resource would delete.
    pub(crate) deletion: Option<Box<Forecast>>,
}

impl Step {
    /// A step without reasons and changes.
    pub fn new(key: Key, urn: Urn, action: Action) -> Self {
        Self {
            key,
            urn,
            action,
            reasons: Vec::new(),
            changes: Vec::new(),
            references: Arc::default(),
            moved_from: None,
            delete_before_replace: false,
            waits: false,
            left_out: false,
            loss: None,
            forecast: None,
            deletion: None,
        }
    }

    /// The parts of the resource to which something happens, as its driver foresees; none for a driver that
    /// does not foresee its effects. Those of a replaced resource come after those of the new one.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        [&self.forecast, &self.deletion].into_iter().flatten().flat_map(|forecast| &forecast.parts)
    }

    /// The outputs that are certain before the step, as the driver promised.
    pub(crate) fn promised(&self) -> Option<&Value> {
        self.forecast.as_ref().map(|forecast| &forecast.outputs)
    }

    /// The same step, of which the driver foresees these parts.
    #[must_use]
    pub fn with_parts(mut self, parts: Vec<Part>) -> Self {
        self.forecast.get_or_insert_default().parts = parts;
        self
    }

    /// The same step, which loses data.
    #[must_use]
    pub fn losing(mut self, what: LostData, allowed: bool) -> Self {
        self.loss = Some(Box::new(Loss { what, allowed }));
        self
    }

    /// The previous name of a resource that is renamed: its key if possible, otherwise the URN.
    pub fn previous_name(&self) -> Option<String> {
        self.moved_from.as_ref().map(Urn::shown)
    }

    /// The data that the step loses, if any. Always `None` in an offline plan, which cannot know
    /// it.
    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_deref()
    }
}

/// Inputs that are ready for use.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The inputs for the driver, as its `check` returned them.
    pub inputs: Inputs,
    /// The digest of the inputs before `check`, the recipe and the driver.
    pub digest: [u8; 32],
    /// The outputs that an update leaves unchanged, as the driver promised.
    pub stable: Vec<String>,
}

/// One task for the scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// The index of its step.
    pub step: u32,
    /// Its node; `None` if the resource is no longer in the graph.
    pub node: Option<NodeId>,
    /// The kind, with its parameters.
    pub kind: OperationKind,
    /// The indexes of the operations that must be done before.
    pub after: Vec<u32>,
}

/// The kind of an operation, with its parameters.
#[derive(Clone, Debug)]
pub(crate) enum OperationKind {
    /// Calls nothing. The record follows the graph and, with `prepared`, gets a new digest.
    Keep { prepared: Option<Box<Prepared>> },
    /// The resource is outside the scope of this run. Its dependents read the recorded values.
    Pass,
    /// Creates the resource.
    Create {
        /// The inputs, if all were known when the plan was made.
        prepared: Option<Box<Prepared>>,
        /// The fate of the existing resource.
        instead_of: InsteadOf,
        /// Whether an existing resource is replaced regardless of its final inputs.
        certain: bool,
        /// The resource that it is replaced together with, such as its host (`deleted_with`): if
        /// that is really replaced, so is this one.
        with: Option<Urn>,
        /// Given if the old one must be deleted first, and whether it is replaced is decided only
        /// with the final inputs: then this operation deletes it. These operations provision its
        /// dependents that are deleted before it, in this order.
        makes_room: Option<Vec<u32>>,
    },
    /// Updates the resource in place.
    Update {
        /// The inputs, if all were known when the plan was made.
        prepared: Option<Box<Prepared>>,
        /// Whether to update even if nothing changed.
        always: bool,
    },
    /// Adopts an existing object.
    Adopt {
        /// The record of the object as it was found.
        found: Box<Record>,
    },
    /// Reads a resource that others manage.
    Observe {
        /// The provider id.
        id: Arc<str>,
        /// The object that was found during planning; `None` if the inputs were unknown then.
        found: Option<Box<Record>>,
    },
    /// Deletes a recorded resource, or only forgets it.
    Delete {
        /// The id of the record.
        id: RecordId,
        /// Whether the driver is called.
        call: bool,
        /// Whether the resource is deleted together with its host. If the host was deleted, this
        /// resource is already gone; otherwise the driver is called.
        goes_with: bool,
        /// Whether the record stays, as absent, because a new resource follows.
        stays: bool,
        /// The resources that are deleted with it, for the report of data loss. The actual list is
        /// determined after the deletion.
        also: Vec<RecordId>,
    },
    /// Reads the resource and records the result.
    Refresh,
    /// Finds out the outcome of an interrupted call.
    Recover {
        /// The record that the call was about.
        id: RecordId,
        /// Whether calls with effects are forbidden.
        look_only: bool,
    },
    /// It is unknown whether the resource exists, so nothing can be done.
    Undecided,
    /// What was found while planning prevents every operation on the resource.
    Refused(Arc<Cause>),
}

/// The fate of the existing resource when a new one is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsteadOf {
    /// There is no existing resource.
    Nothing,
    /// Another operation deletes it first.
    Deleted,
    /// It becomes an old copy with this number. If the inputs, once known, require less than a
    /// replacement, less is done.
    Copy(u32),
    /// It is forgotten, since it is retained.
    Forgotten,
}

impl OperationKind {
    /// The action as reported to users.
    pub(crate) fn action(&self) -> Action {
        match self {
            Self::Keep { .. } | Self::Pass => Action::None,
            Self::Create { instead_of: InsteadOf::Nothing, .. } | Self::Undecided => Action::Create,
            Self::Create { .. } => Action::Replace,
            Self::Update { .. } => Action::Update,
            Self::Adopt { .. } => Action::Adopt,
            Self::Delete { .. } => Action::Delete,
            Self::Observe { .. } | Self::Refresh | Self::Recover { .. } | Self::Refused(_) => Action::Read,
        }
    }
}

/// The number of resources for each action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Resources to create.
    pub create: usize,
    /// Resources to update in place.
    pub update: usize,
    /// Resources to replace.
    pub replace: usize,
    /// Resources to delete.
    pub delete: usize,
    /// Resources to read.
    #[serde(skip_serializing_if = "is_zero")]
    pub read: usize,
    /// Resources to adopt.
    #[serde(skip_serializing_if = "is_zero")]
    pub adopt: usize,
    /// Resources to leave alone.
    pub none: usize,
    /// Resources that wait for something that no document declares; not included in `none`.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting: usize,
    /// Resources that get another name, whatever else happens to them. Only a plan counts them.
    #[serde(skip_serializing_if = "is_zero")]
    pub moved: usize,
    /// The deleted or replaced resources that lose data.
    #[serde(skip_serializing_if = "is_zero")]
    pub loses_data: usize,
}

impl Tally {
    /// The number of resources with changes.
    pub fn changes(self) -> usize {
        self.create + self.update + self.replace + self.delete + self.read + self.adopt + self.moved
    }

    pub(crate) fn count(&mut self, action: Action) {
        *match action {
            Action::Create => &mut self.create,
            Action::Update => &mut self.update,
            Action::Replace => &mut self.replace,
            Action::Delete => &mut self.delete,
            Action::Read => &mut self.read,
            Action::Adopt => &mut self.adopt,
            Action::None => &mut self.none,
        } += 1;
    }
}

/// A remark about a plan that does not prevent its execution.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Warning {
    /// The resource.
    pub key: Key,
    /// The text.
    pub message: String,
}

impl Warning {
    /// A remark of the graph.
    pub(crate) fn of_documents(key: &Key, remark: &Diagnostic) -> Self {
        let at = remark.location.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        let help = remark.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        Self { key: key.clone(), message: format!("{}{at}{help}", remark.message) }
    }
}

/// A resource that seems to have been renamed: one resource to delete is identical to one to
/// create, or belongs to one that seems to have been renamed. The rename is only suggested, never
/// performed (SPEC §9, Rename).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Suggestion {
    /// The resource that would be deleted.
    pub from: Key,
    /// The resource that would be created.
    pub to: Key,
}

/// Everything that a run does, in order.
pub struct Plan {
    /// The context of the deployment.
    pub context: Context,
    /// The steps: ordered by level and key, then the deletions, dependents first.
    pub steps: Vec<Step>,
    /// Warnings from drivers, and calls that remain undecided.
    pub warnings: Vec<Warning>,
    /// Resources that seem to have been renamed.
    pub suggestions: Vec<Suggestion>,
    /// Whether the plan was made without driver calls. Such a plan cannot be applied.
    pub offline: bool,
    /// Whether the plan completes a deployment that was begun, under the same id.
    pub goes_on: bool,
    /// Changes to record before anything else: resources found during planning, and moves.
    pub(crate) prelude: Vec<purlin_state::Change>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) graph: Option<Arc<Graph>>,
    /// The inputs to use if a call with the recorded inputs fails.
    pub(crate) current: Option<CurrentInputs>,
    /// The records after the prelude is written.
    pub(crate) recorded: Arc<Recorded>,
    pub(crate) drivers: DriverSet,
    /// The results of `check` for inputs that were partly unknown. The values drawn then are used
    /// once all inputs are known.
    pub(crate) drafts: HashMap<NodeId, Prepared>,
    /// The schemas of resource types and drivers.
    pub(crate) rules: Arc<crate::values::rules::SchemaRules>,
    /// The secrets that were read from stores, and the means to read more.
    pub(crate) vault: Arc<Vault>,
    /// The fingerprint of the state before the prelude.
    pub(crate) fingerprint: [u8; 32],
    /// Whether more resources may exist than are recorded. Each resource is then looked for before
    /// it is created.
    pub(crate) may_be_stale: bool,
    /// Whether the records are reliable again once the whole plan was executed.
    pub(crate) ends_staleness: bool,
}

/// Drivers by the requirement that they satisfy.
pub(crate) type DriverSet = HashMap<Arc<str>, Arc<dyn Driver>>;

/// Whether a record belongs to an installation, and not to a use of an installation in another
/// environment.
pub(crate) fn is_installation(record: &Record) -> bool {
    record.share.as_ref().is_some_and(|share| share.uses.is_none())
}

/// Whether the object of a step no longer exists afterwards, or is a use of another installation.
pub(crate) fn ends(step: &Step, graph: Option<&Graph>) -> bool {
    let node = || graph?.node(graph?.find(step.key.as_str())?)?.installation;
    let stands_in = || node().is_some_and(|installation| installation.share.uses.is_some());
    matches!(step.action, Action::Delete | Action::Replace) || stands_in()
}

impl Plan {
    /// Whether the plan deletes the current resource of a URN or an old copy of it.
    pub(crate) fn deletes(&self, urn: &Urn) -> bool {
        let deletes = |operation: &Operation| matches!(&operation.kind, OperationKind::Delete { id, .. } if id.urn == *urn);
        self.operations.iter().any(deletes)
    }

    /// The number of resources for each action.
    pub fn summary(&self) -> Tally {
        let mut tally = Tally::default();
        for step in self.steps.iter().filter(|step| !step.left_out) {
            match step.waits {
                true => tally.waiting += 1,
                false => tally.count(step.action),
            }
        }
        tally.moved = self.steps.iter().filter(|step| step.moved_from.is_some()).count();
        tally.loses_data = self.losses().count();
        tally
    }

    /// Whether there is nothing to do: no calls, and no renames.
    pub fn is_empty(&self) -> bool {
        self.summary().changes() == 0
    }

    /// The number of recorded resources that may have changed outside Purlin and that this plan, which
    /// reads resources, does not read: their drivers cannot, or they do not exist. A resource whose
    /// driver can reach nothing exists only in the state, and does not count.
    pub fn unread(&self) -> usize {
        let read: HashSet<&Urn> = self.steps.iter().map(|step| &step.urn).collect();
        let only_recorded = |record: &Record| {
            let driver = self.drivers.get(&crate::driver::recorded_name(record));
            driver.is_some_and(|driver| crate::driver::reaches_nothing(&**driver))
        };
        let unread = |record: &&Arc<Record>| !read.contains(&record.urn) && !only_recorded(record);
        self.recorded.all_current().filter(unread).count()
    }

    /// The steps that lose data. A plan is executed only once each of these losses is allowed.
    pub fn losses(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.loss.is_some())
    }

    /// The resources whose loss of data neither the documents nor the user have allowed. As long as
    /// there are any, [`apply`](crate::run::apply()) rejects the plan.
    pub fn losses_not_allowed(&self) -> Vec<Key> {
        let open = |step: &&Step| step.loss.as_ref().is_some_and(|loss| !loss.allowed);
        let mut keys: Vec<Key> = self.steps.iter().filter(open).map(|step| step.key.clone()).collect();
        // An old copy has the same key as its successor.
        keys.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
        keys.dedup();
        keys
    }

    /// Allows the loss of the data of these resources, which the user saw by name and confirmed.
    /// Other losses stay as they are.
    pub fn allow_losses(&mut self, keys: &[Key]) {
        for step in self.steps.iter_mut().filter(|step| keys.contains(&step.key)) {
            if let Some(loss) = &mut step.loss {
                loss.allowed = true;
            }
        }
    }

    /// The recorded resources that are deleted because the documents no longer contain them, each
    /// with the id of the deployment that last changed it.
    pub fn departing(&self) -> Vec<(Key, Arc<str>)> {
        let left = |reason: &Reason| matches!(reason, Reason::LeftDocuments { .. });
        let departing = self.steps.iter().filter(|step| step.reasons.iter().any(left));
        let deployment = |step: &Step| {
            let record = self.recorded.current(&step.urn)?;
            Some((step.key.clone(), Arc::clone(&record.deployment)))
        };
        departing.filter_map(deployment).collect()
    }

    /// Adds the reason why the documents no longer contain each deleted resource, if that is known.
    pub fn explain_departures(&mut self, mut why: impl FnMut(&Key) -> Option<Departure>) {
        for step in &mut self.steps {
            for reason in &mut step.reasons {
                if let Reason::LeftDocuments { departure } = reason {
                    *departure = why(&step.key).map(Box::new);
                }
            }
        }
    }

    /// The number of operations that are reported during the run. A replacement counts as two.
    pub fn announced(&self) -> usize {
        self.operations.iter().filter(|operation| operation.kind.action() != Action::None).count()
    }

    /// The graph of the plan; `None` if the plan was made from records alone.
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_deref()
    }

    /// Whether a step deletes or replaces an installation, or turns it into a use of another one.
    pub fn ends_installation(&self, step: &Step) -> bool {
        let is_one = self.recorded(&step.urn).is_some_and(is_installation);
        is_one && ends(step, self.graph())
    }

    /// The record of a resource, as the plan was made from it.
    pub fn recorded(&self, urn: &Urn) -> Option<&Record> {
        self.recorded.current(urn).map(|record| &**record)
    }

    /// The resources with which nothing can be done, each with the cause (SPEC §7). A run of the plan
    /// fails for them.
    pub fn refused(&self) -> Vec<(Key, Cause)> {
        let refused = self.operations.iter().filter_map(|operation| match &operation.kind {
            OperationKind::Refused(cause) => Some((operation.step, cause)),
            _ => None,
        });
        let named = refused.filter_map(|(step, cause)| {
            Some((self.steps.get(step as usize)?.key.clone(), Cause::clone(cause)))
        });
        named.collect()
    }

    /// The fingerprint of the state from which the plan was made.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }
}
