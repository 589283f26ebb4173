//! Tests that the bindings in the repository match the contract. `PURLIN_BLESS=1` updates the
//! generated files. Review the handwritten ones (`sdk/go/abi_wasip1.go`) if the layout of the
//! contract's records changes.

#![allow(clippy::expect_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use purlin_component::{DEPS, WIT};
use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_parser::{Resolve, SizeAlign, SourceMap, Type, TypeDefKind, TypeOwner, WorldId, WorldItem};

/// A world of the contract, or of a package beside it.
fn contract(world: &str) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let parsed = |files: &[(&str, &str)]| {
        let mut sources = SourceMap::default();
        files.iter().for_each(|(name, text)| sources.push_str(name, *text));
        sources.parse().map_err(|(_, error)| error).expect("a package")
    };
    let deps = DEPS.iter().map(|file| parsed(std::slice::from_ref(file))).collect();
    let package = resolve.push_groups(parsed(WIT), deps).expect("the contract");
    let world = resolve.select_world(&[package], Some(world)).expect("a world");
    (resolve, world)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Fails unless the file has this content, or writes it with `PURLIN_BLESS`.
fn keeps(file: &str, text: &str) {
    let path = root().join(file);
    if std::env::var_os("PURLIN_BLESS").is_some() {
        fs::write(&path, text).expect("written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let line = there.lines().zip(text.lines()).position(|(a, b)| a != b);
    assert!(
        there == text,
        "`{file}` does not follow the contract, from line {line:?}; see tests/bindings.rs"
    );
}

/// The world `driver` with all that a driver may export besides. Its bindings in C are one file, so that both share
/// the types of the contract.
fn everything() -> (Resolve, WorldId) {
    let (mut resolve, _) = contract("driver");
    let world = "package purlin:made;
        world driver { include purlin:driver/driver@0.3.0; include purlin:preview/previews@0.1.0; }";
    let package = resolve.push_source("made.wit", world).expect("a package");
    let world = resolve.select_world(&[package], Some("driver")).expect("a world");
    (resolve, world)
}

/// The function for `preview` is not exported there: a driver that has one exports it (`PURLIN_PREVIEW` of
/// `preview.h`), and the linker omits it from every other.
#[test]
fn the_bindings_for_c_are_those_of_the_contract() {
    let (mut resolve, world) = everything();
    let mut files = Files::default();
    let options = wit_bindgen_c::Opts { no_object_file: true, ..Default::default() };
    options.build().generate(&mut resolve, world, &mut files).expect("bindings");
    let names: Vec<&str> = files.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["driver.c", "driver.h"]);
    for (name, text) in files.iter() {
        let text = std::str::from_utf8(text).expect("a text");
        let is_optional = |line: &&str| line.contains("__export_name__(") && line.contains("purlin:preview/");
        let omitted = text.lines().filter(is_optional).count();
        assert_eq!(
            omitted,
            if name == "driver.c" { 2 } else { 0 },
            "the function, and what frees its result"
        );
        let text: String =
            text.lines().filter(|line| !is_optional(line)).map(|line| format!("{line}\n")).collect();
        keeps(&format!("sdk/c/{name}"), &text);
    }
}

/// They are in the repository so that drivers, and the projects of their authors, compile without a generator.
#[test]
fn the_bindings_for_rust_are_those_of_the_contract() {
    let (mut resolve, world) = contract("driver");
    let mut files = Files::default();
    let options = wit_bindgen_rust::Opts {
        format: true,
        // The packages beside the contract's own, too.
        generate_all: true,
        pub_export_macro: true,
        export_macro_name: Some("export_lifecycle".to_owned()),
        default_bindings_module: Some("purlin_sdk::bindings".to_owned()),
        ..Default::default()
    };
    options.build().generate(&mut resolve, world, &mut files).expect("bindings");
    let [(_, text)] = files.iter().collect::<Vec<_>>()[..] else { panic!("not one file") };
    keeps("sdk/rust/src/bindings.rs", std::str::from_utf8(text).expect("a text"));
}

/// Those of `purlin:preview` are apart, so that only a driver that has a preview exports it. Its types are the
/// contract's.
#[test]
fn the_bindings_for_previews_are_those_of_the_package() {
    let (mut resolve, world) = contract("purlin:preview/previews");
    let mut files = Files::default();
    let types = wit_bindgen_rust::WithOption::Path("crate::bindings::purlin::driver::types".to_owned());
    let options = wit_bindgen_rust::Opts {
        format: true,
        generate_all: true,
        with: vec![("purlin:driver/types@0.3.0".to_owned(), types)],
        pub_export_macro: true,
        export_macro_name: Some("export_preview".to_owned()),
        default_bindings_module: Some("purlin_sdk::preview_bindings".to_owned()),
        ..Default::default()
    };
    options.build().generate(&mut resolve, world, &mut files).expect("bindings");
    let [(_, text)] = files.iter().collect::<Vec<_>>()[..] else { panic!("not one file") };
    keeps("sdk/rust/src/preview_bindings.rs", std::str::from_utf8(text).expect("a text"));
}

#[test]
fn the_layout_that_go_follows_is_that_of_the_contract() {
    let (resolve, world) = everything();
    // The interfaces of the world are those that the SDK has. Others, such as those of programs, are for whoever
    // imports them.
    let world = &resolve.worlds[world];
    let every: Vec<_> = world.imports.values().chain(world.exports.values()).collect();
    let is_in_world = |owner| {
        every.iter().any(|item| {
            matches!((item, owner), (WorldItem::Interface { id, .. }, TypeOwner::Interface(own)) if *id == own)
        })
    };
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    let mut text =
        "# The contract's records as they lie in memory. Where this changes, so must sdk/go/abi_wasip1.go.\n"
            .to_owned();
    for (id, one) in resolve.types.iter() {
        let Some(name) = one.name.as_ref().filter(|_| is_in_world(one.owner)) else { continue };
        let size = |ty: &Type| (sizes.size(ty).size_wasm32(), sizes.align(ty).align_wasm32());
        match &one.kind {
            TypeDefKind::Record(record) => {
                let (all, align) = size(&Type::Id(id));
                text += &format!("\nrecord {name}: {all} bytes, aligned to {align}\n");
                let types: Vec<Type> = record.fields.iter().map(|field| field.ty).collect();
                let offsets = sizes.field_offsets(&types);
                for (field, (offset, _)) in record.fields.iter().zip(offsets) {
                    text += &format!("  {:>3} {}\n", offset.size_wasm32(), field.name);
                }
            }
            TypeDefKind::Variant(variant) => {
                let (all, align) = size(&Type::Id(id));
                text += &format!("\nvariant {name}: {all} bytes, aligned to {align}\n");
                for (number, case) in variant.cases.iter().enumerate() {
                    text += &format!("  {number:>3} {}\n", case.name);
                }
            }
            TypeDefKind::Flags(flags) => {
                let names: Vec<&str> = flags.flags.iter().map(|flag| flag.name.as_str()).collect();
                text += &format!("\nflags {name}: {}\n", names.join(" "));
            }
            TypeDefKind::Enum(cases) => {
                let names: Vec<&str> = cases.cases.iter().map(|case| case.name.as_str()).collect();
                text += &format!("\nenum {name}: {}\n", names.join(" "));
            }
            _ => {}
        }
    }
    keeps("host/component/tests/layout.txt", &text);
}
