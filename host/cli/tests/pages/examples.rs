//! Tests that each example works as its README says, and leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};

use crate::page::Page;
use crate::run::{Folder, run_all};

/// The folders in `examples/` with a file of this name. The drivers there are built and checked by
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

/// The workspaces, except for the one that shows a loop, the one that needs a decision, and those
/// that need servers, which `tests/systems` runs.
fn deployable() -> Vec<PathBuf> {
    let others = [
        "break-a-loop/loop",
        "examples/kubernetes",
        "requirements/interface",
        "requirements/postgres",
        "references/aws",
        "references/kubernetes",
        "s3-policy-role",
        "shop",
    ];
    let is_other = |folder: &PathBuf| others.iter().any(|other| folder.ends_with(other));
    folders("purlin.yaml").into_iter().filter(|folder| !is_other(folder)).collect()
}

#[test]
fn each_example_runs_from_start_to_end() {
    let all = deployable();
    assert!(all.len() >= 19, "only {} examples were found", all.len());
    for example in all {
        life(&example);
    }
}

fn life(example: &Path) {
    let folder = Folder::new(Some(example));
    let ask = |arguments: &[&str]| {
        let (output, status) = folder.purlin(arguments);
        assert_eq!(status, 0, "{}: purlin {arguments:?} prints\n{output}", example.display());
        output
    };
    let json = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let output = ask(arguments);
        output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let summary = |events: Vec<serde_json::Value>| {
        events.into_iter().find(|event| event["event"] == "summary").expect("a summary")
    };

    ask(&["validate"]);
    let graph: serde_json::Value =
        serde_json::from_str(&ask(&["graph", "--all", "--format", "json"])).expect("JSON");
    let resources = graph["nodes"].as_array().expect("nodes").len();
    assert!(resources > 1, "{}: {resources} resources", example.display());
    let (output, status) = folder.purlin(&["plan", "--detailed-exitcode"]);
    assert_eq!(status, 3, "{}: all is to be made\n{output}", example.display());

    let first = json(&["up", "--yes", "--format", "json"]);
    for (dependent, dependency) in edges(&graph) {
        let (before, after) = (place(&first, dependency), place(&first, dependent));
        assert!(before < after, "{}: {dependent} was made before {dependency}", example.display());
    }
    let first = summary(first);
    assert_eq!((&first["status"], &first["done"]["create"]), (&"succeeded".into(), &resources.into()));
    ask(&["plan", "--detailed-exitcode"]);
    let second = summary(json(&["up", "--yes", "--format", "json"]));
    assert_eq!(
        (&second["done"]["none"], &second["calls"]),
        (&resources.into(), &0.into()),
        "{}",
        example.display()
    );

    let last = json(&["destroy", "--yes", "--format", "json"]);
    for (dependent, dependency) in edges(&graph) {
        let (before, after) = (place(&last, dependent), place(&last, dependency));
        assert!(before < after, "{}: {dependency} went before {dependent}", example.display());
    }
    let last = summary(last);
    assert_eq!((&last["status"], &last["done"]["delete"]), (&"succeeded".into(), &resources.into()));
    let list: serde_json::Value =
        serde_json::from_str(&ask(&["state", "list", "--format", "json"])).expect("JSON");
    assert_eq!(list["resources"], serde_json::json!([]), "{}", example.display());
}

/// The edges from dependents to dependencies.
fn edges(graph: &serde_json::Value) -> impl Iterator<Item = (&str, &str)> {
    graph["edges"]
        .as_array()
        .expect("edges")
        .iter()
        .map(|edge| (edge["from"].as_str().expect("a key"), edge["to"].as_str().expect("a key")))
}

/// The position of the event with which a resource was finished.
fn place(events: &[serde_json::Value], key: &str) -> usize {
    let finished = events.iter().position(|event| event["phase"] == "succeeded" && event["key"] == key);
    finished.unwrap_or_else(|| panic!("{key} was never finished"))
}

#[test]
fn each_readme_is_run() {
    let pages = folders("README.md");
    assert!(pages.len() >= 21, "only {} pages were found", pages.len());
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
