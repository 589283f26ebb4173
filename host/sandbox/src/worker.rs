//! Reads and compiles untrusted components in a separate process, with limits that the system
//! enforces (SPEC §8). Only names, compiled code or an error come back.
//!
//! ```text
//! to the worker:    task, 1 byte │ length, 8 bytes │ component │ length, 8 bytes │ functions
//! from the worker:  outcome, 1 byte │ length, 8 bytes │ names as JSON, compilation, or why not
//! a compilation:    length, 8 bytes │ code │ functions
//! ```

mod serve;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use self::serve::serve_worker;
use crate::compiler::{Compilation, Compiler, Names};
use crate::convert::printable;
use crate::error::{LoadError, size};
use crate::secrets::SecretMatcher;

const NAMES: u8 = b'n';
const COMPILE: u8 = b'c';
const DONE: u8 = b'd';
const FAILED: u8 = b'f';

/// The longest wait for a worker, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// How long a worker that closed its output without an answer may take to end.
const DYING: Duration = Duration::from_secs(2);
/// Bytes of names, and of an error.
const LARGEST_TEXT: u64 = 4 << 20;
/// Bytes of compiled code.
const LARGEST_CODE: u64 = 2 << 30;
/// Replaces the length of functions if none are requested.
const NO_FUNCTIONS: u64 = u64::MAX;
/// Bytes of a dying worker's output, which shows the cause of its death.
const LAST_WORDS: u64 = 4 << 10;

/// The limits of a task, over all threads of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Allowance {
    /// Seconds of CPU time.
    seconds: u64,
    /// Bytes of memory, whether it is touched or not.
    memory: u64,
}

impl Allowance {
    /// The limits for a component of this many bytes. Normal components take a tenth of it.
    fn new(task: u8, bytes: u64) -> Self {
        let mebibytes = bytes >> 20;
        match task {
            COMPILE => Self {
                seconds: mebibytes.saturating_mul(10).saturating_add(10).min(900),
                memory: mebibytes.saturating_mul(128 << 20).saturating_add(1 << 30).min(8 << 30),
            },
            _ => Self {
                seconds: mebibytes.saturating_add(5),
                memory: bytes.saturating_mul(4).saturating_add(256 << 20),
            },
        }
    }
}

/// Starts a process for each component: a program that calls [`serve_worker`] when it is started
/// this way. Clones share a limit of a few concurrent workers.
#[derive(Clone, Debug)]
pub struct Worker {
    program: PathBuf,
    arguments: Vec<OsString>,
    turns: Arc<Turns>,
}

impl Worker {
    /// A worker that is started by this command. It gets no environment.
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = OsString>) -> Self {
        Self { program: program.into(), arguments: arguments.into_iter().collect(), turns: Arc::default() }
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // An interrupt from the terminal is meant for the parent program.
            command.env_clear().process_group(0);
        }
        command.spawn()
    }

    fn run(&self, task: u8, wasm: &[u8], functions: Option<&[u8]>, most: u64) -> Result<Vec<u8>, LoadError> {
        let broken = |what: &str, error: &dyn std::fmt::Display| LoadError::Invalid {
            message: format!("{what} the process that reads and compiles drivers: {error}"),
        };
        let _turn = self.turns.take();
        let allowance = Allowance::new(task, wasm.len() as u64);
        let mut child =
            self.start().map_err(|error| broken("cannot start", &purlin_files::reason(&error)))?;
        let (Some(mut input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(broken("cannot talk to", &"it has no streams"));
        };
        let process = Process { child: Mutex::new(child), killed: AtomicBool::new(false) };
        let process = &process;
        let (answered, ended, words) = std::thread::scope(|scope| {
            let (done, waiting) = mpsc::channel::<()>();
            scope.spawn(move || {
                if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    process.kill();
                }
            });
            let words = scope.spawn(move || last_words(errors));
            let given = ask(&mut input, task, wasm, functions);
            drop(input);
            let answer = answer(output, most);
            // A worker that has answered is done; one that has not is about to end, or never will.
            let ended = process.end(answer.is_ok());
            drop(done);
            (given.and(answer), ended, words.join().unwrap_or_default())
        });
        let error = match answered {
            Ok((DONE, answer)) => return Ok(answer),
            // The message may quote the component.
            Ok((_, answer)) => {
                let message = printable(&SecretMatcher::default(), &String::from_utf8_lossy(&answer));
                return Err(LoadError::Invalid { message });
            }
            Err(error) => error,
        };
        let killed = process.killed.load(Ordering::SeqCst);
        let message = match ended.map(|status| cause(status, &words)) {
            Ok(Some(Cause::Time)) => format!(
                "reading and compiling it takes more than {} s of computing, the limit for its size",
                allowance.seconds
            ),
            Ok(Some(Cause::Memory)) => format!(
                "reading and compiling it takes more than {} of memory, the limit for its size",
                size(allowance.memory)
            ),
            Ok(Some(Cause::Stack)) => "its parts are nested too deep".to_owned(),
            Ok(Some(Cause::System)) if !killed => {
                "the system ended the process that reads and compiles it, perhaps because memory ran out"
                    .to_owned()
            }
            Ok(_) => return Err(broken("cannot use", &purlin_files::reason(&error))),
            Err(error) => return Err(broken("cannot wait for", &purlin_files::reason(&error))),
        };
        Err(LoadError::Invalid { message })
    }
}

/// Workers that may run at once.
const MOST_AT_WORK: usize = 2;

/// Turns of workers, so that few components are compiled at once, however many are requested.
#[derive(Debug, Default)]
struct Turns {
    taken: Mutex<usize>,
    free: Condvar,
}

