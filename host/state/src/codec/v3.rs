//! Version 3 of records and intents. It remains readable and is no longer written.
//!
//! It differs from version 4 in one thing: the reason why a resource is unfinished is a sentence,
//! as in versions 1 and 2.

use purlin_model::Unfinished;

use super::value::Source;
use super::wire::Reader;
use super::{CodecError, v4};
use crate::{Intent, Record, RecordId};

/// Decodes a record.
pub(super) fn get(source: &mut Source<'_>, id: RecordId) -> Result<Record, CodecError> {
    v4::get_with(source, id, unfinished)
}

/// Decodes an intent.
pub(super) fn get_intent(source: &mut Source<'_>, id: RecordId) -> Result<Intent, CodecError> {
    v4::get_intent_with(source, id, unfinished)
}

/// Decodes the reason why a resource is unfinished from the sentences of versions 1 to 3. Any other
/// sentence is the message of its driver's failure.
pub(super) fn unfinished(reader: &mut Reader<'_>) -> Result<Unfinished, CodecError> {
    Ok(match reader.text()? {
        "others changed it" => Unfinished::Drifted,
        "it was interrupted while being changed" => Unfinished::InterruptedUpdate,
        "it was interrupted while being made" => Unfinished::InterruptedCreate,
        failure => Unfinished::Failed { message: failure.into() },
    })
}
