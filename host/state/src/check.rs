//! Checks whether entries can be read: for `purlin state repair` of every store.

use std::collections::BTreeMap;
use std::path::PathBuf;

use purlin_model::driver::Cookie;
use serde::{Serialize, Serializer};

use crate::keys::{Keyring, SealedKey};
use crate::keyspace::{self, AuditKey, DeploymentKey, EntryKind};
use crate::table::{DOCUMENTS_KEPT, Table};
use crate::{Deployment, Environment, Error, codec, snapshot};

/// The result of checking or repairing a store.
///
/// It serialises in the published, versioned form: `state repair` in `docs/src/reference/json.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairReport {
    /// The damage that was found, possibly already repaired: one sentence each.
    pub findings: Vec<String>,
    /// The data that could not be saved, by name if there is one.
    pub lost: Vec<String>,
    /// Where the audit of an environment is broken: one sentence each. A repair leaves it as it is.
    pub audit: Vec<String>,
    /// The copies of the old files. Nothing is thrown away.
    #[serde(serialize_with = "as_texts")]
    pub moved: Vec<PathBuf>,
    /// The number of recorded resources.
    pub records: usize,
}

/// Writes paths as texts, even those that are not UTF-8.
fn as_texts<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| path.display().to_string()))
}

impl RepairReport {
    /// Whether there is no damage.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.lost.is_empty() && self.audit.is_empty()
    }
}

/// Reports the damage in the entries of a table.
///
/// # Errors
/// [`Error::Newer`] if a newer version wrote one of them.
pub(crate) fn inspect(table: &Table, keys: Option<&Keyring>, report: &mut RepairReport) -> Result<(), Error> {
    let names = names(table);
    for (_, error) in broken(table, &names, keys)? {
        report.findings.push(error.to_string());
    }
    for (deployment, _) in without_documents(table) {
        report.findings.push(format!("the documents of {} are missing", name(&deployment, &names)));
    }
    for rollout in without_plans(table, &names, keys) {
        report.findings.push(format!("the plan of {} is missing", name(&rollout, &names)));
    }
    for missing in without_cookies(table, &names, keys) {
        report.findings.push(format!("{} is missing", missing.lost));
    }
    if let Some(keys) = keys {
        for environment in names.values() {
            let faults = snapshot::audit(table, environment, keys)?.faults.into_iter();
            report.audit.extend(faults.map(|fault| format!("the audit of {environment}: {fault}")));
        }
    }
    report.records += table.range(&keyspace::all(EntryKind::Record)).count();
    Ok(())
}

/// The keys of the entries that cannot be read, each with its damage.
fn broken(table: &Table, names: &Names, keys: Option<&Keyring>) -> Result<Vec<(Vec<u8>, Error)>, Error> {
    let mut broken = Vec::new();
    for (key, value) in table.iter() {
        match check(key, value, &name(key, names), keys) {
            Ok(()) => {}
            // It is no damage, so nothing may remove it.
            Err(error @ Error::Newer { .. }) => return Err(error),
            Err(error) => broken.push((key.to_vec(), error)),
        }
    }
    Ok(broken)
}

