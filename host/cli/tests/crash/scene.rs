//! A project whose resources are files that can be counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;
use tempfile::TempDir;

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

/// What is real, by the name of the shared resource: value and what is fixed.
pub(crate) type Real = BTreeMap<String, (String, String)>;

pub(crate) fn ledger() -> PathBuf {
    let folder = std::env::var_os("PURLIN_DRIVERS_DIR").map(PathBuf::from).unwrap_or_default();
    let path = folder.join("ledger.wasm");
    assert!(path.is_file(), "{} is missing; run `cargo xtask drivers` first", path.display());
    path
}

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
            ledger().display()
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
        // Every resource says all of it, so that nothing is read that is not there.
        let full: String = documents
            .lines()
            .map(|line| {
                let mut line = line.to_owned();
                if line.contains("{type: thing, params: {") {
                    for (name, default) in [("fixed", "\"\""), ("first", "false")] {
                        if !line.contains(&format!("{name}:")) {
                            line = line.replacen("params: {", &format!("params: {{{name}: {default}, "), 1);
                        }
                    }
                }
                line + "\n"
            })
            .collect();
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

    /// What is real. Twice under one name is a failure.
    #[track_caller]
    pub(crate) fn real(&self) -> Real {
        let mut real = Real::new();
        let Ok(files) = std::fs::read_dir(self.path().join("data/things")) else { return real };
        for file in files {
            let text = std::fs::read(file.expect("a file").path()).expect("read");
            let thing: Value = serde_json::from_slice(&text).expect("JSON");
            let urn = thing["urn"].as_str().expect("a URN");
            let name = urn.rsplit("shared.").next().unwrap_or(urn).to_owned();
            let text = |field: &str| thing["values"][field].as_str().unwrap_or_default().to_owned();
            let twice = real.insert(name.clone(), (text("value"), text("fixed")));
            assert_eq!(twice, None, "`{name}` is there twice");
        }
        real
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
        let files = std::fs::read_dir(self.path().join("data/things"));
        let mut real: Vec<String> = files
            .into_iter()
            .flatten()
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        real.sort();
        assert_eq!(recorded, real, "what is recorded is what is real");
    }

    /// How many effects of a kind there were.
    pub(crate) fn effects(&self, what: &str) -> usize {
        let effects = std::fs::read_dir(self.path().join("data/effects"));
        let names = effects.into_iter().flatten().map(|file| file.expect("a file").file_name());
        names.filter(|name| name.to_string_lossy().starts_with(what)).count()
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
