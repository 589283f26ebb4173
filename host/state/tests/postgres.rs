//! What the store in PostgreSQL promises, on a real server (SPEC §10).
#![allow(missing_docs, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::keeps::keeps;
use common::scene::{BRIEF, KEY, Scene, runtime};
use common::*;
use purlin_model::Stand;
use purlin_state::{
    Address, Change, Deployment, Doubt, Due, Environment, Error, Export, ImportOptions, KeyProvider, Outcome,
    PostgresOptions, PostgresStore, Store,
};
use purlin_systems::cut::Wire;
use purlin_systems::interrupt::When;
use purlin_systems::postgres::Pooler;
use sha2::{Digest, Sha256};

/// Installs its server where that is missing, and says so.
macro_rules! scene {
    () => {
        scene!(&[])
    };
    ($settings:expr) => {
        match Scene::begin($settings) {
            Some(scene) => scene,
            None => return,
        }
    };
}

#[test]
fn a_database_keeps() {
    let scene = scene!();
    let again = scene.run(PostgresStore::prepare(&scene.options()));
    assert!(!again.expect("prepared already"));
    keeps(&scene.open());
    let store = scene.open();
    let snapshot = scene.run(store.load(&environment())).expect("loads");
    assert_eq!(snapshot.records.len(), 39);
    // The summary that the last holder left says the same as the records.
    let known = scene.run(store.environments(None, 10)).expect("lists");
    assert_eq!(known.iter().map(|known| known.records).collect::<Vec<_>>(), [39]);
    // The database sees nothing of what is secret, nor of the key.
    let all = scene.sql("SELECT string_agg(encode(value, 'escape'), '') FROM purlin.entries");
    assert!(all.len() > 10_000, "{}", all.len());
    assert!(!all.contains("hidden") && !all.contains("value-2") && !all.contains("AGE-SECRET"), "{all}");
}

/// Nothing hangs on a session, so that a pooler may give each transaction another one.
#[test]
fn a_pooler_may_stand_in_between() {
    let scene = scene!();
    let Some(pooler) = Pooler::start(&scene.server) else { return };
    let mut options = scene.options();
    options.address.url = format!("postgres://postgres@127.0.0.1:{}/postgres", pooler.port);
    options.address.schema = "pooled".into();
    assert!(scene.run(PostgresStore::prepare(&options)).expect("prepared"));
    keeps(&scene.run(PostgresStore::open(options)).expect("opens"));
}

#[test]
fn deployments_get_numbers_and_their_documents_come_back() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    let documents = b"kind: Deployment".repeat(1000);
    let digest: [u8; 32] = Sha256::digest(&documents).into();
    for number in 1..=3_u64 {
        let deployment = Deployment {
            id: format!("d{number}").into(),
            number: 0,
            holder: holder(),
            ended: None,
            outcome: Outcome::Unfinished,
            steps: Vec::new(),
            documents: (number == 2).then_some(digest),
            rollback_of: None,
        };
        let documents = (number == 2).then(|| documents.clone());
        scene
            .run(lock.writer().commit(vec![Change::Deployed { deployment: Box::new(deployment), documents }]))
            .expect("commits");
    }
    let other = scene.open();
    for store in [&store, &other] {
        let history = scene.run(store.history(&environment())).expect("reads");
        assert_eq!(history.iter().map(|entry| entry.number).collect::<Vec<_>>(), [1, 2, 3]);
        let last = scene.run(store.last_from_documents(&environment())).expect("reads");
        assert_eq!(last.map(|last| last.number), Some(2));
        let kept = scene.run(store.documents(&environment(), &digest)).expect("reads");
        assert_eq!(kept.as_deref(), Some(&*documents));
        let known = scene.run(store.environments(None, 10)).expect("lists");
        assert_eq!(known[0].last.as_ref().map(|last| last.number), Some(3));
    }
    scene.run(lock.release()).expect("releases");
    let known = scene.run(other.environments(None, 10)).expect("lists");
    assert_eq!(known[0].last.as_ref().map(|last| last.number), Some(3));
    // What one host seals, another one opens.
    let sealed = scene.run(store.seal(b"a plan")).expect("seals");
    assert_eq!(&**scene.run(other.unseal(&sealed)).expect("opens"), b"a plan");
}

