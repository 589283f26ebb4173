//! Manual changes to records, such as forgetting, protecting and marking, and settling a call whose
//! outcome a person has found out. No drivers are called.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purlin_model::driver::ResourceState;
use purlin_model::{InstallationShare, Unfinished, Urn};
use purlin_state::{Change, Operation, Record, RecordId, Snapshot, Status};

use crate::error::Error;
use crate::records::cycles::Dependence;
use crate::records::making::{between, emptied, old_copy, with_unknown_host};
use crate::records::recorded::{Recorded, exists, is_outcome, perhaps_made_by};
use crate::records::visibility;

/// The changes that remove a resource from the state: its record, its old copies, and its pending
/// calls. The real objects stay untouched.
///
/// With `force`, resources that are recorded to depend on it lose that dependency, and the next
/// plan compares them with the documents again.
///
/// # Errors
/// [`Error::Unknown`] if nothing is recorded or pending under the name; [`Error::InUse`] without
/// `force` if other records depend on it.
pub fn forget(snapshot: Snapshot, urn: &Urn, force: bool) -> Result<Vec<Change>, Error> {
    let recorded = Recorded::new(snapshot)?;
    let depends = |record: &&Arc<Record>| record.urn != *urn && record.dependencies.contains(urn);
    let dependents: BTreeSet<Urn> =
        recorded.records().filter(depends).map(|record| record.urn.clone()).collect();
    let mut changes: Vec<Change> = recorded
        .all_pending()
        .map(|intent| intent.id())
        .filter(|id| id.urn == *urn)
        .map(Change::Settle)
        .collect();
    let ids: Vec<RecordId> =
        recorded.records().filter(|record| record.urn == *urn).map(|record| record.id()).collect();
    // A resource that may never have been created has no record, so no record depends on it.
    if !ids.is_empty() && !dependents.is_empty() && !force {
        return Err(Error::InUse { urn: urn.clone(), dependents: dependents.into_iter().collect() });
    }
    if !ids.is_empty() {
        let lives = |record: &Record| record.deleted_with.as_ref() == Some(urn);
        let others = recorded.records().filter(|record| record.urn != *urn);
        let loosened = others.filter(|record| depends(record) || lives(record)).map(|record| {
            // A later record with this name need not be the host of this resource.
            let known = if lives(record) { with_unknown_host(record) } else { Record::clone(record) };
            Change::Put(Box::new(without(&known, |other| other == urn)))
        });
        changes.extend(loosened);
    }
    changes.extend(ids.into_iter().map(Change::Remove));
    if recorded.obstacle_of(urn).is_some() {
        changes.push(Change::Obstruct { urn: urn.clone(), obstacle: None });
    }
    if changes.is_empty() { Err(Error::Unknown(urn.clone())) } else { Ok(changes) }
}

