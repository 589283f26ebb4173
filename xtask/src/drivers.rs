//! `cargo xtask drivers`: builds drivers/* and the test drivers to target/drivers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use wit_component::ComponentEncoder;

use crate::hostile;
use crate::step::{self, cargo, root, step};
use crate::targets::{self, PLAIN, WASI};

/// Drivers that need only the contract. Without WASI, their instances start faster.
const WITHOUT_WASI: &[&str] = &["echo", "dns-wildcard"];

/// The test drivers, including one that misbehaves as its inputs say, one that attacks the host,
/// one that counts its effects, and one that cannot find its objects. No binary contains them, so
/// they are not precompiled.
const FOR_TESTS: [&str; 5] = ["blind", "faulty", "guests", "hostile", "ledger"];

#[derive(clap::Args, Clone, Default)]
pub(crate) struct Arguments {
    /// Build the compiler for drivers in the release profile, for release binaries.
    #[arg(long)]
    pub(crate) release: bool,
    /// Do not precompile the drivers; the program then compiles each when it is first used.
    #[arg(long)]
    pub(crate) no_precompile: bool,
    /// Build only the drivers that are built into the program, and not those of the tests.
    #[arg(long)]
    pub(crate) no_tests: bool,
    /// Build only these drivers, such as `echo,template`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

/// A crate that becomes a component.
struct Driver {
    /// The name of the result, without extension.
    name: String,
    package: String,
    target: &'static str,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    run_with(arguments, || compiler(arguments.release))
}

/// The same with a compiler for drivers that the caller builds; `compiler` returns where it is.
pub(crate) fn run_with(
    arguments: &Arguments,
    compiler: impl FnOnce() -> anyhow::Result<PathBuf> + Send,
) -> anyhow::Result<()> {
    step("targets for WebAssembly", || targets::ensure(&[PLAIN, WASI]))?;
    let drivers = find(arguments)?;
    let compiles = !arguments.no_precompile;
    // The compiler takes longer to build than all drivers, and both have phases that use one processor.
    let compiler = std::thread::scope(|scope| -> anyhow::Result<PathBuf> {
        let compiler = scope.spawn(|| match compiles {
            true => step("the compiler for drivers", compiler),
            false => Ok(PathBuf::new()),
        });
        for target in [PLAIN, WASI] {
            step(&format!("drivers for {target}"), || compile(&drivers, target))?;
        }
        compiler.join().map_err(|_| anyhow::anyhow!("building the compiler for drivers failed"))?
    })?;
    let components = step("components", || collect(&drivers))?;
    if drivers.iter().any(|driver| driver.name == "hostile") {
        step("handwritten attacks", || {
            let folder = root().join("target/drivers");
            let count = hostile::assemble(&folder.join("hostile.wasm"), &folder.join("hostile"))?;
            eprintln!("    {count} components");
            Ok(())
        })?;
    }
    if compiles {
        step("compiled ahead of time", || step::run(Command::new(compiler).args(&components)))?;
    }
    Ok(())
}

/// The built-in drivers: the package of each, and the target that it is built for.
pub(crate) fn built_in() -> anyhow::Result<Vec<(String, &'static str)>> {
    let built_in = find(&Arguments { no_tests: true, ..Arguments::default() })?.into_iter();
    Ok(built_in.map(|driver| (driver.package, driver.target)).collect())
}

fn find(arguments: &Arguments) -> anyhow::Result<Vec<Driver>> {
    let mut drivers = Vec::new();
    for entry in fs::read_dir(root().join("drivers")).context("cannot read drivers/")? {
        let path = entry?.path();
        if !path.join("Cargo.toml").is_file() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = if WITHOUT_WASI.contains(&name.as_str()) { PLAIN } else { WASI };
        drivers.push(Driver { package: format!("purlin-driver-{name}"), name, target });
    }
    if !arguments.no_tests {
        let for_tests = FOR_TESTS.map(|name| Driver {
            name: name.into(),
            package: format!("purlin-{name}"),
            target: WASI,
        });
        drivers.extend(for_tests);
    }
    for name in &arguments.only {
        ensure!(drivers.iter().any(|driver| driver.name == *name), "there is no driver `{name}`");
    }
    drivers.retain(|driver| arguments.only.is_empty() || arguments.only.contains(&driver.name));
    drivers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(drivers)
}

/// A separate target folder, so that this does not wait for the lock of the usual one.
fn target_dir() -> PathBuf {
    root().join("target/wasm")
}

fn compile(drivers: &[Driver], target: &str) -> anyhow::Result<()> {
    let packages: Vec<&str> = drivers
        .iter()
        .filter(|driver| driver.target == target)
        .map(|driver| driver.package.as_str())
        .collect();
    if packages.is_empty() {
        return Ok(());
    }
    let mut command = cargo();
    command.args(["build", "--quiet", "--profile", "wasm", "--target", target, "--target-dir"]);
    command.arg(target_dir()).env("CARGO_ENCODED_RUSTFLAGS", step::without_folders());
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    step::run(&mut command)
}

/// Converts the built modules to components in the folder where other commands expect them.
fn collect(drivers: &[Driver]) -> anyhow::Result<Vec<PathBuf>> {
    let folder = root().join("target/drivers");
    fs::create_dir_all(&folder)?;
    let mut components = Vec::new();
    for driver in drivers {
        let file = format!("{}.wasm", driver.package.replace('-', "_"));
        let built = target_dir().join(driver.target).join("wasm").join(file);
        let bytes = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
        let component = match bytes.get(4..8) {
            Some([1, 0, 0, 0]) => ComponentEncoder::default()
                .validate(true)
                .module(&bytes)
                .and_then(|mut encoder| encoder.encode())
                .with_context(|| format!("cannot make a component of {}", driver.package))?,
            Some(_) => bytes,
            None => bail!("{} is empty", built.display()),
        };
        let path = folder.join(format!("{}.wasm", driver.name));
        let changed = write_if_changed(&path, &component)?;
        eprintln!(
            "    {:<14} {:>7.1} KiB{}",
            driver.name,
            component.len() as f64 / 1024.0,
            if changed { "" } else { ", unchanged" }
        );
        if !FOR_TESTS.contains(&driver.name.as_str()) {
            components.push(path);
        }
    }
    Ok(components)
}

/// Leaves an unchanged file alone. It keeps its time, so that nothing that depends on it is
/// rebuilt.
fn write_if_changed(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(false);
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

/// The compiler is an example of the sandbox, so that it uses the same settings as the code that
/// runs the drivers.
fn compiler(release: bool) -> anyhow::Result<PathBuf> {
    step::run(step::build(release).args(["--example", "precompile"]))?;
    Ok(step::built(release).join(format!("examples/precompile{}", std::env::consts::EXE_SUFFIX)))
}
