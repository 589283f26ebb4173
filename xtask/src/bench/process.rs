//! Measures a whole process: the wall time, and the peak memory as counted by the system.
//!
//! A process starts with the pages of its parent, which the system counts as its own. Therefore
//! this program must stay small and never hold anything large in memory.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use wait4::{ResourceUsage, Wait4 as _};

/// The resources that a process used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// The time from its start to its end.
    pub(crate) wall: Duration,
    /// The time from its start to the awaited line.
    pub(crate) until: Option<Duration>,
    /// The total processor time.
    pub(crate) processor: Duration,
    /// The peak memory in bytes.
    pub(crate) peak: u64,
}

impl Usage {
    fn new(start: Instant, until: Option<Duration>, used: &ResourceUsage) -> Self {
        Self { wall: start.elapsed(), until, processor: used.utime + used.stime, peak: used.maxrss }
    }
}

/// The files in a run's folder with the output of the process.
pub(crate) const STDOUT: &str = "stdout.log";
const STDERR: &str = "stderr.log";

/// Runs a program in a folder and writes its output to files there.
///
/// # Errors
/// If the program cannot be run or fails.
pub(crate) fn run(command: &mut Command, folder: &Path) -> anyhow::Result<Usage> {
    let stdout = create(folder, STDOUT)?;
    let start = Instant::now();
    let child =
        command.current_dir(folder).stdin(Stdio::null()).stdout(stdout).stderr(create(folder, STDERR)?);
    let child = child.spawn().with_context(|| cannot(command))?;
    let result = child.wait4().with_context(|| cannot(command))?;
    let usage = Usage::new(start, None, &result.rusage);
    if result.status.success() { Ok(usage) } else { failed(command, &result.status.to_string(), folder) }
}

/// Like [`run`], and measures the time until a line that contains `needle` is written.
///
/// # Errors
/// If the program cannot be run, fails, or never writes such a line.
pub(crate) fn run_until(command: &mut Command, folder: &Path, needle: &str) -> anyhow::Result<Usage> {
    let mut kept = create(folder, STDOUT)?;
    let start = Instant::now();
    let child = command.current_dir(folder).stdin(Stdio::null()).stderr(create(folder, STDERR)?);
    let mut child = child.stdout(Stdio::piped()).spawn().with_context(|| cannot(command))?;
    let mut until = None;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            if until.is_none() && line.contains(needle) {
                until = Some(start.elapsed());
            }
            writeln!(kept, "{line}")?;
        }
    }
    let result = child.wait4().with_context(|| cannot(command))?;
    let usage = Usage::new(start, until, &result.rusage);
    if !result.status.success() {
        return failed(command, &result.status.to_string(), folder);
    }
    if until.is_none() {
        bail!("`{}` never wrote a line with `{needle}`", name(command));
    }
    Ok(usage)
}

/// The last lines that a process wrote.
pub(crate) fn last_lines(folder: &Path, file: &str, lines: usize) -> anyhow::Result<Vec<String>> {
    let path = folder.join(file);
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut last = std::collections::VecDeque::new();
    for line in BufReader::new(file).lines() {
        if last.len() == lines {
            last.pop_front();
        }
        last.push_back(line?);
    }
    Ok(last.into())
}

fn failed<T>(command: &Command, status: &str, folder: &Path) -> anyhow::Result<T> {
    let mut lines = last_lines(folder, STDERR, 12)?;
    if lines.is_empty() {
        lines = last_lines(folder, STDOUT, 12)?;
    }
    bail!("`{}` failed ({status}):\n{}", name(command), lines.join("\n"))
}

fn create(folder: &Path, file: &str) -> anyhow::Result<File> {
    File::create(folder.join(file)).with_context(|| format!("cannot write {file} in {}", folder.display()))
}

fn cannot(command: &Command) -> String {
    format!("cannot run `{}`", name(command))
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    command.get_args().take(4).fold(program.into_owned(), |shown, word| shown + " " + &word.to_string_lossy())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_process_is_measured_and_its_output_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let usage = run_until(&mut shell("echo a; echo b; echo c"), folder.path(), "b").expect("runs");
        assert!(usage.peak > 100_000 && usage.until.is_some_and(|until| until <= usage.wall));
        assert_eq!(last_lines(folder.path(), STDOUT, 2).expect("there"), ["b", "c"]);
        assert!(run(&mut shell("true"), folder.path()).is_ok());
    }

    #[test]
    fn a_failure_shows_the_output_of_the_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = run(&mut shell("echo oh no >&2; exit 3"), folder.path()).expect_err("fails");
        assert!(error.to_string().contains("oh no") && error.to_string().contains('3'));
        assert!(run_until(&mut shell("echo a"), folder.path(), "b").is_err());
    }
}
