//! Compares a graph with the recorded state and decides the action for each resource, with reasons.
//! Without effects.
//!
//! The planner works in stages. `resolve` and `decide` choose the fate of each resource, level
//! by level, with the values known from the previous levels. `operations` turns fates into
//! operations and orders them; `rounds` repeats both until no decision changes another. What happens to
//! an existing resource is decided in `changes/fate.rs`, by which a run decides again.

mod aliases;
mod alike;
mod base;
mod begun;
mod decide;
mod decisions;
mod deletions;
mod destroy;
mod drivers;
mod follows;
mod foresight;
mod grants;
mod level;
mod losses;
mod missing_accounts;
mod operations;
mod part;
mod protection;
mod resolve;
mod rounds;
mod saved;
mod scope;
mod twins;
mod undecided;
mod upkeep;
mod used;
mod validate;
mod waits;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::{Graph, Node, NodeId};
use purlin_model::driver::Inputs;
use purlin_model::{Context, Diagnostic, Key, Reason, Urn, Workspace};
use purlin_state::Record;

use crate::changes::answers::Total;
use crate::driver::Drivers;
use crate::error::Error;
use crate::names::Role;
use crate::plan::{Action, DriverSet, Operation, OperationKind, Plan, Prepared, Step, Warning};
use crate::records::cycles::TransitionCycles;
use crate::records::recorded::Recorded;
use crate::values::current::CurrentInputs;
use crate::values::evaluate::{self, NodeValueTable, NodeValues};
use crate::values::rules::SchemaRules;
use crate::values::secrets::{self, NoStores, SecretStores, Vault};
use crate::values::workload;

pub use base::{Base, Scratch};
pub use begun::{PlannedInput, RecordDigest, deviations_of_rest, is_left_by_run};
use decisions::{Certainty, Decided, Decisions};
pub use destroy::{DestroyOptions, destroy};
pub use foresight::{DescribedDrivers, RecordedSecrets};
use rounds::{Rounds, Settled};
pub use saved::{Deviation, Differs, OperationOutline, Saved, checked_inputs, deviations};
pub use scope::{Scope, fits, select, with_aliases};
use undecided::Undecided;
pub use upkeep::{read, recover, refresh};
pub use used::{Users, in_use};
pub use validate::validate;

/// The options of a plan.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Calls no drivers: inputs are not checked, and missing drivers do not matter. Apply rejects
    /// such a plan.
    pub offline: bool,
    /// The maximum number of concurrent driver calls.
    pub parallelism: usize,
    /// Provisions every resource, even if nothing changed.
    pub full: bool,
    /// Keeps resources that the documents no longer contain.
    pub keep_removed: bool,
    /// Also keeps resources that other environments use, until their last user is gone. Otherwise a
    /// plan that deletes them is an error.
    pub orphan_shared: bool,
    /// The resources that the plan covers.
    pub scope: Scope,
    /// Resources to replace regardless of their inputs, named as in [`Scope`].
    pub replace: Vec<String>,
    /// Existing objects to adopt, named as in [`Scope`], each with its provider id.
    pub import: Vec<(String, Arc<str>)>,
    /// Resources to leave alone in this run, each with the reason. Resources that need one of them
    /// wait as long as it does not exist.
    pub left_alone: Arc<HashMap<Urn, Reason>>,
    /// Adopts the objects to adopt, and changes nothing else.
    pub import_only: bool,
    /// The results of the drivers' `check` when the plan was first made, so that the values drawn
    /// then are used again.
    pub checked_inputs: CheckedInputs,
    /// The schemas of resource types and drivers.
    pub rules: Arc<SchemaRules>,
    /// The stores of secrets that definitions only name. Not read if the plan is offline.
    pub stores: Arc<dyn SecretStores>,
}

/// The inputs that `check` returned, by URN, each with the digest of its arguments.
pub type CheckedInputs = Arc<HashMap<Urn, ([u8; 32], Inputs)>>;

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            offline: false,
            parallelism: Workspace::PARALLELISM,
            full: false,
            keep_removed: false,
            orphan_shared: false,
            scope: Scope::default(),
            replace: Vec::new(),
            import: Vec::new(),
            left_alone: Arc::default(),
            import_only: false,
            checked_inputs: CheckedInputs::default(),
            rules: Arc::default(),
            stores: Arc::new(NoStores),
        }
    }
}

