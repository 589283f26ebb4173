//! `cargo xtask shop`: the platform of `examples/shop` on real servers, from a fresh checkout.
//!
//! Starts PostgreSQL, PowerDNS and a server that answers for S3 and IAM on loopback, deploys a copy of
//! the example on them, shows what is there, takes it away again, and stops them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use purlin_systems::shop::Shop;

use crate::step::{built, step};
use crate::{build, tools};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave everything running until Enter is pressed, to try things by hand.
    #[arg(long)]
    stay: bool,
    /// Build the program optimised, which takes longer.
    #[arg(long)]
    release: bool,
}

const UP: &[&str] = &["up", "apps", "platform", "--yes"];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    tools::run_all(&tools::Arguments::default())?;
    build::run(&build::Arguments { release: arguments.release })?;
    let purlin = built(arguments.release).join(format!("purlin{}", std::env::consts::EXE_SUFFIX));
    let shop = step("servers", || Shop::start().context("a server is not installed"))?;
    let scratch = tempfile::Builder::new().prefix("purlin-shop-").tempdir()?;
    shop.put_into(scratch.path());
    show(&shop);
    let command = |arguments: &[&str]| command(&purlin, scratch.path(), arguments);
    command(&["graph", "apps", "platform"])?;
    command(UP)?;
    show(&shop);
    command(&["outputs", "apps", "platform"])?;
    // Nothing has changed: everything is looked at, nothing is done.
    command(&[UP, &["--refresh"]].concat())?;
    if arguments.stay {
        eprintln!("==> everything is there; in another window:");
        eprintln!("    cd {}", scratch.path().display());
        eprintln!("    {} up apps platform --refresh", purlin.display());
        eprintln!("    PostgreSQL, PowerDNS, S3 and IAM: see purlin.yaml and secrets/ there");
        eprintln!("    Enter takes it all away again");
        std::io::stdin().read_line(&mut String::new())?;
    }
    command(&["destroy", "--yes", "--allow-data-loss"])?;
    let left = shop.inventory();
    if !left.is_empty() {
        bail!("left behind: {}", left.join(", "));
    }
    show(&shop);
    Ok(())
}

fn command(purlin: &Path, folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let shown = format!("purlin {}", arguments.join(" "));
    step(&shown, || {
        let status = Command::new(purlin).args(arguments).current_dir(folder).status();
        let status = status.with_context(|| format!("cannot run {}", purlin.display()))?;
        ensure!(status.success(), "`{shown}` failed ({status})");
        Ok(())
    })
}

/// What the servers say that they have, asked without Purlin.
fn show(shop: &Shop) {
    eprintln!("==> on the servers");
    let inventory = shop.inventory();
    if inventory.is_empty() {
        eprintln!("    nothing");
    }
    for line in inventory {
        eprintln!("    {line}");
    }
}
