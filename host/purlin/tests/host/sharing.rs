//! Random sequences of deployments that share installations: a used installation is never deleted,
//! and an unused one is never left over (SPEC §6), in whatever order resources are created,
//! removed, handed over and interrupted.

#[path = "../../../engine/tests/simulator/rng.rs"]
#[allow(dead_code, reason = "others use more of it")]
pub(crate) mod rng;

use std::collections::BTreeSet;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use purlin_documents as documents;
use purlin_documents::Input;
use purlin_engine::{CancelToken, DestroyOptions, Event, Plan, PlanOptions};
use purlin_host::{Documents, Error, Purlin, Session};
use purlin_model::{Context, ContextDefaults, Urn};
use purlin_sandbox::InProcess;
use purlin_state::{
    EmbeddedStore, Environment, Holder, KeyProvider, Listing, MemoryStore, OpenOptions, Operation, Probe,
    Record, Snapshot, Status, Store,
};
use rng::Rng;

const BUNDLES: &str = "
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: db, port: 1}}
  outputs: [{name: host, type: string}, {name: port, type: integer}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.1.0}
spec:
  driver: purlin/echo
  inputs: {values: {host: newer, port: 2}}
  outputs: [{name: host, type: string}, {name: port, type: integer}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/disk, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {path: /disk}}
  outputs: [{name: path, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/store, version: 1.0.0}
spec:
  requires: [{name: disk, bundle: acme/disk:v1.0.0}]
  driver: purlin/echo
  inputs: {values: {path: '${bundle.dependencies.disk.outputs.path}/store'}}
  outputs: [{name: path, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/web, version: 1.0.0}
spec:
  requires:
    - {name: db, bundle: {reference: acme/db:v1.0.0, version: 1.x}}
    - {name: store, bundle: acme/store:v1.0.0}
  driver: purlin/echo
  inputs: {values: {url: 'x://${bundle.dependencies.db.outputs.host}${bundle.dependencies.store.outputs.path}'}}
  outputs: [{name: url, type: string}]
";

/// The requirements that a deployment may have.
const REQUIREMENTS: [&str; 9] = [
    "{name: db, bundle: {reference: acme/db:v1.0.0, version: 1.x}}",
    "{name: db, bundle: acme/db:v1.0.0}",
    "{name: db, bundle: acme/db:v1.1.0}",
    "{name: db, bundle: {reference: acme/db:v1.0.0, version: 1.x}, sharing: {group: {name: team}}}",
    "{name: db, bundle: acme/db:v1.0.0, sharing: {mode: none}}",
    "{name: store, bundle: acme/store:v1.0.0}",
    "{name: disk, bundle: acme/disk:v1.0.0}",
    "{name: web, bundle: acme/web:v1.0.0}",
    "{name: site, bundle: acme/web:v1.0.0}",
];

const APPS: [(&str, &str); 4] = [("one", "dev"), ("two", "dev"), ("three", ""), ("four", "qa")];

#[derive(Clone, Debug)]
pub(crate) enum Command {
    Up { app: usize, requirements: Vec<usize>, hand_over: bool },
    Destroy { app: usize, hand_over: bool },
    Share { group: Option<&'static str> },
}

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kill {
    /// After this number of events.
    AfterEvents(usize),
    /// At this place of a call of a driver with effects: places are before and after each of them.
    AtCall(usize),
}

#[derive(Clone, Debug)]
struct Deed {
    command: Command,
    killed: Option<Kill>,
    /// What another process does between the plan and the run.
    meanwhile: Option<Command>,
}

pub(crate) struct World {
    pub(crate) purlin: Purlin,
    store: Arc<dyn Store>,
    runs: u32,
    folder: Arc<tempfile::TempDir>,
    is_on_disk: bool,
    patience: Duration,
    /// The places of calls until the process is killed at one; 0 if it is not.
    places_left: Arc<AtomicUsize>,
}

fn context(app: usize) -> ContextDefaults {
    let (name, namespace) = APPS[app];
    ContextDefaults {
        app: Some(name.into()),
        env: Some("dev".into()),
        env_type: Some("development".into()),
        namespace: Some(namespace.into()),
        ..ContextDefaults::default()
    }
}

fn on_disk(folder: &Path) -> Arc<dyn Store> {
    let options = OpenOptions {
        key: KeyProvider::Generate(folder.join("key")),
        holder: Holder { user: "u".into(), host: "h".into(), pid: 1, command: "a life".into(), since: 0 },
        wait: Duration::ZERO,
        probe: None,
    };
    Arc::new(EmbeddedStore::open(&folder.join("state"), options).expect("opens"))
}

/// The payload of the panic that ends a process at a place.
struct Killed;

/// Kills the process at the last of a number of places.
fn killer(places_left: &Arc<AtomicUsize>) -> Probe {
    let left = Arc::clone(places_left);
    Probe::new(move |place| {
        let is_call = place.starts_with("before ") || place.starts_with("after ");
        if is_call && left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) == Ok(1) {
            std::panic::resume_unwind(Box::new(Killed));
        }
    })
}

fn purlin(store: &Arc<dyn Store>, folder: &Path, patience: Duration, probe: Probe) -> Purlin {
    Purlin::builder()
        .probe(probe)
        .wait_for_others(patience)
        .store(Arc::clone(store))
        .state_folder(folder.join("state"))
        .cache_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .compiler(Arc::new(InProcess))
        .build()
}

impl World {
    pub(crate) fn new(is_on_disk: bool, patience: Duration) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let store: Arc<dyn Store> = match is_on_disk {
            true => on_disk(folder.path()),
            false => Arc::new(MemoryStore::new()),
        };
        let places_left = Arc::default();
        let purlin = purlin(&store, folder.path(), patience, killer(&places_left));
        Self { purlin, store, runs: 0, folder, is_on_disk, patience, places_left }
    }

    /// Another process with the same state.
    fn another(&self) -> Self {
        let store = match self.is_on_disk {
            true => on_disk(self.folder.path()),
            false => Arc::clone(&self.store),
        };
        let places_left = Arc::default();
        let purlin = purlin(&store, self.folder.path(), self.patience, killer(&places_left));
        let folder = Arc::clone(&self.folder);
        Self { purlin, store, runs: self.runs + 500_000, folder, places_left, ..*self }
    }

    pub(crate) fn id(&mut self) -> String {
        self.runs += 1;
        format!("run-{}", self.runs)
    }

    async fn documents(&mut self, app: usize, requirements: &[usize]) -> Result<Documents, Error> {
        let mut text = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  requires:\n".to_owned();
        requirements
            .iter()
            .for_each(|requirement| text.push_str(&format!("    - {}\n", REQUIREMENTS[*requirement])));
        if requirements.is_empty() {
            text =
                "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {shared: {mark: {type: environment}}}\n"
                    .to_owned();
        }
        let definition = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: any}\nspec: {type: environment, driver: purlin/echo, inputs: {values: {}}, criteria: [{}]}\n";
        let files = [("bundles.yaml", BUNDLES), ("definition.yaml", definition), ("app.yaml", &text)];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        self.documents_of(&files, &context(app)).await
    }

    /// Documents of an environment, with what is recorded of it and of others.
    pub(crate) async fn documents_of(
        &mut self,
        files: &[(String, String)],
        context: &ContextDefaults,
    ) -> Result<Documents, Error> {
        let input = |(name, text): &(String, String)| Input::Text { name: name.clone(), text: text.clone() };
        let mut loaded = documents::load(&files.iter().map(input).collect::<Vec<_>>());
        self.purlin.recall(&mut loaded, context, None).await?;
        let id = self.id();
        let mut documents = Documents::new(loaded, context, None, &id)?;
        documents.changes.new_environment = true;
        Ok(documents)
    }

    /// Executes a command like a process, which may be killed.
    async fn run(&mut self, deed: &Deed) -> Result<bool, Error> {
        let (app, requirements, hand_over) = match &deed.command {
            Command::Up { app, requirements, hand_over } => (*app, Some(requirements.clone()), *hand_over),
            Command::Destroy { app, hand_over } => (*app, None, *hand_over),
            Command::Share { group } => return self.share(*group).await.map(|()| true),
        };
        let documents = match &requirements {
            Some(requirements) => Some(self.documents(app, requirements).await?),
            None => None,
        };
        let environment = Environment { org: "default".into(), app: APPS[app].0.into(), env: "dev".into() };
        self.execute(&environment, documents, hand_over, (deed.killed, deed.meanwhile.clone())).await
    }

    /// Deploys documents, or destroys an environment, like a process, which may be killed.
    pub(crate) async fn execute(
        &mut self,
        environment: &Environment,
        documents: Option<Documents>,
        hand_over: bool,
        (killed, meanwhile): (Option<Kill>, Option<Command>),
    ) -> Result<bool, Error> {
        let id = self.id();
        let context = match &documents {
            Some(documents) => (*documents.context).clone(),
            None => self.context_of(environment, &id).await?,
        };
        let session = self.purlin.begin(environment).await?;
        if let Some(open_calls) = session.plan_recovery(&context).await? {
            session.apply(open_calls, CancelToken::default()).await?.for_each(async |_| {}).await;
        }
        let mut plan = plan(&session, documents.as_ref(), &context, hand_over).await?;
        let losses = plan.losses_not_allowed();
        plan.allow_losses(&losses);
        if let Some(command) = meanwhile {
            let mut other = self.another();
            let deed = Deed { command, killed: None, meanwhile: None };
            // Its errors are checked where it runs alone.
            drop(Box::pin(other.run(&deed)).await);
        }
        let mut run = session.deploy(plan, documents.as_ref(), CancelToken::default()).await?;
        let (mut events, mut is_success) = (0, false);
        if let Some(Kill::AtCall(place)) = killed {
            self.places_left.store(place, Relaxed);
        }
        loop {
            let event = match AssertUnwindSafe(run.next()).catch_unwind().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(panic) if panic.is::<Killed>() => return Ok(false),
                Err(panic) => std::panic::resume_unwind(panic),
            };
            if let Event::Summary(summary) = event {
                is_success = summary.is_success();
            }
            events += 1;
            if matches!(killed, Some(Kill::AfterEvents(most)) if events >= most) {
                return Ok(false);
            }
        }
        drop(run);
        self.places_left.store(0, Relaxed);
        let (prefix, number) = (format!("{id}-collect"), std::sync::atomic::AtomicU32::new(0));
        let next = || format!("{prefix}-{}", number.fetch_add(1, Relaxed));
        session.collect(&next, &CancelToken::default()).await?;
        session.release().await?;
        self.runs += 1;
        Ok(is_success)
    }

    async fn context_of(&self, environment: &Environment, id: &str) -> Result<Context, Error> {
        let recorded = self.purlin.recorded_context(environment).await?;
        let deployment = id.into();
        Ok(match recorded {
            Some(context) => Context { deployment, ..context },
            None => Context {
                org: environment.org.clone(),
                app: environment.app.clone(),
                env: purlin_model::EnvironmentId { id: environment.env.clone(), kind: "development".into() },
                namespace: "".into(),
                deployment,
            },
        })
    }

    /// Shares the first installation with another group, or stops sharing it.
    async fn share(&mut self, group: Option<&str>) -> Result<(), Error> {
        let all = self.purlin.installations().await?;
        let Some(first) = all.first() else { return Ok(()) };
        let session = self.purlin.begin_held(&first.environment).await?;
        session.share(&first.listed.urn, group.map(Arc::from), true).await?;
        session.release().await
    }

    pub(crate) async fn snapshots(&self) -> Vec<Snapshot> {
        let mut all = Vec::new();
        for known in self.store.environments(None, 100).await.expect("environments") {
            all.push(self.store.load(&known.environment).await.expect("a snapshot"));
        }
        all
    }

    /// The inconsistency in the records, if there is one.
    pub(crate) async fn wrong(&self) -> Option<String> {
        let all = self.snapshots().await;
        let mut listed = Vec::new();
        for known in self.store.environments(None, 100).await.expect("environments") {
            let snapshot = self.store.load(&known.environment).await.expect("a snapshot");
            listed.push(Listing::of(&known.environment, &snapshot));
        }
        listed.retain(|listing| !listing.is_empty());
        if self.store.listings().await.expect("listings") != listed {
            return Some("what others see of an environment is not what is recorded there".into());
        }
        let there: BTreeSet<&Urn> = all
            .iter()
            .flat_map(|snapshot| &snapshot.records)
            .filter(|record| record.superseded.is_none() && record.status != Status::Absent)
            .map(|record| &record.urn)
            .collect();
        for snapshot in &all {
            let open = snapshot.pending.iter().filter_map(|intent| match &intent.operation {
                Operation::Create(record) | Operation::Update(record) => Some(&**record),
                Operation::Delete(_) => None,
            });
            for record in snapshot.records.iter().map(|record| &**record).chain(open) {
                let Some(uses) = record.share.as_ref().and_then(|share| share.uses.as_ref()) else {
                    continue;
                };
                if !there.contains(&uses.installation) {
                    return Some(format!("{} uses {}, which is gone", record.urn, uses.installation));
                }
            }
        }
        None
    }

    /// Resources that were handed over and have no users.
    pub(crate) async fn left(&self) -> Vec<Urn> {
        let all = self.snapshots().await;
        let records: Vec<&Record> =
            all.iter().flat_map(|snapshot| &snapshot.records).map(|record| &**record).collect();
        // A resource that a pending call may have created is a user too.
        let open =
            all.iter().flat_map(|snapshot| &snapshot.pending).filter_map(|intent| match &intent.operation {
                Operation::Create(record) | Operation::Update(record) => Some(&**record),
                Operation::Delete(_) => None,
            });
        let used: BTreeSet<&Urn> = records
            .iter()
            .copied()
            .chain(open)
            .filter_map(|record| Some(&record.share.as_ref()?.uses.as_ref()?.installation))
            .collect();
        let mut needed: BTreeSet<&Urn> = used;
        loop {
            let more: Vec<&Urn> = records
                .iter()
                .filter(|record| !record.abandoned || needed.contains(&record.urn))
                .flat_map(|record| &record.dependencies)
                .filter(|urn| !needed.contains(urn))
                .collect();
            if more.is_empty() {
                break;
            }
            needed.extend(more);
        }
        records
            .iter()
            .filter(|record| record.abandoned && !needed.contains(&record.urn))
            .map(|record| record.urn.clone())
            .collect()
    }
}

