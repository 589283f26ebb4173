//! The crates of the workspace: their dependencies, and their code without comments and tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All crates of the workspace.
pub(crate) struct Workspace {
    pub(crate) crates: Vec<Crate>,
    /// The workspace's manifest, which sets the lints.
    pub(crate) lints: String,
}

/// A crate.
pub(crate) struct Crate {
    pub(crate) name: String,
    /// The path relative to the root, with `/`.
    pub(crate) folder: String,
    /// Its dependencies at run time, including those from outside of the workspace.
    pub(crate) needs: Vec<String>,
    pub(crate) sources: Vec<Source>,
    /// Whether it uses the workspace's lints.
    pub(crate) lints: bool,
}

/// A file of `src/` that is not only for tests.
pub(crate) struct Source {
    /// The path relative to the crate's folder.
    pub(crate) path: String,
    pub(crate) code: String,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above").to_owned()
}

impl Workspace {
    /// Gets the crates from cargo, and reads their sources.
    pub(crate) fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(root())
            .output()
            .expect("cargo answers");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let packages = metadata["packages"].as_array().expect("packages");
        Self {
            crates: packages.iter().map(Crate::read).collect(),
            lints: fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest"),
        }
    }

    /// The crates below the command line: all of `host/` except `host/cli`.
    pub(crate) fn below_cli(&self) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(|one| one.folder.starts_with("host/") && one.folder != "host/cli")
    }

    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(move |one| one.name == name)
    }
}

impl Crate {
    fn read(package: &serde_json::Value) -> Self {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest.parent().expect("a folder");
        let needs = package["dependencies"].as_array().into_iter().flatten();
        // `kind` is null for dependencies at run time.
        let needs = needs.filter(|one| one["kind"].is_null()).filter_map(|one| one["name"].as_str());
        let mut sources = Vec::new();
        read_sources(&folder.join("src"), folder, &mut sources);
        let text = fs::read_to_string(manifest).expect("a manifest");
        Self {
            name: package["name"].as_str().expect("a name").to_owned(),
            folder: relative(folder, &root()),
            needs: needs.map(str::to_owned).collect(),
            sources,
            lints: text.contains("[lints]\nworkspace = true"),
        }
    }
}

fn relative(path: &Path, base: &Path) -> String {
    path.strip_prefix(base).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn read_sources(folder: &Path, base: &Path, sources: &mut Vec<Source>) {
    let mut texts = Vec::new();
    read_texts(folder, &mut texts);
    let for_tests: Vec<PathBuf> = texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    for (path, text) in texts {
        // A module is a file, or a folder with files.
        if !for_tests.iter().any(|module| path.with_extension("") == *module || path.starts_with(module)) {
            sources.push(Source { path: relative(&path, base), code: code(&text) });
        }
    }
}

fn read_texts(folder: &Path, texts: &mut Vec<(PathBuf, String)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read_texts(&path, texts);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source in UTF-8");
            texts.push((path, text));
        }
    }
}

/// The modules in separate files that a file declares only for its tests, as paths without
/// extension.
pub(crate) fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let name = path.file_stem().unwrap_or_default();
    let folder = path.parent().unwrap_or(path);
    let below =
        if name == "lib" || name == "main" || name == "mod" { folder.to_owned() } else { folder.join(name) };
    let mut modules = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[cfg(test)]") {
            marked = true;
        } else if marked && !line.starts_with("#[") {
            let module = line.strip_prefix("pub(crate) ").unwrap_or(line).strip_prefix("mod ");
            modules.extend(module.and_then(|rest| rest.strip_suffix(';')).map(|name| below.join(name)));
            marked = false;
        }
    }
    modules
}

/// A source without comments and without code that is only compiled for tests.
pub(crate) fn code(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    let mut in_comment = false;
    while let Some(line) = lines.next() {
        if in_comment {
            in_comment = !line.contains("*/");
            continue;
        }
        let trimmed = line.trim_start();
        if trimmed.starts_with("//") {
            continue;
        }
        if trimmed.starts_with("/*") {
            in_comment = !trimmed.contains("*/");
            continue;
        }
        if trimmed.starts_with("#[cfg(test)]") || trimmed.starts_with("#[cfg(any(test") {
            // The item ends at a line with the same indentation that ends in `}` or `;`.
            let indent = line.len() - trimmed.len();
            for line in lines.by_ref() {
                let depth = line.len() - line.trim_start().len();
                let rest = line.trim();
                if depth == indent && (rest.starts_with('}') || rest.ends_with(';') || rest.ends_with("{}")) {
                    break;
                }
            }
            continue;
        }
        // Remove a `//` after code, but not one within a text such as a URL.
        let line = match line.find(" // ") {
            Some(at) if line[..at].matches('"').count() % 2 == 0 => &line[..at],
            _ => line,
        };
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The table of the page: the crates that each crate may use, by package name.
pub(crate) fn table(page: &str) -> BTreeMap<String, Vec<String>> {
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> =
            line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [folder, name, _, uses] = cells.as_slice() else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        Some((folder.trim_matches('`').trim_start_matches("host/"), name.to_owned(), *uses))
    });
    let rows: Vec<_> = rows.collect();
    let package =
        |folder: &str| rows.iter().find(|(known, ..)| *known == folder).map(|(_, name, _)| name.clone());
    rows.iter()
        .enumerate()
        .map(|(index, (_, name, uses))| {
            let allowed = match *uses {
                "all of the above" => rows[..index].iter().map(|(_, name, _)| name.clone()).collect(),
                uses => uses
                    .split(", ")
                    .map(|word| package(word).unwrap_or_else(|| word.trim_matches('`').to_owned()))
                    .collect(),
            };
            (name.clone(), allowed)
        })
        .collect()
}