/// The entries that a repair changed.
#[derive(Debug, Default)]
pub(crate) struct Repaired {
    /// The keys of the removed entries.
    pub(crate) removed: Vec<Vec<u8>>,
    /// The entries that replace some of them.
    pub(crate) added: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Removes the entries that cannot be read and reports them. A deployment whose documents are
/// missing loses the reference to them, and so does a resource whose private state is.
///
/// # Errors
/// [`Error::Newer`] if a newer version wrote one of the entries; then nothing is removed.
pub(crate) fn left_out(
    table: &mut Table,
    keys: Option<&Keyring>,
    report: &mut RepairReport,
) -> Result<Repaired, Error> {
    let names = names(table);
    let mut repaired = Repaired::default();
    for (key, error) in broken(table, &names, keys)? {
        report.findings.push(error.to_string());
        report.lost.push(name(&key, &names));
        table.apply(key.clone(), None);
        repaired.removed.push(key);
    }
    for WithoutCookie { key, value, lost } in without_cookies(table, &names, keys) {
        report.findings.push(format!("{lost} is missing"));
        report.lost.push(lost);
        table.apply(key.clone(), Some(value.clone()));
        repaired.removed.push(key.clone());
        repaired.added.push((key, value));
    }
    for key in without_plans(table, &names, keys) {
        let rollout = name(&key, &names);
        report.findings.push(format!("the plan of {rollout} is missing"));
        report.lost.push(rollout);
        table.apply(key.clone(), None);
        repaired.removed.push(key);
    }
    for (key, deployment) in without_documents(table) {
        let documents = format!("the documents of {}", name(&key, &names));
        report.findings.push(format!("{documents} are missing"));
        let Some((value, environment)) = without_reference(table, &key, &names, keys) else { continue };
        report.lost.push(documents);
        let new = DeploymentKey { documents: None, ..deployment }.to_key(&keyspace::place(&environment));
        table.apply(key.clone(), None);
        table.apply(new.clone(), Some(value.clone()));
        repaired.removed.push(key);
        repaired.added.push((new, value));
    }
    Ok(repaired)
}

/// An entry with a cookie that is missing: it was stored apart, and is lost.
struct WithoutCookie {
    key: Vec<u8>,
    /// The entry without it, encoded.
    value: Vec<u8>,
    /// What is lost.
    lost: String,
}

/// The entries whose cookies are missing. Without its cookie, a driver can read a resource, and return it.
fn without_cookies(table: &Table, names: &Names, keys: Option<&Keyring>) -> Vec<WithoutCookie> {
    let mut found = Vec::new();
    let Some(keys) = keys else { return found };
    for kind in [EntryKind::Record, EntryKind::Intent, EntryKind::Checkpoint] {
        for (key, value) in table.range(&keyspace::all(kind)) {
            let Some(place) = keyspace::place_of(key).and_then(|place| place.try_into().ok()) else {
                continue;
            };
            let is_missing = |cookie: &Cookie| {
                let is_there = |id| table.get(&keyspace::cookie(id, place)).is_some();
                cookie.stored().is_some_and(|stored| !is_there(&stored.id))
            };
            let name = name(key, names);
            // What cannot be read at all is reported as such.
            if let Ok(Some(value)) = codec::without_cookies(kind, value, &name, keys, is_missing) {
                let lost = format!("the private state of the driver of {name}");
                found.push(WithoutCookie { key: key.to_vec(), value, lost });
            }
        }
    }
    found
}

/// The deployments whose documents are missing. Only the documents of the latest deployments are
/// kept.
fn without_documents(table: &Table) -> Vec<(Vec<u8>, DeploymentKey)> {
    let mut latest: BTreeMap<&[u8], Vec<(&[u8], DeploymentKey)>> = BTreeMap::new();
    let all = keyspace::all(EntryKind::Deployment);
    for (key, _) in table.range(&all) {
        let (Some(place), Some(deployment)) = (keyspace::place_of(key), DeploymentKey::parse(key)) else {
            continue;
        };
        if deployment.documents.is_some() {
            latest.entry(place).or_default().push((key, deployment));
        }
    }
    let mut found = Vec::new();
    for (place, deployments) in latest {
        for (key, deployment) in deployments.into_iter().rev().take(DOCUMENTS_KEPT) {
            let (Some(digest), Ok(place)) = (deployment.documents, place.try_into()) else { continue };
            if table.get(&keyspace::documents(&digest, place)).is_none() {
                found.push((key.to_vec(), deployment));
            }
        }
    }
    found
}

/// The keys of the roll-outs whose plans are missing: nobody can go on with them, nor take them back.
fn without_plans(table: &Table, names: &Names, keys: Option<&Keyring>) -> Vec<Vec<u8>> {
    let Some(keys) = keys else { return Vec::new() };
    let all = keyspace::all(EntryKind::Rollout);
    let missing = table.range(&all).filter(|(key, value)| {
        let place = keyspace::place_of(key).and_then(|place| place.try_into().ok());
        // What cannot be read at all is reported as such.
        let rollout = codec::decode_rollout(value, 0, &name(key, names), keys).ok();
        let plan = place.zip(rollout).map(|(place, rollout)| keyspace::documents(&rollout.plan, place));
        plan.is_some_and(|plan| table.get(&plan).is_none())
    });
    missing.map(|(key, _)| key.to_vec()).collect()
}

/// A deployment without the reference to its documents, encoded.
fn without_reference(
    table: &Table,
    key: &[u8],
    names: &Names,
    keys: Option<&Keyring>,
) -> Option<(Vec<u8>, Environment)> {
    let environment = names.get(keyspace::place_of(key)?)?;
    let number = keyspace::deployment_number(key)?;
    let deployment = codec::decode_deployment(table.get(key)?, number, &name(key, names), keys?).ok()?;
    let deployment = Deployment { documents: None, ..deployment };
    Some((codec::encode_deployment(environment, &deployment, keys?).ok()?, environment.clone()))
}

/// Environments by their place in keys.
type Names = BTreeMap<Vec<u8>, Environment>;

/// The environments of the entries of a table, as far as any entry names one.
fn names(table: &Table) -> Names {
    let mut names = Names::new();
    const NAMED: [EntryKind; 6] = [
        EntryKind::Record,
        EntryKind::Deployment,
        EntryKind::Intent,
        EntryKind::ObstacleRecord,
        EntryKind::Rollout,
        EntryKind::Audit,
    ];
    for kind in NAMED {
        for (key, value) in table.range(&keyspace::all(kind)) {
            let Some(place) = keyspace::place_of(key).filter(|place| !names.contains_key(*place)) else {
                continue;
            };
            if let Ok(Some(environment)) = codec::decode_environment(value, "") {
                names.insert(place.to_vec(), environment);
            }
        }
    }
    names
}

fn name(key: &[u8], names: &Names) -> String {
    keyspace::describe(key, keyspace::place_of(key).and_then(|place| names.get(place)))
}

/// The environment of a table, if any of its entries names it.
pub(crate) fn environment_of(table: &Table) -> Option<Environment> {
    names(table).into_values().next()
}

/// Checks an entry. Without keys, only its checksum is checked.
fn check(key: &[u8], value: &[u8], name: &str, keys: Option<&Keyring>) -> Result<(), Error> {
    let name = name.to_owned();
    codec::check(value, &name)?;
    let digest = || key.get(1..33).and_then(|digest| digest.try_into().ok());
    match (key.first(), keys) {
        (Some(b'r'), Some(keys)) => {
            let record = codec::decode(value, &name, keys)?;
            placed(key, keyspace::of(EntryKind::Record, &record.id()), name)
        }
        (Some(b'i'), Some(keys)) => {
            let intent = codec::decode_intent(value, &name, keys)?;
            placed(key, keyspace::of(EntryKind::Intent, &intent.id()), name)
        }
        (Some(b'u'), Some(keys)) => {
            let obstacle = codec::decode_obstacle(value, &name, keys)?;
            placed(
                key,
                keyspace::of(EntryKind::ObstacleRecord, &crate::RecordId::current(obstacle.urn)),
                name,
            )
        }
        (Some(b'v'), Some(keys)) => {
            let (urn, _) = codec::decode_vanished(value, &name, keys)?;
            placed(key, keyspace::of(EntryKind::Vanished, &crate::RecordId::current(urn)), name)
        }
        (Some(b'd'), Some(keys)) => match digest() {
            Some(digest) => codec::decode_documents(value, &digest, keys).map(drop),
            None => Err(Error::Damaged { name, detail: "its digest is lost".into() }),
        },
        (Some(b'p'), Some(keys)) => match key.get(17..).and_then(|id| id.try_into().ok()) {
            Some(id) => codec::decode_cookie(value, id, keys).map(drop),
            None => Err(Error::Damaged { name, detail: "its id is lost".into() }),
        },
        (Some(b'k'), Some(keys)) => codec::decode_checkpoint(value, &name, keys).map(drop),
        (Some(b'h'), Some(keys)) => codec::decode_deployment(value, 0, &name, keys).map(drop),
        (Some(b'o'), Some(keys)) => codec::decode_rollout(value, 0, &name, keys).map(drop),
        (Some(b't'), Some(keys)) => match AuditKey::parse(key) {
            Some(_) => codec::decode_audit(value, &name, keys).map(drop),
            None => Err(Error::Damaged { name, detail: "its number is lost".into() }),
        },
        (Some(b'l'), Some(keys)) => codec::decode_closed(value, &name, keys).map(drop),
        (Some(b'q'), Some(keys)) => codec::decode_staleness(value, &name, keys).map(drop),
        (Some(b'm'), _) => SealedKey::decode(value).map(drop),
        (Some(b'r' | b'i' | b'k' | b'u' | b'v' | b'h' | b'd' | b'p' | b'o' | b't' | b'l' | b'q'), None) => {
            Ok(())
        }
        _ => Err(Error::Damaged { name, detail: "it is of an unknown kind".into() }),
    }
}

fn placed(key: &[u8], expected: Option<Vec<u8>>, name: String) -> Result<(), Error> {
    if expected.as_deref() == Some(key) {
        return Ok(());
    }
    Err(Error::Damaged { name, detail: "it is that of another resource".into() })
}

#[cfg(test)]
mod tests {
    use purlin_model::Urn;
    use purlin_model::driver::Checkpoint;