#[test]
fn what_does_not_fit_is_rejected_by_name() {
    let scene = scene!();
    let open = |options: PostgresOptions| match scene.run(PostgresStore::open(options)) {
        Err(error) => error,
        Ok(_) => panic!("it opens"),
    };
    drop(scene.open());
    let with = |change: &dyn Fn(&mut Address)| {
        let mut options = scene.options();
        change(&mut options.address);
        options.patience = Duration::from_millis(200);
        options
    };
    let error = open(with(&|address| address.schema = "nobodys".into())).to_string();
    assert!(
        error.contains("?schema=nobodys` is not prepared") && error.contains("purlin state init"),
        "{error}"
    );
    let error = open(with(&|address| address.password = Some("wrong".into()))).to_string();
    assert!(error.contains("password authentication failed"), "{error}");
    let error = open(with(&|address| address.url = address.url.replace("@", ":secret@"))).to_string();
    assert!(error.contains("the URL holds a password") && !error.contains("secret@"), "{error}");
    let error = open(with(&|address| address.url = "postgres://x@127.0.0.1:1/x".into())).to_string();
    assert!(error.contains("postgres://127.0.0.1:1/x?schema=purlin") && error.contains("reached"), "{error}");
    let error = open(with(&|address| address.url = "nonsense".into())).to_string();
    assert!(error.starts_with("the address of the state is wrong: "), "{error}");
    let error = open(PostgresOptions { key: KeyProvider::Value(KEY.into()), ..scene.options() });
    assert!(matches!(error, Error::KeyInvalid { .. } | Error::WrongKey { .. }), "{error}");
    scene.sql("UPDATE purlin.meta SET version = 7");
    let error = open(scene.options());
    assert!(matches!(error, Error::Newer { found: 7, .. }), "{error}");
    let error = scene.run(PostgresStore::prepare(&scene.options())).expect_err("newer");
    assert!(matches!(error, Error::Newer { found: 7, .. }), "{error}");
    // Who may do nothing is told what is missing.
    scene.sql("CREATE USER guest PASSWORD 'guest'");
    let guest = |schema: &str| {
        with(&|address| {
            address.url = address.url.replace("postgres@", "guest@");
            address.password = Some("guest".into());
            address.schema = schema.into();
        })
    };
    let error = scene.run(PostgresStore::prepare(&guest("theirs"))).expect_err("no rights").to_string();
    assert!(error.contains("cannot create the tables") && error.contains("permission denied"), "{error}");
    // A schema of one's own is enough.
    scene.sql("CREATE SCHEMA theirs AUTHORIZATION guest");
    assert!(scene.run(PostgresStore::prepare(&guest("theirs"))).expect("prepared"));
    let store = scene.run(PostgresStore::open(guest("theirs"))).expect("opens");
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
}

/// Tables of the first version, which knew no turns.
#[test]
fn tables_of_an_earlier_version_are_brought_to_this_one() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
    scene.run(lock.release()).expect("released");
    scene.sql(
        "ALTER TABLE purlin.environments DROP COLUMN turn_at, DROP COLUMN next_at, DROP COLUMN asked_at",
    );
    scene.sql("DROP TABLE purlin.stale");
    scene.sql("UPDATE purlin.meta SET version = 1");
    let error = scene.run(PostgresStore::open(scene.options())).err().expect("too old").to_string();
    assert!(error.contains("purlin state init"), "{error}");
    assert!(scene.run(PostgresStore::prepare(&scene.options())).expect("prepared"));
    let store = scene.open();
    assert_eq!(scene.run(store.load(&environment())).expect("loads").records.len(), 1);
    let due = scene.run(store.take_turns(None, 10, BRIEF)).expect("taken");
    let expected = Due { environment: environment(), is_requested: false };
    assert_eq!(due, Some(vec![expected]), "what was there is due");
}

#[test]
fn whoever_closes_a_store_holds_nothing_any_more() {
    let scene = scene!();
    for _ in 0..20 {
        let store = scene.open();
        drop(scene.lock(&store));
        scene.run(store.close()).expect("closed");
        assert_eq!(scene.sql("SELECT count(holder) FROM purlin.environments"), "0");
    }
}

#[test]
fn each_turn_is_one_host_s() {
    let scene = scene!();
    let (store, other) = (scene.open(), scene.open());
    let all: Vec<Environment> =
        (0..20).map(|number| Environment { env: format!("e{number}").into(), ..environment() }).collect();
    for one in &all {
        let lock = scene.run(store.lock(one, holder())).expect("free");
        scene.run(lock.release()).expect("released");
    }
    let take = |store: &PostgresStore, round: Option<&purlin_state::Round>, most, within: Duration| {
        let taken = scene.run(store.take_turns(round, most, within)).expect("taken");
        taken.expect("a database keeps turns").into_iter().map(|due| due.environment).collect::<Vec<_>>()
    };
    let long = Duration::from_secs(600);
    // Two hosts share a round, and each environment comes once.
    let round = scene.run(store.begin_round()).expect("begun").expect("a database keeps turns");
    let mut taken = Vec::new();
    loop {
        let (one, two) = (take(&store, Some(&round), 3, long), take(&other, Some(&round), 4, long));
        if one.is_empty() && two.is_empty() {
            break;
        }
        taken.extend(one.into_iter().chain(two));
    }
    taken.sort_by(|one, two| one.env.cmp(&two.env));
    let mut sorted = all.clone();
    sorted.sort_by(|one, two| one.env.cmp(&two.env));
    assert_eq!(taken, sorted);
    // A turn that is taken is nobody else's, and a new round is about all of them.
    assert_eq!(take(&other, None, 100, long), []);
    let again = scene.run(other.begin_round()).expect("begun").expect("a database keeps turns");
    assert_eq!(take(&store, Some(&again), 100, long).len(), 20);
    // Whoever takes one and is gone loses it. The next turn of another one is now.
    scene.run(store.next_turn(&all[3], Duration::ZERO)).expect("set");
    assert_eq!(take(&other, None, 100, Duration::ZERO), [all[3].clone()]);
    assert_eq!(take(&store, None, 100, long), [all[3].clone()]);
    assert_eq!(take(&store, None, 100, long), []);
    // One that somebody requests comes at once, before those that are due, and once.
    scene.run(store.next_turn(&all[5], Duration::ZERO)).expect("set");
    for _ in 0..2 {
        assert!(scene.run(other.request_turn(&all[7])).expect("requested"));
    }
    let first = scene.run(store.take_turns(None, 1, long)).expect("taken").expect("turns");
    assert_eq!(first, [Due { environment: all[7].clone(), is_requested: true }]);
    assert_eq!(take(&store, None, 100, long), [all[5].clone()]);
}

