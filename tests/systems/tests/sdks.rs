//! The own tests of the SDKs in other languages, without a driver.
#![allow(clippy::expect_used, clippy::panic, missing_docs)]

use std::process::Command;

use purlin_systems::kit::{self, Language};
use purlin_systems::tools;

fn passes(language: &Language, folder: &str, tests: &[&[&str]]) {
    if !language.is_installed() {
        return;
    }
    for test in tests {
        let [program, arguments @ ..] = test else { panic!("no test") };
        let mut test = Command::new(program);
        test.args(arguments);
        kit::run(test, &tools::root().join(folder));
    }
}

#[test]
fn go_sdk_passes_its_tests() {
    passes(&kit::GO, "sdk/go", &[&["go", "vet", "./..."], &["go", "test", "./..."]]);
}

#[test]
fn js_sdk_passes_its_tests() {
    passes(&kit::JS, "sdk/js", &[&["node", "--test"]]);
}

#[test]
fn python_sdk_passes_its_tests() {
    passes(
        &kit::PYTHON,
        "sdk/python",
        &[&["python3", "-m", "unittest", "discover", "-s", "tests", "--quiet"]],
    );
}

#[test]
fn c_sdk_passes_its_tests() {
    passes(&kit::C, "sdk/c", &[&["make", "test"]]);
}
