//! Programs: what the host answers to a driver that runs one.

wit_bindgen::generate!({ path: "../../wit", world: "purlin:programs/imports" });

use purlin::programs::{folder, run, types};
use serde_json::{Value, json};

/// All answers, as text.
pub(crate) fn tried() -> Value {
    let command = types::Command {
        program: "tofu".into(),
        arguments: vec!["version".into()],
        environment: vec![],
        folder: String::new(),
        time_ms: None,
    };
    json!({
        "granted": run::granted().len(),
        "run": format!("{:?}", run::run(&command, b"input").map(|done| done.stdout)),
        "path": folder::path(),
        "write": format!("{:?}", folder::write("a", b"b").map_err(|error| error.name())),
        "read": format!("{:?}", folder::read("a").map_err(|error| error.name())),
    })
}
