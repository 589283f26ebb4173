//! Deletions: what is deleted, and what must happen before.

use std::collections::HashSet;

use purlin_model::{Key, Reason, Urn};
use purlin_state::{Record, RecordId};

use super::{Building, deletion_order, has_dependents, the_old_one_stays};
use crate::plan::{Action, Operation, OperationKind, Step, Warning};
use crate::records::recorded::exists;

impl Building<'_> {
    /// Deletes the resources that the documents no longer contain.
    pub(super) fn remove(&mut self) {
        for record in deletion_order::dependents_first(self.recorded, &self.going) {
            let Some(key) = record.urn.key() else { continue };
            let mut staying: Vec<Key> = self.staying(&record.urn).collect();
            if let (true, Some(other)) = (staying.is_empty(), self.needed.get(&record.id())) {
                staying.push(other.clone());
            }
            self.errors.extend(staying.iter().map(|other| has_dependents(&key, other, "deleted")));
            let step = self.steps.len() as u32;
            let id = record.id();
            let forgotten = forgotten(&record);
            let call = forgotten.is_none();
            let why = match self.graph {
                Some(_) => Reason::LeftDocuments { departure: None },
                None => Reason::Destroyed,
            };
            let mut reasons: Vec<Reason> = [Some(why), forgotten].into_iter().flatten().collect();
            let undecided = self.recorded.is_perhaps_made(&id);
            if undecided {
                reasons.push(Reason::NewOneMayExist);
            }
            self.steps.push(Step { reasons, ..Step::new(key, record.urn.clone(), Action::Delete) });
            let own = self.delete(step, id.clone(), call, false);
            if undecided && let Some(operation) = self.operations.get_mut(own as usize) {
                operation.kind = OperationKind::Undecided;
            }
            self.deletions.insert(id, own);
        }
    }

    /// Deletes old copies that an earlier run did not get to delete.
    pub(super) fn delete_left_overs(&mut self, in_scope: Option<&HashSet<Urn>>, warnings: &mut Vec<Warning>) {
        let recorded = self.recorded;
        for record in recorded.all_superseded() {
            let Some(key) = record.urn.key() else { continue };
            if in_scope.is_some_and(|scope| !scope.contains(&record.urn)) {
                continue;
            }
            let needed_by = self.needed.get(&record.id()).cloned();
            let home_stays = || self.home_stays_for(record, in_scope).filter(|_| record.retain);
            if let Some(other) = needed_by.or_else(home_stays) {
                warnings.push(the_old_one_stays(key, &other));
                continue;
            }
            let step = self.steps.len() as u32;
            let reasons = vec![Reason::Replaced];
            self.steps.push(Step { reasons, ..Step::new(key, record.urn.clone(), Action::Delete) });
            let call = forgotten(record).is_none();
            let own = self.delete(step, record.id(), call, false);
            self.deletions.insert(record.id(), own);
        }
    }

    /// Adds the resources that an interrupted call may have created and that the documents no longer
    /// contain. They cannot be deleted until the user settles whether they exist, so a run that covers
    /// one fails.
    pub(super) fn add_undecided(&mut self, in_scope: Option<&HashSet<Urn>>) {
        let recorded = self.recorded;
        for made in recorded.perhaps_made() {
            let urn = &made.urn;
            let Some(key) = urn.key() else { continue };
            let is_described = self.graph.is_some_and(|graph| graph.find(key.as_str()).is_some());
            let is_left_out = in_scope.is_some_and(|scope| !scope.contains(urn));
            // `remove` already adds those that also have a record.
            if is_described || is_left_out || self.going.contains(urn) {
                continue;
            }
            let step = self.steps.len() as u32;
            let reasons = vec![Reason::MayExist];
            self.steps.push(Step { reasons, ..Step::new(key, urn.clone(), Action::Read) });
            let kind = OperationKind::Undecided;
            self.operations.push(Operation { step, node: None, kind, after: Vec::new() });
        }
    }

    pub(super) fn delete(&mut self, step: u32, id: RecordId, call: bool, stays: bool) -> u32 {
        let own = self.operations.len() as u32;
        let kind = OperationKind::Delete { id, call, goes_with: false, stays, also: Vec::new() };
        self.operations.push(Operation { step, node: None, kind, after: Vec::new() });
        own
    }

    /// Whether an operation must follow the new resource for which a deletion makes room.
    pub(super) fn waits_for_the_new_one(&self, operation: u32, deletion: u32) -> bool {
        let get = |index: u32| self.operations.get(index as usize);
        let Some(Operation { step, kind: OperationKind::Delete { stays: true, .. }, .. }) = get(deletion)
        else {
            return false;
        };
        get(operation).is_some_and(|operation| operation.after.contains(step))
    }

    /// Whether an operation deletes, or would delete but cannot tell whether the object exists.
    pub(super) fn deletes(&self, operation: u32) -> bool {
        let operation = self.operations.get(operation as usize);
        matches!(
            operation.map(|operation| &operation.kind),
            Some(OperationKind::Delete { .. } | OperationKind::Undecided)
        )
    }

    /// Whether an operation deletes a resource that this run first makes an old copy.
    fn becomes_old(&self, operation: u32) -> bool {
        let Some(Operation { step, kind: OperationKind::Delete { id, .. }, .. }) =
            self.operations.get(operation as usize)
        else {
            return false;
        };
        let replaces = |step: &Step| step.action == Action::Replace;
        id.superseded.is_some() && self.steps.get(*step as usize).is_some_and(replaces)
    }

    /// The operation that moves a dependent away, if it should precede a deletion.
    fn provision_before(&self, dependent: &Urn, deletion: u32) -> Option<u32> {
        let provision = self.provisions.get(dependent).copied()?;
        (provision != deletion && !self.waits_for_the_new_one(provision, deletion)).then_some(provision)
    }

    /// Places each deletion after the deletions of the resource's recorded dependents, and after the
    /// operations that move dependents away from it (SPEC §9).
    pub(super) fn order_deletions(&mut self) {
        self.keep_for_undecided();
        // Operations that only forget a resource affect no others, so they come last.
        let (taking, forgetting): (Vec<_>, Vec<_>) =
            self.deletions.iter().partition(|(_, own)| self.deletes(**own));
        // In a cycle, edges from dependents of other copies are dropped first, then
        // those of unknown copies.
        let (mut perhaps, mut of_others) = (Vec::new(), Vec::new());
        for (id, own) in taking.into_iter().chain(forgetting) {
            let is_hard = id.superseded.is_none() && self.deletes(*own);
            for dependent in self.dependents.get(&id.urn).map_or(&[][..], Vec::as_slice) {
                if dependent.urn == id.urn {
                    continue;
                }
                // A retained dependent stays as it is, whatever is deleted.
                if let Some(other) = self.deletions.get(&dependent.id())
                    && other != own
                    && self.deletes(*other)
                {
                    // An old copy's record does not say which copy it depended on, but it says when.
                    let was_there = self.recorded.at(&id.urn, dependent.updated);
                    match was_there {
                        // A dependent that is replaced for another reason, if at all, leaves its old
                        // copy behind only later.
                        _ if is_hard && self.becomes_old(*other) => self.edges.soft(*other, *own),
                        // What is recorded now depends on what is recorded now.
                        _ if is_hard && dependent.superseded.is_none() => self.edges.hard(*other, *own),
                        Some(there) if there == *id && is_hard => self.edges.hard(*other, *own),
                        Some(there) if there == *id => self.edges.soft(*other, *own),
                        // The dependency was recorded later than the last change of the dependent.
                        None => perhaps.push((*other, *own)),
                        Some(_) => of_others.push((*other, *own)),
                    }
                }
                if dependent.superseded.is_none()
                    && let Some(provision) = self.provision_before(&dependent.urn, *own)
                {
                    self.edges.soft(provision, *own);
                }
            }
            let may_need = self.may_need.get(&id.urn).into_iter().flatten();
            of_others.extend(may_need.filter_map(|urn| Some((self.provision_before(urn, *own)?, *own))));
        }
        perhaps.into_iter().chain(of_others).for_each(|(before, after)| self.edges.soft(before, after));
    }

    /// If a resource exists whose creation was interrupted, it needs its dependencies, which no record
    /// shows. They stay until the user settles whether it exists.
    fn keep_for_undecided(&mut self) {
        for (own, operation) in (0..).zip(&self.operations) {
            let (OperationKind::Undecided, Some(urn)) = (&operation.kind, self.urn(operation.step)) else {
                continue;
            };
            let Some(made) = self.recorded.perhaps_made_as(&RecordId::current(urn.clone())) else { continue };
            let is_needed = |id: &RecordId| id.urn != made.urn && made.dependencies.contains(&id.urn);
            for (_, deletion) in self.deletions.iter().filter(|(id, _)| is_needed(id)) {
                self.edges.soft(own, *deletion);
            }
        }
    }
}

/// Why the record of a removed resource is deleted without a call.
fn forgotten(record: &Record) -> Option<Reason> {
    match record {
        _ if record.external => Some(Reason::ForgottenExternal),
        _ if !exists(record) => Some(Reason::ForgottenGone),
        _ if record.retain => Some(Reason::ForgottenRetained),
        _ => None,
    }
}
