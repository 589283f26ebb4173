//! Builds the API server and the controller manager of Kubernetes in target/tools/kubernetes.
//! Debian packages only their sources.
//!
//! The build uses a temporary folder next to that one and renames it at the end, so that the result
//! is always complete.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::step::{output, root, run};

/// The name in the output of `cargo xtask tools --check`.
pub(super) const NAME: &str = "kubernetes 1.20.2, built from Debian's source package";
const VERSION: &str = "1.20.2";
/// Identifies the build. Another number causes a new build.
const BUILD: &str = "1.20.2, build 2";
const PROGRAMS: [&str; 2] = ["kube-apiserver", "kube-controller-manager"];

/// The Debian packages that the build needs: a program or file that shows whether it is installed,
/// and the package.
pub(super) const PACKAGES: [(&str, &str); 4] = [
    ("/usr/bin/go", "golang-go"),
    (REFLECT2, "golang-github-modern-go-reflect2-dev"),
    ("/usr/bin/make", "make"),
    ("/usr/bin/rsync", "rsync"),
];
const REFLECT2: &str = "/usr/share/gocode/src/github.com/modern-go/reflect2";

/// Whether exactly this build exists.
pub(super) fn is_built() -> bool {
    let folder = folder();
    let version = fs::read_to_string(folder.join("version"));
    version.is_ok_and(|version| version == BUILD)
        && PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

/// Builds the programs. Requires [`PACKAGES`].
pub(super) fn build() -> anyhow::Result<()> {
    let scratch = folder().with_extension("building");
    remove(&scratch)?;
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let sources = unpack(&fetch(&scratch)?, &scratch)?;
    update_reflect2(&sources)?;
    let built = scratch.join("built");
    fs::create_dir(&built)?;
    compile(&sources, &built)?;
    fs::write(built.join("version"), BUILD)?;
    remove(&folder())?;
    fs::rename(&built, folder()).context("cannot move the programs to their folder")?;
    remove(&scratch)
}

fn folder() -> PathBuf {
    root().join("target/tools/kubernetes")
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// A command that runs in a folder.
fn within(folder: &Path) -> Command {
    let mut command = Command::new("env");
    command.arg("-C").arg(folder);
    command
}

/// Downloads the sources. apt checks them against the distribution's signature.
///
/// The lists of source packages are in a separate folder, so that the machine's lists stay
/// unchanged.
fn fetch(scratch: &Path) -> anyhow::Result<PathBuf> {
    let (entries, lists) = (scratch.join("sources.list"), scratch.join("lists"));
    fs::create_dir_all(lists.join("partial"))?;
    fs::write(&entries, source_entries()?)?;
    let apt = |arguments: &[&str]| {
        let mut apt = within(scratch);
        apt.arg("apt-get").arg("-q");
        apt.arg("-o").arg(format!("Dir::Etc::sourcelist={}", entries.display()));
        apt.arg("-o").arg(format!("Dir::State::lists={}", lists.display()));
        apt.args(["-o", "Dir::Etc::sourceparts=-", "-o", "Dir::Cache::pkgcache="]);
        // The user that apt normally downloads as may not write to this folder.
        apt.args(["-o", "Dir::Cache::srcpkgcache=", "-o", "APT::Sandbox::User=root"]).args(arguments);
        run(&mut apt)
    };
    apt(&["update"])?;
    apt(&["source", "--download-only", "kubernetes"])?;
    let ending = format!("{VERSION}.orig.tar.gz");
    let mut files = fs::read_dir(scratch)?.flatten().map(|entry| entry.path());
    files.find(|file| file.to_string_lossy().ends_with(&ending)).with_context(|| {
        format!("this distribution has no sources of Kubernetes {VERSION}; Debian 12 has them")
    })
}

/// Source entries for all Debian repositories that the machine uses, with the same mirrors.
fn source_entries() -> anyhow::Result<String> {
    run(Command::new("apt-get").args(["update", "-q"]))?;
    let targets = ["indextargets", "Created-By: Packages", "Origin: Debian"];
    let targets = output(Command::new("apt-get").args(targets))?;
    let mut entries: Vec<String> = targets.split("\n\n").filter_map(source_entry).collect();
    entries.sort();
    entries.dedup();
    if entries.is_empty() {
        bail!(
            "apt has no package lists of Debian\nhint: the sources of Kubernetes {VERSION} are in Debian 12"
        );
    }
    Ok(entries.concat())
}

fn source_entry(target: &str) -> Option<String> {
    let field = |name: &str| target.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    Some(format!("deb-src {} {} {}\n", field("Repo-URI")?, field("Release")?, field("Component")?))
}

fn unpack(archive: &Path, scratch: &Path) -> anyhow::Result<PathBuf> {
    let sources = scratch.join("sources");
    fs::create_dir(&sources)?;
    let mut tar = Command::new("tar");
    run(tar.args(["--strip-components=1", "-xf"]).arg(archive).arg("-C").arg(&sources))?;
    Ok(sources)
}

/// The copy of reflect2 in the sources crashes when Go 1.18 or newer compiles it. Replaces it with
/// the newer one of Debian's package.
fn update_reflect2(sources: &Path) -> anyhow::Result<()> {
    let vendored = sources.join("vendor/github.com/modern-go/reflect2");
    let is_go = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "go");
    let files = |folder: &Path| -> anyhow::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).filter(is_go).collect())
    };
    for old in files(&vendored)? {
        fs::remove_file(old)?;
    }
    for new in files(Path::new(REFLECT2))? {
        fs::copy(&new, vendored.join(new.file_name().context("a file has a name")?))?;
    }
    Ok(())
}

