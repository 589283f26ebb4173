//! `cargo xtask sdk`: builds the SDKs and the crates to embed Purlin as packages in target/sdk, without
//! publishing them.
//!
//! Links to the contract and to WASI's interfaces become files, since neither npm nor a source
//! distribution for Python supports links.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use purlin_systems::published;
use serde_json::Value;

use crate::step::{root, run, step};
use crate::tools;

/// Files that tools create in a folder.
const LEFT_OUT: [&str; 5] = [".gitignore", "__pycache__", "build", "node_modules", "package-lock.json"];

pub(crate) fn run_all() -> anyhow::Result<()> {
    let folder = root().join("target/sdk");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove the packages of the last run")?;
    }
    step("@purlin/driver for npm", || npm(&folder))?;
    step("purlin-driver for pip", || python(&folder))?;
    step("crates", || crates(&folder))?;
    let mut packages = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.is_file() {
            packages.push((
                path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                path.metadata()?.len(),
            ));
        }
    }
    packages.sort();
    for (name, size) in packages {
        println!("target/sdk/{name}  {} KiB", size.div_ceil(1024));
    }
    Ok(())
}

fn npm(folder: &Path) -> anyhow::Result<()> {
    let source = stage("js", folder)?;
    run(Command::new("npm").args(["pack", "--silent", "--pack-destination"]).arg(folder).arg(source))
}

fn python(folder: &Path) -> anyhow::Result<()> {
    let source = stage("python", folder)?;
    let build = tools::python_program("pyproject-build")
        .context("`pyproject-build` is not installed; `cargo xtask tools` installs it")?;
    run(Command::new(build).arg("--outdir").arg(folder).arg(source))
}

/// The sources of a package as they will be packaged, with the licence.
fn stage(name: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let staged = folder.join("sources").join(name);
    copy(&root().join("sdk").join(name), &staged).with_context(|| format!("cannot copy sdk/{name}"))?;
    fs::copy(root().join("LICENSE"), staged.join("LICENSE"))?;
    Ok(staged)
}

/// Copies a folder, and replaces links with their targets.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if LEFT_OUT.contains(&&*text) || text.ends_with(".egg-info") {
            continue;
        }
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(&name))?;
        } else {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

fn crates(folder: &Path) -> anyhow::Result<()> {
    let packages = published::crates();
    let faults: Vec<String> = packages.iter().flat_map(faults).collect();
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    for file in published::package(&root().join("target"), &packages) {
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, folder.join(name))
            .with_context(|| format!("cargo did not make {}", file.display()))?;
    }
    Ok(())
}

/// The fields that a registry requires, or by which people find and judge a crate, and that this one lacks.
fn faults(package: &Value) -> Vec<String> {
    let is_there = |field: &str| match &package[field] {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let name = package["name"].as_str().unwrap_or_default();
    let fields = ["description", "license", "repository", "readme", "keywords", "categories"];
    let missing = fields.iter().filter(|field| !is_there(field));
    missing.map(|field| format!("{name} has no `{field}` in its Cargo.toml")).collect()
}

#[cfg(test)]
mod tests {
    use purlin_systems::published;
    use serde_json::json;

    use super::{copy, faults, root};

    #[test]
    fn missing_metadata_of_a_crate_is_named() {
        let whole = json!({
            "name": "a", "description": "A crate.", "license": "Apache-2.0", "readme": "README.md",
            "repository": "https://example.com", "keywords": ["a"], "categories": ["b"],
        });
        assert!(faults(&whole).is_empty());
        let mut lacking = whole;
        (lacking["license"], lacking["keywords"]) = (json!(null), json!([]));
        assert_eq!(
            faults(&lacking),
            ["a has no `license` in its Cargo.toml", "a has no `keywords` in its Cargo.toml"]
        );
    }

    #[test]
    fn crates_that_others_use_say_what_they_are() {
        let all = published::crates();
        let faults: Vec<String> = all.iter().flat_map(faults).collect();
        assert!(faults.is_empty(), "{faults:?}");
        assert!(all.iter().any(|one| one["name"] == "purlin-builtin"), "{all:?}");
    }

    #[test]
    fn packages_have_files_in_place_of_links() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["js", "python/purlin_driver"] {
            copy(&root().join("sdk").join(name), &folder.path().join(name)).expect("copied");
            for file in [
                "driver.wit",
                "deps/http.wit",
                "deps/metrics.wit",
                "deps/preview.wit",
                "deps/programs.wit",
                "deps/purlin/types.wit",
            ] {
                let file = folder.path().join(name).join("wit").join(file);
                assert!(file.symlink_metadata().expect("there").is_file(), "{}", file.display());
            }
        }
    }
}
