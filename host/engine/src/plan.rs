//! What is to happen: data only, made by the planner, obeyed by apply.
//!
//! A plan says it twice. [`Step`]s are for people: one for each resource, and why. Operations are
//! for the scheduler: what is called and written down, and what waits for what. A replacement is
//! one step and two operations.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use purlin_graph::{Graph, NodeId};
use purlin_model::driver::Inputs;
use purlin_model::{Context, Departure, Key, Reason, Urn, Value};
use purlin_state::{Record, RecordId};

use crate::current::CurrentInputs;
use crate::driver::Driver;
use crate::holding::Lost;
use crate::recorded::Recorded;
use crate::secrets::Vault;

/// What happens to a resource (SPEC §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is made.
    Create,
    /// It is changed in place.
    Update,
    /// A new one takes its place.
    Replace,
    /// It is deleted, or forgotten where it is retained.
    Delete,
    /// It is looked at.
    Read,
    /// What exists already is taken over.
    Adopt,
    /// Nothing.
    None,
}

impl Action {
    /// The word for it, as in the JSON of a plan.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Read => "read",
            Self::Adopt => "adopt",
            Self::None => "none",
        }
    }
}

/// One input or output that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// JSON Pointer into `{values, secrets, params, account}`; of what was read, into
    /// `{values, outputs}`.
    pub path: String,
    /// What is recorded; `None` where there was nothing.
    pub before: Option<Value>,
    /// What it becomes, perhaps unknown; `None` where there will be nothing.
    pub after: Option<Value>,
    /// Whether it forces a replacement.
    pub replaces: bool,
}

impl Change {
    /// Whether the new value only exists after provisioning.
    pub fn is_unknown(&self) -> bool {
        self.after.as_ref().is_some_and(Value::has_unknown)
    }

    /// Whether either side is secret.
    pub fn is_secret(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(Value::has_secret)
    }
}

/// Data that goes with a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub(crate) what: Lost,
    pub(crate) allowed: bool,
}

impl Loss {
    /// What is lost.
    pub fn what(&self) -> &Lost {
        &self.what
    }

    /// Whether the documents allow it (`lifecycle.allow_data_loss`), or somebody did
    /// ([`Plan::allow_losses`]).
    pub fn is_allowed(&self) -> bool {
        self.allowed
    }
}

/// What happens to one resource, and why.
#[derive(Clone, Debug)]
pub struct Step {
    /// The resource's key.
    pub key: Key,
    /// Its URN.
    pub urn: Urn,
    /// What happens.
    pub action: Action,
    /// Why, the main reason first.
    pub reasons: Vec<Reason>,
    /// What changes.
    pub changes: Vec<Change>,
    /// The name under which it was recorded before, where it moves.
    pub moved_from: Option<Urn>,
    /// Whether the old one goes before the new one is made.
    pub delete_before_replace: bool,
    /// Whether it waits for something that no document declares, so that nothing is done about it: its
    /// reasons say for what.
    pub waits: bool,
    /// Whether this run is not about it: nobody looked whether anything is to be done.
    pub left_out: bool,
    /// Boxed, as few steps have one.
    pub(crate) loss: Option<Box<Loss>>,
}

impl Step {
    /// A step without reasons and changes.
    pub(crate) fn new(key: Key, urn: Urn, action: Action) -> Self {
        Self {
            key,
            urn,
            action,
            reasons: Vec::new(),
            changes: Vec::new(),
            moved_from: None,
            delete_before_replace: false,
            waits: false,
            left_out: false,
            loss: None,
        }
    }

    /// The data that it loses; none where it loses none. Unknown, and so none, in a plan that was
    /// made offline.
    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_deref()
    }
}

/// How long a system may take to show a new resource, where no policy says so.
pub const GRACE: Duration = Duration::from_secs(30);

/// Inputs ready to be used.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// As the driver gets them: what its `check` returned.
    pub inputs: Inputs,
    /// Digest of the inputs before `check`, the recipe and the driver.
    pub digest: [u8; 32],
    /// Outputs that an update leaves as they are, as the driver promised.
    pub stable: Vec<String>,
}

/// One thing that the scheduler has done.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Its step.
    pub step: u32,
    /// Its node, but for what is no longer in the graph.
    pub node: Option<NodeId>,
    /// What is done.
    pub work: Work,
    /// Operations that have to be done before, by index.
    pub after: Vec<u32>,
}

