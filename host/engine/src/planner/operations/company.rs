//! What goes with another needs no call when that one is deleted by a call (`lifecycle.deleted_with`):
//! both leave the state together.

use std::collections::{BTreeMap, HashMap, HashSet};

use purlin_graph::Graph;
use purlin_model::{Context, Reason, Urn};
use purlin_state::RecordId;

use super::Building;
use super::edges::waits_for;
use crate::plan::{Action, Companion, InsteadOf, Operation, Step, Work};
use crate::recorded::{Recorded, exists};

/// What would be left without what it lives in, each with the reason to replace it, too: what it lives in is
/// deleted for a new one, and it moves nowhere else before. The documents say where it lives from now on, the
/// record where it lived until now.
pub(in crate::planner) fn homeless(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
    steps: &[Step],
    operations: &[Operation],
) -> Vec<(Urn, Reason)> {
    let going = (0u32..).zip(operations).filter_map(|(index, operation)| match &operation.work {
        Work::Delete { id, call, goes_with, .. } if *call || *goes_with => {
            let step = steps.get(operation.step as usize)?;
            // What is replaced now becomes an old copy only then.
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
    // What is retained goes all the same with what it lives in.
    let mut retained: Vec<&Step> =
        operations.iter().filter_map(|operation| forgotten(steps, operation)).collect();
    loop {
        let before = retained.len();
        retained.retain(|step| {
            let home = recorded.current(&step.urn).and_then(|record| recorded.home_of(record));
            let Some((host, _)) = home.and_then(|home| hosts.get(&home.id())) else { return true };
            hosts.insert(RecordId::current(step.urn.clone()), (*host, step));
            false
        });
        if retained.len() == before {
            break;
        }
    }
    let homeless = (0u32..).zip(operations).filter_map(|(index, operation)| {
        let step = steps.get(operation.step as usize)?;
        let is_replaced = match &operation.work {
            // It may turn out that it needs no change.
            Work::Create { prepared, certain, with, .. } => prepared.is_some() || *certain || with.is_some(),
            _ => true,
        };
        if step.action == Action::Delete || step.action == Action::Replace && is_replaced {
            return None;
        }
        let record = recorded.current(&step.urn).filter(|record| exists(record) && !record.external)?;
        let urn = record.deleted_with.as_ref()?;
        // Of several that had the name it lives in the one that it was made in; else it is told by the name.
        let copy = recorded.home_of(record).map(|home| home.id()).filter(|home| home.superseded.is_some());
        let (host, because) = hosts.get(&copy.unwrap_or_else(|| RecordId::current(urn.clone())))?;
        let home = graph.deleted_with(operation.node?).and_then(|host| graph.key(host));
        let stays = home.is_some_and(|home| Urn::new(context, home) == *urn);
        // Whom its driver moves elsewhere has left, unless that can only be after. Without a call nobody moves:
        // what is recorded holds in the run, too, whose documents say something else.
        let moves = step.action == Action::Update && !stays;
        let goes = because.action != Action::None && !moves || waits_for(operations, index, *host);
        goes.then(|| (step.urn.clone(), Reason::GoesWith { other: because.key.clone() }))
    });
    homeless.collect()
}

/// The step of an operation that forgets the old one for a new one, as it is retained.
fn forgotten<'a>(steps: &'a [Step], operation: &Operation) -> Option<&'a Step> {
    let is_forgotten = matches!(&operation.work, Work::Create { instead_of: InsteadOf::Forgotten, .. });
    steps.get(operation.step as usize).filter(|_| is_forgotten)
}

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
        // What goes by each operation that takes something along.
        let mut parties: HashMap<u32, Vec<RecordId>> = HashMap::new();
        for Guest { id, own, host, .. } in guests {
            let Some(by) = goes.get(&host).or_else(|| self.deletions.get(&host)).copied() else { continue };
            let waits = self.makes_place(own) && !self.makes_place(by);
            if by != own
                && self.is_call(by)
                && !waits
                && !self.is_needed_before(&id, &host, by, &goes, &parties)
            {
                let party = parties.entry(by).or_insert_with(|| vec![host]);
                party.push(id.clone());
                goes.insert(id, by);
            }
        }
        for (id, host) in goes {
            let Some(own) = self.deletions.insert(id, host) else { continue };
            let is_sure = self.is_sure(host);
            let Some(Operation { work: Work::Delete { id: gone, call, goes_with, stays, .. }, .. }) =
                self.operations.get_mut(own as usize)
            else {
                continue;
            };
            // What it lives in may turn out to stay: then this is deleted by itself.
            (*call, *goes_with) = (!is_sure, is_sure);
            // What is recorded now may be an old copy by then.
            let (gone, stays) = (gone.clone(), *stays);
            if let Some(Operation { work: Work::Delete { also, .. }, .. }) =
                self.operations.get_mut(host as usize)
            {
                also.push(Companion { id: gone, stays });
                self.edges.hard(host, own);
            }
        }
        self.retained_in_vain();
        self.follow_hosts();
    }

    /// Whether something is replaced because of what it lives in is known once that was.
    fn follow_hosts(&mut self) {
        for (own, operation) in (0..).zip(&self.operations) {
            if let Work::Create { with: Some(host), .. } = &operation.work
                && let Some(before) = self.provisions.get(host)
            {
                self.edges.soft(*before, own);
            }
        }
    }

    /// What is to be retained and lives in something that is deleted first is gone with that all the
    /// same, and the record must not say that it is there.
    fn retained_in_vain(&mut self) {
        let retained = (0u32..).zip(&self.operations).filter_map(|(own, operation)| {
            let id = RecordId::current(forgotten(&self.steps, operation)?.urn.clone());
            self.lives_in(&id, own)
        });
        let mut guests: Vec<Guest> = retained.collect();
        guests.sort_by(|a, b| (a.depth, &a.id).cmp(&(b.depth, &b.id)));
        let mut goes: BTreeMap<RecordId, u32> = BTreeMap::new();
        for Guest { id, own, host, .. } in guests {
            let Some(by) = goes.get(&host).or_else(|| self.deletions.get(&host)).copied() else { continue };
            let Some(other) = host.urn.key() else { continue };
            if let Some(Operation { work: Work::Delete { id: gone, call: true, also, .. }, .. }) =
                self.operations.get_mut(by as usize)
            {
                // Else the new one is there by then, and nothing records the old one.
                if gone.superseded.is_none() {
                    also.push(Companion { id: id.clone(), stays: true });
                }
                goes.insert(id, by);
                let step = self.operations.get(own as usize).map(|operation| operation.step);
                let step = step.and_then(|step| self.steps.get_mut(step as usize));
                let reasons = step.into_iter().flat_map(|step| &mut step.reasons);
                for reason in reasons.filter(|reason| **reason == Reason::OldOneRetained) {
                    *reason = Reason::OldOneNotRetained { other: other.clone() };
                }
            }
        }
    }

    fn guest(&self, id: &RecordId, own: u32) -> Option<Guest> {
        self.is_call(own).then(|| self.lives_in(id, own)).flatten()
    }

    fn lives_in(&self, id: &RecordId, own: u32) -> Option<Guest> {
        let record = self.recorded.get(id)?;
        let host = self.recorded.home_of(record)?;
        // A host may be an old copy, and so may what that lives in: names alone do not tell.
        let mut seen: HashSet<RecordId> = HashSet::from([id.clone()]);
        let mut next = Some(host);
        while let Some(home) = next
            && seen.insert(home.id())
        {
            next = self.recorded.home_of(home);
        }
        Some(Guest { id: id.clone(), own, host: host.id(), depth: seen.len() })
    }

    /// Whether an operation deletes by a call.
    fn is_call(&self, operation: u32) -> bool {
        let operation = self.operations.get(operation as usize);
        matches!(operation.map(|operation| &operation.work), Some(Work::Delete { call: true, .. }))
    }

    /// Whether an operation deletes the old one before there is a new one. Such a one cannot wait for what
    /// goes only after that.
    fn makes_place(&self, operation: u32) -> bool {
        let operation = self.operations.get(operation as usize);
        matches!(operation.map(|operation| &operation.work), Some(Work::Delete { stays: true, .. }))
    }

    /// Whether an operation waits for the new one that a deletion makes place for, at any distance.
    fn waits_for_new(&self, operation: u32, deletion: u32) -> bool {
        let step = self.operations.get(deletion as usize).map(|deletion| deletion.step);
        step.is_some_and(|new| waits_for(&self.operations, operation, new))
    }

    /// Whether an operation deletes, whatever becomes known: the old one of a replacement that creates first
    /// stays where its inputs turn out not to ask for a new one.
    fn is_sure(&self, operation: u32) -> bool {
        if self.makes_place(operation) {
            return true;
        }
        let step = self.operations.get(operation as usize).map(|operation| operation.step);
        let provision = step.and_then(|step| self.operations.get(step as usize));
        let is_perhaps = matches!(
            provision.map(|provision| &provision.work),
            Some(
                Work::Create { prepared: None, certain: false, .. }
                    | Work::Create { certain: false, with: Some(_), .. }
            )
        );
        let replaces = provision.is_some_and(|provision| Some(provision.step) == step);
        !(replaces && is_perhaps)
    }

    /// Whether something else that goes has to go after `id` and before what `id` would go with:
    /// then it cannot wait for that.
    fn is_needed_before(
        &self,
        id: &RecordId,
        host: &RecordId,
        by: u32,
        goes: &BTreeMap<RecordId, u32>,
        parties: &HashMap<u32, Vec<RecordId>>,
    ) -> bool {
        let goes_by = |id: &RecordId| goes.get(id).or_else(|| self.deletions.get(id)).copied();
        let then = |id: &RecordId| -> Vec<RecordId> {
            let dependencies = self.recorded.get(id).map(|record| record.dependencies.iter());
            let all = |urn: &'_ Urn| {
                let copies = self.recorded.copies(urn).map(|copy| copy.id());
                copies.chain([RecordId::current(urn.clone())]).collect::<Vec<_>>()
            };
            dependencies.into_iter().flatten().flat_map(all).collect()
        };
        let hosts: Vec<&RecordId> =
            parties.get(&by).map_or_else(|| vec![host], |party| party.iter().collect());
        let dependents = hosts.iter().flat_map(|host| self.dependents(&host.urn));
        let dependents = dependents.filter(|dependent| dependent.superseded.is_none());
        let leavers: Vec<u32> =
            dependents.filter_map(|dependent| self.provisions.get(&dependent.urn).copied()).collect();
        // To be needed by what it goes with anyway is no reason.
        let mut stack: Vec<RecordId> = then(id).into_iter().filter(|id| goes_by(id) != Some(by)).collect();
        let mut seen: HashSet<u32> = HashSet::new();
        while let Some(id) = stack.pop() {
            let Some(operation) = goes_by(&id) else { continue };
            if operation == by {
                return true;
            }
            if !seen.insert(operation) {
                continue;
            }
            // Who has to leave what it goes with may wait for the new one of this.
            if self.makes_place(operation)
                && leavers.iter().any(|leaver| self.waits_for_new(*leaver, operation))
            {
                return true;
            }
            stack.extend(then(&id));
            // Who goes in company waits for the company.
            stack.extend(parties.get(&operation).into_iter().flatten().flat_map(then));
        }
        false
    }
}
