//! The built-in driver purlin/template: outputs, secrets and manifests made by Go templates.

mod impact;
mod inputs;
mod render;
mod scope;
mod workload;

use std::sync::Arc;

use purlin_go_template::{Engine, Host};
use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest,
    Inputs, Json, Object, State, TypeSchema, Update, UpdateImpact, UpdateRequest,
};
use serde_json::json;

use inputs::TemplateInputs;
use render::{Call, Parsed};
use scope::{Made, Scope};

/// Outputs, secrets and manifests made by Go templates.
pub struct Template;

impl Driver for Template {
    const NAME: &str = "purlin/template";
    const DESCRIPTION: &str = "Outputs, secrets and manifests made by Go templates with Sprig's functions.";
    /// It creates nothing outside itself.
    const REPEAT_CREATE: bool = true;
    type Inputs = TemplateInputs;

    fn types() -> Vec<TypeSchema> {
        let TypeSchema { inputs, .. } = TypeSchema::of::<TemplateInputs, Object>("*");
        vec![TypeSchema::any(inputs, json!({"type": "object", "x-purlin-outputs": "computed"}))]
    }

    fn create(request: CreateRequest<TemplateInputs>) -> Result<State, Failure> {
        let id = request.subject.guresid.clone();
        make(&id, &id, &request.inputs, Made::default())
    }

    fn delete(_: DeleteRequest<TemplateInputs>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Check for Template {
    fn check(request: CheckRequest<TemplateInputs>) -> Result<Checked, Failure> {
        let inputs = &request.inputs;
        // An unknown value may be anything, including a template: only the rest is parsed.
        let mut document = inputs.document().clone();
        for pointer in &inputs.unknown {
            if let Some(place) = document.pointer_mut(pointer) {
                *place = Json::String(String::new());
            }
        }
        let known = serde_json::from_value::<TemplateInputs>(document);
        if let (Err(_), true) = (&known, inputs.unknown.is_empty()) {
            inputs.parse()?;
        }
        if let Ok(known) = known {
            Parsed::new(&engine(), &known)?;
            // The cookie of an earlier call is not known here.
            let knows_cookie = request.previous.is_none() || !known.has_cookie();
            if inputs.unknown.is_empty() && knows_cookie {
                let guresid = &request.subject.guresid;
                let sensitive = inputs.sensitive.clone();
                let whole = Inputs { given: known, sensitive };
                make(guresid, guresid, &whole, Made::default())?;
            }
        }
        Ok(Checked::unchanged(request.inputs))
    }
}

impl UpdateImpact for Template {
    fn update_impact(request: ImpactRequest<TemplateInputs>) -> Result<Impact, Failure> {
        impact::of(&request)
    }
}

impl Update for Template {
    fn update(request: UpdateRequest<TemplateInputs>) -> Result<State, Failure> {
        let cookie = cookie(&request.state, &request.after)?;
        make(&request.state.id, &request.subject.guresid, &request.after, cookie)
    }
}

purlin_sdk::export!(Template);

/// The cookie of the last call.
fn cookie(state: &State, inputs: &Inputs<TemplateInputs>) -> Result<Made, Failure> {
    match state.cookie.as_slice() {
        [] => Ok(Made::default()),
        bytes => scope::read_cookie(bytes, inputs),
    }
}

fn make(id: &str, guresid: &str, inputs: &Inputs<TemplateInputs>, cookie: Made) -> Result<State, Failure> {
    make_with(&engine(), id, guresid, inputs, cookie)
}

fn make_with(
    engine: &Engine,
    id: &str,
    guresid: &str,
    inputs: &Inputs<TemplateInputs>,
    cookie: Made,
) -> Result<State, Failure> {
    let parsed = Parsed::new(engine, &inputs.given)?;
    Call { engine, inputs }.run(&parsed, Scope::new(guresid, inputs, cookie), id)
}

fn engine() -> Engine {
    Engine::new(Arc::new(World))
}

struct World;

impl Host for World {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        getrandom::fill(buffer).map_err(|error| error.to_string())
    }

    fn now(&self) -> Result<i64, String> {
        let since = std::time::UNIX_EPOCH.elapsed().map_err(|error| error.to_string())?;
        i64::try_from(since.as_secs()).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests;
