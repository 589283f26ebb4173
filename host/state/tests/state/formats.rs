//! The format of the state: the fixture pins the bytes of everything that is recorded, and a newer
//! format is rejected.

use std::fs;
use std::path::{Path, PathBuf};

use futures::executor::block_on as run;
use purlin_model::driver::{Checkpoint, ManifestFile};
use purlin_model::{Awaited, Key, Label, Obstacle, Unfinished, Urn, Value, Wait};
use purlin_state::{
    AuditAction, AuditEntry, Change, DatabaseUser, Deployment, EmbeddedStore, Environment, Error, Holder,
    MarkState, MayLose, ObstacleRecord, Outcome, Record, RecordId, Rollout, RolloutMark, RolloutStatus,
    Staleness, Status, Store, Vanished, decode_changes, encode_changes,
};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::common::*;

/// A copy of the fixture as the program left it: other users must not be able to read the key.
fn fixture() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("state");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1"), &to);
    (folder, to)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("the fixture") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::write(&to, fs::read(&path).expect("read")).expect("written");
            #[cfg(unix)]
            fs::set_permissions(&to, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("closed");
        }
    }
}

fn prod() -> Environment {
    Environment { env: "prod".into(), ..environment() }
}

/// The records in `dev`, and the one in `prod`.
fn records() -> (Vec<Record>, Record) {
    let file = |name: Label, data| ManifestFile { name, location: "namespace".into(), data };
    let secret = |text: &str| Label::new(text, true);
    let mut large = record(3);
    large.state.outputs = Value::from("large ".repeat(2500).as_str());
    let mut manifests = secret_record(4);
    manifests.retain = true;
    manifests.inputs.account = Some("aws-prod".into());
    manifests.dependencies = Box::new([urn(0), urn(3)]);
    manifests.state.manifests = vec![
        file("deployment.yaml".into(), json!({"kind": "Deployment", "spec": {"replicas": 2}}).into()),
        file("secret.yaml".into(), Value::from("hidden-manifest").into_secret()),
    ];
    manifests.state.version = 2;
    manifests.state.cookie = b"hidden-cookie".repeat(200).into();
    manifests.state.notes = [
        ("health".into(), json!({"status": "green"}).into()),
        ("console-url".into(), Value::from("hidden-note").into_secret()),
    ]
    .into_iter()
    .collect();
    let copy = Record {
        superseded: Some(1),
        status: Status::Absent,
        dependencies: Box::new([urn(3)]),
        ..secret_record(4)
    };
    let mut observed = record(6);
    observed.external = true;
    observed.tainted = true;
    observed.pinned = true;
    observed.deleted_with = Some(urn(0));
    let mut named = record(9);
    named.name = secret("hidden-name");
    named.state.id = secret("hidden-id");
    named.state.manifests =
        vec![ManifestFile { location: secret("hidden-place"), ..file(secret("hidden-file"), Value::Null) }];
    let mut all = vec![record(0), secret_record(1), large, manifests, copy, observed, named];
    let failed = Unfinished::Failed { message: "the name is taken".into() };
    let in_progress =
        |deletes, in_doubt| Unfinished::InProgress { message: "it starts".into(), deletes, in_doubt };
    let partial = [
        Unfinished::Drifted,
        Unfinished::InterruptedUpdate,
        Unfinished::InterruptedCreate,
        Unfinished::Unconfirmed,
        failed,
        in_progress(false, false),
        in_progress(false, true),
        in_progress(true, false),
    ];
    let with = |(number, unfinished)| Record {
        status: Status::Partial(unfinished),
        protect: true,
        ..record(number)
    };
    all.extend((10..).zip(partial).map(with));
    all.sort_by_key(Record::id);
    let mut elsewhere = secret_record(5);
    elsewhere.urn = Urn::parse("urn:purlin:prod/acme::shop::web::dns.default::modules.web").expect("a URN");
    elsewhere.dependencies = Box::default();
    elsewhere.definition = None;
    (all, elsewhere)
}

const DOCUMENTS: &[u8] = b"kind: Recipe # hidden-document\n";

