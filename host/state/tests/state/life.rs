//! Intents, history, documents and holds, the same in every store (SPEC §9, §10).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on as run;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use purlin_model::Value;
use purlin_model::driver::{Checkpoint, Cookie};
use purlin_state::{
    Change, Deployment, EmbeddedStore, Environment, EnvironmentSummary, Error, Intent, MemoryStore,
    Operation, Outcome, RecordId, Snapshot, Store,
};
use sha2::{Digest, Sha256};

use crate::common::scene::Scene;
use crate::common::*;

fn other() -> Environment {
    Environment { env: "prod".into(), ..environment() }
}

fn stores(test: impl Fn(&Working<dyn Store>)) {
    test(&Working::<dyn Store>::new(Arc::new(MemoryStore::new())));
    let folder = tempfile::tempdir().expect("a folder");
    let embedded = EmbeddedStore::open(folder.path(), options(folder.path())).expect("opens");
    test(&Working::<dyn Store>::new(Arc::new(embedded)));
    let report = EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks");
    assert!(report.is_whole(), "{report:?}");
    let Some(scene) = Scene::begin(&[]) else { return };
    test(&Working::<dyn Store>::new(Arc::new(scene.open())));
    let report = scene.run(scene.open().verify()).expect("looks");
    assert!(report.is_whole(), "{report:?}");
}

fn deployment(id: &str, number: u64, documents: Option<&[u8]>) -> Deployment {
    Deployment {
        id: id.into(),
        number,
        holder: holder(),
        ended: None,
        outcome: Outcome::Unfinished,
        steps: vec![(urn(1), "create".into(), true), (urn(2), "create".into(), false)],
        documents: documents.map(|documents| Sha256::digest(documents).into()),
        rollback_of: None,
        rejected: None,
        rollouts: Arc::default(),
    }
}

fn deployed(deployment: Deployment, documents: Option<&[u8]>) -> Change {
    Change::Deployed { deployment: Box::new(deployment), documents: documents.map(<[u8]>::to_vec) }
}

#[test]
fn an_intent_is_pending_until_it_is_settled() {
    stores(|store| {
        let id = RecordId::current(urn(1));
        let pending = || run(store.load(&environment())).expect("loads").pending;
        let checkpoint = |reported: &str| Change::Checkpoint { id: id.clone(), checkpoint: reported.into() };
        run(store.commit(vec![checkpoint("too early")])).expect("commits");
        assert_eq!(pending(), []);
        run(store.commit(vec![intend(secret_record(2)), intend(secret_record(1))])).expect("commits");
        assert_eq!(
            pending().iter().map(|intent| intent.id()).collect::<Vec<_>>(),
            [id.clone(), RecordId::current(urn(2))]
        );
        assert_eq!(pending()[0].checkpoint, None, "a checkpoint before an intent does not belong to it");
        run(store.commit(vec![checkpoint("i-1")])).expect("commits");
        run(store.commit(vec![checkpoint("i-2")])).expect("commits");
        assert_eq!(pending()[0].checkpoint, Some("i-2".into()));
        let with_cookie = Checkpoint { cookie: Some(b"hidden".to_vec().into()), ..Checkpoint::from("i-3") };
        let reported = Change::Checkpoint { id: id.clone(), checkpoint: with_cookie.clone() };
        run(store.commit(vec![reported])).expect("commits");
        assert_eq!(pending()[0].checkpoint, Some(with_cookie));
        run(store.commit(vec![intend(record(1))])).expect("commits");
        assert_eq!(pending()[0].checkpoint, None, "a new attempt knows nothing yet");
        run(store.commit(vec![checkpoint("i-3")])).expect("commits");
        run(store.commit(vec![put(record(1)), Change::Settle(id.clone())])).expect("commits");
        assert_eq!(pending().len(), 1);
        run(store.commit(vec![Change::Settle(id.clone()), Change::Settle(RecordId::current(urn(2)))]))
            .expect("commits");
        assert_eq!(pending(), []);
        // An old copy is a record of its own, with its own intents.
        let mut copy = record(1);
        copy.superseded = Some(3);
        run(store.commit(vec![put(copy.clone()), intend(copy.clone())])).expect("commits");
        let snapshot = run(store.load(&environment())).expect("loads");
        assert_eq!(plain(&snapshot.records), [record(1), copy.clone()]);
        assert_eq!(snapshot.pending[0].id(), copy.id());
        run(store.commit(vec![Change::Remove(RecordId::current(urn(1)))])).expect("commits");
        assert_eq!(plain(&run(store.load(&environment())).expect("loads").records), [copy]);
    });
}

