//! Each built-in driver has a page, with everything that users of the driver need to know.

use std::collections::BTreeSet;
use std::fs;

use purlin_systems::Project;
use serde_json::Value;

use crate::page::Page;
use crate::run::Folder;

/// The sections that every page has.
const SECTIONS: [&str; 6] = ["Example", "Inputs", "Outputs", "Connection and grants", "Drift", "Import"];

/// The folders of the drivers.
fn drivers() -> BTreeSet<String> {
    let folders = fs::read_dir(crate::root().join("drivers")).expect("a folder");
    let names = folders.map(|entry| entry.expect("an entry").path());
    let names = names.filter(|path| path.join("README.md").is_file());
    names.map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
}

fn readme(name: &str) -> String {
    fs::read_to_string(crate::root().join("drivers").join(name).join("README.md")).expect("a README")
}

/// The info that a driver reports.
fn inspected(name: &str) -> Value {
    let driver = format!("purlin/{name}");
    let ran = Project::empty().purlin(&["driver", "inspect", &driver, "--format", "json"]);
    ran.json()["components"][0]["info"].clone()
}

#[test]
fn each_driver_has_a_page_with_its_readme() {
    let all = drivers();
    assert_eq!(all.len(), 12, "{all:?}");
    let index = fs::read_to_string(crate::root().join("docs/src/reference/drivers.md")).expect("a page");
    for name in &all {
        let page = crate::root().join(format!("docs/src/reference/drivers/{name}.md"));
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert_eq!(text, format!("{{{{#include ../../../../drivers/{name}/README.md}}}}\n"));
        let entry = format!("[`purlin/{name}`](drivers/{name}.md)");
        assert!(index.contains(&entry), "drivers.md does not list {name}");
    }
}

#[test]
fn each_page_has_every_section() {
    for name in drivers() {
        let text = readme(&name);
        assert!(text.starts_with(&format!("# purlin/{name}\n")), "{name}");
        for section in SECTIONS {
            let (_, rest) = text
                .split_once(&format!("\n## {section}\n"))
                .unwrap_or_else(|| panic!("drivers/{name}/README.md has no section `{section}`"));
            let body = rest.split("\n## ").next().unwrap_or_default();
            assert!(body.trim().len() > 10, "drivers/{name}/README.md says nothing under `{section}`");
        }
    }
}

/// The files on a page form a project that uses the driver. Validating it needs neither servers nor secrets.
#[test]
fn each_example_is_valid() {
    for name in drivers() {
        let page = Page::read(&crate::root().join("drivers").join(&name).join("README.md"));
        let folder = Folder::new(None);
        for block in page.blocks() {
            let is_file = folder.write(&page, &block);
            let place = page.place(block.lines.start);
            assert!(is_file || block.language != "yaml", "{place}: the block does not name its file");
        }
        let (output, status) = folder.purlin(&["validate"]);
        assert_eq!(status, 0, "{}: `purlin validate` prints\n{output}", page.path().display());
        let (output, _) = folder.purlin(&["graph", "--format", "json"]);
        let graph: Value = serde_json::from_str(&output).expect("JSON");
        let driver = format!("purlin/{name}");
        let mut nodes = graph["nodes"].as_array().expect("nodes").iter();
        let is_used = nodes.any(|node| node["driver"] == driver.as_str() && node["implicit"] == false);
        assert!(is_used, "{}: no resource uses the driver", page.path().display());
    }
}

#[test]
fn each_input_and_output_is_on_the_page() {
    for name in drivers() {
        let (text, info) = (readme(&name), inspected(&name));
        for part in ["inputs", "outputs"] {
            for one in info["types"].as_array().expect("types").iter().flat_map(|one| {
                one[part].as_array().expect("a list").iter().map(|one| one["path"].as_str().expect("a path"))
            }) {
                let row = format!("| `{one}` |");
                assert!(text.contains(&row), "drivers/{name}/README.md does not have the {part} `{one}`");
            }
        }
    }
}

/// Only a driver that reads can find drift or import.
#[test]
fn a_driver_that_cannot_read_is_documented() {
    for name in drivers() {
        let reads =
            inspected(&name)["types"][0]["implements"].as_array().expect("a list").contains(&"read".into());
        let text = readme(&name);
        let (_, drift) = text.split_once("\n## Drift\n").expect("a section");
        assert_eq!(!drift.trim_start().starts_with("None:"), reads, "drivers/{name}/README.md, `Drift`");
    }
}
