//! The driver `acme/project`: a project in a REST API that speaks JSON.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use purlin_sdk::{
    Call, CreateRequest, DeleteRequest, Driver, Failure, Name, NameRequest, Observed, Raw, Read,
    ReadRequest, State, TypeSchema, Update, UpdateRequest, Wish, operation,
};
use serde::de::Error as _;
use serde_json::json;

use api::{Api, Found};
use schema::{Connection, Inputs, Values};

/// A project in the API.
pub struct Project;

impl Driver for Project {
    const NAME: &str = "acme/project";
    const DESCRIPTION: &str = "A project in a REST API.";
    /// The API takes idempotency keys: a repeated `create` returns what the first one created, with the
    /// token. Remove this line if your API forgets keys within the time that a deployment may lie still.
    const REPEAT_CREATE: bool = true;
    type Inputs = Inputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema {
            type_name: "project".into(),
            inputs: schema::inputs(),
            outputs: schema::outputs(),
        }]
    }

    fn wishes() -> Vec<Wish> {
        vec![Wish {
            capability: "http".into(),
            pattern: String::new(),
            reason: "the API that `connection.server` names".into(),
        }]
    }

    fn create(request: CreateRequest<Inputs>) -> Result<State, Failure> {
        let Inputs { values, connection } = &request.inputs.given;
        let api = Api::new(connection, &request.call);
        let created = api.create(values, &request.resource.guresid)?;
        // From here on, an interrupted call is resolved by this id.
        operation::checkpoint(&created.project.id);
        let state = state(&created.project)?;
        match created.token {
            Some(token) => state.secrets(json!({"token": token})),
            None => Ok(state),
        }
    }

    fn delete(request: DeleteRequest<Inputs>) -> Result<(), Failure> {
        api(&request.inputs, &request.call)?.delete(&request.state.id)
    }
}

impl Name for Project {
    fn name(request: NameRequest<Inputs>) -> Result<String, Failure> {
        Ok(request.inputs.values.name.clone())
    }
}

impl Read for Project {
    fn read(request: ReadRequest<Inputs>) -> Result<Option<Observed>, Failure> {
        let api = api(&request.inputs, &request.call)?;
        let found = match &request.id {
            Some(id) => api.get(id)?,
            None => api.find(&request.name, &request.resource.guresid, &request.known)?,
        };
        let Some(found) = found else { return Ok(None) };
        let values = Values {
            name: found.name.clone(),
            region: found.region.clone(),
            size: found.size,
        };
        Observed::new(state(&found)?, values).map(Some)
    }
}

impl Update for Project {
    fn update(request: UpdateRequest<Inputs>) -> Result<State, Failure> {
        let Inputs { values, connection } = &request.after.given;
        let api = Api::new(connection, &request.call);
        state(&api.update(&request.state.id, values)?)
    }
}

purlin_sdk::export!(Project);

/// The API as the current connection reaches it. The other inputs may stem from an older version.
fn api(inputs: &Raw<Inputs>, call: &Call) -> Result<Api, Failure> {
    let missing = || serde_json::Error::custom("the connection is missing");
    let connection = inputs.get("/connection").ok_or_else(missing)?;
    let connection: Connection = serde_json::from_value(connection.clone())?;
    Ok(Api::new(&connection, call))
}

/// What others may read of a project. The token is not in it: only `create` sees it, and the schema has
/// Purlin keep it.
fn state(found: &Found) -> Result<State, Failure> {
    State::new(&found.id).outputs(json!({
        "id": found.id, "name": found.name, "region": found.region, "size": found.size,
    }))
}
