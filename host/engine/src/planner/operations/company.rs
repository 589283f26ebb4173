//! What goes with another needs no call when that one is deleted by a call (`lifecycle.deleted_with`):
//! both leave the state together.

use std::collections::{BTreeMap, HashSet};

use purlin_model::Urn;
use purlin_state::RecordId;

use super::Building;
use crate::plan::{Operation, Work};

/// Something that goes, and with whom.
struct Guest {
    id: RecordId,
    own: u32,
    host: RecordId,
    /// How many go with one another before it.
    depth: usize,
}

impl Building<'_> {
    pub(super) fn goes_with(&mut self) {
        let mut guests: Vec<Guest> =
            self.deletions.iter().filter_map(|(id, own)| self.guest(id, *own)).collect();
        guests.sort_by(|a, b| (a.depth, &a.id).cmp(&(b.depth, &b.id)));
        // By record, the operation by which it really goes.
        let mut goes: BTreeMap<RecordId, u32> = BTreeMap::new();
        for Guest { id, own, host, .. } in guests {
            let Some(by) = goes.get(&host).or_else(|| self.deletions.get(&host)).copied() else { continue };
            if by != own && self.is_sure(by) && !self.is_needed_before(&id, &host.urn, by, &goes) {
                goes.insert(id, by);
            }
        }
        for (id, host) in goes {
            let Some(own) = self.deletions.insert(id, host) else { continue };
            let Some(Operation { work: Work::Delete { id: gone, call, .. }, .. }) =
                self.operations.get_mut(own as usize)
            else {
                continue;
            };
            *call = false;
            // What is recorded now may be an old copy by then.
            let gone = gone.clone();
            if let Some(Operation { work: Work::Delete { also, .. }, .. }) =
                self.operations.get_mut(host as usize)
            {
                also.push(gone);
                self.edges.hard(host, own);
            }
        }
    }

    fn guest(&self, id: &RecordId, own: u32) -> Option<Guest> {
        let record = self.recorded.get(id)?;
        let host = RecordId::current(record.deleted_with.clone()?);
        self.is_plain(own).then_some(())?;
        let mut seen: HashSet<&Urn> = HashSet::from([&id.urn]);
        let mut next = record.deleted_with.as_ref();
        while let Some(urn) = next
            && seen.insert(urn)
        {
            next = self.recorded.current(urn).and_then(|record| record.deleted_with.as_ref());
        }
        Some(Guest { id: id.clone(), own, host, depth: seen.len() })
    }

    /// Whether an operation deletes by a call, for good.
    fn is_plain(&self, operation: u32) -> bool {
        matches!(
            self.operations.get(operation as usize).map(|operation| &operation.work),
            Some(Work::Delete { call: true, stays: false, .. })
        )
    }

    /// Whether an operation deletes, whatever becomes known: the old one of a replacement stays
    /// where its inputs turn out not to ask for a new one.
    fn is_sure(&self, operation: u32) -> bool {
        let step = self.operations.get(operation as usize).map(|operation| operation.step);
        let provision = step.and_then(|step| self.operations.get(step as usize));
        let is_perhaps = matches!(
            provision.map(|provision| &provision.work),
            Some(Work::Create { prepared: None, certain: false, .. })
        );
        let replaces = provision.is_some_and(|provision| Some(provision.step) == step);
        self.is_plain(operation) && !(replaces && is_perhaps)
    }

    /// Whether something else that goes has to go after `id` and before its host: then `id` cannot
    /// wait for the host.
    fn is_needed_before(&self, id: &RecordId, host: &Urn, by: u32, goes: &BTreeMap<RecordId, u32>) -> bool {
        let dependencies = |urn: &Urn| {
            let record = self.recorded.current(urn);
            record.map(|record| record.dependencies.clone()).unwrap_or_default()
        };
        let leaves_alone = |urn: &Urn| {
            let id = RecordId::current(urn.clone());
            urn == host || !self.deletions.contains_key(&id) || goes.get(&id) == Some(&by)
        };
        let mut stack: Vec<Urn> =
            dependencies(&id.urn).into_iter().filter(|urn| !leaves_alone(urn)).collect();
        let mut seen: HashSet<Urn> = HashSet::new();
        while let Some(urn) = stack.pop() {
            if urn == *host {
                return true;
            }
            if seen.insert(urn.clone()) {
                stack.extend(dependencies(&urn));
            }
        }
        false
    }
}
