//! Runs every page of the book and checks that no example is left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::page::Page;
use crate::run::run_all;

fn source() -> PathBuf {
    crate::root().join("docs/src")
}

/// The pages that the summary links to.
pub(crate) fn linked() -> Vec<PathBuf> {
    let summary = fs::read_to_string(source().join("SUMMARY.md")).expect("a summary");
    let links = summary.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    links.filter(|link| !link.is_empty()).map(|link| source().join(link)).collect()
}

#[test]
fn every_page_is_run() {
    let pages = linked();
    assert!(pages.len() > 20, "the summary links {} pages", pages.len());
    // That page is generated, and another test checks it.
    let is_run = |page: &PathBuf| !page.ends_with("reference/cli.md") && !wants_server(page);
    run_all(pages.into_iter().filter(is_run));
}

#[test]
fn every_page_with_a_server_is_run() {
    let pages: Vec<PathBuf> = linked().into_iter().filter(|page| wants_server(page)).collect();
    assert!(!pages.is_empty(), "no page has a server");
    run_all(pages);
}

fn wants_server(page: &Path) -> bool {
    Page::read(page).wants_postgres()
}

#[test]
fn the_summary_links_every_page_once() {
    let (mut pages, mut linked) = (all("md"), linked());
    pages.retain(|page| !page.ends_with("SUMMARY.md"));
    pages.sort();
    linked.sort();
    assert_eq!(pages, linked);
}

/// The files of the book whose names have this ending.
fn all(ending: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, ending, files);
            } else if path.extension().is_some_and(|other| other == ending) {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(&source(), ending, &mut files);
    files
}

/// A picture with the style of graphs is one, so a command draws it for a page.
#[test]
fn every_graph_is_drawn_for_a_page() {
    let of_page = |path: PathBuf| {
        let page = Page::read(&path);
        let blocks = page.blocks().into_iter().filter(|block| block.language == "picture");
        blocks.map(|block| fs::canonicalize(page.picture(&block)).expect("a picture")).collect::<Vec<_>>()
    };
    let drawn: BTreeSet<PathBuf> = linked().into_iter().flat_map(of_page).collect();
    let graphs: BTreeSet<PathBuf> = all("svg")
        .into_iter()
        .filter(|path| fs::read_to_string(path).expect("a picture").contains("class=\"purlin-graph\""))
        .map(|path| fs::canonicalize(path).expect("a picture"))
        .collect();
    assert!(drawn.len() >= 4, "only {} pictures were found", drawn.len());
    assert_eq!(drawn, graphs);
}

/// A picture that no command draws must not look different from the others, on light or on dark pages.
#[test]
fn every_picture_has_the_colours_of_graphs() {
    let colour = Regex::new(r"--[\w-]+: #\w+").expect("a pattern");
    let within = |part: &str| -> BTreeSet<String> {
        colour.find_iter(part).map(|found| found.as_str().to_owned()).collect()
    };
    let colours = |path: &Path| {
        let text = fs::read_to_string(path).expect("a picture or a style");
        let (light, dark) = text.split_once("@media").expect("colours for dark pages");
        [within(light), within(dark)]
    };
    let style = colours(&crate::root().join("host/cli/src/render/svg/style.css"));
    for path in all("svg") {
        for (used, known) in colours(&path).iter().zip(&style) {
            assert!(used.len() > 5 && used.is_subset(known), "{}: {used:?}", path.display());
        }
    }
}

/// Every block of YAML must be a file that a command reads, and every block of Rust must be
/// included from a compiled file.
#[test]
fn no_example_is_only_for_show() {
    for path in linked().into_iter().filter(|path| !path.ends_with("reference/cli.md")) {
        let page = Page::read(&path);
        let blocks = page.blocks();
        let runs = blocks.iter().any(|block| block.language == "console");
        for block in &blocks {
            let text = page.text(block.lines.clone());
            let fine = match block.language.as_str() {
                "yaml" | "json" => block.word("file").is_some() && runs,
                "rust" | "toml" | "wit" => included(&text, path.parent().expect("a folder")),
                "console" | "mermaid" | "picture" | "text" => true,
                // Shell blocks are for commands other than purlin.
                "sh" => !text.lines().any(|line| line.trim_start().starts_with("purlin ")),
                _ => false,
            };
            assert!(
                fine,
                "{}: nobody runs this block of `{}`",
                page.place(block.lines.start),
                block.language
            );
        }
    }
}

/// Whether a block is included from an existing file.
fn included(text: &str, folder: &Path) -> bool {
    let file = text.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
    // After a colon, the range of lines or the name of the part follows.
    file.is_some_and(|file| folder.join(file.split(':').next().unwrap_or(file)).is_file())
}

/// The page on template functions must list exactly the existing functions.
#[test]
fn every_template_function_is_listed() {
    // A table of several lines ends on a separate line.
    let table = Regex::new(r"(?s)TABLE: Table = &\[(?:\n(.*?)\n\];|([^\n]*)\];)").expect("a pattern");
    let entry = Regex::new(r#"(?m)(?:^    \(|^\(|, \()\s*"(\w+)", "#).expect("a pattern");
    let mut there = BTreeSet::new();
    for file in fs::read_dir(crate::root().join("sdk/go-template/src/sprig")).expect("a folder") {
        let text = fs::read_to_string(file.expect("an entry").path()).expect("a source");
        for body in table.captures_iter(&text) {
            let body = body.get(1).or(body.get(2)).expect("one of the two").as_str();
            there.extend(entry.captures_iter(body).map(|found| found[1].to_owned()));
        }
    }
    let page = fs::read_to_string(source().join("reference/template-functions.md")).expect("a page");
    let groups = page.lines().filter(|line| line.starts_with('`'));
    let listed: BTreeSet<String> =
        groups.flat_map(|line| line.split(", ")).map(|name| name.trim_matches('`').to_owned()).collect();
    let differ: Vec<&String> = there.symmetric_difference(&listed).collect();
    assert!(there.len() > 150 && differ.is_empty(), "of {} functions these differ: {differ:?}", there.len());
}
