//! What people change in records by hand: forgetting, protecting, marking. Nothing is called.

use std::collections::BTreeSet;

use purlin_model::Urn;
use purlin_state::{Change, Operation, Record, RecordId, Snapshot};

use crate::error::Error;
use crate::recorded::Recorded;

/// The changes that make a resource unknown: its record, its old copies, and what is pending. What
/// is real stays as it is.
///
/// # Errors
/// [`Error::Unknown`] when nothing is recorded or pending under the name; [`Error::InUse`] when
/// others are recorded to depend on it.
pub fn forget(snapshot: Snapshot, urn: &Urn) -> Result<Vec<Change>, Error> {
    let recorded = Recorded::new(snapshot)?;
    let dependents: BTreeSet<Urn> = recorded
        .records()
        .filter(|record| record.urn != *urn && record.dependencies.contains(urn))
        .map(|record| record.urn.clone())
        .collect();
    let mut changes: Vec<Change> = recorded
        .all_pending()
        .map(|intent| intent.id())
        .filter(|id| id.urn == *urn)
        .map(Change::Settle)
        .collect();
    let ids: Vec<RecordId> =
        recorded.records().filter(|record| record.urn == *urn).map(|record| record.id()).collect();
    // What was never made for certain has no record, and nobody depends on that.
    if !ids.is_empty() && !dependents.is_empty() {
        return Err(Error::InUse { urn: urn.clone(), dependents: dependents.into_iter().collect() });
    }
    changes.extend(ids.into_iter().map(Change::Remove));
    if recorded.unmet(urn).is_some() {
        changes.push(Change::Obstruct { urn: urn.clone(), unmet: None });
    }
    if changes.is_empty() { Err(Error::Unknown(urn.clone())) } else { Ok(changes) }
}

/// The change that protects a resource whatever documents say, or lifts that again. Nothing to do
/// is no change.
///
/// # Errors
/// [`Error::Unknown`] when nothing is recorded under the name.
pub fn protect(snapshot: Snapshot, urn: &Urn, on: bool) -> Result<Vec<Change>, Error> {
    edit(snapshot, urn, |record| record.pinned = on)
}

/// The change that marks a resource to be replaced at the next occasion, or takes the mark away.
///
/// # Errors
/// [`Error::Unknown`] when nothing is recorded under the name.
pub fn taint(snapshot: Snapshot, urn: &Urn, on: bool) -> Result<Vec<Change>, Error> {
    edit(snapshot, urn, |record| record.tainted = on)
}

/// The changes that end what records say against each other where that can be ended: dependencies on
/// what is not recorded, and pending changes and deletions of it. Whatever lost a dependency is
/// looked at again by the next plan. Nothing to do is no change.
pub fn mend(snapshot: &Snapshot) -> Vec<Change> {
    let known: BTreeSet<&Urn> = snapshot.records.iter().map(|record| &record.urn).collect();
    let ids: BTreeSet<RecordId> = snapshot.records.iter().map(Record::id).collect();
    let homeless = snapshot.pending.iter().filter(|intent| match &intent.operation {
        Operation::Create(_) => false,
        Operation::Update(_) | Operation::Delete(_) => !ids.contains(&intent.id()),
    });
    let mut changes: Vec<Change> = homeless.map(|intent| Change::Settle(intent.id())).collect();
    for record in &snapshot.records {
        if record.dependencies.iter().all(|urn| known.contains(urn)) {
            continue;
        }
        let mut mended = record.clone();
        mended.dependencies.retain(|urn| known.contains(urn));
        mended.digest = [0; 32];
        changes.push(Change::Put(Box::new(mended)));
    }
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
    use purlin_state::{Intent, Operation};

    use super::*;

    fn urn(id: &str) -> Urn {
        Urn::parse(&format!("urn:purlin:dev/acme::shop::shared::thing.default::shared.{id}")).expect("a URN")
    }

    fn record(id: &str, dependencies: &[&str]) -> Record {
        Record {
            urn: urn(id),
            superseded: None,
            status: purlin_state::Status::Ready,
            driver: purlin_state::DriverVersion {
                name: "acme/thing".into(),
                version: "1.0.0".into(),
                digest: "".into(),
            },
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
            holds_data: None,
            created: 0,
            updated: 0,
            deployment: "1".into(),
        }
    }

    fn pending(operation: Operation) -> Intent {
        Intent { operation, idempotency_key: "k".into(), checkpoint: None, since: 0 }
    }

    #[test]
    fn what_lost_a_dependency_can_be_worked_from_again() {
        let lost = RecordId::current(urn("lost"));
        let snapshot = Snapshot {
            records: vec![record("a", &[]), record("b", &["a", "lost"])],
            pending: vec![
                pending(Operation::Delete(lost.clone())),
                pending(Operation::Create(Box::new(record("new", &["a"])))),
            ],
            unmet: Vec::new(),
            held: None,
        };
        assert!(Recorded::new(snapshot.clone()).is_err());
        let mended = mend(&snapshot);
        let again = Record { digest: [0; 32], ..record("b", &["a"]) };
        assert_eq!(mended, [Change::Settle(lost), Change::Put(Box::new(again))]);
        let mut records = Recorded::new(Snapshot { records: vec![record("a", &[])], ..Snapshot::default() })
            .expect("whole");
        mended.into_iter().for_each(|change| records.apply(change));
        records.verify().expect("whole");
        assert!(mend(&records.snapshot()).is_empty());
    }
}
