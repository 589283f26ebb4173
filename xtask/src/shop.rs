//! `cargo xtask shop`: runs the platform of `examples/shop` on PostgreSQL, PowerDNS and a server
//! that emulates S3 and IAM.

use purlin_systems::shop::Shop;

use crate::example::{self, Arguments};

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    example::run("shop", Shop::start, arguments)
}
