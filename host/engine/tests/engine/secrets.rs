//! A secret is secret everywhere: in plans, events, records and every value made from it.

use std::time::Duration;

use crate::support::{FULL, Platform, documents};
use purlin_engine::CancelToken;
use purlin_state::{EmbeddedStore, Environment, Holder, KeyProvider, OpenOptions, Store as _};

const WORD: &str = "correct-horse";

fn with_secret(word: &str) -> String {
    documents(&[("a", "v: 1"), ("b", "x: 'p:<a.password>'"), ("c", "y: <b.x>")], &[])
        .replace("'p:\"", "\"p:")
        .replace("\"'", "\"")
        .replacen(
            "  criteria: [{}]",
            &format!("  inputs: {{values: {{user: u}}, secrets: {{password: {word}}}}}\n  criteria: [{{}}]"),
            1,
        )
}

// case 46
#[tokio::test]
async fn a_secret_is_never_shown_and_spreads_to_its_readers() {
    let platform = Platform::with(FULL);
    let plan = platform.plan(&with_secret(WORD)).await.expect("a plan");
    let planned = format!("{:#?}{:#?}", plan.steps, plan.warnings);
    assert!(!planned.contains(WORD), "{planned}");
    let (events, summary) = platform.run(plan, CancelToken::default()).await;
    assert!(summary.is_success(), "{summary:#?}");
    let reported = format!("{events:#?}{summary:#?}");
    assert!(!reported.contains(WORD), "{reported}");
    // A value that reads it is secret, and so is one that reads that value.
    for (name, input) in [("b", "x"), ("c", "y")] {
        let record = platform.record(&format!("shared.{name}")).await.expect("recorded");
        let value = record.inputs.params.get(input).expect("an input");
        assert!(value.has_secret(), "{name}");
        assert_eq!(value.exposed().as_str(), Some(format!("p:{WORD}").as_str()));
    }
    let shown = format!("{:#?}", platform.snapshot().await);
    assert!(!shown.contains(WORD), "{shown}");
    // A changed secret is a change, and neither side of it is shown.
    let plan = platform.plan(&with_secret("battery-staple")).await.expect("a plan");
    let planned = format!("{:#?}", plan.steps);
    assert!(!planned.contains(WORD) && !planned.contains("battery-staple"), "{planned}");
    let changes = plan.steps.iter().flat_map(|step| &step.changes);
    assert!(changes.clone().count() > 0 && changes.clone().all(purlin_engine::ValueChange::is_secret));
    let saved = format!("{:?}", plan.save());
    assert!(!saved.contains("battery-staple"), "{saved}");
}

#[tokio::test]
async fn a_failure_does_not_reveal_a_secret() {
    let platform = Platform::with(FULL);
    let documents = with_secret(WORD).replace("{v: 1}", "{v: 1, partial: half way}");
    let (events, summary) =
        platform.run(platform.plan(&documents).await.expect("a plan"), CancelToken::default()).await;
    assert_eq!(summary.failed.len(), 1);
    let reported = format!("{events:#?}{summary:#?}");
    assert!(!reported.contains(WORD), "{reported}");
}

#[tokio::test]
async fn the_disk_has_no_secret_in_plain_text() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("secrets-on-disk");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the last test's folder");
    }
    let holder = Holder { user: "t".into(), host: "t".into(), pid: 1, command: "test".into(), since: 0 };
    let key = KeyProvider::Generate(folder.join("key"));
    let open = || {
        let options =
            OpenOptions { key: key.clone(), holder: holder.clone(), wait: Duration::ZERO, probe: None };
        EmbeddedStore::open(&folder.join("state"), options).expect("a store")
    };
    let platform = Platform::with(FULL);
    let plan = platform.plan(&with_secret(WORD)).await.expect("a plan");
    let store = open();
    let environment = Environment::of(&platform.context());
    let lock = store.lock(&environment, holder.clone()).await.expect("free");
    let (_, summary) = platform.run_on(plan, lock.writer()).await;
    assert!(summary.is_success(), "{summary:#?}");
    lock.release().await.expect("released");
    store.close().await.expect("closed");
    drop(store);
    let mut files = vec![folder.join("state")];
    let (mut looked_at, mut found_urn) = (0, false);
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    while let Some(path) = files.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder");
            files.extend(entries.map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let bytes = std::fs::read(&path).expect("a file");
        assert!(!has(&bytes, WORD) && !has(&bytes, "cGFzc3dvcmQ"), "{} has it", path.display());
        found_urn |= has(&bytes, "shared.b");
        looked_at += 1;
    }
    assert!(looked_at > 1 && found_urn, "what is no secret can be read there");
    // With the key, it can be read again.
    let store = open();
    let snapshot = store.load(&Environment::of(&platform.context())).await.expect("records");
    let b = snapshot.records.iter().find(|record| record.urn.as_str().ends_with("shared.b")).expect("b");
    let x = b.inputs.params.get("x").expect("an input");
    assert!(x.has_secret());
    assert_eq!(x.exposed().as_str(), Some(format!("p:{WORD}").as_str()));
}
