//! `purlin-VERSION-PROCESSOR-linux.cdx.json`: the components as CycloneDX lists them.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::components::{Components, Package};
use super::{Release, VERSION};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Sbom {
    bom_format: String,
    spec_version: String,
    version: u32,
    metadata: Metadata,
    components: Vec<Component>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    component: Component,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Component {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "bom-ref")]
    reference: String,
    name: String,
    version: String,
    licenses: Vec<License>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purl: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct License {
    expression: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Dependency {
    #[serde(rename = "ref")]
    reference: String,
    depends_on: Vec<String>,
}

impl Release {
    pub(super) fn sbom(&self) -> anyhow::Result<()> {
        let sbom = Sbom::new(&self.components)?;
        let file = self.folder.join(format!("{}.cdx.json", self.folder_in_archive()));
        std::fs::write(file, serde_json::to_string_pretty(&sbom)? + "\n").context("cannot write the list")
    }
}

impl Sbom {
    fn new(components: &Components) -> anyhow::Result<Self> {
        let program = components.program()?;
        let mut application = component(program);
        application.kind = "application".to_owned();
        application.name = "purlin".to_owned();
        let others = components.iter().filter(|package| reference(package) != reference(program));
        let dependency = |package: &Package| Dependency {
            reference: reference(package),
            depends_on: components.needs(package).map(reference).collect(),
        };
        Ok(Self {
            bom_format: "CycloneDX".to_owned(),
            spec_version: "1.6".to_owned(),
            version: 1,
            metadata: Metadata { component: application },
            components: others.map(component).collect(),
            dependencies: components.iter().map(dependency).collect(),
        })
    }

    /// Checks a list that was written: it can be read, each component has one name and a licence, and all of
    /// them are in the program because something in it needs them.
    pub(super) fn check(text: &str) -> anyhow::Result<usize> {
        let sbom: Self = serde_json::from_str(text).context("the list of components has another shape")?;
        ensure!(sbom.bom_format == "CycloneDX" && sbom.spec_version == "1.6", "it is not CycloneDX 1.6");
        let program = &sbom.metadata.component;
        ensure!(program.name == "purlin" && program.version == VERSION, "it lists {}", program.name);
        let mut known = BTreeSet::from([&*program.reference]);
        for component in &sbom.components {
            ensure!(known.insert(&component.reference), "{} is listed twice", component.reference);
            ensure!(!component.licenses.is_empty(), "{} has no licence", component.reference);
        }
        let mut reached = BTreeSet::new();
        let mut open = vec![&*program.reference];
        while let Some(reference) = open.pop() {
            ensure!(known.contains(reference), "{reference} is needed and not listed");
            if reached.insert(reference) {
                let needs = sbom.dependencies.iter().filter(|one| one.reference == reference);
                open.extend(needs.flat_map(|one| one.depends_on.iter().map(String::as_str)));
            }
        }
        let unneeded: Vec<_> = known.difference(&reached).copied().collect();
        ensure!(unneeded.is_empty(), "nothing needs {}", unneeded.join(", "));
        Ok(sbom.components.len())
    }
}

fn component(package: &Package) -> Component {
    let reference = reference(package);
    let licenses = package.license().into_iter().map(|expression| License { expression });
    Component {
        kind: "library".to_owned(),
        name: package.name.clone(),
        version: package.version.clone(),
        licenses: licenses.collect(),
        // Our own crates are in no registry.
        purl: package.source.is_some().then(|| reference.clone()),
        reference,
    }
}

fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::components::tests::sample;

    fn text() -> String {
        let mut sbom = Sbom::new(&sample()).expect("a list");
        sbom.metadata.component.version = VERSION.to_owned();
        serde_json::to_string(&sbom).expect("JSON")
    }

    #[test]
    fn a_list_that_is_written_passes() {
        assert_eq!(Sbom::check(&text()).expect("good"), 2);
        assert!(text().contains(r#""expression":"MIT OR Apache-2.0""#), "{}", text());
    }

    #[test]
    fn a_list_with_gaps_does_not_pass() {
        for (from, to) in [
            (r#""specVersion""#, r#""version""#),
            (r#""dependsOn":["pkg:cargo/library@1.0.0"]"#, r#""dependsOn":[]"#),
            (r#""dependsOn":["pkg:cargo/library@1.0.0"]"#, r#""dependsOn":["pkg:cargo/other@1.0.0"]"#),
            (r#""bom-ref":"pkg:cargo/below@1.0.0""#, r#""bom-ref":"pkg:cargo/library@1.0.0""#),
            (r#"[{"expression":"MIT OR Apache-2.0"}]"#, "[]"),
        ] {
            assert!(text().contains(from), "{from} in {}", text());
            assert!(Sbom::check(&text().replace(from, to)).is_err(), "{from} {to}");
        }
    }
}
