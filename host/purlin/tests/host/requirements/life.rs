//! Random lives of environments that share installations: deployments, changes of requirements and
//! of their values, and destruction. After each step, the environment is as [`model`](super::model)
//! says; what others use is still there; and in the end nothing is left.
//!
//! `PURLIN_LIVES=500` tries more lives (two seconds each), `PURLIN_SEED` others, and `PURLIN_TELL=1` tells the steps.

use std::collections::BTreeMap;
use std::time::Duration;

use purlin_engine::PlanOptions;
use purlin_host::{Environment, Error};
use purlin_model::ContextDefaults;

use super::model::{One, Run, Seen, Tally, recorded};
use super::platform::{Given, Group, Platform, Requirement, SECRET};
use super::{each_seed, has_all};
use crate::sharing::World;
use crate::sharing::rng::Rng;

/// The environments: the application and the namespace.
const PLACES: [(&str, &str); 4] = [("one", "dev"), ("two", "dev"), ("three", ""), ("four", "qa")];

fn context(place: usize) -> ContextDefaults {
    let (app, namespace) = PLACES[place];
    ContextDefaults {
        app: Some(app.into()),
        env: Some("dev".into()),
        env_type: Some("development".into()),
        namespace: Some(namespace.into()),
        ..ContextDefaults::default()
    }
}

fn environment(place: usize) -> Environment {
    Environment { org: "default".into(), app: PLACES[place].0.into(), env: "dev".into() }
}

/// What happened, to count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Up,
    UpRejected,
    Destroyed,
    DestroyRejected,
    Requirements,
    Shared,
    Uses,
    Kept,
}

struct Life {
    world: World,
    rng: Rng,
    /// What each environment has to be.
    platforms: Vec<Platform>,
    /// What each one was after its last deployment, with the documents of that.
    seen: Vec<Option<(Seen, Platform)>>,
    tally: Tally,
    told: BTreeMap<Told, usize>,
}

fn text(files: &[(String, String)]) -> String {
    files.iter().map(|(name, text)| format!("# {name}\n{text}")).collect()
}

