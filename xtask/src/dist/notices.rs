//! The licences of the components. Most of them require that their texts accompany the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::Release;
use super::components::{Components, Package};

/// How files with licences are named.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

const HEAD: &str = "\
Purlin contains the components below, the standard library of Rust (MIT OR Apache-2.0), musl (MIT) and mimalloc
(MIT). Each text is followed by those to which it applies.

";

impl Release {
    pub(super) fn notices(&self) -> anyhow::Result<String> {
        notices(&self.components)
    }
}

fn notices(components: &Components) -> anyhow::Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut all = HEAD.to_owned();
    for package in components.iter().filter(|package| package.source.is_some()) {
        let licence = package.license().unwrap_or_default();
        let _ = writeln!(all, "{} {}: {licence}", package.name, package.version);
        for text in licences(package)? {
            texts.entry(text).or_default().push(format!("{} {}", package.name, package.version));
        }
    }
    for (text, users) in texts {
        let line = "-".repeat(80);
        let _ = write!(all, "\n{line}\n{text}\n\nApplies to {}.\n", users.join(", "));
    }
    Ok(all)
}

/// The texts of the licences that a crate comes with.
fn licences(package: &Package) -> anyhow::Result<Vec<String>> {
    let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
    let mut texts = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(texts) };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_ascii_uppercase();
        if entry.file_type()?.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {name}"))?;
            texts.push(tidy(&String::from_utf8_lossy(&bytes)));
        }
    }
    texts.sort();
    Ok(texts)
}

/// The text without what differs between copies of it: ends of lines, and empty lines around it.
fn tidy(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::components::tests::sample;

    #[test]
    fn copies_of_a_text_are_one() {
        assert_eq!(tidy("\r\nMIT  \r\n\r\ntext\r\n"), tidy("MIT\n\ntext"));
        let all = notices(&sample()).expect("notices");
        assert!(all.contains("\nlibrary 1.0.0: MIT OR Apache-2.0\n"), "{all}");
        assert!(!all.contains("purlin-cli"), "ours is in LICENSE: {all}");
    }
}
