//! A wheel: `pip install` puts the program among those of the environment.

use std::process::Command;

use anyhow::{Context, ensure};

use super::staging::{NOTICES, Staging};
use super::{DESCRIPTION, HOME, LICENCE, Processor, Release, SUMMARY, VERSION};

/// Writes a wheel: a ZIP archive whose list of files has a digest of each.
const SCRIPT: &str = include_str!("wheel.py");

impl Release {
    pub(super) fn wheel(&self) -> anyhow::Result<()> {
        let version = version(VERSION)?;
        let staging = Staging::new()?;
        let data = format!("purlin-{version}.data/scripts/purlin");
        staging.program(self, &data)?;
        let info = format!("purlin-{version}.dist-info");
        staging.licences(self, &format!("{info}/licenses"))?;
        let tag = tag(self.processor.rust);
        staging.write(format!("{info}/METADATA"), metadata(&version))?;
        staging.write(format!("{info}/WHEEL"), wheel(&tag))?;
        let mut python = Command::new("python3");
        python.args(["-c", SCRIPT]).arg(staging.path());
        python.arg(self.folder.join(file(&self.processor)?));
        let done = python.arg(&self.time).output().context("cannot run python3")?;
        ensure!(done.status.success(), "no wheel: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    }
}

/// The name of the wheel.
pub(super) fn file(processor: &Processor) -> anyhow::Result<String> {
    Ok(format!("purlin-{}-{}.whl", version(VERSION)?, tag(processor.rust)))
}

/// The program is static, so that it runs on every system that understands the oldest of these tags.
fn tag(processor: &str) -> String {
    format!("py3-none-manylinux_2_17_{processor}.manylinux2014_{processor}.musllinux_1_1_{processor}")
}

fn metadata(version: &str) -> String {
    format!(
        "Metadata-Version: 2.4\nName: purlin\nVersion: {version}\nSummary: Purlin: {SUMMARY}\n\
         License-Expression: {LICENCE}\nLicense-File: LICENSE\nLicense-File: {NOTICES}\n\
         Project-URL: Homepage, {HOME}\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n\
         {DESCRIPTION}\n"
    )
}

fn wheel(tag: &str) -> String {
    let (python, platforms) = tag.rsplit_once('-').unwrap_or(("py3-none", tag));
    let tags = platforms.split('.').map(|platform| format!("Tag: {python}-{platform}\n"));
    format!("Wheel-Version: 1.0\nGenerator: purlin\nRoot-Is-Purelib: false\n{}", tags.collect::<String>())
}

/// The version as Python writes it: `1.0.0-rc.1` is `1.0.0rc1` there.
fn version(version: &str) -> anyhow::Result<String> {
    let Some((release, before)) = version.split_once('-') else { return Ok(version.to_owned()) };
    let (word, number) = before.split_once('.').unwrap_or((before, "0"));
    let word = match word {
        "alpha" => "a",
        "beta" => "b",
        "rc" => "rc",
        _ => anyhow::bail!("Python has no version like {version}; write alpha.N, beta.N or rc.N"),
    };
    ensure!(number.parse::<u32>().is_ok(), "Python has no version like {version}");
    Ok(format!("{release}{word}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_python_writes_them() {
        assert_eq!(version("1.2.3").expect("a version"), "1.2.3");
        assert_eq!(version("1.2.3-rc.1").expect("a version"), "1.2.3rc1");
        assert_eq!(version("1.2.3-beta").expect("a version"), "1.2.3b0");
        assert!(version("1.2.3-nightly.1").is_err());
        assert!(version("1.2.3-rc.x").is_err());
    }

    #[test]
    fn a_wheel_has_a_line_for_each_tag() {
        let wheel = wheel(&tag("aarch64"));
        assert!(wheel.ends_with(
            "Tag: py3-none-manylinux_2_17_aarch64\nTag: py3-none-manylinux2014_aarch64\n\
             Tag: py3-none-musllinux_1_1_aarch64\n"
        ));
    }
}
