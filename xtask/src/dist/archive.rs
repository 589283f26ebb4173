//! `purlin-VERSION-PROCESSOR-linux.tar.gz`: everything, to be put anywhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Release;
use super::staging::Staging;
use crate::step::{root, run};

impl Release {
    /// The folder in the archive.
    pub(super) fn folder_in_archive(&self) -> String {
        self.processor.stem()
    }

    pub(super) fn archive(&self) -> anyhow::Result<()> {
        let staging = Staging::new()?;
        let name = self.folder_in_archive();
        staging.program(self, &format!("{name}/purlin"))?;
        staging.completions(self, [&format!("{name}/completions"); 3].map(|folder| folder.as_str()))?;
        staging.manual(self, &format!("{name}/man/man1"))?;
        staging.licences(self, &name)?;
        staging.write(Path::new(&name).join("README.md"), fs::read(root().join("README.md"))?)?;
        let mut tar = Command::new("tar");
        tar.args(["--owner=0", "--group=0", "--numeric-owner", "--sort=name", "--format=gnu"]);
        tar.arg(format!("--mtime=@{}", self.time)).args(["--use-compress-program", "gzip -9n", "-cf"]);
        run(tar.arg(self.folder.join(format!("{name}.tar.gz"))).arg("-C").arg(staging.path()).arg(&name))
    }
}
