//! Makes a driver from the output of compilers: a core WebAssembly module becomes a component that
//! implements the contract. Nothing here runs a module or knows what a host provides; that belongs
//! to the sandbox.
//!
//! Compilers for C and Go produce only a core module, whose exports and imports have agreed names.
//! The description of their types is missing; it comes from the contract unless the module contains
//! its own. Those compilers also know only WASI 0.1, which an adapter translates to 0.2.

mod error;
mod module;
mod wit;

pub use error::Error;
pub use wit::{CONTRACT, DEPS, WIT, folder};

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as WASI_0_1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use module::Module;
use wit::World;

/// Converts a core module to a component.
///
/// A module that describes its own types, as `wit-bindgen` and most compilers write them into a
/// section `component-type`, is used as it is. Any other module gets the world `driver` of the
/// contract, with the interfaces of WASI 0.2, and of the packages beside the contract, that it imports or
/// exports by name. If it imports WASI 0.1, an adapter to WASI 0.2 is added.
///
/// # Errors
/// An [`Error`] that says what is wrong with the module and how to correct it.
pub fn componentize(core: &[u8]) -> Result<Vec<u8>, Error> {
    let module = Module::read(core)?;
    let mut core = core.to_vec();
    let world =
        if module.describes_itself { World::of(&core)? } else { World::driver(&module.interfaces())? };
    module.check(&world, &Module::read(ADAPTER)?)?;
    if !module.describes_itself {
        embed_component_metadata(&mut core, &world.resolve, world.id, StringEncoding::UTF8)
            .map_err(Error::encode)?;
    }
    let mut encoder = ComponentEncoder::default().module(&core).map_err(Error::encode)?;
    if module.imports_from(WASI_0_1) {
        encoder = encoder.adapter(WASI_0_1, ADAPTER).map_err(Error::encode)?;
    }
    encoder.validate(true).encode().map_err(Error::encode)
}
