//! The driver `acme/project`: a project in a REST API that speaks JSON.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use purlin_sdk::{
    Call, CreateRequest, DeleteRequest, Driver, Failure, Name, NameRequest, Observed, Raw, Read, ReadRequest,
    RequestedCapability, State, TypeSchema, Update, UpdateRequest, operation,
};
use serde::de::Error as _;

use api::{Api, ExistingProject};
use schema::{Connection, ProjectInputs, ProjectOutputs, Values};

/// A project in the API.
pub struct Project;

impl Driver for Project {
    const NAME: &str = "acme/project";
    const DESCRIPTION: &str = "A project in a REST API.";
    /// The API accepts idempotency keys: a repeated `create` returns the result of the first one, with the
    /// token. Remove this line if your API may forget keys before an interrupted deployment continues.
    const REPEAT_CREATE: bool = true;
    type Inputs = ProjectInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<ProjectInputs, ProjectOutputs>("project")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "http".into(),
            pattern: None,
            reason: "the API that `connection.server` names".into(),
        }]
    }

    fn create(request: CreateRequest<ProjectInputs>) -> Result<State, Failure> {
        let ProjectInputs { values, connection } = &request.inputs.given;
        let api = Api::new(connection, &request.call);
        let created = api.create(values, &request.subject.guresid)?;
        // From here on, an interrupted call is resolved by this id.
        operation::checkpoint(&created.id);
        ready(created)
    }

    fn delete(request: DeleteRequest<ProjectInputs>) -> Result<(), Failure> {
        api(&request.inputs, &request.call)?.delete(&request.state.id)
    }
}

impl Name for Project {
    fn name(request: NameRequest<ProjectInputs>) -> Result<String, Failure> {
        Ok(request.inputs.values.name.clone())
    }
}

impl Read for Project {
    fn read(request: ReadRequest<ProjectInputs>) -> Result<Option<Observed>, Failure> {
        let api = api(&request.inputs, &request.call)?;
        let found = match &request.id {
            Some(id) => api.get(id)?,
            None => api.find(&request.name, &request.subject.guresid, &request.known)?,
        };
        let Some(found) = found else { return Ok(None) };
        let values = Values { name: found.name.clone(), region: found.region, size: found.size };
        Observed::new(ready(found)?, values).map(Some)
    }
}

impl Update for Project {
    fn update(request: UpdateRequest<ProjectInputs>) -> Result<State, Failure> {
        let ProjectInputs { values, connection } = &request.after.given;
        let api = Api::new(connection, &request.call);
        ready(api.update(&request.state.id, values)?)
    }
}

purlin_sdk::export!(Project);

/// A client of the API with the current connection. The other inputs may be from an older version.
fn api(inputs: &Raw<ProjectInputs>, call: &Call) -> Result<Api, Failure> {
    let missing = || serde_json::Error::custom("the connection is missing");
    let connection = inputs.get("/connection").ok_or_else(missing)?;
    let connection: Connection = serde_json::from_value(connection.clone())?;
    Ok(Api::new(&connection, call))
}

/// The state of a project that is ready. Of any other one, Purlin records the state, and calls `read` later.
/// Only `create` gets the token, and Purlin keeps it, as the schema says.
fn ready(found: ExistingProject) -> Result<State, Failure> {
    let ExistingProject { id, name, region, size, token, busy, .. } = found;
    let outputs = ProjectOutputs { id: id.clone(), name, region, size, token };
    let state = State::new(id).described_outputs(&outputs)?;
    match busy {
        Some(after) => Err(state.pending(after, "the API is still working on the project")),
        None => Ok(state),
    }
}
