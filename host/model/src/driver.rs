//! The data of the driver contract (SPEC §8, `wit/`), without WebAssembly.
//!
//! The sandbox turns these into calls of a component; the engine sees nothing else.

mod cookie;
mod failure;
mod forecast;
pub mod keywords;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::{Context, Key, Label, Map, Urn, Value};

pub use cookie::{Cookie, StoredCookie};
pub use failure::{Failure, Problem};
pub use forecast::{Forecast, MOST_PARTS, Part, PartAction, RecordedPart, Token, broken_output};

/// The optional functions that a driver implements for a type.
///
/// They serialise as the list of their names in the contract, as part of a [`TypeSchema`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Implements {
    /// `check`; without it inputs are used unchanged.
    pub check: bool,
    /// `name`; without it the name is the guresid.
    pub name: bool,
    /// `read`; without it reality is assumed to equal the record, and nothing else is found.
    pub read: bool,
    /// `update-impact`; without it every change is an update in place.
    pub update_impact: bool,
    /// `update`; without it every change is a replacement.
    pub update: bool,
    /// A promise about `create`: with the key of an earlier attempt it returns the object of that
    /// attempt, or it creates nothing outside itself. So it may be called again after a crash (SPEC
    /// §10).
    pub repeat_create: bool,
}

/// Where it is said whether a function is implemented.
type Place = fn(&mut Implements) -> &mut bool;

impl Implements {
    /// All of them, by their names in the contract.
    const ALL: [(&str, Place); 6] = [
        ("check", |of| &mut of.check),
        ("name", |of| &mut of.name),
        ("read", |of| &mut of.read),
        ("update-impact", |of| &mut of.update_impact),
        ("update", |of| &mut of.update),
        ("repeat-create", |of| &mut of.repeat_create),
    ];

    /// Those with these names in the contract. Other names are ignored: a later patch of the contract may
    /// have more (SPEC §8).
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for name in names {
            if let Some((_, place)) = Self::ALL.iter().find(|(known, _)| *known == name) {
                *place(&mut all) = true;
            }
        }
        all
    }

    /// Their names in the contract.
    pub fn names(mut self) -> Vec<&'static str> {
        Self::ALL.iter().filter(|(_, place)| *place(&mut self)).map(|(name, _)| *name).collect()
    }
}

impl Serialize for Implements {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

/// A capability that a driver requests.
///
/// It serialises in the published, versioned form: `requested_capabilities` of `driver inspect` and
/// `driver run` in `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestedCapability {
    /// `http`, `tcp`, `udp`, `dns`, `env`, `dirs` or `secrets`.
    pub capability: String,
    /// The target, empty if the inputs decide.
    pub pattern: String,
    /// The purpose.
    pub reason: String,
}

/// A driver's description of one resource type.
///
/// It serialises as part of a [`DriverInfo`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeSchema {
    /// Resource type, or `*`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Which functions the driver implements for this type.
    pub implements: Implements,
    /// JSON Schema of `{values, secrets, params, connection, account}`. If it has [`HOLDS_DATA`](keywords::HOLDS_DATA),
    /// deleting loses data.
    pub inputs: serde_json::Value,
    /// JSON Schema of the outputs; `"x-purlin-outputs": "inputs"` mirrors the inputs, `"computed"`
    /// computes the outputs without any effect.
    pub outputs: serde_json::Value,
}

impl TypeSchema {
    /// The schema of the account of a resource, if the driver reads that.
    fn of_account(&self) -> Option<&serde_json::Value> {
        let schema = keywords::property(&self.inputs, &self.inputs, "account")?;
        Some(keywords::resolved(&self.inputs, schema)).filter(|schema| **schema != false)
    }

    /// Whether the driver is given fields of the account of a resource: its schema names `account`, or fields of
    /// `connection` that an account may fill in.
    pub fn reads_account(&self) -> bool {
        self.of_account().is_some() || !self.account_in_connection().is_empty()
    }

    /// The fields of `connection` that an account fills in, for a driver without an `account` of its own: all
    /// but those that identify the system, because an account is always the current one, and another system
    /// would be another resource.
    pub fn account_in_connection(&self) -> Vec<&str> {
        let root = &self.inputs;
        match (self.of_account(), keywords::property(root, root, "connection")) {
            (None, Some(connection)) => keywords::fields_without_identity(root, connection).collect(),
            _ => Vec::new(),
        }
    }

    /// The default of a field of `connection`.
    pub fn default_in_connection(&self, field: &str) -> Option<Value> {
        let root = &self.inputs;
        let rules = keywords::property(root, keywords::property(root, root, "connection")?, field)?;
        Some(keywords::resolved(root, rules).get("default")?.clone().into())
    }

    /// Gives the driver what its schema names of an account, of which the inputs have all: in `account`, or in
    /// `connection`.
    pub fn limit_account(&self, inputs: &mut Inputs) {
        let Value::Map(account) = inputs.account() else { return };
        self.give_account(inputs, &account);
    }

