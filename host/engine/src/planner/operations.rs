//! Turns fates into operations and orders them.
//!
//! - A resource is provisioned after its dependencies (SPEC §4).
//! - A resource is deleted after its recorded dependents are deleted, or changed so that they no
//!   longer depend on it (SPEC §9).
//! - A replacement creates the new resource first, and deletes the old one after its dependents
//!   have followed. If the old resource must be deleted first, dependents that are replaced too are
//!   deleted before it. A dependent that demands to be created first passes this demand on to its
//!   dependencies.

mod deletion;
mod deletion_order;
mod edges;
mod joint_deletion;
mod replacement;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::Graph;
use purlin_model::{Context, Diagnostic, Key, Urn};
use purlin_state::{Record, RecordId};

use super::{Certainty, Decisions};
use crate::changes::fate;
use crate::error::Error;
use crate::plan::{Operation, OperationKind, Step, Warning};
use crate::records::recorded::{Recorded, exists};
use edges::Edges;
pub(super) use joint_deletion::losing_their_host;

/// The current records within the scope that the documents no longer contain.
pub(super) fn removed(
    recorded: &Recorded,
    graph: &Graph,
    context: &Context,
    in_scope: Option<&HashSet<Urn>>,
) -> Vec<Urn> {
    let wanted: HashSet<Urn> = graph.nodes().map(|node| Urn::new(context, node.key)).collect();
    let is_gone = |urn: &&Urn| !wanted.contains(*urn) && in_scope.is_none_or(|scope| scope.contains(*urn));
    recorded.all_current().map(|record| &record.urn).filter(is_gone).cloned().collect()
}

/// The steps and operations, in order.
#[derive(Default)]
pub(super) struct Built {
    pub(super) steps: Vec<Step>,
    pub(super) operations: Vec<Operation>,
    /// Resources that cannot be replaced in this run: the old resource must be deleted first, but a
    /// resource that is left alone depends on it. If there are any, nothing else was built.
    pub(super) blocked: Vec<(Urn, Key)>,
}

/// Builds the operations for the decisions and for the removed resources.
///
/// # Errors
/// [`Error::Documents`] if a resource is deleted that a remaining one depends on.
pub(super) fn build(
    graph: Option<&Graph>,
    recorded: &Recorded,
    in_scope: Option<&HashSet<Urn>>,
    decided: Decisions,
    step_of: &[u32],
    removed: &[Urn],
    warnings: &mut Vec<Warning>,
) -> Result<Built, Error> {
    let is_replaced =
        |(_, operation): &(u32, &Operation)| matches!(operation.kind, OperationKind::Create { .. });
    let replaced = (0u32..).zip(&decided.operations).filter(is_replaced);
    let replaced: Vec<Replaced> = replaced
        .filter_map(|(index, _)| {
            let certainty = decided.certainty(index)?;
            Some(Replaced { index, forced: decided.forced_order.contains(&index), certainty })
        })
        .collect();
    let Decisions { steps, operations, adopted, .. } = decided;
    let mut building = Building {
        steps,
        operations,
        provisions: HashMap::new(),
        deletions: BTreeMap::new(),
        edges: Edges::default(),
        recorded,
        graph,
        going: removed.iter().collect(),
        dependents: HashMap::new(),
        may_need: HashMap::new(),
        needed: BTreeMap::new(),
        made_old: HashSet::new(),
        errors: Vec::new(),
        blocked: Vec::new(),
    };
    if let Some(graph) = graph {
        edges::dependencies_first(graph, step_of, &mut building.operations);
    }
    building.adopt(adopted);
    if replaced.is_empty() && removed.is_empty() && recorded.all_superseded().next().is_none() {
        building.add_undecided(in_scope);
        let Building { steps, operations, .. } = building;
        return Ok(Built { steps, operations, blocked: Vec::new() });
    }
    building.index(in_scope);
    building.replace(&replaced, in_scope, warnings);
    building.remove();
    building.delete_left_overs(in_scope, warnings);
    building.add_undecided(in_scope);
    building.order_deletions();
    building.follow_hosts();
    building.delete_late();
    if !building.errors.is_empty() {
        return Err(Error::Documents(building.errors));
    }
    if !building.blocked.is_empty() {
        return Ok(Built { blocked: building.blocked, ..Built::default() });
    }
    let given_way = std::mem::take(&mut building.edges).apply_to(&mut building.operations)?;
    building.wait_for_departures();
    keep_places(&mut building.operations, &given_way);
    building.goes_with();
    let Building { steps, operations, blocked, .. } = building;
    Ok(Built { steps, operations, blocked })
}

