//! The inspection of a driver, as plain data. The driver's description of itself is in `info`.

use purlin_host::{Granted, Inspection};
use purlin_model::driver;
use purlin_sandbox::Interfaces;
use serde::Serialize;
use serde_json::Value;

/// The maximum number of references in a schema that are followed.
const DEEPEST: usize = 8;

#[derive(Debug, Serialize)]
pub(crate) struct InspectionReport {
    pub(crate) format: u8,
    pub(crate) components: Vec<Component>,
}

/// One component.
#[derive(Debug, Serialize)]
pub(crate) struct Component {
    /// The name of the driver in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The component's file; absent for a built-in driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The facts from its bytes.
    #[serde(flatten)]
    pub(crate) interfaces: Interfaces,
    /// Why it cannot be a driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unfit: Option<String>,
    /// The description of the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) info: Option<DriverInfo>,
    /// Why the driver did not return a description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) info_error: Option<String>,
    /// The lines of `purlin.yaml` that would grant the capabilities that the driver requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grants: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct DriverInfo {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) types: Vec<Type>,
    pub(crate) requested_capabilities: Vec<Requested>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub(crate) notes: serde_json::Map<String, Value>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Type {
    #[serde(rename = "type")]
    pub(crate) name: String,
    pub(crate) implements: Vec<&'static str>,
    pub(crate) inputs: Vec<Field>,
    pub(crate) outputs: Vec<Field>,
}

/// An input or an output.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Field {
    /// For example `values.size` of an input, or `host` of an output.
    pub(crate) path: String,
    pub(crate) required: bool,
    pub(crate) secret: bool,
}

/// A requested capability, and whether the workspace grants it.
#[derive(Debug, Serialize)]
pub(crate) struct Requested {
    #[serde(flatten)]
    pub(crate) request: driver::RequestedCapability,
    pub(crate) granted: Granted,
}

/// Converts an inspection.
pub(crate) fn component(inspection: &Inspection) -> Component {
    let (info, info_error) = match &inspection.info {
        Some(Ok(info)) => (Some(described(inspection, info)), None),
        Some(Err(why)) => (None, Some(why.clone())),
        None => (None, None),
    };
    Component {
        name: inspection.name.clone(),
        file: inspection.file.as_ref().map(|file| file.display().to_string()),
        interfaces: inspection.interfaces.clone(),
        unfit: inspection.unfit.clone(),
        info,
        info_error,
        grants: inspection.block(),
    }
}

fn described(inspection: &Inspection, info: &driver::DriverInfo) -> DriverInfo {
    DriverInfo {
        name: info.name.clone(),
        version: info.version.to_string(),
        description: info.description.clone(),
        types: info
            .types
            .iter()
            .map(|schema| Type {
                name: schema.type_name.clone(),
                implements: schema.implements.names(),
                inputs: inputs(&schema.inputs),
                outputs: fields(&schema.outputs, &schema.outputs, "", false),
            })
            .collect(),
        requested_capabilities: info
            .requested_capabilities
            .iter()
            .map(|request| Requested { request: request.clone(), granted: inspection.granted(request) })
            .collect(),
        notes: info.notes.clone(),
    }
}

/// The inputs in a schema of `{values, secrets, params, connection, account}`.
fn inputs(schema: &Value) -> Vec<Field> {
    let parts = ["values", "secrets", "params", "connection", "account"];
    let part = |part: &&str| {
        let below = resolve(schema, schema)?.get("properties")?.get(*part)?;
        Some(fields(schema, below, &format!("{part}."), *part == "secrets"))
    };
    parts.iter().filter_map(part).flatten().collect()
}

/// The fields in the schema of an object; references are resolved within `root`.
fn fields(root: &Value, schema: &Value, prefix: &str, secret: bool) -> Vec<Field> {
    let Some(schema) = resolve(root, schema) else { return Vec::new() };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .map(|(name, property)| Field {
            path: format!("{prefix}{name}"),
            required: required.contains(&name.as_str()),
            secret: secret
                || resolve(root, property)
                    .is_some_and(|property| property.get("writeOnly") == Some(&Value::Bool(true))),
        })
        .collect()
}

/// Follows a schema's references within the document; `None` if one leads nowhere.
fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> Option<&'a Value> {
    for _ in 0..DEEPEST {
        match schema.get("$ref").and_then(Value::as_str) {
            None => return Some(schema),
            Some(reference) => schema = root.pointer(reference.strip_prefix('#')?)?,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_found_behind_references() {
        let schema = json!({
            "properties": {
                "values": {"$ref": "#/$defs/values"},
                "secrets": {"properties": {"password": {}}, "required": ["password"]},
                "params": {"$ref": "#/$defs/loop"},
            },
            "$defs": {
                "values": {"properties": {"size": {}, "pin": {"writeOnly": true}}, "required": ["size"]},
                "loop": {"$ref": "#/$defs/loop"},
            },
        });
        let field = |path: &str, required, secret| Field { path: path.into(), required, secret };
        assert_eq!(
            inputs(&schema),
            [
                field("values.size", true, false),
                field("values.pin", false, true),
                field("secrets.password", true, true)
            ]
        );
        for odd in [json!(true), json!(null), json!({"properties": 1}), json!({"$ref": "elsewhere"})] {
            assert_eq!(inputs(&odd), []);
        }
    }
}
