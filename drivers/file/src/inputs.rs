//! What the driver is given.

use purlin_sdk::{Failure, Faults, Json, Raw};
use serde::Deserialize;
use serde_json::json;

/// Path, content and mode.
#[derive(Deserialize)]
pub struct FileInputs {
    values: Values,
    #[serde(default)]
    secrets: Secrets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    path: String,
    content: Option<String>,
    mode: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Secrets {
    content: Option<String>,
}

impl FileInputs {
    /// The path, written in the one way that there is.
    pub(crate) fn path(&self) -> String {
        normal(&self.values.path)
    }

    /// What is to be in the file.
    pub(crate) fn content(&self) -> &[u8] {
        let content = self.secrets.content.as_ref().or(self.values.content.as_ref());
        content.map(String::as_bytes).unwrap_or_default()
    }

    /// Permission bits, if any are wished.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.values.mode.as_ref().and_then(|mode| parse_mode(mode))
    }

    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let mut faults = Faults::default();
        check_path(&self.values.path, &mut faults);
        match (&self.values.content, &self.secrets.content) {
            (Some(_), Some(_)) => {
                faults.add("/secrets/content", "stands beside `values.content`: give one of them")
            }
            (None, None) => faults.add("/values/content", "is missing, and so is `secrets.content`"),
            _ => {}
        }
        if self.values.mode.as_ref().is_some_and(|mode| parse_mode(mode).is_none()) {
            faults.add("/values/mode", "has to be octal digits in quotes, such as \"0640\"");
        }
        faults.into_result()
    }
}

fn parse_mode(mode: &str) -> Option<u32> {
    u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o777)
}

/// The path without what says nothing.
pub(crate) fn normal(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Values written in the one way that there is: what reality says can then be compared with them.
pub(crate) fn normalise<I>(inputs: &mut Raw<I>) {
    let unknown = |name: &str| inputs.is_unknown(&format!("/values/{name}"));
    let absent: Vec<&str> = ["content", "mode"].into_iter().filter(|name| !unknown(name)).collect();
    let Some(values) = inputs.document_mut().pointer_mut("/values").and_then(Json::as_object_mut) else {
        return;
    };
    values.retain(|name, value| !(value.is_null() && absent.contains(&name.as_str())));
    if let Some(Json::String(path)) = values.get_mut("path") {
        *path = normal(path);
    }
}

/// Refuses what could lead out of the folder, or names none or too much.
pub(crate) fn check_path(path: &str, faults: &mut Faults) {
    let fault = if normal(path).trim_matches('/').is_empty() {
        "names no file"
    } else if path.ends_with('/') {
        "names a folder, not a file"
    } else if path.split('/').any(|part| part == "..") {
        "may not have `..` in it"
    } else if path.contains(['\0', '\\', '\n']) {
        "may not have a backslash or a control character in it"
    } else if path.len() > 4096 {
        "is longer than 4096 bytes"
    } else {
        return;
    };
    faults.add("/values/path", fault);
}

pub(crate) fn input_schema() -> Json {
    json!({
        "type": "object",
        "required": ["values"],
        "properties": {
            "values": {
                "type": "object",
                "required": ["path"],
                "additionalProperties": false,
                "properties": {
                    "path": {"type": "string", "x-purlin-reaches": "dir", "description": "Where, within a granted folder."},
                    "content": {"type": ["string", "null"]},
                    "mode": {"type": ["string", "null"], "pattern": "^0?[0-7]{3}$"},
                },
            },
            "secrets": {
                "type": "object",
                "additionalProperties": false,
                "properties": {"content": {"type": ["string", "null"]}},
            },
        },
    })
}

pub(crate) fn output_schema() -> Json {
    json!({
        "type": "object",
        "required": ["path", "size", "sha256"],
        "properties": {
            "path": {"type": "string"},
            "size": {"type": "integer", "description": "Bytes."},
            "sha256": {"type": "string", "description": "Hexadecimal digest of the content."},
        },
    })
}
