//! Decodes the entries of an environment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use purlin_model::driver::{Cookie, StoredCookie};
use purlin_model::{ResourceStatus, Urn};

use crate::keys::Keyring;
use crate::keyspace::{self, AuditKey, EntryKind};
use crate::pool::Pool;
use crate::table::{Entries, Table};
use crate::{
    AuditEntry, AuditFault, AuditTrail, Deployment, Environment, EnvironmentSummary, Error, Holder, Intent,
    Listing, ObstacleRecord, Record, RecordId, Revision, Snapshot, Staleness, codec,
};

/// The number of records that justify a thread.
const SHARE: usize = 256;

/// The number of records that are decoded at a time. Stored records that are no longer needed make
/// room for the next ones.
const BATCH: usize = 4 << 10;

/// Decodes everything that is recorded in an environment.
pub(crate) fn snapshot(table: &Table, environment: &Environment, keys: &Keyring) -> Result<Snapshot, Error> {
    let records = keyspace::prefix(EntryKind::Record, &keyspace::place(environment));
    with_records(read_records(table.range(&records), environment, keys)?, table, environment, keys)
}

/// The same for a table without its stored records, which are given separately and freed as they
/// are decoded. Stored and decoded records together would take more memory than anything else in a
/// run.
pub(crate) fn snapshot_of(
    stored: Entries,
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Snapshot, Error> {
    let prefix = keyspace::prefix(EntryKind::Record, &keyspace::place(environment));
    let stored = stored.into_iter().filter(|(key, _)| key.starts_with(&prefix));
    with_records(read_records(stored, environment, keys)?, table, environment, keys)
}

fn with_records(
    mut records: Vec<Arc<Record>>,
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Snapshot, Error> {
    let place = keyspace::place(environment);
    let of = |kind| keyspace::prefix(kind, &place);
    // Long names are not stored in this order.
    records.sort_by(|a, b| a.urn.cmp(&b.urn).then(a.superseded.cmp(&b.superseded)));
    share_urns(&mut records);
    let pending = read_intents(table, &of(EntryKind::Intent), environment, keys)?;
    let obstacles = of(EntryKind::ObstacleRecord);
    let obstacles = table.range(&obstacles).map(|(key, value)| {
        let name = keyspace::describe(key, Some(environment));
        let obstacle = codec::decode_obstacle(value, &name, keys)?;
        let id = RecordId::current(obstacle.urn.clone());
        match keyspace::of(EntryKind::ObstacleRecord, &id).as_deref() == Some(key) {
            true => Ok(obstacle),
            false => Err(misplaced(name, obstacle.urn.as_str())),
        }
    });
    let mut obstacles = obstacles.collect::<Result<Vec<ObstacleRecord>, Error>>()?;
    obstacles.sort_by(|a, b| a.urn.cmp(&b.urn));
    let vanished = of(EntryKind::Vanished);
    let vanished = table.range(&vanished).map(|(key, value)| {
        let name = keyspace::describe(key, Some(environment));
        let (urn, objects) = codec::decode_vanished(value, &name, keys)?;
        match keyspace::of(EntryKind::Vanished, &RecordId::current(urn.clone())).as_deref() == Some(key) {
            true => Ok((urn, objects)),
            false => Err(misplaced(name, urn.as_str())),
        }
    });
    let vanished = vanished.collect::<Result<BTreeMap<_, _>, Error>>()?;
    let closed_by = closed_by(table, environment, keys)?;
    let rollouts = of(EntryKind::Rollout);
    let rollouts = table.range(&rollouts).map(|(key, value)| {
        let name = keyspace::describe(key, Some(environment));
        let number = key.get(17..).and_then(|number| number.try_into().ok());
        let Some(number) = number.map(u64::from_be_bytes) else { return Err(misplaced(name, "nothing")) };
        codec::decode_rollout(value, number, &name, keys)
    });
    let unused_cookies = unused_cookies(table, &of(EntryKind::Cookie), &records, &pending);
    Ok(Snapshot {
        unused_cookies,
        records,
        pending,
        obstacles,
        vanished,
        rollouts: rollouts.collect::<Result<_, _>>()?,
        closed_by,
        staleness: staleness(table, environment, keys)?,
        revision: revision(table),
    })
}

/// Why the records may be older than the real state, as recorded.
pub(crate) fn staleness(
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Option<Staleness>, Error> {
    let key = keyspace::prefix(EntryKind::Staleness, &keyspace::place(environment));
    let name = || keyspace::describe(&key, Some(environment));
    table.get(&key).map(|value| codec::decode_staleness(value, &name(), keys)).transpose()
}

/// The ids of the cookies that are stored apart, although nothing has them any more.
fn unused_cookies(
    table: &Table,
    prefix: &[u8],
    records: &[Arc<Record>],
    pending: &[Intent],
) -> Box<[[u8; 16]]> {
    let stored = table.range(prefix).filter_map(|(key, _)| key.get(prefix.len()..)?.try_into().ok());
    let mut unused: BTreeSet<[u8; 16]> = stored.collect();
    if !unused.is_empty() {
        let of_calls = pending.iter().flat_map(Intent::cookies);
        for cookie in records.iter().map(|record| &record.state.cookie).chain(of_calls) {
            cookie.stored().map(|stored| unused.remove(&stored.id));
        }
    }
    unused.into_iter().collect()
}

/// A cookie that is stored apart; `None` if it is missing.
pub(crate) fn cookie(
    table: &Table,
    environment: &Environment,
    wanted: &StoredCookie,
    keys: &Keyring,
) -> Result<Option<Cookie>, Error> {
    let key = keyspace::cookie(&wanted.id, &keyspace::place(environment));
    let Some(value) = table.get(&key) else { return Ok(None) };
    let cookie = Cookie::from(codec::decode_cookie(value, &wanted.id, keys)?.to_vec());
    match cookie.digest() == wanted.digest {
        true => Ok(Some(cookie)),
        false => Err(misplaced(keyspace::describe(&key, Some(environment)), "another resource")),
    }
}

/// The current record of one resource.
pub(crate) fn find(table: &Table, urn: &Urn, keys: &Keyring) -> Result<Option<Arc<Record>>, Error> {
    let id = RecordId::current(urn.clone());
    let key = keyspace::of(EntryKind::Record, &id);
    let Some(value) = key.and_then(|key| table.get(&key)) else { return Ok(None) };
    let record = codec::decode(value, urn.as_str(), keys)?;
    // An entry in the wrong place was not written by Purlin.
    match record.id() == id {
        true => Ok(Some(Arc::new(record))),
        false => Err(misplaced(urn.to_string(), &record.id().to_string())),
    }
}

/// The revision of a table. Whoever has a cookie that is stored apart has its id; those that nobody has any
/// more are removed without a change of the content.
fn revision(table: &Table) -> Revision {
    let mut tally = table.tally();
    for (key, value) in table.range(&keyspace::all(EntryKind::Cookie)) {
        tally.subtract(key, value);
    }
    Revision([tally.count, tally.bytes, tally.digest])
}

/// The holder that closed an environment.
fn closed_by(table: &Table, environment: &Environment, keys: &Keyring) -> Result<Option<Holder>, Error> {
    let key = keyspace::prefix(EntryKind::Closed, &keyspace::place(environment));
    let closed_by = table
        .get(&key)
        .map(|value| codec::decode_closed(value, &keyspace::describe(&key, Some(environment)), keys));
    closed_by.transpose()
}

/// Whether a key may belong to an installation, whatever its module. Only the entry itself tells
/// for certain.
fn may_be_installation(key: &[u8]) -> bool {
    const TYPE: &[u8] = b"::installation.";
    keyspace::is_shortened(key) || key.windows(TYPE.len()).any(|part| part == TYPE)
}

/// The summary of an environment for lists.
pub(crate) fn known(
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
) -> Result<EnvironmentSummary, Error> {
    let prefix = keyspace::prefix(EntryKind::Deployment, &keyspace::place(environment));
    let last = table.range(&prefix).last().map(|(key, value)| deployment(key, value, environment, keys));
    known_with(table, environment, keys, last.transpose()?)
}

/// The same if the last deployment is not in the table.
pub(crate) fn known_with(
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
    last: Option<Deployment>,
) -> Result<EnvironmentSummary, Error> {
    let place = keyspace::place(environment);
    let records = table.range(&keyspace::prefix(EntryKind::Record, &place)).count();
    let installations = [EntryKind::Record, EntryKind::Intent]
        .into_iter()
        .map(|kind| {
            let prefix = keyspace::prefix(kind, &place);
            table.range(&prefix).filter(|(key, _)| may_be_installation(key)).count()
        })
        .sum();
    let last = last.map(|last| Deployment { steps: Vec::new(), ..last });
    let closed_by = closed_by(table, environment, keys)?;
    let unready = unready(table, environment, keys)?;
    Ok(EnvironmentSummary {
        environment: environment.clone(),
        records,
        installations,
        last,
        unready,
        closed_by,
        holder: None,
    })
}

/// The number of resources that do not match the documents: those with an obstacle, and those with
/// a pending call. Reads no records.
fn unready(
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
) -> Result<BTreeMap<ResourceStatus, usize>, Error> {
    let place = keyspace::place(environment);
    let mut statuses: BTreeMap<Urn, ResourceStatus> = BTreeMap::new();
    let obstacles = keyspace::prefix(EntryKind::ObstacleRecord, &place);
    for (key, value) in table.range(&obstacles) {
        let obstacle = codec::decode_obstacle(value, &keyspace::describe(key, Some(environment)), keys)?;
        statuses.insert(obstacle.urn, obstacle.obstacle.status());
    }
    for intent in read_intents(table, &keyspace::prefix(EntryKind::Intent, &place), environment, keys)? {
        let status = statuses.entry(intent.id().urn).or_insert(ResourceStatus::Interrupted);
        if !matches!(status, ResourceStatus::Failed | ResourceStatus::Paused) {
            *status = ResourceStatus::Interrupted;
        }
    }
    let mut counts = BTreeMap::new();
    for status in statuses.into_values() {
        *counts.entry(status).or_default() += 1;
    }
    Ok(counts)
}

/// The listing of an environment for other environments. Decodes only the records of installations.
pub(crate) fn listing(table: &Table, environment: &Environment, keys: &Keyring) -> Result<Listing, Error> {
    let place = keyspace::place(environment);
    let prefix = keyspace::prefix(EntryKind::Record, &place);
    let stored = table.range(&prefix).filter(|(key, _)| may_be_installation(key));
    let records = read_records(stored, environment, keys)?;
    let pending = read_intents(table, &keyspace::prefix(EntryKind::Intent, &place), environment, keys)?;
    Ok(Listing::read(environment, records.iter().map(|record| &**record), &pending))
}

/// Whether anything of an environment is left: a record or a deployment.
pub(crate) fn is_known(table: &Table, environment: &Environment) -> bool {
    let place = keyspace::place(environment);
    [EntryKind::Record, EntryKind::Deployment]
        .into_iter()
        .any(|kind| table.range(&keyspace::prefix(kind, &place)).next().is_some())
}

/// The intents under a prefix, sorted by id.
fn read_intents(
    table: &Table,
    prefix: &[u8],
    environment: &Environment,
    keys: &Keyring,
) -> Result<Vec<Intent>, Error> {
    let pending = table.range(prefix).map(|(key, value)| {
        let name = keyspace::describe(key, Some(environment));
        let mut intent = codec::decode_intent(value, &name, keys)?;
        if keyspace::of(EntryKind::Intent, &intent.id()).as_deref() != Some(key) {
            return Err(misplaced(name, &intent.id().to_string()));
        }
        let mut checkpoint = key.to_vec();
        if let Some(kind) = checkpoint.first_mut() {
            *kind = EntryKind::Checkpoint as u8;
        }
        if let Some(value) = table.get(&checkpoint) {
            intent.checkpoint = Some(codec::decode_checkpoint(value, &name, keys)?);
        }
        Ok(intent)
    });
    let mut pending = pending.collect::<Result<Vec<Intent>, Error>>()?;
    pending.sort_by_cached_key(Intent::id);
    Ok(pending)
}

/// Makes dependencies share the URNs of the records that they refer to, since the threads that
/// decode records know only their own.
fn share_urns(records: &mut [Arc<Record>]) {
    let urns: Vec<Urn> = records.iter().map(|record| record.urn.clone()).collect();
    for record in records.iter_mut().filter_map(Arc::get_mut) {
        for dependency in &mut record.dependencies {
            if let Some(urn) = urns.binary_search(dependency).ok().and_then(|at| urns.get(at)) {
                dependency.clone_from(urn);
            }
        }
    }
}

/// Decodes stored records. Decompressing and decrypting them takes time, so all processors take
/// part.
fn read_records<Bytes: AsRef<[u8]> + Sync>(
    mut stored: impl Iterator<Item = (Bytes, Bytes)>,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Vec<Arc<Record>>, Error> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut pools = vec![Pool::default(); threads];
    let mut records = Vec::new();
    loop {
        let batch: Vec<_> = stored.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return Ok(records);
        }
        read_batch(&batch, environment, keys, &mut pools, &mut records)?;
    }
}

fn read_batch<Bytes: AsRef<[u8]> + Sync>(
    stored: &[(Bytes, Bytes)],
    environment: &Environment,
    keys: &Keyring,
    pools: &mut [Pool],
    records: &mut Vec<Arc<Record>>,
) -> Result<(), Error> {
    let shares = (stored.len() / (SHARE / 2)).clamp(1, pools.len());
    let parts = stored.chunks(stored.len().div_ceil(shares)).zip(pools);
    if shares == 1 {
        for (part, pool) in parts {
            records.extend(read_part(part, environment, keys, pool)?);
        }
        return Ok(());
    }
    let parts: Vec<_> = thread::scope(|scope| {
        let read = |(part, pool)| scope.spawn(move || read_part(part, environment, keys, pool));
        let threads: Vec<_> = parts.map(read).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Closed))).collect()
    });
    for part in parts {
        records.extend(part?);
    }
    Ok(())
}

