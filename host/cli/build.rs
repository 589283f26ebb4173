//! Settings of the linker.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|actual| actual == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        // A position-independent program applies its relocations at each start. A debug build has 230,000 of
        // them, and the tests start it thousands of times.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