#[test]
fn deployments_are_numbered_in_their_environment() {
    stores(|store| {
        let history = |environment: &Environment| run(store.history(environment)).expect("lists");
        for id in ["a", "b"] {
            run(store.commit(vec![deployed(deployment(id, 0, None), None)])).expect("commits");
        }
        run(store.commit(vec![
            deployed(deployment("c", 0, None), None),
            deployed(deployment("d", 0, None), None),
        ]))
        .expect("commits");
        run(store.commit_in(&other(), vec![deployed(deployment("a", 0, None), None)])).expect("commits");
        let numbered: Vec<_> = history(&environment()).iter().map(|d| (d.number, d.id.to_string())).collect();
        let numbered: Vec<_> = numbered.iter().map(|(number, id)| (*number, id.as_str())).collect();
        assert_eq!(numbered, [(1, "a"), (2, "b"), (3, "c"), (4, "d")]);
        assert_eq!(history(&other())[0].number, 1);
        // An environment with only a history is listed.
        let known = run(store.environments(None, 9)).expect("lists");
        let last = |known: &EnvironmentSummary| known.last.as_ref().map(|last| last.id.to_string());
        assert_eq!(
            known.iter().map(|known| (known.environment.clone(), last(known))).collect::<Vec<_>>(),
            [(environment(), Some("d".to_owned())), (other(), Some("a".to_owned()))]
        );
        // The same id is the same deployment, whatever its number says.
        let mut ended = deployment("b", 0, Some(b"text"));
        (ended.ended, ended.outcome) = (Some(9), Outcome::Cancelled);
        run(store.commit(vec![deployed(ended.clone(), Some(b"text"))])).expect("commits");
        ended.number = 2;
        assert_eq!(history(&environment())[1], ended);
        assert_eq!(history(&environment()).len(), 4);
        ended.number = 4;
        ended.outcome = Outcome::Failed;
        run(store.commit(vec![deployed(ended.clone(), None)])).expect("commits");
        ended.number = 2;
        assert_eq!(history(&environment())[1], ended);
        let digest = ended.documents.expect("a digest");
        assert_eq!(
            run(store.documents(&environment(), &digest)).expect("reads").as_deref(),
            Some(&b"text"[..]),
            "left as they are"
        );
        // Documents that do not match the digest are rejected, and nothing is recorded.
        let wrong = deployed(deployment("e", 0, Some(b"one")), Some(b"other"));
        assert!(matches!(run(store.commit(vec![put(record(7)), wrong])), Err(Error::Unwritable { .. })));
        assert_eq!(history(&environment()).len(), 4);
        assert_eq!(plain(&run(store.load(&environment())).expect("loads").records), []);
    });
}

#[test]
fn documents_are_kept_for_the_last_hundred() {
    stores(|store| {
        let text = |n: usize| format!("kind: Recipe # hidden-{}", if n < 5 { 0 } else { n }).into_bytes();
        let kept = |n: usize| {
            let digest: [u8; 32] = Sha256::digest(text(n)).into();
            run(store.documents(&environment(), &digest)).expect("reads")
        };
        let deploy = |environment: Environment, id: String, text: &[u8]| {
            let deployment = deployment(&id, 0, Some(text));
            let change = deployed(deployment, Some(text));
            run(store.commit_in(&environment, vec![change])).expect("commits");
        };
        for n in 0..104 {
            deploy(environment(), format!("d{n}"), &text(n));
        }
        // The first five have the same documents, and one of them is among the last hundred.
        assert_eq!(kept(0).as_deref(), Some(text(0).as_slice()));
        deploy(other(), "elsewhere".into(), &text(6));
        for n in 104..108 {
            deploy(environment(), format!("d{n}"), &text(n));
        }
        assert_eq!(kept(0), None);
        assert_eq!(kept(5), None);
        assert_eq!(kept(6), None);
        let digest: [u8; 32] = Sha256::digest(text(6)).into();
        let elsewhere = run(store.documents(&other(), &digest)).expect("reads");
        assert_eq!(elsewhere.as_deref(), Some(text(6).as_slice()), "another environment has them still");
        assert_eq!(kept(7), None);
        assert_eq!(kept(8).as_deref(), Some(text(8).as_slice()));
        assert_eq!(run(store.history(&environment())).expect("lists").len(), 108, "the history itself stays");
    });
}

