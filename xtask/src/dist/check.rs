//! Installs each package into a clean place, as its users do, and works with the program that it puts there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::sbom::Sbom;
use super::{Release, VERSION};
use crate::step::{output, root, run, step};

impl Release {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let place = tempfile::tempdir()?;
        let place = place.path();
        step("the program names no folder of this machine", || super::program::check(&self.program))?;
        step("the checksums are right", || self.checksums_are_right())?;
        step("the list of components is whole", || {
            let count = Sbom::check(&fs::read_to_string(self.file(".cdx.json")?)?)?;
            eprintln!("    {count} components");
            Ok(())
        })?;
        step("the archive installs", || self.archive_installs(&place.join("archive")))?;
        step("the Debian package installs", || self.debian_installs(&place.join("debian")))?;
        step("the wheel installs", || self.wheel_installs(&place.join("wheel")))?;
        step("the packages for npm install", || self.npm_installs(&place.join("npm")))
    }

    fn checksums_are_right(&self) -> anyhow::Result<()> {
        let mut check = Command::new("sha256sum");
        let file = self.checksum_file();
        let done = check.args(["--check", "--strict", "--quiet", &file]).current_dir(&self.folder);
        ensure!(done.status()?.success(), "a package does not have its checksum");
        let listed = fs::read_to_string(self.folder.join(&file))?.lines().count();
        ensure!(listed + 1 == self.files()?.len(), "{file} lists {listed} packages");
        Ok(())
    }

    fn archive_installs(&self, place: &Path) -> anyhow::Result<()> {
        fs::create_dir(place)?;
        run(Command::new("tar").arg("-xzf").arg(self.file(".tar.gz")?).arg("-C").arg(place))?;
        let folder = place.join(self.folder_in_archive());
        for file in ["LICENSE", "README.md", super::staging::NOTICES, "man/man1/purlin-plan.1"] {
            ensure!(folder.join(file).is_file(), "{file} is missing");
        }
        completes(&folder.join("purlin"), &folder.join("completions/purlin"))?;
        works(&folder.join("purlin"), place)
    }

    /// Installs, uses and removes the package under another root, with a database of packages of its own.
    fn debian_installs(&self, place: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(place.join("root/var/lib/dpkg/info"))?;
        fs::create_dir(place.join("root/var/lib/dpkg/updates"))?;
        fs::write(place.join("root/var/lib/dpkg/status"), "")?;
        let dpkg = || {
            let mut dpkg = Command::new("dpkg");
            // A user other than root owns the installed files, and has no administration programs in PATH.
            dpkg.args(["--force-not-root", "--force-bad-path", "--log=/dev/null", "--root"]);
            dpkg.arg(place.join("root"));
            dpkg
        };
        run(dpkg().arg("--install").arg(self.file(".deb")?))?;
        let status = output(dpkg().args(["--status", "purlin"]))?;
        ensure!(status.contains("Status: install ok installed"), "dpkg says: {status}");
        let changed = output(dpkg().args(["--verify", "purlin"]))?;
        ensure!(changed.is_empty(), "dpkg finds changes: {changed}");
        let root = place.join("root/usr");
        for file in ["doc/purlin/copyright", "man/man1/purlin.1.gz", "zsh/vendor-completions/_purlin"] {
            ensure!(root.join("share").join(file).is_file(), "{file} is missing");
        }
        completes(&root.join("bin/purlin"), &root.join("share/bash-completion/completions/purlin"))?;
        works(&root.join("bin/purlin"), place)?;
        run(dpkg().args(["--purge", "purlin"]))?;
        ensure!(!root.join("bin/purlin").exists(), "dpkg does not remove the program");
        Ok(())
    }

    fn wheel_installs(&self, place: &Path) -> anyhow::Result<()> {
        run(Command::new("python3").args(["-m", "venv"]).arg(place))?;
        let pip = || Command::new(place.join("bin/pip"));
        run(pip().args(["install", "--quiet", "--no-index"]).arg(self.file(".whl")?))?;
        let about = output(pip().args(["show", "purlin"]))?;
        ensure!(about.contains(&format!("Name: purlin\nVersion: {VERSION}\n")), "pip says: {about}");
        works(&place.join("bin/purlin"), place)?;
        run(pip().args(["uninstall", "--quiet", "--yes", "purlin"]))?;
        ensure!(!place.join("bin/purlin").exists(), "pip does not remove the program");
        Ok(())
    }

    fn npm_installs(&self, place: &Path) -> anyhow::Result<()> {
        fs::create_dir(place)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--offline", "--global", "--prefix"]).arg(place);
        // The launcher finds the package with the program beside it, as npm puts it.
        for (name, _) in self.files()?.iter().filter(|(name, _)| name.ends_with(".tgz")) {
            npm.arg(self.folder.join(name));
        }
        run(&mut npm)?;
        works(&place.join("bin/purlin"), place)
    }

    /// The package whose name has this ending.
    fn file(&self, end: &str) -> anyhow::Result<PathBuf> {
        let mut names = self.files()?.into_iter().map(|(name, _)| name);
        let name = names.find(|name| name.ends_with(end)).with_context(|| format!("there is no *{end}"))?;
        Ok(self.folder.join(name))
    }
}

/// Deploys a project that `purlin init` writes, in a folder below `place`. Only `HOME` and `PATH` are
/// set.
fn works(program: &Path, place: &Path) -> anyhow::Result<()> {
    let folder = place.join("work");
    fs::create_dir(&folder)?;
    let purlin = |arguments: &[&str]| -> anyhow::Result<String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&folder).env_clear().env("HOME", &folder);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        let done = command.output().with_context(|| format!("cannot run {}", program.display()))?;
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        ensure!(done.status.success(), "`purlin {}` failed:\n{stderr}", arguments.join(" "));
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let version = purlin(&["--version"])?;
    ensure!(version == format!("purlin {VERSION}\n"), "the program says that it is {version}");
    purlin(&["init", "."])?;
    purlin(&["validate"])?;
    purlin(&["up", "--yes"])?;
    let state = purlin(&["state", "list"])?;
    ensure!(state.contains("postgres"), "`purlin up` created no database: {state}");
    // Status 3 would tell of changes.
    purlin(&["plan", "--detailed-exitcode"])?;
    // A component that is not built in is compiled by a process of its own, which is the same program.
    let component = root().join("target/drivers/ledger.wasm");
    purlin(&["driver", "inspect", &component.to_string_lossy()])?;
    purlin(&["destroy", "--yes"])?;
    Ok(())
}

/// Asks for completions as bash does, with the program in PATH.
fn completes(program: &Path, script: &Path) -> anyhow::Result<()> {
    let typed = "source \"$1\"; COMP_WORDS=(purlin vali) COMP_CWORD=1 COMP_TYPE=9
        _clap_complete_purlin purlin vali purlin; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", typed, "bash"]).arg(script);
    let folder = program.parent().unwrap_or(Path::new("."));
    let path = std::env::var("PATH").unwrap_or_default();
    let found = output(bash.env("PATH", format!("{}:{path}", folder.display())))?;
    ensure!(found.contains("validate"), "bash completes `purlin vali` with `{found}`");
    let text = fs::read_to_string(script)?;
    let is_anywhere = !text.contains(&*root().to_string_lossy()) && !text.contains("release/purlin");
    ensure!(is_anywhere, "the completions call the program in its build folder");
    Ok(())
}
