//! The promises of the store in PostgreSQL, on a real server (SPEC §10): commits, leases and turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use purlin_state::{
    Address, Change, Credentials, Deployment, Due, Environment, Error, KeyProvider, Outcome, PostgresOptions,
    PostgresStore, Store as _,
};
use purlin_systems::postgres::Pooler;
use sha2::{Digest, Sha256};

use crate::common::keeps::keeps;
use crate::common::scene::{KEY, LEASES, runtime};
use crate::common::*;

#[test]
fn a_database_keeps_what_is_committed() {
    let scene = scene!();
    let again = scene.run(PostgresStore::prepare(&scene.options()));
    assert!(!again.expect("prepared already"));
    keeps(&scene.open());
    let store = scene.open();
    let snapshot = scene.run(store.load(&environment())).expect("loads");
    assert_eq!(snapshot.records.len(), 39);
    // The summary that the last holder left agrees with the records.
    let known = scene.run(store.environments(None, 10)).expect("lists");
    assert_eq!(known.iter().map(|known| known.records).collect::<Vec<_>>(), [39]);
    // The database never sees secrets or the key.
    let all = scene.sql("SELECT string_agg(encode(value, 'escape'), '') FROM purlin.entries");
    assert!(all.len() > 10_000, "{}", all.len());
    assert!(!all.contains("hidden") && !all.contains("value-2") && !all.contains("AGE-SECRET"), "{all}");
}

/// Nothing depends on a session, so a pooler may give each transaction a different one.
#[test]
fn a_database_behind_a_pooler_keeps_what_is_committed() {
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
            rejected: None,
            rollouts: Arc::default(),
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
    // Another host can open data that one host sealed.
    let sealed = scene.run(store.seal(b"a plan")).expect("seals");
    assert_eq!(&**scene.run(other.unseal(&sealed)).expect("opens"), b"a plan");
}

#[test]
fn mismatched_databases_and_keys_are_rejected() {
    let scene = scene!();
    let open = |options: PostgresOptions| match scene.run(PostgresStore::open(options)) {
        Err(error) => error,
        Ok(_) => panic!("it opens"),
    };
    drop(scene.open());
    let with = |change: &dyn Fn(&mut Address)| {
        let mut options = scene.options();
        change(&mut options.address);
        options
    };
    let error = open(with(&|address| address.schema = "nobodys".into())).to_string();
    assert!(
        error.contains("?schema=nobodys` is not prepared") && error.contains("purlin state init"),
        "{error}"
    );
    let error =
        open(with(&|address| address.credentials = Arc::new(Credentials::password("wrong")))).to_string();
    assert!(error.contains("password authentication failed"), "{error}");
    let error = open(with(&|address| address.url = address.url.replace("@", ":secret@"))).to_string();
    assert!(error.contains("the URL contains a password") && !error.contains("secret@"), "{error}");
    let nowhere = with(&|address| address.url = "postgres://x@127.0.0.1:1/x".into());
    let error = open(PostgresOptions { patience: Duration::from_millis(200), ..nowhere }).to_string();
    assert!(error.contains("`postgres://x@127.0.0.1:1/x`") && error.contains("reached"), "{error}");
    let error = open(with(&|address| address.url = "nonsense".into())).to_string();
    assert!(error.starts_with("the address of the state is wrong: "), "{error}");
    let error = open(PostgresOptions { key: KeyProvider::Value(KEY.into()), ..scene.options() });
    assert!(matches!(error, Error::KeyInvalid { .. } | Error::WrongKey { .. }), "{error}");
    scene.sql("UPDATE purlin.meta SET version = 7");
    let error = open(scene.options());
    assert!(matches!(error, Error::Newer { found: 7, .. }), "{error}");
    let error = scene.run(PostgresStore::prepare(&scene.options())).expect_err("newer");
    assert!(matches!(error, Error::Newer { found: 7, .. }), "{error}");
    // The error names the action that the user has no right to.
    scene.sql("CREATE USER guest PASSWORD 'guest'");
    let guest = |schema: &str| {
        with(&|address| {
            address.url = address.url.replace("postgres@", "guest@");
            address.credentials = Arc::new(Credentials::password("guest"));
            address.schema = schema.into();
        })
    };
    let error = scene.run(PostgresStore::prepare(&guest("theirs"))).expect_err("no rights").to_string();
    assert!(error.contains("cannot create the tables") && error.contains("permission denied"), "{error}");
    // Owning a schema is enough.
    scene.sql("CREATE SCHEMA theirs AUTHORIZATION guest");
    assert!(scene.run(PostgresStore::prepare(&guest("theirs"))).expect("prepared"));
    let store = scene.run(PostgresStore::open(guest("theirs"))).expect("opens");
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
}

