//! Reconciles an environment for days, with a simulated clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use purlin_documents as documents;
use purlin_documents::Input;
use purlin_host::{Builder, Documents, Environment, Error, Fleet, Keeper, Pass, Purlin, TurnEnd, UpOptions};
use purlin_model::{ContextDefaults, Reason};
use purlin_sandbox::InProcess;
use purlin_state::{MemoryStore, Status, Store as _};

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
apiVersion: ec2.crossplane.io/v1
kind: VPC
metadata: {name: net}
spec: {forProvider: {cidr: 10.0.0.0/16}}
---
apiVersion: ec2.crossplane.io/v1
kind: Subnet
metadata: {name: web}
spec: {forProvider: {vpcIdRef: {name: net}}}
---
apiVersion: ec2.crossplane.io/v1
kind: Subnet
metadata: {name: lost}
spec: {forProvider: {vpcIdRef: {name: nowhere}}}
";

/// The resource that one version of the folder declares and the other one does not.
const WEB: &str = "ec2/subnet.default#web";

/// Two versions of the folder: its first two manifests, and only the first one.
fn with_and_without_web() -> (&'static str, &'static str) {
    let (with, _) = FOLDER.rsplit_once("---").expect("manifests");
    let (without, _) = with.rsplit_once("---").expect("manifests");
    (with, without)
}

struct Scene {
    purlin: Arc<Purlin>,
    store: Arc<MemoryStore>,
    now: Arc<AtomicU64>,
    keeper: Keeper,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self::with(|builder| builder)
    }

    fn with(options: impl FnOnce(Builder) -> Builder) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Arc::new(AtomicU64::new(1_000_000));
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::clone(&now);
        let builder = Purlin::builder()
            .store(Arc::clone(&store) as _)
            .state_folder(folder.path().join("state"))
            .cache_folder(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .compiler(Arc::new(InProcess))
            .clock(move || clock.load(Ordering::Relaxed));
        let purlin = Arc::new(options(builder).build());
        Self { purlin, store, now, keeper: Keeper::new(7), folder }
    }

    fn documents(&self, texts: &[&str], id: &str) -> Arc<Documents> {
        let text = |(index, text): (usize, &&str)| {
            let path = self.folder.path().join(format!("{index}.yaml"));
            std::fs::write(&path, text).expect("written");
            Input::Path(path)
        };
        let inputs: Vec<Input> = texts.iter().enumerate().map(text).collect();
        let context = ContextDefaults { app: Some("shop".into()), ..ContextDefaults::default() };
        Arc::new(Documents::new(documents::load(&inputs), &context, None, id).expect("documents"))
    }

    async fn try_pass(&mut self, documents: &Documents) -> Result<Pass, Error> {
        self.keeper.pass(&self.purlin, documents, Default::default(), &mut |_| {}).await
    }

    async fn pass(&mut self, documents: &Documents) -> Pass {
        self.try_pass(documents).await.expect("a pass")
    }

    /// Deploys, like another program.
    async fn up(&self, documents: &Arc<Documents>) {
        let mut run = self.purlin.up(Arc::clone(documents), UpOptions::default());
        while let Some(event) = run.next().await {
            drop(event.expect("an event"));
        }
    }

    /// Whether a resource exists.
    async fn has(&self, environment: &Environment, key: &str) -> bool {
        let snapshot = self.store.load(environment).await.expect("a snapshot");
        let mut records = snapshot.records.iter().filter(|record| record.status != Status::Absent);
        records.any(|record| record.urn.key().is_some_and(|of| of.as_str() == key))
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
    let size = |snapshot: &purlin_state::Snapshot| (snapshot.records.len(), snapshot.obstacles.len());
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
    assert_eq!((pass.summary.done.create, pass.is_in_sync()), (2, true), "{:?}", pass.summary);
    assert!(kept.store.load(&environment).await.expect("a snapshot").obstacles.is_empty());
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

/// A pass may get the lock long after its documents were read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_does_not_undo_a_deployment_that_its_documents_are_older_than() {
    let mut kept = Scene::new();
    let (with, without) = with_and_without_web();
    let older = kept.documents(&[PLATFORM, with], "first");
    let environment = older.environment();
    kept.pass(&older).await;
    assert!(kept.has(&environment, WEB).await);
    let newer = kept.documents(&[PLATFORM, without], "second");
    kept.up(&newer).await;
    assert!(!kept.has(&environment, WEB).await);

    // However often it is tried, until the documents were read again.
    for _ in 0..2 {
        let refused = kept.try_pass(&older).await;
        assert!(matches!(refused, Err(Error::DeployedMeanwhile { .. })), "{refused:?}");
        assert!(!kept.has(&environment, WEB).await);
    }
    kept.keeper.documents_changed();
    let pass = kept.pass(&newer).await;
    assert_eq!((pass.summary.done.create, pass.is_in_sync()), (0, true), "{:?}", pass.summary);

    // What is read after a deployment is applied, even if it differs.
    kept.keeper.documents_changed();
    let again = kept.documents(&[PLATFORM, with], "third");
    let pass = kept.pass(&again).await;
    assert_eq!((pass.summary.done.create, pass.is_in_sync()), (1, true), "{:?}", pass.summary);
    assert!(kept.has(&environment, WEB).await);
}

/// The turn reads the documents of the last deployment, and then waits for the lock of a newer one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_does_not_undo_the_deployment_that_it_waited_for() {
    let (sender, mut notes) = tokio::sync::mpsc::unbounded_channel();
    let scene = Scene::with(|builder| {
        let note = move |note: &str| drop(sender.send(note.to_owned()));
        builder.lock_timeout(Duration::from_secs(600)).on_note(note)
    });
    let (with, without) = with_and_without_web();
    let older = scene.documents(&[PLATFORM, with], "first");
    let environment = older.environment();
    scene.up(&older).await;
    let newer = scene.documents(&[PLATFORM, without], "second");

    let session = scene.purlin.begin(&environment).await.expect("the lock");
    let mut fleet = Fleet::new(Arc::clone(&scene.purlin), true, 7);
    assert_eq!(fleet.take(1).await.expect("turns"), std::slice::from_ref(&environment));
    let turn = tokio::spawn(fleet.begin(environment.clone(), Default::default()));
    let note = notes.recv().await.expect("a note");
    assert!(note.contains("which has the lock of"), "{note}");
    let plan = session.plan(&newer, Default::default()).await.expect("a plan");
    let mut run = session.deploy(plan, Some(&newer), Default::default()).await.expect("a run");
    while run.next().await.is_some() {}
    drop(run);
    session.release().await.expect("released");

    let (_, end, _) = fleet.end(turn.await.expect("a turn")).await.expect("ended");
    let TurnEnd::Passed(pass) = end else { panic!("{end:?}") };
    assert_eq!((pass.summary.done.create, pass.is_in_sync()), (0, true), "{:?}", pass.summary);
    assert!(!scene.has(&environment, WEB).await);
}
