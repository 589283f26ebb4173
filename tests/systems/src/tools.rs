//! Finds the programs that tests start: the servers, which `cargo xtask tools` installs, and our own.

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

/// The program: the one named by `PURLIN`, or the one that was built with these tests.
///
/// # Panics
/// If it is missing.
pub fn program() -> PathBuf {
    let built = || {
        let tests = std::env::current_exe().expect("a path of this test");
        // target/debug/deps/TEST
        tests.ancestors().nth(2).expect("a target folder").join("purlin")
    };
    let program = std::env::var_os("PURLIN").map_or_else(built, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is missing; `cargo build --workspace --bin purlin` builds it",
        program.display()
    );
    program
}

/// The component of a driver, by the name of its folder in `drivers/` or, for a driver of the tests, in
/// `tests/`.
///
/// # Panics
/// If it is missing.
pub fn component(driver: &str) -> PathBuf {
    let folder =
        std::env::var_os("PURLIN_DRIVERS_DIR").map_or_else(|| root().join("target/drivers"), PathBuf::from);
    let path = folder.join(format!("{driver}.wasm"));
    assert!(path.is_file(), "{} is missing; run `cargo xtask drivers` first", path.display());
    path
}
