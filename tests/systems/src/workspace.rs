//! A folder with documents in which the real program runs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::tools;

/// How long one run of the program may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// A folder with documents.
#[derive(Debug)]
pub struct Workspace {
    folder: TempDir,
}

/// A finished run of the program.
#[derive(Clone, Debug)]
pub struct Done {
    /// The command.
    pub command: String,
    /// Its exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// Its output on standard output.
    pub stdout: String,
    /// Its output on standard error.
    pub stderr: String,
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// An empty one.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// One with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Self::new();
        for (path, text) in files {
            workspace.write(path, text);
        }
        workspace
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// A path in it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program, ready to run here. Compiled drivers are shared by all tests.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.folder.path());
        command.env("NO_COLOR", "1").env("XDG_CACHE_HOME", tools::root().join("target/tmp/systems"));
        // A busy machine must not look like a slow driver.
        command.env("PURLIN_DESCRIBE_TIME", "300").env("PURLIN_CANCEL_TIME", "300");
        command
    }

    /// Starts the program and does not wait.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        // Files, not pipes: they need no reader while it runs.
        let file = |name: &str| std::fs::File::create(self.path(name)).expect("a file");
        command.stdin(Stdio::null()).stdout(file(".stdout")).stderr(file(".stderr"));
        command.spawn().expect("the program starts")
    }

    /// Waits for a program that [`Workspace::start`] started.
    pub fn finish(&self, mut child: Child, arguments: &[&str]) -> Done {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a status") {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                panic!("purlin {arguments:?} does not end:\n{}", self.printed(".stderr"));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Done {
            command: format!("purlin {}", arguments.join(" ")),
            status: status.code(),
            stdout: self.printed(".stdout"),
            stderr: self.printed(".stderr"),
        }
    }

    fn printed(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path(name)).unwrap_or_default()).into_owned()
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Done {
        let child = self.start(arguments);
        self.finish(child, arguments)
    }

    /// Runs the program, which must succeed.
    #[track_caller]
    pub fn purlin(&self, arguments: &[&str]) -> Done {
        self.run(arguments).expect(0)
    }
}

impl Done {
    /// Itself, if it ended with this status.
    ///
    /// # Panics
    /// If it did not; with all its output.
    #[track_caller]
    #[must_use = "or take what it printed"]
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self}");
        self
    }

    /// Itself, if it printed this text, on either stream.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    #[allow(clippy::must_use_candidate)]
    pub fn prints(self, text: &str) -> Self {
        assert!(self.has(text), "`{text}` is not printed: {self}");
        self
    }

    /// Whether it printed this text, on either stream.
    pub fn has(&self, text: &str) -> bool {
        // Lines are wrapped to the terminal's width.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        flat(&format!("{} {}", self.stdout, self.stderr)).contains(&flat(text))
    }

    /// Its standard output, as one JSON document.
    ///
    /// # Panics
    /// If it is invalid.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { command, status, stdout, stderr } = self;
        write!(f, "`{command}` ended with {status:?}\n-- stdout\n{stdout}\n-- stderr\n{stderr}")
    }
}

/// The program: the one named by `PURLIN`, or the one that was built with these tests.
fn program() -> PathBuf {
    let built = || {
        let tests = std::env::current_exe().expect("a path of this test");
        // target/debug/deps/TEST
        tests.ancestors().nth(2).expect("a target folder").join("purlin")
    };
    let program = std::env::var_os("PURLIN").map_or_else(built, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is missing; `cargo build --workspace --bin purlin` builds it",
        program.display()
    );
    program
}

/// The component of a driver, by the name of its folder in `drivers/`.
pub fn component(driver: &str) -> PathBuf {
    let folder = std::env::var_os("PURLIN_DRIVERS_DIR")
        .map_or_else(|| tools::root().join("target/drivers"), PathBuf::from);
    let path = folder.join(format!("{driver}.wasm"));
    assert!(path.is_file(), "{} is missing; `cargo xtask drivers` builds it", path.display());
    path
}
