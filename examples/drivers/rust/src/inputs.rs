//! What the driver is given.

use purlin_sdk::{Faults, Json, Raw};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

/// Bytes of the longest text.
const LONGEST: usize = 64 << 10;

/// A note's inputs, as `check` leaves them.
#[derive(Deserialize)]
pub struct NoteInputs {
    pub(crate) values: Values,
    #[serde(default)]
    pub(crate) secrets: Secrets,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct Values {
    pub(crate) title: String,
    pub(crate) text: String,
}

#[derive(Default, Deserialize)]
pub(crate) struct Secrets {
    pub(crate) signature: Option<String>,
}

impl NoteInputs {
    /// What is to be in the file. A digest stands for the signature, which is a secret.
    pub(crate) fn content(&self) -> String {
        let mut content = format!("{}\n", self.values.text);
        if let Some(signature) = &self.secrets.signature {
            content.push_str("-- ");
            for byte in Sha256::digest(signature) {
                content.push_str(&format!("{byte:02x}"));
            }
            content.push('\n');
        }
        content
    }
}

/// Everything that is wrong with the inputs. What is not known yet is not judged.
pub(crate) fn faults(inputs: &Raw<NoteInputs>) -> Faults {
    let mut faults = Faults::default();
    for (part, known) in [
        ("values", &["title", "text"][..]),
        ("secrets", &["signature"]),
    ] {
        for name in inputs
            .get(&format!("/{part}"))
            .and_then(Json::as_object)
            .into_iter()
            .flat_map(|o| o.keys())
        {
            if !known.contains(&name.as_str()) {
                let place = format!("/{part}/{}", name.replace('~', "~0").replace('/', "~1"));
                faults.add(
                    place,
                    format!("is not known; there are {}", known.join(", ")),
                );
            }
        }
    }
    let mut judge =
        |pointer: &str, required: bool, fault: &dyn Fn(&str) -> Option<&'static str>| {
            let fault = match inputs.get(pointer) {
                _ if inputs.is_unknown(pointer) => None,
                None | Some(Json::Null) if required => Some("is missing"),
                None | Some(Json::Null) => None,
                Some(Json::String(text)) => fault(text),
                Some(_) => Some("has to be a text"),
            };
            if let Some(fault) = fault {
                faults.add(pointer, fault);
            }
        };
    judge("/values/text", true, &|text| {
        (text.len() > LONGEST).then_some("is longer than 64 KiB")
    });
    judge("/values/title", false, &|title| {
        (!is_title(title)).then_some("has to be up to 63 lower-case letters, digits and dashes")
    });
    judge("/secrets/signature", false, &|_| None);
    faults
}

fn is_title(title: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    title.len() <= 63 && title.starts_with(plain) && title.chars().all(|c| plain(c) || c == '-')
}

/// Gives a note that has no title one that no other has.
pub(crate) fn set_defaults(inputs: &mut Raw<NoteInputs>, guresid: &str) {
    if inputs.is_unknown("/values/title")
        || inputs
            .get("/values/title")
            .is_some_and(|title| !title.is_null())
    {
        return;
    }
    let title: String = guresid.chars().take(12).collect();
    if let Some(values) = inputs
        .document_mut()
        .pointer_mut("/values")
        .and_then(Json::as_object_mut)
    {
        values.insert("title".into(), title.into());
    }
}

pub(crate) fn input_schema() -> Json {
    json!({
        "type": "object",
        "required": ["values"],
        "properties": {
            "values": {
                "type": "object",
                "required": ["text"],
                "additionalProperties": false,
                "properties": {
                    "text": {"type": "string", "maxLength": LONGEST, "description": "What the note says."},
                    "title": {
                        "type": "string",
                        "pattern": "^[a-z0-9][a-z0-9-]{0,62}$",
                        "description": "Its name; drawn from the resource's own when it is left out.",
                    },
                },
            },
            "secrets": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "signature": {"type": "string", "description": "Its digest is put below the text."},
                },
            },
        },
    })
}

pub(crate) fn output_schema() -> Json {
    json!({
        "type": "object",
        "required": ["title", "path", "bytes"],
        "properties": {
            "title": {"type": "string"},
            "path": {"type": "string", "description": "Where it is, in the driver's folder."},
            "bytes": {"type": "integer", "description": "How long the file is."},
            "mark": {"type": "string", "writeOnly": true, "description": "Title and signature."},
        },
    })
}