async fn plan(
    session: &Session<'_>,
    documents: Option<&Documents>,
    context: &Context,
    hand_over: bool,
) -> Result<Plan, Error> {
    match documents {
        Some(documents) => {
            let options = PlanOptions { orphan_shared: hand_over, ..PlanOptions::default() };
            session.plan(documents, options).await
        }
        None => {
            let options = DestroyOptions { orphan_shared: hand_over, ..DestroyOptions::default() };
            session.plan_destroy(context, options).await
        }
    }
}

/// Whether an error is one of the expected rejections.
fn is_refusal(error: &Error) -> bool {
    const RIGHT: [&str; 5] = ["in-use", "breaks-user", "gone", "deployed-meanwhile", "asked-twice"];
    match error {
        Error::Documents(faults) => faults.iter().all(|fault| RIGHT.contains(&fault.code)),
        Error::State(purlin_state::Error::Locked { .. } | purlin_state::Error::Reserved { .. }) => true,
        _ => false,
    }
}

fn command(rng: &mut Rng) -> Command {
    let app = rng.below(APPS.len() as u32) as usize;
    let hand_over = rng.chance(40);
    match rng.below(10) {
        0..6 => {
            let mut requirements: Vec<usize> = Vec::new();
            for _ in 0..rng.below(3) {
                let requirement = rng.below(REQUIREMENTS.len() as u32) as usize;
                let name = |requirement: usize| REQUIREMENTS[requirement].split(',').next();
                if !requirements.iter().any(|other| name(*other) == name(requirement)) {
                    requirements.push(requirement);
                }
            }
            Command::Up { app, requirements, hand_over }
        }
        6..9 => Command::Destroy { app, hand_over },
        _ => Command::Share { group: *rng.pick(&[None, Some(""), Some("team")]) },
    }
}