/// Makes a plan that brings the real resources in line with the graph.
///
/// # Errors
/// [`Error::Documents`] with every fault that evaluation and the drivers' `check` found, and with
/// every protected resource that would be deleted; [`Error::Integrity`] if the records contradict
/// each other.
pub async fn plan(
    graph: Arc<Graph>,
    context: &Context,
    base: Base,
    drivers: &dyn Drivers,
    options: PlanOptions,
) -> Result<Plan, Error> {
    let (may_be_stale, is_whole) = (base.staleness().is_some(), options.scope.is_everything());
    let Base { mut recorded, mut prelude, fingerprint, protected, users, now, .. } = base;
    let aliases::Aliases { names, waiting: renamed_later } =
        aliases::find(&graph, context, &recorded).map_err(Error::Documents)?;
    if !names.is_empty() {
        for change in crate::records::renames::renames(&recorded, &names) {
            recorded.apply(change.clone());
            prelude.push(change);
        }
        recorded.verify()?;
    }
    let demands = Demands::of(&options, &graph, context, &recorded)?;
    let mut set = drivers_of_scope(&options, &graph, context, &demands, drivers).await?;
    let mut removed = match options.keep_removed {
        true => Vec::new(),
        false => operations::removed(&recorded, &graph, context, demands.in_scope.as_ref()),
    };
    removed.retain(|urn| !renamed_later.contains_key(urn));
    let mut kept: Vec<Warning> =
        renamed_later.iter().filter_map(|(old, new)| named_later(old, new)).collect();
    prelude.extend(used::keep(&mut recorded, &mut removed, (&users, options.orphan_shared), &mut kept)?);
    let vault = match options.offline {
        true => Vault::closed(),
        false => Vault::new(Arc::clone(&options.stores), context, options.parallelism),
    };
    let rounds = Rounds {
        ground: Ground {
            graph: &graph,
            context,
            recorded: &recorded,
            in_scope: &demands.in_scope,
            import: &demands.import,
            transition_cycles: &TransitionCycles::new(&graph, context, &recorded),
            options: &options,
            drivers: &set,
            vault: &vault,
            validating: false,
        },
        drivers,
        undecided: Undecided::find(&recorded, now.filter(|_| !options.offline), drivers).await,
        removed,
        renamed_later,
        kept,
    };
    let Settled { mut steps, mut operations, mut warnings, drafts } =
        rounds.settle(&demands.to_replace).await?;
    protection::check(&recorded, &steps, &operations, Some(&graph), &set, protected.as_ref())?;
    used::check(&steps, &graph, &users)?;
    let suggestions = alike::order(&recorded, &steps, &mut operations, &graph, &set);
    describe(&mut steps, &graph, &names);
    if !options.offline {
        find_deleting_drivers(&recorded, &steps, &operations, drivers, &mut set).await?;
        missing_accounts::check(&recorded, &steps, &operations, Some(&graph), &set, context).await?;
        let about = (context, options.parallelism);
        deletions::foresee(&recorded, &mut steps, &operations, &set, about, &mut warnings).await;
        losses::mark(&recorded, &mut steps, &operations, Some(&graph), drivers, &set).await;
    }
    operations.shrink_to_fit();
    let (rules, vault) = (Arc::clone(&options.rules), Arc::new(vault));
    // A resource with a lost response is not read through its record.
    let ends_staleness = may_be_stale && is_whole && recorded.all_pending().next().is_none();
    Ok(Plan {
        current: Some(CurrentInputs::of_plan(&graph, &rules, &vault)),
        context: context.clone(),
        steps,
        warnings,
        suggestions,
        offline: options.offline,
        prelude,
        operations,
        graph: Some(graph),
        recorded: Arc::new(recorded),
        drivers: set,
        drafts,
        rules,
        vault,
        fingerprint,
        goes_on: false,
        may_be_stale,
        ends_staleness,
    })
}

/// What the options name.
struct Demands {
    /// The resources that the plan covers; `None` for all.
    in_scope: Option<HashSet<Urn>>,
    /// The resources to replace regardless of their inputs.
    to_replace: HashMap<Urn, Reason>,
    /// The objects to adopt, by their provider ids.
    import: HashMap<Urn, Arc<str>>,
}

