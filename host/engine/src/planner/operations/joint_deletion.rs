//! Guests: a resource that is deleted together with its host needs no call of its own
//! (`lifecycle.deleted_with`). Both leave the state together.

use std::collections::{HashMap, HashSet};

use purlin_graph::Graph;
use purlin_model::{Context, Key, Reason, Urn};
use purlin_state::{Record, RecordId, Status};

use super::edges::{self, waits_for};
use super::{Building, prefer};
use crate::changes::fate;
use crate::plan::{Action, InsteadOf, Operation, OperationKind, Step};
use crate::records::recorded::{Recorded, exists};

/// The resources that would lose their host, each with the reason to replace it too: the host is
/// deleted for a new one, and the resource does not move elsewhere before that. The documents name
/// the future host, the record the current one.
pub(in crate::planner) fn losing_their_host(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
    steps: &[Step],
    operations: &[Operation],
) -> Vec<(Urn, Reason)> {
    let companions = (0u32..).zip(operations).flat_map(|(index, operation)| {
        let OperationKind::Delete { also, .. } = &operation.kind else { return Vec::new() };
        also.iter().map(|guest| (guest, index)).collect()
    });
    let taken_by: HashMap<&RecordId, u32> = companions.collect();
    let going = (0u32..).zip(operations).filter_map(|(index, operation)| match &operation.kind {
        OperationKind::Delete { id, call, goes_with, .. } if *call || *goes_with => {
            let step = steps.get(operation.step as usize)?;
            let index = taken_by.get(id).copied().unwrap_or(index);
            // A replaced resource becomes an old copy only during the run.
            let is_current = id.superseded.is_none() || step.action == Action::Replace;
            let id = if is_current { RecordId::current(id.urn.clone()) } else { id.clone() };
            Some((id, (index, step)))
        }
        _ => None,
    });
    let mut hosts: HashMap<RecordId, (u32, &Step)> = going.collect();
    if hosts.is_empty() {
        return Vec::new();
    }
    // A retained resource is still deleted together with its host.
    let mut retained: Vec<(RecordId, &Step)> =
        operations.iter().filter_map(|operation| forgotten(steps, recorded, operation)).collect();
    loop {
        let before = retained.len();
        retained.retain(|(id, step)| {
            let home = recorded.get(id).and_then(|record| recorded.host_of(record));
            let Some((host, _)) = home.and_then(|home| hosts.get(&home.id())) else { return true };
            hosts.insert(id.clone(), (*host, *step));
            false
        });
        if retained.len() == before {
            break;
        }
    }
    let losing_their_host = (0u32..).zip(operations).filter_map(|(index, operation)| {
        let step = steps.get(operation.step as usize)?;
        let is_replaced = match &operation.kind {
            // Otherwise the resource may turn out to need no change.
            OperationKind::Create { prepared, certain, with, .. } => {
                prepared.is_some() || *certain || with.is_some()
            }
            _ => true,
        };
        if step.action == Action::Delete || step.action == Action::Replace && is_replaced {
            return None;
        }
        let record = recorded.current(&step.urn).filter(|record| exists(record) && !record.external)?;
        let home = graph.deleted_with(operation.node?).and_then(|host| graph.key(host));
        let home = home.map(|home| Urn::new(context, home));
        // A resource in an uncertain state may already live in its future host.
        let may_live_there = matches!(record.status, Status::Partial(_)) || record.digest == [0; 32];
        let mut homes: Vec<RecordId> =
            recorded.possible_hosts_of(record).0.iter().map(|home| home.id()).collect();
        homes.extend(home.clone().filter(|_| may_live_there).map(RecordId::current));
        // A resource that its driver moves elsewhere has left, unless it can move only afterwards.
        // Without a call no resource moves, so the recorded host counts in this run even if the
        // documents name another one.
        let takes_along = |id: &RecordId| {
            let (host, because) = hosts.get(id)?;
            let moves = step.action == Action::Update && home.as_ref() != Some(&id.urn);
            // Whatever lives in a host went with it when its deletion began.
            let has_begun = recorded.get(id).is_some_and(|record| fate::is_going(record));
            (because.action != Action::None && !moves || has_begun || waits_for(operations, index, *host))
                .then_some(because)
        };
        let because = homes.iter().find_map(takes_along)?;
        Some((step.urn.clone(), Reason::GoesWith { other: because.key.clone() }))
    });
    losing_their_host.collect()
}