fn deed(rng: &mut Rng) -> Deed {
    Deed {
        command: command(rng),
        killed: rng.chance(25).then(|| Kill::AfterEvents(rng.below(11) as usize + 1)),
        meanwhile: rng.chance(30).then(|| command(rng)),
    }
}

/// The failure of a sequence.
struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

async fn live(seed: u64) -> Result<(), Broken> {
    let mut rng = Rng::mixed(seed, 15);
    // The state on disk also has an index, and takes longer.
    let mut world = World::new(seed.is_multiple_of(4), Duration::ZERO);
    let tell = std::env::var_os("PURLIN_TELL").is_some();
    for step in 0..14 {
        let deed = deed(&mut rng);
        if tell {
            println!("{step}: {deed:?}");
        }
        let result = world.run(&deed).await;
        if tell {
            println!(
                "   {}",
                match &result {
                    Ok(done) => format!("{done}"),
                    Err(error) => format!("{error:?}"),
                }
            );
        }
        let at = |what: String| Broken(format!("seed {seed}, step {step}, {deed:?}: {what}"));
        if let Err(error) = &result
            && !is_refusal(error)
        {
            return Err(at(format!("{error:?}")));
        }
        if let Some(wrong) = world.wrong().await {
            return Err(at(wrong));
        }
    }
    // Finally, everything is destroyed, whatever was interrupted.
    for round in 0..3 {
        for app in 0..APPS.len() {
            let command = Command::Destroy { app, hand_over: true };
            let result = world.run(&Deed { command, killed: None, meanwhile: None }).await;
            let at = |what: String| Broken(format!("seed {seed}, end {round}, app {app}: {what}"));
            match result {
                Ok(_) => {}
                Err(error) => return Err(at(format!("{error:?}"))),
            }
            if let Some(wrong) = world.wrong().await {
                return Err(at(wrong));
            }
            let left = world.left().await;
            if !left.is_empty() {
                return Err(at(format!("nobody uses {left:?}")));
            }
        }
    }
    let records: usize =
        world.snapshots().await.iter().map(|snapshot| snapshot.records.len() + snapshot.pending.len()).sum();
    if records > 0 {
        return Err(Broken(format!("seed {seed}: {records} records are left in the end")));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn used_installations_are_never_deleted_and_unused_ones_never_left() {
    let from: u64 = std::env::var("PURLIN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let lives: u64 = std::env::var("PURLIN_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(60);
    let mut broken = Vec::new();
    for seed in from..from + lives {
        if let Err(wrong) = live(seed).await {
            broken.push(wrong.to_string());
            if broken.len() > 5 {
                break;
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The number of installations of a bundle in a namespace, created by their own deployments.
async fn installed(world: &World, bundle: &str, namespace: &str) -> usize {
    let all = world.purlin.installations().await.expect("installations");
    let of = |one: &&purlin_host::InstallationState| {
        let is_it = one.listed.definition.as_ref().is_some_and(|definition| definition.starts_with(bundle));
        is_it && *one.listed.share.namespace == *namespace
    };
    all.iter().filter(of).count()
}

/// A command that is rejected more often than this, for what others recorded, will never succeed.
const MOST_REJECTIONS: u32 = 1_000;

/// All environments deploy for the first time at once. A deployment that is rejected or killed is
/// repeated.
async fn begin_together(seed: u64) -> Result<(), Broken> {
    let mut rng = Rng::mixed(seed, 16);
    let patience = if rng.chance(50) { Duration::from_mins(10) } else { Duration::ZERO };
    let world = World::new(seed.is_multiple_of(3), patience);
    // Stores of one process do not create the folder concurrently; the program's tests cover
    // processes.
    world.store.seal(b"").await.expect("sealed");
    let (requirement, bundle) = *rng.pick(&[(0, "acme/db"), (5, "acme/disk"), (7, "acme/db")]);
    let mut killed = 0;
    let mut all = Vec::new();
    for (app, (_, namespace)) in APPS.iter().enumerate() {
        let kill = rng.chance(20).then(|| Kill::AfterEvents(rng.below(11) as usize + 1));
        killed += usize::from(kill.is_some() && *namespace == "dev");
        let mut one = world.another();
        all.push(async move {
            let (mut kill, mut rejected) = (kill, 0);
            loop {
                let command = Command::Up { app, requirements: vec![requirement], hand_over: false };
                let deed = Deed { command, killed: kill, meanwhile: None };
                match one.run(&deed).await {
                    Ok(true) => return Ok(()),
                    Ok(false) if kill.is_none() => return Err("it failed".to_owned()),
                    Ok(false) => kill = None,
                    // Others end at some time, so a command that is repeated succeeds.
                    Err(error) if is_refusal(&error) && rejected < MOST_REJECTIONS => {
                        // How often another one is still at work depends on the speed of the machine.
                        rejected += u32::from(!matches!(error, Error::State(_)));
                    }
                    Err(error) => return Err(format!("after {rejected} rejections: {error:?}")),
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }
    let at = |what: String| Broken(format!("seed {seed}, at once: {what}"));
    for result in futures::future::join_all(all).await {
        result.map_err(at)?;
    }
    for namespace in ["dev", "qa", ""] {
        let made = installed(&world, bundle, namespace).await;
        // A killed process keeps the installation that it had begun.
        let most = if namespace == "dev" { 1 + killed } else { 1 };
        if made > most {
            return Err(at(format!("{made} of {bundle} are in the namespace `{namespace}`")));
        }
    }
    match world.wrong().await {
        Some(wrong) => Err(at(wrong)),
        None => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_deployments_share_one_installation() {
    let from: u64 = std::env::var("PURLIN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let lives: u64 = std::env::var("PURLIN_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(40);
    for seed in from..from + lives {
        if let Err(wrong) = begin_together(seed).await {
            panic!("{wrong}");
        }
    }
}

/// A deployment is killed at any point of its first run. Another environment uses what the killed
/// one created, and creates the rest. The killed one then succeeds when it is repeated as it was:
/// it continues with its own installations instead of deleting them.
///
/// Killed before a call, the deployment has written its intent, whatever the speed of the disk.
#[tokio::test]
async fn killed_deployments_continue_with_what_others_use_by_then() {
    let up = |app| Command::Up { app, requirements: vec![7], hand_over: false };
    let mut continued = 0;
    for kill in (1..).map(Kill::AtCall) {
        let mut world = World::new(true, Duration::ZERO);
        let deed = Deed { command: up(0), killed: Some(kill), meanwhile: None };
        if world.run(&deed).await.expect("a run") {
            break;
        }
        for app in [1, 0] {
            let deed = Deed { command: up(app), killed: None, meanwhile: None };
            let result = world.run(&deed).await;
            assert!(matches!(result, Ok(true)), "{kill:?}, app {app}: {result:?}");
            assert_eq!(world.wrong().await, None, "{kill:?}, app {app}");
        }
        let webs = installed(&world, "acme/web", "dev").await;
        let stores = installed(&world, "acme/store", "dev").await;
        continued += usize::from(webs == 2 && stores == 1);
        for app in [0, 1] {
            let command = Command::Destroy { app, hand_over: true };
            let result = world.run(&Deed { command, killed: None, meanwhile: None }).await;
            assert!(matches!(result, Ok(true)), "{kill:?}, destroy {app}: {result:?}");
        }
        assert_eq!(world.left().await, [] as [Urn; 0], "{kill:?}");
    }
    assert!(continued > 0, "no run was killed between `acme/store` and `acme/web`");
}
