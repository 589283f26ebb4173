//! A folder with a workspace, in which the program checks a driver.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A component built by `cargo xtask drivers`.
pub(crate) fn component(name: &str) -> PathBuf {
    let folder = std::env::var_os("PURLIN_DRIVERS_DIR").map(PathBuf::from).unwrap_or_default();
    let path = folder.join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} is missing; run `cargo xtask drivers` first", path.display());
    path
}

/// A folder of this repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub(crate) struct Bench {
    folder: TempDir,
}

/// The result of a run.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        let output = command.output().expect("run");
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.out, self.err))
    }
}

impl Bench {
    /// `driver` is the text below `drivers` in the workspace. A driver may write to `./data` if
    /// this text grants it.
    pub(crate) fn new(drivers: &str) -> Self {
        let bench = Self { folder: TempDir::new().expect("a folder") };
        std::fs::create_dir(bench.path().join("data")).expect("made");
        let workspace = format!("apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  drivers: {drivers}\n");
        bench.write("purlin.yaml", workspace);
        bench
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file. It takes the place of an existing one at once, so that a watch never reads an
    /// empty one.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let new = self.path().join(".new");
        std::fs::write(&new, content).expect("written");
        std::fs::rename(new, self.path().join(name)).expect("in its place");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purlin"));
        command
            .args(["driver", "check"])
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            // A busy machine must not look like a slow driver.
            .env("PURLIN_DESCRIBE_TIME", "300")
            .env("PURLIN_CANCEL_TIME", "300")
            .env("PURLIN_CUT_TIME", "300")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments))
    }
}

/// The ids of the rules with this status.
#[track_caller]
pub(crate) fn rules(report: &Value, status: &str) -> Vec<String> {
    let rules = report["rules"].as_array().unwrap_or_else(|| panic!("no rules: {report:#}"));
    rules
        .iter()
        .filter(|rule| rule["status"] == status)
        .map(|rule| rule["id"].as_str().expect("an id").to_owned())
        .collect()
}
