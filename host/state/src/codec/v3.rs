//! Version 3 of records and intents. They are read for good, and written no more.
//!
//! They differ from version 4 in one thing: why a resource is unfinished was a sentence, as it was in
//! versions 1 and 2.

use purlin_model::Unfinished;

use super::value::Source;
use super::wire::Reader;
use super::{Fault, v4};
use crate::{Intent, Record, RecordId};

/// Reads a record.
pub(super) fn get(source: &mut Source<'_>, id: RecordId) -> Result<Record, Fault> {
    v4::get_with(source, id, unfinished)
}

/// Reads an intent.
pub(super) fn get_intent(source: &mut Source<'_>, id: RecordId) -> Result<Intent, Fault> {
    v4::get_intent_with(source, id, unfinished)
}

/// Reads why a resource is unfinished, from the sentences of versions 1 to 3. Any other one is why
/// its driver failed.
pub(super) fn unfinished(reader: &mut Reader<'_>) -> Result<Unfinished, Fault> {
    Ok(match reader.text()? {
        "others changed it" => Unfinished::Drifted,
        "it was interrupted while being changed" => Unfinished::InterruptedUpdate,
        "it was interrupted while being made" => Unfinished::InterruptedCreate,
        failure => Unfinished::Failed { message: failure.into() },
    })
}
