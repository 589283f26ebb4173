//! A folder with documents, in which tests run the program.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long an operation may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A project, deleted at the end of the test.
pub(crate) struct Project {
    folder: TempDir,
}

/// The result of a run.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Asserts the exit status.
    #[track_caller]
    pub(crate) fn status(self, status: i32) -> Self {
        assert_eq!(self.status, status, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// The JSON document on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.out, self.err))
    }

    /// The JSON documents on standard output, one per line.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }
}

impl Project {
    /// An empty project.
    pub(crate) fn empty() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    /// A project with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::empty();
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    /// The project that `purlin init` writes.
    pub(crate) fn new() -> Self {
        let project = Self::empty();
        project.run(&["init", "--app", "shop"]).status(0);
        project
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file. It takes the place of an existing one at once, so that a program that reads
    /// it meanwhile finds one of the two, and never an empty one.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        // The program does not read files with such names.
        let new = self.path().join(".new");
        std::fs::write(&new, content).expect("written");
        if let Ok(before) = path.metadata() {
            std::fs::set_permissions(&new, before.permissions()).expect("the same permissions");
        }
        std::fs::rename(new, path).expect("in its place");
    }

    /// Replaces text in a file.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path().join(name)).expect("read");
        assert!(text.contains(from), "`{from}` is in {name}");
        self.write(name, text.replace(from, to));
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purlin"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("USER", "ada")
            // A busy machine must not look like a slow driver.
            .env("PURLIN_DESCRIBE_TIME", "300")
            // All tests share the cache of compiled drivers.
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments))
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    }

    /// Whether there is a state.
    pub(crate) fn has_state(&self) -> bool {
        self.path().join(".purlin").exists()
    }

    /// The recorded keys.
    pub(crate) fn recorded(&self) -> Vec<String> {
        let listed = self.run(&["state", "list", "--format", "json"]).status(0).json();
        let resources = listed["resources"].as_array().expect("resources").clone();
        resources.iter().map(|resource| resource["key"].as_str().expect("a key").to_owned()).collect()
    }
}

pub(crate) fn ran(mut command: Command) -> Ran {
    finished(command.output().expect("run"))
}

/// Waits for a process and returns its result.
pub(crate) fn ran_with(child: Child) -> Ran {
    finished(child.wait_with_output().expect("run"))
}

/// Reads a stream of a running program up to the first occurrence of a text.
#[track_caller]
pub(crate) fn read_until(stream: &mut impl BufRead, text: &str) {
    let (mut output, last) = (Vec::new(), *text.as_bytes().last().expect("a text"));
    while !output.ends_with(text.as_bytes()) {
        let length = stream.read_until(last, &mut output).expect("read");
        assert!(length > 0, "`{text}` did not come: {}", String::from_utf8_lossy(&output));
    }
}

/// Sends a signal, such as `-INT`, to a process.
#[track_caller]
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Waits until a process ends.
#[track_caller]
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        match child.try_wait().expect("waited") {
            Some(status) => return status,
            None if begun.elapsed() > PATIENCE => panic!("it does not end"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn finished(output: Output) -> Ran {
    Ran {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A test driver that does whatever its inputs say, good or bad.
pub(crate) fn adversary() -> PathBuf {
    let folder = std::env::var_os("PURLIN_DRIVERS_DIR").map(PathBuf::from).unwrap_or_default();
    let path = folder.join("guests.wasm");
    assert!(path.is_file(), "{} is missing; run `cargo xtask drivers` first", path.display());
    path
}

/// A workspace with this test driver, and a definition of `thing` that uses it.
pub(crate) fn adversarial(values: &str, limits: &str) -> Project {
    Project::with(&[
        (
            "purlin.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{app: shop, env: dev}}\n  drivers:\n    acme/guests:\n      source: {}\n      limits: {limits}\n",
                adversary().display()
            ),
        ),
        (
            "things.yaml",
            &format!(
                "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {{id: thing}}\nspec:\n  type: thing\n  driver: acme/guests\n  inputs:\n    values: {values}\n    secrets: {{password: correct-horse}}\n  criteria: [{{}}]\n"
            ),
        ),
        (
            "deploy.yaml",
            "apiVersion: purlin.dev/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  shared:\n    one: {type: thing}\n    two: {type: dns}\n",
        ),
        (
            "dns.yaml",
            "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: dns}\nspec:\n  type: dns\n  driver: purlin/echo\n  inputs: {values: {host: example.test}}\n  criteria: [{}]\n",
        ),
    ])
}
