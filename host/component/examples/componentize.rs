//! Converts a core module to a driver component: `componentize CORE.wasm DRIVER.wasm`.

#![allow(clippy::print_stderr, reason = "an example program")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(from), Some(to), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        eprintln!("usage: componentize CORE.wasm DRIVER.wasm");
        return ExitCode::from(2);
    };
    let made = std::fs::read(&from)
        .map_err(|error| error.to_string())
        .and_then(|core| purlin_component::componentize(&core).map_err(|error| error.to_string()));
    match made.and_then(|component| std::fs::write(&to, component).map_err(|error| error.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", from.display());
            ExitCode::FAILURE
        }
    }
}
