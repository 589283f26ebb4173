//! `purlin impact` agrees with `purlin plan` of each environment on random fleets: it accepts and rejects
//! the same, with the same actions on the same resources and the same values before and after.
//!
//! Without `--check`, two things may differ, since they depend on what drivers promise about outputs of
//! resources that are updated in place: a resource that a plan updates only because its inputs may change is
//! no effect, and a value may be unknown that the plan knows.

use std::collections::BTreeMap;

use purlin_systems::{Project, Ran};
use serde_json::{Value, json};

const PURLIN: &str = "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {app: shop}
  environments:
    dev: {type: development}
    stage: {type: staging}
    prod: {type: production}
  drivers:
    purlin/file:
      grants: {secrets: [keys], dirs: [{host: ./out, guest: /out, mode: rw}]}
  secret_stores:
    keys: {file: ./keys}
";

const ENVIRONMENTS: [&str; 3] = ["dev", "stage", "prod"];
const FILES: [&str; 3] = ["platform/a.yaml", "platform/b.yaml", "platform/more/c.yaml"];

/// Numbers from a seed (xorshift).
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn happens(&mut self, in_ten: usize) -> bool {
        self.below(10) < in_ten
    }
}

/// A definition, and the file that it is in.
#[derive(Clone)]
struct Written {
    id: String,
    kind: &'static str,
    criteria: &'static str,
    path: &'static str,
    content: &'static str,
    file: usize,
}

/// The contents of a file: constants, secrets, and outputs of other resources. An update of a file keeps its
/// path and may change its digest; the value of a size is computed.
const CONTENTS: [&str; 6] = [
    "values: {content: one}",
    "values: {content: \"${context.env.type} two\"}",
    "secrets: {content: hunter-one}",
    "secrets: {content: hunter-two}",
    "secret_refs: {content: {store: keys, ref: token}}",
    "secret_refs: {content: {store: keys, ref: other}}",
];
const OF_OTHERS: [&str; 4] = [
    "values: {content: \"${resources['size#shared.size'].outputs.value}\"}",
    "values: {content: \"${resources['db#shared.db'].outputs.path}\"}",
    "values: {content: \"${resources['db#shared.db'].outputs.sha256}\"}",
    "values: {content: \"${resources['db#shared.db'].outputs.path} and ${context.env.id}\"}",
];

impl Written {
    fn random(rng: &mut Rng, kind: &'static str, criteria: &'static str, number: usize) -> Self {
        let id = if number == 0 { kind.to_owned() } else { format!("{kind}-{number}") };
        let mut written =
            Self { id, kind, criteria, path: "", content: CONTENTS[0], file: rng.below(FILES.len()) };
        written.change(rng);
        written
    }

    fn change(&mut self, rng: &mut Rng) {
        self.path = rng.pick(&["", "", "-a"]);
        self.content = match self.kind {
            "size" => rng.pick(&["small", "large"]),
            "db" => rng.pick(&CONTENTS),
            _ if rng.happens(5) => rng.pick(&OF_OTHERS),
            _ => rng.pick(&CONTENTS),
        };
    }

    fn text(&self) -> String {
        let Self { id, kind, criteria, path, content, .. } = self;
        let path = format!("path: \"/out/${{context.env.id}}-{kind}{path}\"");
        let (driver, inputs) = match content.strip_prefix("values: {") {
            _ if *kind == "size" => {
                ("template", format!("values: {{templates: {{outputs: \"value: {content}\"}}}}"))
            }
            Some(content) => ("file", format!("values: {{{path}, {content}")),
            None => ("file", format!("values: {{{path}}}\n    {content}")),
        };
        format!(
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: {id}}}\nspec:\n  type: {kind}\n  driver: \
             purlin/{driver}\n  inputs:\n    {inputs}\n  criteria: [{criteria}]\n---\n"
        )
    }
}

/// One definition of each type that always matches, and perhaps another one.
fn platform(rng: &mut Rng) -> Vec<Written> {
    let mut all = Vec::new();
    for kind in ["size", "db", "cache", "queue"] {
        all.push(Written::random(rng, kind, "{}", 0));
        if rng.happens(4) {
            let criteria = ["{env_type: production}", "{env_id: stage}", "{app_id: other}"];
            let criteria = rng.pick(&criteria);
            all.push(Written::random(rng, kind, criteria, 1));
        }
    }
    all
}

