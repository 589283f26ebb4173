//! The reasons why a module cannot become a driver, in words that help its author.

use crate::wit::{CONTRACT, WASI};

/// The reason why a module cannot become a component.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not WebAssembly.
    #[error("not a WebAssembly file; give the core module that the compiler wrote")]
    NotWasm,
    /// The file is a component already.
    #[error("a component already; it can be used as it is")]
    Component,
    /// The module is invalid, or has an unknown version.
    #[error("not a valid core module: {message}")]
    Invalid {
        /// The message of the parser.
        message: String,
    },
    /// The module has a `main`, which is never called.
    #[error(
        "a program (it exports `_start`), and a driver is a library; compile it with `-mexec-model=reactor` (C, C++) or `-buildmode=c-shared` (Go)"
    )]
    Program,
    /// The module lacks functions of the contract.
    #[error("does not export {}, which every driver does", list(exports))]
    MissingExports {
        /// The names in the core module.
        exports: Vec<String>,
    },
    /// The module exports interfaces that are in none of our packages.
    #[error(
        "exports {}, which this version of Purlin does not have; use a newer one, or generate the bindings again",
        list(interfaces)
    )]
    UnknownExports {
        /// The names of the interfaces.
        interfaces: Vec<String>,
    },
    /// The module imports something that is part of neither the contract, nor a package beside it, nor WASI.
    #[error(
        "imports {}, which is not available; a driver may import the interfaces of the contract and of the packages beside it, `wasi_snapshot_preview1`, and the interfaces of {WASI} by their names",
        list(imports)
    )]
    UnknownImports {
        /// The imports as `MODULE.NAME`.
        imports: Vec<String>,
    },
    /// The module was made for another version of the contract.
    #[error(
        "made for `purlin:driver@{found}`, and this version of Purlin makes `{CONTRACT}`; generate the bindings again"
    )]
    ContractVersion {
        /// The version that it was made for.
        found: String,
    },
    /// The module describes itself as something other than a driver.
    #[error("describes itself as a component that does not export `{CONTRACT}`, so it is not a driver")]
    NoDriver,
    /// The names are right, but something else is wrong, such as the signature of a function.
    #[error("cannot be made a component: {message}")]
    Encode {
        /// The message of the encoder.
        message: String,
    },
}

impl Error {
    pub(crate) fn invalid(error: impl std::fmt::Display) -> Self {
        Self::Invalid { message: error.to_string() }
    }

    /// An error of the encoder, with its causes.
    pub(crate) fn encode(error: impl std::fmt::Display) -> Self {
        Self::Encode { message: format!("{error:#}") }
    }
}

/// The names, separated by commas; if there are many, only the first ones.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if let Some(more) = names.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}