#[test]
fn whoever_lost_the_lease_writes_nothing() {
    let scene = scene!();
    let (store, other) = (scene.open_briefly(), scene.open_briefly());
    let lock = scene.lock(&store);
    let writer = lock.writer();
    scene.run(writer.commit(vec![put(record(1))])).expect("commits");
    let error = scene.run(other.lock(&environment(), holder())).expect_err("taken");
    assert!(error.to_string().contains("ada on build-7"), "{error}");
    // A lease is renewed while nothing is written.
    std::thread::sleep(BRIEF + Duration::from_secs(1));
    assert!(!lock.is_lost());
    scene.run(writer.commit(vec![put(record(2))])).expect("still held");
    // Whoever takes over after the end of the lease shuts the first one out. Here the lease ends by the clock of
    // the database, as it does for a host that was stopped.
    scene.sql("UPDATE purlin.environments SET lease_until = clock_timestamp() - interval '1 second'");
    let next = scene.lock(&other);
    assert!(next.fence() > lock.fence());
    let error = scene.run(writer.commit(vec![put(record(3))])).expect_err("lost");
    assert!(matches!(error, Error::Lost { .. }), "{error}");
    assert!(lock.is_lost());
    scene.run(next.writer().commit(vec![put(record(4))])).expect("commits");
    drop(lock);
    scene.run(next.release()).expect("releases");
    let records = scene.run(store.load(&environment())).expect("loads").records;
    assert_eq!(plain(&records), [record(1), record(2), record(4)]);
    // One that ended without anybody else coming is lost, too.
    let lock = scene.lock(&store);
    scene.sql("UPDATE purlin.environments SET lease_until = clock_timestamp() - interval '1 second'");
    let error = scene.run(lock.writer().commit(vec![put(record(5))])).expect_err("lost");
    assert!(matches!(error, Error::Lost { .. }), "{error}");
}

/// A host that is gone with all its connections is replaced when its lease ends.
#[test]
fn a_host_that_is_gone_is_replaced() {
    let scene = scene!();
    let gone = runtime();
    let store = gone.block_on(PostgresStore::open(scene.brief())).expect("opens");
    let lock = gone.block_on(store.lock(&environment(), holder())).expect("free");
    gone.block_on(lock.writer().commit(vec![put(record(1))])).expect("commits");
    gone.shutdown_background();
    let begun = Instant::now();
    let other = scene.open();
    let next = loop {
        match scene.run(other.lock(&environment(), holder())) {
            Ok(lock) => break lock,
            Err(Error::Locked { .. }) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => panic!("{error}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the lease never ends");
    };
    // By its own clock the first one knows, too, without asking anybody.
    while !lock.is_lost() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the first holder never notices");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(matches!(lock.writer().submit(vec![put(record(2))]), Err(Error::Lost { .. })));
    assert_eq!(plain(&scene.run(other.load(&environment())).expect("loads").records), [record(1)]);
    drop(next);
}

#[test]
fn lost_connections_lose_no_commit() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    let (writer, done) = (lock.writer(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                scene.sql(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                     WHERE application_name = 'purlin' AND pid <> pg_backend_pid()",
                );
            }
        });
        for number in 0..60 {
            let begun = Instant::now();
            scene.run(writer.commit(vec![put(record(number))])).expect("commits");
            if begun.elapsed() < Duration::from_millis(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    let expected: Vec<_> = (0..60).map(record).collect();
    assert_eq!(plain(&scene.run(store.load(&environment())).expect("loads").records), expected);
    scene.run(lock.release()).expect("releases");
    assert_eq!(plain(&scene.run(store.load(&environment())).expect("loads").records), expected);
}

#[test]
fn what_others_change_is_noticed() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    let prod = Environment { env: "prod".into(), ..environment() };
    let there = scene.run(store.lock(&prod, holder())).expect("free");
    scene.run(lock.writer().commit((0..5).map(|n| put(secret_record(n))).collect())).expect("commits");
    scene.run(lock.release()).expect("releases");
    scene.run(there.release()).expect("releases");
    scene.sql("CREATE TABLE purlin.backup AS TABLE purlin.entries");
    let restore = || {
        scene.sql("DELETE FROM purlin.entries; INSERT INTO purlin.entries TABLE purlin.backup");
        scene.run(store.load(&environment())).expect("whole again");
    };
    let one = "(SELECT key FROM purlin.entries ORDER BY key LIMIT 1)";
    let other = "(SELECT key FROM purlin.entries ORDER BY key DESC LIMIT 1)";
    for change in [
        format!("DELETE FROM purlin.entries WHERE key = {one}"),
        "DELETE FROM purlin.entries".to_owned(),
        format!("UPDATE purlin.entries SET value = set_byte(value, 40, 1 + get_byte(value, 40) % 255) WHERE key = {one}"),
        format!("UPDATE purlin.entries SET value = (SELECT value FROM purlin.entries WHERE key = {other}) WHERE key = {one}"),
        "UPDATE purlin.environments SET seq = seq + 1".to_owned(),
        "UPDATE purlin.environments SET head = NULL".to_owned(),
        "UPDATE purlin.environments e SET head = (SELECT head FROM purlin.environments f WHERE f.env = 'prod') WHERE e.env = 'dev'".to_owned(),
    ] {
        let before = scene.sql("SELECT seq, encode(head, 'hex') FROM purlin.environments WHERE env = 'dev'");
        let (seq, head) = before.split_once('|').expect("two columns");
        scene.sql(&change);
        match scene.run(store.load(&environment())) {
            Err(Error::Damaged { .. }) => {}
            other => panic!("{change}: {other:?}"),
        }
        let error = scene.run(store.lock(&environment(), holder())).expect_err("not worked from");
        assert!(matches!(error, Error::Damaged { .. }), "{change}: {error}");
        scene.sql(&format!(
            "UPDATE purlin.environments SET seq = {seq}, head = decode('{head}', 'hex') WHERE env = 'dev'"
        ));
        restore();
    }
}