impl Demands {
    /// # Errors
    /// For each name that stands for nothing, and for a scope that no plan can keep to.
    fn of(
        options: &PlanOptions,
        graph: &Graph,
        context: &Context,
        recorded: &Recorded,
    ) -> Result<Self, Error> {
        let role = if options.import_only { Role::Import } else { Role::Target };
        let in_scope = options.scope.resolve(context, Some(graph), recorded, role).map_err(Error::Names)?;
        if let Some(in_scope) = &in_scope {
            let errors = part::check(graph, context, recorded, in_scope);
            if !errors.is_empty() {
                return Err(Error::Documents(errors));
            }
        }
        let mut to_replace = named(&options.replace, Role::Replace, context, graph, recorded)?;
        left_out(&to_replace, in_scope.as_ref())?;
        to_replace.retain(|urn| !recorded.current(urn).is_some_and(|record| is_done(record, context)));
        let mut import = HashMap::new();
        for (name, id) in &options.import {
            let urns = named(std::slice::from_ref(name), Role::Import, context, graph, recorded)?;
            import.extend(urns.into_iter().map(|urn| (urn, Arc::clone(id))));
        }
        let to_replace = to_replace.into_iter().map(|urn| (urn, Reason::ReplaceRequested)).collect();
        Ok(Self { in_scope, to_replace, import })
    }
}

/// The drivers of the resources in scope; none if the plan is offline.
///
/// # Errors
/// For each missing driver, and for each secret that no store can give.
async fn drivers_of_scope(
    options: &PlanOptions,
    graph: &Graph,
    context: &Context,
    demands: &Demands,
    drivers: &dyn Drivers,
) -> Result<DriverSet, Error> {
    let mut set = DriverSet::default();
    if options.offline {
        return Ok(set);
    }
    let in_scope = demands.in_scope.as_ref();
    let is_in_scope = |key| in_scope.is_none_or(|scope| scope.contains(&Urn::new(context, key)));
    let nodes = || graph.nodes().filter(|node| is_in_scope(node.key));
    let mut errors = secrets::check_secrets(nodes(), &*options.stores, &options.rules);
    errors.extend(drivers::of_recipes(nodes(), drivers, &options.rules, &mut set).await);
    if errors.is_empty() { Ok(set) } else { Err(Error::Documents(errors)) }
}

/// Completes steps with what is shown of them: former names, and the fields that refer to others.
fn describe(steps: &mut [Step], graph: &Graph, names: &BTreeMap<Urn, Urn>) {
    let old_names: HashMap<&Urn, &Urn> = names.iter().map(|(old, new)| (new, old)).collect();
    for step in steps {
        step.moved_from = old_names.get(&step.urn).map(|old| (*old).clone());
        let is_shown = step.waits || !matches!(step.action, Action::None | Action::Delete);
        if let Some(node) = graph.find(step.key.as_str()).filter(|_| is_shown) {
            step.references = graph.reference_fields(node);
        }
    }
}

/// Finds the drivers of everything that operations may delete.
///
/// # Errors
/// For each missing driver of something that is deleted whatever happens.
async fn find_deleting_drivers(
    recorded: &Recorded,
    steps: &[Step],
    operations: &[Operation],
    drivers: &dyn Drivers,
    set: &mut DriverSet,
) -> Result<(), Error> {
    let errors = drivers::of_records(to_delete(recorded, operations), "delete", drivers, set).await;
    if !errors.is_empty() {
        return Err(Error::Documents(errors));
    }
    // These drivers are called only if the host is kept after all, or if a resource must make room
    // after all, so missing ones are no error.
    let perhaps = to_go_with(recorded, operations).chain(to_make_room(recorded, steps, operations));
    drop(drivers::of_records(perhaps, "delete", drivers, set).await);
    Ok(())
}

/// A resource cannot get a name under which another one may exist.
fn named_later(old: &Urn, new: &Key) -> Option<Warning> {
    let message = format!(
        "it is kept for now, because the documents rename it to `{new}`, and the outcome of an earlier call on \
         `{new}` is unknown"
    );
    Some(Warning { key: old.key()?, message })
}

/// Whether this same deployment, which was begun before, already provisioned a resource. A forced
/// update is done only once in a deployment.
fn is_done(record: &Record, context: &Context) -> bool {
    record.deployment == context.deployment && record.status == purlin_state::Status::Ready
}

