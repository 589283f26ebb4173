//! Why no driver can be made of a module, in words its author can act on.

use crate::wit::{CONTRACT, WASI};

/// No component can be made of a module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not WebAssembly at all.
    #[error("not a WebAssembly file; give the core module that the compiler wrote")]
    NotWasm,
    /// Nothing to do.
    #[error("a component already; it can be used as it is")]
    Component,
    /// Faulty, or of an unknown version.
    #[error("not a valid core module: {message}")]
    Invalid {
        /// What the parser says.
        message: String,
    },
    /// It has a `main`, and nothing calls that.
    #[error(
        "a program (it exports `_start`), and a driver is a library; compile it with `-mexec-model=reactor` (C, C++) or `-buildmode=c-shared` (Go)"
    )]
    Program,
    /// It lacks functions of the contract.
    #[error("does not export {}, which every driver does", list(exports))]
    MissingExports {
        /// Names in the core module.
        exports: Vec<String>,
    },
    /// It imports what is neither the contract's nor WASI's.
    #[error(
        "imports {}, which nothing gives; a driver may import the contract's interfaces, `wasi_snapshot_preview1`, and the interfaces of {WASI} by their names",
        list(imports)
    )]
    UnknownImports {
        /// As `MODULE.NAME`.
        imports: Vec<String>,
    },
    /// Made for another version of the contract.
    #[error(
        "made for `purlin:driver@{found}`, and this version of Purlin makes `{CONTRACT}`; generate the bindings again"
    )]
    ContractVersion {
        /// The version it was made for.
        found: String,
    },
    /// It describes itself as something else.
    #[error("describes itself as a component that does not export `{CONTRACT}`, so it is no driver")]
    NoDriver,
    /// Names are right and something else is wrong, such as a function's signature.
    #[error("cannot be made a component: {message}")]
    Encode {
        /// What the encoder says.
        message: String,
    },
}

impl Error {
    pub(crate) fn invalid(error: impl std::fmt::Display) -> Self {
        Self::Invalid { message: error.to_string() }
    }

    /// An encoder's error, with its causes.
    pub(crate) fn encode(error: impl std::fmt::Display) -> Self {
        Self::Encode { message: format!("{error:#}") }
    }
}

/// Names one behind the other; of many, the first.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if let Some(more) = names.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}
