//! The meta-schema: JSON Schema 2020-12 with the keywords of Purlin in the schemas of drivers (SPEC §8).
//! One that this version does not know may come from a later contract, and whatever it says would be lost,
//! so that the schema is unusable.

use std::fmt;
use std::sync::LazyLock;

use purlin_expression::nearest;
use purlin_model::Value;
use purlin_model::driver::keywords::META_SCHEMA;
use purlin_model::driver::{DriverInfo, TypeSchema};
use serde_json::Value as Json;

use crate::{Schema, Subject, Unusable, say};

/// What the keywords of Purlin begin with, and those that may be ignored without harm.
const PREFIX: &str = "x-purlin-";
const HINT: &str = "x-purlin-hint-";

/// What a schema of a driver describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Describes {
    /// `{values, secrets, params, connection}`.
    Inputs,
    /// The outputs.
    Outputs,
}

impl fmt::Display for Describes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inputs => "inputs",
            Self::Outputs => "outputs",
        })
    }
}

/// The meta-schema. It is part of the program, and a test compiles it.
static META: LazyLock<Option<Schema>> = LazyLock::new(|| {
    let mut meta: Json = serde_json::from_str(META_SCHEMA).ok()?;
    // Names are checked where the schema is walked, by `fault`.
    meta.as_object_mut()?.remove("propertyNames");
    Schema::walked(&meta, None).ok()
});

/// The keywords of the meta-schema, with what it says of each.
fn known() -> Option<&'static serde_json::Map<String, Json>> {
    META.as_ref()?.root.get("properties")?.as_object()
}

/// Why types of a driver cannot be used: a sentence for each schema that this version cannot use.
pub fn unusable_schemas(info: &DriverInfo) -> Vec<String> {
    let sides = |one: &TypeSchema| {
        [(Describes::Inputs, &one.inputs), (Describes::Outputs, &one.outputs)]
            .into_iter()
            .filter_map(|(describes, schema)| {
                let why = Schema::of_driver(schema, describes).err()?.placed();
                Some(format!("the schema of the {describes} of `{}` cannot be used: {why}", one.type_name))
            })
            .collect::<Vec<_>>()
    };
    info.types.iter().flat_map(sides).collect()
}

/// Whether a keyword is Purlin's, and this version does not know what it says.
pub fn is_unknown_keyword(keyword: &str) -> bool {
    let is_known = || known().is_some_and(|known| known.contains_key(keyword));
    keyword.starts_with(PREFIX) && !keyword.starts_with(HINT) && !is_known()
}

/// The fault of a keyword in the part of a schema at a pointer, if it has one.
pub(crate) fn fault(describes: Option<Describes>, keyword: &str, at: &str) -> Option<String> {
    if !keyword.starts_with(PREFIX) {
        return None;
    }
    let known = known()?;
    if is_unknown_keyword(keyword) {
        let bare = known.keys().filter_map(|name| name.strip_prefix(PREFIX));
        let near = nearest(keyword.trim_start_matches(PREFIX), bare);
        let near = near.map(|near| format!(" (did you mean `{PREFIX}{near}`?)")).unwrap_or_default();
        let shown: String = keyword.chars().take(60).collect();
        return Some(format!(
            "this version of Purlin does not know the keyword `{shown}`: it is misspelt{near}, or the driver \
             needs a newer Purlin"
        ));
    }
    let rule = known.get(keyword)?;
    let of = rule.get("x-of")?.as_str()?;
    // What `$ref` leads to may be an output.
    let is_inside = |at: &str| {
        let within = at.strip_prefix("/properties/").and_then(|rest| rest.split_once('/'));
        within.is_some_and(|(_, rest)| rest.contains("properties/") || rest.contains("items"))
    };
    let (place, is_there) = match rule.get("x-at").and_then(Json::as_str) {
        Some("root") => (format!("root of the schema of the {of}"), at.is_empty()),
        Some("output") => ("schema of a whole output".to_owned(), !is_inside(at)),
        _ => (format!("schema of the {of}"), true),
    };
    (!is_there || describes.is_none_or(|describes| of != describes.to_string()))
        .then(|| format!("`{keyword}` says nothing here; it belongs into the {place} of a driver"))
}

