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
