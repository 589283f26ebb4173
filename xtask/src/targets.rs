//! Installs Rust's targets other than this machine's own if they are missing.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::step::{output, run};

/// The target of drivers that import only the contract.
pub(crate) const PLAIN: &str = "wasm32-unknown-unknown";
/// The target of drivers that use WASI.
pub(crate) const WASI: &str = "wasm32-wasip2";

/// Makes sure that Rust can build for the targets.
pub(crate) fn ensure(targets: &[&str]) -> anyhow::Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let there = |target: &str| Path::new(&sysroot).join("lib/rustlib").join(target).join("lib").is_dir();
    for &target in targets {
        if there(target) {
            continue;
        }
        if let Err(error) = run(Command::new("rustup").args(["target", "add", target]))
            && !there(target)
        {
            bail!(
                "Rust cannot build for {target}: {error:#}\n\
                 hint: with rustup, `rustup target add {target}` has to work: it needs the network, or a mirror named by RUSTUP_DIST_SERVER\n\
                 hint: with Rust from a distribution, install its standard library for that target (such as libstd-rust-dev-wasm32 or rust-std-static-{target})"
            );
        }
    }
    Ok(())
}
