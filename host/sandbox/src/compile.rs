//! Compiles ahead of time, for binaries that include their drivers.

use sha2::{Digest, Sha256};
use wasmtime::component::Component;

use crate::artifact::{Artifact, Precompiled};
use crate::error::LoadError;
use crate::sandbox::{DriverSetup, Sandbox, SandboxConfig};
use crate::{component, engine};

/// The machines that compiled code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This very processor.
    Host,
    /// Any processor of this architecture and system.
    Portable,
}

/// Compiles a driver, for [`Precompiled::trust`] and [`Sandbox::load_precompiled`].
///
/// # Errors
/// If the component is not a driver, as for [`Sandbox::load`].
pub async fn precompile(wasm: &[u8], target: Target) -> Result<Vec<u8>, LoadError> {
    let invalid = LoadError::invalid;
    component::check_header(wasm)?;
    let config = SandboxConfig { instances: 1, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config).map_err(|error| invalid(&error))?;
    // The code describes itself on this machine: portable code runs here too.
    let engine = match target {
        Target::Host => sandbox.engine().clone(),
        Target::Portable => engine::portable().map_err(|error| invalid(&error))?,
    };
    let code = engine.precompile_component(wasm).map_err(|error| invalid(&error))?;
    let compiled = sandbox.deserialize(&code).map_err(|error| invalid(&error))?;
    let info = sandbox.describe(&compiled, &DriverSetup::default()).await?;
    Ok(Artifact { digest: Sha256::digest(wasm).into(), info: Some(info), code: &code }.to_bytes())
}

impl Sandbox {
    /// Whether an artifact from [`precompile`] is intact and runs in this sandbox.
    pub fn accepts(&self, code: Precompiled<'_>) -> bool {
        self.open_artifact(code.0, false).is_some()
    }

    /// Turns trusted code, or code from this process, into a component.
    #[allow(unsafe_code)]
    pub(crate) fn deserialize(&self, code: &[u8]) -> wasmtime::Result<Component> {
        // SAFETY: callers hold code that wasmtime compiled: just now, from the cache's private
        // folder after its integrity check, or from `Precompiled::trust`.
        unsafe { Component::deserialize(self.engine(), code) }
    }

    /// The parts of an artifact as a component that runs here; `None` if it is for another engine,
    /// or damaged.
    pub(crate) fn open_artifact<'a>(
        &self,
        bytes: &'a [u8],
        intact: bool,
    ) -> Option<(Artifact<'a>, Component)> {
        let artifact = Artifact::parse(bytes, intact)?;
        match self.deserialize(artifact.code) {
            Ok(component) => Some((artifact, component)),
            Err(error) => {
                tracing::debug!(target: "purlin::sandbox", %error, "compiled code is refused");
                None
            }
        }
    }
}
