//! Roll-outs over several environments and hosts, on a store in memory with a simulated clock.

use std::collections::{BTreeMap, BTreeSet};
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
    // To undo the first leaves alone what the third took over, until that is undone, too.
    let undo = RolloutChange::Undo { may_lose: MayLose::Nowhere };
    one.change_rollout(1, &undo).await.expect("undone");
    let undone = settle(&scene, &mut hosts, &one, 1).await;
    assert_eq!(counts(&undone), [("superseded", 2), ("undone", 2)].into());
    for (env, text) in [("a", "q1"), ("b", "q1"), ("live", "q3"), ("s", "q3")] {
        assert_eq!(scene.text(env, "queue").await, text, "{env}");
    }
    one.change_rollout(3, &undo).await.expect("undone");
    let undone = settle(&scene, &mut hosts, &one, 3).await;
    assert_eq!(counts(&undone), [("undone", 2)].into());
    for (env, _) in FOUR {
        assert_eq!(scene.text(env, "queue").await, "q1", "{env}");
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

/// What somebody deployed, and the roll-outs since then, each with what it brings.
type Decided = (String, Vec<(u64, String)>);

/// What a random life of roll-outs is to end in, and what it did.
struct Life {
    scene: Scene,
    hosts: Vec<Fleet>,
    one: Arc<Purlin>,
    random: u64,
    /// What was decided for each environment and type.
    decided: BTreeMap<(&'static str, &'static str), Decided>,
    undone: BTreeSet<u64>,
    log: Vec<String>,
}

const TYPES: [&str; 2] = ["queue", "topic"];

impl Life {
    async fn new(seed: u64) -> Self {
        let scene = Scene::new(&FOUR).await;
        let one = scene.host();
        let hosts = vec![Fleet::new(scene.host(), false, seed), Fleet::new(scene.host(), false, seed + 1)];
        let mut decided = BTreeMap::new();
        for (env, _) in FOUR {
            for (kind, text) in [("queue", "q1"), ("topic", "t1")] {
                decided.insert((env, kind), (text.to_owned(), Vec::new()));
            }
        }
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { scene, hosts, one, random, decided, undone: BTreeSet::new(), log: Vec::new() }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % below
    }

    /// One thing that somebody does, or a host.
    async fn step(&mut self, number: usize) {
        match self.draw(9) {
            0 | 1 => self.start(number).await,
            2 => self.deploy(number).await,
            3 => self.change().await,
            4 => {
                // A host dies, and another one comes.
                let at = self.draw(self.hosts.len());
                self.hosts[at] = Fleet::new(self.scene.host(), false, number as u64);
                self.log.push(format!("host {at} anew"));
            }
            _ => {
                let at = self.draw(self.hosts.len());
                let due = self.hosts[at].take(2).await.expect("turns");
                self.log.push(format!("host {at}: {due:?}"));
                for environment in due {
                    let turn = self.hosts[at].begin(environment, Default::default()).await;
                    let (environment, end, _) = self.hosts[at].end(turn).await.expect("ended");
                    assert!(matches!(end, TurnEnd::Passed(_)), "{environment}: {end:?}");
                }
                let passed = self.draw(2_000) as u64;
                self.scene.now.fetch_add(passed, Ordering::Relaxed);
            }
        }
        for rollout in self.one.rollouts().await.expect("listed") {
            counts(&report(&self.one, rollout.number).await);
        }
    }

    async fn start(&mut self, number: usize) {
        let kind = TYPES[self.draw(2)];
        let text = format!("r{number}");
        self.scene.write(&format!("platform/{kind}.yaml"), &definition(kind, &text));
        let waves = [Waves::Together, Waves::Of(1), Waves::ByType, Waves::Percent(50)][self.draw(4)];
        let pause_after = (self.draw(3) == 0).then_some(1);
        let options =
            RolloutOptions { waves, pause_after, supersede: self.draw(2) == 0, ..RolloutOptions::default() };
        let types = [vec![], vec!["development".to_owned()], vec!["production".into(), "staging".into()]];
        let selection = Selection::new(Vec::new(), types[self.draw(3)].clone());
        let path = format!("platform/{kind}.yaml");
        let begun = self.scene.start_in(&self.one, &path, &selection, options).await;
        self.log.push(format!("start {text} of {kind}: {:?}", begun.as_ref().map(|one| one.number)));
        match begun {
            Ok(rollout) => {
                for one in report(&self.one, rollout.number).await.environments {
                    let env = FOUR.iter().find(|(env, _)| *one.environment.env == **env).expect("known").0;
                    let (_, rollouts) = self.decided.get_mut(&(env, kind)).expect("known");
                    rollouts.push((rollout.number, text.clone()));
                }
            }
            Err(error) => assert!(error.to_string().contains("about the same files"), "{error}"),
        }
    }

    async fn deploy(&mut self, number: usize) {
        let (env, kind) = FOUR[self.draw(FOUR.len())];
        for (of, short) in [("queue", "uq"), ("topic", "ut")] {
            let text = format!("{short}{number}");
            self.scene.write(&format!("platform/{of}.yaml"), &definition(of, &text));
            self.decided.insert((env, of), (text, Vec::new()));
        }
        self.log.push(format!("up {number} in {env}"));
        self.scene.up(&self.one, env, kind).await;
    }

    async fn change(&mut self) {
        let known = self.one.rollouts().await.expect("listed");
        if known.is_empty() {
            return;
        }
        let at = self.draw(known.len());
        let number = known[at].number;
        let may_lose = MayLose::Nowhere;
        let change = match self.draw(3) {
            0 => RolloutChange::Pause,
            1 => RolloutChange::Resume { may_lose },
            _ => RolloutChange::Undo { may_lose },
        };
        let changed = self.one.change_rollout(number, &change).await;
        self.log.push(format!("{change:?} of {number}: {}", changed.is_ok()));
        if let (RolloutChange::Undo { .. }, Ok(_)) = (&change, &changed) {
            self.undone.insert(number);
        }
    }

    /// Lets everything end, and looks at what is there.
    async fn end(&mut self) {
        // A pause between waves may follow, and what is undone lets others go on.
        for _ in 0..3 {
            for rollout in self.one.rollouts().await.expect("listed") {
                let resume = RolloutChange::Resume { may_lose: MayLose::Nowhere };
                let _ = self.one.change_rollout(rollout.number, &resume).await;
                settle(&self.scene, &mut self.hosts, &self.one, rollout.number).await;
            }
        }
        for rollout in self.one.rollouts().await.expect("listed") {
            assert!(rollout.status.is_over(), "{} {:?}\n{:#?}", rollout.number, rollout.status, self.log);
        }
        // Whatever comes later changes nothing.
        for _ in 0..2 {
            for ((env, kind), (deployed, rollouts)) in &self.decided {
                // The latest one that was not taken back, or what somebody deployed before all of them.
                let latest = rollouts.iter().rev().find(|(number, _)| !self.undone.contains(number));
                let text = latest.map_or(deployed, |(_, text)| text);
                assert_eq!(self.scene.text(env, kind).await, *text, "{kind} in {env}\n{:#?}", self.log);
            }
            self.scene.now.fetch_add(86_400_000, Ordering::Relaxed);
            turns(&mut self.hosts[0]).await;
        }
    }
}

/// Several hosts take turns in any order, some die, and people start, pause, resume and undo roll-outs and deploy
/// in between: each environment ends in what was decided last for it, and all counts add up at each moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_environment_ends_in_what_was_decided_last_for_it() {
    let seeds = std::env::var("PURLIN_ROLLOUT_SEEDS").ok();
    let (first, count) = match seeds.as_deref().map(|text| text.split_once('+').expect("FIRST+COUNT")) {
        Some((first, count)) => (first.parse().expect("a seed"), count.parse().expect("a count")),
        None => (1_u64, 8_u64),
    };
    for seed in first..first + count {
        println!("seed {seed}");
        let mut life = Life::new(seed).await;
        life.log.push(format!("seed {seed}"));
        for number in 0..30 {
            life.step(number).await;
        }
        life.end().await;
    }
}
