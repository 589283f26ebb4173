//! A package for Debian and the systems that descend from it. It depends on nothing.

use std::fs;
use std::process::Command;

use anyhow::ensure;

use super::staging::{NOTICES, Staging};
use super::{DESCRIPTION, HOME, Processor, Release, SUMMARY, VERSION};
use crate::step::run;

/// A name and an e-mail address, as Debian requires.
const MAINTAINER: &str = "The Purlin authors <noreply@purlin.dev>";

/// Where Debian's shells look for completions.
const COMPLETIONS: [&str; 3] = [
    "usr/share/bash-completion/completions",
    "usr/share/zsh/vendor-completions",
    "usr/share/fish/vendor_completions.d",
];

impl Release {
    pub(super) fn debian(&self) -> anyhow::Result<()> {
        let staging = Staging::new()?;
        staging.program(self, "usr/bin/purlin")?;
        staging.completions(self, COMPLETIONS)?;
        for page in staging.manual(self, "usr/share/man/man1")? {
            compress(&page)?;
        }
        let documents = "usr/share/doc/purlin";
        staging.write(format!("{documents}/copyright"), copyright())?;
        compress(&staging.write(format!("{documents}/{NOTICES}"), self.notices()?)?)?;
        staging.write("DEBIAN/control", control(self.processor.debian, size(staging.path())?))?;
        let file = self.folder.join(file(&self.processor));
        let mut build = Command::new("dpkg-deb");
        // With several threads, the bytes would depend on how many.
        build.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]);
        run(build.env("SOURCE_DATE_EPOCH", &self.time).arg(staging.path()).arg(file))
    }
}

/// The name of the package.
pub(super) fn file(processor: &Processor) -> String {
    format!("purlin_{}_{}.deb", version(VERSION), processor.debian)
}

/// A version before the release sorts before it, and `-` begins the revision of a package.
fn version(version: &str) -> String {
    version.replacen('-', "~", 1).replace('-', ".")
}

fn control(architecture: &str, size: u64) -> String {
    let version = version(VERSION);
    let description = wrap(DESCRIPTION, 78);
    format!(
        "Package: purlin\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: {MAINTAINER}\nInstalled-Size: {size}\nSection: admin\nPriority: optional\n\
         Homepage: {HOME}\nDescription: {SUMMARY}\n{description}"
    )
}

/// Lines of a description, each with the space that continues a field.
fn wrap(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines += &format!("{line}\n");
            line.clear();
        }
        line = format!("{line} {word}");
    }
    lines + &line + "\n"
}

fn copyright() -> String {
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: purlin\n\
         Source: {HOME}\n\nFiles: *\nCopyright: The Purlin authors\nLicense: Apache-2.0\n\nLicense: Apache-2.0\n \
         On Debian systems, the text of this licence is in /usr/share/common-licenses/Apache-2.0.\n\
         Comment: {NOTICES}.gz has the licences of the libraries in the program.\n"
    )
}

/// KiB of the files.
fn size(folder: &std::path::Path) -> anyhow::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        size += match entry.file_type()?.is_dir() {
            true => self::size(&entry.path())?,
            false => entry.metadata()?.len().div_ceil(1024),
        };
    }
    Ok(size)
}

fn compress(file: &std::path::Path) -> anyhow::Result<()> {
    let done = Command::new("gzip").arg("-9n").arg(file).status()?;
    ensure!(done.success(), "`gzip` failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_a_release_sort_before_it() {
        assert_eq!(version("1.2.3"), "1.2.3");
        assert_eq!(version("1.2.3-rc.1"), "1.2.3~rc.1");
        assert_eq!(version("1.2.3-rc-1"), "1.2.3~rc.1");
    }

    #[test]
    fn each_line_of_a_description_continues_the_field() {
        assert_eq!(wrap("one two three", 9), " one two\n three\n");
        let control = control("amd64", 1);
        assert!(control.ends_with(".\n"), "{control}");
        let lines = control.lines().skip_while(|line| !line.starts_with("Description"));
        assert!(lines.skip(1).all(|line| line.starts_with(' ') && line.len() <= 80), "{control}");
    }
}
