//! Applies pipes to the values of placeholders (SPEC §4 [+]). The set is closed: `Pipe` of the model
//! lists it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use purlin_model::{Pipe, Unknown, Value};

use crate::bounded::{Bounded, MAX_TEXT, TooLarge};

/// Everything except RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why a pipe has no result.
pub(crate) enum PipeFault {
    /// It takes text, and the value is a list, a map or null.
    Kind(String),
    /// The text or the result is too long.
    TooLarge,
}

impl From<TooLarge> for PipeFault {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

/// Applies a pipe to a value. The result for a secret is secret; an unknown value stays unknown.
///
/// # Errors
/// If the pipe takes text and the value is none, or if the text or the result is too long.
pub(crate) fn apply(pipe: Pipe, value: &Value) -> Result<Value, PipeFault> {
    let secret = value.has_secret();
    let Ok(json) = value.reveal() else { return Ok(Value::Unknown(Unknown { secret })) };
    let text = || match &json {
        serde_json::Value::String(text) if text.len() > MAX_TEXT => Err(PipeFault::TooLarge),
        serde_json::Value::String(text) => Ok(text.clone()),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Ok(json.to_string()),
        _ => {
            let name = Pipe::ALL.iter().find(|(_, known)| *known == pipe).map_or("", |(name, _)| name);
            let message = format!("`{name}` takes text, and this is {}", value.exposed().kind());
            Err(PipeFault::Kind(message))
        }
    };
    let mut out = Bounded::default();
    match pipe {
        Pipe::UrlEncode => {
            utf8_percent_encode(&text()?, RESERVED).try_for_each(|piece| out.push(piece))?;
        }
        Pipe::Base64 => out.push(&STANDARD.encode(text()?))?,
        Pipe::Json => out.push_json(&json)?,
        Pipe::Lower => out.push(&text()?.to_lowercase())?,
        Pipe::Upper => out.push(&text()?.to_uppercase())?,
    }
    let out = Value::string(out.into_string());
    Ok(if secret { out.into_secret() } else { out })
}
