//! A project whose real objects can be counted, with drivers that fail, that cannot find their
//! objects, and that draw random values.

use std::path::Path;

use purlin_systems::project::{Project, Ran, ran};
use purlin_systems::tools::component;
use serde_json::Value;

use crate::reality::{self, Real};

/// The project, with resources of these types:
///
/// - `thing`: `{value, fixed, first}`. A change of `fixed` replaces it, and the old one is deleted
///   first if `first` is set.
/// - `odd`: `{do}`. It does what that says, good or bad.
/// - `note`: `{text}`. Its driver cannot find it again.
/// - `password`: a random value.
pub(crate) struct World {
    project: Project,
}

/// The key of a thing.
pub(crate) fn thing(name: &str) -> String {
    format!("thing.default#shared.{name}")
}

/// The placeholder that reads an output of a thing.
pub(crate) fn reads(name: &str, output: &str) -> String {
    format!("\"${{resources['thing.default#shared.{name}'].outputs.{output}}}\"")
}

impl World {
    pub(crate) fn new(shared: &str, lifecycle: &str) -> Self {
        let project = Project::empty();
        std::fs::create_dir(project.path().join("data")).expect("made");
        let mut workspace = String::from(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {app: shop, env: dev}\n  drivers:\n",
        );
        for name in ["ledger", "guests", "blind"] {
            let source = component(name);
            workspace.push_str(&format!(
                "    acme/{name}:\n      source: {}\n      grants: {{dirs: [{{host: ./data, guest: /data, mode: rw}}]}}\n      limits: {{grace: 0s}}\n",
                source.display()
            ));
        }
        project.write("purlin.yaml", workspace);
        let mut definitions = String::new();
        for (kind, driver, inputs) in [
            (
                "thing",
                "acme/ledger",
                "{values: {value: '${params.value}', fixed: '${params.fixed}', first: '${params.first}'}, secrets: {password: correct-horse}}",
            ),
            ("odd", "acme/guests", "{values: {do: '${params.do}'}, secrets: {password: correct-horse}}"),
            ("note", "acme/blind", "{values: {text: '${params.text}'}}"),
            ("password", "purlin/random", "{values: {kind: password, length: 24}}"),
        ] {
            definitions.push_str(&format!(
                "---\napiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: {kind}}}\nspec:\n  type: {kind}\n  driver: {driver}\n  inputs: {inputs}\n  criteria: [{{}}]\n"
            ));
        }
        project.write("definitions.yaml", definitions);
        let world = Self { project };
        world.write(shared, lifecycle);
        world
    }

    /// A world that is already deployed.
    #[track_caller]
    pub(crate) fn deployed(shared: &str, lifecycle: &str) -> Self {
        let world = Self::new(shared, lifecycle);
        world.up();
        world
    }

    /// Replaces the documents: `shared` and `lifecycle` consist of lines `name: …` and `key: …`.
    pub(crate) fn write(&self, shared: &str, lifecycle: &str) {
        let section = |name: &str, lines: &str| {
            let lines: String = lines
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(|line| format!("    {line}\n"))
                .collect();
            if lines.is_empty() { format!("  {name}: {{}}\n") } else { format!("  {name}:\n{lines}") }
        };
        let documents = format!(
            "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {{name: shop}}\nspec:\n{}{}",
            section("shared", shared),
            section("lifecycle", lifecycle)
        );
        self.project.write("deploy.yaml", reality::complete(&documents));
    }

    /// Sets the limits of the drivers, `{grace: 0s}` at first: their systems show everything at once.
    pub(crate) fn set_limits(&self, limits: &str) {
        let text = std::fs::read_to_string(self.path().join("purlin.yaml")).expect("read");
        let lines = text.lines().map(|line| match line.split_once("limits: ") {
            Some((before, _)) => format!("{before}limits: {limits}\n"),
            None => format!("{line}\n"),
        });
        self.project.write("purlin.yaml", lines.collect::<String>());
    }

