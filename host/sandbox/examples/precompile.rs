//! Compiles drivers ahead of time for any machine of this kind: each FILE.wasm becomes FILE.cwasm
//! beside it, unless that exists, is no older, and runs here. `cargo xtask drivers` runs it.
#![allow(clippy::print_stderr, unsafe_code, reason = "a command-line tool that made the files itself")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use purlin_sandbox::{Precompiled, Sandbox, SandboxConfig, Target};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let sandbox = Sandbox::new(SandboxConfig { instances: 1, ..SandboxConfig::default() })?;
    for argument in std::env::args_os().skip(1) {
        let source = PathBuf::from(argument);
        let result = source.with_extension("cwasm");
        let name = source.file_stem().unwrap_or_default().to_string_lossy();
        if fits(&sandbox, &source, &result) {
            eprintln!("    {name:<14} is compiled already");
            continue;
        }
        let start = Instant::now();
        let wasm = fs::read(&source)?;
        let code = purlin_sandbox::precompile(&wasm, Target::Portable)
            .await
            .map_err(|error| format!("{}: {error}", source.display()))?;
        fs::write(&result, &code)?;
        eprintln!(
            "    {name:<14} {:>7.1} KiB in {:.1} s",
            code.len() as f64 / 1024.0,
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// Whether the result comes from this source and this version of the sandbox.
fn fits(sandbox: &Sandbox, source: &Path, result: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let newer = matches!((time(source), time(result)), (Ok(source), Ok(result)) if result >= source);
    let Some(code) = newer.then(|| fs::read(result).ok()).flatten() else { return false };
    // SAFETY: the file is beside the source in the build folder, where this program put it.
    sandbox.accepts(unsafe { Precompiled::trust(&code) })
}