/// Whether an error is a rejection that protects users of installations, or a loop over environments.
fn is_rejection(error: &Error) -> bool {
    const RIGHT: [&str; 3] = ["in-use", "breaks-user", "environment-loop"];
    matches!(error, Error::Documents(faults) if faults.iter().all(|fault| RIGHT.contains(&fault.code)))
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::mixed(seed, 18);
        let first = Platform::random(&mut rng).without_names();
        let count = 2 + rng.below(3) as usize;
        let platforms = (0..count).map(|_| first.clone().with_other_requirements(&mut rng)).collect();
        Self {
            world: World::new(false, Duration::ZERO),
            rng,
            platforms,
            seen: vec![None; count],
            tally: Tally::default(),
            told: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: Told) {
        *self.told.entry(what).or_insert(0) += 1;
    }

    /// The installations of other environments.
    async fn others(&self, place: usize) -> Vec<One> {
        let mut all = Vec::new();
        for other in (0..self.platforms.len()).filter(|other| *other != place) {
            let snapshot = self.world.purlin.snapshot(&environment(other)).await.expect("a snapshot");
            all.extend(recorded(&snapshot, false).into_values());
            all.extend(recorded(&snapshot, true).into_values());
        }
        all
    }

    /// Whether others use an installation of an environment that was not handed over to them.
    async fn is_used(&self, place: usize) -> bool {
        let snapshot = self.world.purlin.snapshot(&environment(place)).await.expect("a snapshot");
        let own = recorded(&snapshot, false);
        let is_own = |used: &str| own.values().any(|one| one.urn == used);
        self.others(place).await.iter().any(|one| one.used().is_some_and(is_own))
    }

    async fn up(&mut self, place: usize, hand_over: bool) -> Result<(), String> {
        let files = self.platforms[place].written(Some(&mut self.rng));
        let at = |what: String| format!("up of {}: {what}\n{}", PLACES[place].0, text(&files));
        let before = self.world.purlin.snapshot(&environment(place)).await.expect("a snapshot");
        let others = self.others(place).await;
        let documents = self.world.documents_of(&files, &context(place)).await;
        let says = documents.as_ref().map(|documents| documents.resolution().installed()).unwrap_or_default();
        let result = match documents {
            Ok(documents) => {
                if let Ok(plan) = self.world.purlin.plan(&documents, PlanOptions::default()).await {
                    let told = serde_json::to_string(&plan).expect("JSON");
                    if told.contains(SECRET) {
                        return Err(at(format!("the plan tells a secret: {told}")));
                    }
                }
                self.world.execute(&environment(place), Some(documents), hand_over, (None, None)).await
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(true) => {}
            Err(error) if is_rejection(&error) => {
                let is_loop =
                    matches!(&error, Error::Documents(faults) if faults[0].code == "environment-loop");
                let was_handed_over = before.records.iter().any(|record| record.abandoned);
                if !is_loop && !was_handed_over && !self.is_used(place).await {
                    return Err(at(format!("nobody uses anything, but {error:?}")));
                }
                let after = self.world.purlin.snapshot(&environment(place)).await.expect("a snapshot");
                if after.records != before.records {
                    return Err(at("it was rejected, and did something".into()));
                }
                // Its documents are again what they were.
                if let Some((_, last)) = &self.seen[place] {
                    self.platforms[place] = last.clone();
                }
                self.count(Told::UpRejected);
                return Ok(());
            }
            other => return Err(at(format!("{other:?}"))),
        }
        self.count(Told::Up);
        let snapshot = self.world.purlin.snapshot(&environment(place)).await.expect("a snapshot");
        let run = Run {
            platform: &self.platforms[place],
            place: PLACES[place],
            says: &says,
            snapshot: &snapshot,
            before: self.seen[place].as_ref().map(|(seen, _)| seen),
            was_handed_over: before.records.iter().any(|record| record.abandoned),
            others: &others,
        };
        let seen = run.check(&mut self.tally).map_err(at)?;
        self.seen[place] = Some((seen, self.platforms[place].clone()));
        let outputs = purlin_host::outputs(&snapshot.records);
        let shown = outputs.resources.values().map(|value| value.redact().to_string()).collect::<String>();
        if shown.contains(SECRET) {
            return Err(at(format!("the outputs tell a secret: {shown}")));
        }
        let turned = self.platforms[place].written(Some(&mut self.rng));
        let documents = self.world.documents_of(&turned, &context(place)).await;
        let documents = documents.map_err(|error| at(format!("again: {error:?}")))?;
        let plan = self.world.purlin.plan(&documents, PlanOptions::default()).await;
        let plan = plan.map_err(|error| at(format!("again: {error:?}")))?;
        if !plan.is_empty() {
            let plan = serde_json::to_string_pretty(&plan).expect("JSON");
            return Err(at(format!("the next plan: {plan}\n{}", text(&turned))));
        }
        Ok(())
    }

    async fn destroy(&mut self, place: usize, hand_over: bool) -> Result<(), String> {
        let at = |what: String| format!("destroy of {}: {what}", PLACES[place].0);
        let is_used = self.is_used(place).await;
        let result = self.world.execute(&environment(place), None, hand_over, (None, None)).await;
        match result {
            Ok(true) if hand_over || !is_used => {
                self.seen[place] = None;
                self.count(Told::Destroyed);
                let snapshot = self.world.purlin.snapshot(&environment(place)).await.expect("a snapshot");
                match snapshot.records.iter().find(|record| !record.abandoned) {
                    Some(left) => Err(at(format!("{} is left", left.urn))),
                    None => Ok(()),
                }
            }
            Err(error) if !hand_over && is_used && is_rejection(&error) => {
                self.count(Told::DestroyRejected);
                Ok(())
            }
            other => Err(at(format!("used: {is_used}, handed over: {hand_over}: {other:?}"))),
        }
    }

    /// Changes the requirements of an environment.
    fn change(&mut self, place: usize) {
        let rng = &mut self.rng;
        let platform = &mut self.platforms[place];
        let at = rng.below(platform.requires.len() as u32) as usize;
        let name = platform.requires[at].name.clone();
        match rng.below(8) {
            0 if platform.requires.len() > 1 && platform.is_free_of(&name) => {
                platform.requires.remove(at);
            }
            1 | 2 => {
                let used = |name: &&&str| platform.requires.iter().all(|one| one.name != **name);
                if let Some(name) = ["m", "c", "x", "f", "a0", "z0"].iter().find(used) {
                    let another = platform.another(rng, name);
                    let at = rng.below(platform.requires.len() as u32 + 1) as usize;
                    // It may read only what comes before it.
                    let at = if another.reads_others() { platform.requires.len() } else { at };
                    platform.requires.insert(at, another);
                }
            }
            3 => platform.requires[at].range = rng.below(4) as usize,
            4 => {
                platform.requires[at].group =
                    rng.pick(&[Group::Everybody, Group::Named("team"), Group::None]).clone()
            }
            5 => {
                let one = rng.pick(&platform.requires).clone();
                // Like another one in everything.
                if !one.reads_others() {
                    platform.requires[at] = Requirement { name, ..one };
                }
            }
            _ => {
                let one = &mut platform.requires[at];
                match rng.below(3) {
                    0 => drop(one.given.remove("p")),
                    1 => drop(one.given.insert("p", Given::Constant("dp".into()))),
                    _ => drop(one.given.insert("p", Given::Constant(format!("c{}", rng.below(2))))),
                }
            }
        }
    }

    async fn is_sound(&self) -> Result<(), String> {
        if let Some(wrong) = self.world.wrong().await {
            return Err(wrong);
        }
        match self.world.left().await {
            left if left.is_empty() => Ok(()),
            left => Err(format!("nobody uses {left:?}")),
        }
    }
}

async fn live(seed: u64) -> Result<BTreeMap<Told, usize>, String> {
    let mut life = Life::new(seed);
    let tell = std::env::var_os("PURLIN_TELL").is_some();
    let mut past = String::new();
    for step in 0..10 {
        let place = life.rng.below(life.platforms.len() as u32) as usize;
        let hand_over = life.rng.chance(30);
        let what = life.rng.below(10);
        let app = PLACES[place].0;
        if what < 8 {
            if life.seen[place].is_some() {
                life.change(place);
            }
            let plain = life.platforms[place].requires.iter();
            let plain: Vec<String> = plain.map(|one| format!("\n    {one:?}")).collect();
            past.push_str(&format!("{step}: up {app} {hand_over}{}\n", plain.concat()));
        } else {
            past.push_str(&format!("{step}: destroy {app} {hand_over}\n"));
        }
        let result =
            if what < 8 { life.up(place, hand_over).await } else { life.destroy(place, hand_over).await };
        let result = match result {
            Ok(()) => life.is_sound().await,
            other => other,
        };
        if tell {
            println!("{past}{result:?}");
            past.clear();
        }
        result.map_err(|wrong| format!("step {step}: {wrong}\nbefore:\n{past}"))?;
    }
    for round in 0..2 {
        for place in 0..life.platforms.len() {
            let result = match life.destroy(place, true).await {
                Ok(()) => life.is_sound().await,
                other => other,
            };
            result.map_err(|wrong| format!("end {round}: {wrong}\nbefore:\n{past}"))?;
        }
    }
    let left: usize =
        life.world.snapshots().await.iter().map(|one| one.records.len() + one.pending.len()).sum();
    if left > 0 {
        return Err(format!("{left} records are left in the end\nbefore:\n{past}"));
    }
    let Tally { requirements, shared, uses, kept } = life.tally;
    life.told.extend([
        (Told::Requirements, requirements),
        (Told::Shared, shared),
        (Told::Uses, uses),
        (Told::Kept, kept),
    ]);
    Ok(life.told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_requirements_need_exists_and_nothing_else() {
    let told = each_seed(4, live).await;
    println!("{told:?}");
    has_all(&told, &[Told::Up, Told::Destroyed, Told::Shared, Told::Uses, Told::Kept]);
}