/// Holds a schema against the meta-schema.
pub(crate) fn validate(root: &Json) -> Result<(), Unusable> {
    let unusable = |pointer: String, reason: String| Unusable { pointer, reason };
    let Some(meta) = &*META else {
        return Err(unusable(String::new(), "the meta-schema cannot be used".to_owned()));
    };
    let violations = meta.validate(&Value::from(root.clone()));
    let violations = violations.map_err(|error| unusable(String::new(), error.to_string()))?;
    match violations.first() {
        Some(first) => {
            let message = say(Subject::Inputs("JSON Schema 2020-12"), first).message;
            Err(unusable(first.at.clone(), message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use purlin_model::driver::Implements;
    use serde_json::json;

    use super::*;

    fn fault(describes: Describes, schema: &Json) -> Option<String> {
        Schema::of_driver(schema, describes).err().map(|error| error.placed())
    }

    #[test]
    fn keywords_that_are_not_known_make_a_schema_unusable() {
        let below = |keyword: &str, value: Json| json!({"properties": {"values": {"properties": {"a": {keyword: value}}}}});
        for (describes, schema, expected) in [
            (
                Describes::Inputs,
                below("x-purlin-holds-dato", true.into()),
                "at `/properties/values/properties/a/x-purlin-holds-dato`, this version of Purlin does not know \
                 the keyword `x-purlin-holds-dato`: it is misspelt (did you mean `x-purlin-holds-data`?), or the \
                 driver needs a newer Purlin",
            ),
            (
                Describes::Outputs,
                json!({"$defs": {"a": {"x-purlin-expires": 1}}}),
                "at `/$defs/a/x-purlin-expires`, this version of Purlin does not know the keyword \
                 `x-purlin-expires`: it is misspelt, or the driver needs a newer Purlin",
            ),
            (
                Describes::Outputs,
                below("x-purlin-replaces", true.into()),
                "at `/properties/values/properties/a/x-purlin-replaces`, `x-purlin-replaces` says nothing here; \
                 it belongs into the schema of the inputs of a driver",
            ),
            (
                Describes::Outputs,
                json!({"properties": {"a": {"x-purlin-outputs": "inputs"}}}),
                "at `/properties/a/x-purlin-outputs`, `x-purlin-outputs` says nothing here; it belongs into the \
                 root of the schema of the outputs of a driver",
            ),
            (
                Describes::Outputs,
                below("x-purlin-write-once", true.into()),
                "at `/properties/values/properties/a/x-purlin-write-once`, `x-purlin-write-once` says nothing here; \
                 it belongs into the schema of a whole output of a driver",
            ),
        ] {
            assert_eq!(fault(describes, &schema).as_deref(), Some(expected));
        }
        let wrong = fault(Describes::Inputs, &below("x-purlin-immutable", "yes".into())).expect("a fault");
        assert!(wrong.starts_with("at `/properties/values/properties/a/x-purlin-immutable`, "), "{wrong}");
    }

    #[test]
    fn every_schema_of_a_driver_is_held_against_them() {
        let one = |name: &str, inputs, outputs| TypeSchema {
            type_name: name.to_owned(),
            implements: Implements::default(),
            inputs,
            outputs,
        };
        let info = DriverInfo {
            name: "acme/db".to_owned(),
            version: "1.0.0".parse().expect("a version"),
            description: String::new(),
            types: vec![
                one("db", json!({}), json!({"x-purlin-expires": 1})),
                one("queue", json!({"x-purlin-expires": 1}), json!({})),
                one("*", json!({}), json!({})),
            ],
            requested_capabilities: Vec::new(),
            notes: serde_json::Map::default(),
        };
        let why = "cannot be used: at `/x-purlin-expires`, this version of Purlin does not know the keyword \
                   `x-purlin-expires`: it is misspelt, or the driver needs a newer Purlin";
        assert_eq!(
            unusable_schemas(&info),
            [
                format!("the schema of the outputs of `db` {why}"),
                format!("the schema of the inputs of `queue` {why}")
            ]
        );
    }

    /// Only keywords of schemas count: not names of properties, nor values.
    #[test]
    fn everything_else_is_left_alone() {
        for schema in [
            json!(true),
            json!({"x-other": 1, "x-purlin-hint-colour": "red"}),
            json!({"properties": {"x-purlin-holds-dato": {"const": {"x-purlin-other": 1}}}}),
            json!({"default": {"x-purlin-other": 1}, "x-purlin-holds-data": "all tables"}),
            json!({"x-purlin-methods": ["GET", {"method": "PUT", "if": "/values/update"}]}),
        ] {
            assert_eq!(fault(Describes::Inputs, &schema), None, "{schema}");
        }
        assert_eq!(fault(Describes::Outputs, &json!({"x-purlin-outputs": "inputs"})), None);
    }
}
