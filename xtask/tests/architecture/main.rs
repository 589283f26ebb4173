//! Checks ARCHITECTURE.md: its table against the manifests, and its invariants against the
//! manifests and, where these are not sufficient, against the text of the sources. Samples that
//! break each rule prove that every check can fail.

#![allow(clippy::expect_used, reason = "a test")]

mod checks;
mod secrecy;
mod workspace;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use checks::{BrokenInvariant, CHECKS};
use workspace::{Crate, Source, Workspace};

fn page() -> String {
    fs::read_to_string(workspace::root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there")
}

/// The numbers of the invariants on the page.
fn stated(page: &str) -> Vec<u32> {
    let (_, section) = page.split_once("## Invariants").expect("a section on invariants");
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    section.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok()).collect()
}

#[test]
fn every_invariant_has_a_check_and_every_check_an_invariant() {
    let mut checked: Vec<u32> = CHECKS.iter().map(|check| check.invariant).collect();
    checked.dedup();
    assert_eq!(stated(&page()), checked);
}

#[test]
fn the_workspace_keeps_its_invariants() {
    let workspace = Workspace::read();
    assert!(workspace.crates.len() >= 15, "the workspace was not read: {} crates", workspace.crates.len());
    let faults: Vec<BrokenInvariant> = CHECKS.iter().flat_map(|check| (check.find)(&workspace)).collect();
    let lines: Vec<String> = faults.iter().map(|fault| format!("{fault}")).collect();
    assert!(lines.is_empty(), "ARCHITECTURE.md says otherwise:\n{}", lines.join("\n"));
}

#[test]
fn the_table_matches_the_manifests() {
    let table = workspace::table(&page());
    let workspace = Workspace::read();
    let lines = table_faults(&table, &workspace);
    assert!(lines.is_empty(), "the table of ARCHITECTURE.md and the manifests differ:\n{}", lines.join("\n"));
}

/// Dependencies that the table does not allow, and crates that it does not contain.
fn table_faults(table: &BTreeMap<String, Vec<String>>, workspace: &Workspace) -> Vec<String> {
    let ours: Vec<&str> = workspace.crates.iter().map(|one| one.name.as_str()).collect();
    let mut faults = Vec::new();
    for one in &workspace.crates {
        let row = match one.name.as_str() {
            name if name.starts_with("purlin-driver-") => "purlin-driver-*",
            name => name,
        };
        // Crates that only serve tests have no row.
        let Some(allowed) = table.get(row) else {
            if !one.folder.starts_with("tests/") && !one.folder.starts_with("examples/") {
                faults.push(format!("`{row}` has no row"));
            }
            continue;
        };
        for needed in one.needs.iter().filter(|needed| ours.contains(&needed.as_str())) {
            if !allowed.contains(needed) {
                faults.push(format!("`{}` may not use `{needed}`", one.name));
            }
        }
    }
    faults
}

#[test]
fn the_table_can_be_contradicted() {
    let table = workspace::table("| `host/a` | `a` | x | nothing of ours |\n| `host/b` | `b` | x | a |\n");
    let crates = vec![sample("a", &["b"], ""), sample("b", &["a", "serde"], ""), sample("c", &[], "")];
    let faults = table_faults(&table, &Workspace { crates, lints: String::new() });
    assert_eq!(faults, ["`a` may not use `b`", "`c` has no row"]);
}

/// A crate with a single file, whose path the text may begin with.
fn sample(name: &str, needs: &[&str], text: &str) -> Crate {
    let named = text.strip_prefix("//! ").and_then(|text| text.lines().next());
    let source = Source { path: named.unwrap_or("src/lib.rs").into(), code: workspace::code(text) };
    Crate {
        name: name.into(),
        folder: format!("host/{}", name.trim_start_matches("purlin-")),
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        sources: vec![source],
        lints: true,
    }
}

#[test]
fn every_check_can_fail() {
    for check in CHECKS {
        assert!(!check.broken.is_empty(), "the check of invariant {} has no sample", check.invariant);
        for (name, needs, text) in check.broken {
            let mut one = sample(name, needs, text);
            // The last sample breaks only the rule about lints.
            one.lints = !text.is_empty() || !needs.is_empty();
            let workspace = Workspace { crates: vec![one], lints: String::new() };
            let faults = (check.find)(&workspace);
            assert!(
                faults.iter().any(|fault| fault.invariant == check.invariant),
                "invariant {}: nothing was found wrong with `{name}` needing {needs:?} and saying `{text}`",
                check.invariant
            );
        }
    }
}

#[test]
fn quotes_and_test_code_are_ignored() {
    let code = workspace::code(
        "//! println!(\"a\")\nlet a = 1; // panic!()\n/* todo!() */\n#[cfg(test)]\nmod tests {\n    fn t() { x.unwrap(); }\n}\nfn b() {}\n",
    );
    for gone in ["println", "panic", "todo", "unwrap"] {
        assert!(!code.contains(gone), "{gone} in {code}");
    }
    assert!(code.contains("let a = 1;") && code.contains("fn b() {}"), "{code}");
}

#[test]
fn files_that_are_only_for_tests_are_known_by_their_parents() {
    let text = "mod a;\n#[cfg(test)]\nmod testing;\n#[cfg(test)]\n#[allow(x)]\npub(crate) mod b;\n#[cfg(test)]\nmod tests {\n}\nmod c;\n";
    let modules = |path: &str| workspace::test_modules(Path::new(path), text);
    assert_eq!(modules("src/lib.rs"), [Path::new("src/testing"), Path::new("src/b")]);
    assert_eq!(modules("src/x.rs"), [Path::new("src/x/testing"), Path::new("src/x/b")]);
}