    pub(crate) fn path(&self) -> &Path {
        self.project.path()
    }

    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.project.run(arguments)
    }

    /// Deploys, and asserts success.
    #[track_caller]
    pub(crate) fn up(&self) {
        self.run(&["up", "--yes"]).status(0);
    }

    /// A plan as JSON.
    #[track_caller]
    pub(crate) fn plan(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = ["plan", "--format", "json"].iter().chain(arguments).copied().collect();
        self.run(&arguments).status(0).json()
    }

    /// The actions of a command with events, in order, as `ACTION NAME`.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str], status: i32) -> Vec<String> {
        let arguments: Vec<&str> = arguments.iter().chain(&["--format", "json"]).copied().collect();
        let events = self.run(&arguments).status(status).events();
        steps_in(&events, "succeeded")
    }

    pub(crate) fn real(&self) -> Real {
        reality::real(self.path())
    }

    /// The number of effects so far: created, changed, deleted.
    pub(crate) fn effects(&self) -> (usize, usize, usize) {
        let count = |what| reality::effects(self.path(), what);
        (count("create"), count("update"), count("delete"))
    }

    /// Changes the value of a real thing without Purlin.
    #[track_caller]
    pub(crate) fn meddle(&self, name: &str, value: &str) {
        let path = self.file(name);
        let mut thing: Value = serde_json::from_slice(&std::fs::read(&path).expect("read")).expect("JSON");
        thing["values"]["value"] = value.into();
        std::fs::write(path, thing.to_string()).expect("written");
    }

    /// The file of the real thing with a name.
    #[track_caller]
    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.path().join("data/things").join(self.id(name))
    }

    /// The recorded id of a thing.
    #[track_caller]
    pub(crate) fn id(&self, name: &str) -> String {
        self.listed(&thing(name))["provider_id"].as_str().expect("an id").to_owned()
    }

    /// The entry of a resource in `state list`.
    #[track_caller]
    pub(crate) fn listed(&self, key: &str) -> Value {
        self.find(key).unwrap_or_else(|| panic!("{key} is not recorded"))
    }

    /// The same, if it is there.
    #[track_caller]
    fn find(&self, key: &str) -> Option<Value> {
        let list = self.run(&["state", "list", "--format", "json"]).status(0).json();
        let resources = list["resources"].as_array().expect("resources").clone();
        resources.into_iter().find(|one| one["key"] == key)
    }

    /// Whether the creation of a resource is pending.
    pub(crate) fn is_pending(&self, key: &str) -> bool {
        // Reading a state repairs the files that a kill left behind, so read a copy.
        let found = self.copy().find(key);
        found.is_some_and(|one| one["status"].as_str().is_some_and(|status| status.contains("pending")))
    }

    /// A copy including the state and the real objects.
    pub(crate) fn copy(&self) -> Self {
        Self { project: self.project.copy() }
    }

    /// A copy in which this command was killed at a crash point, at the first time at which the
    /// world satisfied `like`.
    #[track_caller]
    pub(crate) fn interrupted(&self, arguments: &[&str], place: &str, like: impl Fn(&Self) -> bool) -> Self {
        // Concurrent work may shift the numbers of crash points, so that one is missed.
        for number in (1..60).cycle().take(600) {
            let copy = self.copy();
            let log = copy.path().join("places");
            let mut command = copy.project.command(arguments);
            command.env("PURLIN_CRASH_AT", number.to_string()).env("PURLIN_CRASH_LOG", &log);
            let ended = ran(command);
            let log = std::fs::read_to_string(&log).expect("read");
            if ended.status == -1
                && log.lines().last().is_some_and(|line| line.ends_with(place))
                && like(&copy)
            {
                std::fs::remove_file(copy.path().join("places")).expect("removed");
                return copy;
            }
        }
        panic!("never came to `{place}`");
    }
}

/// `ACTION NAME` of all events of a phase, in order, except for unchanged resources.
pub(crate) fn steps_in(events: &[Value], phase: &str) -> Vec<String> {
    events
        .iter()
        .filter(|event| event["event"] == "resource" && event["phase"] == phase)
        .map(|event| {
            let key = event["key"].as_str().expect("a key");
            let name = key.rsplit_once("shared.").map_or(key, |(_, name)| name);
            let done = event["done"].as_str().or(event["action"].as_str());
            format!("{} {name}", done.expect("an action"))
        })
        .filter(|line| !line.ends_with("#base-env") && !line.starts_with("none "))
        .collect()
}