fn deployment() -> Deployment {
    Deployment {
        id: "01J8X5R7Q2".into(),
        number: 1,
        holder: closer(),
        ended: Some(1_790_000_100_000),
        outcome: Outcome::Failed,
        steps: vec![(urn(0), "create".into(), true), (urn(2), "create".into(), false)],
        documents: Some(Sha256::digest(DOCUMENTS).into()),
        rollback_of: None,
        rejected: None,
        rollouts: vec![
            RolloutMark { number: 1, state: MarkState::Applied },
            RolloutMark { number: 2, state: MarkState::Refused("hidden-why".into()) },
        ]
        .into(),
    }
}

/// A roll-out, whose plan is these documents.
fn rollout() -> Rollout {
    Rollout {
        number: 2,
        holder: closer(),
        reason: Some("hidden-reason".into()),
        plan: Sha256::digest(DOCUMENTS).into(),
        status: RolloutStatus::Stopped,
        changed: closer(),
        why: Some("1 environment failed".into()),
        waves: 3,
        opened: 2,
        pause_after: Some(1),
        max_failures: 4,
        excused: vec![prod()],
        may_lose: MayLose::In(vec![environment()]),
        supersedes: vec![1],
    }
}

fn roll() -> Change {
    Change::Roll { rollout: Box::new(rollout()), plan: Some(DOCUMENTS.into()) }
}

/// Who closed `prod`.
fn closer() -> Holder {
    Holder { pid: 4711, ..holder() }
}

fn obstacle() -> ObstacleRecord {
    let key = Key::parse("dns.default#shared.hidden-key").expect("a key");
    let what = Awaited::Failed { key, message: "hidden-failure".into() };
    let waits = vec![Wait { through: Vec::new(), left_out: 0, what }];
    ObstacleRecord { urn: urn(0), obstacle: Obstacle::Waits { waits }, since: 1_790_000_000_000 }
}

/// The checkpoint of the interrupted call.
fn checkpoint() -> Checkpoint {
    let id = Label::new("hidden-checkpoint", true);
    Checkpoint { cookie: Some(b"hidden-checkpointed-cookie".to_vec().into()), ..id.into() }
}

/// What was deleted with its host.
fn vanished() -> Box<[Vanished]> {
    [Vanished { id: Label::new("hidden-object", true), since: 1_790_000_000_000 }].into()
}

/// All other changes of `dev`, by the names of their seeds.
fn changes() -> Vec<(&'static str, Change)> {
    let pending = intend(secret_record(7));
    let Change::Intend(intent) = &pending else { panic!("an intent") };
    let checkpoint = Change::Checkpoint { id: intent.id(), checkpoint: checkpoint() };
    let documents = Some(DOCUMENTS.into());
    vec![
        ("intend", pending),
        ("checkpoint", checkpoint),
        ("obstruct", Change::Obstruct { urn: urn(0), obstacle: Some(Box::new(obstacle())) }),
        ("vanish", Change::Vanish { urn: urn(8), objects: vanished() }),
        ("deployed", Change::Deployed { deployment: Box::new(deployment()), documents }),
    ]
}

/// Why somebody closed `prod`.
fn audit_entry() -> AuditEntry {
    AuditEntry {
        database_user: Some(DatabaseUser { role: "hidden-role".into(), address: Some("10.0.0.7".into()) }),
        subjects: vec!["hidden-subject".into()],
        deployment: Some("hidden-deployment".into()),
        resources: 300,
        reason: Some("hidden-reason".into()),
        ..AuditEntry::new(closer(), AuditAction::Lock)
    }
}

fn audited() -> Change {
    Change::Audited { entry: Box::new(audit_entry()), kept_since: 0 }
}

fn close() -> Change {
    Change::SetClosed(Some(closer()))
}

/// The seeds of the fuzz target that decodes changes.
fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds/state")
}

