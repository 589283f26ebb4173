//! Checks whether bytes are a driver of this contract, before anything of them runs.

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::contract::{self, Bind, EDITIONS, METRICS_VERSION, PREVIEW_VERSION, PROGRAMS_VERSION, compatible};
use crate::convert::printable;
use crate::error::{CallError, LoadError};
use crate::secrets::SecretMatcher;

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

/// Checks the exports and imports of a component. Returns what binds its edition of the contract.
pub(crate) fn check_interface(engine: &Engine, component: &Component) -> Result<Bind, LoadError> {
    let world = component.component_type();
    let exports: Vec<_> = world.exports(engine).map(|(name, _)| name).collect();
    check_names(exports.into_iter(), world.imports(engine).map(|(name, _)| name))
}

/// The reason why a component cannot be used. What this host does not know in one for a later version of the
/// contract is not a fault of the component.
pub(crate) fn explained(engine: &Engine, component: &Component, error: LoadError) -> LoadError {
    let message = match &error {
        LoadError::Invalid { message } => message.clone(),
        LoadError::Describe(source) => match &**source {
            CallError::Trap { message, .. } | CallError::Instantiate { message, .. } => message.clone(),
            _ => return error,
        },
        _ => return error,
    };
    let world = component.component_type();
    let names = world.exports(engine).chain(world.imports(engine)).map(|(name, _)| name);
    match contract::later(names) {
        Some((found, supported)) => LoadError::NewerContract { found, supported, message },
        None => error,
    }
}

/// Checks the names of a component's exports and imports.
pub(crate) fn check_names<'a>(
    exports: impl Iterator<Item = &'a str> + Clone,
    mut imports: impl Iterator<Item = &'a str>,
) -> Result<Bind, LoadError> {
    let bind = contract::pick(&EDITIONS, exports.clone())?;
    contract::check_preview(exports)?;
    match imports.find(|name| !offered(name)) {
        Some(name) => Err(LoadError::UnknownImport { import: printable(&SecretMatcher::default(), name) }),
        None => Ok(bind),
    }
}

/// Whether drivers get an interface of this name. wasmtime decides whether it has the required
/// shape.
pub(crate) fn offered(import: &str) -> bool {
    let Some((name, version)) = import.split_once('@') else { return false };
    let Some((package, _)) = name.split_once('/') else { return false };
    match package {
        "purlin:driver" => EDITIONS.iter().any(|(edition, _)| compatible(version, edition)),
        "purlin:metrics" => compatible(version, METRICS_VERSION),
        "purlin:preview" => compatible(version, PREVIEW_VERSION),
        "purlin:programs" => compatible(version, PROGRAMS_VERSION),
        "wasi:http" => {
            matches!(name, "wasi:http/types" | "wasi:http/outgoing-handler") && compatible(version, "0.2.0")
        }
        "wasi:io" | "wasi:cli" | "wasi:clocks" | "wasi:random" | "wasi:filesystem" | "wasi:sockets" => {
            compatible(version, "0.2.0")
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
            "purlin:driver/log@0.3.0",
            "purlin:metrics/metrics@0.1.1",
            "purlin:preview/consent@0.1.0",
            "purlin:programs/run@0.1.0",
            "wasi:cli/environment@0.2.0",
        ] {
            assert!(offered(yes), "{yes}");
        }
        for no in [
            "wasi:http/incoming-handler@0.2.0",
            "wasi:http/types@0.3.0",
            "wasi:io/poll@0.3.0",
            "purlin:driver/log@0.2.0",
            "purlin:metrics/metrics@0.2.0",
            "host",
            "a/b",
        ] {
            assert!(!offered(no), "{no}");
        }
    }
}
