//! Roll-outs over several environments and hosts, on a store in memory with a simulated clock.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt as _;
use purlin_documents as documents;
use purlin_documents::Input;
use purlin_host::{
    Documents, Environment, Error, Fleet, MayLose, Proposal, Purlin, Rollout, RolloutChange, RolloutOptions,
    RolloutReport, RolloutStatus, Selection, TurnEnd, UpOptions, Waves,
};
use purlin_model::ContextDefaults;
use purlin_sandbox::InProcess;
use purlin_state::{MemoryStore, Store as _};

/// A definition that gives each resource of a type the value `text`.
fn definition(kind: &str, text: &str) -> String {
    format!(
        "
apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: {kind}}}
spec:
  type: {kind}
  driver: purlin/echo
  inputs: {{values: {{text: {text}}}}}
  criteria: [{{}}]
"
    )
}

/// The application: a resource of each of two types.
const APP: &str = "
apiVersion: purlin.dev/v1
kind: Deployment
spec:
  shared:
    one: {type: queue}
    two: {type: topic}
";

struct Scene {
    store: Arc<MemoryStore>,
    now: Arc<AtomicU64>,
    folder: tempfile::TempDir,
    /// Counts deployments, which need ids of their own.
    number: AtomicU64,
}

impl Scene {
    /// A state with these environments, each with its type, deployed from the first version of both
    /// definitions.
    async fn new(environments: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Arc::new(AtomicU64::new(1_000_000));
        let scene = Self { store: Arc::new(MemoryStore::new()), now, folder, number: AtomicU64::new(0) };
        scene.write("platform/queue.yaml", &definition("queue", "q1"));
        scene.write("platform/topic.yaml", &definition("topic", "t1"));
        scene.write("app.yaml", APP);
        for (env, kind) in environments {
            scene.up(&scene.host(), env, kind).await;
        }
        scene
    }

    /// A host of its own, on the same store.
    fn host(&self) -> Arc<Purlin> {
        let clock = Arc::clone(&self.now);
        let builder = Purlin::builder()
            .store(Arc::clone(&self.store) as _)
            .state_folder(self.folder.path().join("state"))
            .cache_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .compiler(Arc::new(InProcess))
            .clock(move || clock.load(Ordering::Relaxed));
        Arc::new(builder.build())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn documents(&self, env: &str, kind: &str) -> Arc<Documents> {
        let inputs =
            [self.folder.path().join("platform"), self.folder.path().join("app.yaml")].map(Input::Path);
        let context = ContextDefaults {
            app: Some("shop".into()),
            env: Some(env.into()),
            env_type: Some(kind.into()),
            ..ContextDefaults::default()
        };
        let id = format!("d{}", self.number.fetch_add(1, Ordering::Relaxed));
        let mut documents = Documents::new(documents::load(&inputs), &context, None, &id).expect("documents");
        documents.changes.new_environment = true;
        Arc::new(documents)
    }

    /// Deploys what is in the folder, like a person.
    async fn up(&self, host: &Arc<Purlin>, env: &str, kind: &str) {
        let mut run = host.up(self.documents(env, kind), UpOptions::default());
        while let Some(event) = run.next().await {
            drop(event.expect("an event"));
        }
    }

    async fn start(&self, host: &Purlin, path: &str, options: RolloutOptions) -> Result<Rollout, Error> {
        self.start_in(host, path, &Selection::default(), options).await
    }

    async fn start_in(
        &self,
        host: &Purlin,
        path: &str,
        selection: &Selection,
        options: RolloutOptions,
    ) -> Result<Rollout, Error> {
        let loaded = documents::load(&[Input::Path(self.folder.path().join(path))]);
        let proposal = Proposal::new(&loaded, None).expect("a proposal");
        let mut impacts = Vec::new();
        for selected in host.select(selection).await? {
            let impact = host.impact(&selected.known, &proposal, false).await?;
            impacts.push((selected, impact));
        }
        host.start_rollout(&proposal, &impacts, options).await
    }

    /// What the resource of a type has in an environment.
    async fn text(&self, env: &str, kind: &str) -> String {
        let environment = environment(env);
        let snapshot = self.store.load(&environment).await.expect("a snapshot");
        let of_type = |key: purlin_model::Key| key.type_name() == kind;
        let record = snapshot.records.iter().find(|record| record.urn.key().is_some_and(of_type));
        let values = &record.expect("a record").inputs.values;
        values.get("text").and_then(|text| text.as_str().map(str::to_owned)).expect("a text")
    }
}

fn environment(env: &str) -> Environment {
    Environment { org: "default".into(), app: "shop".into(), env: env.into() }
}

/// Takes every turn that is due on one host.
async fn turns(fleet: &mut Fleet) -> usize {
    let mut taken = 0;
    loop {
        let due = fleet.take(4).await.expect("turns");
        if due.is_empty() {
            return taken;
        }
        for environment in due {
            let turn = fleet.begin(environment, Default::default()).await;
            let (environment, end, _) = fleet.end(turn).await.expect("ended");
            assert!(matches!(end, TurnEnd::Passed(_)), "{environment}: {end:?}");
            taken += 1;
        }
    }
}

async fn report(host: &Purlin, number: u64) -> RolloutReport {
    host.rollout(number).await.expect("a report").expect("a roll-out")
}

/// The counts by word, which must add up to all environments.
fn counts(report: &RolloutReport) -> BTreeMap<&'static str, usize> {
    let counts = report.counts();
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    assert_eq!(total, report.environments.len(), "they add up");
    counts.into_iter().map(|(state, count)| (state.as_str(), count)).collect()
}

