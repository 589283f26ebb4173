//! Checks the promises after a command was interrupted, and after it has run again.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

use crate::cases::{Case, Compared};
use crate::disk::{self, Thing, Tree};
use crate::scene::Scene;

/// The result of an undisturbed run.
pub(crate) struct End {
    seen: Value,
    created: usize,
    agrees: bool,
    whole: bool,
}

/// What a command had acknowledged when it was interrupted: events of resources, and its success.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Acknowledged {
    there: BTreeSet<String>,
    gone: BTreeSet<String>,
    pub(crate) all: bool,
}

impl fmt::Display for Acknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.there.iter().try_for_each(|key| writeln!(f, "there {key}"))?;
        self.gone.iter().try_for_each(|key| writeln!(f, "gone {key}"))?;
        if self.all { writeln!(f, "all") } else { Ok(()) }
    }
}

impl Acknowledged {
    /// Reads the recorded form.
    pub(crate) fn read(text: &str) -> Self {
        let all =
            |word: &str| text.lines().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect();
        Self { there: all("there "), gone: all("gone "), all: text.lines().any(|line| line == "all") }
    }

    /// Adds the events in a piece of output.
    pub(crate) fn add_events(&mut self, output: &[u8]) {
        for line in String::from_utf8_lossy(output).lines() {
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
            let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
            if text("phase") != "succeeded" {
                continue;
            }
            let key = text("key");
            match text("action").as_str() {
                "create" | "update" | "adopt" => drop((self.gone.remove(&key), self.there.insert(key))),
                "delete" => drop((self.there.remove(&key), self.gone.insert(key))),
                _ => {}
            }
        }
    }
}

impl End {
    pub(crate) fn of(case: &Case, scene: &Scene) -> Self {
        Self {
            seen: seen(case, scene),
            created: scene.effects("create"),
            agrees: case.compared != Compared::Files && scene.recorded() == scene.ids(),
            whole: is_whole(scene),
        }
    }
}

/// Checks all promises about the remains of a kill or a power failure.
pub(crate) fn check(case: &Case, end: &End, tree: &Tree, acknowledged: &Acknowledged) {
    let scene = Scene::of(tree);
    // A damaged state is not read before it is repaired.
    let damaged = case.name.starts_with("state-repair");
    if !damaged && case.compared != Compared::Files {
        let (now, last) = (list(&scene), &end.seen["list"]);
        for key in acknowledged.there.iter().filter(|key| has(last, key)) {
            assert!(has(&now, key), "`{key}` was reported as existing and is not recorded");
        }
        // In a replacement, the old resource is deleted, but the key stays recorded.
        for key in acknowledged.gone.iter().filter(|key| !has(last, key)) {
            assert!(!has(&now, key), "`{key}` was reported as deleted and is recorded");
        }
    }
    let done = (!damaged || acknowledged.all) && seen(case, &scene) == end.seen;
    if acknowledged.all && !case.only_writes_files() {
        same("the command reported success", &seen(case, &scene), &end.seen);
    }
    if !done {
        scene.finish(&case.again());
        same("after the command was run again", &seen(case, &scene), &end.seen);
    }
    if end.agrees {
        assert_eq!(scene.recorded(), scene.ids(), "what is recorded is what is real");
    }
    let created = scene.effects("create");
    assert!(created <= end.created, "{created} were made, and {} without a kill", end.created);
    assert!(is_whole(&scene) || !end.whole, "`purlin state repair --check` finds something");
    if let Compared::With(_, Some(proof)) = case.compared {
        scene.run(proof);
    }
}

/// Whether `state repair --check` finds nothing, or there is no state.
fn is_whole(scene: &Scene) -> bool {
    !scene.path().join(".purlin").exists() || scene.project.run(&["state", "repair", "--check"]).status == 0
}

/// Fails with the first difference.
#[track_caller]
fn same(when: &str, now: &Value, end: &Value) {
    fn differ(path: String, one: &Value, other: &Value) -> Option<String> {
        let deeper: Option<Vec<(String, &Value, &Value)>> = match (one, other) {
            (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => Some(
                one.iter().map(|(name, value)| (format!("{path}/{name}"), value, &other[name])).collect(),
            ),
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                let pairs = one.iter().zip(other).enumerate();
                Some(pairs.map(|(number, (one, other))| (format!("{path}/{number}"), one, other)).collect())
            }
            _ => None,
        };
        match deeper {
            Some(deeper) => deeper.into_iter().find_map(|(path, one, other)| differ(path, one, other)),
            None => (one != other).then(|| format!("{path} is {one}, and {other} where nothing cuts off")),
        }
    }
    if let Some(difference) = differ(String::new(), now, end) {
        panic!("{when}: {difference}");
    }
}

/// Whether a resource is in a list.
fn has(list: &Value, key: &str) -> bool {
    let mut resources = list["resources"].as_array().into_iter().flatten();
    resources.any(|resource| resource["key"] == key)
}

/// Everything that is compared with an undisturbed run.
fn seen(case: &Case, scene: &Scene) -> Value {
    if case.compared == Compared::Files {
        return files(scene, "", true);
    }
    let list = list(scene);
    let environments = scene.json(&["env", "list", "--format", "json"]);
    let plan = scene.json(&["plan", "--format", "json"]);
    let all = environments["environments"].as_array().into_iter().flatten();
    let resources: Vec<&Value> = all.map(|environment| &environment["resources"]).collect();
    let mut seen = json!({
        "list": list,
        "real": crate::reality::things(scene.path()),
        "closed": !environments["environments"][0]["closed"].is_null(),
        "plan": plan["summary"],
        "resources": resources,
    });
    if let Compared::With(path, proof) = case.compared {
        seen["files"] = files(scene, path, proof.is_none());
    }
    seen
}

/// The files at a path, with those contents that are always the same.
fn files(scene: &Scene, path: &str, contents: bool) -> Value {
    let mut tree = disk::read(scene.path());
    // A temporary file that a kill left does not matter.
    let is_beside =
        |at: &Path| at.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".purlin-"));
    tree.retain(|at, _| at.starts_with(path) && !is_beside(at));
    let files = tree.iter().map(|(at, thing)| {
        let content = match thing {
            Thing::File { content, .. } if contents => String::from_utf8_lossy(content).into_owned(),
            _ => String::new(),
        };
        (at.display().to_string(), content.into())
    });
    Value::Object(files.collect())
}

/// The recorded resources, without the part of each id that differs each time.
fn list(scene: &Scene) -> Value {
    let mut list = scene.json(&["state", "list", "--format", "json"]);
    for one in list["resources"].as_array_mut().into_iter().flatten() {
        if let Some((name, _)) = one["provider_id"].as_str().and_then(|id| id.rsplit_once('-')) {
            one["provider_id"] = name.to_owned().into();
        }
    }
    list
}