    use super::*;
    use crate::codec::tests::plain;
    use crate::encode::Writes;
    use crate::{Change, Holder, Intent, MayLose, Operation, Rollout, RolloutStatus};
    use sha2::{Digest as _, Sha256};

    #[test]
    fn a_resource_whose_private_state_is_missing_is_named() {
        let keys = Keyring::in_memory();
        let mut record = plain();
        record.urn = Urn::parse("urn:purlin:e/o::a::shared::dns.default::modules.w").expect("a URN");
        record.state.cookie = vec![7; 5000].into();
        let environment = Environment::of_urn(&record.urn).expect("an environment");
        let mut table = Table::default();
        let writes = Writes::of(&[Change::Put(Box::new(record))], &environment, &keys);
        let mut entries = Vec::new();
        table.resolve(writes.expect("encoded").0, &mut entries);
        entries.into_iter().for_each(|(key, value)| table.apply(key, value));
        let looked = |table: &Table| {
            let mut report = RepairReport::default();
            inspect(table, Some(&keys), &mut report).expect("looks");
            report
        };
        assert!(looked(&table).is_whole());
        let cookie = table.range(&keyspace::all(EntryKind::Cookie)).next().expect("one").0.to_vec();
        let mut broken = table.get(&cookie).expect("there").to_vec();
        table.apply(cookie.clone(), None);
        let lost = "the private state of the driver of urn:purlin:e/o::a::shared::dns.default::modules.w";
        assert_eq!(looked(&table).findings, [format!("{lost} is missing")]);
        // A damaged one is removed, and whose it was is said.
        broken.reverse();
        table.apply(cookie.clone(), Some(broken));
        let mut report = RepairReport::default();
        let repaired = left_out(&mut table, Some(&keys), &mut report).expect("repairs");
        assert_eq!(repaired.removed.first(), Some(&cookie));
        assert!(report.lost.iter().any(|other| other == lost), "{:?}", report.lost);
        assert!(looked(&table).is_whole());
        let stored = snapshot::snapshot(&table, &environment, &keys).expect("reads");
        assert!(stored.records[0].state.cookie.is_empty());
    }

