//! Each example does what its README says, and leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};

use crate::page::Page;
use crate::run::{Folder, run_all};

/// Folders below `examples/` with a file of that name. The drivers there are built and tried by
/// `tests/systems`.
fn folders(name: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
        if folder.join(name).is_file() {
            found.push(folder.to_owned());
        }
        let mut below: Vec<PathBuf> = fs::read_dir(folder)
            .expect("a folder")
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir() && !path.ends_with(".purlin") && !path.ends_with("examples/drivers"))
            .collect();
        below.sort();
        below.iter().for_each(|path| walk(path, name, found));
    }
    let mut found = Vec::new();
    walk(&crate::root().join("examples"), name, &mut found);
    found
}

/// The workspaces, but for the one that shows a loop and those that need servers, whose lives
/// `tests/systems` tells.
fn deployable() -> Vec<PathBuf> {
    let others = ["break-a-loop/loop", "s3-policy-role", "shop"];
    let is_other = |folder: &PathBuf| others.iter().any(|other| folder.ends_with(other));
    folders("purlin.yaml").into_iter().filter(|folder| !is_other(folder)).collect()
}

#[test]
fn each_example_goes_its_whole_life() {
    let all = deployable();
    assert!(all.len() >= 11, "only {} examples were found", all.len());
    for example in all {
        life(&example);
    }
}

fn life(example: &Path) {
    let folder = Folder::new(Some(example));
    let ask = |arguments: &[&str]| {
        let (said, status) = folder.purlin(arguments);
        assert_eq!(status, 0, "{}: purlin {arguments:?} says\n{said}", example.display());
        said
    };
    let json = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let said = ask(arguments);
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let summary = |events: Vec<serde_json::Value>| {
        events.into_iter().find(|event| event["event"] == "summary").expect("a summary")
    };

    ask(&["validate"]);
    let graph: serde_json::Value =
        serde_json::from_str(&ask(&["graph", "--all", "--format", "json"])).expect("JSON");
    let resources = graph["nodes"].as_array().expect("nodes").len();
    assert!(resources > 1, "{}: {resources} resources", example.display());

    let first = summary(json(&["up", "--yes", "--format", "json"]));
    assert_eq!((&first["status"], &first["done"]["create"]), (&"succeeded".into(), &resources.into()));
    let second = summary(json(&["up", "--yes", "--format", "json"]));
    assert_eq!(
        (&second["done"]["none"], &second["calls"]),
        (&resources.into(), &0.into()),
        "{}",
        example.display()
    );

    let last = summary(json(&["destroy", "--yes", "--format", "json"]));
    assert_eq!((&last["status"], &last["done"]["delete"]), (&"succeeded".into(), &resources.into()));
    let list: serde_json::Value =
        serde_json::from_str(&ask(&["state", "list", "--format", "json"])).expect("JSON");
    assert_eq!(list["resources"], serde_json::json!([]), "{}", example.display());
}

#[test]
fn each_readme_is_run() {
    let pages = folders("README.md");
    assert!(pages.len() >= 7, "only {} pages were found", pages.len());
    run_all(pages.into_iter().map(|folder| folder.join("README.md")));
}

#[test]
fn each_example_is_on_a_page_with_its_graph() {
    for example in folders("purlin.yaml") {
        let page = example.ancestors().map(|folder| folder.join("README.md")).find(|page| page.is_file());
        let page = Page::read(&page.expect("an example has a README"));
        let drawn = page.blocks().iter().any(|block| block.language == "mermaid");
        assert!(drawn, "{} shows no graph", page.path().display());
    }
}

#[test]
fn the_front_page_is_run() {
    run_all([crate::root().join("README.md")]);
}
