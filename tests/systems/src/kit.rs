//! Projects of `purlin driver new`, in each of its languages.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools;

/// A language, and the tests of its projects.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// As `driver new --lang` takes it.
    pub name: &'static str,
    /// Required programs, besides those of the machine.
    needs: &'static [&'static str],
    test: &'static [&'static str],
}

/// Rust, with Cargo.
pub const RUST: Language = Language { name: "rust", needs: &[], test: &["cargo", "test", "--quiet"] };
/// C, with Clang.
pub const C: Language = Language { name: "c", needs: &["clang", "wasm-ld", "make"], test: &["make", "test"] };
/// Go, with its own compiler.
pub const GO: Language = Language { name: "go", needs: &["go"], test: &["go", "test", "./..."] };
/// JavaScript, with jco.
pub const JS: Language = Language { name: "js", needs: &["node", "npm"], test: &["npm", "test", "--silent"] };
/// Python, with componentize-py.
pub const PYTHON: Language = Language {
    name: "python",
    needs: &["componentize-py"],
    // As with `pip install -e ./purlin`.
    test: &["env", "PYTHONPATH=purlin", "python3", "-m", "unittest", "--quiet"],
};

impl Language {
    /// Whether its tools are installed. See [`tools::need`].
    pub fn is_installed(&self) -> bool {
        self.needs.iter().all(|program| tools::need(program).is_some())
    }

    /// Runs the tests of a project.
    ///
    /// # Panics
    /// If they fail.
    #[track_caller]
    pub fn test(&self, project: &Path) {
        let [program, arguments @ ..] = self.test else { panic!("no test") };
        let mut test = Command::new(program);
        test.args(arguments);
        run(test, project);
    }
}

/// Sets the variables that the tools of the languages read. They also need those of whoever runs the
/// tests, such as the homes of their toolchains, but must not colour what the tests read.
pub fn environment(command: &mut Command) {
    let own = std::env::vars_os().filter(|(name, _)| name != "XDG_CACHE_HOME");
    command.envs(own).env("NO_COLOR", "1");
    command.env("PATH", path()).env("CARGO_TARGET_DIR", kept("cargo"));
    command.env("GOCACHE", kept("go")).env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    command.env("GOPROXY", "off").env("npm_config_cache", kept("npm"));
}

/// Runs a command in a folder, with the tools of the languages. Returns everything that it prints.
///
/// # Panics
/// If it fails.
#[track_caller]
pub fn run(mut command: Command, folder: &Path) -> String {
    environment(&mut command);
    let done = command.current_dir(folder).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let output =
        format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?} failed ({}):\n{output}", done.status);
    output
}

/// `PATH` with our own tools in front.
fn path() -> OsString {
    let own = [tools::tools().join("python/bin")];
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).expect("a path")
}

/// A folder that the next run finds again: the cache of a language's tools.
fn kept(name: &str) -> PathBuf {
    let folder = tools::root().join("target/tmp/kits").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
