//! A folder with documents, in which tests run the program as users do. It owns the folder, the
//! environment of the program, and the wait for its end; the tests add documents and real objects. It
//! must not know what a test is about.

use std::io::BufRead;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::tools;

/// How long an operation may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(10);

/// A folder, deleted at the end of the test.
#[derive(Debug)]
pub struct Project {
    folder: TempDir,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The command, as far as it is known.
    pub command: String,
    /// Its exit status; -1 if a signal ended it.
    pub status: i32,
    /// Its output on standard output.
    pub out: String,
    /// Its output on standard error.
    pub err: String,
}

impl Project {
    /// An empty one.
    pub fn empty() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    /// One with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::empty();
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    /// The project that `purlin init` writes.
    #[allow(clippy::new_without_default, reason = "it runs the program")]
    pub fn new() -> Self {
        let project = Self::empty();
        project.purlin(&["init", "--app", "shop"]);
        project
    }

    /// A copy, with the state and everything else in the folder.
    pub fn copy(&self) -> Self {
        let copy = Self::empty();
        let copied = Command::new("cp").arg("-a").arg(self.path().join(".")).arg(copy.path()).status();
        assert!(copied.expect("cp").success());
        copy
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a file. It takes the place of an existing one at once, so that a program that reads
    /// it meanwhile finds one of the two, and never an empty one.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
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
    #[track_caller]
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "`{from}` is in {name}");
        self.write(name, text.replace(from, to));
    }

    /// The program, ready to run here.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.in_place(Command::new(tools::program()), arguments)
    }

    /// Another program, ready to run here, such as one that runs purlin.
    pub fn in_place(&self, mut command: Command, arguments: &[&str]) -> Command {
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("USER", "ada")
            // A busy machine must not look like a slow driver.
            .env("PURLIN_DESCRIBE_TIME", "300")
            .env("PURLIN_CANCEL_TIME", "300")
            // All tests share the cache of compiled drivers.
            .env("XDG_CACHE_HOME", tools::root().join("target/tmp/cache"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments))
    }

    /// Runs the program, which must succeed.
    #[track_caller]
    pub fn purlin(&self, arguments: &[&str]) -> Ran {
        self.run(arguments).status(0)
    }

    /// Starts the program and does not wait. [`ran_with`] does.
    pub fn start(&self, arguments: &[&str]) -> Child {
        started(self.command(arguments))
    }

    /// Whether there is a state.
    pub fn has_state(&self) -> bool {
        self.path().join(".purlin").exists()
    }

    /// The recorded keys.
    #[track_caller]
    pub fn recorded(&self) -> Vec<String> {
        let listed = self.purlin(&["state", "list", "--format", "json"]).json();
        let resources = listed["resources"].as_array().expect("resources").clone();
        resources.iter().map(|resource| resource["key"].as_str().expect("a key").to_owned()).collect()
    }
}

impl Ran {
    /// Asserts the exit status.
    #[track_caller]
    #[allow(clippy::must_use_candidate)]
    pub fn status(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{self}");
        self
    }

    /// Asserts that it printed this text, on either stream.
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
        flat(&format!("{} {}", self.out, self.err)).contains(&flat(text))
    }

    /// The JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// The JSON documents on standard output, one per line.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let event = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.out.lines().map(event).collect()
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { command, status, out, err } = self;
        write!(f, "`{command}` ended with {status}\n-- stdout\n{out}\n-- stderr\n{err}")
    }
}

/// Runs a command to its end.
#[track_caller]
pub fn ran(command: Command) -> Ran {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(name).chain(command.get_args()).map(|word| word.to_string_lossy());
    let words = words.collect::<Vec<_>>().join(" ");
    Ran { command: words, ..ran_with(started(command)) }
}

/// Starts a command and does not wait. [`ran_with`] does.
pub fn started(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

/// Waits for a process and returns its result.
///
/// # Panics
/// If it does not end; it is killed then.
#[track_caller]
pub fn ran_with(child: Child) -> Ran {
    let id = child.id();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let wait = |time| receiver.recv_timeout(time).ok();
    let in_time = wait(PATIENCE);
    let has_ended = in_time.is_some();
    let output = in_time.or_else(|| {
        kill(id, "-KILL");
        // A process that it started may keep the streams open.
        wait(Duration::from_secs(10))
    });
    let output = output.expect("it does not end, and keeps its output").expect("run");
    let ran = Ran {
        command: "purlin".to_owned(),
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    };
    assert!(has_ended, "it does not end: {ran}");
    ran
}

/// Waits until a process ends.
#[track_caller]
pub fn ended(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        match child.try_wait().expect("waited") {
            Some(status) => return status,
            None if begun.elapsed() > PATIENCE => panic!("it does not end"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Reads a stream of a running program up to the first occurrence of a text.
#[track_caller]
pub fn read_until(stream: &mut impl BufRead, text: &str) {
    let (mut output, last) = (Vec::new(), *text.as_bytes().last().expect("a text"));
    while !output.ends_with(text.as_bytes()) {
        let length = stream.read_until(last, &mut output).expect("read");
        assert!(length > 0, "`{text}` did not come: {}", String::from_utf8_lossy(&output));
    }
}

/// Sends a signal, such as `-INT`, to a process.
#[track_caller]
pub fn signal(child: &Child, name: &str) {
    kill(child.id(), name);
}

#[track_caller]
fn kill(process: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.expect("kill").success());
}
