//! The driver `acme/note`: a note in a folder that the operator granted.

mod inputs;
mod notes;
#[cfg(test)]
mod tests;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact,
    ImpactRequest, Name, NameRequest, Observed, Read, ReadRequest, RequestedCapability, State,
    TypeSchema, Update, UpdateImpact, UpdateRequest, log, operation,
};

use inputs::{NoteInputs, NoteOutputs};

/// A note in a folder that the operator granted.
pub struct Note;

impl Driver for Note {
    const NAME: &str = "acme/note";
    const DESCRIPTION: &str = "A note in a folder that the operator granted.";
    /// A note with the same content is from an earlier attempt.
    const REPEAT_CREATE: bool = true;
    type Inputs = NoteInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<NoteInputs, NoteOutputs>("note")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "dirs".into(),
            pattern: None,
            reason: "the folder of the notes, as /notes with mode `rw`".into(),
        }]
    }

    fn create(request: CreateRequest<NoteInputs>) -> Result<State, Failure> {
        let inputs = &request.inputs.given;
        if let Some(there) = notes::read(&request.name)?
            && there != inputs.content()
        {
            return Err(Failure::conflict(format!(
                "there is a note `{}` already",
                request.name
            )));
        }
        // From here on, an interrupted call is resolved by this id.
        operation::checkpoint(&request.name);
        operation::progress("writing the note", None);
        notes::write(&request.name, &inputs.content())?;
        log::info(format!("wrote the note `{}`", request.name));
        state(&request.name, &inputs.content(), inputs)
    }

    fn delete(request: DeleteRequest<NoteInputs>) -> Result<(), Failure> {
        notes::remove(&request.state.id)
    }
}

impl Check for Note {
    fn check(mut request: CheckRequest<NoteInputs>) -> Result<Checked, Failure> {
        // All faults of the known values.
        request.inputs.known()?;
        inputs::set_title(&mut request.inputs, &request.subject.guresid);
        Ok(Checked::unchanged(request.inputs))
    }
}

impl Name for Note {
    fn name(request: NameRequest<NoteInputs>) -> Result<String, Failure> {
        let title = request.inputs.values.title.clone();
        Ok(title.unwrap_or(request.subject.guresid))
    }
}

impl Read for Note {
    fn read(request: ReadRequest<NoteInputs>) -> Result<Option<Observed>, Failure> {
        let title = request.id.as_ref().unwrap_or(&request.name);
        let Some(content) = notes::read(title)? else {
            return Ok(None);
        };
        let mut given = request.inputs.parse()?;
        if request.id.is_none() && content != given.content() {
            return Err(Failure::conflict(format!(
                "the note `{title}` is not this resource's"
            )));
        }
        given.values.title = Some(title.clone());
        given.values.text = notes::text(&content, given.secrets.signature.is_some()).to_owned();
        Observed::new(state(title, &content, &given)?, &given.values).map(Some)
    }
}

impl UpdateImpact for Note {
    fn update_impact(request: ImpactRequest<NoteInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact::default();
        // Another title replaces the note, as the schema says.
        if !request.changes("/values/title") {
            impact.keep(&request.state, ["title", "path"]);
        }
        Ok(impact)
    }
}

impl Update for Note {
    fn update(request: UpdateRequest<NoteInputs>) -> Result<State, Failure> {
        let inputs = &request.after.given;
        if inputs.values.title.as_ref() != Some(&request.state.id) {
            return Err(Failure::input(
                "/values/title",
                "a note keeps its title; another is another note",
            ));
        }
        notes::write(&request.state.id, &inputs.content())?;
        state(&request.state.id, &inputs.content(), inputs)
    }
}

purlin_sdk::export!(Note);

fn state(title: &str, content: &str, inputs: &NoteInputs) -> Result<State, Failure> {
    let signature = inputs.secrets.signature.as_ref();
    State::new(title).described_outputs(&NoteOutputs {
        title: title.to_owned(),
        path: notes::path(title).display().to_string(),
        bytes: content.len(),
        mark: signature.map(|signature| format!("{title}:{signature}")),
    })
}
