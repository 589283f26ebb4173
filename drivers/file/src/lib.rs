//! The built-in driver purlin/file: a file in a folder that the operator granted.

mod inputs;
mod store;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Faults, Impact,
    ImpactRequest, Read, ReadRequest, State, TypeSchema, Update, UpdateImpact, UpdateRequest, Wish,
    operation,
};
use serde_json::json;

use inputs::FileInputs;

/// A file in a folder that the operator granted.
pub struct File;

impl Driver for File {
    const NAME: &str = "purlin/file";
    const DESCRIPTION: &str = "A file in a folder that the operator granted.";
    type Inputs = FileInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::any(inputs::input_schema(), inputs::output_schema())]
    }

    fn wishes() -> Vec<Wish> {
        vec![Wish {
            capability: "dirs".to_owned(),
            pattern: String::new(),
            reason: "the folder that files are written to, with mode `rw`".to_owned(),
        }]
    }

    fn create(request: CreateRequest<FileInputs>) -> Result<State, Failure> {
        let inputs = &request.inputs.given;
        inputs.validate()?;
        let path = inputs.path();
        // What another attempt at this call has written already is ours; anything else is not.
        if let Some(there) = store::read(&path)?
            && there.as_slice() != inputs.content()
        {
            return Err(Failure::Conflict(format!("`{path}` exists already, with other content")));
        }
        operation::checkpoint(&path);
        write(inputs)
    }

    fn delete(request: DeleteRequest<FileInputs>) -> Result<(), Failure> {
        store::remove(&request.state.id)
    }
}

impl Check for File {
    fn check(request: CheckRequest<FileInputs>) -> Result<Checked, Failure> {
        let mut faults = Faults::default();
        match request.inputs.known()? {
            Some(inputs) => inputs.validate()?,
            // The path can be judged before the content is known.
            None if !request.inputs.is_unknown("/values/path") => {
                if let Some(path) = request.inputs.get("/values/path").and_then(|path| path.as_str()) {
                    inputs::check_path(path, &mut faults);
                }
            }
            None => {}
        }
        faults.into_result()?;
        Ok(Checked::unchanged(request.inputs))
    }
}

impl Read for File {
    fn read(request: ReadRequest<FileInputs>) -> Result<Option<State>, Failure> {
        let path = match (request.id, request.inputs.get("/values/path")) {
            (Some(id), _) => id,
            (None, Some(path)) => inputs::normal(path.as_str().unwrap_or_default()),
            (None, None) => return Ok(None),
        };
        Ok(match store::read(&path)? {
            Some(content) => Some(state(&path, &content)?),
            None => None,
        })
    }
}

impl UpdateImpact for File {
    fn update_impact(request: ImpactRequest<FileInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact::default();
        let path = request.after.get("/values/path").and_then(|path| path.as_str()).map(inputs::normal);
        if request.after.is_unknown("/values/path") || path.as_ref() != Some(&request.state.id) {
            impact.replaces.push("/values/path".to_owned());
        } else {
            impact.stable_outputs.push("path".to_owned());
        }
        Ok(impact)
    }
}

impl Update for File {
    fn update(request: UpdateRequest<FileInputs>) -> Result<State, Failure> {
        let inputs = &request.after.given;
        inputs.validate()?;
        if inputs.path() != request.state.id {
            return Err(Failure::input("/values/path", "a file cannot move, only be replaced"));
        }
        write(inputs)
    }
}

purlin_sdk::export!(File);

fn write(inputs: &FileInputs) -> Result<State, Failure> {
    let path = inputs.path();
    store::write(&path, inputs.content(), inputs.mode())?;
    state(&path, inputs.content())
}

fn state(path: &str, content: &[u8]) -> Result<State, Failure> {
    State::new(path).outputs(json!({
        "path": path, "size": content.len(), "sha256": store::digest(content),
    }))
}

#[cfg(test)]
mod tests;