/// Somebody changed the tables, so they are no longer those of this version.
#[test]
fn tables_of_another_form_are_an_error() {
    let scene = scene!();
    scene.sql("ALTER TABLE purlin.meta ALTER COLUMN version TYPE text");
    let error = scene.run(PostgresStore::open(scene.options())).err().expect("unreadable").to_string();
    assert!(error.contains("read the state"), "{error}");
    let error = scene.run(PostgresStore::prepare(&scene.options())).expect_err("unreadable").to_string();
    assert!(error.contains("read the state"), "{error}");
}

#[test]
fn closing_a_store_releases_its_leases() {
    let scene = scene!();
    for _ in 0..20 {
        let store = scene.open();
        drop(scene.lock(&store));
        scene.run(store.close()).expect("closed");
        assert_eq!(scene.sql("SELECT count(holder) FROM purlin.environments"), "0");
    }
}

#[test]
fn each_turn_belongs_to_one_host() {
    let scene = scene!();
    let (store, other) = (scene.open(), scene.open());
    let all: Vec<Environment> =
        (0..20).map(|number| Environment { env: format!("e{number}").into(), ..environment() }).collect();
    for one in &all {
        let lock = scene.run(store.lock(one, holder())).expect("free");
        scene.run(lock.release()).expect("released");
    }
    let take = |store: &PostgresStore, round: Option<&purlin_state::Round>, most, within: Duration| {
        let taken = scene.run(store.take_turns(round, None, most, within)).expect("taken");
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
    // The store knows which turns it gave to a round, even if its response was lost.
    let mut of_round = scene.run(store.turns_of(&round)).expect("lists");
    of_round.sort_by(|one, two| one.env.cmp(&two.env));
    assert_eq!(of_round, sorted);
    // Nobody else can take a turn that is taken, and a new round includes all environments.
    assert_eq!(take(&other, None, 100, long), []);
    let again = scene.run(other.begin_round()).expect("begun").expect("a database keeps turns");
    assert_eq!(take(&store, Some(&again), 100, long).len(), 20);
    assert_eq!(scene.run(store.turns_of(&round)).expect("lists"), []);
    // One environment is due now. A host that takes its turn and disappears loses it.
    scene.run(store.next_turn(&all[3], Duration::ZERO)).expect("set");
    assert_eq!(take(&other, None, 100, Duration::ZERO), [all[3].clone()]);
    assert_eq!(take(&store, None, 100, long), [all[3].clone()]);
    assert_eq!(take(&store, None, 100, long), []);
    // A requested turn comes at once, before those that are due, and only once.
    scene.run(store.next_turn(&all[5], Duration::ZERO)).expect("set");
    for _ in 0..2 {
        assert!(scene.run(other.request_turns(&all[7..=7], true)).expect("requested"));
    }
    let first = scene.run(store.take_turns(None, None, 1, long)).expect("taken").expect("turns");
    assert_eq!(first, [Due { environment: all[7].clone(), is_requested: true }]);
    assert_eq!(take(&store, None, 100, long), [all[5].clone()]);
    // An environment that is requested during its turn is due again afterwards.
    assert!(scene.run(other.request_turns(&all[9..=9], true)).expect("requested"));
    scene.run(store.next_turn(&all[9], long)).expect("set");
    let again = scene.run(store.take_turns(None, None, 100, long)).expect("taken").expect("turns");
    assert_eq!(again, [Due { environment: all[9].clone(), is_requested: true }]);
    scene.run(store.next_turn(&all[9], long)).expect("set");
    assert_eq!(take(&store, None, 100, long), []);
}

#[test]
fn a_lease_is_renewed_while_nothing_is_written() {
    let scene = scene!();
    let is_kept = |seconds| {
        let lease = Duration::from_secs(seconds);
        scene.end_leases();
        let store = scene.run(PostgresStore::open(scene.with_lease(lease))).expect("opens");
        let lock = scene.lock(&store);
        let writer = lock.writer();
        let begins = scene.run(writer.commit(vec![put(record(1))])).is_ok();
        std::thread::sleep(lease + Duration::from_secs(1));
        begins && !lock.is_lost() && scene.run(writer.commit(vec![put(record(2))])).is_ok()
    };
    assert!(LEASES.into_iter().any(is_kept), "no lease was renewed");
}

#[test]
fn a_host_without_its_lease_writes_nothing() {
    let scene = scene!();
    let (store, other) = (scene.open(), scene.open());
    let lock = scene.lock(&store);
    let writer = lock.writer();
    scene.run(writer.commit(vec![put(record(1))])).expect("commits");
    let error = scene.run(other.lock(&environment(), holder())).expect_err("taken");
    assert!(error.to_string().contains("ada on build-7"), "{error}");
    assert!(!lock.is_lost());
    scene.run(writer.commit(vec![put(record(2))])).expect("still held");
    // A host that takes over after the end of the lease excludes the first holder. Here the lease ends by the
    // clock of the database, as it does for a host that was stopped.
    scene.end_leases();
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
    // A lease that ended is lost even if no other host takes over.
    let lock = scene.lock(&store);
    scene.end_leases();
    let error = scene.run(lock.writer().commit(vec![put(record(5))])).expect_err("lost");
    assert!(matches!(error, Error::Lost { .. }), "{error}");
}

/// A holder whose lease expired, and one that cut off its calls, leave calls whose requests may still be in
/// transit. Nobody else changes that, and the duration follows the database's clock.
#[test]
fn calls_that_were_left_are_known_to_the_next_holders() {
    let scene = scene!();
    let store = scene.open();
    let lock = scene.lock(&store);
    scene.run(lock.writer().commit(vec![put(record(1))])).expect("commits");
    scene.run(lock.release()).expect("released");
    let lock = scene.lock(&store);
    assert_eq!(lock.lapsed(), None, "the holder before left nothing");
    lock.writer().cut_off();
    scene.run(lock.release()).expect("released");
    let lapsed = |least: u64| {
        let lock = scene.lock(&store);
        let lapsed = lock.lapsed().expect("calls were cut off");
        scene.run(lock.release()).expect("released");
        let (least, most) = (Duration::from_secs(least), Duration::from_secs(least + 300));
        assert!(least <= lapsed && lapsed < most, "{lapsed:?}");
    };
    lapsed(0);
    scene.sql("UPDATE purlin.environments SET lapsed_at = lapsed_at - interval '100 seconds'");
    lapsed(100);
    let lock = scene.lock(&store);
    scene.sql("UPDATE purlin.environments SET lease_until = clock_timestamp() - interval '5 seconds'");
    lapsed(5);
    drop(lock);
}

/// Another host can replace a host that lost all connections once the lease ends.
#[test]
fn a_host_that_is_gone_is_replaced() {
    let scene = scene!();
    let gone = runtime();
    let holding = |seconds| {
        scene.end_leases();
        let options = scene.with_lease(Duration::from_secs(seconds));
        let store = gone.block_on(PostgresStore::open(options)).expect("opens");
        let lock = gone.block_on(store.lock(&environment(), holder())).expect("free");
        gone.block_on(lock.writer().commit(vec![put(record(1))])).ok().map(|()| (store, lock))
    };
    let (_store, lock) = LEASES.into_iter().find_map(holding).expect("commits");
    gone.shutdown_background();
    let begun = Instant::now();
    let other = scene.open();
    let next = loop {
        match scene.run(other.lock(&environment(), holder())) {
            Ok(lock) => break lock,
            Err(Error::Locked { .. }) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => panic!("{error}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "the lease never ends");
    };
    // The first holder notices it as well, by its own clock, without any request.
    while !lock.is_lost() {
        assert!(begun.elapsed() < Duration::from_secs(300), "the first holder never notices");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(matches!(lock.writer().submit(vec![put(record(2))]), Err(Error::Lost { .. })));
    assert_eq!(plain(&scene.run(other.load(&environment())).expect("loads").records), [record(1)]);
    drop(next);
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
