//! The components of the program: the crates that it is compiled from, and those of its drivers.
//! Crates that only build or test it are not inside, and neither are macros.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;

use crate::drivers;
use crate::step::{cargo, output};

/// The crate of the program.
const PROGRAM: &str = "purlin-cli";

/// Crates, and which of them each one needs.
#[derive(Default)]
pub(super) struct Components {
    packages: BTreeMap<String, Package>,
    needs: BTreeMap<String, BTreeSet<String>>,
}

/// A crate, as `cargo metadata` describes it.
#[derive(Clone, Deserialize)]
pub(super) struct Package {
    id: String,
    pub(super) name: String,
    pub(super) version: String,
    license: Option<String>,
    /// Where it comes from, unless it is ours.
    pub(super) source: Option<String>,
    pub(super) manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Clone, Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

impl Components {
    /// Those of the program for a target.
    pub(super) fn find(target: &str) -> anyhow::Result<Self> {
        let mut all = Self::default();
        let program = all.add(&Metadata::read(target)?, PROGRAM)?;
        let mut metadata: BTreeMap<&str, Metadata> = BTreeMap::new();
        for (package, target) in drivers::built_in()? {
            if !metadata.contains_key(target) {
                metadata.insert(target, Metadata::read(target)?);
            }
            let driver = metadata.get(target).context("no metadata")?;
            let driver = all.add(driver, &package)?;
            all.needs.entry(program.clone()).or_default().insert(driver);
        }
        Ok(all)
    }

    /// Adds a crate of the workspace and all that is inside it, and returns its id.
    fn add(&mut self, metadata: &Metadata, name: &str) -> anyhow::Result<String> {
        let packages: BTreeMap<&str, &Package> =
            metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
        let nodes: BTreeMap<&str, &Node> =
            metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let ours = |package: &&Package| package.name == name && package.source.is_none();
        let root = metadata.packages.iter().find(ours).with_context(|| format!("there is no {name}"))?;
        let mut open = vec![root.id.as_str()];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let package = packages.get(id).with_context(|| format!("cargo does not describe {id}"))?;
            self.packages.insert(id.to_owned(), (*package).clone());
            let needs = self.needs.entry(id.to_owned()).or_default();
            for dependency in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
                let is_macro = packages.get(&*dependency.pkg).is_some_and(|package| package.is_macro());
                if dependency.is_inside() && !is_macro {
                    needs.insert(dependency.pkg.clone());
                    open.push(&dependency.pkg);
                }
            }
        }
        Ok(root.id.clone())
    }

    /// The crate of the program.
    pub(super) fn program(&self) -> anyhow::Result<&Package> {
        self.iter().find(|package| package.name == PROGRAM).context("the program is not among its components")
    }

    /// All of them, by name and version.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Package> {
        let mut all: Vec<&Package> = self.packages.values().collect();
        all.sort_by_key(|package| (&package.name, &package.version));
        all.into_iter()
    }

    /// What a crate needs, by name and version.
    pub(super) fn needs(&self, package: &Package) -> impl Iterator<Item = &Package> {
        let needs = self.needs.get(&package.id).into_iter().flatten();
        let mut needs: Vec<&Package> = needs.filter_map(|id| self.packages.get(id)).collect();
        needs.sort_by_key(|package| (&package.name, &package.version));
        needs.into_iter()
    }
}

impl Metadata {
    fn read(target: &str) -> anyhow::Result<Self> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
        serde_json::from_str(&output(&mut metadata)?).context("cannot read what `cargo metadata` prints")
    }
}

impl Dependency {
    /// Whether it ends up in the program: one of its kinds is neither `dev` nor `build`.
    fn is_inside(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }
}

impl Package {
    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }

    /// Its licences, in the syntax of SPDX: crates used to write `/` for a choice.
    pub(super) fn license(&self) -> Option<String> {
        let license = self.license.as_ref()?;
        Some(license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR "))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A program that needs a library, a macro, a tool of its build, and one of its tests.
    pub(in crate::dist) fn sample() -> Components {
        let package = |name: &str, kind: &str, license: &str| {
            let source = (name != PROGRAM).then_some("registry");
            serde_json::json!({"id": name, "name": name, "version": "1.0.0", "license": license, "source": source,
                "manifest_path": format!("/none/{name}/Cargo.toml"), "targets": [{"kind": [kind]}]})
        };
        let dependency =
            |name: &str, kind: Option<&str>| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata: Metadata = serde_json::from_value(serde_json::json!({
            "packages": [
                package(PROGRAM, "bin", "Apache-2.0"), package("library", "lib", "MIT/Apache-2.0"),
                package("macro", "proc-macro", "MIT"), package("under-macro", "lib", "MIT"),
                package("build", "lib", "MIT"), package("test", "lib", "MIT"), package("below", "lib", "MIT"),
            ],
            "resolve": {"nodes": [
                {"id": PROGRAM, "deps": [dependency("library", None), dependency("macro", None),
                    dependency("build", Some("build")), dependency("test", Some("dev"))]},
                {"id": "library", "deps": [dependency("below", None)]},
                {"id": "macro", "deps": [dependency("under-macro", None)]},
            ]},
        }))
        .expect("metadata");
        let mut all = Components::default();
        all.add(&metadata, PROGRAM).expect("added");
        all
    }

    #[test]
    fn dependencies_for_builds_and_tests_are_left_out() {
        let all = sample();
        let names: Vec<&str> = all.iter().map(|package| &*package.name).collect();
        assert_eq!(names, ["below", "library", PROGRAM]);
        let needs: Vec<&str> =
            all.needs(all.program().expect("there")).map(|package| &*package.name).collect();
        assert_eq!(needs, ["library"]);
    }

    #[test]
    fn a_choice_of_licences_is_written_as_spdx_writes_it() {
        let all = sample();
        let library = all.iter().find(|package| package.name == "library").expect("there");
        assert_eq!(library.license().as_deref(), Some("MIT OR Apache-2.0"));
    }
}
