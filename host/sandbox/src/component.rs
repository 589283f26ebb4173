//! Checks whether bytes are a driver of this contract, before anything of them runs.

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::CONTRACT_VERSION;
use crate::contract::Contract;
use crate::convert::people;
use crate::error::LoadError;
use crate::secrets::SecretMatcher;

const LIFECYCLE: &str = "purlin:driver/lifecycle";

/// Distinguishes WebAssembly components from everything else by their first eight bytes.
pub(crate) fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    match bytes {
        [0, b'a', b's', b'm', _, _, 1, 0, ..] => Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err(LoadError::CoreModule),
        [0, b'a', b's', b'm', ..] => {
            Err(LoadError::Invalid { message: "an unknown version of WebAssembly".into() })
        }
        _ => Err(LoadError::NotWasm),
    }
}

/// Checks the exports and imports of a component. Returns the contract that it exports.
pub(crate) fn check_interface(engine: &Engine, component: &Component) -> Result<Contract, LoadError> {
    let world = component.component_type();
    let exports: Vec<_> = world.exports(engine).map(|(name, _)| name).collect();
    check_names(exports.into_iter(), world.imports(engine).map(|(name, _)| name))
}

/// The version of the contract, if this is the name of its export.
pub(crate) fn contract(export: &str) -> Option<&str> {
    export.strip_prefix(LIFECYCLE).map(|rest| rest.strip_prefix('@').unwrap_or(rest))
}

/// Checks the names of a component's exports and imports. Of several contracts the latest is used.
pub(crate) fn check_names<'a>(
    exports: impl Iterator<Item = &'a str>,
    mut imports: impl Iterator<Item = &'a str>,
) -> Result<Contract, LoadError> {
    let mut other = None;
    let mut found = None;
    for version in exports.filter_map(contract) {
        match Contract::ALL.iter().position(|one| compatible(version, one.version())) {
            Some(place) => found = Some(found.map_or(place, |best: usize| best.min(place))),
            None => other = Some(version.to_owned()),
        }
    }
    let Some(found) = found.and_then(|place| Contract::ALL.get(place)) else {
        return Err(match other {
            Some(found) => LoadError::ContractVersion { found, supported: CONTRACT_VERSION },
            None => LoadError::MissingExport { export: format!("{LIFECYCLE}@{CONTRACT_VERSION}") },
        });
    };
    match imports.find(|name| !offered(name)) {
        Some(name) => Err(LoadError::UnknownImport { import: people(&SecretMatcher::default(), name) }),
        None => Ok(*found),
    }
}

/// Whether drivers get an interface of this name. wasmtime decides whether it has the required
/// shape.
pub(crate) fn offered(import: &str) -> bool {
    let Some((name, version)) = import.split_once('@') else { return false };
    let Some((package, _)) = name.split_once('/') else { return false };
    match package {
        "purlin:driver" => Contract::ALL.iter().any(|contract| compatible(version, contract.version())),
        "wasi:http" => {
            matches!(name, "wasi:http/types" | "wasi:http/outgoing-handler") && compatible(version, "0.2.0")
        }
        "wasi:io" | "wasi:cli" | "wasi:clocks" | "wasi:random" | "wasi:filesystem" | "wasi:sockets" => {
            compatible(version, "0.2.0")
        }
        _ => false,
    }
}

/// Versions are compatible when the first number that is not zero is the same.
fn compatible(version: &str, with: &str) -> bool {
    match (semver::Version::parse(version), semver::Version::parse(with)) {
        (Ok(a), Ok(b)) => {
            a.pre == b.pre
                && a.major == b.major
                && (a.major > 0 || (a.minor == b.minor && (a.minor > 0 || a.patch == b.patch)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_identify_a_file() {
        assert!(matches!(check_header(b"apiVersion: v1"), Err(LoadError::NotWasm)));
        assert!(matches!(check_header(b"\0asm"), Err(LoadError::Invalid { .. })));
        assert!(matches!(check_header(b"\0asm\x01\0\0\0"), Err(LoadError::CoreModule)));
        assert!(check_header(b"\0asm\x0d\0\x01\0").is_ok());
    }

    #[test]
    fn only_linked_interfaces_are_offered() {
        for yes in [
            "wasi:io/streams@0.2.6",
            "wasi:http/outgoing-handler@0.2.4",
            "purlin:driver/log@0.1.0",
            "purlin:driver/log@0.2.0",
            "wasi:cli/environment@0.2.0",
        ] {
            assert!(offered(yes), "{yes}");
        }
        for no in [
            "wasi:http/incoming-handler@0.2.0",
            "wasi:http/types@0.3.0",
            "wasi:io/poll@0.3.0",
            "purlin:driver/log@0.3.0",
            "host",
            "a/b",
        ] {
            assert!(!offered(no), "{no}");
        }
    }
}
