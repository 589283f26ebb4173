//! Steps: what is done, and how long it took, on standard error.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

/// Does something under a name.
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

/// Runs a program in the workspace's root; what it prints is seen.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    eprintln!("    $ {shown}");
    let status = command.current_dir(root()).status().with_context(|| format!("cannot run `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// What a program prints.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = show(command);
    let output = command.current_dir(root()).output().with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a program is there and answers.
pub(crate) fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The cargo that started us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `cargo build` of parts of the workspace.
///
/// Always of the whole workspace: with `--package`, cargo would choose other features for what
/// the crates share, and build wasmtime once more for every choice.
pub(crate) fn build(release: bool) -> Command {
    let mut command = cargo();
    command.args(["build", "--workspace"]);
    if release {
        command.arg("--release");
    }
    command
}

/// Where cargo puts what [`build`] builds.
pub(crate) fn built(release: bool) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target).join(if release { "release" } else { "debug" })
}

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

fn show(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    command.get_args().fold(name, |shown, argument| shown + " " + &argument.to_string_lossy())
}
