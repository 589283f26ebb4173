//! Finds the real inputs of others that tests read: definitions, Score files, manifests, bundles and
//! published tables. They are not part of the project.
//!
//! `PURLIN_CORPUS` names their folder, which is `../shared/corpus` beside the checkout by default.
//! Without it, the tests that need it print `SKIPPED`, or fail if `CI` is set; `PURLIN_CORPUS=none`
//! says that there is none.

use std::path::{Path, PathBuf};

/// A file or a folder of the corpus; `None` if the test is to be skipped.
///
/// # Panics
/// If it is missing although there should be a corpus: under `CI`, or where `PURLIN_CORPUS` names one.
#[expect(clippy::print_stderr, reason = "for tests")]
pub fn find(path: &str) -> Option<PathBuf> {
    let named = std::env::var_os("PURLIN_CORPUS").filter(|named| !named.is_empty());
    if named.as_deref().is_some_and(|named| named == "none") {
        eprintln!("SKIPPED: it needs `{path}` of the corpus, and PURLIN_CORPUS is `none`");
        return None;
    }
    let is_needed = named.is_some() || std::env::var_os("CI").is_some();
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let found = named.map_or_else(beside, PathBuf::from).join(path);
    if found.exists() {
        return Some(found);
    }
    let missing = format!("there is no {}", found.display());
    assert!(!is_needed, "{missing}; PURLIN_CORPUS names the folder, or is `none` without a corpus");
    eprintln!("SKIPPED: {missing}; PURLIN_CORPUS names the folder");
    None
}
