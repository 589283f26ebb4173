//! The audit: one chain for each environment, whoever writes.

use std::sync::Arc;

use futures::executor::block_on as run;
use purlin_state::{
    AuditAction, AuditEntry, AuditFault, Change, EmbeddedStore, Environment, Error, Holder, ImportOptions,
    MemoryStore, Record, Store,
};

use crate::common::scene::Scene;
use crate::common::*;

/// An entry at a time.
fn entry(since: u64, kept_since: u64) -> Change {
    let by = Holder { since, ..holder() };
    let reason = Some("hidden-reason".into());
    let entry =
        AuditEntry { reason, subjects: vec!["hidden".into()], ..AuditEntry::new(by, AuditAction::Protect) };
    Change::Audited { entry: Box::new(entry), kept_since }
}

fn numbers(entries: &[AuditEntry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.number).collect()
}

/// What every store promises. A store with a clock decides on the times itself.
async fn chains(store: &dyn Store) {
    assert_eq!(store.audit(&environment()).await.expect("reads"), Default::default());
    for first in [1, 3] {
        let lock = store.lock(&environment(), holder()).await.expect("free");
        // An entry is part of the commit of its change.
        lock.writer().commit(vec![put(secret_record(1)), entry(first, 0)]).await.expect("commits");
        let both = lock.writer().submit(vec![entry(first + 1, 0)]).expect("submitted");
        both.await.expect("commits");
        let rejected = Record { urn: elsewhere(), ..record(0) };
        let error = lock.writer().commit(vec![put(rejected), entry(9, 0)]).await;
        error.expect_err("what is not written is not audited");
        lock.release().await.expect("released");
    }
    let trail = store.audit(&environment()).await.expect("reads");
    assert_eq!((numbers(&trail.entries), &*trail.faults), (vec![1, 2, 3, 4], &[][..]));
    assert_eq!(trail.entries[0].before, [0; 32]);
    for pair in trail.entries.windows(2) {
        assert_eq!(pair[1].before, pair[0].digest);
        assert_ne!(pair[1].digest, pair[0].digest);
    }
    let named = |entry: &AuditEntry| (entry.reason.as_deref() == Some("hidden-reason"), entry.action);
    assert!(trail.entries.iter().all(|entry| named(entry) == (true, AuditAction::Protect)));
    // Trimming keeps the chain: the oldest entry says what was before it.
    let third = trail.entries[2].by.since;
    let lock = store.lock(&environment(), holder()).await.expect("free");
    lock.writer().commit(vec![entry(5, third)]).await.expect("commits");
    let trimmed = store.audit(&environment()).await.expect("reads");
    assert_eq!(trimmed.faults, []);
    let all = if third == 3 { vec![3, 4, 5] } else { numbers(&trimmed.entries) };
    assert_eq!(numbers(&trimmed.entries), all);
    assert_eq!(trimmed.entries.last().map(|last| last.number), Some(5));
    lock.writer().commit(vec![entry(6, u64::MAX), entry(7, 0)]).await.expect("commits");
    let rest = store.audit(&environment()).await.expect("reads");
    assert_eq!((numbers(&rest.entries), &*rest.faults), (vec![6, 7], &[][..]));
    assert_eq!(rest.entries[0].before, trimmed.entries.last().expect("one").digest);
    lock.release().await.expect("released");
    // An environment that only has an audit is none of those that are listed.
    let other = Environment { env: "other".into(), ..environment() };
    let lock = store.lock(&other, holder()).await.expect("free");
    lock.writer().commit(vec![entry(1, 0)]).await.expect("commits");
    lock.release().await.expect("released");
    assert_eq!(store.environments(None, 9).await.expect("lists").len(), 1);
    assert_eq!(numbers(&store.audit(&other).await.expect("reads").entries), [1]);
}

fn elsewhere() -> purlin_model::Urn {
    purlin_model::Urn::parse("urn:purlin:prod/acme::shop::web::dns.default::modules.web").expect("a URN")
}

#[test]
fn each_store_chains_its_audit() {
    run(chains(&MemoryStore::new()));
    let folder = tempfile::tempdir().expect("a folder");
    let store = EmbeddedStore::open(folder.path(), options(folder.path())).expect("opens");
    run(chains(&store));
    // It is sealed like everything else, also with another key.
    let before = run(store.audit(&environment())).expect("reads");
    let _ = run(store.rotate_key(None)).expect("rotates");
    assert_eq!(run(store.audit(&environment())).expect("reads"), before);
    drop(store);
    let report = EmbeddedStore::verify(folder.path(), &options(folder.path())).expect("looks");
    assert!(report.is_whole(), "{report:?}");
    for (path, bytes) in files_of(folder.path()) {
        assert!(!bytes.windows(6).any(|part| part == b"hidden"), "{}", path.display());
    }
}

fn files_of(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path().is_dir() {
            true => found.extend(files_of(&entry.path())),
            false => found.push((entry.path(), std::fs::read(entry.path()).expect("read"))),
        }
    }
    found
}

/// A number of entries in an environment.
async fn write(store: &dyn Store, count: u64) -> Result<(), Error> {
    let lock = store.lock(&environment(), holder()).await?;
    for time in 1..=count {
        lock.writer().commit(vec![put(record(1)), entry(time, 0)]).await?;
    }
    lock.release().await
}

