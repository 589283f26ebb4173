//! Tests of modules that become drivers, and of the errors for those that cannot.

#![allow(clippy::expect_used, reason = "a test")]

use purlin_component::{DEPS, Error, WIT, componentize};
use wasmparser::{Encoding, Parser, Payload};
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, SourceMap};

const FUNCTIONS: [&str; 8] =
    ["describe", "check", "name", "create", "read", "update-impact", "update", "delete"];

/// The text of a driver's core module, with these imports and without the exports named in `less`.
fn text(imports: &str, less: &[&str], contract: &str) -> String {
    let mut text = format!("(module {imports} (memory (export \"memory\") 1)\n");
    for function in FUNCTIONS.into_iter().filter(|name| !less.contains(name)) {
        let parameter = if function == "describe" { "" } else { "(param i32)" };
        let name = format!("purlin:driver/lifecycle@{contract}#{function}");
        text += &format!("(func (export \"{name}\") {parameter} (result i32) unreachable)\n");
    }
    if !less.contains(&"cabi_realloc") {
        text += "(func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) unreachable)\n";
    }
    text + "(func (export \"_initialize\")))"
}

fn core(imports: &str) -> Vec<u8> {
    wat::parse_str(text(imports, &[], "0.3.0")).expect("a module")
}

fn refused(text: &str) -> Error {
    let module = wat::parse_str(text).expect("a module");
    componentize(&module).expect_err("refused")
}

/// The names that the outermost component imports and exports.
fn names(component: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut imports, mut exports, mut depth) = (Vec::new(), Vec::new(), 0);
    for payload in Parser::new(0).parse_all(component) {
        match payload.expect("valid") {
            Payload::Version { encoding, .. } => {
                assert!(depth > 0 || encoding == Encoding::Component, "a component is outermost");
                depth += 1;
            }
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 1 => {
                imports.extend(section.into_iter().map(|one| one.expect("valid").name.name.to_owned()));
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                exports.extend(section.into_iter().map(|one| one.expect("valid").name.name.to_owned()));
            }
            _ => {}
        }
    }
    (imports, exports)
}

#[test]
fn a_module_that_describes_nothing_becomes_a_driver() {
    let used = r#"(import "purlin:driver/log@0.3.0" "write" (func (param i32 i32 i32)))
        (import "purlin:metrics/metrics@0.1.0" "count" (func (param i32 i32 i64)))"#;
    let (imports, exports) = names(&componentize(&core(used)).expect("a component"));
    assert_eq!(exports, ["purlin:driver/lifecycle@0.3.0"]);
    for interface in ["purlin:driver/log@0.3.0", "purlin:metrics/metrics@0.1.0"] {
        assert!(imports.contains(&interface.to_owned()), "{imports:?}");
    }
    assert!(
        !imports.iter().any(|name| name.starts_with("wasi:")),
        "nothing that is not asked for: {imports:?}"
    );
}

/// Each package beside the contract is there for a module that uses it, and only for that.
#[test]
fn packages_beside_the_contract_are_known_by_their_names() {
    let foresees = |imports: &str, interface: &str| {
        let export =
            format!("(func (export \"{interface}#preview\") (param i32) (result i32) unreachable)\n");
        text(imports, &[], "0.3.0").replacen("(func (export", &format!("{export}(func (export"), 1)
    };
    let made = |text: &str| {
        let module = wat::parse_str(text).expect("a module");
        let (imports, mut exports) = names(&componentize(&module).expect("a component"));
        exports.sort();
        (imports, exports)
    };
    let (imports, exports) = made(&foresees("", "purlin:preview/preview@0.1.0"));
    assert_eq!(exports, ["purlin:driver/lifecycle@0.3.0", "purlin:preview/preview@0.1.0"]);
    assert!(!imports.iter().any(|name| name.contains("consent")), "only what is used: {imports:?}");
    let token = r#"(import "purlin:preview/consent@0.1.0" "token" (func (param i32)))
        (import "purlin:driver/log@0.3.0" "write" (func (param i32 i32 i32)))
        (import "wasi:http/types@0.2.12" "[constructor]fields" (func (result i32)))"#;
    let (imports, exports) = made(&foresees(token, "purlin:preview/preview@0.1.0"));
    assert_eq!(exports, ["purlin:driver/lifecycle@0.3.0", "purlin:preview/preview@0.1.0"]);
    for interface in ["purlin:preview/consent@0.1.0", "purlin:driver/log@0.3.0", "wasi:http/types@0.2.12"] {
        assert!(imports.contains(&interface.to_owned()), "{imports:?}");
    }
    let leave = r#"(import "purlin:programs/folder@0.1.0" "path" (func (param i32)))"#;
    let (imports, exports) = names(&componentize(&core(leave)).expect("a component"));
    assert_eq!(exports, ["purlin:driver/lifecycle@0.3.0"]);
    assert!(imports.contains(&"purlin:programs/folder@0.1.0".to_owned()), "{imports:?}");

    let error = refused(&foresees("", "purlin:preview/preview@0.9.0"));
    let Error::UnknownExports { interfaces } = &error else { unreachable!("{error}") };
    assert_eq!(interfaces, &["purlin:preview/preview@0.9.0"]);
    assert!(error.to_string().contains("use a newer one"), "{error}");
}

