//! Reconciles an environment for days, with a simulated clock.
#![allow(clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purlin_host::internal::documents::{self, Input};
use purlin_host::internal::model::{ContextDefaults, Reason};
use purlin_host::internal::sandbox::InProcess;
use purlin_host::internal::state::{MemoryStore, Store as _};
use purlin_host::{Documents, Keeper, Pass, Purlin};

const DAY: u64 = 86_400_000;

const PLATFORM: &str = "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: any}
spec:
  type: 'ec2/*'
  driver: purlin/echo
  inputs: {values: {id: '${context.res.id}', spec: '${params}'}}
  criteria: [{}]
";

const FOLDER: &str = "
apiVersion: ec2.acme.dev/v1
kind: VPC
metadata: {name: net}
spec: {forProvider: {cidr: 10.0.0.0/16}}
---
apiVersion: ec2.acme.dev/v1
kind: Subnet
metadata: {name: web}
spec: {forProvider: {vpcIdRef: {name: net}}}
---
apiVersion: ec2.acme.dev/v1
kind: Subnet
metadata: {name: lost}
spec: {forProvider: {vpcIdRef: {name: nowhere}}}
";

struct Scene {
    purlin: Purlin,
    store: Arc<MemoryStore>,
    now: Arc<AtomicU64>,
    keeper: Keeper,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Arc::new(AtomicU64::new(1_000_000));
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::clone(&now);
        let purlin = Purlin::builder()
            .store(Arc::clone(&store) as _)
            .state_folder(folder.path().join("state"))
            .cache_folder(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .compiler(Arc::new(InProcess))
            .clock(move || clock.load(Ordering::Relaxed))
            .build();
        Self { purlin, store, now, keeper: Keeper::new(7), folder }
    }

    fn documents(&self, texts: &[&str], id: &str) -> Documents {
        let text = |(index, text): (usize, &&str)| {
            let path = self.folder.path().join(format!("{index}.yaml"));
            std::fs::write(&path, text).expect("written");
            Input::Path(path)
        };
        let inputs: Vec<Input> = texts.iter().enumerate().map(text).collect();
        let context = ContextDefaults { app: Some("shop".into()), ..ContextDefaults::default() };
        Documents::new(documents::load(&inputs), &context, None, id).expect("documents")
    }

    async fn pass(&mut self, documents: &Documents) -> Pass {
        let pass = self.keeper.pass(&self.purlin, documents, Default::default(), &mut |_| {}).await;
        pass.expect("a pass")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_passes_changes_and_grows_nothing() {
    let mut kept = Scene::new();
    let documents = kept.documents(&[PLATFORM, FOLDER], "first");
    let environment = documents.environment();
    let first = kept.pass(&documents).await;
    assert_eq!((first.summary.done.create, first.summary.waiting.len()), (3, 1), "{:?}", first.summary);
    let before = kept.store.load(&environment).await.expect("a snapshot");
    let size =
        |snapshot: &purlin_host::internal::state::Snapshot| (snapshot.records.len(), snapshot.unmet.len());
    assert_eq!(size(&before), (3, 1));
    let history = kept.store.history(&environment).await.expect("a history");

    let begun = kept.now.load(Ordering::Relaxed);
    let (mut now, mut passes, mut calls) = (first.next, 0, 0);
    while now < begun + DAY {
        kept.now.store(now, Ordering::Relaxed);
        let pass = kept.pass(&documents).await;
        assert!(pass.next > now, "no pass may follow itself at once");
        (passes, calls) = (passes + 1, calls + pass.summary.calls);
        now = pass.next;
    }
    // A missing target is looked for every minute.
    assert!((1_300..=1_800).contains(&passes), "{passes}");
    assert_eq!(calls, 0, "nothing was done");
    let after = kept.store.load(&environment).await.expect("a snapshot");
    assert_eq!(after, before, "neither records nor obstacles changed, nor since when they are there");
    assert_eq!(kept.store.history(&environment).await.expect("a history"), history);

    // Once the target exists, it is created at once, and everything is settled.
    kept.keeper.documents_changed();
    let vpc = FOLDER.split("---").next().expect("a manifest").replace("net", "nowhere");
    let documents = kept.documents(&[PLATFORM, FOLDER, &vpc], "second");
    let pass = kept.pass(&documents).await;
    assert_eq!((pass.summary.done.create, pass.is_settled()), (2, true), "{:?}", pass.summary);
    assert!(kept.store.load(&environment).await.expect("a snapshot").unmet.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_resource_waits_for_its_retry_and_the_rest_continues() {
    let mut kept = Scene::new();
    // Its driver never returns the outputs that the type requires.
    let failing = "
apiVersion: purlin.dev/v1
kind: ResourceType
spec:
  type: ec2/vpc
  outputs: {type: object, required: [arn]}
";
    let documents = kept.documents(&[PLATFORM, failing, FOLDER], "first");
    let first = kept.pass(&documents).await;
    let failed: Vec<&str> = first.summary.failed.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(failed, ["ec2/vpc.default#net"], "{:?}", first.summary);
    let now = kept.now.load(Ordering::Relaxed);
    assert!((now + 1_000..=now + 2_000).contains(&first.next), "{} after {now}", first.next);

    // Before its time it is left alone, and its dependents report why they wait.
    kept.now.store(first.next - 1, Ordering::Relaxed);
    let early = kept.pass(&documents).await;
    assert!(early.summary.failed.is_empty(), "{:?}", early.summary);
    let of = |key: &str| {
        let found = early.summary.waiting.iter().find(|(other, _)| other.as_str() == key);
        found.map(|(_, reasons)| reasons.clone()).unwrap_or_default()
    };
    assert!(matches!(of("ec2/vpc.default#net")[..], [Reason::BackedOff { .. }]));
    let waits = of("ec2/subnet.default#web");
    assert!(waits[0].to_string().starts_with("it waits for `ec2/vpc#net`, which failed: "), "{}", waits[0]);
    assert_eq!(early.next, first.next);

    let mut waits = vec![first.next - now];
    let mut next = first.next;
    for _ in 0..7 {
        kept.now.store(next, Ordering::Relaxed);
        let pass = kept.pass(&documents).await;
        assert_eq!(pass.summary.failed.len(), 1);
        waits.push(pass.next - next);
        next = pass.next;
    }
    assert!(waits.windows(2).take(5).all(|pair| pair[0] < pair[1]), "{waits:?}");
    assert!(waits.iter().all(|wait| (1_000..=60_000).contains(wait)), "{waits:?}");
}
