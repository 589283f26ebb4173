//! The built-in driver purlin/random: passwords, ids, names and numbers that stay until a change is
//! requested.

mod draw;
mod inputs;
mod words;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest, Json,
    State, TypeSchema, Update, UpdateImpact, UpdateRequest,
};
use sha2::{Digest, Sha256};

use draw::System;
use inputs::{RandomInputs, RandomOutputs, ValueKind, Values};

/// Passwords, ids, names and numbers that stay until their keepers or their shape change.
pub struct Random;

impl Driver for Random {
    const NAME: &str = "purlin/random";
    const DESCRIPTION: &str = "Passwords, ids, names and numbers, stable until their keepers change.";
    /// It creates nothing outside itself.
    const REPEAT_CREATE: bool = true;
    type Inputs = RandomInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<RandomInputs, RandomOutputs>("*")]
    }

    fn create(request: CreateRequest<RandomInputs>) -> Result<State, Failure> {
        let (id, values) = (request.subject.guresid, &request.inputs.values);
        values.validate()?;
        state(&id, values, draw::draw(values, &mut System)?)
    }

    fn delete(_: DeleteRequest<RandomInputs>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Check for Random {
    fn check(request: CheckRequest<RandomInputs>) -> Result<Checked, Failure> {
        if let Some(inputs) = request.inputs.known()? {
            inputs.values.validate()?;
        }
        Ok(Checked::unchanged(request.inputs))
    }
}

/// A digest of the purpose of a value: while it is the same, the value stays.
fn purpose(values: &Values) -> Result<String, Failure> {
    let mut document = serde_json::to_value(values)?;
    document.sort_all_objects();
    Ok(data_encoding::HEXLOWER.encode(&Sha256::digest(document.to_string())))
}

/// Whether a value was drawn for these inputs.
fn is_kept(cookie: Option<&str>, values: &Values) -> Result<bool, Failure> {
    if cookie == Some(&*purpose(values)?) {
        return Ok(true);
    }
    // Passwords with the former default characters are kept.
    let is_default = values.special_characters == inputs::SPECIAL;
    let former = Values { special_characters: inputs::FORMER_SPECIAL.to_owned(), ..values.clone() };
    Ok(is_default && cookie == Some(&*purpose(&former)?))
}

impl UpdateImpact for Random {
    fn update_impact(request: ImpactRequest<RandomInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact::default();
        let kept = request.state.read_cookie::<String>()?;
        if let Some(after) = request.after.known()?
            && is_kept(kept.as_deref(), &after.values)?
        {
            let State { outputs, secrets, .. } = &request.state;
            impact.keep(&request.state, outputs.keys().chain(secrets.keys()));
        }
        Ok(impact)
    }
}

impl Update for Random {
    fn update(request: UpdateRequest<RandomInputs>) -> Result<State, Failure> {
        let values = &request.after.values;
        values.validate()?;
        if is_kept(request.state.read_cookie::<String>()?.as_deref(), values)? {
            return Ok(request.state);
        }
        state(&request.state.id, values, draw::draw(values, &mut System)?)
    }
}

purlin_sdk::export!(Random);

fn state(id: &str, values: &Values, drawn: Json) -> Result<State, Failure> {
    let password = (values.kind == ValueKind::Password).then(|| drawn.clone());
    let outputs = RandomOutputs { value: drawn, password };
    let state = State::new(id).cookie(purpose(values)?)?;
    if values.is_secret() { state.secrets(outputs) } else { state.described_outputs(&outputs) }
}

#[cfg(test)]
mod tests;
