//! The types of the API: what is declared, of what type, and how lists are merged.
//!
//! `schema.json` has the types of Kubernetes 1.34 as the crate `k8s-openapi` 0.29 publishes them,
//! without their descriptions; how lists merge is taken from the same crate's merge strategies.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

static TYPES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("schema.json")).expect("the schema is JSON"));

/// Types that are one value, whoever owns them.
const ATOMIC: [&str; 11] = [
    "LabelSelector",
    "ObjectReference",
    "LocalObjectReference",
    "TypedLocalObjectReference",
    "SecretKeySelector",
    "ConfigMapKeySelector",
    "ObjectFieldSelector",
    "ResourceFieldSelector",
    "NodeSelector",
    "RoleRef",
    "JSONSchemaProps",
];

/// How values of a type are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Member by member.
    Granular,
    /// A list by these keys.
    Keyed(Vec<String>),
    /// A list without order.
    Set,
    /// As one.
    Atomic,
}

/// A type.
#[derive(Clone, Debug)]
pub(super) struct Node(Value);

impl Node {
    /// A type of the API by its name.
    pub(super) fn named(name: &str) -> Self {
        Self(json!({"$ref": name}))
    }

    /// Objects of a custom kind with this schema.
    pub(super) fn custom(schema: &Value) -> Self {
        let mut schema = schema.clone();
        if schema.get("properties").is_none() {
            schema["properties"] = json!({});
        }
        schema["properties"]["apiVersion"] = json!({"type": "string"});
        schema["properties"]["kind"] = json!({"type": "string"});
        schema["properties"]["metadata"] = json!({"$ref": "ObjectMeta"});
        Self(schema)
    }

    fn reference(&self) -> Option<&str> {
        self.0.get("$ref")?.as_str()
    }

    /// What it says of itself, where it is a reference.
    fn definition(&self) -> &Value {
        self.reference().and_then(|name| TYPES.get(name)).unwrap_or(&self.0)
    }

    /// How values of it are merged.
    pub(super) fn shape(&self) -> Shape {
        let own = &self.0;
        let strings = |list: &Value| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        for name in ["keys", "x-kubernetes-list-map-keys"] {
            if let Some(keys) = own.get(name) {
                return Shape::Keyed(strings(keys));
            }
        }
        if own.get("set").is_some() || own.get("x-kubernetes-list-type").is_some_and(|kind| kind == "set") {
            return Shape::Set;
        }
        let is_atomic = own.get("atomic").is_some()
            || own.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic")
            || self.reference().is_some_and(|name| ATOMIC.contains(&name));
        let definition = self.definition();
        if !is_atomic
            && (definition.get("properties").is_some() || definition.get("additionalProperties").is_some())
        {
            return Shape::Granular;
        }
        Shape::Atomic
    }

    /// The type of a member.
    pub(super) fn member(&self, name: &str) -> Self {
        let definition = self.definition();
        let declared = definition.get("properties").and_then(|properties| properties.get(name));
        Self(declared.or(definition.get("additionalProperties")).cloned().unwrap_or_default())
    }

    /// The type of items.
    pub(super) fn item(&self) -> Self {
        Self(self.definition().get("items").cloned().unwrap_or_default())
    }

    /// The first thing in a value that does not fit the type, in the words of the API server.
    pub(super) fn fault(&self, value: &Value) -> Option<String> {
        self.fault_at(value, "")
    }

    fn fault_at(&self, value: &Value, path: &str) -> Option<String> {
        let definition = self.definition();
        if value.is_null() || definition.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true)) {
            return None;
        }
        if definition.get("x-kubernetes-int-or-string").is_some() {
            let fits = value.is_string() || value.is_number();
            return (!fits).then(|| format!("{path}: expected numeric or string"));
        }
        let got = match value {
            Value::Object(_) => "map",
            Value::Array(_) => "list",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            Value::Null => "null",
        };
        match definition.get("type").and_then(Value::as_str) {
            Some("object") => {
                let Some(members) = value.as_object() else {
                    return Some(format!("{path}: expected map, got &{{{got}}}"));
                };
                let open = definition.get("properties").is_none()
                    && definition.get("additionalProperties").is_none();
                members.iter().find_map(|(name, member)| {
                    let at = format!("{path}.{name}");
                    let declared = definition.get("properties").is_some_and(|all| all.get(name).is_some());
                    if !declared && definition.get("additionalProperties").is_none() && !open {
                        return Some(format!("{at}: field not declared in schema"));
                    }
                    self.member(name).fault_at(member, &at)
                })
            }
            Some("array") => match value.as_array() {
                Some(items) => items
                    .iter()
                    .enumerate()
                    .find_map(|(index, item)| self.item().fault_at(item, &format!("{path}[{index}]"))),
                None => Some(format!("{path}: expected list, got &{{{got}}}")),
            },
            Some("string") if !value.is_string() => {
                Some(format!("{path}: expected string, got &value.valueUnstructured{{{got}}}"))
            }
            Some("integer" | "number") if !value.is_number() => {
                Some(format!("{path}: expected numeric (int or float), got {got}"))
            }
            Some("boolean") if !value.is_boolean() => Some(format!("{path}: expected boolean, got {got}")),
            _ => None,
        }
    }

    /// Fields that a value has to have and has not.
    pub(super) fn missing(&self, value: &Value) -> Vec<String> {
        let mut missing = Vec::new();
        self.missing_at(value, "", &mut missing);
        missing
    }

    fn missing_at(&self, value: &Value, path: &str, missing: &mut Vec<String>) {
        let definition = self.definition();
        match value {
            Value::Object(members) => {
                let required = definition.get("required").and_then(Value::as_array).into_iter().flatten();
                for name in required.filter_map(Value::as_str) {
                    if members.get(name).is_none_or(Value::is_null) {
                        missing.push(format!("{path}.{name}").trim_start_matches('.').to_owned());
                    }
                }
                for (name, member) in members {
                    self.member(name).missing_at(member, &format!("{path}.{name}"), missing);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.item().missing_at(item, &format!("{path}[{index}]"), missing);
                }
            }
            _ => {}
        }
    }

    /// Whether it is a quantity such as `500m`.
    pub(super) fn is_quantity(&self) -> bool {
        self.reference() == Some("Quantity")
    }
}
