//! `cargo xtask kubernetes`: runs the platform of `examples/kubernetes` on the API server of
//! Kubernetes, its controllers, and PostgreSQL.

use purlin_systems::platform::Platform;

use crate::example::{self, Arguments};

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    example::run("kubernetes", Platform::start, arguments)
}
