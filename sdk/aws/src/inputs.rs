//! What inputs of drivers for AWS have in common, as JSON: with holes, or of an older version.

use purlin_sdk::{Failure, Json, Object, Raw};
use serde::Deserialize;
use serde_json::json;

use crate::{Credentials, Endpoint};

/// Leaves out fields of `values` and `secrets` that are `null` and not unknown: they say nothing,
/// and what is found never has them.
pub fn drop_nulls<I>(inputs: &mut Raw<I>) {
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

/// Writes `endpoint` in the one way that there is, with the default region.
pub fn normalise_endpoint(values: &mut Object) {
    if let Some(endpoint) = values.entry("endpoint").or_insert_with(|| json!({})).as_object_mut() {
        endpoint.entry("region").or_insert_with(|| json!("us-east-1"));
        if let Some(Json::String(url)) = endpoint.get_mut("url") {
            url.truncate(url.trim_end_matches('/').len());
        }
    }
}

/// Where things are and with whose rights, from inputs of whichever version.
///
/// # Errors
/// [`Failure::Failed`] where even these cannot be read.
pub fn access<I>(inputs: &Raw<I>) -> Result<(Endpoint, Credentials), Failure> {
    let Access { values, secrets } = Access::deserialize(inputs.document())?;
    let Secrets { access_key_id, secret_access_key, session_token } = secrets;
    let credentials = Credentials { access_key_id, secret_access_key, session_token };
    Ok((values.endpoint.unwrap_or_default(), credentials))
}

#[derive(Deserialize)]
struct Access {
    #[serde(default)]
    values: Values,
    #[serde(default)]
    secrets: Secrets,
}

#[derive(Default, Deserialize)]
struct Values {
    endpoint: Option<Endpoint>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Secrets {
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_goes_and_what_is_unknown_stays() {
        let mut inputs =
            Raw::<()>::new(json!({"values": {"a": null, "b": {"c": null, "d/e": null}, "f": [{"g": null}]}}));
        inputs.unknown = vec!["/values/b/d~1e".to_owned()];
        drop_nulls(&mut inputs);
        assert_eq!(inputs.document(), &json!({"values": {"b": {"d/e": null}, "f": [{}]}}));
    }
}