/// The changes that settle a call with an unknown outcome according to the user: the resource
/// either exists under the given provider id or does not exist. The next plan compares an existing
/// resource with the documents, since it is unknown how far the call got. `now` is the time in
/// milliseconds since 1970: the resource may be as new as the last attempt.
///
/// # Errors
/// [`Error::NotPending`] if no call on the resource is pending; [`Error::IdTaken`] if another record
/// of the driver already has the id, such as the resource that was to be replaced.
pub fn settle(
    snapshot: Snapshot,
    urn: &Urn,
    exists_as: Option<&str>,
    now: u64,
) -> Result<Vec<Change>, Error> {
    let recorded = Recorded::new(snapshot)?;
    let id = RecordId::current(urn.clone());
    let Some(intent) = recorded.pending(&id) else { return Err(Error::NotPending(urn.clone())) };
    let there = recorded.current(urn).filter(|record| exists(record));
    let mut changes = match exists_as {
        Some(_) => vec![Change::Settle(id.clone())],
        // Nothing is known about a deletion of the resource that was to be replaced.
        None => vec![intent.withdrawn()],
    };
    // The obstacle was the unknown outcome.
    if recorded.obstacle_of(urn).is_some() {
        changes.push(Change::Obstruct { urn: urn.clone(), obstacle: None });
    }
    match (&intent.operation, exists_as) {
        // A damaged journal may contain the outcome but not the settlement.
        (Operation::Create(made), Some(id))
            if there.is_some_and(|there| there.is_called(id) && is_outcome(there, made)) => {}
        (Operation::Create(made), Some(id)) => {
            let known = |on: &Urn| recorded.knows(on) && !recorded.depends_on(on, urn);
            let state = ResourceState { id: id.into(), ..ResourceState::default() };
            let status = Status::Partial(Unfinished::InterruptedCreate);
            let made = without(made, |dependency| !known(dependency));
            let created = made.created.max(visibility::ended(intent, now));
            let made = Record { state, status, created, ..made };
            if let Some(by) = recorded.of_same_object(&made).map(|record| record.id()).min() {
                return Err(Error::IdTaken { urn: urn.clone(), id: made.state.id, by });
            }
            let Some(there) = there else {
                changes.push(Change::Put(Box::new(made)));
                return Ok(changes);
            };
            if made.retain {
                changes.extend(recorded.left_behind(&there.id()));
            } else {
                changes.push(Change::Put(Box::new(old_copy(there, recorded.next_copy(urn), &made))));
            }
            // No resource recorded so far lives in an object that was unknown until now.
            let latest = recorded.records().map(|record| record.created.max(record.updated)).max();
            let created = made.created.max(latest.map_or(0, |latest| latest.saturating_add(1)));
            changes.push(Change::Put(Box::new(Record { created, ..made })));
        }
        // The resource that was to be replaced still exists, unless its deletion is open again.
        (Operation::Create(_), None) => {}
        (Operation::Update(_) | Operation::Delete(_), Some(provider_id)) => {
            if let Some(there) = there {
                let mut state = there.state.clone();
                state.id = provider_id.into();
                let known = match &intent.operation {
                    Operation::Update(changed) => Record {
                        state,
                        status: Status::Partial(Unfinished::InterruptedUpdate),
                        ..between(there, changed, |on| recorded.knows(on) && !recorded.depends_on(on, urn))
                    },
                    _ => Record { state, ..Record::clone(there) },
                };
                let others = recorded.of_same_object(&known).map(|record| record.id()).filter(|by| *by != id);
                if let Some(by) = others.min() {
                    return Err(Error::IdTaken { urn: urn.clone(), id: known.state.id, by });
                }
                changes.push(Change::Put(Box::new(known)));
            }
        }
        (Operation::Update(_) | Operation::Delete(_), None) => {
            if let Some(there) = there {
                let status = Status::Absent;
                changes.push(Change::Put(Box::new(Record { status, ..Record::clone(there) })));
            }
        }
    }
    Ok(changes)
}

/// A record without some of its dependencies, so that the next plan checks it again.
pub(crate) fn without(record: &Record, lost: impl Fn(&Urn) -> bool) -> Record {
    let mut record = record.clone();
    if record.dependencies.iter().any(&lost) {
        record.dependencies = record.dependencies.iter().filter(|urn| !lost(urn)).cloned().collect();
        record.digest = [0; 32];
    }
    record
}

/// The change that shares an installation with a group, or stops sharing it: regardless of the
/// documents (`by_hand`), or until the documents set it again.
///
/// # Errors
/// [`Error::Unknown`] if nothing is recorded under the name.
pub fn share(
    snapshot: Snapshot,
    urn: &Urn,
    group: Option<&Arc<str>>,
    by_hand: bool,
) -> Result<Vec<Change>, Error> {
    edit(snapshot, urn, |record| {
        if let Some(share) = record.share.as_ref().filter(|share| share.uses.is_none()) {
            let group = if by_hand { group.cloned() } else { share.group.clone() };
            record.share =
                Some(Arc::new(InstallationShare { group, by_hand, ..InstallationShare::clone(share) }));
        }
    })
}

/// The change that protects a resource regardless of the documents, or removes that protection.
/// Empty if nothing needs to change.
///
/// # Errors
/// [`Error::Unknown`] if nothing is recorded under the name.
pub fn protect(snapshot: Snapshot, urn: &Urn, on: bool) -> Result<Vec<Change>, Error> {
    edit(snapshot, urn, |record| record.pinned = on)
}