/// If a resource is deleted while a resource that moves away from it is still recorded to depend on
/// it, its record stays until the move is recorded: the state must be consistent at every moment.
fn keep_places(operations: &mut Vec<Operation>, given_way: &[(u32, u32)]) {
    let mut forgetting: BTreeMap<u32, u32> = BTreeMap::new();
    for (before, deletion) in given_way {
        if let Some(own) = forgetting.get(deletion) {
            operations.get_mut(*own as usize).into_iter().for_each(|own| own.after.push(*before));
            continue;
        }
        let own = operations.len() as u32;
        let Some(Operation { step, kind: OperationKind::Delete { id, stays, .. }, .. }) =
            operations.get_mut(*deletion as usize)
        else {
            continue;
        };
        // An old copy leaves the current record, to which dependents refer. A resource that is
        // created again keeps its record anyway.
        if id.superseded.is_some() || std::mem::replace(stays, true) {
            continue;
        }
        let (id, also) = (id.clone(), Vec::new());
        let kind = OperationKind::Delete { id, call: false, goes_with: false, stays: false, also };
        let step = *step;
        operations.push(Operation { step, node: None, kind, after: vec![*before, *deletion] });
        forgetting.insert(*deletion, own);
    }
}

/// Orders one operation before another, unless that would form a cycle.
pub(super) fn prefer(operations: &mut [Operation], before: u32, after: u32) {
    if !edges::waits_for(operations, before, after)
        && let Some(operation) = operations.get_mut(after as usize)
    {
        operation.after.push(before);
        operation.after.sort_unstable();
        operation.after.dedup();
    }
}

/// A resource to replace.
#[derive(Clone, Copy)]
struct Replaced {
    /// Its step and operation.
    index: u32,
    /// Whether its driver requires that the old one is deleted first.
    forced: bool,
    certainty: Certainty,
}

struct Building<'a> {
    steps: Vec<Step>,
    operations: Vec<Operation>,
    /// The operation that provisions a URN; absent for resources that are left alone.
    provisions: HashMap<Urn, u32>,
    /// The operation that deletes the resource currently recorded under an id.
    deletions: BTreeMap<RecordId, u32>,
    edges: Edges,
    recorded: &'a Recorded,
    graph: Option<&'a Graph>,
    /// Resources that the documents no longer contain.
    going: HashSet<&'a Urn>,
    /// Records by their dependencies.
    dependents: HashMap<Urn, Vec<Arc<Record>>>,
    /// Resources in an unknown state that may already depend on a resource.
    may_need: HashMap<Urn, Vec<Urn>>,
    /// Records that a remaining resource needs, each with the key of that resource.
    needed: BTreeMap<RecordId, Key>,
    /// The resources that this run replaces by creating the new one first, so that the current one
    /// becomes an old copy.
    made_old: HashSet<Urn>,
    errors: Vec<Diagnostic>,
    blocked: Vec<(Urn, Key)>,
}