fn compile(sources: &Path, built: &Path) -> anyhow::Result<()> {
    let workspace = sources.join("_output/local/go");
    let cache = sources.join("_cache");
    // Use only Debian's Go. The version is set here, so that it does not come from the Git
    // repository around this folder.
    let go = |folder: &Path| {
        let mut command = within(folder);
        for name in ["GOROOT", "GOFLAGS", "GOBIN", "GOOS", "GOARCH"] {
            command.arg("-u").arg(name);
        }
        command.args(["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "CGO_ENABLED=0", "GO111MODULE=off"]);
        // The compiler collects garbage only when it needs this much memory: that saves processor time.
        command.args(["GOGC=off", "GOMEMLIMIT=1GiB"]).arg(format!("GOCACHE={}", cache.display()));
        command.arg(format!("GIT_CEILING_DIRECTORIES={}", root().join("target").display()));
        command
    };
    // The archive lacks one generated file. Generating it also creates the workspace that Go
    // expects.
    run(go(sources).args(["make", "gen_openapi", &format!("KUBE_GIT_VERSION=v{VERSION}")]))?;
    let mut build = go(&workspace.join("src/k8s.io/kubernetes"));
    build.arg(format!("GOPATH={}", workspace.display()));
    // The clients of clouds are two fifths of all sources, and no test uses them.
    build.args(["go", "build", "-tags", "providerless"]);
    // The programs have no symbols, so the compiler need not write any.
    build.args(["-gcflags=all=-dwarf=false", "-trimpath", "-ldflags", &linker_flags(), "-o"]).arg(built);
    run(build.args(PROGRAMS.map(|program| format!("k8s.io/kubernetes/cmd/{program}"))))
}

/// Flags that omit symbols and set the version that the programs report.
fn linker_flags() -> String {
    let version = format!("v{VERSION}");
    let mut numbers = VERSION.split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let mut flags = "-s -w".to_owned();
    for package in ["component-base/version", "client-go/pkg/version"] {
        for (name, value) in [("gitVersion", &*version), ("gitMajor", major), ("gitMinor", minor)] {
            flags.push_str(&format!(" -X k8s.io/kubernetes/vendor/k8s.io/{package}.{name}={value}"));
        }
    }
    flags
}
