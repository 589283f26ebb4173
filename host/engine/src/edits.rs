//! What people change in records by hand: forgetting, protecting, marking. Nothing is called.

use std::collections::BTreeSet;

use purlin_model::Urn;
use purlin_state::{Change, Record, RecordId, Snapshot};

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

fn edit(snapshot: Snapshot, urn: &Urn, edit: impl Fn(&mut Record)) -> Result<Vec<Change>, Error> {
    let recorded = Recorded::new(snapshot)?;
    let Some(record) = recorded.current(urn) else { return Err(Error::Unknown(urn.clone())) };
    let mut edited = Record::clone(record);
    edit(&mut edited);
    if edited == **record { Ok(Vec::new()) } else { Ok(vec![Change::Put(Box::new(edited))]) }
}
