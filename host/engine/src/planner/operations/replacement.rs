//! Replacements: their order, and what happens to the old resource.

use std::collections::{BTreeSet, HashMap, HashSet};

use purlin_model::{Reason, Urn};
use purlin_state::RecordId;

use super::{Building, has_dependents, the_old_one_stays};
use crate::plan::{InsteadOf, Operation, OperationKind, Step, Warning};

impl Building<'_> {
    pub(super) fn replace(
        &mut self,
        replaced: &[(u32, bool)],
        in_scope: Option<&HashSet<Urn>>,
        warnings: &mut Vec<Warning>,
    ) {
        let first = self.delete_first(replaced, warnings);
        self.needed = self.needed(replaced, in_scope);
        let made_old = replaced.iter().filter(|(index, _)| !first.contains(index));
        self.made_old = made_old.filter_map(|(index, _)| self.urn(*index).cloned()).collect();
        for (index, _) in replaced {
            let Some(urn) = self.urn(*index).cloned() else { continue };
            let before = first.contains(index);
            let retain = self.is_retained(&urn);
            let Some(step) = self.steps.get_mut(*index as usize) else { continue };
            step.delete_before_replace = before && !retain;
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
            if let Some(Operation { kind: OperationKind::Create { instead_of, .. }, .. }) =
                self.operations.get_mut(*index as usize)
            {
                *instead_of = instead;
            }
            let superseded = match instead {
                InsteadOf::Copy(number) => Some(number),
                _ => None,
            };
            let id = RecordId { urn: urn.clone(), superseded };
            let needed_by = home_stays_for.as_ref().or_else(|| self.needed.get(&current));
            let own = match instead {
                InsteadOf::Deleted if let Some(other) = needed_by => {
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
    pub(super) fn delete_first(
        &self,
        replaced: &[(u32, bool)],
        warnings: &mut Vec<Warning>,
    ) -> BTreeSet<u32> {
        let index_of: HashMap<&Urn, u32> =
            replaced.iter().filter_map(|(index, _)| Some((self.urn(*index)?, *index))).collect();
        let forced: HashSet<u32> = replaced.iter().filter(|(_, forced)| *forced).map(|(i, _)| *i).collect();
        let requested = |index: u32| {
            let node = self.operations.get(index as usize)?.node?;
            self.graph?.node(node)?.lifecycle.delete_before_replace
        };
        let mut warn = |index: u32, message: String| {
            if let Some(step) = self.steps.get(index as usize) {
                warnings.push(Warning { key: step.key.clone(), message });
            }
        };
        let mut forced_all_the_same: Vec<u32> =
            forced.iter().copied().filter(|index| requested(*index) == Some(false)).collect();
        forced_all_the_same.sort_unstable();
        for index in forced_all_the_same {
            warn(index, "the old one is deleted before a new one is created, because its driver requires it (`delete_before_replace: false` has no effect)".into());
        }
        // A resource that demands to be created first requires the same of its dependencies.
        let mut made_first = BTreeSet::new();
        let mut stack: Vec<u32> = replaced
            .iter()
            .map(|(i, _)| *i)
            .filter(|i| requested(*i) == Some(false) && !forced.contains(i))
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
                    if requested(other) == Some(true) && !made_first.contains(&other) {
                        warn(other, "a new one is created before the old one is deleted, because a dependent requires it (`delete_before_replace: false`)".into());
                    }
                    stack.push(other);
                }
            }
        }
        // A resource that is deleted first requires the same of its replaced dependents.
        let mut first = BTreeSet::new();
        let mut stack: Vec<u32> = replaced
            .iter()
            .map(|(index, _)| *index)
            .filter(|i| forced.contains(i) || requested(*i) == Some(true) && !made_first.contains(i))
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
                    warn(other, "the old one is deleted before a new one is created, because the driver of one of its dependencies requires it".into());
                }
                stack.push(other);
            }
        }
        first
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