fn read_part<Bytes: AsRef<[u8]>>(
    part: &[(Bytes, Bytes)],
    environment: &Environment,
    keys: &Keyring,
    pool: &mut Pool,
) -> Result<Vec<Arc<Record>>, Error> {
    let prefix = environment.urn_prefix();
    let records = part.iter().map(|(key, value)| {
        let (key, value) = (key.as_ref(), value.as_ref());
        let name = || keyspace::describe(key, Some(environment));
        // The name matters only if the record cannot be read.
        let mut record = codec::decode(value, "", keys).or_else(|_| codec::decode(value, &name(), keys))?;
        // An entry in the wrong place was not written by Purlin.
        let place = keyspace::name(&prefix, &record.id());
        if place.is_none() || place.as_deref() != key.get(17..) {
            return Err(misplaced(name(), &record.id().to_string()));
        }
        pool.share(&mut record);
        Ok(Arc::new(record))
    });
    records.collect()
}

fn misplaced(name: String, found: &str) -> Error {
    Error::Damaged { name, detail: format!("it is that of `{found}`") }
}

/// The deployments of an environment, the oldest first.
pub(crate) fn history(
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Vec<Deployment>, Error> {
    let prefix = keyspace::prefix(EntryKind::Deployment, &keyspace::place(environment));
    table.range(&prefix).map(|(key, value)| deployment(key, value, environment, keys)).collect()
}

/// The audit of an environment, with what is wrong with its chain.
///
/// # Errors
/// [`Error::Newer`] if a newer version wrote an entry.
pub(crate) fn audit(table: &Table, environment: &Environment, keys: &Keyring) -> Result<AuditTrail, Error> {
    let prefix = keyspace::prefix(EntryKind::Audit, &keyspace::place(environment));
    let mut trail = AuditTrail::default();
    let mut last: Option<AuditKey> = None;
    for (key, value) in table.range(&prefix) {
        let name = keyspace::describe(key, Some(environment));
        let next = last.map_or(1, |last| last.number.saturating_add(1));
        let Some(key) = AuditKey::parse(key) else {
            trail.faults.push(AuditFault::Changed(next));
            continue;
        };
        let AuditKey { number, time, before, digest } = key;
        match last {
            // Those before the oldest one were removed when they were old enough.
            None if number > 1 || before == [0; 32] => {}
            Some(_) if number > next => trail.faults.push(AuditFault::Missing(next, number - 1)),
            Some(last) if number == next && before == last.digest => {}
            _ => trail.faults.push(AuditFault::Unlinked(number)),
        }
        last = Some(key);
        match codec::decode_audit(value, &name, keys) {
            Ok((content, entry)) if key.is_of(&content) && entry.by.since == time => {
                trail.entries.push(AuditEntry { number, before, digest, ..entry });
            }
            Err(error @ Error::Newer { .. }) => return Err(error),
            _ => trail.faults.push(AuditFault::Changed(number)),
        }
    }
    Ok(trail)
}

/// The latest deployment of an environment that was made from documents. Older ones are not
/// decoded.
pub(crate) fn last_from_documents(
    table: &Table,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Option<Deployment>, Error> {
    let prefix = keyspace::prefix(EntryKind::Deployment, &keyspace::place(environment));
    let entries: Vec<(&[u8], &[u8])> = table.range(&prefix).collect();
    for (key, value) in entries.into_iter().rev() {
        let deployment = deployment(key, value, environment, keys)?;
        if deployment.documents.is_some() {
            return Ok(Some(deployment));
        }
    }
    Ok(None)
}

fn deployment(
    key: &[u8],
    value: &[u8],
    environment: &Environment,
    keys: &Keyring,
) -> Result<Deployment, Error> {
    let name = keyspace::describe(key, Some(environment));
    let number = keyspace::deployment_number(key)
        .ok_or_else(|| Error::Damaged { name: name.clone(), detail: "its number is lost".into() })?;
    let deployment = codec::decode_deployment(value, number, &name, keys)?;
    let key = keyspace::DeploymentKey::parse(key);
    let is_its = key.is_some_and(|key| {
        key.id == keyspace::DeploymentKey::id(&deployment.id) && key.documents == deployment.documents
    });
    match is_its {
        true => Ok(deployment),
        false => Err(misplaced(name, &deployment.id)),
    }
}

/// The documents with a digest.
pub(crate) fn documents(table: &Table, digest: &[u8; 32], keys: &Keyring) -> Result<Option<Vec<u8>>, Error> {
    let prefix = keyspace::all_documents(digest);
    let found = table.range(&prefix).next();
    found.map(|(_, value)| codec::decode_documents(value, digest, keys)).transpose()
}
