//! Order means nothing: the same documents in any order have the same graph and the same plan, and
//! nothing to do after one of them was deployed. Entries that come, go or get another name delete
//! nothing that is still asked for.
//!
//! `PURLIN_LIVES=1000` tries more platforms (about one per second), `PURLIN_SEED` others.

use std::collections::BTreeMap;

use purlin_engine::{Action, Plan, PlanOptions};
use purlin_host::{Documents, Error, Graph, NodeId};
use purlin_model::ContextDefaults;
use serde_json::Value;

use super::platform::{Group, Platform, SECRET};
use super::{each_seed, has_all};
use crate::sharing::World;
use crate::sharing::rng::Rng;

fn context() -> ContextDefaults {
    ContextDefaults {
        app: Some("shop".into()),
        env: Some("dev".into()),
        env_type: Some("development".into()),
        ..ContextDefaults::default()
    }
}

type Files = Vec<(String, String)>;

/// The codes of the faults, or the failure.
fn codes(error: Error) -> Result<Vec<&'static str>, String> {
    match error {
        Error::Documents(faults) => {
            let mut codes: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
            codes.sort_unstable();
            Ok(codes)
        }
        other => Err(format!("{other:?}")),
    }
}

/// A graph with everything but the places in documents.
fn show(graph: &Graph) -> String {
    let key = |node: NodeId| graph.key(node).map(ToString::to_string).unwrap_or_default();
    let mut lines: Vec<String> = graph
        .edges()
        .map(|edge| format!("{} -> {} {}", key(edge.from), key(edge.to), edge.kinds.names().join("+")))
        .collect();
    for node in graph.nodes() {
        let urn = graph.urn(node.id).map(|urn| urn.as_str().to_owned()).unwrap_or_default();
        let mut line = format!("{urn} {:?} level {}", node.recipe.name, node.level);
        if let Some(one) = node.installation {
            let mut aliases: Vec<String> = one.aliases.iter().map(ToString::to_string).collect();
            aliases.sort();
            let mut outputs = one.outputs.clone();
            outputs.sort();
            line.push_str(&format!(" {aliases:?} {outputs:?} {:?} {:?}", one.secret, one.share.group));
        }
        lines.push(line);
    }
    lines.sort();
    lines.join("\n")
}

/// A plan without the places in documents.
fn told(plan: &Plan) -> Value {
    let mut plan = serde_json::to_value(plan).expect("JSON");
    if let Some(steps) = plan["steps"].as_array_mut() {
        for step in steps {
            if let Some(changes) = step["changes"].as_array_mut() {
                changes.sort_by_key(|change| change["path"].to_string());
            }
        }
    }
    if let Some(warnings) = plan["warnings"].as_array_mut() {
        for warning in warnings {
            let message = warning["message"].as_str().unwrap_or_default();
            let (before, after) = message.split_once(" (").unwrap_or((message, ""));
            let after = after.split_once(')').map_or(after, |(_, after)| after);
            warning["message"] = format!("{before}{after}").into();
        }
    }
    plan
}

/// The steps of a plan that do something.
fn deeds(plan: &Plan) -> Vec<(Action, String)> {
    let steps = plan.steps.iter().filter(|step| step.action != Action::None || step.moved_from.is_some());
    steps.map(|step| (step.action, step.key.to_string())).collect()
}

/// What must hold of a plan after a change of the documents that still ask for everything.
fn keeps(what: &str, plan: &Plan) -> Result<(), String> {
    let lost: Vec<_> = deeds(plan)
        .into_iter()
        .filter(|(action, _)| !matches!(action, Action::Create | Action::Update))
        .collect();
    if lost.is_empty() { Ok(()) } else { Err(format!("{what}: {lost:?}")) }
}

struct Scene {
    world: World,
    rng: Rng,
}

impl Scene {
    async fn documents(&mut self, files: &Files) -> Result<Result<Documents, Vec<&'static str>>, String> {
        match self.world.documents_of(files, &context()).await {
            Ok(documents) => Ok(Ok(documents)),
            Err(error) => Ok(Err(codes(error)?)),
        }
    }

    async fn plan(&mut self, platform: &Platform, is_turned: bool) -> Result<(Plan, Documents), String> {
        let files = platform.written(is_turned.then_some(&mut self.rng));
        let documents = self.documents(&files).await?;
        let documents = documents.map_err(|codes| format!("rejected: {codes:?}\n{}", text(&files)))?;
        let plan = self.world.purlin.plan(&documents, PlanOptions::default()).await;
        Ok((plan.map_err(|error| format!("{error:?}\n{}", text(&files)))?, documents))
    }

    async fn deploy(&mut self, documents: Documents) -> Result<(), String> {
        let environment = documents.environment();
        match self.world.execute(&environment, Some(documents), false, (None, None)).await {
            Ok(true) => Ok(()),
            other => Err(format!("not deployed: {other:?}")),
        }
    }
}

