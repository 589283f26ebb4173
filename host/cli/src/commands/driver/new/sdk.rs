//! The SDK as files of the new project. The project therefore depends on no registry and no
//! checkout of this repository.

use std::borrow::Cow;

use super::Language;
use super::kits::{folder, repository};

type Files = Vec<(String, Cow<'static, str>)>;

/// The files of the SDK for a language, including parts that the project does not use.
pub(super) fn of(language: Language) -> Files {
    match language {
        Language::Rust => rust(),
        Language::C => c(),
        Language::Go => go(),
        Language::Js => js(),
        Language::Python => python(),
    }
}

/// The WIT files of the contract and of what it uses, for a folder of dependencies in the project.
fn contract(deps: &str) -> Files {
    [inside(&format!("{deps}/purlin"), purlin_component::WIT), inside(deps, purlin_component::DEPS)].concat()
}

const RUST: &[(&str, &str)] = folder! {
    "sdk/rust":
    "README.md",
    "src/bindings.rs",
    "src/described.rs",
    "src/driver.rs",
    "src/failure.rs",
    "src/glue.rs",
    "src/glue/convert.rs",
    "src/glue/tests.rs",
    "src/host.rs",
    "src/inputs.rs",
    "src/inputs/faults.rs",
    "src/lib.rs",
    "src/preview.rs",
    "src/preview_bindings.rs",
    "src/problem.rs",
    "src/request.rs",
    "src/state.rs",
    "src/table.rs",
    "src/testing.rs",
};

const RUST_DERIVE: &[(&str, &str)] = folder! {
    "sdk/rust-derive":
    "README.md", "src/attributes.rs", "src/expand.rs", "src/lib.rs", "src/tests.rs"
};

const HTTP: &[(&str, &str)] = folder! {
    "sdk/http":
    "README.md", "src/client.rs", "src/error.rs", "src/lib.rs", "src/native.rs", "src/request.rs",
    "src/response.rs", "src/tests.rs", "src/url.rs", "src/wasi.rs"
};

/// The crates `purlin-sdk`, with its macros, and `purlin-sdk-http`, detached from this workspace.
pub(super) fn rust() -> Files {
    let workspace = repository!("Cargo.toml");
    let manifest = alone(repository!("sdk/rust/Cargo.toml"), workspace).replace("sdk/rust-derive", "derive");
    let derive = alone(repository!("sdk/rust-derive/Cargo.toml"), workspace);
    // The folders of the other crates are inside the folder of `purlin-sdk`.
    let http = repository!("sdk/http/Cargo.toml")
        .replace("purlin-sdk.workspace = true", "purlin-sdk = { path = \"..\" }");
    let mut files = vec![
        ("purlin/Cargo.toml".to_owned(), Cow::Owned(manifest)),
        ("purlin/derive/Cargo.toml".to_owned(), Cow::Owned(derive)),
        ("purlin/http/Cargo.toml".to_owned(), Cow::Owned(alone(&http, workspace))),
    ];
    files.extend(inside("purlin", RUST));
    files.extend(inside("purlin/derive", RUST_DERIVE));
    files.extend(inside("purlin/http", HTTP));
    files
}

const C: &[(&str, &str)] = folder! {
    "sdk/c":
    "README.md", "driver.c", "driver.h", "form.c", "form.h", "glue.c", "http.c", "http.h", "json.c", "json.h",
    "native.c", "preview.h", "purlin.c", "purlin.h", "rest.c", "rest.h", "schema.c", "sha256.c", "sha256.h", "text.c",
    "text.h"
};

/// The headers and sources for a driver in C.
pub(super) fn c() -> Files {
    inside("purlin", C)
}

const GO: &[(&str, &str)] = folder! {
    "sdk/go":
    "README.md", "abi_wasip1.go", "decode.go", "driver.go", "export_wasip1.go", "failure.go", "go.mod",
    "host.go", "host_native.go", "host_wasip1.go", "http.go", "http_error.go", "http_native.go",
    "http_wasip1.go", "inputs.go", "internal/exports/exports.go", "keywords.go", "outputs.go",
    "preview.go", "preview/export_wasip1.go", "preview/preview.go", "preview_wasip1.go",
    "purlinhttp/transport.go", "request.go", "rest.go", "schema.go", "shape.go", "tags.go"
};

/// The module that a driver in Go imports.
pub(super) fn go() -> Files {
    inside("purlin", GO)
}

/// The parts of the WASI packages that drivers in JavaScript and Python need for HTTP requests.
const WASI: &[(&str, &str)] = folder! { "sdk/wit": "clocks.wit", "http.wit", "io.wit" };

const JS: &[(&str, &str)] = folder! {
    "sdk/js":
    "README.md", "bindings.js", "build.d.ts", "build.js", "builder.js", "cli.js", "component.js",
    "driver.js", "failures.js", "fetch.js", "files.js", "http.js", "index.d.ts", "index.js", "json.js",
    "lifecycle.js", "outcome.js", "package.json", "reading.js", "records.js", "rest.d.ts", "rest.js",
    "roots.js", "schema.d.ts", "schema.js", "trace.js", "wasi.js",
    "wit/deps/cli.wit", "wit/deps/filesystem.wit", "wit/driver.wit"
};

/// The package `@purlin/driver`.
pub(super) fn js() -> Files {
    let deps = "purlin/wit/deps";
    [inside("purlin", JS), inside(deps, WASI), contract(deps)].concat()
}

const PYTHON: &[(&str, &str)] = folder! {
    "sdk/python":
    "README.md",
    "purlin_driver/__init__.py",
    "purlin_driver/clients.py",
    "purlin_driver/component.py",
    "purlin_driver/componentize-py.toml",
    "purlin_driver/driver.py",
    "purlin_driver/edit.py",
    "purlin_driver/failures.py",
    "purlin_driver/forecast.py",
    "purlin_driver/forms.py",
    "purlin_driver/gap.py",
    "purlin_driver/host.py",
    "purlin_driver/http.py",
    "purlin_driver/inputs.py",
    "purlin_driver/outcome.py",
    "purlin_driver/preview.py",
    "purlin_driver/py.typed",
    "purlin_driver/records.py",
    "purlin_driver/requests.py",
    "purlin_driver/rest.py",
    "purlin_driver/schema.py",
    "purlin_driver/wasi.py",
    "purlin_driver/wit/deps/with-preview.wit",
    "purlin_driver/wit/driver.wit",
    "pyproject.toml",
};

/// The package `purlin-driver`.
pub(super) fn python() -> Files {
    let deps = "purlin/purlin_driver/wit/deps";
    [inside("purlin", PYTHON), inside(deps, WASI), contract(deps)].concat()
}

fn inside(folder: &str, files: &'static [(&'static str, &'static str)]) -> Files {
    files.iter().map(|(file, text)| (format!("{folder}/{file}"), Cow::Borrowed(*text))).collect()
}

/// A manifest that inherits nothing from a workspace: each `KEY.workspace = true` is replaced by
/// the workspace's line for that key. Lints are left out.
fn alone(manifest: &str, workspace: &str) -> String {
    let mut text = String::new();
    for line in manifest.lines().filter(|line| *line != "workspace = true" && *line != "[lints]") {
        match line.strip_suffix(".workspace = true") {
            Some(key) => {
                let inherited = workspace.lines().find(|line| line.split(" = ").next() == Some(key));
                text.push_str(inherited.unwrap_or(line));
            }
            None => text.push_str(line),
        }
        text.push('\n');
    }
    // Removing a table leaves a second blank line.
    text.replace("\n\n\n", "\n\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The number of files in a folder and its subfolders.
    fn sources(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).expect("the SDK").flatten().map(|entry| entry.path());
        entries.map(|path| if path.is_dir() { sources(&path) } else { 1 }).sum()
    }

    #[test]
    fn a_manifest_is_self_contained() {
        let files = super::rust();
        for place in ["purlin/Cargo.toml", "purlin/http/Cargo.toml"] {
            let (_, manifest) = files.iter().find(|(path, _)| path == place).expect("a manifest");
            assert!(!manifest.contains("workspace"), "{manifest}");
            assert!(manifest.contains("\nedition = \"2024\"\n"), "{manifest}");
            assert!(manifest.contains("\nserde = { version = "), "{manifest}");
        }
        let (_, manifest) = files.iter().find(|(path, _)| path == "purlin/Cargo.toml").expect("a manifest");
        let (_, bindings) =
            files.iter().find(|(path, _)| path == "purlin/src/bindings.rs").expect("bindings");
        assert!(!bindings.contains("\nwit_bindgen::generate!"), "a project needs no generator");
        assert!(manifest.contains("\npurlin-sdk-derive = { path = \"derive\", "), "{manifest}");
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        for (there, place) in [
            ("sdk/rust/src", "purlin/src/"),
            ("sdk/rust-derive/src", "purlin/derive/src/"),
            ("sdk/http/src", "purlin/http/src/"),
        ] {
            let given = files.iter().filter(|(path, _)| path.starts_with(place)).count();
            assert_eq!(given, sources(&root.join(there)), "every file of the SDK is given: {place}");
        }
    }
}