/// A database that was restored, or failed over to a copy that may lack commits, is doubted until all was read.
#[test]
fn another_server_is_doubted() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
    scene.run(lock.release()).expect("releases");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").doubt, None);
    let server = scene.sql("SELECT server FROM purlin.environments");
    assert!(server.contains('/') && server.len() > 20, "{server}");
    scene.sql("UPDATE purlin.environments SET server = '7000000000000000000/00000001'");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").doubt, Some(Doubt::Copied));
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(2))])).expect("commits");
    scene.run(lock.release()).expect("releases");
    // It stays in doubt, although this server took the last commit.
    assert_eq!(scene.sql("SELECT server FROM purlin.environments"), server);
    assert_eq!(scene.run(store.load(&environment())).expect("loads").doubt, Some(Doubt::Copied));
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![Change::Trust])).expect("commits");
    scene.run(lock.release()).expect("releases");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").doubt, None);
}

#[test]
fn a_database_that_forgot_commits_stops_its_holder() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    for number in 0..3 {
        scene.run(lock.writer().commit(vec![put(record(number))])).expect("commits");
    }
    scene.sql("UPDATE purlin.environments SET seq = 1");
    let error = scene.run(lock.writer().commit(vec![put(record(3))])).expect_err("noticed");
    assert!(error.to_string().contains("the database lost commits"), "{error}");
    assert!(lock.is_lost());
}

