//! The built-in driver purlin/file: a file in a folder that the operator granted.

mod inputs;
mod store;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Faults, Impact,
    ImpactRequest, Json, Name, NameRequest, Object, Observed, Raw, Read, ReadRequest, RequestedCapability,
    State, TypeSchema, Update, UpdateImpact, UpdateRequest, operation,
};

use inputs::{FileInputs, FileOutputs};
use store::ExistingFile;

/// Bytes of the largest content that is shown when somebody changed it. As JSON it can be six times
/// as large, and still fits in an answer.
const LARGEST_SHOWN: usize = 512 << 10;

/// A file in a folder that the operator granted.
pub struct File;

impl Driver for File {
    const NAME: &str = "purlin/file";
    const DESCRIPTION: &str = "A file in a folder that the operator granted.";
    /// It recognises the same content in the same place.
    const REPEAT_CREATE: bool = true;
    type Inputs = FileInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<FileInputs, FileOutputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "dirs".to_owned(),
            pattern: None,
            reason: "the folder that files are written to, with mode `rw`".to_owned(),
        }]
    }

    fn create(request: CreateRequest<FileInputs>) -> Result<State, Failure> {
        let inputs = &request.inputs.given;
        inputs.validate()?;
        let path = inputs.path();
        if let Some(there) = store::look(&path, 0)? {
            ours(&path, &there, inputs)?;
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
            // The path can be checked before the content is known.
            None if !request.inputs.is_unknown("/values/path") => {
                if let Some(path) = request.inputs.get("/values/path").and_then(|path| path.as_str()) {
                    inputs::check_path(path, &mut faults);
                }
            }
            None => {}
        }
        faults.into_result()?;
        let mut inputs = request.inputs;
        inputs::normalise(&mut inputs);
        Ok(Checked::unchanged(inputs))
    }
}

/// The path of a file is its only name.
impl Name for File {
    fn name(request: NameRequest<FileInputs>) -> Result<String, Failure> {
        let mut faults = Faults::default();
        let path = request.inputs.path();
        inputs::check_path(&path, &mut faults);
        faults.into_result()?;
        Ok(path)
    }
}

// ANCHOR: read
impl Read for File {
    fn read(request: ReadRequest<FileInputs>) -> Result<Option<Observed>, Failure> {
        let path = inputs::normal(request.id.as_ref().unwrap_or(&request.name));
        let mut faults = Faults::default();
        inputs::check_path(&path, &mut faults);
        faults.into_result()?;
        let Some(found) = store::look(&path, LARGEST_SHOWN)? else { return Ok(None) };
        if request.id.is_none() {
            ours(&path, &found, &request.inputs.parse()?)?;
        }
        let mut values = Object::new();
        values.insert("path".to_owned(), path.as_str().into());
        if let Some(content) = shown(&found, &request.inputs) {
            values.insert("content".to_owned(), content.into());
        }
        Observed::new(state(&path, found.size, &found.sha256)?, values).map(Some)
    }
}
// ANCHOR_END: read

/// Content that may be shown: neither secret nor too large. Inputs of an older version may not fit;
/// the file can be read all the same.
fn shown(found: &ExistingFile, inputs: &Raw<FileInputs>) -> Option<String> {
    if inputs.get("/secrets/content").is_some_and(|content| !content.is_null()) {
        return None;
    }
    match inputs.get("/values/content").and_then(Json::as_str) {
        Some(content) if found.holds(content.as_bytes()) => Some(content.to_owned()),
        _ => found.content.as_deref().map(|content| String::from_utf8_lossy(content).into_owned()),
    }
}

/// Rejects a file that an attempt at these inputs would not have left, because somebody else owns
/// it.
fn ours(path: &str, there: &ExistingFile, inputs: &FileInputs) -> Result<(), Failure> {
    if there.holds(inputs.content()) {
        return Ok(());
    }
    Err(Failure::conflict(format!("`{path}` already exists, with other content")))
}

impl UpdateImpact for File {
    fn update_impact(request: ImpactRequest<FileInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact::default();
        // Another path replaces the file, as the schema says.
        if !request.changes("/values/path") {
            impact.keep(&request.state, ["path"]);
            // The new one would be the old one.
            impact.delete_before_replace = true;
        }
        Ok(impact)
    }
}

impl Update for File {
    fn update(request: UpdateRequest<FileInputs>) -> Result<State, Failure> {
        let inputs = &request.after.given;
        inputs.validate()?;
        if inputs.path() != request.state.id {
            return Err(Failure::input("/values/path", "a file cannot be moved, only replaced"));
        }
        write(inputs)
    }
}

purlin_sdk::export!(File);

fn write(inputs: &FileInputs) -> Result<State, Failure> {
    let path = inputs.path();
    store::write(&path, inputs.content(), inputs.mode())?;
    state(&path, inputs.content().len() as u64, &store::digest(inputs.content()))
}

fn state(path: &str, size: u64, sha256: &str) -> Result<State, Failure> {
    State::new(path).described_outputs(&FileOutputs {
        path: path.to_owned(),
        size,
        sha256: sha256.to_owned(),
    })
}

#[cfg(test)]
mod tests;