/// Takes turns on these hosts until nothing moves any more.
async fn settle(scene: &Scene, hosts: &mut [Fleet], host: &Purlin, number: u64) -> RolloutReport {
    for _ in 0..200 {
        for fleet in hosts.iter_mut() {
            turns(fleet).await;
        }
        let report = report(host, number).await;
        if report.is_settled() && !report.next_is_due() {
            return report;
        }
        // What hosts look at again after a while, they look at by the clock of the machine.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        scene.now.fetch_add(1_000, Ordering::Relaxed);
    }
    panic!("it does not settle: {:?}", report(host, number).await);
}

const FOUR: [(&str, &str); 4] =
    [("a", "development"), ("b", "development"), ("live", "production"), ("s", "staging")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_turn_of_every_host_applies_it_and_each_wave_waits_for_the_one_before() {
    let scene = Scene::new(&FOUR).await;
    let (one, two) = (scene.host(), scene.host());
    let mut hosts = [Fleet::new(Arc::clone(&one), false, 1), Fleet::new(Arc::clone(&two), false, 2)];
    for fleet in &mut hosts {
        turns(fleet).await;
    }
    scene.write("platform/queue.yaml", &definition("queue", "q2"));
    let options = RolloutOptions { waves: Waves::ByType, pause_after: Some(1), ..RolloutOptions::default() };
    let rollout = scene.start(&one, "platform/queue.yaml", options).await.expect("started");
    assert_eq!((rollout.number, rollout.waves, rollout.opened), (1, 3, 1));
    assert_eq!(counts(&report(&one, 1).await), [("pending", 4)].into());

    let paused = settle(&scene, &mut hosts, &one, 1).await;
    assert_eq!(paused.rollout.status, RolloutStatus::Paused, "{:?}", paused.rollout.why);
    assert_eq!(counts(&paused), [("matching", 2), ("pending", 2)].into());
    for (env, text) in [("a", "q2"), ("b", "q2"), ("s", "q1"), ("live", "q1")] {
        assert_eq!(scene.text(env, "queue").await, text, "{env}");
        assert_eq!(scene.text(env, "topic").await, "t1", "{env}");
    }

    let resume = RolloutChange::Resume { may_lose: MayLose::Nowhere };
    two.change_rollout(1, &resume).await.expect("resumed").expect("a roll-out");
    let done = settle(&scene, &mut hosts, &two, 1).await;
    assert_eq!((done.rollout.status, done.rollout.opened), (RolloutStatus::Done, 3));
    assert_eq!(counts(&done), [("matching", 4)].into());
    for (env, _) in FOUR {
        assert_eq!(scene.text(env, "queue").await, "q2", "{env}");
    }
    // Later turns keep it so, also on hosts that are new.
    scene.now.fetch_add(86_400_000, Ordering::Relaxed);
    turns(&mut Fleet::new(scene.host(), false, 3)).await;
    for (env, _) in FOUR {
        assert_eq!(scene.text(env, "queue").await, "q2", "{env}");
    }
    assert!(one.change_rollout(1, &RolloutChange::Pause).await.is_err(), "it is done");
    assert!(one.change_rollout(2, &resume).await.expect("looked").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_deploys_wins_and_undo_leaves_that_out() {
    let scene = Scene::new(&FOUR).await;
    let host = scene.host();
    let mut hosts = [Fleet::new(Arc::clone(&host), false, 1)];
    scene.write("platform/queue.yaml", &definition("queue", "q2"));
    let options = RolloutOptions { waves: Waves::Of(1), pause_after: Some(2), ..RolloutOptions::default() };
    scene.start(&host, "platform/queue.yaml", options).await.expect("started");
    settle(&scene, &mut hosts, &host, 1).await;

    // One that it has reached, and one that it has not.
    scene.write("platform/queue.yaml", &definition("queue", "mine"));
    scene.up(&host, "a", "development").await;
    scene.up(&host, "s", "staging").await;
    assert_eq!(counts(&report(&host, 1).await), [("left", 2), ("matching", 1), ("pending", 1)].into());
    // Who deploys what the roll-out brings is not left out.
    scene.write("platform/queue.yaml", &definition("queue", "q2"));
    scene.up(&host, "live", "production").await;
    assert_eq!(counts(&report(&host, 1).await), [("left", 2), ("matching", 2)].into());
    let resume = RolloutChange::Resume { may_lose: MayLose::Nowhere };
    host.change_rollout(1, &resume).await.expect("resumed");
    let done = settle(&scene, &mut hosts, &host, 1).await;
    assert_eq!(done.rollout.status, RolloutStatus::Done);

    let undo = RolloutChange::Undo { may_lose: MayLose::Nowhere };
    host.change_rollout(1, &undo).await.expect("undone");
    let undone = settle(&scene, &mut hosts, &host, 1).await;
    assert_eq!(undone.rollout.status, RolloutStatus::Undone);
    assert_eq!(counts(&undone), [("left", 2), ("undone", 2)].into());
    for (env, text) in [("a", "mine"), ("b", "q1"), ("live", "q1"), ("s", "mine")] {
        assert_eq!(scene.text(env, "queue").await, text, "{env}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_one_about_the_same_files_takes_the_place_of_the_first_only_where_told_to() {
    let scene = Scene::new(&FOUR).await;
    let (one, two) = (scene.host(), scene.host());
    let mut hosts = [Fleet::new(Arc::clone(&one), false, 1), Fleet::new(Arc::clone(&two), false, 2)];
    scene.write("platform/queue.yaml", &definition("queue", "q2"));
    let by_one = RolloutOptions { waves: Waves::Of(1), pause_after: Some(2), ..RolloutOptions::default() };
    scene.start(&one, "platform/queue.yaml", by_one.clone()).await.expect("started");
    settle(&scene, &mut hosts, &one, 1).await;

    // Other files are no hindrance, the same ones are.
    scene.write("platform/topic.yaml", &definition("topic", "t2"));
    scene.start(&one, "platform/topic.yaml", RolloutOptions::default()).await.expect("started");
    scene.write("platform/queue.yaml", &definition("queue", "q3"));
    let refused = scene.start(&two, "platform", by_one.clone()).await.expect_err("in the way");
    assert!(refused.to_string().contains("roll-out 1 is about the same files"), "{refused}");
    let staging = Selection::new(Vec::new(), vec!["staging".into(), "production".into()]);
    let supersede = RolloutOptions { supersede: true, ..RolloutOptions::default() };
    let third = scene.start_in(&two, "platform/queue.yaml", &staging, supersede).await.expect("started");
    assert_eq!((third.number, &*third.supersedes), (3, &[1][..]));
    assert_eq!(counts(&report(&one, 1).await), [("matching", 2), ("superseded", 2)].into());

    settle(&scene, &mut hosts, &one, 3).await;
    settle(&scene, &mut hosts, &one, 2).await;
    let resume = RolloutChange::Resume { may_lose: MayLose::Nowhere };
    one.change_rollout(1, &resume).await.expect("resumed");
    let first = settle(&scene, &mut hosts, &one, 1).await;
    assert_eq!(first.rollout.status, RolloutStatus::Done, "{:?}", counts(&first));
    for (env, text) in [("a", "q2"), ("b", "q2"), ("live", "q3"), ("s", "q3")] {
        assert_eq!(scene.text(env, "queue").await, text, "{env}");
        assert_eq!(scene.text(env, "topic").await, "t2", "{env}");
    }
    // To undo the first leaves alone what the third took over.
    let undo = RolloutChange::Undo { may_lose: MayLose::Nowhere };
    one.change_rollout(1, &undo).await.expect("undone");
    let undone = settle(&scene, &mut hosts, &one, 1).await;
    assert_eq!(counts(&undone), [("superseded", 2), ("undone", 2)].into());
    for (env, text) in [("a", "q1"), ("b", "q1"), ("live", "q3"), ("s", "q3")] {
        assert_eq!(scene.text(env, "queue").await, text, "{env}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_stops_at_failures_and_goes_on_where_told_to() {
    let scene = Scene::new(&FOUR).await;
    let host = scene.host();
    let mut hosts = [Fleet::new(Arc::clone(&host), false, 1)];
    // The driver returns no output that the type requires: every resource of it fails.
    scene.write("platform/queue.yaml", &definition("queue", "q2"));
    let failing = "
apiVersion: purlin.dev/v1
kind: ResourceType
spec:
  type: queue
  outputs: {type: object, required: [address]}
";
    scene.write("platform/type.yaml", failing);
    let options = RolloutOptions { waves: Waves::Of(1), max_failures: 1, ..RolloutOptions::default() };
    scene.start(&host, "platform", options).await.expect("started");
    let stopped = settle(&scene, &mut hosts, &host, 1).await;
    assert_eq!(stopped.rollout.status, RolloutStatus::Stopped);
    assert_eq!(counts(&stopped), [("failed", 2), ("pending", 2)].into());
    assert_eq!(stopped.rollout.why.as_deref(), Some("2 environments failed"));

    // Those that failed are excused: it goes on to the next ones, and stops at those.
    let resume = RolloutChange::Resume { may_lose: MayLose::Nowhere };
    host.change_rollout(1, &resume).await.expect("resumed");
    let stopped = settle(&scene, &mut hosts, &host, 1).await;
    assert_eq!((stopped.rollout.status, counts(&stopped)), (RolloutStatus::Stopped, [("failed", 4)].into()));

    host.change_rollout(1, &RolloutChange::Undo { may_lose: MayLose::Nowhere }).await.expect("undone");
    let undone = settle(&scene, &mut hosts, &host, 1).await;
    assert_eq!((undone.rollout.status, counts(&undone)), (RolloutStatus::Undone, [("undone", 4)].into()));
    for (env, _) in FOUR {
        assert_eq!(scene.text(env, "queue").await, "q1", "{env}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_roll_out_that_would_be_rejected_does_not_begin() {
    let scene = Scene::new(&FOUR).await;
    let host = scene.host();
    scene.write("platform/queue.yaml", &definition("queue", "'${resources.nothing.outputs.x}'"));
    let refused = scene.start(&host, "platform", RolloutOptions::default()).await.expect_err("rejected");
    assert!(refused.to_string().starts_with("4 of 4 environments reject these documents"), "{refused}");
    // The file of no environment.
    scene.write("other/queue.yaml", &definition("queue", "q2"));
    let refused = scene.start(&host, "other", RolloutOptions::default()).await.expect_err("unused");
    assert!(refused.to_string().contains("no environment that is selected"), "{refused}");
    assert!(host.rollouts().await.expect("listed").is_empty());
}