/// What an operation does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Nothing is called. What is written down about the resource follows the graph, and with
    /// `prepared` the digest that it is known by.
    Keep { prepared: Option<Box<Prepared>> },
    /// It lies outside of what this run is about; whoever depends on it reads what is recorded.
    Pass,
    /// Makes the resource.
    Create {
        /// The inputs, where all were known when the plan was made.
        prepared: Option<Box<Prepared>>,
        /// What becomes of the one that is there.
        instead_of: InsteadOf,
        /// Whether one that is there is replaced whatever the inputs turn out to be.
        certain: bool,
        /// What it lives in (`deleted_with`): where that one is replaced after all, so is this one.
        with: Option<Urn>,
    },
    /// Changes it in place.
    Update {
        /// The inputs, where all were known when the plan was made.
        prepared: Option<Box<Prepared>>,
        /// Even where nothing changed.
        always: bool,
    },
    /// Records what others made as ours.
    Adopt {
        /// As it was found.
        found: Box<Record>,
    },
    /// Looks at what others manage, by the driver's id.
    Observe {
        /// The driver's id.
        id: Arc<str>,
        /// What was found while planning; none where inputs were not known.
        found: Option<Box<Record>>,
    },
    /// Deletes what is recorded, or only forgets it.
    Delete {
        /// Which record.
        id: RecordId,
        /// Whether the driver is called.
        call: bool,
        /// Whether it goes with something else: where it did, it is gone already, else the driver is called.
        goes_with: bool,
        /// Whether the record stays as absent, because a new one takes its place.
        stays: bool,
        /// What is to go with it, which says what is lost. What went is found out when it was deleted.
        also: Vec<RecordId>,
    },
    /// Reads the resource and records what was found.
    Refresh {
        /// How long after its creation it may be missing before it counts as gone.
        grace: Duration,
    },
    /// Finds out what became of a call that was interrupted.
    Recover {
        /// The record that the call was about.
        id: RecordId,
        /// Whether nothing may be called that has effects.
        look_only: bool,
    },
    /// It is not known whether it exists, so that nothing can be done.
    Undecided,
}
/// What becomes of the resource that is there when a new one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsteadOf {
    /// None is there.
    Nothing,
    /// It is deleted before, by an operation of its own.
    Deleted,
    /// It becomes an old copy with this number. If the inputs, known at last, ask for less, less
    /// is done.
    Copy(u32),
    /// It is forgotten, as it is retained.
    Forgotten,
}

impl Work {
    /// What people are told that it does.
    pub(crate) fn action(&self) -> Action {
        match self {
            Self::Keep { .. } | Self::Pass => Action::None,
            Self::Create { instead_of: InsteadOf::Nothing, .. } | Self::Undecided => Action::Create,
            Self::Create { .. } => Action::Replace,
            Self::Update { .. } => Action::Update,
            Self::Adopt { .. } => Action::Adopt,
            Self::Delete { .. } => Action::Delete,
            Self::Observe { .. } | Self::Refresh { .. } | Self::Recover { .. } => Action::Read,
        }
    }
}

/// How many resources meet which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// To be made.
    pub create: usize,
    /// To be changed in place.
    pub update: usize,
    /// To be replaced.
    pub replace: usize,
    /// To be deleted.
    pub delete: usize,
    /// To be looked at.
    pub read: usize,
    /// To be taken over.
    pub adopt: usize,
    /// To be left alone.
    pub none: usize,
    /// To be left alone because they wait for something that no document declares; not among `none`.
    pub waiting: usize,
    /// Of those that are deleted or replaced: the ones that lose data.
    pub loses_data: usize,
}

impl Tally {
    /// Whether anything is to change.
    pub fn changes(self) -> bool {
        self.create + self.update + self.replace + self.delete + self.read + self.adopt > 0
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

/// Something to tell people about a plan that stops nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The resource.
    pub key: Key,
    /// What.
    pub message: String,
}

/// A resource that seems to have another name now: what is to be deleted is just like what is to be
/// made. It is suggested, never done (SPEC §9, Rename).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What would be deleted.
    pub from: Key,
    /// What would be made.
    pub to: Key,
}

/// Everything that is to happen, in order.
pub struct Plan {
    /// Where.
    pub context: Context,
    /// The steps: by level and key, then what is deleted, dependents first.
    pub steps: Vec<Step>,
    /// Advice of drivers, and what is left undecided.
    pub warnings: Vec<Warning>,
    /// Resources that seem to have been renamed.
    pub suggestions: Vec<Suggestion>,
    /// Whether no driver was asked: such a plan is for looking at only.
    pub offline: bool,
    /// Whether it is what is left of a deployment that was begun, under the id of that deployment.
    pub goes_on: bool,
    /// Written down before anything else: what was found while the plan was made, and moves.
    pub(crate) prelude: Vec<purlin_state::Change>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) graph: Option<Arc<Graph>>,
    /// What is used where a call with recorded inputs fails.
    pub(crate) current: Option<CurrentInputs>,
    /// As it is once the prelude is written down.
    pub(crate) recorded: Arc<Recorded>,
    pub(crate) drivers: DriverSet,
    /// What `check` made of inputs that were not all known: what it drew then is to be used once
    /// they are.
    pub(crate) drafts: HashMap<NodeId, Prepared>,
    /// What the schemas of resource types and drivers say.
    pub(crate) rules: Arc<crate::rules::Rules>,
    /// What was read from secret stores, and reads what is still needed.
    pub(crate) vault: Arc<Vault>,
    /// Of the state before the prelude.
    pub(crate) fingerprint: [u8; 32],
    /// Whether more may exist than is recorded: then a resource is looked for before it is created.
    pub(crate) doubted: bool,
    /// Whether that is over once everything was carried out.
    pub(crate) ends_doubt: bool,
}