/// Writes the fixture and the seeds: `cargo xtask bless --state`.
#[test]
#[ignore = "it replaces the fixture"]
fn write_the_fixture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1");
    let _ = fs::remove_dir_all(&folder);
    let store = open(&folder).expect("opens");
    let (records, elsewhere) = records();
    // One commit each, because a secret seals only what is recorded after it.
    for record in records.clone() {
        run(store.commit(vec![put(record)])).expect("commits");
    }
    run(store.commit(changes().into_iter().map(|(_, change)| change).collect())).expect("commits");
    run(store.commit_in(&prod(), vec![put(elsewhere), close(), audited()])).expect("commits");
    run(store.commit_in(&prod(), vec![audited()])).expect("commits");
    run(store.commit_in(&Environment::fleet(), vec![roll()])).expect("commits");
    run(store.close()).expect("closes");
    for file in ["lock", "index"] {
        let path = folder.join(file);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
    }
    let mut all = changes();
    let named = records.iter().find(|record| record.name.is_secret()).cloned();
    all.extend(named.map(|record| ("put", put(record))));
    all.extend([("roll", roll()), ("forget-rollout", Change::ForgetRollout(Box::new(rollout())))]);
    all.push(("audited", audited()));
    all.push(("remove-cookies", Change::RemoveCookies([[7; 16]].into())));
    all.extend([("hold", close()), ("settle", Change::Settle(RecordId::current(urn(0))))]);
    for (name, change) in all {
        fs::write(seeds().join(name), encode_changes(&[change]).expect("encoded")).expect("written");
    }
}