#[test]
fn an_environment_is_closed_until_it_is_opened() {
    stores(|store| {
        let closed_by = |environment: &Environment| run(store.load(environment)).expect("loads").closed_by;
        let set_closed = Change::SetClosed;
        assert_eq!(closed_by(&environment()), None);
        run(store.commit(vec![set_closed(Some(holder()))])).expect("commits");
        assert_eq!((closed_by(&environment()), closed_by(&other())), (Some(holder()), None));
        run(store.commit(vec![set_closed(None)])).expect("commits");
        assert_eq!(closed_by(&environment()), None);
    });
}

#[test]
fn submissions_are_written_even_if_not_awaited() {
    stores(|store| {
        drop(store.submit(vec![put(record(1))]).expect("taken"));
        let last = store.submit(vec![put(record(2))]).expect("taken");
        drop(store.submit(vec![put(record(3))]).expect("taken"));
        run(last).expect("durable");
        // The order is that of the calls: earlier submissions are there too.
        let records = run(store.load(&environment())).expect("loads").records;
        assert!(plain(&records).starts_with(&[record(1), record(2)]));
        let begun = Instant::now();
        while run(store.load(&environment())).expect("loads").records.len() != 3 {
            assert!(begun.elapsed() < Duration::from_secs(120), "it was not written");
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path()).expect("opens");
    for n in 0..100 {
        drop(store.submit(vec![put(record(n))]).expect("taken"));
    }
    drop(store);
    let store = open(folder.path()).expect("opens");
    assert_eq!(run(store.load(&environment())).expect("loads").records.len(), 100);
}

fn change() -> impl Strategy<Value = Change> {
    let number = 0..6_usize;
    let id = || {
        (0..6_usize, proptest::option::of(0..2_u32))
            .prop_map(|(n, superseded)| RecordId { urn: urn(n), superseded })
    };
    let record = (number, any::<bool>(), proptest::option::of(0..2_u32), 0..9000_usize).prop_map(
        |(n, secret, superseded, size)| {
            let mut record = if secret { secret_record(n) } else { record(n) };
            record.superseded = superseded;
            record.state.outputs = Value::from("w".repeat(size).as_str());
            // Many are stored apart.
            record.state.cookie = vec![n as u8; size].into();
            record
        },
    );
    prop_oneof![
        3 => record.clone().prop_map(put),
        2 => id().prop_map(Change::Remove),
        3 => record.prop_map(intend),
        1 => (id(), "[a-z]{0,4}", proptest::option::of(0..3000_usize)).prop_map(|(id, provider_id, size)| {
            let cookie = size.map(|size| vec![b'c'; size].into());
            Change::Checkpoint { id, checkpoint: Checkpoint { cookie, ..provider_id.into() } }
        }),
        2 => id().prop_map(Change::Settle),
        2 => (0..5_usize, 0..4_u64, proptest::option::of(0..3_u8)).prop_map(
            |(id, number, documents)| {
                let documents = documents.map(|n| vec![n; 10]);
                deployed(deployment(&format!("d{id}"), number, documents.as_deref()), documents.as_deref())
            }
        ),
        1 => any::<bool>().prop_map(|closed| Change::SetClosed(closed.then(holder))),
        1 => Just(Change::SetStaleness(None)),
    ]
}

/// The cookies of all records and calls.
fn cookies(snapshot: &Snapshot) -> Vec<Cookie> {
    let records = snapshot.records.iter().map(|record| record.state.cookie.clone());
    let of_call = |intent: &Intent| {
        let reported = intent.checkpoint.as_ref().and_then(|checkpoint| checkpoint.cookie.clone());
        let recorded = match &intent.operation {
            Operation::Create(record) | Operation::Update(record) => Some(record.state.cookie.clone()),
            Operation::Delete(_) => None,
        };
        recorded.into_iter().chain(reported)
    };
    records.chain(snapshot.pending.iter().flat_map(of_call)).collect()
}

/// Everything that a store returns.
fn everything(store: &dyn Store) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut all = BTreeMap::new();
    for environment in [environment(), other()] {
        let history = run(store.history(&environment)).expect("lists");
        let snapshot = run(store.load(&environment)).expect("loads");
        let documents: Vec<_> = (0..3_u8)
            .map(|n| run(store.documents(&environment, &Sha256::digest([n; 10]).into())).expect("reads"))
            .collect();
        let unused = snapshot.unused_cookies.clone();
        for cookie in cookies(&snapshot) {
            let Some(stored) = cookie.stored() else { continue };
            let read = run(store.cookie(&environment, stored)).expect("reads").expect("it is there");
            assert!(read.bytes().is_some() && read == cookie && !unused.contains(&stored.id));
        }
        all.insert(environment.to_string(), (snapshot, history, documents, unused));
    }
    // Each store has its own locks.
    let known = run(store.environments(None, 9)).expect("lists").into_iter();
    (all, known.map(|known| EnvironmentSummary { holder: None, ..known }).collect::<Vec<_>>())
}

#[test]
fn all_stores_return_the_same() {
    let scene = Scene::begin(&[]);
    let config = ProptestConfig {
        source_file: Some(file!()),
        test_name: Some("all_stores_return_the_same"),
        ..ProptestConfig::with_cases(48)
    };
    let cases = (vec((any::<bool>(), vec(change(), 0..5)), 1..25), 0..25_usize);
    let outcome = TestRunner::new(config)
        .run(&cases, |(commits, reopen)| tell_the_same(scene.as_ref(), commits, reopen));
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

fn tell_the_same(
    scene: Option<&Scene>,
    commits: Vec<(bool, Vec<Change>)>,
    reopen: usize,
) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().expect("a folder");
    let memory = Working::new(Arc::new(MemoryStore::new()));
    let database = scene.map(|scene| Working::new(Arc::new(scene.open_anew())));
    let mut embedded = open(folder.path()).expect("opens");
    let other_process = open(folder.path()).expect("opens");
    for (at, (here, commit)) in commits.into_iter().enumerate() {
        if at == reopen {
            drop(embedded);
            embedded = open(folder.path()).expect("opens");
        }
        // Changes of another environment do not matter here.
        let environment = if here { environment() } else { other() };
        let commit: Vec<Change> = commit.into_iter().filter(|change| here || is_of_all(change)).collect();
        run(memory.commit_in(&environment, commit.clone())).expect("commits");
        if let Some(database) = &database {
            run(database.commit_in(&environment, commit.clone())).expect("commits");
        }
        run(embedded.commit_in(&environment, commit)).expect("commits");
    }
    let expected = everything(&*memory);
    if let (Some(scene), Some(database)) = (scene, database) {
        prop_assert_eq!(&everything(&*database), &expected);
        prop_assert_eq!(&everything(&scene.open()), &expected);
        database.release().expect("released");
        prop_assert_eq!(&everything(&scene.open()), &expected);
        prop_assert!(scene.run(scene.open().verify()).expect("looks").is_whole());
    }
    prop_assert_eq!(&everything(&*embedded), &expected);
    prop_assert_eq!(&everything(&*other_process), &expected);
    drop(embedded);
    prop_assert_eq!(&everything(&*other_process), &expected);
    let embedded = open(folder.path()).expect("opens");
    prop_assert_eq!(&everything(&*embedded), &expected);
    // And after everything was sealed with a new key.
    if folder.path().join("environments").exists() {
        run(embedded.rotate_key(None)).expect("rotates");
        prop_assert_eq!(&everything(&*embedded), &expected);
        prop_assert_eq!(&everything(&*other_process), &expected);
    }
    // Without the cookies that nothing has any more, the content is the same.
    let all = || run(embedded.load(&environment())).expect("loads");
    let before = all();
    run(embedded.commit_in(&environment(), vec![Change::RemoveCookies(before.unused_cookies.clone())]))
        .expect("commits");
    let after = all();
    prop_assert_eq!((&after, after.revision), (&before, before.revision));
    prop_assert!(after.unused_cookies.is_empty());
    everything(&*embedded);
    Ok(())
}

/// Whether a change concerns its environment as a whole.
fn is_of_all(change: &Change) -> bool {
    matches!(change, Change::Deployed { .. } | Change::SetClosed(_) | Change::SetStaleness(_))
}
