//! How the contract can grow (`docs/src/reference/versions.md`): drivers for variants of it, each with one
//! change, and what becomes of them in this host.

use std::fs;
use std::path::{Path, PathBuf};

use purlin_model::Limits;
use purlin_model::driver::{DriverInfo, Implements};
use purlin_sandbox::{CONTRACT_VERSION, LoadError, Source};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::common::{sandbox, setup};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A variant of the contract, and a driver for it.
#[derive(Clone, Copy)]
struct Variant {
    version: &'static str,
    /// The version of `purlin:metrics`.
    metrics: &'static str,
    /// A change of a file of `wit/`.
    change: Change,
    /// What the driver's own world has besides the contract's.
    world: &'static str,
    /// Imports and exports of its core module, with `@` for the version.
    more: &'static str,
    /// A change of the other parts of its core module.
    differs: (&'static str, &'static str),
}

/// A file of `wit/`, a text in it, and what stands there instead.
type Change = (&'static str, &'static str, &'static str);

const NONE: Change = ("types.wit", "", "");
const PLAIN: Variant = Variant {
    version: CONTRACT_VERSION,
    metrics: "0.1.0",
    change: NONE,
    world: "",
    more: "",
    differs: ("", ""),
};
/// Packages beside the contract's.
const OTHERS: [&str; 2] = [
    "package purlin:other@0.1.0; interface run { run: func(); }",
    "package purlin:ready@0.1.0; \
     interface ready { use purlin:driver/types@VERSION.{change}; is-ready: func(request: change) -> bool; }",
];

impl Variant {
    /// A driver for it, which only follows the contract.
    fn driver(&self) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path();
        let wit = root().join("wit");
        let (file, from, to) = self.change;
        let mut is_changed = false;
        let mut copy = |source: &Path, name: &str, to_folder: &str| {
            let mut text = self.versioned(&fs::read_to_string(source).expect("read"));
            if name == file {
                assert!(text.contains(from), "{from}");
                is_changed = true;
                text = text.replacen(from, to, 1);
            }
            write(&dir.join(to_folder).join(name), &text);
        };
        for (name, path) in files(&wit) {
            copy(&path, &name, "deps/driver");
        }
        for (name, path) in files(&wit.join("deps")) {
            copy(&path, &name, "deps");
        }
        assert!(is_changed, "{file}");
        for (number, text) in OTHERS.iter().enumerate() {
            write(
                &dir.join(format!("deps/other-{number}/other.wit")),
                &text.replace("VERSION", self.version),
            );
        }
        let (version, items) = (self.version, self.world);
        let world =
            format!("package acme:mine;\nworld mine {{ include purlin:driver/driver@{version}; {items} }}");
        write(&dir.join("mine.wit"), &world);
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(dir).expect("the contract");
        let world = resolve.select_world(&[package], Some("mine")).expect("a world");
        let parts = files(&root().join("tests/hostile/wat/common")).into_iter();
        let common: String = parts.map(|(_, path)| fs::read_to_string(path).expect("read")).collect();
        let (from, to) = self.differs;
        assert!(common.contains(from), "{from}");
        let common = self.versioned(&common.replacen(from, to, 1));
        let more = self.more.replace("@\"", &format!("@{version}\"")).replace("@#", &format!("@{version}#"));
        let mut module = wat::parse_str(format!("(module\n{more}\n{common}\n)")).expect("a module");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("described");
        ComponentEncoder::default().module(&module).expect("a module").encode().expect("a component")
    }

    /// A text of the contract, or of a driver for it, with these versions.
    fn versioned(&self, text: &str) -> String {
        let text = text.replace("@0.1.0", &format!("@{}", self.metrics));
        let text =
            text.replace(&format!("version = {CONTRACT_VERSION}"), &format!("version = {}", self.version));
        text.replace(&format!("@{CONTRACT_VERSION}"), &format!("@{}", self.version))
    }

    async fn loaded(&self) -> Result<DriverInfo, LoadError> {
        let bytes = self.driver().into();
        let driver = sandbox().load(Source::Bytes(bytes), &setup(Limits::default())).await?;
        Ok(driver.info().clone())
    }
}

/// The files in a folder, with their names, in order.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut files: Vec<(String, PathBuf)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "wit" || ending == "wat"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    files.sort();
    files
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

const LOG: &str = r#"(import "purlin:driver/log@" "write" (func (param i32 i32 i32)))"#;
/// One more function of an imported interface.
const WAIT: Change =
    ("host.wit", "cancelled: func() -> bool;", "cancelled: func() -> bool; wait: func(ms: u64);");
