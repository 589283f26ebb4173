//! The contract, as text and as parsed by the tools.

use std::collections::BTreeSet;

use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER;
use wit_component::{WitPrinter, metadata};
use wit_parser::{FunctionKind, PackageId, Resolve, SourceMap, WorldId, WorldItem};

use crate::Error;

/// The names and texts of the files of the contract's package. Projects in other languages generate
/// their bindings from them and from [`DEPS`].
pub const WIT: &[(&str, &str)] = &[
    ("host.wit", include_str!("../../../wit/host.wit")),
    ("lifecycle.wit", include_str!("../../../wit/lifecycle.wit")),
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("world.wit", include_str!("../../../wit/world.wit")),
];

/// The packages beside the contract's, each one file: its world uses some, and some use its types. Tools
/// expect them in a folder `deps` beside, or in, the folder of the contract.
pub const DEPS: &[(&str, &str)] = &[
    ("metrics.wit", include_str!("../../../wit/deps/metrics.wit")),
    ("preview.wit", include_str!("../../../wit/deps/preview.wit")),
    ("programs.wit", include_str!("../../../wit/deps/programs.wit")),
];

/// The interface that makes a component a driver.
pub const CONTRACT: &str = "purlin:driver/lifecycle@0.3.0";

/// The version of WASI whose interfaces are known.
pub(crate) const WASI: &str = "WASI 0.2.12";

/// The names of the interfaces that a module imports, and of those of our packages that it exports.
#[derive(Default)]
pub(crate) struct Interfaces {
    pub(crate) imported: BTreeSet<String>,
    pub(crate) exported: BTreeSet<String>,
}

/// The imports and exports that a module must have.
pub(crate) struct World {
    pub(crate) resolve: Resolve,
    pub(crate) id: WorldId,
}

impl World {
    /// The world `driver` of the contract, with those of the wanted interfaces that the packages beside it, or
    /// WASI 0.2, have.
    pub(crate) fn driver(wanted: &Interfaces) -> Result<Self, Error> {
        let wants_wasi = wanted.imported.iter().any(|name| name.starts_with("wasi:"));
        let mut resolve = if wants_wasi { wasi()? } else { Resolve::default() };
        let contract = contract(&mut resolve)?;
        let driver = resolve.select_world(&[contract], Some("driver")).map_err(Error::encode)?;
        let driver = Self { resolve, id: driver };
        let interfaces = driver.resolve.interfaces.iter();
        let known: BTreeSet<String> = interfaces.filter_map(|(id, _)| driver.resolve.id_of(id)).collect();
        let mut items = String::new();
        let mut add = |word: &str, names: &BTreeSet<String>, there: &BTreeSet<String>| {
            for name in names.intersection(&known).filter(|name| !there.contains(*name)) {
                items += &format!("{word} {name};\n");
            }
        };
        add("import", &wanted.imported, &driver.imported().collect());
        add("export", &wanted.exported, &driver.exported().collect());
        if items.is_empty() {
            return Ok(driver);
        }
        let mut resolve = driver.resolve;
        let name = resolve.packages.get(contract).map(|package| package.name.to_string()).unwrap_or_default();
        let (package, version) = name.split_once('@').unwrap_or((&name, ""));
        let text =
            format!("package purlin:made;\nworld made {{\ninclude {package}/driver@{version};\n{items}}}\n");
        let package = resolve.push_source("made.wit", &text).map_err(Error::encode)?;
        let id = resolve.select_world(&[package], Some("made")).map_err(Error::encode)?;
        Ok(Self { resolve, id })
    }

    /// The world that a module describes in its own sections.
    pub(crate) fn of(core: &[u8]) -> Result<Self, Error> {
        let (_, found) = metadata::decode(core).map_err(Error::encode)?;
        Ok(Self { resolve: found.resolve, id: found.world })
    }

    /// The names of the interfaces that it exports.
    pub(crate) fn exported(&self) -> impl Iterator<Item = String> + '_ {
        self.interfaces(|world| &world.exports).map(|(name, _)| name)
    }

    /// The names of the interfaces that it imports.
    pub(crate) fn imported(&self) -> impl Iterator<Item = String> + '_ {
        self.interfaces(|world| &world.imports).map(|(name, _)| name)
    }

    /// The names that the functions of the exported interfaces have in a core module.
    pub(crate) fn functions(&self) -> Vec<String> {
        let named = |(interface, item): (String, &WorldItem)| {
            let WorldItem::Interface { id, .. } = item else { return Vec::new() };
            let functions =
                self.resolve.interfaces.get(*id).into_iter().flat_map(|one| one.functions.values());
            let plain = functions.filter(|function| matches!(function.kind, FunctionKind::Freestanding));
            plain.map(|function| format!("{interface}#{}", function.name)).collect()
        };
        self.interfaces(|world| &world.exports).flat_map(named).collect()
    }

    fn interfaces<'a>(
        &'a self,
        side: impl Fn(&'a wit_parser::World) -> &'a wit_parser::IndexMap<wit_parser::WorldKey, WorldItem>,
    ) -> impl Iterator<Item = (String, &'a WorldItem)> {
        let items = self.resolve.worlds.get(self.id).map(side).into_iter().flatten();
        items.map(|(key, item)| (self.resolve.name_world_key(key), item))
    }
}

