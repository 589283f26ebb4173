//! A store of secrets: `read` of a resource of type `secret`. Its secrets contain the request, so
//! that tests know them; some names cause bad behaviour.

use purlin_sdk::bindings::purlin::driver::log;
use purlin_sdk::bindings::purlin::driver::types::{Failure, Observed, ReadRequest, State};
use serde_json::{Value, json};

pub(crate) fn look_up(request: &ReadRequest) -> Result<Option<Observed>, Failure> {
    let values: Value = serde_json::from_str(&request.inputs.values).unwrap();
    let secrets: Value = serde_json::from_str(&request.inputs.secrets).unwrap();
    let params: Value = serde_json::from_str(&request.inputs.params).unwrap();
    if secrets["token"] != "open-sesame" {
        return Err(Failure::Failed("the token opens nothing".into()));
    }
    let name = request.id.clone().unwrap_or_default();
    let version = params["version"].as_str().unwrap_or("latest");
    let secret = format!("kept-{}-{name}-{version}", values["realm"].as_str().unwrap_or("nowhere"));
    let (outputs, secrets) = match name.as_str() {
        "absent" => return Ok(None),
        "sealed" => return Err(Failure::Failed("the vault is sealed".into())),
        "crash" => panic!("it crashed over {secret}"),
        "bare" => (json!({}), json!({})),
        "number" => (json!({}), json!({"value": 5})),
        "open" => (json!({"value": secret}), json!({})),
        "talk" => {
            println!("standard output {secret}");
            eprintln!("standard error {secret}");
            log::write(log::Level::Error, &format!("log {secret}"));
            (json!({}), json!({"value": secret}))
        }
        _ => (json!({"resource": request.subject.urn}), json!({"value": secret})),
    };
    let (outputs, secrets) = (outputs.to_string(), secrets.to_string());
    let state = State { outputs, secrets, ..crate::deeds::found(&name) };
    Ok(Some(Observed { state, values: None }))
}