/// Many hosts at once: an environment has one holder at a time, and nothing that was confirmed is missing.
#[test]
fn many_hosts_take_turns() {
    let scene = Arc::new(scene!());
    let hosts: Vec<_> = (0..4)
        .map(|host| {
            let scene = Arc::clone(&scene);
            std::thread::spawn(move || {
                let store = scene.open();
                let mut taken = 0;
                while taken < 10 {
                    match scene.run(store.lock(&environment(), holder())) {
                        Ok(lock) => {
                            let number = host * 10 + taken;
                            scene.run(lock.writer().commit(vec![put(record(number))])).expect("commits");
                            scene.run(lock.release()).expect("releases");
                            taken += 1;
                        }
                        Err(Error::Locked { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    for host in hosts {
        host.join().expect("no panic");
    }
    let store = scene.open();
    assert_eq!(scene.run(store.load(&environment())).expect("loads").records.len(), 40);
    assert_eq!(scene.sql("SELECT fence, seq FROM purlin.environments"), "40|40");
}

/// Everything of an environment, as somebody else reads it.
fn all(scene: &Scene, store: &dyn Store) -> impl PartialEq + std::fmt::Debug + use<> {
    scene.run(async {
        let snapshot = store.load(&environment()).await.expect("loads");
        let history = store.history(&environment()).await.expect("reads");
        let mut documents = Vec::new();
        for digest in history.iter().filter_map(|deployment| deployment.documents) {
            documents.push(store.documents(&environment(), &digest).await.expect("reads"));
        }
        (snapshot.records, snapshot.pending, snapshot.unmet, snapshot.held, history, documents)
    })
}

fn deployed(number: u64) -> Change {
    let documents = format!("documents {number}").into_bytes();
    let deployment = Deployment {
        id: format!("d{number}").into(),
        number,
        holder: holder(),
        ended: Some(7),
        outcome: Outcome::Succeeded,
        steps: Vec::new(),
        documents: Some(Sha256::digest(&documents).into()),
        rollback_of: None,
    };
    Change::Deployed { deployment: Box::new(deployment), documents: Some(documents) }
}

fn fill(scene: &Scene, store: &dyn Store) {
    let lock = scene.run(store.lock(&environment(), holder())).expect("free");
    let changes =
        (0..20).map(|n| put(secret_record(n))).chain([intend(secret_record(30)), deployed(1), deployed(2)]);
    scene.run(lock.writer().commit(changes.collect())).expect("commits");
    scene.run(lock.release()).expect("released");
}

#[test]
fn an_environment_moves_between_stores_and_files() {
    let scene = scene!();
    let database = scene.open();
    fill(&scene, &database);
    let expected = all(&scene, &database);
    // To a folder, through a file.
    let folder = tempfile::tempdir().expect("a folder");
    let embedded = open(folder.path()).expect("opens");
    scene.run(embedded.seal(b"")).expect("a key is made");
    let file = folder.path().join("dev.purlin");
    let recipient = embedded.public_recipient();
    scene
        .run(database.export(&environment(), recipient.as_deref()))
        .expect("exports")
        .write(&file)
        .expect("written");
    let bytes = std::fs::read(&file).expect("a file");
    assert!(!bytes.windows(6).any(|part| part == b"hidden"));
    let export = || Export::read(&file).expect("reads");
    let options = ImportOptions::default();
    let error = scene.run(database.import(export(), holder(), options)).expect_err("for another key");
    assert!(matches!(error, Error::WrongKey { .. }), "{error}");
    scene.run(embedded.import(export(), holder(), options)).expect("imports");
    assert_eq!(all(&scene, &*embedded), expected);
    // And back, in place of what is there.
    let lock = scene.lock(&database);
    scene.run(lock.writer().commit(vec![remove(3), put(record(50)), deployed(3)])).expect("commits");
    let export = || {
        scene.run(embedded.export(&environment(), database.public_recipient().as_deref())).expect("exports")
    };
    let error = scene.run(database.import(export(), holder(), options)).expect_err("locked");
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    scene.run(lock.release()).expect("released");
    let error = scene.run(database.import(export(), holder(), options)).expect_err("it is there");
    assert!(matches!(error, Error::Exists { records: 20, .. }), "{error}");
    let options = ImportOptions { replace: true, is_old: true };
    scene.run(database.import(export(), holder(), options)).expect("imports");
    assert_eq!(all(&scene, &database), expected);
    assert_eq!(scene.run(database.load(&environment())).expect("loads").doubt, Some(Doubt::Copied));
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.entries WHERE get_byte(key, 0) = ascii('d')"), "2");
    let known = scene.run(database.environments(None, 10)).expect("lists");
    assert_eq!(known[0].unready, [(Stand::Interrupted, 1)].into());
}

#[test]
fn a_new_key_opens_everything_and_the_old_one_nothing() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let prod = Environment { env: "prod".into(), ..environment() };
    let lock = scene.run(store.lock(&prod, holder())).expect("free");
    scene.run(lock.release()).expect("released");
    let expected = all(&scene, &store);
    let old = std::fs::read_to_string(scene.key.path().join("key")).expect("a key");
    let blob = scene.run(store.seal(b"a plan")).expect("seals");
    // Somebody deploys meanwhile, with the old data key, and the rotation waits for the end.
    let other = scene.open();
    let held = scene.lock(&other);
    let name = std::thread::scope(|scope| {
        let rotation = scope.spawn(|| scene.run(store.rotate_key(None, holder())));
        while scene.sql("SELECT count(*) FROM purlin.keys") != "2" {
            std::thread::sleep(Duration::from_millis(10));
        }
        scene.run(held.writer().commit(vec![put(secret_record(40))])).expect("commits");
        // A new one reads the new key.
        let lock = scene.run(other.lock(&prod, holder())).expect("free");
        scene.run(lock.release()).expect("released");
        scene.run(held.release()).expect("released");
        rotation.join().expect("no panic").expect("rotates")
    });
    assert_eq!(store.public_recipient(), Some(name.clone()));
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.keys"), "1");
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![remove(40)])).expect("commits");
    scene.run(lock.release()).expect("released");
    for store in [&store, &other, &scene.open()] {
        assert_eq!(all(&scene, store), expected);
        assert_eq!(scene.run(store.environments(None, 10)).expect("lists").len(), 1);
        // Whoever opened it with the old data key may know that still.
        assert!(std::ptr::eq(store, &other) || scene.run(store.unseal(&blob)).is_err());
        assert!(scene.run(store.verify()).expect("looks").is_whole());
    }
    // Nobody opens anything with the old key.
    let old = PostgresOptions { key: KeyProvider::Value(old.into()), ..scene.options() };
    let error = scene.run(PostgresStore::open(old)).err().expect("the old key");
    assert!(matches!(&error, Error::WrongKey { expected, .. } if *expected == name), "{error}");
    // One that was cut off behind the first step goes on.
    let before = scene.sql("SELECT encode(sealed, 'hex') FROM purlin.keys");
    scene.run(store.rotate_key(None, holder())).expect("rotates");
    assert_ne!(scene.sql("SELECT encode(sealed, 'hex') FROM purlin.keys"), before);
    assert_eq!(all(&scene, &scene.open()), expected);
}

/// A key that does not come from a file cannot follow: the state is encrypted with the new one all the same.
#[test]
fn keys_that_are_given_are_rotated_to_keys_that_are_given() {
    let scene = scene!();
    let folder = tempfile::tempdir().expect("a folder");
    let new_key = |name: &str| {
        KeyProvider::create(&folder.path().join(name)).expect("made");
        std::fs::read_to_string(folder.path().join(name)).expect("a key")
    };
    let (old, new) = (new_key("old"), new_key("new"));
    let given = |key: &str| PostgresOptions { key: KeyProvider::Value(key.into()), ..scene.options() };
    let store = scene.run(PostgresStore::open(given(&old))).expect("opens");
    fill(&scene, &store);
    let expected = all(&scene, &store);
    assert!(scene.run(store.rotate_key(None, holder())).is_err(), "a new key has to be given");
    let name = scene.run(store.rotate_key(Some(new.clone().into()), holder())).expect("rotates");
    assert_eq!(store.public_recipient(), Some(name));
    let store = scene.run(PostgresStore::open(given(&new))).expect("opens");
    assert_eq!(all(&scene, &store), expected);
    assert!(matches!(scene.run(PostgresStore::open(given(&old))), Err(Error::WrongKey { .. })));
}

#[test]
fn what_is_not_as_it_was_written_is_damage() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    scene.sql("CREATE TABLE purlin.backup AS TABLE purlin.entries");
    // One deployment in the place of another.
    let of = "get_byte(key, 0) = ascii('h')";
    scene.sql(&format!(
        "UPDATE purlin.entries SET value = (SELECT value FROM purlin.entries WHERE {of} ORDER BY key DESC LIMIT 1) WHERE {of}"
    ));
    let error = scene.run(store.history(&environment())).expect_err("another one");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    scene.sql("DELETE FROM purlin.entries; INSERT INTO purlin.entries TABLE purlin.backup");
    // Without its data key nothing opens, and a new one would make that final.
    scene.sql("CREATE TABLE purlin.kept AS TABLE purlin.keys; DELETE FROM purlin.keys");
    let error = scene.run(PostgresStore::open(scene.options())).err().expect("no key").to_string();
    assert!(error.contains("its data key is missing"), "{error}");
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.keys"), "0");
    scene.sql("INSERT INTO purlin.keys TABLE purlin.kept");
    assert_eq!(scene.run(scene.open().load(&environment())).expect("loads").records.len(), 20);
    // A table that somebody dropped does not come back empty.
    scene.sql("DROP TABLE purlin.stale");
    for error in [
        scene.run(PostgresStore::open(scene.options())).err().expect("no table"),
        scene.run(PostgresStore::prepare(&scene.options())).expect_err("no table"),
    ] {
        assert!(error.to_string().contains("the tables stale are missing"), "{error}");
    }
}

/// Whoever cannot read an environment does not keep it.
#[test]
fn a_lease_ends_also_where_nothing_can_be_read() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let lock = scene.lock(&store);
    scene.sql("UPDATE purlin.entries SET value = 'nonsense' WHERE get_byte(key, 0) = ascii('h')");
    assert!(scene.run(lock.release()).is_err());
    assert_eq!(scene.sql("SELECT count(holder) FROM purlin.environments"), "0");
}

/// A rotation that is killed at each of its statements leaves a state that one key opens, and the next one ends it.
#[test]
fn a_rotation_that_is_cut_off_goes_on() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let expected = all(&scene, &store);
    let mut cut = 0;
    for delay in (0..400).step_by(25) {
        let doomed = runtime();
        let store = doomed.block_on(PostgresStore::open(scene.options())).expect("opens");
        let rotated = doomed.block_on(async {
            tokio::time::timeout(Duration::from_millis(delay), store.rotate_key(None, holder())).await
        });
        cut += usize::from(rotated.is_err());
        doomed.shutdown_background();
        scene.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'purlin'",
        );
        // The host is gone, and its lease with it.
        scene.sql("UPDATE purlin.environments SET lease_until = NULL, token = NULL");
        assert_eq!(all(&scene, &scene.open()), expected);
    }
    assert!(cut > 0, "every rotation was faster");
    scene.run(scene.open().rotate_key(None, holder())).expect("rotates");
    let store = scene.open();
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.keys"), "1");
    assert_eq!(all(&scene, &store), expected);
    assert!(scene.run(store.verify()).expect("looks").is_whole());
}

#[test]
fn a_repair_saves_what_can_be_read() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    let prod = Environment { env: "prod".into(), ..environment() };
    let lock = scene.run(store.lock(&prod, holder())).expect("free");
    scene.run(lock.release()).expect("released");
    assert!(scene.run(store.verify()).expect("looks").is_whole());
    let report = scene.run(store.repair(holder())).expect("repairs");
    assert!(report.is_whole() && report.records == 20, "{report:?}");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").doubt, None, "nothing was touched");
    let records = "(SELECT key FROM purlin.entries WHERE get_byte(key, 0) = ascii('r') ORDER BY key";
    // One entry is damaged, and one is gone.
    scene.sql(&format!(
        "UPDATE purlin.entries SET value = set_byte(value, 60, 1 + get_byte(value, 60) % 255) WHERE key = {records} LIMIT 1)"
    ));
    scene.sql(&format!("DELETE FROM purlin.entries WHERE key = {records} DESC LIMIT 1)"));
    let report = scene.run(store.verify()).expect("looks");
    assert_eq!((report.findings.len(), report.lost.len()), (2, 0), "{report:?}");
    assert!(scene.run(store.load(&environment())).is_err());
    let report = scene.run(store.repair(holder())).expect("repairs");
    assert_eq!((report.findings.len(), report.lost.len(), report.records), (2, 1, 18), "{report:?}");
    let snapshot = scene.run(store.load(&environment())).expect("loads");
    assert_eq!((snapshot.records.len(), snapshot.doubt), (18, Some(Doubt::Lost)));
    assert_eq!(scene.sql("SELECT count(*) FROM purlin.stale"), "1");
    assert_eq!(scene.run(store.history(&environment())).expect("reads").len(), 2);
    assert!(scene.run(store.verify()).expect("looks").is_whole());
    // A summary is no more than that.
    scene.sql("UPDATE purlin.environments SET summary = 'nonsense', listing = 'nonsense'");
    assert_eq!(scene.run(store.environments(None, 10)).expect("lists")[0].records, 18);
    assert!(scene.run(store.listings()).expect("lists").is_empty());
    // The row of the environment is gone, and its entries say which it was.
    scene.sql("DELETE FROM purlin.environments WHERE env = 'dev'");
    let report = scene.run(store.verify()).expect("looks");
    assert!(report.findings[0].contains("dev of acme/shop is missing"), "{report:?}");
    scene.run(store.repair(holder())).expect("repairs");
    assert_eq!(scene.run(store.load(&environment())).expect("loads").records.len(), 18);
    assert!(scene.run(store.verify()).expect("looks").is_whole());
    // Nothing is repaired that somebody holds.
    let lock = scene.lock(&store);
    scene.sql("DELETE FROM purlin.entries");
    let other = scene.open();
    let error = scene.run(other.repair(holder())).expect_err("held");
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(lock);
}