/// A turn, returned when it is dropped.
struct Turn<'a>(&'a Turns);

impl Turns {
    fn take(&self) -> Turn<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = self
            .free
            .wait_while(taken, |taken| *taken >= MOST_AT_WORK)
            .unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.free.notify_one();
    }
}

/// A running worker.
struct Process {
    child: Mutex<Child>,
    /// Whether we ended it.
    killed: AtomicBool,
}

impl Process {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kill(&self) {
        let mut child = self.child();
        // A worker that has ended cannot be killed, and has its own status.
        if matches!(child.try_wait(), Ok(None)) {
            self.killed.store(true, Ordering::SeqCst);
            let _ = child.kill();
        }
    }

    /// Waits for the end, which comes at once if the worker is no longer needed, and otherwise
    /// soon.
    fn end(&self, answered: bool) -> io::Result<ExitStatus> {
        let begun = Instant::now();
        while !answered && begun.elapsed() < DYING {
            if let Some(status) = self.child().try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        self.child().wait()
    }
}

// SAFETY: the program at the other end is this crate's, which compiles like `InProcess`.
#[allow(unsafe_code)]
unsafe impl Compiler for Worker {
    fn names(&self, wasm: &[u8]) -> Result<Names, LoadError> {
        let text = self.run(NAMES, wasm, None, LARGEST_TEXT)?;
        serde_json::from_slice(&text).map_err(|error| LoadError::invalid(&error))
    }

    fn compile(&self, wasm: &[u8], functions: Option<&[u8]>) -> Result<Compilation, LoadError> {
        let bytes = self.run(COMPILE, wasm, functions, LARGEST_CODE)?;
        parts(&bytes).ok_or_else(|| LoadError::Invalid {
            message: "the process that compiles drivers returned an unexpected response".into(),
        })
    }
}

fn ask(input: &mut impl Write, task: u8, wasm: &[u8], functions: Option<&[u8]>) -> io::Result<()> {
    input.write_all(&[task])?;
    input.write_all(&(wasm.len() as u64).to_le_bytes())?;
    input.write_all(wasm)?;
    let length = functions.map_or(NO_FUNCTIONS, |functions| functions.len() as u64);
    input.write_all(&length.to_le_bytes())?;
    input.write_all(functions.unwrap_or_default())?;
    input.flush()
}

/// The parts of a compilation.
fn parts(bytes: &[u8]) -> Option<Compilation> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (code, functions) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let functions = (!functions.is_empty()).then(|| functions.to_vec());
    Some(Compilation { code: code.to_vec(), functions })
}

/// Reads all of an outcome of at most this many bytes.
fn answer(mut output: impl Read, most: u64) -> io::Result<(u8, Vec<u8>)> {
    let (mut outcome, mut length) = ([0], [0; 8]);
    output.read_exact(&mut outcome)?;
    output.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let most = if outcome == [DONE] { most } else { LARGEST_TEXT };
    if !matches!(outcome, [DONE | FAILED]) || length > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it returned an unexpected response"));
    }
    // An announced length is not trusted before the bytes arrive.
    let mut bytes = Vec::new();
    output.by_ref().take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let [outcome] = outcome;
    Ok((outcome, bytes))
}

fn last_words(mut errors: impl Read) -> String {
    let mut words = Vec::new();
    let _ = errors.by_ref().take(LAST_WORDS).read_to_end(&mut words);
    // The rest is read, so that the worker does not wait for a reader.
    let _ = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&words).into_owned()
}

/// The cause of a worker's death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Time,
    Memory,
    Stack,
    /// Another process ended it.
    System,
}

/// Rust reports that a stack or all memory is used up; the system reports that the time is.
fn cause(status: ExitStatus, words: &str) -> Option<Cause> {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        match status.signal() {
            Some(serve::OUT_OF_TIME) => return Some(Cause::Time),
            Some(serve::KILLED) => return Some(Cause::System),
            _ => {}
        }
    }
    if status.success() {
        None
    } else if words.contains("has overflowed its stack") {
        Some(Cause::Stack)
    } else if words.contains("memory allocation of") || words.contains("Cannot allocate memory") {
        Some(Cause::Memory)
    } else {
        None
    }
}

/// Reads generated bytes as the answer of a worker, and panics if the result is larger than the
/// input.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(bytes: &[u8]) {
    let Ok((outcome, read)) = answer(bytes, 1 << 20) else { return };
    assert!(matches!(outcome, DONE | FAILED) && bytes.get(9..).is_some_and(|rest| rest.starts_with(&read)));
    let _ = serde_json::from_slice::<Names>(&read);
    let _ = parts(&read);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_complete_or_missing() {
        let mut bytes = Vec::new();
        serve::reply(&mut bytes, DONE, b"names").expect("written");
        assert_eq!(answer(&bytes[..], 5).expect("whole"), (DONE, b"names".to_vec()));
        assert!(answer(&bytes[..], 4).is_err(), "more than may come");
        for end in 0..bytes.len() {
            assert!(answer(&bytes[..end], 5).is_err(), "{end}");
        }
        bytes[0] = b'x';
        assert!(answer(&bytes[..], 5).is_err());
        let boast = [&[DONE][..], &u64::MAX.to_le_bytes()].concat();
        assert!(answer(&boast[..], u64::MAX).is_err());
    }

    #[test]
    fn a_program_that_is_not_a_worker_is_reported() {
        for program in ["/nonexistent/worker", "/bin/true", "/bin/cat"] {
            let error = Worker::new(program, []).names(b"\0asm\x0d\0\x01\0").expect_err("no worker");
            assert!(error.to_string().contains("the process that reads and compiles drivers"), "{error}");
        }
    }
}
