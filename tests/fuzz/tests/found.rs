//! Earlier findings of the fuzzer, and its seeds: none of them may cause a panic.
#![allow(clippy::expect_used, clippy::panic, reason = "these are tests")]

use std::path::{Path, PathBuf};

use purlin_fuzz::TARGETS;

fn inputs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let listing = std::fs::read_dir(&folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = listing.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn earlier_findings_stay_fixed() {
    for (name, target) in TARGETS {
        for file in inputs(&format!("found/{name}")) {
            eprintln!("{}", file.display());
            target(&std::fs::read(&file).expect("it is there"));
        }
    }
}

#[test]
fn every_target_has_something_to_begin_with() {
    for (name, target) in TARGETS {
        let seeds = inputs(&format!("seeds/{name}"));
        assert!(!seeds.is_empty(), "no seeds for `{name}`");
        for file in seeds {
            target(&std::fs::read(&file).expect("it is there"));
        }
    }
}