#[test]
fn the_seeds_are_changes() {
    for (path, bytes, _) in files(&seeds()) {
        decode_changes(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Checks the content of the fixture.
fn has_everything(folder: &Path) {
    let (expected, elsewhere) = records();
    let store = open(folder).expect("opens");
    let snapshot = run(store.load(&environment())).expect("loads");
    assert_eq!(plain(&snapshot.records), expected);
    let apart = snapshot.records.iter().filter_map(|record| record.state.cookie.stored());
    let cookies =
        apart.map(|stored| run(store.cookie(&environment(), stored)).expect("reads").expect("there"));
    assert_eq!(cookies.collect::<Vec<_>>(), [b"hidden-cookie".repeat(200).into()]);
    assert!(snapshot.unused_cookies.is_empty());
    let Change::Intend(mut intent) = intend(secret_record(7)) else { panic!("an intent") };
    intent.checkpoint = Some(checkpoint());
    assert_eq!(
        (snapshot.pending, snapshot.obstacles, snapshot.closed_by),
        (vec![*intent], vec![obstacle()], None)
    );
    assert_eq!(snapshot.vanished, [(urn(8), vanished())].into());
    let snapshot = run(store.load(&prod())).expect("loads");
    assert_eq!((plain(&snapshot.records), snapshot.closed_by), (vec![elsewhere], Some(closer())));
    assert_eq!(run(store.history(&environment())).expect("lists"), [deployment()]);
    let digest = deployment().documents.expect("a digest");
    let documents = run(store.documents(&environment(), &digest)).expect("reads");
    assert_eq!(documents.as_deref(), Some(DOCUMENTS));
    let trail = run(store.audit(&prod())).expect("reads");
    assert!(trail.faults.is_empty(), "{:?}", trail.faults);
    let plain =
        |entry: &AuditEntry| AuditEntry { number: 0, before: [0; 32], digest: [0; 32], ..entry.clone() };
    assert!(trail.entries.iter().map(plain).eq([audit_entry(), audit_entry()]));
    let fleet = run(store.load(&Environment::fleet())).expect("loads");
    assert_eq!((fleet.rollouts, fleet.records.len()), (vec![rollout()], 0));
    let plan = run(store.documents(&Environment::fleet(), &rollout().plan)).expect("reads");
    assert_eq!(plan.as_deref(), Some(DOCUMENTS));
    let listed = run(store.environments(None, 10)).expect("lists").into_iter();
    assert!(listed.map(|one| one.environment).eq([environment(), prod()]), "the fleet is no environment");
    drop(store);
    assert!(EmbeddedStore::verify(folder, &options(folder)).expect("looks").is_whole());
}

#[test]
fn the_fixture_opens() {
    let (_temporary, folder) = fixture();
    assert_eq!(fs::read_to_string(folder.join("format")).expect("a format"), "1\n");
    let staleness = run(open(&folder).expect("opens").load(&environment())).expect("loads").staleness;
    assert_eq!(staleness, Some(Staleness::Copied), "a fixture is a copy");
    has_everything(&folder);
}

/// The first secret was recorded after other entries, which are in plain text until the key changes.
#[test]
fn a_new_key_seals_everything() {
    let (_temporary, folder) = fixture();
    let key = fs::read_to_string(folder.join("key")).expect("a key");
    let store = open(&folder).expect("opens");
    let new = run(store.rotate_key(None)).expect("rotates");
    drop(store);
    assert!(!key.contains(&new));
    has_everything(&folder);
    let mut searched = 0;
    for (path, bytes, _) in files(&folder.join("environments")) {
        searched += bytes.len();
        for text in ["hidden", "echo-", "purlin/echo", "4711", "deployment.yaml", "namespace", "value-0"] {
            let found = bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!found, "{text} in {}", path.display());
        }
    }
    assert!(searched > 5_000, "{searched}");
    fs::remove_file(folder.join("key")).expect("removed");
    fs::write(folder.join("key"), key).expect("the old one");
    #[cfg(unix)]
    fs::set_permissions(folder.join("key"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("closed");
    assert!(matches!(open(&folder), Err(Error::WrongKey { .. })));
}

/// Whatever a newer version wrote, the error names it, and nothing is written.
#[test]
fn a_newer_format_is_rejected() {
    let of_folder = |folder: &Path| {
        fs::write(folder.join("format"), "2\n").expect("written");
        "the state in `"
    };
    let of_key = |folder: &Path| {
        // The length of the entry, its version, its checksum, and the remainder.
        edit(&folder.join("data-key"), |bytes| {
            let start = bytes.iter().position(|byte| byte & 0x80 == 0).expect("a length") + 1;
            bytes[start] = 2;
            let sum = crc32fast::hash(&[&bytes[start..=start], &bytes[start + 5..]].concat());
            bytes[start + 1..start + 5].copy_from_slice(&sum.to_le_bytes());
        });
        "the record of `the data key`"
    };
    let of_journal = |folder: &Path| {
        // Eight bytes that name the kind of file, the format, the generation, the id, and the checksum.
        edit(&place(folder, &environment()).join("journal/00000001.log"), |bytes| {
            bytes[8] = 2;
            let sum = crc32fast::hash(&bytes[..36]);
            bytes[36..40].copy_from_slice(&sum.to_le_bytes());
        });
        "the journal `"
    };
    for newer in [&of_folder as &dyn Fn(&Path) -> &'static str, &of_key, &of_journal] {
        let (_temporary, folder) = fixture();
        let what = newer(&folder);
        let before = files(&folder);
        let opened = open(&folder).and_then(|store| run(store.load(&environment())).map(drop));
        let checked = EmbeddedStore::verify(&folder, &options(&folder)).map(drop);
        let repaired = EmbeddedStore::repair(&folder, &options(&folder)).map(drop);
        for result in [opened, checked, repaired] {
            let error = result.expect_err("newer");
            let text = error.to_string();
            assert!(matches!(error, Error::Newer { found: 2, supported: 1, .. }), "{text}");
            assert!(
                text.contains(what) && text.contains("has format 2") && text.contains("up to 1"),
                "{text}"
            );
            assert_eq!(files(&folder), before, "{what}");
        }
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut [u8])) {
    let mut bytes = fs::read(path).expect("read");
    change(&mut bytes);
    fs::write(path, bytes).expect("written");
}

/// A check writes nothing.
#[test]
fn a_check_writes_nothing() {
    let (_temporary, folder) = fixture();
    let before = files(&folder);
    let report = EmbeddedStore::verify(&folder, &options(&folder)).expect("looks");
    assert!(report.is_whole() && report.records == records().0.len() + 1, "{report:?}");
    assert_eq!(files(&folder), before);
}

/// Every file in a folder, with its content and modification time.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let written = path.metadata().and_then(|metadata| metadata.modified()).expect("there");
            found.push((path.clone(), fs::read(&path).expect("read"), written));
        }
    }
    found.sort();
    found
}
