//! Moves records to another name (SPEC §9, Rename). No drivers are called.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{InstallationShare, InstallationUse, Urn, Value};
use purlin_state::{Change, Intent, ObstacleRecord, Operation, Record, RecordId, Snapshot};

use crate::error::Error;
use crate::records::making::each_once;
use crate::records::recorded::Recorded;

/// The changes that give a resource another URN: in its record, its old copies, its pending calls,
/// and in everything that refers to it.
///
/// # Errors
/// [`Error::Unknown`] if nothing is recorded under `old`; [`Error::Taken`] if something is recorded
/// under `new`; [`Error::Integrity`] if the records contradict each other.
pub fn rename(snapshot: Snapshot, old: &Urn, new: &Urn) -> Result<Vec<Change>, Error> {
    let recorded = Recorded::new(snapshot)?;
    if recorded.current(old).is_none() {
        return Err(Error::Unknown(old.clone()));
    }
    if recorded.current(new).is_some() || recorded.pending(&RecordId::current(new.clone())).is_some() {
        return Err(Error::Taken(new.clone()));
    }
    Ok(renames(&recorded, &BTreeMap::from([(old.clone(), new.clone())])))
}

/// The changes for several renames at once. The caller ensures that no two have the same target.
pub(crate) fn renames(recorded: &Recorded, names: &BTreeMap<Urn, Urn>) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut records: Vec<&Arc<Record>> = recorded.records().collect();
    records.sort_by_cached_key(|record| record.id());
    for record in records {
        let renamed = moved(record, names);
        if renamed == **record {
            continue;
        }
        if renamed.urn != record.urn {
            changes.push(Change::Remove(record.id()));
        }
        changes.push(Change::Put(Box::new(renamed)));
    }
    // Removals come first: if two resources swap names, one must not be removed under the other's
    // new name.
    changes.sort_by_key(|change| matches!(change, Change::Put(_)));
    let renamed_id = |id: &RecordId| RecordId {
        urn: names.get(&id.urn).unwrap_or(&id.urn).clone(),
        superseded: id.superseded,
    };
    for intent in recorded.all_pending() {
        let id = intent.id();
        let mut renamed = Intent {
            operation: match &intent.operation {
                Operation::Create(record) => Operation::Create(Box::new(moved(record, names))),
                Operation::Update(record) => Operation::Update(Box::new(moved(record, names))),
                Operation::Delete(id) => Operation::Delete(renamed_id(id)),
            },
            ..Intent::clone(intent)
        };
        if let Some(deletion) = &mut renamed.open_deletion {
            deletion.operation = Operation::Delete(renamed_id(&deletion.id()));
        }
        // A pending creation also names its dependencies, which may have moved.
        if renamed == **intent {
            continue;
        }
        if renamed.id() != id {
            changes.push(Change::Settle(id));
        }
        let (id, checkpoint) = (renamed.id(), renamed.checkpoint.take());
        changes.push(Change::Intend(Box::new(renamed)));
        changes.extend(checkpoint.map(|checkpoint| Change::Checkpoint { id, checkpoint }));
    }
    // Removals come first here too: if two resources swap names, one must not remove the other's
    // obstacle.
    let obstacles = || names.iter().filter_map(|(old, new)| Some((old, new, recorded.obstacle_of(old)?)));
    changes.extend(obstacles().map(|(old, ..)| Change::Obstruct { urn: old.clone(), obstacle: None }));
    changes.extend(obstacles().map(|(_, new, obstacle)| {
        let obstacle = ObstacleRecord { urn: new.clone(), ..ObstacleRecord::clone(obstacle) };
        Change::Obstruct { urn: new.clone(), obstacle: Some(Box::new(obstacle)) }
    }));
    let vanished = || names.iter().filter(|(old, _)| !recorded.vanished(old).is_empty());
    changes.extend(vanished().map(|(old, _)| Change::Vanish { urn: old.clone(), objects: Box::default() }));
    changes.extend(vanished().map(|(old, new)| {
        let objects = recorded.vanished(old).into();
        Change::Vanish { urn: new.clone(), objects }
    }));
    changes
}

/// The changes in an environment whose resources use installations of another one that moved.
///
/// # Errors
/// [`Error::Integrity`] if the records contradict each other.
pub fn repoint(snapshot: Snapshot, names: &BTreeMap<Urn, Urn>) -> Result<Vec<Change>, Error> {
    Ok(renames(&Recorded::new(snapshot)?, names))
}

pub(crate) fn moved(record: &Record, names: &BTreeMap<Urn, Urn>) -> Record {
    let to = |urn: &Urn| names.get(urn).unwrap_or(urn).clone();
    let used = record.share.as_ref().and_then(|share| share.uses.as_ref());
    if let Some((share, uses)) =
        record.share.as_ref().zip(used.filter(|uses| names.contains_key(&uses.installation)))
    {
        let installation = to(&uses.installation);
        let mut record = record.clone();
        if let Value::Map(params) = &mut record.inputs.params {
            params.insert(InstallationUse::PARAM.into(), Value::from(installation.as_str()));
        }
        let uses = Some(InstallationUse { installation, ..uses.clone() });
        record.share = Some(Arc::new(InstallationShare { uses, ..InstallationShare::clone(share) }));
        return moved(&record, names);
    }
    Record {
        urn: to(&record.urn),
        dependencies: each_once(record.dependencies.iter().map(to)),
        deleted_with: record.deleted_with.as_ref().map(to),
        perhaps_deleted_with: record.perhaps_deleted_with.iter().map(to).collect(),
        ..record.clone()
    }
}
