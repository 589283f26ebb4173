//! Where components are read and compiled (SPEC §8): parsers and compilers are large programs that
//! untrusted bytes can keep busy, fill with memory, or crash.
//!
//! [`Worker`](crate::Worker) does it in a separate process, with limits of the system.
//! [`InProcess`] does it here.

use std::fmt;
use std::sync::Arc;

use wasmparser::{Parser, Payload};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::contract::Exports;
use crate::error::LoadError;
use crate::functions::Functions;
use crate::{capability, component, engine, instances, modules};

/// The imports and exports of a component, by name and in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Names {
    /// Such as `wasi:sockets/tcp@0.2.6`.
    pub imports: Vec<String>,
    /// Such as `purlin:driver/lifecycle@0.3.0`.
    pub exports: Vec<String>,
}

/// Reads and compiles untrusted components.
///
/// # Safety
/// The result of [`Compiler::compile`] is run. It must be the same as the result of this crate's
/// [`InProcess`] for the component, on a machine with the same processor and in a program with the
/// same version of this crate.
#[allow(unsafe_code)]
pub unsafe trait Compiler: Send + Sync + fmt::Debug {
    /// Reads the imports and exports of a component. Compiles nothing. Blocks the thread.
    ///
    /// # Errors
    /// [`LoadError::Invalid`] for a damaged file, or one that exceeds a limit.
    fn names(&self, wasm: &[u8]) -> Result<Names, LoadError>;

    /// Compiles a component for this machine. Blocks the thread.
    ///
    /// With `functions`, identical functions of a component that was compiled before are reused;
    /// empty bytes mean none. Without it, none are returned either.
    ///
    /// # Errors
    /// [`LoadError::Invalid`] for a file that is not a component, or exceeds a limit.
    fn compile(&self, wasm: &[u8], functions: Option<&[u8]>) -> Result<Compilation, LoadError>;
}

/// A compiled component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilation {
    /// Its code.
    pub code: Vec<u8>,
    /// Its functions, for the next compilation, if requested and different from those that were
    /// passed.
    pub functions: Option<Vec<u8>>,
}

/// Reads and compiles in this process. **Less safe** than [`Worker`](crate::Worker): a component of
/// a few kilobytes can exhaust the stack, which ends the program, or take all memory and minutes of
/// time. For trusted components, and for environments in which no process can be started.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

// SAFETY: it is the reference for others.
#[allow(unsafe_code)]
unsafe impl Compiler for InProcess {
    fn names(&self, wasm: &[u8]) -> Result<Names, LoadError> {
        names(wasm)
    }

    fn compile(&self, wasm: &[u8], functions: Option<&[u8]>) -> Result<Compilation, LoadError> {
        let invalid = |error: wasmtime::Error| LoadError::invalid(&error);
        instances::check(wasm)?;
        modules::check(wasm)?;
        let functions = functions.map(|bytes| Arc::new(Functions::read(bytes.to_vec())));
        let engine = engine::compiling(functions.as_ref()).map_err(invalid)?;
        let code = engine.precompile_component(wasm).map_err(invalid)?;
        Ok(Compilation { code, functions: functions.and_then(|functions| functions.to_bytes()) })
    }
}

fn names(wasm: &[u8]) -> Result<Names, LoadError> {
    let invalid = |error: wasmparser::Error| LoadError::invalid(&error);
    let mut names = Names::default();
    // Inner modules and components have their own imports, which reach only this component.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    names.exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Does with compiled code what a sandbox does before it runs. If types are nested too deep for
/// that, the stack overflows here and not in the program that requested the driver.
#[allow(unsafe_code)]
pub(crate) fn rehearse(code: &[u8]) -> wasmtime::Result<()> {
    let engine: Engine = engine::compiling(None)?;
    // SAFETY: callers compiled it just now.
    let component = unsafe { Component::deserialize(&engine, code) }?;
    let mut linker = Linker::new(&engine);
    capability::link(&mut linker)?;
    // Loading reports whether it is a driver, with its name.
    if let Ok(bind) = component::check_interface(&engine, &component)
        && let Ok(linked) = linker.instantiate_pre(&component)
    {
        let _ = Exports::find(&engine, linked, bind);
    }
    Ok(())
}