/// Where the schema of the inputs is in the driver's description of itself.
const SCHEMA: &str =
    "(i32.store (i32.const 1104) (i32.const 4132)) (i32.store (i32.const 1108) (i32.const 2))";
/// Another schema of the inputs.
const OTHER_SCHEMA: &str =
    "(i32.store (i32.const 1104) (i32.const 4208)) (i32.store (i32.const 1108) (i32.const 22))";

/// What a later patch of the contract may add: a driver for it runs in this host.
#[tokio::test]
async fn additions_that_a_driver_may_have_load() {
    for (what, variant) in [
        ("the number alone", PLAIN),
        ("a used import", Variant { more: LOG, ..PLAIN }),
        (
            "a type that nothing uses",
            Variant {
                change: ("types.wit", "interface types {", "interface types { record more { a: u8 }"),
                ..PLAIN
            },
        ),
        (
            "one more function of `lifecycle`",
            Variant {
                change: (
                    "lifecycle.wit",
                    "describe: func() -> driver-info;",
                    "describe: func() -> driver-info; more: func();",
                ),
                more: r#"(func (export "purlin:driver/lifecycle@#more"))"#,
                ..PLAIN
            },
        ),
        (
            "an interface of a package of its own, which it exports and which uses the types",
            Variant {
                world: "export purlin:ready/ready@0.1.0;",
                more: r#"(func (export "purlin:ready/ready@0.1.0#is-ready") (param i32) (result i32) (i32.const 1))"#,
                ..PLAIN
            },
        ),
        (
            "one more function of an imported interface, which it does not use",
            Variant { change: WAIT, ..PLAIN },
        ),
    ] {
        for version in [CONTRACT_VERSION, "0.3.1", "0.3.10"] {
            let loaded = Variant { version, ..variant }.loaded().await;
            assert!(loaded.is_ok(), "{what}, {version}: {loaded:?}");
        }
    }
}

/// The lists and schemas of a description are open.
#[tokio::test]
async fn names_that_are_not_known_are_ignored_and_keywords_are_shown() {
    let all = PLAIN.loaded().await.expect("loads").types.remove(0).implements;
    assert_eq!(all.names(), ["check", "name", "read", "update-impact", "update"]);
    let differs = ("(data $functions (i32.const 4144) \"check", "(data $functions (i32.const 4144) \"adopt");
    let info = Variant { version: "0.3.1", differs, ..PLAIN }.loaded().await.expect("loads");
    assert_eq!(info.types[0].implements, Implements { check: false, ..all });

    // The sandbox does not know the keywords; whoever reads the schema refuses it.
    let differs = (SCHEMA, OTHER_SCHEMA);
    let more = r#"(data (i32.const 4208) "{\"x-purlin-expires\":1}")"#;
    let info = Variant { version: "0.3.1", differs, more, ..PLAIN }.loaded().await.expect("loads");
    assert_eq!(info.types[0].inputs, serde_json::json!({"x-purlin-expires": 1}));
}

/// What no patch may change, and what a driver of a later one may need: it is refused, and as one that
/// needs a newer Purlin.
#[tokio::test]
async fn whatever_is_not_known_needs_a_newer_purlin() {
    let changed = |change| Variant { change, ..PLAIN };
    for (what, variant) in [
        ("a case", changed(("types.wit", "variant failure {", "variant failure { expired(string),"))),
        (
            "a field of a request",
            changed((
                "types.wit",
                "record create-request {",
                "record create-request { more: option<string>,",
            )),
        ),
        (
            "a field of an answer",
            changed(("types.wit", "record state {", "record state { more: option<string>,")),
        ),
        (
            "a field of the description",
            changed(("types.wit", "record driver-info {", "record driver-info { more: option<string>,")),
        ),
        ("a level", Variant { more: LOG, ..changed(("host.wit", "enum level {", "enum level { more,")) }),
        (
            "a function of the host",
            Variant {
                more: r#"(import "purlin:driver/operation@" "wait" (func (param i64)))"#,
                ..changed(WAIT)
            },
        ),
        (
            "an interface of the host",
            Variant {
                more: r#"(import "purlin:driver/programs@" "run" (func))"#,
                ..changed((
                    "world.wit",
                    "world driver {",
                    "interface programs { run: func(); }\nworld driver { import programs;",
                ))
            },
        ),
    ] {
        let refused = Variant { version: "0.3.1", ..variant }.loaded().await.expect_err(what).to_string();
        let start = format!(
            "made for contract `purlin:driver@0.3.1`, and this version runs `purlin:driver@{CONTRACT_VERSION}`; \
             it needs a newer Purlin: "
        );
        assert!(refused.starts_with(&start) && refused.len() > start.len(), "{what}: {refused}");
        // The same in the version of this host is a fault of the driver.
        let refused = variant.loaded().await.expect_err(what).to_string();
        assert!(!refused.contains("newer"), "{what}: {refused}");
    }
}