    /// Without its plan, every host would stop at it.
    #[test]
    fn a_roll_out_whose_plan_is_missing_is_removed() {
        let keys = Keyring::in_memory();
        let by = Holder {
            user: "ada".into(),
            host: "h".into(),
            pid: 1,
            command: "purlin rollout start".into(),
            since: 1,
        };
        let plan = b"a plan".to_vec();
        let rollout = Rollout {
            number: 7,
            holder: by.clone(),
            reason: None,
            plan: Sha256::digest(&plan).into(),
            status: RolloutStatus::Running,
            changed: by,
            why: None,
            waves: 1,
            opened: 1,
            pause_after: None,
            max_failures: 0,
            excused: Vec::new(),
            may_lose: MayLose::Nowhere,
            supersedes: Vec::new(),
        };
        let changes = [Change::Roll { rollout: Box::new(rollout), plan: Some(plan) }];
        let writes = Writes::of(&changes, &Environment::fleet(), &keys).expect("encoded");
        let (mut table, mut entries) = (Table::default(), Vec::new());
        table.resolve(writes.0, &mut entries);
        entries.into_iter().for_each(|(key, value)| table.apply(key, value));
        let mut report = RepairReport::default();
        inspect(&table, Some(&keys), &mut report).expect("looks");
        assert!(report.is_whole(), "{report:?}");

        let plan = table.range(&keyspace::all(EntryKind::Documents)).next().expect("a plan").0.to_vec();
        table.apply(plan, None);
        inspect(&table, Some(&keys), &mut report).expect("looks");
        assert_eq!(report.findings, ["the plan of roll-out 7 is missing"]);
        let mut repaired = RepairReport::default();
        left_out(&mut table, Some(&keys), &mut repaired).expect("repairs");
        assert_eq!(repaired.lost, ["roll-out 7"]);
        assert!(snapshot::snapshot(&table, &Environment::fleet(), &keys).expect("reads").rollouts.is_empty());
    }

