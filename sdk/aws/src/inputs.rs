//! What inputs of drivers for AWS have in common, as JSON: with holes, or of an older version.

use purlin_sdk::{CheckRequest, Checked, Failure, Faults, Json, Raw};
use serde::de::DeserializeOwned;

/// Leaves out fields of `values` and `secrets` that are `null` and not unknown: they say nothing,
/// and what is found never has them.
fn drop_nulls<I>(inputs: &mut Raw<I>) {
    let mut document = inputs.document_mut().take();
    for part in ["values", "secrets"] {
        if let Some(value) = document.get_mut(part) {
            strip(value, &format!("/{part}"), inputs);
        }
    }
    *inputs.document_mut() = document;
}

fn strip<I>(value: &mut Json, place: &str, inputs: &Raw<I>) {
    match value {
        Json::Object(fields) => {
            let below = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
            fields.retain(|name, value| !value.is_null() || inputs.is_unknown(&below(name)));
            fields.iter_mut().for_each(|(name, value)| strip(value, &below(name), inputs));
        }
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                strip(item, &format!("{place}/{index}"), inputs);
            }
        }
        _ => {}
    }
}

/// What `check` does for a driver whose inputs name exactly one of several kinds of things: writes them in the
/// one way in which reality can be compared with them, and judges all that is known. `one_of` is what to say
/// where there is not exactly one.
///
/// # Errors
/// [`Failure::InvalidInputs`] with everything that is wrong.
pub fn check<I: DeserializeOwned>(
    request: CheckRequest<I>,
    kinds: &[&str],
    one_of: &str,
    normalise: impl FnOnce(&mut Raw<I>, &str, &mut Faults),
    whole: impl FnOnce(&I, &mut Faults),
    parts: impl FnOnce(&Raw<I>, &mut Faults),
) -> Result<Checked, Failure> {
    let mut inputs = request.inputs;
    let mut faults = Faults::default();
    let is_given =
        |kind: &&&str| inputs.is_unknown(kind) || inputs.get(kind).is_some_and(|value| !value.is_null());
    if kinds.iter().filter(is_given).count() != 1 {
        faults.add("/values", one_of);
    }
    drop_nulls(&mut inputs);
    normalise(&mut inputs, &request.resource.guresid, &mut faults);
    match faults.take(inputs.known())? {
        Some(Some(known)) => whole(&known, &mut faults),
        // What is known can be judged before the rest is.
        Some(None) => parts(&inputs, &mut faults),
        None => {}
    }
    faults.into_result()?;
    Ok(Checked::unchanged(inputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_says_nothing_goes_and_what_is_unknown_stays() {
        let mut inputs =
            Raw::<()>::new(json!({"values": {"a": null, "b": {"c": null, "d/e": null}, "f": [{"g": null}]}}));
        inputs.unknown = vec!["/values/b/d~1e".to_owned()];
        drop_nulls(&mut inputs);
        assert_eq!(inputs.document(), &json!({"values": {"b": {"d/e": null}, "f": [{}]}}));
    }
}