/// The files of a folder `wit` for the bindings of a language without an SDK, by their paths in it: the contract
/// as the package `purlin:driver`, with a world `driver-with-wasi` beside its own, and in `deps` what it uses.
/// That world has the imports of `driver`, and every interface of WASI 0.2 that a driver may import.
///
/// # Errors
/// [`Error::Encode`] if the tools cannot print WASI, which a test excludes.
pub fn folder() -> Result<Vec<(String, String)>, Error> {
    let mut files: Vec<(String, String)> =
        WIT.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    files.extend(DEPS.iter().map(|(name, text)| (format!("deps/{name}"), (*text).to_owned())));
    let resolve = wasi()?;
    let of_wasi = resolve.packages.iter().filter(|(_, package)| package.name.namespace == "wasi");
    let mut imports = String::new();
    for (id, package) in of_wasi {
        for interface in package.interfaces.values() {
            let name = resolve.id_of(*interface).unwrap_or_default();
            imports += &format!("    import {name};\n");
        }
        // The adapter's own description has no documentation, and only the worlds that it needs.
        let mut printer = WitPrinter::default();
        printer.print(&resolve, id, &[]).map_err(Error::encode)?;
        files.push((format!("deps/wasi-{}.wit", package.name.name), printer.output.to_string()));
    }
    let (_, version) = CONTRACT.split_once('@').unwrap_or_default();
    let world = format!(
        "/// A driver that may use every interface of WASI that Purlin has, for bindings of a language without an SDK.\n\
         /// Functions without a grant answer that they are not allowed.\n\
         @since(version = {version})\nworld driver-with-wasi {{\n    include driver;\n{imports}}}\n"
    );
    files.push(("with-wasi.wit".to_owned(), world));
    files.sort();
    Ok(files)
}

/// Adds the contract's package and those beside it, and returns the contract's.
fn contract(resolve: &mut Resolve) -> Result<PackageId, Error> {
    let parsed = |files: &[(&str, &str)]| {
        let mut sources = SourceMap::default();
        for (name, text) in files {
            sources.push_str(name, *text);
        }
        sources.parse().map_err(|(_, error)| Error::encode(error))
    };
    let deps = DEPS.iter().map(|file| parsed(std::slice::from_ref(file))).collect::<Result<_, _>>()?;
    resolve.push_groups(parsed(WIT)?, deps).map_err(Error::encode)
}

/// The interfaces of WASI 0.2 that a module may import by name.
fn wasi() -> Result<Resolve, Error> {
    let (_, found) = metadata::decode(ADAPTER).map_err(Error::encode)?;
    let mut resolve = found.resolve;
    resolve.push_source("wasi-http.wit", include_str!("wasi-http.wit")).map_err(Error::encode)?;
    Ok(resolve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_contract_exists() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");
        for (folder, files) in [("", WIT), ("deps", DEPS)] {
            let mut there: Vec<String> = std::fs::read_dir(format!("{root}/{folder}"))
                .expect("the contract")
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .filter(|name| name.ends_with(".wit"))
                .collect();
            there.sort();
            assert_eq!(there, files.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{folder}");
        }
    }

    #[test]
    fn the_world_is_the_contracts() {
        let world = World::driver(&Interfaces::default()).expect("read");
        assert_eq!(world.exported().collect::<Vec<_>>(), [CONTRACT]);
        let functions = world.functions();
        assert_eq!(functions.len(), 8, "{functions:?}");
        assert!(functions.contains(&format!("{CONTRACT}#update-impact")), "{functions:?}");
        let imported: BTreeSet<String> = world.imported().collect();
        for interface in ["types", "log", "operation"] {
            assert!(imported.contains(&CONTRACT.replace("lifecycle", interface)), "{imported:?}");
        }
        assert!(imported.contains("purlin:metrics/metrics@0.1.0"), "{imported:?}");
    }

    #[test]
    fn bindings_of_another_language_find_every_import_in_the_folder() {
        let place = tempfile::tempdir().expect("a folder");
        for (path, text) in folder().expect("written") {
            let file = place.path().join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, text).expect("written");
        }
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_path(place.path()).expect("valid WIT");
        for (name, more) in [("driver", 0), ("driver-with-wasi", 20)] {
            let id = resolve.select_world(&[package], Some(name)).expect("a world");
            let world = World { resolve: resolve.clone(), id };
            assert_eq!(world.exported().collect::<Vec<_>>(), [CONTRACT]);
            let imported: BTreeSet<String> = world.imported().collect();
            assert!(
                imported.len() > more && imported.contains("purlin:metrics/metrics@0.1.0"),
                "{imported:?}"
            );
            let http = imported.contains("wasi:http/outgoing-handler@0.2.12");
            assert_eq!(http, more > 0, "{imported:?}");
        }
    }

    #[test]
    fn the_wasi_version_matches_the_error_messages() {
        let version = WASI.strip_prefix("WASI ").expect("a version");
        let imported: BTreeSet<String> = ["http/outgoing-handler", "filesystem/types", "sockets/tcp"]
            .map(|name| format!("wasi:{name}@{version}"))
            .into();
        let wanted = Interfaces { imported, ..Interfaces::default() };
        let world = World::driver(&wanted).expect("read");
        assert!(
            wanted.imported.is_subset(&world.imported().collect()),
            "{:?}",
            world.imported().collect::<Vec<_>>()
        );
        assert_eq!(world.exported().collect::<Vec<_>>(), [CONTRACT]);
    }
}
