//! `cargo xtask map`: prints what the first comment of each file says, crate by crate, in the order of the
//! table in ARCHITECTURE.md.
//!
//! A file is described only there, and ARCHITECTURE.md does not repeat it.

use std::fs;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::step::root;

/// The width of lines that do not go to a terminal.
const COLUMNS: usize = 100;
/// What stands before each line of a comment.
const INDENT: &str = "      ";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A crate, such as `purlin-engine` or `engine`, or a folder, such as `host/engine/src/run`. All crates
    /// by default.
    #[arg(value_name = "CRATE|FOLDER")]
    part: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let columns = columns();
    let mut out = String::new();
    for one in crates()? {
        let part = arguments.part.as_deref().filter(|part| !one.is_called(part));
        let mut files = files(&one.folder)?;
        files.retain(|file| part.is_none_or(|part| is_in(&file.path, part)));
        if files.is_empty() {
            continue;
        }
        let lines: usize = files.iter().map(|file| file.text.lines().count()).sum();
        let (name, folder) = (&one.name, one.folder.display());
        out.push_str(&format!("{name} in {folder}: {} files, {lines} lines\n\n", files.len()));
        for file in files {
            out.push_str(&entry(&file, columns));
        }
        out.push('\n');
    }
    if out.is_empty() {
        bail!("there is no crate or folder `{}`", arguments.part.as_deref().unwrap_or_default());
    }
    match std::io::stdout().write_all(out.as_bytes()) {
        // The reader has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// The width of the terminal.
fn columns() -> usize {
    if !std::io::stdout().is_terminal() {
        return COLUMNS;
    }
    let size = Command::new("stty").arg("size").stdin(Stdio::inherit()).output();
    let size = size.map(|size| String::from_utf8_lossy(&size.stdout).into_owned()).unwrap_or_default();
    let columns = size.split_whitespace().nth(1).and_then(|columns| columns.parse().ok());
    // Some terminals do not know their size, and report 0.
    columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

/// A crate, by the name in its manifest and its folder.
struct Crate {
    name: String,
    folder: PathBuf,
}

impl Crate {
    /// The crate in a folder, if there is one.
    fn at(folder: PathBuf) -> Option<Self> {
        let manifest = fs::read_to_string(root().join(&folder).join("Cargo.toml")).ok()?;
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
        Some(Self { name: name.trim_matches('"').to_owned(), folder })
    }

    fn is_called(&self, part: &str) -> bool {
        self.name == part || self.folder.ends_with(part)
    }
}

/// The crates in the order of the table. A row may name the folder of a crate, or one with several crates.
fn crates() -> anyhow::Result<Vec<Crate>> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")?;
    let table =
        page.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let folders = table.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut crates = Vec::new();
    for folder in folders.map(PathBuf::from) {
        match Crate::at(folder.clone()) {
            Some(one) => crates.push(one),
            None => crates.extend(below(&folder)?.into_iter().filter_map(Crate::at)),
        }
    }
    Ok(crates)
}

/// The folders and files in a folder, sorted, as paths from the root.
fn below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root().join(folder));
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths =
        entries.map(|entry| Ok(folder.join(entry?.file_name()))).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// A file of a crate.
struct File {
    path: PathBuf,
    text: String,
    /// The crate's README.md, which is the comment of some crates.
    readme: String,
}

/// The files of a crate, except those that only contain tests: each module before those below it.
fn files(folder: &Path) -> anyhow::Result<Vec<File>> {
    let readme = fs::read_to_string(root().join(folder).join("README.md")).unwrap_or_default();
    let (mut files, mut left) = (Vec::new(), vec![folder.join("src")]);
    while let Some(folder) = left.pop() {
        for path in below(&folder)? {
            let stem = path.file_stem().unwrap_or_default();
            if stem == "tests" {
                continue;
            }
            if root().join(&path).is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(root().join(&path));
                let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                files.push(File { path, text, readme: readme.clone() });
            }
        }
    }
    files.sort_by_cached_key(|file| module(&file.path));
    Ok(files)
}

/// The path of a module, which is the beginning of those below it.
fn module(path: &Path) -> PathBuf {
    match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => path.parent().unwrap_or(path).to_owned(),
        _ => path.with_extension(""),
    }
}

