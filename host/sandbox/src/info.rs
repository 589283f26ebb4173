//! A driver's description of itself: from the contract, and to and from the cache.

use purlin_model::driver::{DriverInfo, Implements, RequestedCapability, TypeSchema};
use serde::{Deserialize, Serialize};

use crate::bindings::purlin::driver::types;
use crate::convert::printable;
use crate::secrets::SecretMatcher;

/// Bytes of all texts of a description.
const LARGEST: usize = 1 << 20;
/// Functions that one type may claim to implement; a later contract has more than this one.
const MOST_IMPLEMENTED: usize = 64;

/// Checks the answer of `describe`.
pub(crate) fn from_wit(info: types::DriverInfo) -> Result<DriverInfo, String> {
    if size(&info) > LARGEST {
        return Err("its description is larger than 1 MiB".into());
    }
    if !valid_name(&info.name) {
        return Err(format!(
            "`{}` is not a driver's name; one is written ORG/NAME",
            info.name.escape_debug()
        ));
    }
    let version = semver::Version::parse(&info.version)
        .map_err(|error| format!("`{}` is not a semantic version: {error}", info.version.escape_debug()))?;
    if info.types.is_empty() {
        return Err("it provisions no type".into());
    }
    let mut types: Vec<TypeSchema> = Vec::with_capacity(info.types.len());
    for described in info.types {
        let described = type_schema(described)?;
        if types.iter().any(|other| other.type_name == described.type_name) {
            return Err(format!("it describes the type `{}` twice", described.type_name));
        }
        types.push(described);
    }
    let mut notes = serde_json::Map::new();
    for (name, value) in info.notes {
        let value = serde_json::from_str(&value)
            .map_err(|error| format!("its note `{}` is not JSON: {error}", plain(&name)))?;
        notes.insert(plain(&name), plain_texts(value));
    }
    Ok(DriverInfo {
        name: info.name,
        version,
        description: plain(&info.description),
        types,
        requested_capabilities: info
            .requested_capabilities
            .into_iter()
            .map(|one| RequestedCapability {
                capability: plain(&one.capability),
                pattern: plain(&one.pattern.unwrap_or_default()),
                reason: plain(&one.reason),
            })
            .collect(),
        notes,
    })
}

/// Bytes of all texts.
fn size(info: &types::DriverInfo) -> usize {
    let types = info.types.iter().map(|it| {
        let implements: usize = it.implements.iter().map(String::len).sum();
        it.type_name.len() + it.inputs.len() + it.outputs.len() + implements
    });
    let requested = info
        .requested_capabilities
        .iter()
        .map(|one| one.capability.len() + one.pattern.as_ref().map_or(0, String::len) + one.reason.len());
    let notes = info.notes.iter().map(|(name, value)| name.len() + value.len());
    let own = info.name.len() + info.version.len() + info.description.len();
    own + types.chain(requested).chain(notes).sum::<usize>()
}

fn type_schema(described: types::TypeSchema) -> Result<TypeSchema, String> {
    let name = &described.type_name;
    if described.implements.len() > MOST_IMPLEMENTED {
        return Err(format!("it implements more than {MOST_IMPLEMENTED} functions for `{}`", plain(name)));
    }
    let schema = |side: &str, text: &str| {
        serde_json::from_str(text).map_err(|error| {
            format!("the schema of the {side} of `{}` is not JSON: {error}", name.escape_debug())
        })
    };
    Ok(TypeSchema {
        inputs: schema("inputs", &described.inputs)?,
        outputs: schema("outputs", &described.outputs)?,
        implements: Implements::of(described.implements.iter().map(String::as_str)),
        type_name: resource_type(described.type_name)?,
    })
}

/// A note, whose texts people read.
fn plain_texts(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value::{Array, Object, String};
    match value {
        String(text) => String(plain(&text)),
        Array(items) => items.into_iter().map(plain_texts).collect(),
        Object(map) => map.into_iter().map(|(name, value)| (plain(&name), plain_texts(value))).collect(),
        other => other,
    }
}

/// Text for people, who read it before they trust the driver.
fn plain(text: &str) -> String {
    printable(&SecretMatcher::default(), text)
}

fn resource_type(name: String) -> Result<String, String> {
    if name.is_empty() || name.len() > 256 || plain(&name) != name {
        return Err(format!("`{}` is not a valid resource type", plain(&name)));
    }
    Ok(name)
}

