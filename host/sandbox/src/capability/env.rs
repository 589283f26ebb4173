//! Environment variables. The values are passed in; the sandbox reads no environment.

use wasmtime_wasi::WasiCtxBuilder;

use crate::sandbox::DriverSetup;

/// The variables of one driver.
pub(crate) struct Env(Vec<(String, String)>);

impl Env {
    /// A granted variable that is not set is not set for the driver either.
    pub(super) fn validate(setup: &DriverSetup) -> Self {
        let value = |name: &String| setup.env.get(name).map(|value| (name.clone(), value.clone()));
        Self(setup.grants.env.iter().filter_map(value).collect())
    }

    pub(super) fn build(&self, builder: &mut WasiCtxBuilder) {
        builder.envs(&self.0);
    }
}
