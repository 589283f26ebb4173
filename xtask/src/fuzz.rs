//! `cargo xtask fuzz`: every reader of untrusted bytes, for as long as there is time.
//!
//! Only the crates of the workspace are built with coverage, by a wrapper around the compiler, so
//! that what they depend on is built once for everything. What is found is kept in
//! tests/fuzz/found, where the ordinary tests run over it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::step::{self, cargo, root, step};

/// Set for the wrapper: this program stands before the compiler then.
const WRAPS: &str = "PURLIN_XTASK_WRAPS";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Targets, all of them when none is named.
    pub(crate) targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Targets at the same time.
    #[arg(long, default_value_t = 2)]
    pub(crate) jobs: usize,
}

/// Every target has seeds, as a test of theirs says, in a folder of its name.
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
    let mut failed = Vec::new();
    for some in targets.chunks(arguments.jobs.max(1)) {
        step(&format!("fuzz {}", some.join(", ")), || {
            let mut running = Vec::new();
            for target in some {
                running.push((target, start(&program, target, arguments.seconds)?));
            }
            for (target, mut child) in running {
                if !child.wait()?.success() {
                    failed.push(target.clone());
                }
            }
            Ok(())
        })?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("found something: {}; what it was lies in tests/fuzz/found", failed.join(", "))
}

fn build() -> anyhow::Result<PathBuf> {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if !step::works(Command::new(&compiler).arg("--version")) {
        bail!("the fuzzer takes a C++ compiler, and `{}` is none; install g++ or clang", compiler.display());
    }
    // Components are compiled by it.
    step::run(cargo().args(["build", "--workspace", "--quiet", "--bin", "purlin-worker"]))?;
    // Building the workspace has put this program there anew, perhaps; the one that runs is gone then.
    let this = step::built(false).join(format!("xtask{}", std::env::consts::EXE_SUFFIX));
    let mut command = cargo();
    command.args(["build", "--workspace", "--bin", "purlin-fuzz", "--features", "purlin-fuzz/fuzzer"]);
    command.env("RUSTC_WORKSPACE_WRAPPER", this).env(WRAPS, "1");
    step::run(&mut command)?;
    Ok(step::built(false).join("purlin-fuzz"))
}

fn start(program: &Path, target: &str, seconds: u64) -> anyhow::Result<std::process::Child> {
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
    command.spawn().with_context(|| format!("cannot start {}", program.display()))
}

/// Does a compiler's work where cargo has put this program before it.
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
    // Build scripts and macros run in the compiler's own process, which counts nothing.
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
