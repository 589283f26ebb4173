//! Turns fates into operations, and says what waits for what.
//!
//! - Nothing is provisioned before what it depends on (SPEC §4).
//! - Nothing is deleted before what is recorded to depend on it is deleted, or changed so that it
//!   does not any more (SPEC §9).
//! - A replacement makes the new one first and deletes the old one once its dependents have
//!   followed. Where the old one has to go first, dependents that are replaced too go before it.
//!   A dependent that demands to be made first hands that demand to what it depends on.

mod company;
mod edges;
mod order;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::Graph;
use purlin_model::{Context, Diagnostic, Key, Urn};
use purlin_state::{Record, RecordId};

use super::Decided;
use crate::error::Error;
use crate::plan::{Action, InsteadOf, Operation, Step, Warning, Work};
use crate::recorded::{Recorded, exists};
pub(super) use company::homeless;
use edges::Edges;

/// Current records that no document asks for, within the scope.
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

/// Builds the operations of what was decided and of what goes.
///
/// # Errors
/// [`Error::Documents`] where something goes that others, which stay, depend on.
pub(super) fn build(
    graph: Option<&Graph>,
    recorded: &Recorded,
    in_scope: Option<&HashSet<Urn>>,
    decided: Vec<Decided>,
    step_of: &[u32],
    removed: &[Urn],
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<Step>, Vec<Operation>), Error> {
    let mut building = Building {
        steps: Vec::with_capacity(decided.len()),
        operations: Vec::with_capacity(decided.len()),
        provisions: HashMap::new(),
        deletions: BTreeMap::new(),
        edges: Edges::default(),
        recorded,
        graph,
        going: removed.iter().collect(),
        dependents: HashMap::new(),
        needed: BTreeMap::new(),
        errors: Vec::new(),
    };
    let mut replaced = Vec::new();
    let mut adopted = Vec::new();
    for (index, decided) in (0u32..).zip(decided) {
        let Decided { node, step, work, adopt, forced_order } = decided;
        if step.action == Action::Replace && matches!(work, Work::Create { .. }) {
            replaced.push((index, forced_order));
        }
        if let Some(record) = adopt {
            adopted.push((index, record));
        }
        building.operations.push(Operation { step: index, node: Some(node), work, after: Vec::new() });
        building.steps.push(step);
    }
    if let Some(graph) = graph {
        edges::dependencies_first(graph, step_of, &mut building.operations);
    }
    building.adopt(adopted);
    if replaced.is_empty() && removed.is_empty() && recorded.all_superseded().next().is_none() {
        return Ok((building.steps, building.operations));
    }
    building.index();
    building.replace(&replaced, in_scope, warnings);
    building.remove();
    building.delete_left_overs(in_scope, warnings);
    building.goes_with();
    building.order_deletions();
    let Building { steps, mut operations, edges, errors, .. } = building;
    if !errors.is_empty() {
        return Err(Error::Documents(errors));
    }
    let given_way = edges.settle(&mut operations)?;
    keep_places(&mut operations, &given_way);
    Ok((steps, operations))
}

/// Where something is deleted while what moves away from it is still recorded to depend on it, its
/// place stays until that has moved: the state has to be whole at every moment.
fn keep_places(operations: &mut Vec<Operation>, given_way: &[(u32, u32)]) {
    let mut forgetting: BTreeMap<u32, u32> = BTreeMap::new();
    for (before, deletion) in given_way {
        if let Some(own) = forgetting.get(deletion) {
            operations.get_mut(*own as usize).into_iter().for_each(|own| own.after.push(*before));
            continue;
        }
        let own = operations.len() as u32;
        let Some(Operation { step, work: Work::Delete { id, stays, .. }, .. }) =
            operations.get_mut(*deletion as usize)
        else {
            continue;
        };
        // An old copy leaves the current record, by whose name others depend on it; and what is to
        // be made anew keeps its place anyway.
        if id.superseded.is_some() || std::mem::replace(stays, true) {
            continue;
        }
        let work = Work::Delete { id: id.clone(), call: false, stays: false, also: Vec::new() };
        let step = *step;
        operations.push(Operation { step, node: None, work, after: vec![*before, *deletion] });
        forgetting.insert(*deletion, own);
    }
}

