//! The built-in driver purlin/echo: returns its inputs as outputs.

use purlin_sdk::{
    Anything, CreateRequest, DeleteRequest, Driver, Failure, Inputs, Json, State, TypeSchema, Update,
    UpdateRequest,
};
use serde_json::json;

/// Values become outputs, secrets become secret outputs.
pub struct Echo;

impl Driver for Echo {
    const NAME: &str = "purlin/echo";
    const DESCRIPTION: &str = "Values become outputs, secrets become secret outputs.";
    /// It creates nothing outside itself.
    const REPEAT_CREATE: bool = true;
    type Inputs = Anything;

    fn types() -> Vec<TypeSchema> {
        // It reads no params.
        let any = json!({"type": "object"});
        let inputs = json!({"type": "object", "properties": {"values": any, "secrets": any}});
        vec![TypeSchema::any(inputs, json!({"x-purlin-outputs": "inputs"}))]
    }

    fn create(request: CreateRequest<Anything>) -> Result<State, Failure> {
        Ok(echo(request.subject.guresid, request.inputs))
    }

    fn delete(_: DeleteRequest<Anything>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Update for Echo {
    fn update(request: UpdateRequest<Anything>) -> Result<State, Failure> {
        Ok(echo(request.state.id, request.after))
    }
}

purlin_sdk::export!(Echo);

fn echo(id: String, inputs: Inputs<Anything>) -> State {
    let Anything { values, secrets, .. } = inputs.given;
    let mut state = State { outputs: values, secrets, ..State::new(id) };
    let names: Vec<String> = state.outputs.keys().cloned().collect();
    for name in names {
        let place = format!("/values/{}", name.replace('~', "~0").replace('/', "~1"));
        let is_secret = inputs.sensitive.iter().any(|pointer| pointer == "/values" || *pointer == place);
        // A name is an output or a secret output, never both.
        if (is_secret || state.secrets.contains_key(&name))
            && let Some(value) = state.outputs.shift_remove(&name)
        {
            match state.secrets.get_mut(&name) {
                Some(secret) => fill(secret, value),
                None => drop(state.secrets.insert(name, value)),
            }
            continue;
        }
        let below = inputs.sensitive.iter().filter_map(|pointer| {
            let rest = pointer.strip_prefix(&place).filter(|rest| rest.starts_with('/'))?;
            Some(format!("/outputs/{}{rest}", place.strip_prefix("/values/")?))
        });
        state.sensitive.extend(below);
    }
    state
}

/// Adds missing members to a map, at any depth.
fn fill(map: &mut Json, more: Json) {
    if let (Json::Object(map), Json::Object(more)) = (map, more) {
        for (name, value) in more {
            match map.get_mut(&name) {
                Some(there) => fill(there, value),
                None => drop(map.insert(name, value)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_sdk::testing;

    #[test]
    fn inputs_become_outputs() {
        let inputs = testing::inputs(&json!({
            "values": {"host": "db", "ports": [1, 2]}, "secrets": {"password": "p"}, "params": {"x": 1},
        }));
        let state = testing::create::<Echo>(inputs).expect("created");
        assert_eq!(state.id, testing::subject().guresid);
        assert_eq!(Json::Object(state.outputs), json!({"host": "db", "ports": [1, 2]}));
        assert_eq!(Json::Object(state.secrets), json!({"password": "p"}));
    }

    #[test]
    fn values_made_from_secrets_are_secret_outputs() {
        let mut inputs = testing::inputs(&json!({
            "values": {"url": "u", "urls": "open", "db": {"host": "h", "password": "low"}, "a/b": {"c": "s", "d": "open"}},
            "secrets": {"db": {"password": "p"}},
        }));
        inputs.sensitive = vec!["/values/url".to_owned(), "/values/a~1b/c".to_owned()];
        let state = testing::create::<Echo>(inputs).expect("created");
        assert_eq!(Json::Object(state.outputs), json!({"urls": "open", "a/b": {"c": "s", "d": "open"}}));
        assert_eq!(state.sensitive, ["/outputs/a~1b/c"]);
        assert_eq!(Json::Object(state.secrets), json!({"db": {"password": "p", "host": "h"}, "url": "u"}));
    }

    #[test]
    fn it_updates_in_place_and_calls_can_be_repeated() {
        let types = testing::describe::<Echo>().types;
        let implements: Vec<_> = types.into_iter().flat_map(|schema| schema.implements).collect();
        assert_eq!(implements, ["update", "repeat-create"]);
        let before = testing::inputs(&json!({"values": {"a": 1}}));
        let state = testing::create::<Echo>(before.clone()).expect("created");
        let after = testing::inputs(&json!({"values": {"b": 2}}));
        let updated = testing::update::<Echo>(before, after, &state).expect("updated");
        assert_eq!((updated.id, Json::Object(updated.outputs)), (state.id, json!({"b": 2})));
    }
}
