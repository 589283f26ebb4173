//! Embeds the built-in drivers. The published crate contains them in `drivers`, which in the
//! repository is a link to the folder that `cargo xtask drivers` fills. `PURLIN_DRIVERS_DIR` names
//! another folder; from there, each is embedded with its precompiled code if there is any, because
//! whoever sets the variable vouches that this very build made that code. `PURLIN_DRIVERS` selects
//! some of them, such as `echo,template`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

/// The file, the name, and the names that other tools use for the same driver.
const DRIVERS: &[(&str, &str, &[&str])] = &[
    ("echo", "purlin/echo", &["humanitec/echo"]),
    ("template", "purlin/template", &["humanitec/template"]),
    ("random", "purlin/random", &[]),
    ("dns-wildcard", "purlin/dns-wildcard", &["humanitec/dns-wildcard"]),
    ("file", "purlin/file", &[]),
    ("http", "purlin/http", &[]),
    ("postgres", "purlin/postgres", &[]),
    ("redis", "purlin/redis", &[]),
    ("dns", "purlin/dns", &[]),
    ("s3", "purlin/s3", &[]),
    ("iam", "purlin/iam", &[]),
    ("kubernetes", "purlin/kubernetes", &[]),
];

fn main() {
    println!("cargo::rerun-if-env-changed=PURLIN_DRIVERS_DIR");
    println!("cargo::rerun-if-env-changed=PURLIN_DRIVERS");
    let named = env::var_os("PURLIN_DRIVERS_DIR").map(PathBuf::from);
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("drivers");
    let folder = named.as_ref().unwrap_or(&own);
    let chosen = env::var("PURLIN_DRIVERS").unwrap_or_default();
    for name in chosen.split(',').filter(|name| !name.is_empty()) {
        if !DRIVERS.iter().any(|(file, ..)| *file == name) {
            println!("cargo::error=PURLIN_DRIVERS names `{name}`, which is not a built-in driver");
        }
    }
    let is_chosen = |file: &str| chosen.is_empty() || chosen.split(',').any(|name| name == file);
    let mut missing = Vec::new();
    let mut entries = String::new();
    for (file, name, aliases) in DRIVERS.iter().filter(|(file, ..)| is_chosen(file)) {
        let wasm = folder.join(format!("{file}.wasm"));
        let code = folder.join(format!("{file}.cwasm"));
        // If the path does not exist, cargo runs this script in every build until it does.
        println!("cargo::rerun-if-changed={}", wasm.display());
        println!("cargo::rerun-if-changed={}", code.display());
        if !wasm.is_file() {
            missing.push(wasm.display().to_string());
            continue;
        }
        // Ignore code older than the component: it was compiled from an earlier one.
        let code = match (changed(&wasm), changed(&code)) {
            (Some(wasm), Some(at)) if named.is_some() && at >= wasm => {
                format!("Some(include_bytes!({:?}))", absolute(&code))
            }
            _ => "None".to_owned(),
        };
        let _ = writeln!(
            entries,
            "    Builtin {{ name: {name:?}, aliases: &{aliases:?}, wasm: include_bytes!({:?}), precompiled: {code} }},",
            absolute(&wasm)
        );
    }
    let source = if missing.is_empty() {
        format!("static DRIVERS: &[Builtin] = &[\n{entries}];\n")
    } else {
        let message = format!(
            "the built-in drivers are not built ({}): run `cargo xtask drivers` in a clone of Purlin's repository, and \
             set the variable PURLIN_DRIVERS_DIR to the absolute path of its folder `target/drivers`, for example \
             in the section `[env]` of .cargo/config.toml; or leave out the feature `builtin-drivers` of purlin-host",
            missing.join(", ")
        );
        format!("compile_error!({message:?});\nstatic DRIVERS: &[Builtin] = &[];\n")
    };
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default().join("drivers.rs");
    if let Err(error) = fs::write(&out, source) {
        println!("cargo::error=cannot write {}: {error}", out.display());
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