/// Has one operation come before another, unless that would form a loop.
pub(super) fn prefer(operations: &mut [Operation], before: u32, after: u32) {
    if !edges::waits_for(operations, before, after)
        && let Some(operation) = operations.get_mut(after as usize)
    {
        operation.after.push(before);
        operation.after.sort_unstable();
        operation.after.dedup();
    }
}

struct Building<'a> {
    steps: Vec<Step>,
    operations: Vec<Operation>,
    /// The operation that provisions a URN; nothing for what is passed over.
    provisions: HashMap<Urn, u32>,
    /// The operation that deletes what is recorded now under an id.
    deletions: BTreeMap<RecordId, u32>,
    edges: Edges,
    recorded: &'a Recorded,
    graph: Option<&'a Graph>,
    /// What no document asks for any more.
    going: HashSet<&'a Urn>,
    /// Records by what they depend on.
    dependents: HashMap<Urn, Vec<Arc<Record>>>,
    /// What something that stays needs, each with the key of that.
    needed: BTreeMap<RecordId, Key>,
    errors: Vec<Diagnostic>,
}

impl Building<'_> {
    /// What exists is recorded as ours before it is changed.
    fn adopt(&mut self, adopted: Vec<(u32, Box<Record>)>) {
        for (index, found) in adopted {
            let own = self.operations.len() as u32;
            let Some(operation) = self.operations.get_mut(index as usize) else { continue };
            let adopt = Operation {
                step: operation.step,
                node: operation.node,
                work: Work::Adopt { found },
                after: operation.after.clone(),
            };
            operation.after.push(own);
            self.operations.push(adopt);
        }
    }

    fn index(&mut self) {
        for (index, operation) in (0u32..).zip(&self.operations) {
            if matches!(operation.work, Work::Pass | Work::Adopt { .. }) {
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
        // Records come in no order; plans have one.
        for records in self.dependents.values_mut() {
            records.sort_by_cached_key(|record| record.id());
        }
    }

    fn dependents(&self, urn: &Urn) -> &[Arc<Record>] {
        self.dependents.get(urn).map_or(&[], Vec::as_slice)
    }

    /// What is recorded to depend on a resource, and what this run neither deletes nor looks at.
    fn staying(&self, urn: &Urn) -> impl Iterator<Item = Key> {
        let stays = |dependent: &&Arc<Record>| {
            dependent.superseded.is_none()
                && !self.going.contains(&dependent.urn)
                && !self.provisions.contains_key(&dependent.urn)
        };
        self.dependents(urn).iter().filter(stays).filter_map(|dependent| dependent.urn.key())
    }

    fn urn(&self, index: u32) -> Option<&Urn> {
        Some(&self.steps.get(index as usize)?.urn)
    }

    fn replace(
        &mut self,
        replaced: &[(u32, bool)],
        in_scope: Option<&HashSet<Urn>>,
        warnings: &mut Vec<Warning>,
    ) {
        let first = self.delete_first(replaced, warnings);
        self.needed = self.needed(replaced, in_scope);
        for (index, _) in replaced {
            let Some(step) = self.steps.get_mut(*index as usize) else { continue };
            let urn = step.urn.clone();
            let before = first.contains(index);
            let node = self.operations.get(*index as usize).and_then(|operation| operation.node);
            let node = node.and_then(|node| self.graph?.node(node));
            let retain = node.is_some_and(|node| node.lifecycle.retain);
            step.delete_before_replace = before && !retain;
            if retain {
                step.reasons.push("the old one is retained: only forgotten, not deleted".into());
            }
            let instead = match (retain, before) {
                (true, _) => InsteadOf::Forgotten,
                (false, true) => InsteadOf::Deleted,
                (false, false) => InsteadOf::Copy(self.recorded.next_copy(&urn)),
            };
            if let Some(Operation { work: Work::Create { instead_of, .. }, .. }) =
                self.operations.get_mut(*index as usize)
            {
                *instead_of = instead;
            }
            let current = RecordId::current(urn.clone());
            let superseded = match instead {
                InsteadOf::Copy(number) => Some(number),
                _ => None,
            };
            let id = RecordId { urn: urn.clone(), superseded };
            let needed_by = self.needed.get(&current);
            let own = match instead {
                InsteadOf::Deleted if let Some(other) = needed_by => {
                    if let Some(key) = urn.key() {
                        self.errors.push(has_dependents(&key, other, "deleted before a new one is made"));
                    }
                    continue;
                }
                InsteadOf::Copy(_) if let Some(other) = needed_by => {
                    if let Some(key) = urn.key() {
                        warnings.push(the_old_one_stays(key, other));
                    }
                    continue;
                }
                InsteadOf::Forgotten | InsteadOf::Nothing => {
                    // Nothing is deleted; where it had to be, its dependents go before the new one
                    // all the same.
                    if before {
                        self.deletions.insert(current, *index);
                    }
                    continue;
                }
                _ => self.delete(*index, id, true, before),
            };
            self.deletions.insert(current, own);
            match instead {
                InsteadOf::Deleted => self.edges.hard(own, *index),
                _ => self.edges.hard(*index, own),
            }
        }
    }

    /// What is recorded and needed by something that stays as it is, each with the key of that:
    /// what this run is not about stays, and so do the old ones that it needs, and what those need
    /// in turn.
    fn needed(&self, replaced: &[(u32, bool)], in_scope: Option<&HashSet<Urn>>) -> BTreeMap<RecordId, Key> {
        let replaced: HashSet<&Urn> = replaced.iter().filter_map(|(index, _)| self.urn(*index)).collect();
        let stays = |record: &&Arc<Record>| match record.superseded {
            None => !self.going.contains(&record.urn) && !self.provisions.contains_key(&record.urn),
            Some(_) => in_scope.is_some_and(|scope| !scope.contains(&record.urn)),
        };
        let mut staying: Vec<&Arc<Record>> = self.recorded.records().filter(stays).collect();
        // Records come in no order; of several reasons the first is told.
        staying.sort_by_cached_key(|record| std::cmp::Reverse(record.id()));
        let mut needed = BTreeMap::new();
        while let Some(record) = staying.pop() {
            let Some(key) = record.urn.key() else { continue };
            for urn in &record.dependencies {
                let current = self.recorded.current(urn);
                let current = current.filter(|_| replaced.contains(urn) || self.going.contains(urn));
                for old in current.into_iter().chain(self.recorded.copies(urn)) {
                    if let Entry::Vacant(entry) = needed.entry(old.id()) {
                        entry.insert(key.clone());
                        staying.push(old);
                    }
                }
            }
        }
        needed
    }

    /// Which replacements delete first.
    fn delete_first(&self, replaced: &[(u32, bool)], warnings: &mut Vec<Warning>) -> BTreeSet<u32> {
        let index_of: HashMap<&Urn, u32> =
            replaced.iter().filter_map(|(index, _)| Some((self.urn(*index)?, *index))).collect();
        let forced: HashSet<u32> = replaced.iter().filter(|(_, forced)| *forced).map(|(i, _)| *i).collect();
        let wish = |index: u32| {
            let node = self.operations.get(index as usize)?.node?;
            self.graph?.node(node)?.lifecycle.delete_before_replace
        };
        let mut warn = |index: u32, message: String| {
            if let Some(step) = self.steps.get(index as usize) {
                warnings.push(Warning { key: step.key.clone(), message });
            }
        };
        let mut forced_all_the_same: Vec<u32> =
            forced.iter().copied().filter(|index| wish(*index) == Some(false)).collect();
        forced_all_the_same.sort_unstable();
        for index in forced_all_the_same {
            warn(index, "the old one is deleted before a new one is made, because its driver cannot do otherwise (`delete_before_replace: false` is no use)".into());
        }
        // Who demands to be made first needs what it depends on to be made first.
        let mut made_first = BTreeSet::new();
        let mut stack: Vec<u32> = replaced
            .iter()
            .map(|(i, _)| *i)
            .filter(|i| wish(*i) == Some(false) && !forced.contains(i))
            .collect();
        while let Some(index) = stack.pop() {
            if !made_first.insert(index) {
                continue;
            }
            let Some(urn) = self.urn(index) else { continue };
            let dependencies = |urn: &Urn| -> Vec<&Urn> {
                self.recorded
                    .current(urn)
                    .map(|record| record.dependencies.iter().collect())
                    .unwrap_or_default()
            };
            for other in self.past_what_goes(urn, &index_of, dependencies) {
                if !forced.contains(&other) {
                    if wish(other) == Some(true) && !made_first.contains(&other) {
                        warn(other, "a new one is made before the old one is deleted, because a dependent demands it (`delete_before_replace: false`)".into());
                    }
                    stack.push(other);
                }
            }
        }
        // Who is deleted first takes its replaced dependents along.
        let mut first = BTreeSet::new();
        let mut stack: Vec<u32> = replaced
            .iter()
            .map(|(index, _)| *index)
            .filter(|i| forced.contains(i) || wish(*i) == Some(true) && !made_first.contains(i))
            .collect();
        while let Some(index) = stack.pop() {
            if !first.insert(index) {
                continue;
            }
            let Some(urn) = self.urn(index) else { continue };
            let dependents = |urn: &Urn| -> Vec<&Urn> {
                let current = self.dependents(urn).iter().filter(|record| record.superseded.is_none());
                current.map(|record| &record.urn).collect()
            };
            for other in self.past_what_goes(urn, &index_of, dependents) {
                if made_first.contains(&other) && !first.contains(&other) {
                    warn(other, "the old one is deleted before a new one is made, because the driver of something it depends on cannot do otherwise".into());
                }
                stack.push(other);
            }
        }
        first
    }

    /// The replacements next to a resource, in the direction of `next`: what goes for good hands
    /// orders of deletion on.
    fn past_what_goes<'b>(
        &'b self,
        urn: &'b Urn,
        replaced: &HashMap<&Urn, u32>,
        next: impl Fn(&Urn) -> Vec<&'b Urn>,
    ) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut stack = next(urn);
        while let Some(urn) = stack.pop() {
            if let Some(index) = replaced.get(urn) {
                found.insert(*index);
            } else if self.going.contains(urn) && seen.insert(urn) {
                stack.extend(next(urn));
            }
        }
        found
    }

    /// What no document asks for any more.
    fn remove(&mut self) {
        for record in order::dependents_first(self.recorded, &self.going) {
            let Some(key) = record.urn.key() else { continue };
            let mut staying: Vec<Key> = self.staying(&record.urn).collect();
            if let (true, Some(other)) = (staying.is_empty(), self.needed.get(&record.id())) {
                staying.push(other.clone());
            }
            self.errors.extend(staying.iter().map(|other| has_dependents(&key, other, "deleted")));
            let step = self.steps.len() as u32;
            let id = record.id();
            let call = exists(&record) && !record.retain && !record.external;
            let mut reasons = why_removed(&record, self.graph.is_none());
            let undecided = self.recorded.is_perhaps_made(&id);
            if undecided {
                reasons.push("an earlier run was interrupted while making a new one: it may exist".into());
            }
            self.steps.push(Step { reasons, ..Step::new(key, record.urn.clone(), Action::Delete) });
            let own = self.delete(step, id.clone(), call, false);
            if undecided && let Some(operation) = self.operations.get_mut(own as usize) {
                operation.work = Work::Undecided;
            }
            self.deletions.insert(id, own);
        }
    }

    /// Old copies that an earlier run did not come to delete.
    fn delete_left_overs(&mut self, in_scope: Option<&HashSet<Urn>>, warnings: &mut Vec<Warning>) {
        let recorded = self.recorded;
        for record in recorded.all_superseded() {
            let Some(key) = record.urn.key() else { continue };
            if in_scope.is_some_and(|scope| !scope.contains(&record.urn)) {
                continue;
            }
            if let Some(other) = self.needed.get(&record.id()) {
                warnings.push(the_old_one_stays(key, other));
                continue;
            }
            let step = self.steps.len() as u32;
            let reasons = vec!["it was replaced, and the old one is still there".to_owned()];
            self.steps.push(Step { reasons, ..Step::new(key, record.urn.clone(), Action::Delete) });
            let call = exists(record) && !record.retain && !record.external;
            let own = self.delete(step, record.id(), call, false);
            self.deletions.insert(record.id(), own);
        }
    }

    fn delete(&mut self, step: u32, id: RecordId, call: bool, stays: bool) -> u32 {
        let own = self.operations.len() as u32;
        let work = Work::Delete { id, call, stays, also: Vec::new() };
        self.operations.push(Operation { step, node: None, work, after: Vec::new() });
        own
    }

    /// Whether an operation can only follow the new one that a deletion makes place for.
    fn waits_for_the_new_one(&self, operation: u32, deletion: u32) -> bool {
        let get = |index: u32| self.operations.get(index as usize);
        let Some(Operation { step, work: Work::Delete { stays: true, .. }, .. }) = get(deletion) else {
            return false;
        };
        get(operation).is_some_and(|operation| operation.after.contains(step))
    }

    /// Whether an operation deletes, or should and cannot tell what there is.
    fn deletes(&self, operation: u32) -> bool {
        let operation = self.operations.get(operation as usize);
        matches!(operation.map(|operation| &operation.work), Some(Work::Delete { .. } | Work::Undecided))
    }

    fn order_deletions(&mut self) {
        for (id, own) in &self.deletions {
            for dependent in self.dependents.get(&id.urn).map_or(&[][..], Vec::as_slice) {
                if dependent.urn == id.urn {
                    continue;
                }
                // One that is retained stays as it is, whatever goes.
                if let Some(other) = self.deletions.get(&dependent.id())
                    && other != own
                    && self.deletes(*other)
                {
                    // Which copy an old one depended on is not recorded.
                    match id.superseded {
                        None => self.edges.hard(*other, *own),
                        Some(_) => self.edges.soft(*other, *own),
                    }
                }
                if dependent.superseded.is_none()
                    && let Some(provision) = self.provisions.get(&dependent.urn)
                    && provision != own
                    && !self.waits_for_the_new_one(*provision, *own)
                {
                    self.edges.soft(*provision, *own);
                }
            }
        }
    }
}

fn has_dependents(key: &Key, other: &Key, what: &str) -> Diagnostic {
    Diagnostic::error(
        "has-dependents",
        format!("`{key}` would be {what}, and `{other}`, which stays, depends on it"),
    )
    .help(format!("take `{other}` in too, with `--target-dependents` or `--target '{other}'`"))
}

fn the_old_one_stays(key: Key, other: &Key) -> Warning {
    let message = format!(
        "the old one stays for now: `{other}`, which this run is not about, is recorded to depend on it"
    );
    Warning { key, message }
}

fn why_removed(record: &Record, everything: bool) -> Vec<String> {
    let why = if everything { "everything goes" } else { "nothing asks for it any more" };
    let mut reasons = vec![why.to_owned()];
    if record.external {
        reasons.push("others manage it: only forgotten, not deleted".into());
    } else if !exists(record) {
        reasons.push("it is gone already: only forgotten".into());
    } else if record.retain {
        reasons.push("it is retained: only forgotten, not deleted".into());
    }
    reasons
}
