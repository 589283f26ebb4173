//! `cargo xtask dist`: the packages of a release, in target/dist, for Linux on this processor. One static
//! program goes into an archive, a Debian package, a wheel for pip and packages for npm; beside them are
//! checksums and a list of the components inside. Each name contains the processor, so that the files for
//! several processors can be in one folder. Nothing is published.

mod archive;
mod check;
mod components;
mod debian;
mod notices;
mod npm;
mod program;
mod sbom;
mod staging;
mod wheel;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::step::{output, root, step};
use crate::tools;
use components::Components;

/// The C compiler for a static program, and Debian's package with it.
const COMPILER: (&str, &str) = ("musl-gcc", "musl-tools");
/// The programs that make packages, and Debian's packages with these programs.
const PACKERS: [(&str, &str); 3] = [("dpkg-deb", "dpkg"), ("python3", "python3"), ("npm", "npm")];

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENCE: &str = env!("CARGO_PKG_LICENSE");
const HOME: &str = env!("CARGO_PKG_REPOSITORY");
const SUMMARY: &str = "platform orchestrator with sandboxed WebAssembly drivers";
/// The description that package indexes show.
const DESCRIPTION: &str = "\
Purlin is a platform orchestrator. Platform engineers describe how each kind of resource is provisioned; \
developers say what they need. Purlin joins the two into one resource graph, checks it, orders it, and \
provisions every resource through a driver: a sandboxed WebAssembly component with no rights except those \
that the operator grants.";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Pack the program of the last run instead of building it.
    #[arg(long)]
    no_build: bool,
    /// Install each package into a clean place, and deploy a project with the program that it installs.
    #[arg(long)]
    check: bool,
}

/// What is packed.
struct Release {
    processor: Processor,
    program: PathBuf,
    /// The folder of the packages.
    folder: PathBuf,
    /// When everything in the packages was last changed, in seconds since 1970.
    time: String,
    components: Components,
}

/// A processor, as each kind of package calls it.
struct Processor {
    rust: &'static str,
    debian: &'static str,
    npm: &'static str,
}

impl Processor {
    fn find(name: &str) -> anyhow::Result<Self> {
        match name {
            "x86_64" => Ok(Self { rust: "x86_64", debian: "amd64", npm: "x64" }),
            "aarch64" => Ok(Self { rust: "aarch64", debian: "arm64", npm: "arm64" }),
            other => bail!("there are no packages for {other}"),
        }
    }

    /// The target of a static program.
    fn target(&self) -> String {
        format!("{}-unknown-linux-musl", self.rust)
    }

    /// What the names of the archive, the checksums and the list of components begin with.
    fn stem(&self) -> String {
        format!("purlin-{VERSION}-{}-linux", self.rust)
    }
}

pub(crate) fn run_all(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "packages are built on Linux; .github/workflows/release.yml builds the program for other systems"
    );
    let processor = Processor::find(std::env::consts::ARCH)?;
    // Before the build, because it takes minutes.
    let compiler = (!arguments.no_build).then_some(COMPILER);
    let programs: Vec<_> = PACKERS.into_iter().chain(compiler).collect();
    tools::need(&programs)?;
    let program = program::build(&processor.target(), arguments.no_build)?;
    let folder = root().join("target/dist");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove the packages of the last run")?;
    }
    fs::create_dir_all(&folder)?;
    let components = step("components", || Components::find(&processor.target()))?;
    let release = Release { processor, program, folder, time: time()?, components };
    step("archive", || release.archive())?;
    step("Debian package", || release.debian())?;
    step("wheel", || release.wheel())?;
    step("packages for npm", || release.npm())?;
    step("list of components", || release.sbom())?;
    step("checksums", || release.checksums())?;
    for (name, size) in release.files()? {
        println!("target/dist/{name}  {:.1} MiB", size as f64 / f64::from(1 << 20));
    }
    if arguments.check {
        release.check()?;
    }
    Ok(())
}

/// The time of the commit, so that the same commit gives the same packages.
fn time() -> anyhow::Result<String> {
    let time = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => time,
        Err(_) => output(Command::new("git").args(["log", "-1", "--format=%ct"]))
            .context("set SOURCE_DATE_EPOCH to the time of the release if this is not a git repository")?,
    };
    ensure!(time.parse::<u32>().is_ok(), "SOURCE_DATE_EPOCH is `{time}`, and not a number of seconds");
    Ok(time)
}

impl Release {
    /// The packages, by name, with their sizes.
    fn files(&self) -> anyhow::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            files.push((entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len()));
        }
        files.sort();
        Ok(files)
    }

    fn checksums(&self) -> anyhow::Result<()> {
        let names: Vec<String> = self.files()?.into_iter().map(|(name, _)| name).collect();
        let done = Command::new("sha256sum").args(names).current_dir(&self.folder).output()?;
        ensure!(done.status.success(), "`sha256sum` failed");
        fs::write(self.folder.join(self.checksum_file()), done.stdout).context("cannot write the checksums")
    }

    fn checksum_file(&self) -> String {
        format!("{}.sha256", self.processor.stem())
    }
}

#[cfg(test)]
mod tests {
    use super::{Processor, debian, npm, wheel};

    #[test]
    fn packages_for_two_processors_have_different_names() {
        let names = |processor: &str| {
            let processor = Processor::find(processor).expect("a processor with packages");
            let wheel = wheel::file(&processor).expect("a version");
            let [program, launcher] = npm::files(&processor);
            [processor.stem(), debian::file(&processor), wheel, program, launcher]
        };
        for (one, other) in names("x86_64").iter().zip(&names("aarch64")) {
            assert_ne!(one, other);
        }
    }
}