/// Another package grows by itself, with the same advice.
#[tokio::test]
async fn a_later_version_of_metrics_runs_unless_something_is_missing() {
    const COUNT: &str = r#"(import "purlin:metrics/metrics@0.1.1" "count" (func (param i32 i32 i64)))"#;
    const FORGET: &str = r#"(import "purlin:metrics/metrics@0.1.1" "forget" (func (param i32 i32)))"#;
    let change = ("metrics.wit", "count: func(", "forget: func(name: string); count: func(");
    let later = Variant { metrics: "0.1.1", change, ..PLAIN };
    let loaded = Variant { more: COUNT, ..later }.loaded().await;
    assert!(loaded.is_ok(), "{loaded:?}");
    let refused = Variant { more: FORGET, ..later }.loaded().await.expect_err("not there").to_string();
    let start = "made for contract `purlin:metrics@0.1.1`, and this version runs `purlin:metrics@0.1.0`; \
                 it needs a newer Purlin: ";
    assert!(refused.starts_with(start) && refused.len() > start.len(), "{refused}");
    let more = r#"(import "purlin:metrics/metrics@0.2.0" "count" (func (param i32 i32 i64)))"#;
    let refused = Variant { metrics: "0.2.0", more, ..PLAIN }.loaded().await.expect_err("another edition");
    assert_eq!(
        refused.to_string(),
        "imports `purlin:metrics/metrics@0.2.0`, which this version does not offer to drivers; it needs a newer Purlin"
    );
}

/// What an exported function of `preview` takes and returns in core WebAssembly.
const PREVIEW: &str =
    r#"(func (export "purlin:preview/preview@VERSION#preview") (param i32) (result i32) (i32.const 0))"#;

/// So does a package that a driver exports.
#[tokio::test]
async fn a_later_version_of_preview_runs_unless_something_differs() {
    let exporting = |version: &'static str, change| Variant {
        metrics: version,
        change,
        world: Box::leak(format!("export purlin:preview/preview@{version};").into_boxed_str()),
        more: Box::leak(PREVIEW.replace("VERSION", version).into_boxed_str()),
        ..PLAIN
    };
    for version in ["0.1.0", "0.1.1"] {
        let driver = exporting(version, NONE).driver().into();
        let driver = sandbox().load(Source::Bytes(driver), &setup(Limits::default())).await.expect("loads");
        assert!(driver.previews(), "{version}");
    }
    let bytes = PLAIN.driver().into();
    assert!(
        !sandbox().load(Source::Bytes(bytes), &setup(Limits::default())).await.expect("loads").previews()
    );

    let field = ("preview.wit", "record forecast {", "record forecast { more: option<string>,");
    let refused = exporting("0.1.1", field).loaded().await.expect_err("another answer").to_string();
    let start = "made for contract `purlin:preview@0.1.1`, and this version runs `purlin:preview@0.1.0`; \
                 it needs a newer Purlin: ";
    assert!(refused.starts_with(start) && refused.len() > start.len(), "{refused}");
    let refused = exporting("0.2.0", NONE).loaded().await.expect_err("another edition");
    assert_eq!(
        refused.to_string(),
        "made for contract `purlin:preview@0.2.0`, and this version runs `purlin:preview@0.1.0`; \
         it needs a newer Purlin: it exports `purlin:preview/preview@0.2.0`"
    );
}

#[tokio::test]
async fn other_packages_and_editions_are_named() {
    let world = "import purlin:other/run@0.1.0;";
    let more = r#"(import "purlin:other/run@0.1.0" "run" (func))"#;
    let refused = Variant { world, more, ..PLAIN }.loaded().await.expect_err("unknown");
    assert_eq!(
        refused.to_string(),
        "imports `purlin:other/run@0.1.0`, which this version does not offer to drivers; it needs a newer Purlin"
    );
    for (version, advice) in [
        ("0.4.0", "it needs a newer Purlin, or must be built against that"),
        ("1.0.0", "it needs a newer Purlin, or must be built against that"),
        ("0.2.0", "build it against that"),
        ("0.1.0", "build it against that"),
    ] {
        let refused = Variant { version, ..PLAIN }.loaded().await.expect_err("another edition");
        let expected = format!(
            "made for contract `purlin:driver@{version}`, and this version runs \
             `purlin:driver@{CONTRACT_VERSION}`; {advice}"
        );
        assert_eq!(refused.to_string(), expected);
    }
}
