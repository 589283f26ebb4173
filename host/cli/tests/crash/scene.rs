//! A project whose resources are files that can be counted.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::reality::{self, Real};

/// A folder with documents, a state, and the real things.
pub(crate) struct Scene {
    folder: TempDir,
}

/// Three that read one another, one beside them, and one that is deleted before it is replaced.
pub(crate) const BEFORE: &str = "
    a: {type: thing, params: {value: a1}}
    b: {type: thing, params: {value: \"of ${resources['thing.default#shared.a'].outputs.value}\"}}
    c: {type: thing, params: {value: c1, fixed: \"${resources['thing.default#shared.b'].outputs.value}\"}}
    d: {type: thing, params: {value: d1, fixed: f1, first: true}}
    e: {type: thing, params: {value: \"${resources['thing.default#shared.d'].outputs.fixed}\"}}
    f: {type: thing, params: {value: f1}}
    g: {type: thing, params: {value: \"${resources['thing.default#shared.f'].outputs.value}\"}}
";

/// `a` changes and `b` with it, which replaces `c`; `d` is replaced, deleted first, and `e` follows;
/// `f` and `g` go; `h` comes.
pub(crate) const AFTER: &str = "
    a: {type: thing, params: {value: a2}}
    b: {type: thing, params: {value: \"of ${resources['thing.default#shared.a'].outputs.value}\"}}
    c: {type: thing, params: {value: c1, fixed: \"${resources['thing.default#shared.b'].outputs.value}\"}}
    d: {type: thing, params: {value: d1, fixed: f2, first: true}}
    e: {type: thing, params: {value: \"${resources['thing.default#shared.d'].outputs.fixed}\"}}
    h: {type: thing, params: {value: \"${resources['thing.default#shared.e'].outputs.value}\"}}
";

impl Scene {
    pub(crate) fn new(shared: &str) -> Self {
        let scene = Self { folder: TempDir::new().expect("a folder") };
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
",
            reality::driver("ledger").display()
        );
        std::fs::write(scene.path().join("purlin.yaml"), workspace).expect("written");
        scene.write(shared);
        scene
    }

    /// The same, copied with its state and its real things.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self { folder: TempDir::new().expect("a folder") };
        let from = format!("{}/.", self.path().display());
        let copied = Command::new("cp").arg("-a").arg(from).arg(copy.path()).status().expect("cp");
        assert!(copied.success());
        // So that it does not know that it is a copy: then everything would be read first.
        for place in std::fs::read_dir(copy.path().join(".purlin/environments")).into_iter().flatten() {
            let _ = std::fs::remove_file(place.expect("an entry").path().join("head"));
        }
        copy
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
        let full = reality::complete(&documents);
        std::fs::write(self.path().join("documents.yaml"), full).expect("written");
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purlin"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .stdin(Stdio::null());
        command
    }

    /// Runs to the end, which is good.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("run");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {}\n{out}\n{err}", output.status);
        out.into_owned()
    }

    /// Runs to the end, as often as it takes a person who looks at what is real: whether the new one of a
    /// replacement was made beside the old one is not known where the driver finds only one of two with the
    /// same name.
    #[track_caller]
    pub(crate) fn finish(&self, arguments: &[&str]) {
        loop {
            let output = self.command(arguments).output().expect("run");
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                return;
            }
            let open: Vec<&str> = err
                .match_indices("`purlin state settle ")
                .filter_map(|(at, before)| err[at + before.len()..].split('`').next())
                .collect();
            assert!(!open.is_empty(), "{arguments:?}: {}\n{err}", output.status);
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

    /// Runs with a kill at this place; says whether it came to that.
    pub(crate) fn killed_at(&self, arguments: &[&str], place: u64) -> bool {
        let mut command = self.command(arguments);
        command.env("PURLIN_CRASH_AT", place.to_string());
        command.env("PURLIN_CRASH_LOG", self.path().join("places"));
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("run");
        let killed = was_killed(status);
        assert!(killed || status.success(), "place {place}: {status}");
        killed
    }

    /// The place at which it was killed, in words.
    pub(crate) fn place(&self) -> String {
        let log = std::fs::read_to_string(self.path().join("places")).unwrap_or_default();
        log.lines().last().unwrap_or_default().to_owned()
    }

    /// What is real.
    #[track_caller]
    pub(crate) fn real(&self) -> Real {
        reality::real(self.path())
    }

    /// Ids of what is real, and ids on record: the same, when nothing is forgotten.
    #[track_caller]
    pub(crate) fn agrees(&self) {
        let listed: Value =
            serde_json::from_str(&self.run(&["state", "list", "--format", "json"])).expect("JSON");
        let mut recorded: Vec<String> = listed["resources"]
            .as_array()
            .expect("resources")
            .iter()
            .filter(|resource| resource["driver"].as_str().is_some_and(|d| d.starts_with("acme/ledger")))
            .map(|resource| resource["provider_id"].as_str().expect("an id").to_owned())
            .collect();
        recorded.sort();
        assert_eq!(recorded, reality::ids(self.path()), "what is recorded is what is real");
    }

    /// How many effects of a kind there were.
    pub(crate) fn effects(&self, what: &str) -> usize {
        reality::effects(self.path(), what)
    }
}

/// Whether a process was ended by force.
pub(crate) fn was_killed(status: ExitStatus) -> bool {
    #[cfg(unix)]
    {
        std::os::unix::process::ExitStatusExt::signal(&status) == Some(9)
    }
    #[cfg(not(unix))]
    {
        !status.success()
    }
}