/// Drivers by the requirement that they satisfy.
pub(crate) type DriverSet = HashMap<Arc<str>, Arc<dyn Driver>>;

/// Whether a record is that of an installation, and no stand-in for one of another environment.
pub(crate) fn is_installation(record: &Record) -> bool {
    record.share.as_ref().is_some_and(|share| share.uses.is_none())
}

/// Whether what a step is about is no longer there afterwards, or is a stand-in for something else.
pub(crate) fn ends(step: &Step, graph: Option<&Graph>) -> bool {
    let node = || graph?.node(graph?.find(step.key.as_str())?)?.installation;
    let stands_in = || node().is_some_and(|installation| installation.share.uses.is_some());
    matches!(step.action, Action::Delete | Action::Replace) || stands_in()
}

impl Plan {
    /// Whether it deletes what is recorded under a URN now, or an old copy of it.
    pub(crate) fn deletes(&self, urn: &Urn) -> bool {
        let deletes =
            |operation: &Operation| matches!(&operation.work, Work::Delete { id, .. } if id.urn == *urn);
        self.operations.iter().any(deletes)
    }

    /// How many resources meet which fate.
    pub fn summary(&self) -> Tally {
        let mut tally = Tally::default();
        for step in self.steps.iter().filter(|step| !step.left_out) {
            match step.waits {
                true => tally.waiting += 1,
                false => tally.count(step.action),
            }
        }
        tally.loses_data = self.losses().count();
        tally
    }

    /// Whether there is nothing to do at all: no call, nothing to write down that people care about.
    pub fn is_empty(&self) -> bool {
        !self.summary().changes() && self.steps.iter().all(|step| step.moved_from.is_none())
    }

    /// The steps that lose data. A plan is carried out only once each of these losses is allowed.
    pub fn losses(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.loss.is_some())
    }

    /// The resources whose data would be lost, and of which neither the documents nor anybody else
    /// allow that. While there are any, [`apply`](crate::apply()) refuses the plan.
    pub fn losses_not_allowed(&self) -> Vec<Key> {
        let open = |step: &&Step| step.loss.as_ref().is_some_and(|loss| !loss.allowed);
        let mut keys: Vec<Key> = self.steps.iter().filter(open).map(|step| step.key.clone()).collect();
        // An old copy has the key of what took its place.
        keys.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
        keys.dedup();
        keys
    }

    /// Allows the loss of the data of these resources, which a person was shown by name and agreed
    /// to lose. Of others it says nothing.
    pub fn allow_losses(&mut self, keys: &[Key]) {
        for step in self.steps.iter_mut().filter(|step| keys.contains(&step.key)) {
            if let Some(loss) = &mut step.loss {
                loss.allowed = true;
            }
        }
    }

    /// The recorded resources that go because the documents no longer ask for them, each with the
    /// id of the deployment that last changed it.
    pub fn departing(&self) -> Vec<(Key, Arc<str>)> {
        let left = |reason: &Reason| matches!(reason, Reason::LeftDocuments { .. });
        let departing = self.steps.iter().filter(|step| step.reasons.iter().any(left));
        let deployment = |step: &Step| {
            let record = self.recorded.current(&step.urn)?;
            Some((step.key.clone(), Arc::clone(&record.deployment)))
        };
        departing.filter_map(deployment).collect()
    }

    /// Says of each resource that goes why the documents no longer ask for it, where that is known.
    pub fn explain_departures(&mut self, mut why: impl FnMut(&Key) -> Option<Departure>) {
        for step in &mut self.steps {
            for reason in &mut step.reasons {
                if let Reason::LeftDocuments { departure } = reason {
                    *departure = why(&step.key).map(Box::new);
                }
            }
        }
    }

    /// How many operations are announced while it is carried out: a replacement counts as two.
    pub fn announced(&self) -> usize {
        self.operations.iter().filter(|operation| operation.work.action() != Action::None).count()
    }

    /// The graph that it was made from; none where only records matter.
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_deref()
    }

    /// Whether a step deletes or replaces an installation, or has it stand for another one from then on.
    pub fn ends_installation(&self, step: &Step) -> bool {
        let is_one = self.recorded(&step.urn).is_some_and(is_installation);
        is_one && ends(step, self.graph())
    }

    /// What is recorded of a resource, as the plan was made from it.
    pub fn recorded(&self, urn: &Urn) -> Option<&Record> {
        self.recorded.current(urn).map(|record| &**record)
    }

    /// By which the state is known that it was made from.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }
}