/// The record that an operation only forgets because it is retained, with its step.
fn forgotten<'a>(
    steps: &'a [Step],
    recorded: &Recorded,
    operation: &Operation,
) -> Option<(RecordId, &'a Step)> {
    let step = steps.get(operation.step as usize)?;
    let current = || RecordId::current(step.urn.clone());
    let is_retained =
        |reason: &Reason| matches!(reason, Reason::ForgottenRetained | Reason::OldOneNotRetained { .. });
    let id = match &operation.kind {
        OperationKind::Create { instead_of: InsteadOf::Forgotten, .. } => current(),
        // An old copy that an earlier run kept because of its host.
        OperationKind::Delete { id, call: false, goes_with: false, .. }
            if recorded.get(id).is_some_and(|record| id.superseded.is_some() && record.retain) =>
        {
            id.clone()
        }
        OperationKind::Delete { call: false, goes_with: false, .. }
            if step.reasons.iter().any(is_retained) =>
        {
            current()
        }
        _ => return None,
    };
    Some((id, step))
}

/// A resource that is deleted, with its host.
struct Guest {
    id: RecordId,
    own: u32,
    host: RecordId,
    /// The number of hosts above it.
    depth: usize,
}

impl Building<'_> {
    /// Deletes guests together with their hosts, wherever nothing has to happen between the two
    /// deletions. The order of all deletions is final by then and is kept: operations that had to
    /// precede the guest's deletion now precede the host's.
    pub(super) fn goes_with(&mut self) {
        let mut guests: Vec<Guest> =
            self.deletions.iter().filter_map(|(id, own)| self.guest(id, *own)).collect();
        let mut retained = self.retained();
        if guests.is_empty() && retained.is_empty() {
            return;
        }
        let mut place = vec![0; self.operations.len()];
        for (number, index) in (0..).zip(edges::in_order(&self.operations).unwrap_or_default()) {
            if let Some(place) = place.get_mut(index as usize) {
                *place = number;
            }
        }
        // The last deletion comes first: other guests may have to be deleted before it, which is
        // possible once it is deleted with the host.
        guests.sort_by_key(|guest| {
            (guest.depth, std::cmp::Reverse(place.get(guest.own as usize).copied().unwrap_or(0)))
        });
        let mut followers = edges::followers(&self.operations);
        loop {
            let before = guests.len() + retained.len();
            guests.retain(|guest| !self.goes(guest, &mut followers));
            retained.retain(|guest| !self.retained_in_vain(guest, &mut followers));
            if guests.len() + retained.len() == before {
                return;
            }
        }
    }

    /// Lets one guest be deleted with its host. Returns whether that is possible.
    fn goes(&mut self, guest: &Guest, followers: &mut [Vec<u32>]) -> bool {
        let Guest { id, own, host, .. } = guest;
        let own = *own;
        let Some(by) = self.deletions.get(host).copied().filter(|by| *by != own && self.is_call(*by)) else {
            return false;
        };
        if self.may_leave(host, by) {
            return false;
        }
        let after = self.operations.get(own as usize).map(|operation| operation.after.clone());
        let before_own: Vec<u32> =
            after.unwrap_or_default().into_iter().filter(|other| *other != by).collect();
        let behind_own = followers.get(own as usize).map_or(&[][..], Vec::as_slice);
        let is_between = before_own.iter().any(|other| waits_for(&self.operations, *other, by))
            || behind_own.iter().any(|other| *other != by && waits_for(&self.operations, by, *other));
        if is_between {
            return false;
        }
        let is_sure = self.is_sure(by);
        let Some(Operation {
            kind: OperationKind::Delete { id: gone, call, goes_with, also, .. },
            after,
            ..
        }) = self.operations.get_mut(own as usize)
        else {
            return false;
        };
        // If the host may turn out to stay, the guest gets a deletion of its own.
        (*call, *goes_with) = (!is_sure, is_sure);
        after.retain(|other| *other != by);
        after.push(by);
        // The current record may be an old copy by then.
        let mut company = vec![gone.clone()];
        company.extend(also.iter().cloned());
        let has_company = company.len() > 1;
        let Some(Operation { kind: OperationKind::Delete { also, .. }, after, .. }) =
            self.operations.get_mut(by as usize)
        else {
            return false;
        };
        also.extend(company);
        after.retain(|other| *other != own);
        after.extend(&before_own);
        after.sort_unstable();
        after.dedup();
        for before in before_own {
            followers.get_mut(before as usize).into_iter().for_each(|followers| followers.push(by));
        }
        followers
            .get_mut(own as usize)
            .into_iter()
            .for_each(|followers| followers.retain(|other| *other != by));
        followers.get_mut(by as usize).into_iter().for_each(|followers| followers.push(own));
        self.deletions.insert(id.clone(), by);
        // This is rare; otherwise the cost would be quadratic in the number of deletions.
        if has_company {
            self.deletions.values_mut().filter(|at| **at == own).for_each(|at| *at = by);
        }
        true
    }

    /// Whether a resource is replaced with its host is known only after the host.
    pub(super) fn follow_hosts(&mut self) {
        for (own, operation) in (0..).zip(&self.operations) {
            if let OperationKind::Create { with: Some(host), .. } = &operation.kind
                && let Some(before) = self.provisions.get(host)
            {
                self.edges.soft(*before, own);
            }
        }
    }

    /// The retained resources with a host, in the order in which they may be deleted with it.
    fn retained(&self) -> Vec<Guest> {
        let retained = (0u32..).zip(&self.operations).filter_map(|(own, operation)| {
            let (id, _) = forgotten(&self.steps, self.recorded, operation)?;
            self.lives_in(&id, own)
        });
        let mut retained: Vec<Guest> = retained.collect();
        retained.sort_by(|a, b| (a.depth, &a.id).cmp(&(b.depth, &b.id)));
        retained
    }

    /// A retained resource whose host is deleted first is gone too, and the record must not claim
    /// otherwise. Returns whether that is the case.
    fn retained_in_vain(&mut self, guest: &Guest, followers: &mut [Vec<u32>]) -> bool {
        let Guest { id, own, host, .. } = guest;
        let (Some(by), Some(other)) = (self.deletions.get(host).copied(), host.urn.key()) else {
            return false;
        };
        let Some(Operation { kind: OperationKind::Delete { call: true, also, .. }, .. }) =
            self.operations.get_mut(by as usize)
        else {
            return false;
        };
        also.push(id.clone());
        self.deletions.insert(id.clone(), by);
        if id.superseded.is_some() && !waits_for(&self.operations, by, *own) {
            prefer(&mut self.operations, by, *own);
            followers.get_mut(by as usize).into_iter().for_each(|followers| followers.push(*own));
        }
        let Some(Operation { step, kind, after, .. }) = self.operations.get_mut(*own as usize) else {
            return true;
        };
        let step = *step;
        // What lives in the retained resource would be gone with it, so whatever leaves it first leaves before
        // the host is deleted.
        let leaving = match kind {
            OperationKind::Delete { .. } => after.clone(),
            _ => Vec::new(),
        };
        if let OperationKind::Create { instead_of, .. } = kind {
            // The new resource may exist by then. Guests of the old one are deleted too, so the old
            // one stays recorded as long as it exists.
            let copy = self.recorded.next_copy(&id.urn);
            *instead_of = InsteadOf::Copy(copy);
            let old = RecordId { urn: id.urn.clone(), superseded: Some(copy) };
            // If the host is kept after all, the old resource is only forgotten: no driver is
            // called for a retained resource.
            let deletion = self.delete(step, old, false, false);
            if let Some(Operation { after, .. }) = self.operations.get_mut(deletion as usize) {
                after.extend([*own, by]);
                after.sort_unstable();
            }
            // If possible, nothing is deleted before its recorded dependents.
            let needs = self.recorded.get(id).map(|record| record.dependencies.clone()).unwrap_or_default();
            for need in needs {
                let need = self.deletions.get(&RecordId::current(need)).copied();
                if let Some(need) = need.filter(|need| *need != by && !waits_for(&self.operations, by, *need))
                {
                    prefer(&mut self.operations, by, need);
                    followers.get_mut(by as usize).into_iter().for_each(|followers| followers.push(need));
                }
            }
        }
        for before in leaving {
            if before != by && !waits_for(&self.operations, before, by) {
                prefer(&mut self.operations, before, by);
                followers.get_mut(before as usize).into_iter().for_each(|followers| followers.push(by));
            }
        }
        let step = self.steps.get_mut(step as usize);
        for reason in step.into_iter().flat_map(|step| &mut step.reasons) {
            if matches!(reason, Reason::OldOneRetained | Reason::ForgottenRetained) {
                *reason = Reason::OldOneNotRetained { other: other.clone() };
            }
        }
        true
    }

    /// The resource that keeps the host of a retained resource, if that host is an old copy that
    /// stays for now, or becomes one in this run. The retained resource is deleted with the old
    /// copy one day, and stays recorded until then.
    pub(super) fn home_stays_for(&self, retained: &Record, in_scope: Option<&HashSet<Urn>>) -> Option<Key> {
        let mut seen = HashSet::from([retained.id()]);
        let mut home = self.recorded.host_of(retained)?;
        while (home.superseded.is_some() || self.made_old.contains(&home.urn)) && seen.insert(home.id()) {
            if in_scope.is_some_and(|scope| !scope.contains(&home.urn)) {
                return home.urn.key();
            }
            // A host that is itself retained stays recorded only as long as its own host.
            let is_let_go = home.superseded.is_none() && self.is_retained(&home.urn);
            if let Some(other) = self.needed.get(&home.id()).filter(|_| !is_let_go) {
                return Some(other.clone());
            }
            home = self.recorded.host_of(home)?;
        }
        None
    }

    fn guest(&self, id: &RecordId, own: u32) -> Option<Guest> {
        self.is_call(own).then(|| self.lives_in(id, own)).flatten()
    }

    fn lives_in(&self, id: &RecordId, own: u32) -> Option<Guest> {
        let record = self.recorded.get(id)?;
        let host = self.recorded.host_of(record)?;
        // A host may be an old copy, and so may the host's own host, so URNs alone cannot detect a
        // cycle.
        let mut seen: HashSet<RecordId> = HashSet::from([id.clone()]);
        let mut next = Some(host);
        while let Some(home) = next
            && seen.insert(home.id())
        {
            next = self.recorded.host_of(home);
        }
        Some(Guest { id: id.clone(), own, host: host.id(), depth: seen.len() })
    }

    /// Whether an operation deletes with a call.
    fn is_call(&self, operation: u32) -> bool {
        let operation = self.operations.get(operation as usize);
        matches!(operation.map(|operation| &operation.kind), Some(OperationKind::Delete { call: true, .. }))
    }

    /// Whether an operation deletes the old resource before the new one exists. Such an operation
    /// cannot wait for deletions that come after it.
    fn makes_place(&self, operation: u32) -> bool {
        let operation = self.operations.get(operation as usize);
        matches!(operation.map(|operation| &operation.kind), Some(OperationKind::Delete { stays: true, .. }))
    }

    /// Whether a host that would be deleted together with its own host may turn out to move away
    /// from there instead. Then the deletion takes no guest along, so each guest goes before it.
    fn may_leave(&self, host: &RecordId, by: u32) -> bool {
        let Some(Operation { kind: OperationKind::Delete { id, .. }, .. }) = self.operations.get(by as usize)
        else {
            return false;
        };
        let provision = self.provisions.get(&host.urn).filter(|_| host.superseded.is_none());
        id.urn != host.urn && provision.is_some_and(|provision| !self.is_surely_replaced(*provision))
    }

    /// Whether an operation certainly deletes. The old resource of a replacement that creates first
    /// is kept if its inputs turn out not to require a new one.
    fn is_sure(&self, operation: u32) -> bool {
        if self.makes_place(operation) {
            return true;
        }
        let step = self.operations.get(operation as usize).map(|operation| operation.step);
        step.is_none_or(|step| self.is_surely_replaced(step))
    }

    /// Whether a provision certainly makes a new resource, if it is a replacement. One that follows
    /// another is as certain as that.
    fn is_surely_replaced(&self, provision: u32) -> bool {
        let (mut next, mut seen) = (provision, HashSet::new());
        while seen.insert(next) {
            let Some(Operation { step, kind: OperationKind::Create { prepared, certain, with, .. }, .. }) =
                self.operations.get(next as usize)
            else {
                return next == provision;
            };
            match with.as_ref().map(|other| self.provisions.get(other)) {
                _ if *certain || *step != next => return true,
                Some(Some(other)) => next = *other,
                Some(None) => return false,
                None => return prepared.is_some(),
            }
        }
        false
    }
}
