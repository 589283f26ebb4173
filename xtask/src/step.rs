//! Reports the steps of a command and their durations on standard error.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

/// Runs a step and reports its name and duration.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    eprintln!("==> {name}");
    let start = Instant::now();
    let result = work();
    let took = start.elapsed().as_secs_f64();
    match &result {
        Ok(_) => eprintln!("    {name}: done in {took:.1} s"),
        Err(_) => eprintln!("    {name}: failed after {took:.1} s"),
    }
    result
}

/// Runs a program in the root of the workspace; its output is visible.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    eprintln!("    $ {shown}");
    let status = command.current_dir(root()).status().with_context(|| format!("cannot run `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// The output of a program.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = show(command);
    let output = command.current_dir(root()).output().with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a program exists and succeeds.
pub(crate) fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The cargo that started this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A `cargo build` command for parts of the workspace.
///
/// It always selects the whole workspace. With `--package`, cargo would select other features of
/// shared dependencies, and build wasmtime again for each selection.
pub(crate) fn build(release: bool) -> Command {
    let mut command = cargo();
    command.args(["build", "--workspace"]);
    if release {
        command.arg("--release");
    }
    command
}

/// The folder with the results of [`build`].
pub(crate) fn built(release: bool) -> PathBuf {
    target_dir().join(if release { "release" } else { "debug" })
}

/// Where cargo puts what is built for another target, in the release profile.
pub(crate) fn released_for(target: &str) -> PathBuf {
    target_dir().join(target).join("release")
}

fn target_dir() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// Flags for the compiler with which no program names a folder of this machine, so that the same sources give the
/// same bytes everywhere. For `CARGO_ENCODED_RUSTFLAGS`.
pub(crate) fn without_folders() -> OsString {
    let mut flags = OsString::new();
    for (folder, name) in folders().into_iter().zip(["/cargo", "/purlin", "/target"]) {
        if !flags.is_empty() {
            flags.push("\u{1f}");
        }
        flags.push("--remap-path-prefix=");
        flags.push(folder);
        flags.push("=");
        flags.push(name);
    }
    flags
}

/// The folders with sources: of other crates, of ours, and what builds generate.
pub(crate) fn folders() -> [PathBuf; 3] {
    let home = std::env::home_dir().unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    [cargo, root(), target_dir()]
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

fn show(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    command.get_args().fold(name, |shown, argument| shown + " " + &argument.to_string_lossy())
}