/// The change that marks a resource for replacement in the next run, or removes the mark.
///
/// # Errors
/// [`Error::Unknown`] if nothing is recorded under the name.
pub fn taint(snapshot: Snapshot, urn: &Urn, on: bool) -> Result<Vec<Change>, Error> {
    edit(snapshot, urn, |record| record.tainted = on)
}

/// The changes that repair contradictions between records as far as possible: dependencies on
/// resources that are not recorded, pending updates and deletions of such resources, and dependency
/// cycles, in which the least recently changed record loses its dependencies. The next plan checks
/// every resource that lost a dependency. A resource that may have been created keeps its place,
/// and other records keep their dependencies on it. Empty if nothing needs to change.
pub fn repair_contradictions(snapshot: &Snapshot) -> Vec<Change> {
    let mut known: BTreeSet<&Urn> = snapshot.records.iter().map(|record| &record.urn).collect();
    let ids: BTreeSet<RecordId> = snapshot.records.iter().map(|record| record.id()).collect();
    let homeless = snapshot.pending.iter().filter(|intent| match &intent.operation {
        Operation::Create(_) => false,
        Operation::Update(_) | Operation::Delete(_) => !ids.contains(&intent.id()),
    });
    let mut changes: Vec<Change> = homeless.map(|intent| Change::Settle(intent.id())).collect();
    let needed: BTreeSet<&Urn> = snapshot.records.iter().flat_map(|record| &record.dependencies).collect();
    for made in snapshot.pending.iter().filter_map(|intent| perhaps_made_by(intent)) {
        if needed.contains(&made.urn) && known.insert(&made.urn) {
            changes.push(Change::Put(Box::new(emptied(made))));
        }
    }
    let mut repaired: BTreeMap<RecordId, Record> = BTreeMap::new();
    for record in &snapshot.records {
        if !record.dependencies.iter().all(|urn| known.contains(urn)) {
            repaired.insert(record.id(), without(record, |urn| !known.contains(urn)));
        }
    }
    // Each iteration removes at least one dependency.
    let oldest_of_a_loop = |repaired: &BTreeMap<RecordId, Record>| {
        let current = || {
            let records = snapshot.records.iter().filter(|record| record.superseded.is_none());
            records.map(|record| repaired.get(&record.id()).unwrap_or(record))
        };
        let circle = Dependence::recorded(current()).circle()?;
        let members = current().filter(|record| circle.contains(&record.urn));
        let oldest = members.min_by(|a, b| (a.updated, &a.urn).cmp(&(b.updated, &b.urn)))?;
        Some(without(oldest, |urn| circle.contains(urn)))
    };
    while let Some(record) = oldest_of_a_loop(&repaired) {
        repaired.insert(record.id(), record);
    }
    changes.extend(repaired.into_values().map(|record| Change::Put(Box::new(record))));
    changes
}