/// A change as people make it: other inputs, definitions in other files, under other names, removed, or
/// matching otherwise.
fn edit(rng: &mut Rng, all: &mut Vec<Written>) {
    for _ in 0..=rng.below(3) {
        let at = rng.below(all.len());
        match rng.below(12) {
            0..5 => all[at].change(rng),
            5..8 => all[at].file = rng.below(FILES.len()),
            8 => {
                let to = rng.below(FILES.len());
                all.iter_mut().for_each(|one| one.file = to);
            }
            9 => all[at].id.push_str("-renamed"),
            10 => {
                all.remove(at);
            }
            _ => all[at].criteria = rng.pick(&["{env_type: prodction}", "{env_type: staging}", "{}"]),
        }
    }
}

fn write(project: &Project, all: &[Written], rng: &mut Rng) {
    for (number, file) in FILES.iter().enumerate() {
        let text: String = all.iter().filter(|one| one.file == number).map(Written::text).collect();
        match text.is_empty() && rng.happens(6) {
            true => drop(std::fs::remove_file(project.path().join(file))),
            // An emptied file stays.
            false => project.write(file, text),
        }
    }
}

/// What happens in an environment: the codes of the faults, or the steps of the resources that change.
#[derive(Debug, PartialEq)]
enum Effect {
    Rejected(Vec<String>),
    Steps(BTreeMap<String, Value>),
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

fn steps(steps: &Value) -> Effect {
    let changed = steps.as_array().expect("steps").iter().filter(|step| step["action"] != "none");
    Effect::Steps(changed.map(|step| (text(step, "key"), step.clone())).collect())
}

fn rejected(faults: &Value) -> Effect {
    let mut codes: Vec<String> =
        faults.as_array().expect("faults").iter().map(|fault| text(fault, "code")).collect();
    codes.sort_unstable();
    Effect::Rejected(codes)
}

fn of_plan(ran: &Ran) -> Effect {
    match ran.status {
        0 => steps(&ran.json()["steps"]),
        2 => rejected(&ran.json()["error"]["diagnostics"]),
        _ => panic!("{ran:?}"),
    }
}

/// The effect on each environment that is affected.
fn of_impact(ran: &Ran) -> BTreeMap<String, Effect> {
    let mut events = ran.events();
    let summary = events.pop().expect("a summary");
    let all_rejected = summary["rejected"] != 0
        && summary["rejected"].as_u64().zip(summary["unchanged"].as_u64()).map(|(a, b)| a + b)
            == summary["environments"].as_u64();
    assert_eq!(ran.status, if all_rejected { 3 } else { 0 }, "{ran:?}");
    let effect = |event: &Value| match event["effect"] == "rejected" {
        true => rejected(&event["faults"]),
        false => steps(&event["resources"]),
    };
    events.iter().map(|event| (text(event, "env"), effect(event))).collect()
}

fn changes(step: &Value) -> &[Value] {
    step["changes"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether the step of an impact that calls no driver has the action and the values of a plan, or does not know
/// a value that the plan may know because a driver promises it.
fn is_like(impact: &Value, plan: &Value) -> bool {
    let is_unknown = |change: &Value| change["unknown"] == true;
    let agrees = |one: &Value, other: &Value| {
        let same = |field: &str| one[field] == other[field];
        same("path") && same("before") && same("replaces") && (same("after") || is_unknown(one))
    };
    let of_impact = |other: &&Value| changes(impact).iter().any(|one| agrees(one, other));
    impact["action"] == plan["action"]
        && changes(plan).iter().filter(|change| !is_unknown(change)).all(|change| of_impact(&change))
        && changes(impact).iter().all(|one| changes(plan).iter().any(|other| agrees(one, other)))
}

/// Whether an impact that calls no driver agrees with a plan.
fn agrees_without_drivers(impact: Option<&Effect>, plan: &Effect) -> bool {
    let none = BTreeMap::new();
    let (impact, plan) = match (impact, plan) {
        (Some(Effect::Steps(impact)), Effect::Steps(plan)) => (impact, plan),
        (None, Effect::Steps(plan)) => (&none, plan),
        (impact, plan) => return impact == Some(plan),
    };
    let agrees = |(key, step): (&String, &Value)| match impact.get(key) {
        Some(own) => is_like(own, step),
        None => step["action"] == "update" && changes(step).iter().all(|change| change["unknown"] == true),
    };
    plan.iter().all(agrees) && impact.keys().all(|key| plan.contains_key(key))
}

#[derive(Default)]
struct Seen {
    affected: usize,
    rejected: usize,
    accepted_moves: usize,
    unknown: usize,
    secret: usize,
}

/// Compares the impact of one random change on one random fleet with the plans of its environments.
fn compare(seed: u64, seen: &mut Seen) {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
    let project = Project::with(&[("purlin.yaml", PURLIN)]);
    std::fs::create_dir(project.path().join("out")).expect("made");
    project.write("keys/token", "hunter-token");
    project.write("keys/other", "hunter-other");
    let mut all = platform(&mut rng);
    write(&project, &all, &mut rng);
    for env in ENVIRONMENTS {
        let types: Vec<&str> =
            ["db", "cache", "queue"].into_iter().filter(|kind| *kind == "db" || rng.happens(6)).collect();
        let shared: serde_json::Map<String, Value> =
            types.iter().map(|one| ((*one).to_owned(), json!({"type": one}))).collect();
        let deployment =
            json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": shared}});
        let app = format!("apps/{env}.yaml");
        project.write(&app, deployment.to_string());
        let _ = project.run(&["up", "--yes", "--env", env, "platform", &app]).status(0);
    }
    let files =
        |all: &[Written]| all.iter().map(|one| (one.id.clone(), one.file)).collect::<BTreeMap<_, _>>();
    let before = files(&all);
    edit(&mut rng, &mut all);
    write(&project, &all, &mut rng);
    let has_moved = files(&all).iter().any(|(id, file)| before.get(id).is_some_and(|then| then != file));

    let plan = |env: &str| {
        let app = format!("apps/{env}.yaml");
        project.run(&["plan", "--env", env, "--format", "json", "platform", &app])
    };
    let plans: Vec<(&str, Ran)> = ENVIRONMENTS.iter().map(|env| (*env, plan(env))).collect();
    let checked = project.run(&["impact", "--check", "--format", "json", "platform"]);
    let described = project.run(&["impact", "--format", "json", "platform"]);
    for ran in plans.iter().map(|(_, ran)| ran).chain([&checked, &described]) {
        assert!(!ran.out.contains("hunter"), "seed {seed}: a secret is shown\n{}", ran.out);
    }
    let (with_drivers, without) = (of_impact(&checked), of_impact(&described));
    for (env, ran) in &plans {
        let plan = of_plan(ran);
        let about = format!("seed {seed}, {env}: {ran:?}\n--check: {checked:?}\nwithout: {described:?}");
        match with_drivers.get(*env) {
            Some(effect) => assert_eq!(*effect, plan, "{about}"),
            None => assert_eq!(plan, Effect::Steps(BTreeMap::new()), "{about}"),
        }
        assert!(agrees_without_drivers(without.get(*env), &plan), "{about}");
        match plan {
            Effect::Rejected(_) => seen.rejected += 1,
            Effect::Steps(steps) => {
                seen.affected += usize::from(!steps.is_empty());
                seen.accepted_moves += usize::from(has_moved);
                let has = |field: &str| ran.out.contains(&format!("\"{field}\": true"));
                seen.unknown += usize::from(has("unknown"));
                seen.secret += usize::from(has("secret"));
            }
        }
    }
}

#[test]
fn an_impact_agrees_with_the_plans_of_random_fleets() {
    let fleets =
        std::env::var("PURLIN_IMPACT_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(64_u64);
    let mut seen = Seen::default();
    (0..fleets).for_each(|seed| compare(seed, &mut seen));
    if fleets >= 60 {
        let Seen { affected, rejected, accepted_moves, unknown, secret } = seen;
        for (what, count) in [
            ("affected environment", affected),
            ("rejected environment", rejected),
            ("accepted move", accepted_moves),
            ("unknown value", unknown),
            ("secret value", secret),
        ] {
            assert!(count > 4, "the fleets have {count} times one {what}");
        }
    }
}
