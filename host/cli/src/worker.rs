//! The process that reads and compiles third-party components: this program, started with a special
//! argument.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use purlin_sandbox::{Worker, serve_worker};

use crate::failure::Status;

/// The only argument of a worker.
const ARGUMENT: &str = "__compile-component";

/// The path that starts this same program again, even if its file was replaced in the meantime.
#[cfg(target_os = "linux")]
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Starts workers.
pub(crate) fn compiler() -> Worker {
    Worker::new(program(), [ARGUMENT.into()])
}

fn program() -> PathBuf {
    #[cfg(target_os = "linux")]
    if Path::new(THIS_PROGRAM).exists() {
        return THIS_PROGRAM.into();
    }
    // Without it, the worker is found by name. If that fails, the caller that needs a worker
    // reports it.
    std::env::current_exe().unwrap_or_else(|_| Path::new("purlin").to_owned())
}

/// Runs as a worker if this process was started as one.
pub(crate) fn answer() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT || arguments.next().is_some() {
        return None;
    }
    let served = serve_worker(io::stdin().lock(), io::stdout().lock());
    Some(if served.is_ok() { Status::Done } else { Status::Failed }.into())
}