    /// The same with the fields of an account that is not part of the inputs.
    pub fn give_account(&self, inputs: &mut Inputs, account: &Map) {
        inputs.account_fields = Value::Null;
        let part = self.part_of_account(account);
        if self.of_account().is_some() {
            inputs.account_fields = Value::Map(part);
        } else if !part.is_empty() {
            let mut connection = inputs.connection.as_map().cloned().unwrap_or_default();
            connection.extend(part);
            inputs.connection = Value::Map(connection);
        }
    }

    /// What the driver is given of an account, which other drivers may use too: in `account` all of it, or what
    /// the schema names there, if that allows nothing else; in `connection` only what the schema names.
    pub fn part_of_account(&self, account: &Map) -> Map {
        let in_connection = self.account_in_connection();
        let of_account = self.of_account();
        let is_given = |name: &str| match of_account {
            Some(schema) => {
                schema["additionalProperties"] != false || schema["properties"].get(name).is_some()
            }
            // These two are about the account, whatever a driver calls so.
            None => in_connection.contains(&name) && !["name", "type"].contains(&name),
        };
        let given = account.iter().filter(|(name, _)| is_given(name));
        given.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// A driver's description of itself.
///
/// It serialises in the published, versioned form: `driver run` in `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriverInfo {
    /// `ORG/NAME`.
    pub name: String,
    /// Version.
    pub version: semver::Version,
    /// Its purpose, in one sentence.
    pub description: String,
    /// The types that it provisions.
    pub types: Vec<TypeSchema>,
    /// The requested capabilities.
    pub requested_capabilities: Vec<RequestedCapability>,
    /// Anything else for people, by name.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub notes: serde_json::Map<String, serde_json::Value>,
}

impl DriverInfo {
    /// The schema for a type: the exact one, else that of `*`.
    pub fn schema(&self, type_name: &str) -> Option<&TypeSchema> {
        let named = |name: &str| self.types.iter().find(|schema| schema.type_name == name);
        named(type_name).or_else(|| named("*"))
    }

    /// Whether the driver reads the accounts of resources of a type.
    pub fn reads_account(&self, type_name: &str) -> bool {
        self.schema(type_name).is_some_and(TypeSchema::reads_account)
    }

    /// What the driver implements for a type; nothing for one that it does not provision.
    pub fn implements(&self, type_name: &str) -> Implements {
        self.schema(type_name).map(|schema| schema.implements).unwrap_or_default()
    }
}

/// The resource that a call is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Stable logical name.
    pub urn: Urn,
    /// Key within the environment.
    pub key: Key,
    /// Where it is deployed.
    pub context: Context,
}

/// The inputs of a resource. Its maps may be null, which means an empty one. There may be
/// secret leaves anywhere, and unknown ones only in `check` and `update-impact`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// `inputs.values`, resolved.
    pub values: Value,
    /// `inputs.secrets` or `secret_refs`, resolved.
    pub secrets: Value,
    /// The developer's params.
    pub params: Value,
    /// `inputs.connection`, resolved: how to reach the system that the resource is in.
    pub connection: Value,
    /// The name that `driver_account` gives.
    pub account: Option<Arc<str>>,
    /// What the driver is given of that account, a map; null if only the name. It is filled in for one call,
    /// and neither recorded nor compared: an account is always the current one.
    pub account_fields: Value,
}

impl Inputs {
    /// The inputs with an account as drivers read it, for a caller without a workspace. An account without a
    /// name is called `account`.
    #[must_use]
    pub fn with_account(self, account: &Value) -> Self {
        if account.as_map().is_none_or(|fields| fields.is_empty()) {
            return Self { account: None, account_fields: Value::Null, ..self };
        }
        let name = account.get("name");
        let name = name.as_ref().and_then(Value::as_str).unwrap_or("account").into();
        Self { account: Some(name), account_fields: account.clone(), ..self }
    }

    /// The account as drivers read it.
    pub fn account(&self) -> Value {
        match (&self.account_fields, &self.account) {
            (Value::Null, Some(name)) => {
                Value::Map(Map::from_iter([("name".into(), Value::String(Arc::clone(name)))]))
            }
            (fields, _) => fields.clone(),
        }
    }
}

/// A manifest that a driver wants delivered with the workloads (SPEC §5).
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestFile {
    /// File name.
    pub name: Label,
    /// Its destination.
    pub location: Label,
    /// The manifest; it may have secret leaves.
    pub data: Value,
}

/// A live resource as its driver describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceState {
    /// The driver's own name for the real object.
    pub id: Label,
    /// Outputs, a map; secret ones are secret values.
    pub outputs: Value,
    /// Opaque to us, within the operator's limit.
    pub cookie: Cookie,
    /// Manifests to deliver.
    pub manifests: Vec<ManifestFile>,
    /// The driver's own number of the form of what it returns.
    pub version: u32,
    /// Anything else for people, by name; they may have secret leaves.
    pub notes: Map,
}

