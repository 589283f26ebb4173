//! Reports the steps of a command and their durations on standard error.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Whether [`compile`] lints.
static LINTS: AtomicBool = AtomicBool::new(false);

/// Makes every later [`compile`] lint what it compiles, and fail for each warning. So lints need no
/// compilation of their own.
pub(crate) fn lint_from_now_on() {
    LINTS.store(true, Ordering::Relaxed);
}

/// A cargo command, such as `build`, that compiles the workspace for this machine.
///
/// All of them have the same settings, so that each crate is compiled once.
pub(crate) fn compile<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = cargo();
    command.args(arguments);
    if LINTS.load(Ordering::Relaxed) {
        // Not with a variable, which tests that start cargo would inherit.
        command.args(["--config", r#"build.rustc-workspace-wrapper="clippy-driver""#]);
        command.env(LINT_ARGUMENTS.0, LINT_ARGUMENTS.1);
    }
    command
}

/// How `cargo clippy` passes `-D warnings` to `clippy-driver`: a variable and its value.
pub(crate) const LINT_ARGUMENTS: (&str, &str) =
    ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");

/// A `cargo build` command for parts of the workspace.
///
/// It always selects the whole workspace. With `--package`, cargo would select other features of
/// shared dependencies, and build wasmtime again for each selection.
pub(crate) fn build(release: bool) -> Command {
    let mut command = compile(["build", "--workspace"]);
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

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    /// Whether `clippy-driver` accepts a file, and its output, with the arguments of [`compile`].
    fn lint(text: &str) -> (bool, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("lib.rs");
        std::fs::write(&file, text).expect("a file");
        let mut command = Command::new("clippy-driver");
        command.args(["rustc", "--crate-type", "lib", "--edition", "2024", "--out-dir"]);
        command.arg(folder.path()).arg(&file).env(LINT_ARGUMENTS.0, LINT_ARGUMENTS.1);
        let output = command.stdin(Stdio::null()).output().expect("clippy-driver runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    #[test]
    fn warnings_of_the_compiler_and_of_clippy_are_errors() {
        let (is_accepted, output) =
            lint("/// Adds.\npub fn add(a: u8, b: u8) -> u8 { a.saturating_add(b) }\n");
        assert!(is_accepted, "{output}");
        for (fault, name) in [
            ("fn unused() {}\n", "dead-code"),
            ("/// Adds.\npub fn add(a: u8) -> u8 { return a; }\n", "clippy::needless-return"),
        ] {
            let (is_accepted, output) = lint(fault);
            assert!(!is_accepted && output.contains(name), "{output}");
        }
    }
}