fn text(files: &Files) -> String {
    files.iter().map(|(name, text)| format!("# {name}\n{text}")).collect()
}

/// What happened in a life, to count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Rejected,
    Installations,
    Shared,
    Added,
    Removed,
    Renamed,
}

async fn live(seed: u64) -> Result<BTreeMap<Told, usize>, String> {
    let mut rng = Rng::mixed(seed, 17);
    let mut platform = Platform::random(&mut rng);
    let mut told_of = BTreeMap::new();
    let mut count = |what: Told, how_many: usize| *told_of.entry(what).or_insert(0) += how_many;
    let mut scene = Scene { world: World::new(false, std::time::Duration::ZERO), rng };
    let first = platform.written(None);
    let at = |what: String| format!("{what}\n{}", text(&first));
    let documents = match scene.documents(&first).await? {
        Ok(documents) => documents,
        Err(codes) => {
            for _ in 0..3 {
                let turned = platform.written(Some(&mut scene.rng));
                let others = scene.documents(&turned).await?.err();
                if others.as_ref() != Some(&codes) {
                    return Err(at(format!("{codes:?}, and {others:?} in this order:\n{}", text(&turned))));
                }
            }
            count(Told::Rejected, 1);
            return Ok(told_of);
        }
    };
    let plan_of = async |scene: &Scene, documents: &Documents| {
        let plan = scene.world.purlin.plan(documents, PlanOptions::default()).await;
        plan.map_err(|error| format!("{error:?}"))
    };
    let plan = plan_of(&scene, &documents).await.map_err(at)?;
    let graph = plan.graph().map(show).unwrap_or_default();
    let steps = told(&plan);
    let mut last = documents;
    for _ in 0..3 {
        let turned = platform.written(Some(&mut scene.rng));
        let differs = |what: &str| Err(at(format!("{what} in this order:\n{}", text(&turned))));
        let Ok(documents) = scene.documents(&turned).await? else { return differs("rejected") };
        let plan = plan_of(&scene, &documents).await.map_err(at)?;
        let other = plan.graph().map(show).unwrap_or_default();
        if other != graph {
            return differs(&format!("the graph\n{graph}\nis\n{other}\n"));
        }
        let other = told(&plan);
        if other != steps {
            return differs(&format!("the plan\n{steps:#}\nis\n{other:#}\n"));
        }
        last = documents;
    }
    count(Told::Installations, last.resolution().installations.len());
    let claims = last.resolution().installed().iter().map(|one| one.claims.len().max(1) - 1).sum();
    count(Told::Shared, claims);
    if steps.to_string().contains(SECRET) {
        return Err(at(format!("the plan tells a secret: {steps:#}")));
    }
    scene.deploy(last).await.map_err(at)?;
    for _ in 0..3 {
        let (plan, _) = scene.plan(&platform, true).await.map_err(at)?;
        if !plan.is_empty() || !deeds(&plan).is_empty() {
            return Err(at(format!("after it was deployed: {:#}", told(&plan))));
        }
    }
    // Entries come, above and below.
    for name in ["a0", "z0"] {
        let mut more = platform.clone();
        let another = platform.another(&mut scene.rng, name);
        let place = if name == "a0" { 0 } else { more.requires.len() };
        more.requires.insert(place, another);
        let files = more.written(None);
        let Ok(documents) = scene.documents(&files).await? else { continue };
        let plan = plan_of(&scene, &documents).await.map_err(at)?;
        keeps("an entry was added", &plan).map_err(|wrong| at(format!("{wrong}\nNow:\n{}", text(&files))))?;
        count(Told::Added, 1);
        if scene.rng.chance(50) {
            scene.deploy(documents).await.map_err(at)?;
            platform = more;
            let (plan, _) = scene.plan(&platform, true).await.map_err(at)?;
            if !plan.is_empty() {
                return Err(at(format!("the second plan: {:#}\nNow:\n{}", told(&plan), text(&files))));
            }
        }
    }
    // One gets another name. What shares with nobody goes with its name.
    let place = scene.rng.below(platform.requires.len() as u32) as usize;
    let name = platform.requires[place].name.clone();
    if platform.requires[place].group != Group::None && platform.is_free_of(&name) {
        let mut renamed = platform.clone();
        renamed.requires[place].name = "renamed".to_owned();
        let (plan, documents) = scene.plan(&renamed, false).await.map_err(at)?;
        if !deeds(&plan).is_empty() {
            let files = renamed.written(None);
            return Err(at(format!("{name} was renamed: {:#}\nNow:\n{}", told(&plan), text(&files))));
        }
        count(Told::Renamed, 1);
        scene.deploy(documents).await.map_err(at)?;
        platform = renamed;
    }
    // One goes: the others keep what they have.
    let place = scene.rng.below(platform.requires.len() as u32) as usize;
    if platform.requires.len() > 1 && platform.is_free_of(&platform.requires[place].name) {
        let gone = platform.requires.remove(place);
        let (plan, documents) = scene.plan(&platform, false).await.map_err(at)?;
        let asked = documents.resolution().installations.iter().map(|one| one.name.to_string());
        let asked: Vec<String> = asked.map(|name| format!("installation.default#{name}")).collect();
        let wrong = |(action, key): &(Action, String)| match action {
            Action::Delete => asked.contains(key),
            Action::Update => false,
            _ => true,
        };
        let lost: Vec<_> = deeds(&plan).into_iter().filter(wrong).collect();
        let files = platform.written(None);
        if !lost.is_empty() {
            return Err(at(format!("{} is gone: {lost:?}\nNow:\n{}", gone.name, text(&files))));
        }
        count(Told::Removed, 1);
        scene.deploy(documents).await.map_err(at)?;
        let (plan, _) = scene.plan(&platform, true).await.map_err(at)?;
        if !plan.is_empty() {
            return Err(at(format!("the last plan: {:#}\nNow:\n{}", told(&plan), text(&files))));
        }
    }
    Ok(told_of)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_documents_means_nothing() {
    let told = each_seed(6, live).await;
    println!("{told:?}");
    has_all(&told, &[Told::Shared, Told::Added, Told::Removed, Told::Renamed]);
}

/// A database in two versions, and an application that requires it.
const DATABASE: &str = "
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/db, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {v: '${installation.name}'}}
  parameters: [{name: p, type: string, default: d}]
  outputs: [{name: v, type: string}]
