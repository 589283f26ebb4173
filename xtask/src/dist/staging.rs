//! Folders in which packages are put together. What is in them depends on the sources alone: modes do not come
//! from the user's mask, and nothing names the folder in which the program was built.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::Release;
use crate::step::{output, root};

/// The name of the file with the licences of the components.
pub(super) const NOTICES: &str = "THIRD-PARTY-LICENSES.txt";

/// Shells, and the names of the files with their completions.
const SHELLS: [(&str, &str); 3] = [("bash", "purlin"), ("zsh", "_purlin"), ("fish", "purlin.fish")];

/// A temporary folder.
pub(super) struct Staging {
    folder: tempfile::TempDir,
}

impl Staging {
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("dist-").tempdir_in(root().join("target"));
        let folder = folder.context("cannot create a folder")?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        Ok(Self { folder })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file that everybody may read.
    pub(super) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> anyhow::Result<PathBuf> {
        let path = self.path().join(&name);
        let folders = name.as_ref().ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        let mut folders: Vec<&Path> = folders.collect();
        folders.reverse();
        for folder in folders {
            let folder = self.path().join(folder);
            fs::create_dir_all(&folder)?;
            fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
        }
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        Ok(path)
    }

    /// Copies the program.
    pub(super) fn program(&self, release: &Release, name: &str) -> anyhow::Result<()> {
        let path = self.write(name, fs::read(&release.program)?)?;
        fs::set_permissions(path, Permissions::from_mode(0o755)).context("cannot make it executable")
    }

    /// Writes the licence of the program and those of its components.
    pub(super) fn licences(&self, release: &Release, folder: &str) -> anyhow::Result<()> {
        let folder = Path::new(folder);
        self.write(folder.join("LICENSE"), fs::read(root().join("LICENSE"))?)?;
        self.write(folder.join(NOTICES), release.notices()?)?;
        Ok(())
    }

    /// Writes the completions, each to the folder of its shell.
    pub(super) fn completions(&self, release: &Release, folders: [&str; 3]) -> anyhow::Result<()> {
        for ((shell, name), folder) in SHELLS.into_iter().zip(folders) {
            // The script calls the program as it was called.
            let script = output(Command::new(&release.program).arg0("purlin").args(["completions", shell]))?;
            self.write(Path::new(folder).join(name), script + "\n")?;
        }
        Ok(())
    }

    /// Writes the manual pages, and returns where they are.
    pub(super) fn manual(&self, release: &Release, folder: &str) -> anyhow::Result<Vec<PathBuf>> {
        let made = Self::new()?;
        output(Command::new(&release.program).arg("manual").arg(made.path()))?;
        let mut pages = Vec::new();
        for entry in fs::read_dir(made.path())? {
            let entry = entry?;
            pages.push(self.write(Path::new(folder).join(entry.file_name()), fs::read(entry.path())?)?);
        }
        pages.sort();
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_do_not_depend_on_the_mask_of_the_user() {
        let staging = Staging { folder: tempfile::tempdir().expect("a folder") };
        let file = staging.write("usr/share/doc/a", "text").expect("written");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o644);
        assert_eq!(mode(&staging.path().join("usr")), 0o755);
        assert_eq!(mode(&staging.path().join("usr/share/doc")), 0o755);
    }
}