#[test]
fn missing_documents_are_noticed() {
    let scene = scene!();
    let store = scene.open();
    fill(&scene, &store);
    scene.sql(
        "DELETE FROM purlin.entries WHERE key =
         (SELECT key FROM purlin.entries WHERE get_byte(key, 0) = ascii('d') ORDER BY key LIMIT 1)",
    );
    let report = scene.run(store.verify()).expect("looks");
    let [finding] = &report.findings[..] else { panic!("{report:?}") };
    assert!(finding.starts_with("the documents of deployment "), "{finding}");
    assert!(finding.ends_with(" of dev of acme/shop are missing"), "{finding}");
    let report = scene.run(store.repair(holder())).expect("repairs");
    assert_eq!((report.findings.len(), report.lost.len(), report.records), (1, 1, 20), "{report:?}");
    // The deployment stays in the history, and refers to nothing that is missing.
    let history = scene.run(store.history(&environment())).expect("reads");
    let digests: Vec<_> = history.iter().filter_map(|deployment| deployment.documents).collect();
    assert_eq!((history.len(), digests.len()), (2, 1));
    assert!(scene.run(store.documents(&environment(), &digests[0])).expect("reads").is_some());
    assert!(scene.run(store.verify()).expect("looks").is_whole());
}

#[test]
fn a_database_is_looked_at() {
    let scene = scene!();
    let store = scene.open();
    let found = scene.run(store.inspect()).expect("looks");
    assert!(found.server.starts_with(|first: char| first.is_ascii_digit()), "{found:?}");
    assert!(found.is_identified && !found.is_standby && found.missing_rights.is_empty(), "{found:?}");
    let clock = scene.run(store.clock()).expect("reads");
    assert!(clock > 1_700_000_000_000, "{clock}");
    scene.sql("CREATE USER guest PASSWORD 'guest'; GRANT USAGE ON SCHEMA purlin TO guest");
    scene.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA purlin TO guest");
    scene.sql("REVOKE UPDATE, DELETE ON purlin.entries FROM guest");
    let mut options = scene.options();
    options.address.url = options.address.url.replace("postgres@", "guest@");
    options.address.password = Some("guest".into());
    let found = scene.run(async { PostgresStore::open(options).await.expect("opens").inspect().await });
    assert_eq!(found.expect("looks").missing_rights, ["DELETE on entries", "UPDATE on entries"]);
    // Who holds an environment, and for how long.
    let lock = scene.lock(&store);
    let held = scene.run(scene.open().holder(&environment())).expect("reads").expect("somebody");
    assert_eq!(held.holder, holder());
    assert!(held.lease.is_some_and(|lease| lease <= PostgresOptions::LEASE), "{held:?}");
    scene.run(lock.release()).expect("released");
    assert_eq!(scene.run(store.holder(&environment())).expect("reads"), None);
}

