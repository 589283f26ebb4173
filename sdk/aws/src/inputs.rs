//! The common part of inputs of drivers for AWS, as JSON: with unknowns, or of an older version.

use purlin_sdk::{CheckRequest, Checked, Failure, Faults, Object, Raw, Subject};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::tags;

/// The `check` of a driver whose inputs name exactly one of several kinds of things: writes them in
/// the only spelling that reality can be compared with, and checks every known part. Things of the
/// kinds in `named` get a name of their own by default. `one_of` is the message if there is not
/// exactly one.
///
/// # Errors
/// [`Failure::InvalidInputs`] with all faults.
pub fn check<I: DeserializeOwned>(
    request: CheckRequest<I>,
    kinds: &[&str],
    named: &[&str],
    one_of: &str,
    normalise: impl FnOnce(&mut Raw<I>, &Subject, &mut Faults),
    whole: impl FnOnce(&I, &mut Faults),
    parts: impl FnOnce(&Raw<I>, &mut Faults),
) -> Result<Checked, Failure> {
    let mut request = CheckRequest { inputs: request.inputs.without_nulls(), ..request };
    let mut faults = Faults::default();
    if kinds.iter().filter(|kind| request.inputs.is_given(kind)).count() != 1 {
        faults.add("/values", one_of);
    }
    for kind in named {
        request.choose(&format!("{kind}/name"), |subject| json!(format!("purlin-{}", subject.guresid)));
    }
    let CheckRequest { mut inputs, subject, .. } = request;
    normalise(&mut inputs, &subject, &mut faults);
    match faults.take(inputs.known())? {
        Some(Some(known)) => whole(&known, &mut faults),
        // Known parts can be checked before the others.
        Some(None) => parts(&inputs, &mut faults),
        None => {}
    }
    faults.into_result()?;
    Ok(Checked::unchanged(inputs))
}

/// Adds the labels that the operator wants on every object, unless the inputs have them, and the tag that
/// marks an object. `place` is that of the object.
pub fn own(object: &mut Object, subject: &Subject, place: &str, faults: &mut Faults) {
    if let Some(tags) = object.entry("tags").or_insert_with(|| json!({})).as_object_mut() {
        for (name, value) in &subject.context.labels {
            tags.entry(name.as_str()).or_insert_with(|| value.as_str().into());
        }
        tags::mark(tags, &subject.guresid, &format!("{place}/tags"), faults);
    }
}
