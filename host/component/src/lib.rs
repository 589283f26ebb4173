//! Makes a driver of what compilers give: a core WebAssembly module becomes a component of the
//! contract. Nothing here runs a module or knows what a host offers; that is the sandbox's.
//!
//! Compilers for C and Go stop at a core module, whose exports and imports have agreed names. What
//! is missing is the description of their types, which is taken from the contract where the module
//! does not bring its own, and WASI 0.2 in place of the 0.1 that those compilers know.

mod error;
mod module;
mod wit;

pub use error::Error;
pub use wit::{CONTRACT, WIT};

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as WASI_0_1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use module::Module;
use wit::World;

/// Makes a component of a core module.
///
/// A module that brings a description of its types, as `wit-bindgen` and most compilers write it
/// into a section `component-type`, is taken at its word. Any other is taken to be one of the world
/// `driver`, in the edition of the contract whose functions it exports, with the interfaces of WASI 0.2 that it imports by their names. Where
/// it imports WASI 0.1, an adapter to WASI 0.2 is put in.
///
/// # Errors
/// [`Error`], which says what is wrong with the module and what would be right.
pub fn componentize(core: &[u8]) -> Result<Vec<u8>, Error> {
    let module = Module::read(core)?;
    let mut core = core.to_vec();
    let world = if module.describes_itself {
        World::of(&core)?
    } else {
        World::driver(module.edition(), &module.wasi())?
    };
    module.check(&world, &Module::read(ADAPTER)?)?;
    if !module.describes_itself {
        embed_component_metadata(&mut core, &world.resolve, world.id, StringEncoding::UTF8)
            .map_err(Error::encode)?;
    }
    let mut encoder = ComponentEncoder::default();
    encoder.module(&core).map_err(Error::encode)?;
    if module.imports_from(WASI_0_1) {
        encoder.adapter(WASI_0_1, ADAPTER).map_err(Error::encode)?;
    }
    encoder.validate(true).encode().map_err(Error::encode)
}
