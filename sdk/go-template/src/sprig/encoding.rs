//! JSON, YAML and the base encodings.

use data_encoding::{BASE32, BASE64};
use gotmpl::Value;
use serde_json::Value as Json;

use super::{Answer, Call, Table};
use crate::value::{from_json, string, to_json};

pub(super) const TABLE: Table = &[
    ("toJson", to_html_safe),
    ("mustToJson", to_html_safe),
    ("toRawJson", |c| Ok(string(to_json(c.at(0)?)?.to_string()))),
    ("mustToRawJson", |c| Ok(string(to_json(c.at(0)?)?.to_string()))),
    ("toPrettyJson", |c| Ok(string(format!("{:#}", to_json(c.at(0)?)?)))),
    ("mustToPrettyJson", |c| Ok(string(format!("{:#}", to_json(c.at(0)?)?)))),
    ("fromJson", from),
    ("mustFromJson", from),
    #[cfg(feature = "full")]
    ("toYaml", |c| {
        let yaml = serde_saphyr::to_string(&to_json(c.at(0)?)?).map_err(|error| error.to_string())?;
        Ok(string(yaml.trim_end_matches('\n')))
    }),
    #[cfg(feature = "full")]
    ("fromYaml", |c| Ok(from_json(&crate::yaml::parse(&c.text(0)?).map_err(|fault| fault.to_string())?))),
    ("b64enc", |c| Ok(string(BASE64.encode(c.text(0)?.as_bytes())))),
    ("b64dec", |c| decoded(BASE64.decode(c.text(0)?.trim().as_bytes()))),
    ("b32enc", |c| Ok(string(BASE32.encode(c.text(0)?.as_bytes())))),
    ("b32dec", |c| decoded(BASE32.decode(c.text(0)?.trim().as_bytes()))),
];

/// Go escapes characters that are special in HTML.
fn to_html_safe(call: &Call<'_>) -> Answer {
    let json = to_json(call.at(0)?)?.to_string();
    Ok(string(json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")))
}

fn from(call: &Call<'_>) -> Answer {
    let json: Json = serde_json::from_str(&call.text(0)?).map_err(|error| error.to_string())?;
    Ok(from_json(&json))
}

fn decoded(bytes: Result<Vec<u8>, data_encoding::DecodeError>) -> Answer {
    let bytes = bytes.map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "the result is not text".to_owned())?;
    Ok(Value::String(text.into()))
}
