//! Links lead somewhere: to a file, and to a heading or an anchor in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::book;

/// The text of a page with the files that it includes.
fn text(path: &Path) -> String {
    let folder = path.parent().expect("a folder");
    let line = |line: &str| {
        let file = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
        match file.filter(|file| file.ends_with(".md")) {
            Some(file) => text(&folder.join(file)),
            None => line.to_owned() + "\n",
        }
    };
    let page = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    page.lines().map(line).collect()
}

/// The lines outside of fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut fence = None;
    page.lines().filter(move |line| {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open => fence = None,
            Some(_) => {}
            None => return true,
        }
        false
    })
}

/// The anchors of a page: `<a id="…">`, and headings as mdBook and GitHub name them.
fn anchors(page: &str) -> BTreeSet<String> {
    let written = Regex::new(r#"<a id="([^"]+)">"#).expect("a pattern");
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").expect("a pattern");
    let mut found: BTreeSet<String> = written.captures_iter(page).map(|found| found[1].to_owned()).collect();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for line in prose(page) {
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        if !(1..=6).contains(&level) || !heading.starts_with(' ') {
            continue;
        }
        let heading = link.replace_all(heading.trim(), "$1");
        let name = |c: char| match c {
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        };
        let id: String = heading.chars().filter_map(name).collect();
        let time = times.entry(id.clone()).or_insert(0);
        found.insert(if *time == 0 { id } else { format!("{id}-{time}") });
        *time += 1;
    }
    found
}

#[test]
fn no_link_is_dead() {
    let link = Regex::new(r"\]\(([^()\s]+)\)").expect("a pattern");
    let mut pages = book::linked();
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "BENCHMARKS.md"]
            .map(|name| crate::root().join(name)),
    );
    let (mut known, mut dead, mut count): (BTreeMap<PathBuf, BTreeSet<String>>, _, _) =
        (BTreeMap::new(), Vec::new(), 0);
    for path in pages {
        let page = text(&path);
        for found in prose(&page).flat_map(|line| link.captures_iter(line)) {
            let (file, anchor) = found[1].split_once('#').unwrap_or((&found[1], ""));
            // Addresses elsewhere are not checked.
            if file.contains("://") || file == "." {
                continue;
            }
            count += 1;
            let target = match file {
                "" => path.clone(),
                file => path.parent().expect("a folder").join(file),
            };
            let there = target.exists()
                && (anchor.is_empty()
                    || known
                        .entry(target.clone())
                        .or_insert_with(|| anchors(&text(&target)))
                        .contains(anchor));
            if !there {
                dead.push(format!("{}: the link to `{}` leads nowhere", path.display(), &found[1]));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
    assert!(count > 300, "only {count} links were found");
}

#[test]
fn headings_are_named_as_in_the_book() {
    let page = "# The `--out` of [plans](a.md)\n\n```sh\n# no heading\n```\n\n## What to do?\n\n## What to do?\n\n<a id=\"s1-2\"></a>**1.2**\n";
    let found = anchors(page);
    let expected = ["s1-2", "the---out-of-plans", "what-to-do", "what-to-do-1"];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