impl Building<'_> {
    /// Adds the operations that record existing objects before they are changed.
    fn adopt(&mut self, adopted: Vec<(u32, Box<Record>)>) {
        for (index, found) in adopted {
            let own = self.operations.len() as u32;
            let Some(operation) = self.operations.get_mut(index as usize) else { continue };
            let adopt = Operation {
                step: operation.step,
                node: operation.node,
                kind: OperationKind::Adopt { found },
                after: operation.after.clone(),
            };
            operation.after.push(own);
            self.operations.push(adopt);
        }
    }

    fn index(&mut self, in_scope: Option<&HashSet<Urn>>) {
        for (index, operation) in (0u32..).zip(&self.operations) {
            if matches!(operation.kind, OperationKind::Pass | OperationKind::Adopt { .. }) {
                continue;
            }
            if let Some(step) = self.steps.get(operation.step as usize) {
                self.provisions.insert(step.urn.clone(), index);
            }
        }
        for record in self.recorded.records() {
            for dependency in &record.dependencies {
                self.dependents.entry(dependency.clone()).or_default().push(Arc::clone(record));
            }
        }
        // A resource that may exist needs its dependencies, and so does another attempt to create
        // it.
        for made in self.recorded.perhaps_made() {
            let is_left_out = in_scope.is_some_and(|scope| !scope.contains(&made.urn));
            if is_left_out || self.provisions.contains_key(&made.urn) {
                let made: Arc<Record> = Arc::new(Record::clone(made));
                for dependency in &made.dependencies {
                    self.dependents.entry(dependency.clone()).or_default().push(Arc::clone(&made));
                }
            }
        }
        self.index_unknown();
        // Records are unordered, but a plan must be deterministic.
        for records in self.dependents.values_mut() {
            records.sort_by_cached_key(|record| record.id());
        }
    }

    /// Adds the dependents whose state is unknown: only their desired dependencies show what they
    /// may need.
    fn index_unknown(&mut self) {
        let Some(graph) = self.graph else { return };
        let urn_of = |operation: &Operation| self.steps.get(operation.step as usize).map(|step| &step.urn);
        let unknown = self.operations.iter().filter_map(|operation| {
            let urn = urn_of(operation)?;
            let is_unknown = match self.recorded.current(urn).filter(|record| exists(record)) {
                Some(record) => record.digest == [0; 32],
                // An adopted object may have been managed before, with what it needed then.
                None => matches!(operation.kind, OperationKind::Adopt { .. }),
            };
            is_unknown.then_some((operation.node?, urn))
        });
        let unknown: Vec<_> = unknown.collect();
        if unknown.is_empty() {
            return;
        }
        let named: HashMap<_, _> = self
            .operations
            .iter()
            .filter_map(|operation| Some((operation.node?, urn_of(operation)?)))
            .collect();
        for (node, urn) in unknown {
            for dependency in graph.dependencies(node).iter().filter_map(|id| named.get(id)) {
                self.may_need.entry((*dependency).clone()).or_default().push(urn.clone());
            }
        }
    }

    fn dependents(&self, urn: &Urn) -> &[Arc<Record>] {
        self.dependents.get(urn).map_or(&[], Vec::as_slice)
    }

    /// The recorded dependents of a resource that this run neither deletes nor handles.
    fn staying(&self, urn: &Urn) -> impl Iterator<Item = Key> {
        let stays = |dependent: &&Arc<Record>| {
            dependent.superseded.is_none()
                && !self.going.contains(&dependent.urn)
                && !self.provisions.contains_key(&dependent.urn)
        };
        self.dependents(urn).iter().filter(stays).filter_map(|dependent| dependent.urn.key())
    }

    /// Whether the documents retain the old copy of a resource. What is going away already cannot be
    /// retained: its deletion is finished, whatever the documents say by then.
    fn is_retained(&self, urn: &Urn) -> bool {
        if self.recorded.current(urn).is_some_and(|record| fate::is_going(record)) {
            return false;
        }
        let operation = self.provisions.get(urn).and_then(|own| self.operations.get(*own as usize));
        let node = operation.and_then(|operation| self.graph?.node(operation.node?));
        node.is_some_and(|node| node.lifecycle.retain)
    }

    fn urn(&self, index: u32) -> Option<&Urn> {
        Some(&self.steps.get(index as usize)?.urn)
    }

    /// The records that a remaining resource needs, each with the key of that resource. Resources
    /// outside the scope of this run remain, and so do the old copies that they need, and the
    /// dependencies and hosts of those in turn.
    fn needed(&self, replaced: &[Replaced], in_scope: Option<&HashSet<Urn>>) -> BTreeMap<RecordId, Key> {
        let replaced: HashSet<&Urn> = replaced.iter().filter_map(|one| self.urn(one.index)).collect();
        let stays = |record: &&Arc<Record>| match record.superseded {
            None => !self.going.contains(&record.urn) && !self.provisions.contains_key(&record.urn),
            Some(_) => in_scope.is_some_and(|scope| !scope.contains(&record.urn)),
        };
        let mut staying: Vec<&Record> =
            self.recorded.records().filter(stays).map(|record| &**record).collect();
        let is_left_alone = |made: &&Record| match in_scope {
            Some(scope) if !scope.contains(&made.urn) => true,
            _ => self.graph.is_some() && !self.provisions.contains_key(&made.urn),
        };
        staying.extend(self.recorded.perhaps_made().filter(is_left_alone));
        // Records are unordered; the first of several reasons is reported.
        staying.sort_by_cached_key(|record| std::cmp::Reverse(record.id()));
        let goes = |urn: &Urn| replaced.contains(urn) || self.going.contains(urn);
        let is_old = |record: &Record| record.superseded.is_some() || replaced.contains(&record.urn);
        let mut needed = BTreeMap::new();
        let mut seen = HashSet::new();
        while let Some(record) = staying.pop() {
            let Some(key) = record.urn.key() else { continue };
            let retained = self.recorded.retained_in(record, is_old).into_iter().map(|record| &**record);
            staying.extend(retained.filter(|record| seen.insert(record.id())));
            for old in self.recorded.needs(record, goes) {
                if let Entry::Vacant(entry) = needed.entry(old.id()) {
                    entry.insert(key.clone());
                    staying.push(old);
                }
            }
        }
        needed
    }
}

fn has_dependents(key: &Key, other: &Key, what: &str) -> Diagnostic {
    Diagnostic::error(
        "has-dependents",
        format!("`{key}` would be {what}, and `{other}`, which stays, depends on it"),
    )
    .help(format!("add `{other}` with `--target-dependents` or `--target '{other}'`"))
}

fn the_old_one_stays(key: Key, other: &Key) -> Warning {
    let message = format!(
        "the old one is kept for now, because `{other}`, which is not part of this run, depends on it according to the state"
    );
    Warning { key, message }
}