    /// A call that is tried again has the report of an earlier attempt, which a later one replaces.
    #[test]
    fn what_a_later_report_replaced_is_not_missed() {
        let keys = Keyring::in_memory();
        let record = plain();
        let environment = Environment::of_urn(&record.urn).expect("an environment");
        let reported = |byte| Checkpoint { cookie: Some(vec![byte; 5000].into()), ..Checkpoint::from("i") };
        let id = record.id();
        let intent = Intent {
            operation: Operation::Update(record.into()),
            idempotency_key: "k".into(),
            checkpoint: Some(reported(1)),
            since: 1,
            deadline: None,
            open_deletion: None,
        };
        let mut table = Table::default();
        let apply = |table: &mut Table, change: Change| {
            let writes = Writes::of(&[change], &environment, &keys).expect("encoded");
            let mut entries = Vec::new();
            table.resolve(writes.0, &mut entries);
            entries.into_iter().for_each(|(key, value)| table.apply(key, value));
        };
        let read = |table: &Table| snapshot::snapshot(table, &environment, &keys).expect("reads");
        apply(&mut table, Change::Intend(Box::new(intent)));
        assert_eq!(read(&table).pending[0].checkpoint, Some(reported(1)));
        apply(&mut table, Change::Checkpoint { id, checkpoint: reported(2) });
        let now = read(&table);
        assert_eq!((&now.pending[0].checkpoint, now.unused_cookies.len()), (&Some(reported(2)), 1));
        apply(&mut table, Change::RemoveCookies(now.unused_cookies));
        let mut report = RepairReport::default();
        inspect(&table, Some(&keys), &mut report).expect("looks");
        assert!(report.is_whole(), "{report:?}");
    }

    #[test]
    fn an_entry_of_a_newer_version_is_neither_damaged_nor_removed() {
        let environment = |env: &str| Environment { org: "o".into(), app: "a".into(), env: env.into() };
        let key = |env| keyspace::prefix(EntryKind::Closed, &keyspace::place(&environment(env)));
        let holder = Holder { user: "a".into(), host: "b".into(), pid: 1, command: "c".into(), since: 1 };
        let keys = Keyring::in_memory();
        let whole = codec::encode_closed(&holder, &keys).expect("writes");
        let mut table = Table::default();
        table.apply(key("dev"), whole.get(1..).map(<[u8]>::to_vec));
        let mut found = RepairReport::default();
        inspect(&table, Some(&keys), &mut found).expect("only damaged");
        assert_eq!(found.findings.len(), 1);
        let mut newer = whole;
        newer[0] = 2;
        let checksum = crc32fast::hash(&[&newer[..1], &newer[5..]].concat());
        newer[1..5].copy_from_slice(&checksum.to_le_bytes());
        table.apply(key("prod"), Some(newer));
        let before = table.tally();
        for keys in [Some(&keys), None] {
            let mut report = RepairReport::default();
            let checked = inspect(&table, keys, &mut report).expect_err("newer");
            assert!(matches!(checked, Error::Newer { found: 2, supported: 1, .. }), "{checked}");
            let repaired = left_out(&mut table, keys, &mut report).expect_err("newer");
            assert!(matches!(repaired, Error::Newer { found: 2, supported: 1, .. }), "{repaired}");
        }
        assert_eq!(table.tally(), before);
    }
}