---
apiVersion: purlin.dev/v1
kind: Bundle
metadata: {name: acme/app, version: 1.0.0}
spec:
  driver: purlin/echo
  inputs: {values: {v: '${bundle.dependencies.db.outputs.v}'}}
  outputs: [{name: v, type: string}]
  requires: [{name: db, bundle: 'acme/db:v1.0.0'}]
";

/// Deploys requirements one after the other. Returns the steps of the last plan that do something.
async fn one_after_the_other(lives: &[&[&str]]) -> Vec<(Action, String)> {
    let mut scene = Scene { world: World::new(false, std::time::Duration::ZERO), rng: Rng::new(1) };
    let mut last = Vec::new();
    for requires in lives {
        let requires: String = requires.iter().map(|one| format!("    - {one}\n")).collect();
        let head = "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  requires:\n";
        let files = [
            ("bundles.yaml".to_owned(), DATABASE.to_owned()),
            ("app.yaml".to_owned(), head.to_owned() + &requires),
        ];
        let documents = scene.documents(&files.to_vec()).await.expect("no failure").expect("documents");
        let plan = scene.world.purlin.plan(&documents, PlanOptions::default()).await.expect("a plan");
        last = deeds(&plan);
        scene.deploy(documents).await.expect("deployed");
    }
    last
}

#[tokio::test]
async fn an_entry_that_joined_an_installation_keeps_it() {
    let of = |range: &str| format!("bundle: {{reference: acme/db:v1.0.0, version: '{range}'}}");
    let (first, second) = (format!("{{name: c, {}}}", of("1.x")), format!("{{name: z, {}}}", of(">=1.0.0")));
    // Nothing changes when it comes, so that the installation must go on with it.
    let deeds = one_after_the_other(&[&[&first], &[&first, &second], &[&second]]).await;
    assert_eq!(deeds, []);
    let app = "{name: site, bundle: acme/app:v1.0.0}";
    let deeds = one_after_the_other(&[&[app], &[app, &second], &[&second]]).await;
    assert_eq!(deeds, [(Action::Delete, "installation.default#site".to_owned())]);
}

/// A deployment's own requirement is meant by its name in documents, also if the installation with
/// that name went on with others. These still read their own.
#[tokio::test]
async fn requirements_read_the_installation_that_they_have() {
    let (m, changed) =
        ("{name: m, bundle: acme/db:v1.0.0}", "{name: m, bundle: acme/db:v1.0.0, parameters: {p: x}}");
    let site = "{name: site, bundle: acme/app:v1.0.0}";
    let reads = "{name: reads, bundle: acme/db:v1.0.0, parameters: {p: \"${resources['installation#m'].outputs.v}\"}}";
    let deeds = one_after_the_other(&[&[m, site, reads], &[changed, site, reads]]).await;
    let changed = [(Action::Create, "m~2"), (Action::Update, "reads")];
    assert_eq!(deeds, changed.map(|(action, name)| (action, format!("installation.default#{name}"))));
}
