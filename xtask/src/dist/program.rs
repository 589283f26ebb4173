//! The program for musl, which is static: all of its libraries are inside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::step::{self, cargo, output, run, step};
use crate::{drivers, targets};

/// Builds the program, and with the same libraries the compiler of the drivers inside.
pub(super) fn build(target: &str, no_build: bool) -> anyhow::Result<PathBuf> {
    let folder = step::released_for(target);
    let program = folder.join("purlin");
    if !no_build {
        targets::ensure(&[target])?;
        drivers::run_with(&drivers::Arguments::default(), || {
            run(compile(target).args(["--quiet", "--example", "precompile"]))?;
            Ok(folder.join("examples/precompile"))
        })?;
        // The example is there already; naming it keeps cargo's choice of features as it was.
        step("the static program", || {
            run(compile(target).args(["--bin", "purlin", "--example", "precompile"]))
        })?;
    }
    let bytes = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    ensure!(is_static(&bytes), "{} is not a static program", program.display());
    let reported = output(Command::new(&program).arg("--version"))?;
    let version = super::VERSION;
    ensure!(
        reported == format!("purlin {version}"),
        "the program is `{reported}`, and the workspace {version}"
    );
    Ok(program)
}

fn compile(target: &str) -> Command {
    let mut cargo = cargo();
    cargo.args(["build", "--workspace", "--locked", "--release", "--target", target]);
    // For ring and mimalloc, the only code in C.
    cargo.env(format!("CC_{}", target.replace('-', "_")), "musl-gcc");
    cargo.env("CARGO_ENCODED_RUSTFLAGS", step::without_folders());
    cargo
}

/// Whether a program in the format ELF names no interpreter, which loads libraries.
fn is_static(program: &[u8]) -> bool {
    const INTERPRETER: u64 = 3;
    let number = |place: u64, size: usize| -> Option<u64> {
        let place = usize::try_from(place).ok()?;
        let bytes = program.get(place..place.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    };
    // 64 bits, the last byte of numbers first.
    if program.get(..6) != Some(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(first), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2)) else {
        return false;
    };
    let kind = |header: u64| number(first.checked_add(header * size)?, 4);
    (0..count).all(|header| kind(header).is_some_and(|kind| kind != INTERPRETER))
}

/// Checks that a program names no folder of this machine.
pub(super) fn check(program: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    for folder in step::folders() {
        let name = folder.as_os_str().as_encoded_bytes();
        ensure!(!contains(&bytes, name), "{} names {}", program.display(), folder.display());
    }
    Ok(())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::{contains, is_static};

    /// A program with one header of a kind.
    fn program(kind: u8) -> Vec<u8> {
        let mut program = vec![0; 64 + 56];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (program[32], program[54], program[56], program[64]) = (64, 56, 1, kind);
        program
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert!(is_static(&program(1)));
        assert!(!is_static(&program(3)));
        assert!(!is_static(b"#!/bin/sh\n"));
        assert!(!is_static(&program(1)[..60]), "cut off");
        let mut far = program(1);
        far[32..40].fill(0xff);
        assert!(!is_static(&far), "headers beyond the end");
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        assert!(!is_static(&std::fs::read(std::env::current_exe().expect("this program")).expect("read")));
    }

    #[test]
    fn a_folder_name_is_found_anywhere() {
        assert!(contains(b"a/home/b", b"/home"));
        assert!(!contains(b"a/hom", b"/home"));
        assert!(!contains(b"a", b""));
    }
}
