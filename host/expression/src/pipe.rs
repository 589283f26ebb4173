//! Applies pipes to the values of placeholders (SPEC §4 [+]). The set is closed: `Pipe` of the model
//! lists it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use purlin_model::{Pipe, Unknown, Value};

/// Everything except RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Applies a pipe to a value. The result for a secret is secret; an unknown value stays unknown.
///
/// # Errors
/// The fault, if the pipe takes text and the value is a list, a map or null.
pub(crate) fn apply(pipe: Pipe, value: &Value) -> Result<Value, String> {
    let secret = value.has_secret();
    let Ok(json) = value.reveal() else { return Ok(Value::Unknown(Unknown { secret })) };
    let text = || match &json {
        serde_json::Value::String(text) => Ok(text.clone()),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Ok(json.to_string()),
        _ => {
            let name = Pipe::ALL.iter().find(|(_, known)| *known == pipe).map_or("", |(name, _)| name);
            Err(format!("`{name}` takes text, and this is {}", value.exposed().kind()))
        }
    };
    let out = match pipe {
        Pipe::UrlEncode => utf8_percent_encode(&text()?, RESERVED).to_string(),
        Pipe::Base64 => STANDARD.encode(text()?),
        Pipe::Json => json.to_string(),
        Pipe::Lower => text()?.to_lowercase(),
        Pipe::Upper => text()?.to_uppercase(),
    };
    let out = Value::string(out);
    Ok(if secret { out.into_secret() } else { out })
}
