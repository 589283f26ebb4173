//! `cargo xtask sdk`: builds the SDKs as packages in target/sdk, without publishing them.
//!
//! Links to the contract and to WASI's interfaces become files, since neither npm nor a source
//! distribution for Python supports links.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::step::{cargo, output, root, run, step};
use crate::tools;

/// The crates of the SDK for drivers in Rust.
const CRATES: [&str; 5] =
    ["purlin-sdk", "purlin-sdk-aws", "purlin-sdk-derive", "purlin-sdk-http", "purlin-sdk-net"];

/// Files that tools create in a folder, and the previous contract.
const LEFT_OUT: [&str; 6] =
    [".gitignore", "0.1", "__pycache__", "build", "node_modules", "package-lock.json"];

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

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Clone, Default, Deserialize)]
struct Package {
    name: String,
    version: String,
    description: Option<String>,
    license: Option<String>,
    repository: Option<String>,
    readme: Option<PathBuf>,
}

fn crates(folder: &Path) -> anyhow::Result<()> {
    let metadata = output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    let packages: Vec<&Package> =
        metadata.packages.iter().filter(|package| CRATES.contains(&package.name.as_str())).collect();
    let faults: Vec<String> = packages.iter().flat_map(|package| faults(package)).collect();
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    let mut package = cargo();
    // The tests of the workspace already compile them.
    package.args(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    run(package.args(CRATES.iter().flat_map(|name| ["-p", name])))?;
    for Package { name, version, .. } in packages {
        let file = format!("{name}-{version}.crate");
        fs::copy(metadata.target_directory.join("package").join(&file), folder.join(&file))
            .with_context(|| format!("cargo did not make {file}"))?;
    }
    Ok(())
}

/// The fields that a registry requires and a crate lacks.
fn faults(package: &Package) -> Vec<String> {
    let fields = [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("repository", package.repository.is_some()),
        ("readme", package.readme.is_some()),
    ];
    let missing = fields.iter().filter(|(_, there)| !there);
    missing.map(|(key, _)| format!("{} has no `{key}` in its Cargo.toml", package.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::{CRATES, Package, copy, faults, root};

    #[test]
    fn missing_metadata_of_a_crate_is_named() {
        let whole = Package {
            name: "a".to_owned(),
            description: Some("A crate.".to_owned()),
            license: Some("Apache-2.0".to_owned()),
            repository: Some("https://example.com".to_owned()),
            readme: Some("README.md".into()),
            ..Package::default()
        };
        assert!(faults(&whole).is_empty());
        let lacking = Package { license: None, repository: None, ..whole };
        assert_eq!(
            faults(&lacking),
            ["a has no `license` in its Cargo.toml", "a has no `repository` in its Cargo.toml"]
        );
    }

    #[test]
    fn packages_have_files_in_place_of_links() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["js", "python/purlin_driver"] {
            copy(&root().join("sdk").join(name), &folder.path().join(name)).expect("copied");
            for file in ["driver.wit", "deps/http.wit", "deps/purlin/types.wit"] {
                let file = folder.path().join(name).join("wit").join(file);
                assert!(file.symlink_metadata().expect("there").is_file(), "{}", file.display());
            }
            assert!(!folder.path().join(name).join("wit/deps/purlin/0.1").exists(), "the contract before");
        }
    }

    #[test]
    fn every_packaged_crate_exists() {
        let sdk = std::fs::read_dir(root().join("sdk")).expect("a folder").flatten();
        let manifests = sdk.filter_map(|entry| std::fs::read_to_string(entry.path().join("Cargo.toml")).ok());
        let manifests: Vec<String> = manifests.collect();
        for name in CRATES {
            let named = format!("name = \"{name}\"");
            assert!(manifests.iter().any(|manifest| manifest.contains(&named)), "{name}");
        }
    }
}