/// What a driver reports before a call finishes (`operation.checkpoint`).
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The driver's name for the real object.
    pub id: Label,
    /// The cookie that takes the place of the recorded one, if it gave one.
    pub cookie: Option<Cookie>,
}

impl Checkpoint {
    /// Whether anything in it is secret. A cookie always is.
    pub fn has_secret(&self) -> bool {
        self.id.is_secret() || self.cookie.is_some()
    }

    /// The state with the reported cookie.
    pub fn applied(&self, state: &ResourceState) -> ResourceState {
        let cookie = self.cookie.as_ref().unwrap_or(&state.cookie).clone();
        ResourceState { cookie, ..state.clone() }
    }

    /// All that is known of an object whose creation was interrupted, if it has a cookie.
    pub fn begun(&self) -> Option<ResourceState> {
        let cookie = self.cookie.clone()?;
        Some(ResourceState { id: self.id.clone(), cookie, ..ResourceState::default() })
    }
}

impl<T: Into<Label>> From<T> for Checkpoint {
    fn from(id: T) -> Self {
        Self { id: id.into(), cookie: None }
    }
}

/// The existing resource, as `read` found it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The resource.
    pub state: ResourceState,
    /// `inputs.values` as reality has them, a map in the shape that `check` returns. Values that
    /// the driver cannot determine are missing; `None` if it can determine none. If it differs from
    /// the record, the resource has drifted (SPEC §9).
    pub values: Option<Value>,
    /// What it waits for, if it exists and is not done yet.
    pub pending: Option<Pending>,
}

/// A resource is on its way, and nothing failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// After which time it makes sense to look again.
    pub after: Duration,
    /// What it waits for.
    pub message: String,
}

/// Inputs as they will be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// With defaults.
    pub values: Value,
    /// With defaults.
    pub secrets: Value,
    /// Advice, as (pointer, message).
    pub warnings: Vec<InputFinding>,
}

/// Something about one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFinding {
    /// JSON Pointer into `{values, secrets, params, connection, account}`.
    pub pointer: String,
    /// What is wrong or noteworthy.
    pub message: String,
}

impl fmt::Display for InputFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "`{pointer}`: {}", self.message),
        }
    }
}

/// The effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Places that force a replacement.
    pub replaces: Vec<String>,
    /// Whether the old one must be deleted first.
    pub delete_before_replace: bool,
    /// Outputs that certainly keep their value, as pointers into `{outputs, secrets}`.
    pub stable_outputs: Vec<String>,
    /// Places whose change is rejected, unless the resource is replaced. The schema decides it, not
    /// the driver.
    pub immutable: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_driver_is_given_what_its_schema_names_of_an_account() {
        let account = Value::from(json!({"name": "a", "type": "aws", "region": "here", "more": 1}));
        let account = account.as_map().expect("a map");
        let given = |schema: serde_json::Value| {
            let schema = TypeSchema {
                type_name: "*".into(),
                implements: Implements::default(),
                inputs: schema,
                outputs: json!({}),
            };
            let mut inputs = Inputs { connection: json!({"zone": 2}).into(), ..Inputs::default() };
            schema.give_account(&mut inputs, account);
            let names = |part: &Value| {
                let mut names: Vec<String> =
                    part.as_map().into_iter().flatten().map(|(name, _)| name.to_string()).collect();
                names.sort();
                names.join(" ")
            };
            let filled = names(&inputs.connection).replace("zone", "");
            let given = [names(&inputs.account_fields), filled].join("");
            (schema.reads_account(), given.trim().to_owned())
        };
        let closed = json!({"properties": {"region": {}}, "additionalProperties": false});
        for (schema, expected) in [
            (json!({}), (false, "")),
            (json!({"properties": {"connection": {}}}), (false, "")),
            // What identifies a system is not the account's, nor are its name and type.
            (
                json!({"properties": {"connection": {"properties": {
                    "region": {}, "more": {"properties": {"x": {"x-purlin-replaces": true}}}, "name": {},
                }}}}),
                (true, "region"),
            ),
            (
                json!({"properties": {"connection": {"properties": {"region": {"x-purlin-replaces": true}}}}}),
                (false, ""),
            ),
            (
                json!({"properties": {"account": closed, "connection": {"properties": {"more": {}}}}}),
                (true, "region"),
            ),
            (json!({"properties": {"account": false}}), (false, "")),
            (json!({"properties": {"account": {}}}), (true, "more name region type")),
            (json!({"properties": {"account": closed}}), (true, "region")),
            (
                json!({"properties": {"account": {"$ref": "#/$defs/a"}}, "$defs": {"a": closed}}),
                (true, "region"),
            ),
        ] {
            assert_eq!(given(schema.clone()), (expected.0, expected.1.to_owned()), "{schema}");
        }
    }
}