/// An import replaces what is recorded, and not who did what.
async fn goes_on_after_imports(from: &dyn Store, to: &dyn Store, recipient: Option<&str>) {
    write(from, 3).await.expect("written");
    let copy = || async {
        let export = from.export(&environment(), recipient).await.expect("exports");
        let options = ImportOptions { replace: true, is_old: true };
        to.import(export, holder(), options, vec![entry(9, 0)]).await.expect("imports");
        to.audit(&environment()).await.expect("reads")
    };
    let first = copy().await;
    assert_eq!((numbers(&first.entries), &*first.faults), (vec![1, 2, 3, 4], &[][..]));
    write(from, 1).await.expect("written");
    let second = copy().await;
    assert_eq!((numbers(&second.entries), &*second.faults), (vec![1, 2, 3, 4, 5], &[][..]));
    assert_eq!(second.entries[..4], first.entries);
}

#[test]
fn an_audit_goes_on_after_an_import() {
    let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let open = |folder: &std::path::Path| EmbeddedStore::open(folder, options(folder)).expect("opens");
    let (from, to) = (open(from.path()), open(to.path()));
    run(to.seal(b"")).expect("a key");
    let recipient = to.public_recipient().expect("a key");
    run(goes_on_after_imports(&from, &to, Some(&recipient)));
}

#[test]
fn a_database_says_who_wrote_and_notices_what_is_missing() {
    let scene = scene!();
    let store = scene.open();
    scene.run(chains(&store));
    let trail = scene.run(store.audit(&environment())).expect("reads");
    for entry in &trail.entries {
        let user = entry.database_user.as_ref().expect("known");
        assert_eq!((&*user.role, user.address.as_deref()), ("postgres", Some("127.0.0.1")));
        // The clock of the database counts, and not that of the client.
        assert!(entry.by.since > 1_000_000_000_000, "{}", entry.by.since);
    }
    let all = scene.sql("SELECT string_agg(encode(value, 'escape'), '') FROM purlin.entries");
    assert!(!all.contains("hidden"), "{all}");
    scene.run(write(&store, 4)).expect("written");
    let folder = tempfile::tempdir().expect("a folder");
    let embedded = EmbeddedStore::open(folder.path(), options(folder.path())).expect("opens");
    let there = scene.open();
    let recipient = there.public_recipient();
    run(goes_on_after_imports_from(&scene, &embedded, &there, recipient.as_deref()));
    // Somebody removes an entry by hand.
    let number = "get_byte(key, 24)";
    let one = format!(
        "DELETE FROM purlin.entries WHERE get_byte(key, 0) = ascii('t') AND {number} = 8
         AND place = (SELECT place FROM purlin.environments WHERE env = 'dev') RETURNING {number}"
    );
    assert_eq!(scene.sql(&one).trim().lines().next(), Some("8"));
    let broken = scene.run(there.audit(&environment())).expect("reads");
    assert_eq!(broken.faults, [AuditFault::Missing(8, 8)]);
    let error = scene.run(there.load(&environment())).expect_err("damaged");
    assert!(error.to_string().contains("entries are missing"), "{error}");
    let report = scene.run(there.verify()).expect("looks");
    assert_eq!(report.audit, [format!("the audit of {}: entry 8 is missing", environment())]);
    // A repair brings the records back, and cannot bring back the entry.
    scene.run(there.repair(holder())).expect("repairs");
    scene.run(there.load(&environment())).expect("loads");
    let report = scene.run(there.verify()).expect("looks");
    assert_eq!((report.findings.len(), report.audit.len()), (0, 1), "{report:?}");
    let _ =
        scene.run(there.rotate_key(None, holder())).expect("a gap in the audit does not hold up a rotation");
}

/// An import into a database whose environment has an audit: only the keys of its entries are in memory.
async fn goes_on_after_imports_from(
    scene: &Scene,
    from: &dyn Store,
    to: &dyn Store,
    recipient: Option<&str>,
) {
    write(from, 2).await.expect("written");
    let before = scene.run(to.audit(&environment())).expect("reads").entries;
    let export = from.export(&environment(), recipient).await.expect("exports");
    let options = ImportOptions { replace: true, is_old: true };
    scene.run(to.import(export, holder(), options, vec![entry(9, 0)])).expect("imports");
    let after = scene.run(to.audit(&environment())).expect("reads");
    assert_eq!((after.entries.len(), &*after.faults), (before.len() + 1, &[][..]));
    assert_eq!(after.entries[..before.len()], before);
}

/// Of two hosts that write one after the other, the second goes on with the chain of the first.
#[test]
fn two_hosts_make_one_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Arc::new(EmbeddedStore::open(folder.path(), options(folder.path())).expect("opens"));
    let (one, other) = (open(), open());
    for store in [&one, &other, &one, &other] {
        run(write(&**store, 1)).expect("written");
    }
    let trail = run(one.audit(&environment())).expect("reads");
    assert_eq!((numbers(&trail.entries), &*trail.faults), (vec![1, 2, 3, 4], &[][..]));
    assert_eq!(run(other.audit(&environment())).expect("reads"), trail);
}
