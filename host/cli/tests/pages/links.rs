//! Links lead somewhere: to a file, and to a heading or an anchor in it. Addresses of other sites are
//! checked without opening them.

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

/// The pages whose links are checked.
fn pages() -> Vec<PathBuf> {
    let mut pages = book::linked();
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "BENCHMARKS.md"]
            .map(|name| crate::root().join(name)),
    );
    pages
}

/// The links of a page to other sites.
fn elsewhere(page: &str) -> Vec<String> {
    let code = Regex::new("`[^`]*`").expect("a pattern");
    let link = Regex::new(r"\]\(([^)]*)\)|<([a-z][a-z0-9+.-]*:[^>]*)>").expect("a pattern");
    let has_scheme = |address: &str| {
        let scheme = address.split_once(':').map(|(scheme, _)| scheme);
        address.starts_with("//") || scheme.is_some_and(|scheme| !scheme.contains(['/', '#', '.']))
    };
    let mut found = Vec::new();
    for line in prose(page) {
        let line = code.replace_all(line, "");
        let links = link.captures_iter(&line).filter_map(|link| link.get(1).or(link.get(2)));
        found.extend(links.map(|link| link.as_str().to_owned()).filter(|address| has_scheme(address)));
    }
    found
}

/// What is wrong with the address of another site.
fn mistake(address: &str) -> Option<&'static str> {
    let host = Regex::new(r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$").expect("a pattern");
    let rest = Regex::new(r"^([A-Za-z0-9._~:/?#@!$&'*+,;=-]|%[0-9A-Fa-f]{2})*$").expect("a pattern");
    let Some(address) = address.strip_prefix("https://") else { return Some("does not begin with https://") };
    if address.contains(char::is_whitespace) {
        return Some("contains a space");
    }
    let (name, path) = address.split_at(address.find(['/', '?', '#']).unwrap_or(address.len()));
    if !host.is_match(name) || !rest.is_match(path) {
        return Some("is not a valid URL");
    }
    name.split('.').any(|part| part == "example").then_some("is that of an example")
}

#[test]
fn links_to_other_sites_are_valid() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in pages() {
        for address in elsewhere(&text(&path)) {
            count += 1;
            if let Some(mistake) = mistake(&address) {
                wrong.push(format!("{}: the address `{address}` {mistake}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} links were found");
}

#[test]
fn links_to_other_sites_are_found_outside_of_code() {
    let page = "[a](https://a.dev) and <http://b.dev>, `[c](http://c.dev)`, [d](d.md#e:f)\n\n\
                ```text\n[e](http://example.org)\n```\n\n[`f`](https://f.dev/x y)\n";
    assert_eq!(elsewhere(page), ["https://a.dev", "http://b.dev", "https://f.dev/x y"]);
}

#[test]
fn wrong_addresses_of_other_sites_are_reported() {
    for (address, expected) in [
        ("https://score.dev", None),
        ("https://docs.score.dev/a-b/c.html?x=%20#y", None),
        ("http://score.dev", Some("does not begin with https://")),
        ("//score.dev", Some("does not begin with https://")),
        ("https://score.dev/a b", Some("contains a space")),
        ("https://score", Some("is not a valid URL")),
        ("https://score.dev/a|b", Some("is not a valid URL")),
        ("https://score.dev/%zz", Some("is not a valid URL")),
        ("https://example.com/a", Some("is that of an example")),
        ("https://api.example.org", Some("is that of an example")),
    ] {
        assert_eq!(mistake(address), expected, "{address}");
    }
}

#[test]
fn no_link_is_dead() {
    let link = Regex::new(r"\]\(([^()\s]+)\)").expect("a pattern");
    let (mut known, mut dead, mut count): (BTreeMap<PathBuf, BTreeSet<String>>, _, _) =
        (BTreeMap::new(), Vec::new(), 0);
    for path in pages() {
        let page = text(&path);
        for found in prose(&page).flat_map(|line| link.captures_iter(line)) {
            let (file, anchor) = found[1].split_once('#').unwrap_or((&found[1], ""));
            // Another test checks the addresses of other sites.
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

/// `rules.md` and the anchors `sN-M` of the book name the same rules, each once, on the same pages.
#[test]
fn the_table_of_rules_leads_to_each_rule() {
    let anchor = Regex::new(r#"<a id="s(\d+-\d+)">"#).expect("a pattern");
    let link = Regex::new(r"\[(\d+)\.(\d+)\]\(([^()#]*)#s(\d+-\d+)\)").expect("a pattern");
    let place = |path: &Path| fs::canonicalize(path).expect("a page");
    let (mut written, mut listed): (BTreeMap<String, PathBuf>, BTreeMap<String, PathBuf>) =
        (BTreeMap::new(), BTreeMap::new());
    for path in book::linked() {
        let page = text(&path);
        for found in anchor.captures_iter(&page) {
            let before = written.insert(found[1].to_owned(), place(&path));
            assert!(before.is_none(), "{}: the anchor `s{}` exists twice", path.display(), &found[1]);
        }
    }
    let table = crate::root().join("docs/src/reference/rules.md");
    let page = text(&table);
    let rows = page.lines().filter(|line| line.starts_with("| §"));
    for found in rows.flat_map(|row| link.captures_iter(row)) {
        let rule = format!("{}-{}", &found[1], &found[2]);
        assert_eq!(rule, &found[4], "a link leads to another rule");
        let target = match &found[3] {
            "" => table.clone(),
            file => table.parent().expect("a folder").join(file),
        };
        let before = listed.insert(rule, place(&target));
        assert!(before.is_none(), "rules.md lists rule {}.{} twice", &found[1], &found[2]);
    }
    let differ: BTreeSet<&String> =
        listed.keys().chain(written.keys()).filter(|rule| listed.get(*rule) != written.get(*rule)).collect();
    assert!(differ.is_empty(), "rules.md and the anchors of these rules differ: {differ:?}");
    assert!(listed.len() > 150, "only {} rules were found", listed.len());
}

#[test]
fn headings_are_named_as_in_the_book() {
    let page = "# The `--out` of [plans](a.md)\n\n```sh\n# no heading\n```\n\n## What to do?\n\n## What to do?\n\n<a id=\"s1-2\"></a>**1.2**\n";
    let found = anchors(page);
    let expected = ["s1-2", "the---out-of-plans", "what-to-do", "what-to-do-1"];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