/// What a deployment does with its store, the documents and the history included.
fn deploy(scene: &Scene, store: &PostgresStore, round: usize) -> Result<(), Error> {
    scene.run(async {
        let lock = store.lock(&environment(), holder()).await?;
        let writer = lock.writer();
        writer.commit(vec![intend(secret_record(round)), remove(round.wrapping_sub(1))]).await?;
        let settled = Change::Settle(secret_record(round).id());
        let (one, two) =
            (writer.submit(vec![put(secret_record(round)), settled])?, writer.submit(vec![deployed(1)])?);
        one.await?;
        two.await?;
        lock.release().await?;
        store.environments(None, 10).await?;
        store.history(&environment()).await.map(drop)
    })
}

/// The wire to the database is cut once, at each message of a deployment, before the server gets it or before its
/// answer comes back: it goes on, and what is recorded is what would be without the cut.
#[test]
fn a_deployment_survives_a_cut_at_each_message() {
    let scene = scene!();
    let wire = Wire::to(scene.server.port);
    let options = || {
        let mut options = scene.options();
        options.address.url = format!("postgres://postgres@127.0.0.1:{}/postgres", wire.port());
        options
    };
    for when in [When::Before, When::After] {
        let mut at = 1;
        loop {
            scene.sql("DELETE FROM purlin.entries; DELETE FROM purlin.environments");
            wire.cut_at(at, when);
            let store = scene
                .run(PostgresStore::open(options()))
                .unwrap_or_else(|error| panic!("{at} {when:?}: {error}"));
            deploy(&scene, &store, 1).unwrap_or_else(|error| panic!("{at} {when:?}: {error}"));
            let was_cut = wire.was_cut();
            deploy(&scene, &store, 2).unwrap_or_else(|error| panic!("{at} {when:?}: {error}"));
            scene.run(store.close()).expect("closed");
            let snapshot = scene.run(scene.open().load(&environment())).expect("loads");
            assert_eq!(plain(&snapshot.records), [secret_record(2)], "{at} {when:?}");
            assert!(snapshot.pending.is_empty() && snapshot.doubt.is_none(), "{at} {when:?}");
            assert_eq!(scene.run(scene.open().history(&environment())).expect("reads").len(), 1);
            assert_eq!(scene.sql("SELECT count(holder) FROM purlin.environments"), "0", "{at} {when:?}");
            if !was_cut {
                break;
            }
            at += 1;
        }
        assert!(at > 10, "there were only {at} messages");
    }
}

