//! A driver in every language, as a beginner would write it: `driver new`, `driver build`, the
//! language's own tests, `driver check`, and then a life in a workspace.
#![allow(clippy::expect_used, clippy::panic, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;

use purlin_systems::{Workspace, tools};

/// A language, and the tests of its projects.
struct Language {
    name: &'static str,
    /// Required programs, besides those of the machine.
    needs: &'static [&'static str],
    test: &'static [&'static str],
}

/// `PATH` with our own tools in front.
fn path() -> std::ffi::OsString {
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

fn environment(command: &mut Command) {
    command.env("PATH", path());
    command.env("CARGO_TARGET_DIR", kept("cargo"));
    command.env("GOCACHE", kept("go")).env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    command.env("GOPROXY", "off").env("npm_config_cache", kept("npm"));
}

#[track_caller]
fn run(mut command: Command, folder: &Path) -> String {
    environment(&mut command);
    let done = command.current_dir(folder).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let output =
        format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?} failed ({}):\n{output}", done.status);
    output
}

fn begins(language: &Language) {
    for program in language.needs {
        if tools::need(program).is_none() {
            return;
        }
    }
    let workspace = Workspace::new();
    workspace.purlin(&["driver", "new", "kit", "--lang", language.name, "--name", "shop/memo"]);
    let folder = workspace.path("kit");
    let purlin = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        // Cold: here, code that is measured elsewhere is compiled for the first time, too.
        command.env("XDG_CACHE_HOME", workspace.path("cache"));
        run(command, &folder)
    };

    let built = purlin(&["driver", "build"]);
    assert!(built.contains("memo.wasm: shop/memo 0.1.0"), "{built}");
    let [program, arguments @ ..] = language.test else { panic!("no test") };
    let mut test = Command::new(program);
    test.args(arguments);
    run(test, &folder);
    purlin(&["driver", "check", "memo.wasm"]);

    // And it works.
    purlin(&["up", "app.yaml", "--yes"]);
    let notes = || {
        let files = std::fs::read_dir(folder.join("notes")).expect("notes").flatten();
        let mut notes =
            files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "md"));
        let note = notes.next();
        assert_eq!(notes.next(), None, "one note");
        note
    };
    let note = notes().expect("a note");
    assert_eq!(std::fs::read_to_string(&note).expect("there"), "Hello, world.\n");
    assert!(purlin(&["up", "app.yaml", "--yes"]).contains("Nothing to change"));
    std::fs::write(&note, "Somebody was here.\n").expect("written");
    let repaired = purlin(&["up", "app.yaml", "--yes", "--refresh"]);
    assert!(repaired.contains("values.text"), "{repaired}");
    assert_eq!(std::fs::read_to_string(&note).expect("there"), "Hello, world.\n");
    purlin(&["destroy", "--yes"]);
    assert_eq!(notes(), None);
}

#[test]
fn rust() {
    begins(&Language { name: "rust", needs: &[], test: &["cargo", "test", "--quiet"] });
}

#[test]
fn rust_without_wasi() {
    let workspace = Workspace::new();
    workspace.purlin(&["driver", "new", "kit", "--lang", "rust"]);
    let target = ["driver", "build", "kit", "--target", "wasm32-unknown-unknown", "-o", "plain.wasm"];
    run(workspace.command(&target), workspace.folder());
    let done = workspace.purlin(&["driver", "inspect", "plain.wasm"]).prints("acme/kit 0.1.0");
    assert!(!done.stdout.contains("wasi:"), "{done}");
}

#[test]
fn c() {
    begins(&Language { name: "c", needs: &["clang", "wasm-ld", "make"], test: &["make", "test"] });
}

#[test]
fn go() {
    begins(&Language { name: "go", needs: &["go"], test: &["go", "test", "./..."] });
}

#[test]
fn js() {
    begins(&Language { name: "js", needs: &["node", "npm"], test: &["npm", "test", "--silent"] });
}

#[test]
fn python() {
    begins(&Language {
        name: "python",
        needs: &["componentize-py"],
        // As with `pip install -e ./purlin`.
        test: &["env", "PYTHONPATH=purlin", "python3", "-m", "unittest", "--quiet"],
    });
}

/// `driver build --dev` uses one component for many edits, and builds another one when it has to.
#[test]
fn python_edits() {
    if tools::need("componentize-py").is_none() {
        return;
    }
    let workspace = Workspace::new();
    workspace.purlin(&["driver", "new", "kit", "--lang", "python", "--name", "shop/memo"]);
    let folder = workspace.path("kit");
    let purlin = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.env("XDG_CACHE_HOME", workspace.path("cache"));
        run(command, &folder)
    };
    let edit = |file: &str, from: &str, to: &str| {
        let file = folder.join(file);
        let text = std::fs::read_to_string(&file).expect("there");
        assert!(text.contains(from), "{text}");
        std::fs::write(&file, text.replace(from, to)).expect("written");
    };
    let built = |output: &str| output.contains("Component built successfully");
    let dev = || purlin(&["driver", "build", "--dev"]);

    assert!(built(&dev()), "there is no component yet");
    edit("note.py", "VERSION = \"0.1.0\"", "VERSION = \"0.2.0\"");
    let output = dev();
    assert!(output.contains("shop/memo 0.2.0") && !built(&output), "{output}");
    purlin(&["up", "app.yaml", "--yes"]);
    purlin(&["destroy", "--yes"]);

    // A new module of the project needs no other component, but a new one of Python does.
    std::fs::write(folder.join("version.py"), "VERSION = '0.3.0'\n").expect("written");
    edit("note.py", "import inputs\n", "import inputs\nimport version\n");
    edit("note.py", "VERSION = \"0.2.0\"", "VERSION = version.VERSION");
    let output = dev();
    assert!(output.contains("shop/memo 0.3.0") && !built(&output), "{output}");
    edit("version.py", "VERSION = '0.3.0'", "def later():\n    import colorsys\n\nVERSION = '0.4.0'");
    let output = dev();
    assert!(output.contains("shop/memo 0.4.0") && built(&output), "{output}");

    // A module that reads a file when it is imported needs an ordinary build.
    std::fs::write(folder.join("version.txt"), "0.5.0").expect("written");
    edit("version.py", "VERSION = '0.4.0'", "VERSION = open(__file__[:-2] + 'txt').read()");
    let output = dev();
    assert!(output.contains("shop/memo 0.5.0") && built(&output), "{output}");

    edit("version.py", "VERSION = open", "VERSION = = open");
    let mut command = workspace.command(&["driver", "build", "--dev"]);
    environment(&mut command);
    let done = command.current_dir(&folder).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && stderr.contains("SyntaxError"), "{stderr}");
}
