//! The imports and exports of a core module, and whether they make a driver.

use std::collections::BTreeSet;

use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as WASI_0_1;
use wasmparser::{Encoding, Parser, Payload};

use crate::Error;
use crate::wit::{CONTRACT, Interfaces, World};

/// The names in a core module.
pub(crate) struct Module {
    exports: BTreeSet<String>,
    /// The module and the name of each import.
    imports: Vec<(String, String)>,
    /// Whether the module describes its own types.
    pub(crate) describes_itself: bool,
}

impl Module {
    /// Reads the names, without parsing the functions.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        if !bytes.starts_with(b"\0asm") {
            return Err(Error::NotWasm);
        }
        let mut found = Self { exports: BTreeSet::new(), imports: Vec::new(), describes_itself: false };
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(Error::invalid)? {
                Payload::Version { encoding: Encoding::Component, .. } => return Err(Error::Component),
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import.map_err(Error::invalid)?;
                        found.imports.push((import.module.to_owned(), import.name.to_owned()));
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        found.exports.insert(export.map_err(Error::invalid)?.name.to_owned());
                    }
                }
                Payload::CustomSection(section) => {
                    found.describes_itself |= section.name().starts_with("component-type");
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Whether it imports anything from a module of this name.
    pub(crate) fn imports_from(&self, module: &str) -> bool {
        self.imports.iter().any(|(from, _)| from == module)
    }

    /// The names of the interfaces that it imports, and of those of our packages that it exports.
    pub(crate) fn interfaces(&self) -> Interfaces {
        Interfaces {
            imported: self.imports.iter().map(|(module, _)| module.clone()).collect(),
            exported: self.exported().map(str::to_owned).collect(),
        }
    }

    /// The names of the interfaces of our packages that it exports.
    fn exported(&self) -> impl Iterator<Item = &str> {
        let interfaces = self.exports.iter().filter_map(|name| Some(name.split_once('#')?.0));
        interfaces.filter(|name| name.starts_with("purlin:"))
    }

    /// Checks whether it can become a driver of this world with this adapter for WASI 0.1.
    pub(crate) fn check(&self, world: &World, adapter: &Self) -> Result<(), Error> {
        check_contract(world)?;
        // The encoder checks names in the newer style.
        if self.exports.iter().any(|name| name.starts_with("cm32p2")) {
            return Ok(());
        }
        let needed = world.functions().into_iter().chain(["memory".to_owned(), "cabi_realloc".to_owned()]);
        let missing: Vec<String> = needed.filter(|name| !self.exports.contains(name)).collect();
        // Report a program first: its compiler leaves out the functions that `main` does not use.
        if self.exports.contains("_start") && !self.exports.contains("_initialize") {
            return Err(Error::Program);
        }
        if let Some(other) = self.other_contract().filter(|_| !missing.is_empty()) {
            return Err(Error::ContractVersion { found: other });
        }
        if !missing.is_empty() {
            return Err(Error::MissingExports { exports: missing });
        }
        // The encoder omits what the world does not have, and an author would not notice.
        let exported: BTreeSet<String> = world.exported().collect();
        let others = self.exported().filter(|name| !name.starts_with("purlin:driver/"));
        let unknown: BTreeSet<String> =
            others.filter(|name| !exported.contains(*name)).map(str::to_owned).collect();
        if !unknown.is_empty() {
            return Err(Error::UnknownExports { interfaces: unknown.into_iter().collect() });
        }
        // A module may import functions that handle the resources of exported interfaces. Their
        // names begin with `[export]`.
        let given: BTreeSet<String> = world.imported().chain(world.exported()).collect();
        let unknown = self.imports.iter().filter(|(module, name)| match module.as_str() {
            WASI_0_1 => !adapter.exports.contains(name),
            "$root" => false,
            module => !given.contains(module.strip_prefix("[export]").unwrap_or(module)),
        });
        let unknown: Vec<String> = unknown.map(|(module, name)| format!("{module}.{name}")).collect();
        if unknown.is_empty() { Ok(()) } else { Err(Error::UnknownImports { imports: unknown }) }
    }

    /// The version of the contract that it was made for, if that is another one.
    fn other_contract(&self) -> Option<String> {
        self.exported().find_map(other_version)
    }
}

/// Checks whether the module's own description makes it a driver.
fn check_contract(world: &World) -> Result<(), Error> {
    let exported: Vec<String> = world.exported().collect();
    if exported.iter().any(|name| name == CONTRACT) {
        return Ok(());
    }
    match exported.iter().find_map(|name| other_version(name)) {
        Some(found) => Err(Error::ContractVersion { found }),
        None => Err(Error::NoDriver),
    }
}

/// The version in the name of the contract's interface, if that is another one.
fn other_version(interface: &str) -> Option<String> {
    let found = interface.strip_prefix("purlin:driver/lifecycle@")?;
    (interface != CONTRACT).then(|| found.to_owned())
}