/// # Errors
/// For each resource that `--replace` names but that is outside the scope of the run.
fn left_out(replace: &HashSet<Urn>, in_scope: Option<&HashSet<Urn>>) -> Result<(), Error> {
    let is_left_out = |urn: &&Urn| in_scope.is_some_and(|scope| !scope.contains(*urn));
    let mut keys: Vec<_> = replace.iter().filter(is_left_out).filter_map(Urn::key).collect();
    keys.sort_unstable();
    let error = |key| {
        Diagnostic::error("left-out", format!("`{key}` would be replaced, but it is not part of this run"))
            .help(format!("add `--target '{key}'`, or remove `--replace`"))
    };
    if keys.is_empty() { Ok(()) } else { Err(Error::Documents(keys.iter().map(error).collect())) }
}

/// The URNs that the names stand for.
fn named(
    names: &[String],
    role: Role,
    context: &Context,
    graph: &Graph,
    recorded: &Recorded,
) -> Result<HashSet<Urn>, Error> {
    let scope = Scope { targets: names.to_vec(), ..Scope::default() };
    let named = scope.resolve(context, Some(graph), recorded, role).map_err(Error::Names)?;
    Ok(named.unwrap_or_default())
}

/// The records that some operation deletes with a call, including those that become old copies
/// first.
fn to_delete<'a>(recorded: &'a Recorded, operations: &'a [Operation]) -> impl Iterator<Item = &'a Record> {
    deleted(recorded, operations, |kind| matches!(kind, OperationKind::Delete { call: true, .. }))
}

/// The records of resources that are deleted together with their hosts.
fn to_go_with<'a>(recorded: &'a Recorded, operations: &'a [Operation]) -> impl Iterator<Item = &'a Record> {
    deleted(recorded, operations, |kind| matches!(kind, OperationKind::Delete { goes_with: true, .. }))
}

/// The records of resources that are deleted before they or what they depend on are created again, if
/// the final inputs say so.
fn to_make_room<'a>(
    recorded: &'a Recorded,
    steps: &'a [Step],
    operations: &'a [Operation],
) -> impl Iterator<Item = &'a Record> {
    let room = |operation: &'a Operation| match &operation.kind {
        OperationKind::Create { makes_room: Some(dependents), .. } => {
            let dependents = dependents.iter().filter_map(|index| operations.get(*index as usize));
            Some(dependents.chain([operation]))
        }
        _ => None,
    };
    let those = operations.iter().filter_map(room).flatten();
    let step = |operation: &Operation| steps.get(operation.step as usize);
    those.filter_map(move |operation| Some(&**recorded.current(&step(operation)?.urn)?))
}

fn deleted<'a>(
    recorded: &'a Recorded,
    operations: &'a [Operation],
    is_included: impl Fn(&OperationKind) -> bool,
) -> impl Iterator<Item = &'a Record> {
    let of_those = operations.iter().filter(move |operation| is_included(&operation.kind));
    of_those.filter_map(|operation| match &operation.kind {
        OperationKind::Delete { id, .. } => {
            recorded.get(id).or_else(|| recorded.current(&id.urn)).map(|record| &**record)
        }
        _ => None,
    })
}

/// What decisions are made from; the same for all of them.
#[derive(Clone, Copy)]
struct Ground<'a> {
    graph: &'a Arc<Graph>,
    context: &'a Context,
    recorded: &'a Recorded,
    in_scope: &'a Option<HashSet<Urn>>,
    /// The provider ids to adopt.
    import: &'a HashMap<Urn, Arc<str>>,
    transition_cycles: &'a TransitionCycles<'a>,
    options: &'a PlanOptions,
    drivers: &'a DriverSet,
    vault: &'a Vault,
    /// Whether only the documents are checked: no driver is called about existing resources.
    validating: bool,
}