/// Whether a file is the module of a folder or file, or below it.
fn is_in(path: &Path, part: &str) -> bool {
    module(path).starts_with(module(Path::new(part)))
}

/// A file's path, its number of lines, and what it is for.
fn entry(file: &File, columns: usize) -> String {
    let mut out = format!("  {}, {} lines\n", file.path.display(), file.text.lines().count());
    let mut line = String::new();
    for word in comment(file).split_whitespace() {
        let width = INDENT.len() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && width > columns {
            out.push_str(&format!("{INDENT}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        out.push_str(&format!("{INDENT}{line}\n"));
    }
    out
}

/// The first paragraph of a file's first comment. Empty if there is none.
fn comment(file: &File) -> String {
    if file.text.starts_with("#![doc = include_str!(\"../README.md\")]") {
        return paragraph(file.readme.lines());
    }
    paragraph(file.text.lines().map_while(|line| line.strip_prefix("//!")))
}

/// The first paragraph, without headings and links.
fn paragraph<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines = lines.map(str::trim).skip_while(|line| line.is_empty() || line.starts_with('#'));
    let is_over =
        |line: &str| line.is_empty() || ["```", "- ", "|"].iter().any(|mark| line.starts_with(mark));
    let lines: Vec<&str> = lines.take_while(|line| !is_over(line)).collect();
    let text = lines.join(" ");
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let link = after.split_once(']').and_then(|(label, after)| {
            let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
            let is_item = label.len() > 1 && label.starts_with('`') && label.ends_with('`');
            target.map(|(_, after)| (label, after)).or(is_item.then_some((label, after)))
        });
        match link {
            Some((label, after)) => {
                out.push_str(label);
                rest = after;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        let readme = "# A crate\n\nIt does [much](docs/a.md).\n".to_owned();
        File { path: "host/lock/src/lock.rs".into(), text: text.to_owned(), readme }
    }

    #[test]
    fn an_entry_is_the_first_paragraph_of_the_first_comment() {
        let text = "//! Takes the [`Lock`] (SPEC §9 [C]), and waits for the calls that\n//! `a[0]` left.\n//!\n\
                    //! More.\n\nuse a;\n//! Not the first.\n";
        let shown = "  host/lock/src/lock.rs, 7 lines\n      Takes the `Lock` (SPEC §9 [C]), and\n      \
                     waits for the calls that `a[0]` left.\n";
        assert_eq!(entry(&file(text), 43), shown);
        assert_eq!(comment(&file("//! Keeps:\n//! - a\n//! - b\n")), "Keeps:");
        assert_eq!(comment(&file("#![doc = include_str!(\"../README.md\")]\n")), "It does much.");
        assert_eq!(comment(&file("// Not for people.\nuse a;\n")), "");
    }

    #[test]
    fn a_part_is_a_crate_or_a_module_with_everything_below_it() {
        let engine = Crate { name: "purlin-engine".into(), folder: "host/engine".into() };
        assert!(["purlin-engine", "engine", "host/engine"].into_iter().all(|part| engine.is_called(part)));
        assert!(!engine.is_called("gine"));
        for part in ["host/engine/src/run", "host/engine/src/run.rs", "host/engine", "host/"] {
            assert!(is_in(Path::new("host/engine/src/run/apply.rs"), part), "{part}");
            assert!(is_in(Path::new("host/engine/src/run.rs"), part), "{part}");
        }
        assert!(!is_in(Path::new("host/engine/src/runs.rs"), "host/engine/src/run"));
    }

    #[test]
    fn every_product_file_of_the_host_has_a_first_comment() -> anyhow::Result<()> {
        let crates: Vec<Crate> = crates()?.into_iter().filter(|one| one.folder.starts_with("host")).collect();
        assert!(crates.len() >= 15, "{} crates", crates.len());
        for one in crates {
            let files = files(&one.folder)?;
            assert!(!files.is_empty(), "{}", one.name);
            for file in files {
                assert!(!comment(&file).is_empty(), "{} has no first comment", file.path.display());
            }
        }
        Ok(())
    }
}