fn edit(snapshot: Snapshot, urn: &Urn, edit: impl Fn(&mut Record)) -> Result<Vec<Change>, Error> {
    let recorded = Recorded::new(snapshot)?;
    let Some(record) = recorded.current(urn) else { return Err(Error::Unknown(urn.clone())) };
    let mut edited = Record::clone(record);
    edit(&mut edited);
    if edited == **record { Ok(Vec::new()) } else { Ok(vec![Change::Put(Box::new(edited))]) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use purlin_state::{Intent, Operation};

    use super::*;

    fn urn(id: &str) -> Urn {
        Urn::parse(&format!("urn:purlin:dev/acme::shop::shared::thing.default::shared.{id}")).expect("a URN")
    }

    fn record(id: &str, dependencies: &[&str]) -> Record {
        Record {
            urn: urn(id),
            superseded: None,
            status: Status::Ready,
            driver: Arc::new(purlin_state::DriverVersion {
                name: "acme/thing".into(),
                version: "1.0.0".into(),
                digest: "".into(),
            }),
            definition: None,
            name: id.into(),
            inputs: Default::default(),
            state: Default::default(),
            dependencies: dependencies.iter().map(|id| urn(id)).collect(),
            digest: [1; 32],
            protect: false,
            pinned: false,
            retain: false,
            external: false,
            tainted: false,
            deleted_with: None,
            perhaps_deleted_with: Box::default(),
            share: None,
            abandoned: false,
            named: None,
            holds_data: None,
            parts: Arc::default(),
            created: 0,
            updated: 0,
            deployment: "1".into(),
        }
    }

    fn pending(operation: Operation) -> Intent {
        Intent {
            operation,
            idempotency_key: "k".into(),
            checkpoint: None,
            since: 0,
            deadline: None,
            open_deletion: None,
        }
    }

    #[test]
    fn a_dependency_cycle_is_repaired() {
        let at = |id: &str, needs: &[&str], updated: u64| Record { updated, ..record(id, needs) };
        let records = [at("a", &["b", "d"], 3), at("b", &["c"], 2), at("c", &["a"], 5), at("d", &["d"], 1)];
        let snapshot = Snapshot { records: records.map(Arc::new).into(), ..Snapshot::default() };
        assert!(Recorded::new(snapshot.clone()).is_err());
        let lost = |changes: Vec<Change>| -> Vec<(String, usize)> {
            let of = |change: Change| match change {
                Change::Put(record) => (record.urn.to_string(), record.dependencies.len()),
                other => panic!("{other:?}"),
            };
            changes.into_iter().map(of).collect()
        };
        assert_eq!(
            lost(repair_contradictions(&snapshot)),
            [(urn("b").to_string(), 0), (urn("d").to_string(), 0)]
        );
    }

    #[test]
    fn a_missing_dependency_is_repaired() {
        let lost = RecordId::current(urn("lost"));
        let snapshot = Snapshot {
            records: vec![record("a", &[]).into(), record("b", &["a", "lost"]).into()],
            pending: vec![
                pending(Operation::Delete(lost.clone())),
                pending(Operation::Create(Box::new(record("new", &["a"])))),
            ],
            ..Snapshot::default()
        };
        assert!(Recorded::new(snapshot.clone()).is_err());
        let repaired = repair_contradictions(&snapshot);
        let again = Record { digest: [0; 32], ..record("b", &["a"]) };
        assert_eq!(repaired, [Change::Settle(lost), Change::Put(Box::new(again))]);
        let mut records =
            Recorded::new(Snapshot { records: vec![record("a", &[]).into()], ..Snapshot::default() })
                .expect("whole");
        repaired.into_iter().for_each(|change| records.apply(change));
        records.verify().expect("whole");
        assert!(repair_contradictions(&records.snapshot()).is_empty());
    }

    #[test]
    fn a_settled_update_keeps_old_and_new_dependencies() {
        let changed = Record { updated: 7, ..record("c", &["b"]) };
        let snapshot = Snapshot {
            records: vec![record("a", &[]).into(), record("b", &[]).into(), record("c", &["a"]).into()],
            pending: vec![pending(Operation::Update(Box::new(changed)))],
            ..Snapshot::default()
        };
        let changes = settle(snapshot, &urn("c"), Some("id"), 7).expect("changes");
        let [Change::Settle(_), Change::Put(settled)] = &changes[..] else { panic!("{changes:?}") };
        assert_eq!((&*settled.dependencies, settled.updated), (&[urn("a"), urn("b")][..], 7));
    }

    #[test]
    fn a_creation_that_was_not_made_leaves_the_deletion_before_it_open() {
        let old = record("a", &[]);
        let deletion = pending(Operation::Delete(old.id()));
        let creation = Intent {
            open_deletion: Some(Box::new(deletion.clone())),
            ..pending(Operation::Create(Box::new(record("a", &[]))))
        };
        let snapshot = Snapshot { records: vec![old.into()], pending: vec![creation], ..Snapshot::default() };
        let changes = settle(snapshot, &urn("a"), None, 7).expect("changes");
        assert_eq!(changes, [Change::Intend(Box::new(deletion))]);
    }

    #[test]
    fn a_possible_resource_keeps_its_dependents() {
        let made = record("made", &["a"]);
        let snapshot = Snapshot {
            records: vec![record("a", &[]).into(), record("b", &["made"]).into()],
            pending: vec![
                pending(Operation::Create(Box::new(made.clone()))),
                pending(Operation::Create(Box::new(record("needed_by_none", &["a"])))),
            ],
            ..Snapshot::default()
        };
        assert_eq!(repair_contradictions(&snapshot), [Change::Put(Box::new(emptied(&made)))]);
    }
}
