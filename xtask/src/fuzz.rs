//! `cargo xtask fuzz`: fuzzes every parser of untrusted bytes.
//!
//! A compiler wrapper builds only the crates of the workspace with coverage, so that their
//! dependencies are built once for everything. Findings are kept in tests/fuzz/found, and the
//! ordinary tests run them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};

use crate::step::{self, cargo, root, step};

/// Set for the wrapper, which makes this program run as the compiler.
const WRAPS: &str = "PURLIN_XTASK_WRAPS";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The targets [default: all].
    pub(crate) targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Number of targets that run concurrently.
    #[arg(long, default_value_t = 2)]
    pub(crate) jobs: usize,
}

/// The targets. Each of them has a folder with seeds, which a test checks.
fn targets() -> anyhow::Result<Vec<String>> {
    let seeds = root().join("tests/fuzz/seeds");
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(&seeds).with_context(|| format!("cannot read {}", seeds.display()))? {
        targets.push(entry?.file_name().to_string_lossy().into_owned());
    }
    targets.sort();
    Ok(targets)
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let known = targets()?;
    let targets = if arguments.targets.is_empty() { &known } else { &arguments.targets };
    if let Some(unknown) = targets.iter().find(|target| !known.contains(target)) {
        bail!("there is no target `{unknown}`; there are {}", known.join(", "));
    }
    let program = step("build the fuzzer", build)?;
    // Each target starts as soon as another one ends.
    let started = AtomicUsize::new(0);
    let work = || -> anyhow::Result<Vec<String>> {
        let mut failed = Vec::new();
        while let Some(target) = targets.get(started.fetch_add(1, Ordering::Relaxed)) {
            let status = step(&format!("fuzz {target}"), || fuzz(&program, target, arguments.seconds))?;
            if !status.success() {
                failed.push(target.clone());
            }
        }
        Ok(failed)
    };
    let mut failed = Vec::new();
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let jobs: Vec<_> = (0..arguments.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        for job in jobs {
            failed.extend(job.join().map_err(|_| anyhow::anyhow!("a thread of the fuzzer panicked"))??);
        }
        Ok(())
    })?;
    if failed.is_empty() {
        return Ok(());
    }
    bail!("found faults: {}; the inputs are in tests/fuzz/found", failed.join(", "))
}

fn build() -> anyhow::Result<PathBuf> {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if !step::works(Command::new(&compiler).arg("--version")) {
        bail!(
            "the fuzzer needs a C++ compiler, and `{}` is not one; install g++ or clang",
            compiler.display()
        );
    }
    // The fuzzer compiles components with this program.
    step::run(step::build(false).args(["--quiet", "--bin", "purlin-worker"]))?;
    // The build may have replaced this program, so use the new file.
    let this = step::built(false).join(format!("xtask{}", std::env::consts::EXE_SUFFIX));
    let mut command = cargo();
    command.args(["build", "--workspace", "--bin", "purlin-fuzz", "--features", "purlin-fuzz/fuzzer"]);
    // A reader without optimisation gets through less than half the inputs in the same time. The dependencies
    // stay as they are, so that they are not compiled again.
    command.args([
        "--config",
        "profile.dev.opt-level=1",
        "--config",
        r#"profile.dev.package."*".opt-level=0"#,
    ]);
    command.env("RUSTC_WORKSPACE_WRAPPER", this).env(WRAPS, "1");
    step::run(&mut command)?;
    Ok(step::built(false).join("purlin-fuzz"))
}

fn fuzz(program: &Path, target: &str, seconds: u64) -> anyhow::Result<ExitStatus> {
    let folder = root().join("tests/fuzz");
    let corpus = step::built(false).join("fuzz").join(target);
    let found = folder.join("found").join(target);
    std::fs::create_dir_all(&corpus).and_then(|()| std::fs::create_dir_all(&found))?;
    let mut command = Command::new(program);
    command.arg(&corpus).arg(folder.join("seeds").join(target));
    let dictionary = folder.join("words").join(target);
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    command.arg(format!("-max_total_time={seconds}"));
    command.args([
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=4096",
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    command.arg(format!("-artifact_prefix={}/", found.display()));
    command.env("PURLIN_FUZZ", target).env("RUST_BACKTRACE", "0").stdout(Stdio::null());
    command.status().with_context(|| format!("cannot start {}", program.display()))
}

/// Runs the compiler if cargo started this program as a wrapper.
pub(crate) fn wrapped() -> Option<anyhow::Result<()>> {
    std::env::var_os(WRAPS)?;
    let mut arguments = std::env::args_os().skip(1);
    let compiler = arguments.next()?;
    Some(compile(compiler, arguments.collect()))
}

fn compile(compiler: OsString, arguments: Vec<OsString>) -> anyhow::Result<()> {
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.to_str()
    };
    let name = after("--crate-name").unwrap_or_default();
    let mut command = Command::new(compiler);
    command.args(&arguments);
    // Build scripts and macros run in the compiler's process, where coverage is not counted.
    let counted = name.starts_with("purlin") && after("--crate-type") != Some("proc-macro");
    if counted {
        command.args(["-Cpasses=sancov-module", "-Ccodegen-units=1", "-Cdebug-assertions=on"]);
        for option in ["level=4", "inline-8bit-counters", "pc-table", "trace-compares"] {
            command.arg(format!("-Cllvm-args=-sanitizer-coverage-{option}"));
        }
    }
    let status = command.status().context("cannot start the compiler")?;
    if !status.success() {
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}