/// The processes of the server are killed with -9 in the middle, so that it recovers from its log.
#[test]
fn a_deployment_survives_crashes_of_the_server() {
    let scene = scene!(&["fsync=on"]);
    let store = scene.open();
    let lock = scene.lock(&store);
    let (writer, done) = (lock.writer(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                let pid = scene.server.try_ask(
                    "postgres",
                    "SELECT pid FROM pg_stat_activity WHERE application_name = 'purlin' LIMIT 1",
                );
                if let Ok(pid) = pid {
                    let _ = std::process::Command::new("kill").args(["-KILL", pid.trim()]).status();
                }
                std::thread::sleep(Duration::from_secs(1));
            }
            done.store(true, Ordering::SeqCst);
        });
        let mut number = 0;
        while !done.load(Ordering::SeqCst) || number < 20 {
            scene.run(writer.commit(vec![put(record(number % 50))])).expect("commits");
            number += 1;
        }
        scene.run(lock.release()).expect("releases");
        let count = scene.run(store.load(&environment())).expect("loads").records.len();
        assert_eq!(count, number.min(50));
    });
}

/// The primary is gone, and its standby, which lacks the last commits, takes its place: whoever held an environment
/// stops, and nobody else works from what is left before everything was read.
#[test]
fn a_failover_that_lost_commits_is_noticed() {
    let scene = scene!(&["fsync=on"]);
    let Some(standby) = scene.server.standby() else { return };
    let mut options = scene.brief();
    options.address.url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        scene.server.port, standby.port
    );
    let store = scene.run(PostgresStore::open(options.clone())).expect("opens");
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
    let begun = Instant::now();
    while standby.ask("SELECT count(*) FROM purlin.environments WHERE seq = 1") != "1" {
        assert!(begun.elapsed() < Duration::from_secs(60), "the standby does not follow: {}", standby.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    // The standby is cut off, and the primary goes on without it.
    standby.ask("ALTER SYSTEM SET primary_conninfo = ''");
    standby.ask("SELECT pg_reload_conf()");
    while standby.ask("SELECT count(*) FROM pg_stat_wal_receiver") != "0" {
        std::thread::sleep(Duration::from_millis(20));
    }
    scene.run(lock.writer().commit(vec![put(record(2))])).expect("commits");
    let Scene { server, runtime, key: _key } = scene;
    drop(server);
    standby.ask("SELECT pg_promote()");
    let error = runtime.block_on(lock.writer().commit(vec![put(record(3))])).expect_err("noticed");
    assert!(error.to_string().contains("the database lost commits"), "{error}");
    assert!(lock.is_lost());
    drop(lock);
    // The lease that the standby knows of ends, and the next one doubts what it finds.
    let next = runtime.block_on(PostgresStore::open(options)).expect("opens");
    let snapshot = runtime.block_on(next.load(&environment())).expect("loads");
    assert_eq!((plain(&snapshot.records), snapshot.doubt), (vec![record(1)], Some(Doubt::Copied)));
    let begun = Instant::now();
    let lock = loop {
        match runtime.block_on(next.lock(&environment(), holder())) {
            Err(Error::Locked { .. }) if begun.elapsed() < Duration::from_secs(60) => {
                std::thread::sleep(Duration::from_millis(100));
            }
            lock => break lock.expect("free"),
        }
    };
    runtime.block_on(lock.writer().commit(vec![put(record(4))])).expect("commits");
    runtime.block_on(lock.release()).expect("released");
    assert_eq!(runtime.block_on(next.load(&environment())).expect("loads").doubt, Some(Doubt::Copied));
}
