//! A project whose resources are files that can be counted.

use std::path::Path;
use std::process::{Command, ExitStatus};

use purlin_systems::Project;
use purlin_systems::tools::component;
use serde_json::Value;

use crate::disk::{self, Tree};
use crate::heads;
use crate::reality::{self, Real};

/// A folder with documents, a state, and the real objects.
pub(crate) struct Scene {
    pub(crate) project: Project,
}

/// Three resources that read one another, an independent one, and one that is deleted before it is
/// replaced.
pub(crate) const BEFORE: &str = "
    a: {type: thing, params: {value: a1, quiet: true}}
    b: {type: thing, params: {value: \"of ${resources['thing.default#shared.a'].outputs.value}\"}}
    c: {type: thing, params: {value: c1, fixed: \"${resources['thing.default#shared.b'].outputs.value}\"}}
    d: {type: thing, params: {value: d1, fixed: f1, first: true}}
    e: {type: thing, params: {value: \"${resources['thing.default#shared.d'].outputs.fixed}\"}}
    f: {type: thing, params: {value: f1, quiet: true}}
    g: {type: thing, params: {value: \"${resources['thing.default#shared.f'].outputs.value}\"}}
";

/// `a` changes and with it `b`, which replaces `c`; `d` is replaced, deleted first, and `e`
/// follows; `f` and `g` are deleted; `h` is created.
pub(crate) const AFTER: &str = "
    a: {type: thing, params: {value: a2, quiet: true}}
    b: {type: thing, params: {value: \"of ${resources['thing.default#shared.a'].outputs.value}\"}}
    c: {type: thing, params: {value: c1, fixed: \"${resources['thing.default#shared.b'].outputs.value}\"}}
    d: {type: thing, params: {value: d1, fixed: f2, first: true}}
    e: {type: thing, params: {value: \"${resources['thing.default#shared.d'].outputs.fixed}\"}}
    h: {type: thing, params: {value: \"${resources['thing.default#shared.e'].outputs.value}\", quiet: true}}
";

impl Scene {
    pub(crate) fn new(shared: &str) -> Self {
        let scene = Self { project: Project::empty() };
        std::fs::create_dir(scene.path().join("data")).expect("made");
        let workspace = format!(
            "apiVersion: purlin.dev/v1
kind: Workspace
spec:
  defaults: {{app: shop, env: dev}}
  drivers:
    acme/ledger:
      source: {}
      grants: {{dirs: [{{host: ./data, guest: /data, mode: rw}}]}}
      limits: {{grace: 0s}}
",
            component("ledger").display()
        );
        scene.project.write("purlin.yaml", workspace);
        scene.write(shared);
        scene
    }

    /// A folder with the remains of another one after a kill or a power failure.
    pub(crate) fn of(tree: &Tree) -> Self {
        let scene = Self { project: Project::empty() };
        disk::write(tree, scene.path());
        heads::renew(scene.path());
        scene
    }

    /// Writes the documents.
    pub(crate) fn write(&self, shared: &str) {
        let documents = format!(
            "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: thing}}
spec:
  type: thing
  driver: acme/ledger
  inputs:
    values:
      value: ${{params.value}}
      fixed: ${{params.fixed}}
      first: ${{params.first}}
      quiet: ${{params.quiet}}
      keeps: 2000
    secrets: {{password: correct-horse}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Deployment
metadata: {{name: shop}}
spec:
  shared:
{shared}"
        );
        self.project.write("documents.yaml", reality::complete(&documents));
    }

    pub(crate) fn path(&self) -> &Path {
        self.project.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.project.command(arguments)
    }

    /// Runs a command to its end, and asserts success.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        self.project.purlin(arguments).out
    }

    /// Runs a command until it succeeds, as a user would who checks the real objects. If the driver
    /// finds only one of two objects with the same name, it is not known whether the new one of a
    /// replacement was created next to the old one.
    #[track_caller]
    pub(crate) fn finish(&self, arguments: &[&str]) {
        loop {
            let ran = self.project.run(arguments);
            if ran.status == 0 {
                return;
            }
            let open: Vec<&str> = ran
                .err
                .match_indices("`purlin state settle ")
                .filter_map(|(at, before)| ran.err[at + before.len()..].split('`').next())
                .collect();
            // A repair may report that something was lost.
            if arguments.starts_with(&["state", "repair"]) && ran.status == 1 {
                return;
            }
            assert!(!open.is_empty(), "{ran}");
            let key = open[0].trim_matches('\'');
            let name = key.rsplit("shared.").next().expect("a name");
            let recorded = self.run(&["state", "list", "--format", "json"]);
            let unknown = reality::ids_of(self.path(), name).into_iter().find(|id| !recorded.contains(id));
            match unknown {
                Some(id) => self.run(&["state", "settle", key, "--made", &id]),
                None => self.run(&["state", "settle", key, "--not-made"]),
            };
        }
    }

    /// The real objects.
    #[track_caller]
    pub(crate) fn real(&self) -> Real {
        reality::real(self.path())
    }

    /// Asserts that the ids of real objects and the recorded ids are the same, so that nothing is
    /// forgotten.
    #[track_caller]
    pub(crate) fn agrees(&self) {
        assert_eq!(self.recorded(), self.ids(), "what is recorded is what is real");
    }

    /// The recorded ids, sorted.
    #[track_caller]
    pub(crate) fn recorded(&self) -> Vec<String> {
        let listed = self.json(&["state", "list", "--format", "json"]);
        let mut recorded: Vec<String> = listed["resources"]
            .as_array()
            .expect("resources")
            .iter()
            .filter(|resource| resource["driver"].as_str().is_some_and(|d| d.starts_with("acme/ledger")))
            .map(|resource| resource["provider_id"].as_str().unwrap_or("not known yet").to_owned())
            .collect();
        recorded.sort();
        recorded
    }

    /// The ids of the real objects, sorted.
    pub(crate) fn ids(&self) -> Vec<String> {
        reality::ids(self.path())
    }

    /// Runs a command to its end, asserts success, and parses its output.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.project.purlin(arguments).json()
    }

    /// The number of effects of a kind.
    pub(crate) fn effects(&self, what: &str) -> usize {
        reality::effects(self.path(), what)
    }
}

/// Whether a process was killed.
pub(crate) fn was_killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(9)
}