fn valid_name(name: &str) -> bool {
    let part = |part: &str| {
        part.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    name.split_once('/').is_some_and(|(org, name)| part(org) && part(name))
}

#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    version: semver::Version,
    description: String,
    /// Name, implemented functions, inputs, outputs.
    types: Vec<(String, Vec<String>, serde_json::Value, serde_json::Value)>,
    requested_capabilities: Vec<(String, String, String)>,
    notes: serde_json::Map<String, serde_json::Value>,
}

pub(crate) fn to_json(info: &DriverInfo) -> Vec<u8> {
    let names = |implements: Implements| implements.names().into_iter().map(str::to_owned).collect();
    let stored = Stored {
        name: info.name.clone(),
        version: info.version.clone(),
        description: info.description.clone(),
        types: info
            .types
            .iter()
            .map(|it| (it.type_name.clone(), names(it.implements), it.inputs.clone(), it.outputs.clone()))
            .collect(),
        requested_capabilities: info
            .requested_capabilities
            .iter()
            .map(|one| (one.capability.clone(), one.pattern.clone(), one.reason.clone()))
            .collect(),
        notes: info.notes.clone(),
    };
    // There are only strings, numbers and JSON: nothing in it can fail. If it did, the artifact
    // would be unreadable and so created again.
    serde_json::to_vec(&stored).unwrap_or_default()
}

pub(crate) fn from_json(bytes: &[u8]) -> Option<DriverInfo> {
    let stored: Stored = serde_json::from_slice(bytes).ok()?;
    let type_schema = |(type_name, implements, inputs, outputs): (String, Vec<String>, _, _)| TypeSchema {
        type_name,
        implements: Implements::of(implements.iter().map(String::as_str)),
        inputs,
        outputs,
    };
    Some(DriverInfo {
        name: stored.name,
        version: stored.version,
        description: stored.description,
        types: stored.types.into_iter().map(type_schema).collect(),
        requested_capabilities: stored
            .requested_capabilities
            .into_iter()
            .map(|(capability, pattern, reason)| RequestedCapability { capability, pattern, reason })
            .collect(),
        notes: stored.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn described() -> types::DriverInfo {
        types::DriverInfo {
            name: "acme/db".into(),
            version: "1.2.3-rc.1".into(),
            description: "Databases.".into(),
            types: vec![one_type("db", &["read", "reconcile", "repeat-create"]), one_type("*", &[])],
            requested_capabilities: vec![types::RequestedCapability {
                capability: "tcp".into(),
                pattern: None,
                reason: "to reach the server".into(),
            }],
            notes: vec![("homepage".into(), r#""https://example.org/\u001b[2J""#.into())],
        }
    }

    fn one_type(name: &str, implements: &[&str]) -> types::TypeSchema {
        types::TypeSchema {
            type_name: name.into(),
            implements: implements.iter().map(|name| (*name).to_owned()).collect(),
            inputs: r#"{"type":"object"}"#.into(),
            outputs: "true".into(),
        }
    }

    #[test]
    fn a_description_is_read_and_kept() {
        let info = from_wit(described()).expect("in order");
        assert_eq!(info.implements("db").names(), ["read", "repeat-create"], "others are ignored");
        assert_eq!(info.implements("queue"), Implements::default(), "as for `*`");
        assert_eq!(info.requested_capabilities[0].pattern, "");
        assert_eq!(info.notes["homepage"], json!("https://example.org/\\u{1b}[2J"), "people read it");
        assert_eq!(from_json(&to_json(&info)).as_ref(), Some(&info));
    }

    #[test]
    fn wrong_descriptions_are_refused() {
        type Break = fn(&mut types::DriverInfo);
        let wrong: [(Break, &str); 9] = [
            (|info| info.name = "db".into(), "`db` is not a driver's name; one is written ORG/NAME"),
            (|info| info.version = "1".into(), "`1` is not a semantic version: "),
            (|info| info.types.clear(), "it provisions no type"),
            (|info| info.types[1].type_name = "db".into(), "it describes the type `db` twice"),
            (|info| info.types[0].type_name = "\r".into(), "`\\u{d}` is not a valid resource type"),
            (
                |info| info.types[0].implements = vec![String::new(); 65],
                "it implements more than 64 functions for `db`",
            ),
            (|info| info.types[0].outputs = "{".into(), "the schema of the outputs of `db` is not JSON: "),
            (|info| info.notes[0].1 = "{".into(), "its note `homepage` is not JSON: "),
            (
                |info| info.notes[0].1 = format!("\"{}\"", "x".repeat(LARGEST)),
                "its description is larger than 1 MiB",
            ),
        ];
        for (spoil, expected) in wrong {
            let mut info = described();
            spoil(&mut info);
            let refused = from_wit(info).expect_err(expected);
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
