//! How the contract can grow (`docs/src/reference/versions.md`): drivers for variants of it, each with one
//! change, and what becomes of them in this host.

use std::fs;
use std::path::{Path, PathBuf};

use purlin_model::Limits;
use purlin_sandbox::{CONTRACT_VERSION, LoadError, Source};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::common::{sandbox, setup};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A variant of the contract: its version, a change of its text, and what a driver for it has besides.
struct Variant {
    version: &'static str,
    /// A file of `wit/`, a text in it, and what stands there instead.
    change: (&'static str, &'static str, &'static str),
    /// Imports and exports of its core module, with `@` for the version.
    more: &'static str,
}

const NONE: (&str, &str, &str) = ("types.wit", "", "");
/// Another package that a driver may import.
const OTHER: &str = "package purlin:other@0.1.0; interface run { run: func(); }";

impl Variant {
    /// A driver for it, which only follows the contract.
    fn driver(&self) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path();
        let (file, from, to) = self.change;
        for entry in fs::read_dir(root().join("wit")).expect("the contract") {
            let path = entry.expect("a file").path();
            if path.extension().is_none_or(|ending| ending != "wit") {
                continue;
            }
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let mut text = fs::read_to_string(&path).expect("read");
            text = text.replace(&format!("driver@{CONTRACT_VERSION}"), &format!("driver@{}", self.version));
            if name == file {
                assert!(text.contains(from), "{from}");
                text = text.replacen(from, to, 1);
            }
            fs::write(dir.join(name), text).expect("written");
        }
        let other = dir.join("deps/other");
        fs::create_dir_all(&other).expect("a folder");
        fs::write(other.join("other.wit"), OTHER).expect("written");
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(dir).expect("the contract");
        let world = resolve.select_world(&[package], Some("driver")).expect("a world");
        let versioned =
            |text: &str| text.replace(&format!("@{CONTRACT_VERSION}"), &format!("@{}", self.version));
        let mut parts: Vec<PathBuf> = fs::read_dir(root().join("tests/hostile/wat/common"))
            .expect("the parts of a driver")
            .map(|entry| entry.expect("a file").path())
            .collect();
        parts.sort();
        let common: String =
            parts.iter().map(|part| versioned(&fs::read_to_string(part).expect("read"))).collect();
        let more = self.more.replace("@\"", &format!("@{}\"", self.version));
        let more = more.replace("@#", &format!("@{}#", self.version));
        let mut module = wat::parse_str(format!("(module\n{more}\n{common}\n)")).expect("a module");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("described");
        ComponentEncoder::default().module(&module).expect("a module").encode().expect("a component")
    }

    async fn loaded(&self) -> Result<(), LoadError> {
        let bytes = self.driver().into();
        sandbox().load(Source::Bytes(bytes), &setup(Limits::default())).await.map(drop)
    }
}

const LOG: &str = r#"(import "purlin:driver/log@" "write" (func (param i32 i32 i32)))"#;

/// What a later patch of the contract may add: a driver for it runs in this host.
#[tokio::test]
async fn additions_that_a_driver_may_have_load() {
    for (what, change, more) in [
        ("the number alone", NONE, ""),
        ("a used import", NONE, LOG),
        (
            "a type that nothing uses",
            ("types.wit", "interface types {", "interface types { record more { a: u8 }"),
            "",
        ),
        (
            "one more function of `lifecycle`",
            ("lifecycle.wit", "describe: func() -> manifest;", "describe: func() -> manifest; more: func();"),
            r#"(func (export "purlin:driver/lifecycle@#more"))"#,
        ),
        (
            "one more exported interface",
            (
                "world.wit",
                "world driver {",
                "interface ready { use lifecycle.{change}; is-ready: func(request: change); }\nworld driver { export ready;",
            ),
            r#"(func (export "purlin:driver/ready@#is-ready") (param i32))"#,
        ),
        (
            "one more function of an imported interface, which it does not use",
            (
                "host.wit",
                "cancelled: func() -> bool;",
                "cancelled: func() -> bool; time-left: func() -> u64;",
            ),
            "",
        ),
    ] {
        for version in [CONTRACT_VERSION, "0.2.1", "0.2.10"] {
            let loaded = Variant { version, change, more }.loaded().await;
            assert!(loaded.is_ok(), "{what}, {version}: {loaded:?}");
        }
    }
}

/// What no patch may change, and what a driver of a later one may need: it is refused, and as one that
/// needs a newer Purlin.
#[tokio::test]
async fn whatever_is_not_known_needs_a_newer_purlin() {
    for (what, change, more) in [
        ("a case", ("types.wit", "variant failure {", "variant failure { pending(string),"), ""),
        (
            "a field",
            ("lifecycle.wit", "record create-request {", "record create-request { more: option<string>,"),
            "",
        ),
        ("a flag", ("lifecycle.wit", "flags implements {", "flags implements { more,"), ""),
        ("a level", ("host.wit", "enum level {", "enum level { more,"), LOG),
        (
            "a function of the host",
            (
                "host.wit",
                "cancelled: func() -> bool;",
                "cancelled: func() -> bool; time-left: func() -> u64;",
            ),
            r#"(import "purlin:driver/operation@" "time-left" (func (result i64)))"#,
        ),
        (
            "an interface of the host",
            (
                "world.wit",
                "world driver {",
                "interface programs { run: func(); }\nworld driver { import programs;",
            ),
            r#"(import "purlin:driver/programs@" "run" (func))"#,
        ),
    ] {
        let refused = Variant { version: "0.2.1", change, more }.loaded().await.expect_err(what).to_string();
        let start = format!(
            "made for contract `purlin:driver@0.2.1`, and this version runs `purlin:driver@{CONTRACT_VERSION}`; \
             it needs a newer Purlin: "
        );
        assert!(refused.starts_with(&start) && refused.len() > start.len(), "{what}: {refused}");
        // The same in the version of this host is a fault of the driver.
        let refused =
            Variant { version: CONTRACT_VERSION, change, more }.loaded().await.expect_err(what).to_string();
        assert!(!refused.contains("newer"), "{what}: {refused}");
    }
}

#[tokio::test]
async fn other_packages_and_editions_are_named() {
    let change = ("world.wit", "world driver {", "world driver { import purlin:other/run@0.1.0;");
    let more = r#"(import "purlin:other/run@0.1.0" "run" (func))"#;
    let refused = Variant { version: CONTRACT_VERSION, change, more }.loaded().await.expect_err("unknown");
    assert_eq!(
        refused.to_string(),
        "imports `purlin:other/run@0.1.0`, which this version does not offer to drivers; it needs a newer Purlin"
    );
    for (version, advice) in [
        ("0.3.0", "it needs a newer Purlin, or must be built against that"),
        ("1.0.0", "it needs a newer Purlin, or must be built against that"),
        ("0.1.0", "build it against that"),
    ] {
        let refused =
            Variant { version, change: NONE, more: "" }.loaded().await.expect_err("another edition");
        let expected = format!(
            "made for contract `purlin:driver@{version}`, and this version runs \
             `purlin:driver@{CONTRACT_VERSION}`; {advice}"
        );
        assert_eq!(refused.to_string(), expected);
    }
}