/// A plan under construction.
struct Planner<'a> {
    graph: Arc<Graph>,
    context: &'a Context,
    recorded: &'a Recorded,
    in_scope: &'a Option<HashSet<Urn>>,
    /// Resources that are left alone, each with its reasons.
    waiting: HashMap<NodeId, Vec<Reason>>,
    transition_cycles: &'a TransitionCycles<'a>,
    /// Resources to replace regardless of their inputs, each with the reason.
    forced: &'a HashMap<Urn, Reason>,
    /// The provider ids to adopt.
    import: &'a HashMap<Urn, Arc<str>>,
    options: &'a PlanOptions,
    node_values: NodeValueTable,
    drivers: &'a DriverSet,
    /// The total size of the drivers' answers.
    total: Arc<Total>,
    vault: &'a Vault,
    decided: Decisions,
    drafts: HashMap<NodeId, Prepared>,
    step_of: Vec<u32>,
    errors: Vec<Diagnostic>,
    /// Whether the documents alone cause one of the faults.
    are_wrong: bool,
    /// Faults of inputs that are faults of the documents, unless another resource gave the value.
    doubtful: Vec<Diagnostic>,
    /// Those that drivers found, which are often faults in a common definition.
    invalid: Vec<(Key, Vec<Diagnostic>)>,
    /// The missing grants.
    wanted: Vec<grants::Wanted>,
    /// The evaluated inputs of the resources of this level that need store secrets.
    resolved: HashMap<NodeId, Result<purlin_graph::Inputs, Vec<Diagnostic>>>,
    warnings: Vec<Warning>,
    /// Remarks on the documents, each with its resource.
    remarks: Vec<(Key, Diagnostic)>,
    /// The names of the resources to create.
    named: Vec<twins::NewName>,
    /// Whether only the documents are checked: no driver is called about existing resources.
    validating: bool,
}

impl<'a> Planner<'a> {
    fn new(
        ground: &Ground<'a>,
        waiting: HashMap<NodeId, Vec<Reason>>,
        forced: &'a HashMap<Urn, Reason>,
    ) -> Self {
        let Ground {
            graph,
            context,
            recorded,
            in_scope,
            import,
            transition_cycles,
            options,
            drivers,
            vault,
            validating,
        } = *ground;
        Self {
            graph: Arc::clone(graph),
            context,
            recorded,
            in_scope,
            waiting,
            transition_cycles,
            forced,
            import,
            options,
            node_values: NodeValueTable::new(graph.len()),
            drivers,
            total: Arc::new(Total::new(graph.len())),
            vault,
            decided: Decisions::with_capacity(graph.len()),
            drafts: HashMap::new(),
            step_of: vec![u32::MAX; graph.len()],
            errors: Vec::new(),
            are_wrong: false,
            doubtful: Vec::new(),
            invalid: Vec::new(),
            wanted: Vec::new(),
            resolved: HashMap::new(),
            warnings: Vec::new(),
            remarks: Vec::new(),
            named: Vec::new(),
            validating,
        }
    }
}

impl Planner<'_> {
    fn is_in_scope(&self, urn: &Urn) -> bool {
        self.in_scope.as_ref().is_none_or(|scope| scope.contains(urn))
    }

    /// The inputs of a resource, as far as the values that it reads are known.
    fn evaluate(&self, id: NodeId) -> Result<purlin_graph::Inputs, Vec<Diagnostic>> {
        let Self { graph, node_values, drivers, .. } = self;
        graph.evaluate(id, &evaluate::Reading { graph, node_values, drivers })
    }

    /// Records the values of a node. It is an error if the document of its workload cannot be built
    /// from them.
    fn record_values(&mut self, node: Node<'_>, inputs: &Inputs, known: NodeValues) {
        if let Err(error) = workload::check(node.key, &inputs.params, &known.outputs) {
            let at = &node.recipe.location;
            self.errors.push(
                Diagnostic::error("workload-patch", error.to_string())
                    .at(at)
                    .help("the operations are the output `update` of the definition of `workload`"),
            );
        }
        self.node_values.fill(node.id, known);
    }

    fn push(&mut self, decided: Decided) {
        let node = decided.node;
        let step = self.decided.push(decided);
        if let Some(slot) = self.step_of.get_mut(node.index()) {
            *slot = step;
        }
    }

    /// Records a decision without an adoption or a forced order.
    fn record_decision(&mut self, node: NodeId, step: Step, kind: OperationKind) {
        let certainty = Certainty::Decided;
        self.push(Decided { node, step, kind, adopt: None, forced_order: false, certainty });
    }
}

fn prepared(inputs: Inputs, digest: Option<[u8; 32]>, stable: Vec<String>) -> Option<Box<Prepared>> {
    digest.map(|digest| Box::new(Prepared { inputs, digest, stable }))
}
