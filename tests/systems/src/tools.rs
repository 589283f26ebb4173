//! Finds the programs that tests start. `cargo xtask tools` installs them.

use std::path::{Path, PathBuf};

/// Folders besides `PATH` in which Debian puts servers.
const FOLDERS: [&str; 4] =
    ["/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin", "/usr/sbin"];

/// The variable in which `cargo xtask test` names the tier of the tests that run.
pub const TIER: &str = "PURLIN_TESTS";

/// The workspace's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two folders deep").to_owned()
}

/// The folder that `cargo xtask tools` fills.
pub fn tools() -> PathBuf {
    root().join("target/tools")
}

/// A program, or none and a message about the skipped test. If `CI` is set nothing is skipped: a
/// missing program is a failure there.
///
/// # Panics
/// If the program is missing and `CI` is set, or if only tests without servers and compilers run.
pub fn need(program: &str) -> Option<PathBuf> {
    let is_host = std::env::var_os(TIER).is_some_and(|tier| tier == "host");
    assert!(!is_host, "a test that needs `{program}` is in another tier: see xtask/src/test/tier.rs");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = ["python/bin", "node/node_modules/.bin", "kubernetes"].map(|folder| tools().join(folder));
    let found = own
        .into_iter()
        .chain(FOLDERS.map(PathBuf::from))
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file());
    if found.is_none() {
        let message = format!("`{program}` is not installed; `cargo xtask tools` installs it");
        assert!(std::env::var_os("CI").is_none(), "{message}");
        eprintln!("SKIPPED: {message}");
    }
    found
}
