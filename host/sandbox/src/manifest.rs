//! A driver's description of itself: from the contract, and to and from the cache.

use purlin_model::driver::{Implements, Manifest, RequestedCapability, TypeSchema};
use serde::{Deserialize, Serialize};

use crate::bindings::exports::purlin::driver::lifecycle as wit;
use crate::convert::printable;
use crate::secrets::SecretMatcher;

/// Bytes of all texts of a manifest.
const LARGEST: usize = 1 << 20;

/// Checks the answer of `describe`.
pub(crate) fn from_wit(manifest: wit::Manifest) -> Result<Manifest, String> {
    let types: usize =
        manifest.types.iter().map(|t| t.type_name.len() + t.inputs.len() + t.outputs.len()).sum();
    let requested = manifest.requested_capabilities.iter();
    let requested: usize =
        requested.map(|one| one.capability.len() + one.pattern.len() + one.reason.len()).sum();
    if types + requested + manifest.name.len() + manifest.version.len() + manifest.description.len() > LARGEST
    {
        return Err("its description is larger than 1 MiB".into());
    }
    if !valid_name(&manifest.name) {
        return Err(format!(
            "`{}` is not a driver's name; one is written ORG/NAME",
            manifest.name.escape_debug()
        ));
    }
    let version = semver::Version::parse(&manifest.version).map_err(|error| {
        format!("`{}` is not a semantic version: {error}", manifest.version.escape_debug())
    })?;
    if manifest.types.is_empty() {
        return Err("it provisions no type".into());
    }
    let schema = |type_name: &str, side: &str, text: &str| {
        serde_json::from_str(text).map_err(|error| {
            format!("the schema of the {side} of `{}` is not JSON: {error}", type_name.escape_debug())
        })
    };
    let types = manifest
        .types
        .into_iter()
        .map(|t| {
            Ok(TypeSchema {
                inputs: schema(&t.type_name, "inputs", &t.inputs)?,
                outputs: schema(&t.type_name, "outputs", &t.outputs)?,
                type_name: resource_type(t.type_name)?,
            })
        })
        .collect::<Result<_, String>>()?;
    let has = |flag| manifest.implements.contains(flag);
    Ok(Manifest {
        name: manifest.name,
        version,
        description: plain(&manifest.description),
        implements: Implements {
            check: has(wit::Implements::CHECK),
            name: has(wit::Implements::NAME),
            read: has(wit::Implements::READ),
            update_impact: has(wit::Implements::UPDATE_IMPACT),
            update: has(wit::Implements::UPDATE),
            repeat_create: has(wit::Implements::REPEAT_CREATE),
        },
        types,
        requested_capabilities: manifest
            .requested_capabilities
            .into_iter()
            .map(|one| RequestedCapability {
                capability: plain(&one.capability),
                pattern: plain(&one.pattern),
                reason: plain(&one.reason),
            })
            .collect(),
    })
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
    /// check, name, read, update-impact, update, repeat-create.
    implements: [bool; 6],
    types: Vec<(String, serde_json::Value, serde_json::Value)>,
    requested_capabilities: Vec<(String, String, String)>,
}

pub(crate) fn to_json(manifest: &Manifest) -> Vec<u8> {
    let i = manifest.implements;
    let stored = Stored {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        description: manifest.description.clone(),
        implements: [i.check, i.name, i.read, i.update_impact, i.update, i.repeat_create],
        types: manifest
            .types
            .iter()
            .map(|t| (t.type_name.clone(), t.inputs.clone(), t.outputs.clone()))
            .collect(),
        requested_capabilities: manifest
            .requested_capabilities
            .iter()
            .map(|one| (one.capability.clone(), one.pattern.clone(), one.reason.clone()))
            .collect(),
    };
    // There are only strings, numbers and JSON: nothing in it can fail. If it did, the artifact
    // would be unreadable and so created again.
    serde_json::to_vec(&stored).unwrap_or_default()
}

pub(crate) fn from_json(bytes: &[u8]) -> Option<Manifest> {
    let stored: Stored = serde_json::from_slice(bytes).ok()?;
    let [check, name, read, update_impact, update, repeat_create] = stored.implements;
    Some(Manifest {
        name: stored.name,
        version: stored.version,
        description: stored.description,
        implements: Implements { check, name, read, update_impact, update, repeat_create },
        types: stored
            .types
            .into_iter()
            .map(|(type_name, inputs, outputs)| TypeSchema { type_name, inputs, outputs })
            .collect(),
        requested_capabilities: stored
            .requested_capabilities
            .into_iter()
            .map(|(capability, pattern, reason)| RequestedCapability { capability, pattern, reason })
            .collect(),
    })
}