#[test]
fn wasi_0_1_becomes_wasi_0_2() {
    let random = r#"(import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))"#;
    let (imports, exports) = names(&componentize(&core(random)).expect("a component"));
    assert_eq!(exports, ["purlin:driver/lifecycle@0.3.0"]);
    assert!(imports.iter().any(|name| name.starts_with("wasi:random/random@0.2.")), "{imports:?}");
    assert!(!imports.iter().any(|name| name.starts_with("wasi:sockets")), "only what is used: {imports:?}");
}

/// A driver's module with this import, which describes a world with these items.
fn describing(items: &str, imports: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let parsed = |files: &[(&str, &str)]| {
        let mut sources = SourceMap::default();
        files.iter().for_each(|(name, text)| sources.push_str(name, *text));
        sources.parse().map_err(|(_, error)| error).expect("a package")
    };
    let deps = DEPS.iter().map(|file| parsed(std::slice::from_ref(file))).collect();
    resolve.push_groups(parsed(WIT), deps).expect("the contract");
    let mine = format!("package acme:mine;\nworld mine {{ {items} }}");
    let package = resolve.push_source("mine.wit", &mine).expect("a package");
    let world = resolve.select_world(&[package], Some("mine")).expect("a world");
    let mut module = core(imports);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("embedded");
    module
}

#[test]
fn interfaces_of_wasi_0_2_are_known_by_their_names() {
    let fields = r#"(import "wasi:http/types@0.2.12" "[constructor]fields" (func (result i32)))"#;
    let (imports, _) = names(&componentize(&core(fields)).expect("a component"));
    assert!(imports.contains(&"wasi:http/types@0.2.12".to_owned()), "{imports:?}");
    assert!(!imports.iter().any(|name| name.starts_with("wasi:sockets")), "{imports:?}");
    let error = refused(&text(&fields.replace("0.2.12", "0.3.0"), &[], "0.3.0"));
    assert!(error.to_string().contains("`wasi:http/types@0.3.0.[constructor]fields`"), "{error}");
}

#[test]
fn a_module_that_describes_itself_is_taken_at_its_word() {
    let ask = r#"(import "extra" "ask" (func (result i32)))"#;
    let world = "include purlin:driver/driver@0.3.0; import extra: interface { ask: func() -> bool; }";
    let (imports, _) = names(&componentize(&describing(world, ask)).expect("a component"));
    assert!(imports.contains(&"extra".to_owned()), "{imports:?}");
    let error = componentize(&describing("export run: func();", "")).expect_err("not a driver");
    assert!(matches!(error, Error::NoDriver), "{error}");
}

#[test]
fn files_that_are_no_modules_are_reported() {
    assert!(matches!(componentize(b"int main() {}"), Err(Error::NotWasm)));
    assert!(matches!(componentize(b""), Err(Error::NotWasm)));
    assert!(matches!(componentize(b"\0asm\x01\0\0\0\x07\xff"), Err(Error::Invalid { .. })));
    let component = componentize(&core("")).expect("a component");
    assert!(matches!(componentize(&component), Err(Error::Component)));
}

#[test]
fn missing_exports_are_named() {
    let error = refused(&text("", &["read", "cabi_realloc"], "0.3.0"));
    assert_eq!(
        error.to_string(),
        "does not export `purlin:driver/lifecycle@0.3.0#read`, `cabi_realloc`, which every driver does"
    );
    let error = refused("(module)");
    assert!(error.to_string().ends_with("which every driver does"), "{error}");
    let error = refused(&text("", &[], "0.9.0"));
    assert!(error.to_string().contains("purlin:driver@0.9.0"), "{error}");
}

#[test]
fn unavailable_imports_are_reported() {
    let error = refused(&text(
        r#"(import "env" "system" (func (param i32) (result i32)))
        (import "wasi_snapshot_preview1" "sock_listen" (func))
        (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))"#,
        &[],
        "0.3.0",
    ));
    let Error::UnknownImports { imports } = &error else { unreachable!("{error}") };
    assert_eq!(imports, &["env.system", "wasi_snapshot_preview1.sock_listen"]);
}

#[test]
fn a_program_is_reported_with_the_options_for_a_library() {
    let error = refused(r#"(module (memory (export "memory") 1) (func (export "_start")))"#);
    assert!(error.to_string().contains("-buildmode=c-shared"), "{error}");
}

#[test]
fn a_wrong_signature_is_reported() {
    let wrong = text("", &[], "0.3.0").replacen("(param i32) (result i32)", "(result i32)", 1);
    let error = refused(&wrong);
    assert!(
        matches!(&error, Error::Encode { message } if message.contains("purlin:driver/lifecycle")),
        "{error}"
    );
    let wrong = r#"(import "purlin:driver/log@0.3.0" "shout" (func))"#;
    let error = refused(&text(wrong, &[], "0.3.0"));
    assert!(error.to_string().contains("shout"), "{error}");
}

/// Any bytes lead to a result or an error.
#[test]
fn broken_modules_break_nothing() {
    let random = r#"(import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))"#;
    for module in [core(random), describing("include purlin:driver/driver@0.3.0;", "")] {
        for end in 0..module.len() {
            // Without its last section, the module may still be valid.
            let _ = componentize(module.get(..end).unwrap_or_default());
        }
        for (place, bits) in (0..module.len()).flat_map(|place| [(place, 0x01), (place, 0x80), (place, 0xff)])
        {
            let mut broken = module.clone();
            if let Some(byte) = broken.get_mut(place) {
                *byte ^= bits;
            }
            // Some changes do not matter; the test only expects a result.
            let _ = componentize(&broken);
        }
    }
}
