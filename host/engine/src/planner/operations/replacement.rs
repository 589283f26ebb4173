//! Replacements: their order, and what happens to the old resource.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use purlin_model::{Reason, Urn};
use purlin_state::RecordId;

use super::{
    Building, Certainty, Replaced, deletion_order, edges, has_dependents, prefer, the_old_one_stays,
};
use crate::plan::{InsteadOf, Operation, OperationKind, Step, Warning};

/// The replacements that delete the old resource before they create the new one.
struct DeletedFirst {
    /// Those that are decided, and their dependents, each with the one that requires it.
    first: BTreeMap<u32, u32>,
    /// Those that depend on a value that is not known yet, each with the dependents that are deleted
    /// before it, in order.
    late: BTreeMap<u32, Vec<u32>>,
}

impl Building<'_> {
    pub(super) fn replace(
        &mut self,
        replaced: &[Replaced],
        in_scope: Option<&HashSet<Urn>>,
        warnings: &mut Vec<Warning>,
    ) {
        let DeletedFirst { first, late } = self.delete_first(replaced, warnings);
        let perhaps_first: BTreeSet<u32> = late.values().flatten().chain(late.keys()).copied().collect();
        self.needed = self.needed(replaced, in_scope);
        let made_old = replaced.iter().filter(|one| !first.contains_key(&one.index));
        self.made_old = made_old.filter_map(|one| self.urn(one.index).cloned()).collect();
        for Replaced { index, .. } in replaced {
            let Some(urn) = self.urn(*index).cloned() else { continue };
            let before = first.contains_key(index);
            let perhaps_before = perhaps_first.contains(index);
            let because = first.get(index).and_then(|seed| Some(self.steps.get(*seed as usize)?.key.clone()));
            let retain = self.is_retained(&urn);
            let Some(step) = self.steps.get_mut(*index as usize) else { continue };
            step.delete_before_replace = (before || perhaps_before) && !retain;
            // It goes before the value is known that might have kept it.
            let is_open = |reason: &Reason| matches!(reason, Reason::ReplacedIfDiffers { .. });
            if let (true, Some(other)) = (step.reasons.iter().any(is_open) && !retain, because) {
                step.reasons.retain(|reason| !is_open(reason));
                step.reasons.insert(0, Reason::ReplacedWith { other });
            }
            let current = RecordId::current(urn.clone());
            let home_stays_for = || self.home_stays_for(self.recorded.get(&current)?, in_scope);
            let home_stays_for = (retain && !before).then(home_stays_for).flatten();
            let retain = retain && home_stays_for.is_none();
            let Some(step) = self.steps.get_mut(*index as usize) else { continue };
            if retain {
                step.reasons.push(Reason::OldOneRetained);
            } else if let Some(other) = &home_stays_for {
                step.reasons.push(Reason::OldOneNotRetained { other: other.clone() });
            }
            let instead = match (retain, before) {
                (true, _) => InsteadOf::Forgotten,
                (false, true) => InsteadOf::Deleted,
                (false, false) => InsteadOf::Copy(self.recorded.next_copy(&urn)),
            };
            if let Some(Operation { kind: OperationKind::Create { instead_of, makes_room, .. }, .. }) =
                self.operations.get_mut(*index as usize)
            {
                *instead_of = instead;
                *makes_room = late.get(index).filter(|_| !retain).cloned();
            }
            let superseded = match instead {
                InsteadOf::Copy(number) => Some(number),
                _ => None,
            };
            let id = RecordId { urn: urn.clone(), superseded };
            let needed_by = home_stays_for.as_ref().or_else(|| self.needed.get(&current));
            let own = match instead {
                InsteadOf::Deleted | InsteadOf::Copy(_)
                    if let (true, Some(other)) = (before || perhaps_before, needed_by) =>
                {
                    // If the other resource is excluded from the run, this is an error. If it is
                    // only left alone, this one waits.
                    let is_it = |step: &&Step| step.key == *other;
                    let own = self.steps.iter().find(is_it);
                    let left_out = own.map_or(in_scope.is_some(), |step| step.left_out);
                    match urn.key() {
                        Some(key) if left_out => {
                            self.errors.push(has_dependents(
                                &key,
                                other,
                                "deleted before a new one is created",
                            ));
                        }
                        _ => self.blocked.push((urn.clone(), other.clone())),
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
                    // Nothing is deleted. If the old resource should go first, its dependents still
                    // go before the new one.
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

    /// The replacements that delete first.
    fn delete_first(&self, replaced: &[Replaced], warnings: &mut Vec<Warning>) -> DeletedFirst {
        let index_of: HashMap<&Urn, u32> =
            replaced.iter().filter_map(|one| Some((self.urn(one.index)?, one.index))).collect();
        let forced: HashSet<u32> = replaced.iter().filter(|one| one.forced).map(|one| one.index).collect();
        let certainty: HashMap<u32, Certainty> =
            replaced.iter().map(|one| (one.index, one.certainty)).collect();
        let certainty = |index: &u32| certainty.get(index).copied().unwrap_or(Certainty::Decided);
        let mut forced_all_the_same: Vec<u32> =
            forced.iter().copied().filter(|index| self.requested_order(*index) == Some(false)).collect();
        forced_all_the_same.sort_unstable();
        warnings.extend(forced_all_the_same.into_iter().filter_map(|index| {
            self.warning(index, "the old one is deleted before a new one is created, because its driver requires it (`delete_before_replace: false` has no effect)")
        }));
        let made_first = self.made_first(replaced, &forced, &index_of, warnings);
        // A resource that is deleted first requires the same of its dependents that are replaced with
        // it. A dependent that is only perhaps replaced, because of something else, stays until that
        // is decided.
        let mut dependents_of = |seed: u32, least: Certainty, found: &mut BTreeSet<u32>| -> Vec<u32> {
            let (mut order, mut stack) = (Vec::new(), vec![seed]);
            while let Some(index) = stack.pop() {
                if !found.insert(index) {
                    continue;
                }
                order.push(index);
                let Some(urn) = self.urn(index) else { continue };
                let dependents = |urn: &Urn| -> Vec<&Urn> {
                    let current = self.dependents(urn).iter().filter(|record| record.superseded.is_none());
                    current.map(|record| &record.urn).collect()
                };
                for other in self.past_what_goes(urn, &index_of, dependents) {
                    if certainty(&other) < least {
                        continue;
                    }
                    if made_first.contains(&other) && !found.contains(&other) {
                        warnings.extend(self.warning(other, "the old one is deleted before a new one is created, because the driver of one of its dependencies requires it"));
                    }
                    stack.push(other);
                }
            }
            order
        };
        let is_seed = |index: &u32| {
            forced.contains(index)
                || self.requested_order(*index) == Some(true) && !made_first.contains(index)
        };
        let (decided, perhaps): (Vec<u32>, Vec<u32>) = replaced
            .iter()
            .map(|one| one.index)
            .filter(is_seed)
            .partition(|index| certainty(index) == Certainty::Decided);
        let mut found = BTreeSet::new();
        let mut first = BTreeMap::new();
        for seed in decided {
            let order = dependents_of(seed, Certainty::Follows, &mut found);
            first.extend(order.into_iter().map(|index| (index, seed)));
        }
        let mut late = BTreeMap::new();
        for seed in perhaps.into_iter().filter(|seed| !first.contains_key(seed)) {
            let mut found = found.clone();
            let mut cone = dependents_of(seed, Certainty::MayFollow, &mut found);
            cone.retain(|index| *index != seed);
            // Each after its own dependents.
            cone.reverse();
            late.insert(seed, self.dependents_first(cone));
        }
        DeletedFirst { first, late }
    }

    /// The replacements that create first because the documents demand it. A resource that demands it
    /// requires the same of its dependencies.
    fn made_first(
        &self,
        replaced: &[Replaced],
        forced: &HashSet<u32>,
        index_of: &HashMap<&Urn, u32>,
        warnings: &mut Vec<Warning>,
    ) -> BTreeSet<u32> {
        let mut made_first = BTreeSet::new();
        let mut stack: Vec<u32> = replaced
            .iter()
            .map(|one| one.index)
            .filter(|index| self.requested_order(*index) == Some(false) && !forced.contains(index))
            .collect();
        while let Some(index) = stack.pop() {
            if !made_first.insert(index) {
                continue;
            }
            let Some(urn) = self.urn(index) else { continue };
            let dependencies = |urn: &Urn| -> Vec<&Urn> {
                let current = self.recorded.current(urn);
                current.map(|record| record.dependencies.iter().collect()).unwrap_or_default()
            };
            for other in self.past_what_goes(urn, index_of, dependencies) {
                if !forced.contains(&other) {
                    if self.requested_order(other) == Some(true) && !made_first.contains(&other) {
                        warnings.extend(self.warning(other, "a new one is created before the old one is deleted, because a dependent requires it (`delete_before_replace: false`)"));
                    }
                    stack.push(other);
                }
            }
        }
        made_first
    }

    /// What the documents say about the order of a replacement: whether it deletes first.
    fn requested_order(&self, operation: u32) -> Option<bool> {
        let node = self.operations.get(operation as usize)?.node?;
        self.graph?.node(node)?.lifecycle.delete_before_replace
    }

    fn warning(&self, step: u32, message: &str) -> Option<Warning> {
        let key = self.steps.get(step as usize)?.key.clone();
        Some(Warning { key, message: message.to_owned() })
    }

    /// Operations in the order in which their resources can be deleted, according to the records.
    fn dependents_first(&self, operations: Vec<u32>) -> Vec<u32> {
        let urns: HashMap<&Urn, u32> =
            operations.iter().filter_map(|index| Some((self.urn(*index)?, *index))).collect();
        let going = urns.keys().copied().collect();
        let ordered = deletion_order::dependents_first(self.recorded, &going);
        ordered.iter().filter_map(|record| urns.get(&record.urn).copied()).collect()
    }

    /// What is deleted to be created again goes only once everything is there that its new one needs, as
    /// far as the order allows it: a dependency that fails must not cost a resource that then cannot be
    /// created. The same holds for a host and what lives in it.
    pub(super) fn delete_late(&mut self) {
        let is_deleted_first = |operation: &Operation| {
            matches!(operation.kind, OperationKind::Create { instead_of: InsteadOf::Deleted, .. })
        };
        let mut late = Vec::new();
        for (index, operation) in (0u32..).zip(&self.operations) {
            let OperationKind::Create { instead_of, with, .. } = &operation.kind else { continue };
            let own = self.urn(index).filter(|_| *instead_of == InsteadOf::Deleted);
            let going = own.into_iter().chain(with);
            let deletions = going.filter_map(|urn| self.deletions.get(&RecordId::current(urn.clone())));
            let deletions: Vec<u32> = deletions.copied().filter(|deletion| *deletion != index).collect();
            for before in &operation.after {
                // Those are deleted after it.
                if self.operations.get(*before as usize).is_some_and(is_deleted_first) {
                    continue;
                }
                late.extend(
                    deletions.iter().filter(|deletion| *deletion != before).map(|one| (*before, *one)),
                );
            }
        }
        late.into_iter().for_each(|(before, deletion)| self.edges.soft(before, deletion));
    }

    /// An operation that may delete its old resource waits for the dependents that leave that
    /// resource anyway, wherever the order allows it. It deletes only dependents that are provisioned
    /// after it: the others have left by then.
    pub(super) fn wait_for_departures(&mut self) {
        for index in 0..self.operations.len() as u32 {
            let Some(Operation {
                step, kind: OperationKind::Create { makes_room: Some(with_it), .. }, ..
            }) = self.operations.get(index as usize)
            else {
                continue;
            };
            let Some(urn) = self.urn(*step) else { continue };
            let follows = |other: &u32| edges::waits_for(&self.operations, *other, index);
            let with_it: Vec<u32> = with_it.iter().copied().filter(follows).collect();
            let leaving = self.dependents(urn).iter().flat_map(|dependent| {
                let deletion = self.deletions.get(&RecordId::current(dependent.urn.clone()));
                [deletion, self.provisions.get(&dependent.urn)].into_iter().flatten().copied()
            });
            let leaving: Vec<u32> = leaving.filter(|other| *other != index).collect();
            if let Some(Operation { kind: OperationKind::Create { makes_room, .. }, .. }) =
                self.operations.get_mut(index as usize)
            {
                *makes_room = Some(with_it);
            }
            for other in leaving {
                prefer(&mut self.operations, other, index);
            }
        }
    }

    /// The replacements next to a resource in the direction of `next`. Removed resources in between
    /// pass the order of deletion on.
    pub(super) fn past_what_goes<'b>(
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
}
