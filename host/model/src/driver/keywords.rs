//! The keywords of a driver's schemas that define the effect of a change (`wit/lifecycle.wit`,
//! `type-schema`).

use std::sync::Arc;

use serde_json::Value as Json;

use super::{Impact, Inputs};
use crate::{Map, Value};

/// The meta-schema of a driver's schemas: every keyword of Purlin, with its values and its meaning. A
/// keyword that is not in it makes a type unusable.
pub const META_SCHEMA: &str = include_str!("schema.json");

/// A change replaces the resource.
pub const REPLACES: &str = "x-purlin-replaces";
/// A change is rejected.
const IMMUTABLE: &str = "x-purlin-immutable";
/// Only `create` returns it.
const WRITE_ONCE: &str = "x-purlin-write-once";
/// Marks a resource as holding data, which is lost when it is deleted: `true`, or a description of the
/// data in a few words.
pub const HOLDS_DATA: &str = "x-purlin-holds-data";
/// What the driver reaches at the address that is the value.
pub const REACHES: &str = "x-purlin-reaches";
/// The port beside a server, where its value names none.
pub const PORT: &str = "x-purlin-port";
/// The HTTP methods that are used.
pub const METHODS: &str = "x-purlin-methods";
/// How the outputs follow from the inputs.
pub const OUTPUTS: &str = "x-purlin-outputs";
/// The maximum number of references on the way to a property of a schema.
const MOST_STEPS: usize = 64;

/// Places that change and may not change in place, as pointers into the inputs.
#[derive(Debug, Default, PartialEq)]
struct Changed {
    /// The resource is replaced.
    replaces: Vec<String>,
    /// The change is rejected.
    immutable: Vec<String>,
}

/// Adds the effects that the schema of inputs defines to the driver's own answer about a change:
/// which changed places replace the resource, and which may not change.
pub fn add_effects(schema: &Json, before: &Inputs, after: &Inputs, impact: &mut Impact) {
    let Changed { replaces, immutable } = changed(schema, before, after);
    impact.immutable = immutable;
    for pointer in replaces {
        // If the driver replaces everything, there is nothing to add.
        if !impact.replaces.iter().any(|known| known.is_empty() || *known == pointer) {
            impact.replaces.push(pointer);
        }
    }
}

/// The changed places that a schema of inputs marks. An unknown value may change.
fn changed(schema: &Json, before: &Inputs, after: &Inputs) -> Changed {
    let mut found = Changed::default();
    for (part, before, after) in [
        ("values", &before.values, &after.values),
        ("secrets", &before.secrets, &after.secrets),
        ("params", &before.params, &after.params),
        ("connection", &before.connection, &after.connection),
    ] {
        let Some(rules) = property(schema, schema, part) else { continue };
        let mut walk = Walk { root: schema, path: format!("/{part}"), found: &mut found };
        walk.compare(rules, Some(before), Some(after), 0);
    }
    found
}

/// A path through a schema and the values that it applies to.
struct Walk<'a> {
    root: &'a Json,
    path: String,
    found: &'a mut Changed,
}

impl Walk<'_> {
    fn compare(&mut self, rules: &Json, before: Option<&Value>, after: Option<&Value>, depth: usize) {
        if before == after || depth > MOST_STEPS {
            return;
        }
        let rules = resolved(self.root, rules);
        if is_marked(rules, IMMUTABLE) {
            // An unknown value is assessed when it is known.
            if !after.is_some_and(Value::has_unknown) {
                self.found.immutable.push(self.path.clone());
            }
            return;
        }
        if is_marked(rules, REPLACES) {
            self.found.replaces.push(self.path.clone());
            return;
        }
        if let (Some(rules), Some(Value::List(before)), Some(Value::List(after))) =
            (rules.get("items"), before.map(Value::exposed), after.map(Value::exposed))
        {
            // Items added or removed at the end do not change those that stay.
            for (index, (before, after)) in before.iter().zip(after.iter()).enumerate() {
                let length = self.path.len();
                self.path.push_str(&format!("/{index}"));
                self.compare(rules, Some(before), Some(after), depth + 1);
                self.path.truncate(length);
            }
        }
        let within = |value: Option<&Value>, name: &str| value.and_then(|value| value.get(name));
        for name in names(rules) {
            let Some(rules) = property(self.root, rules, name) else { continue };
            let length = self.path.len();
            self.path.push('/');
            self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
            self.compare(rules, within(before, name).as_ref(), within(after, name).as_ref(), depth + 1);
            self.path.truncate(length);
        }
    }
}

/// The part of a value that a schema marks with [`REPLACES`], with defaults for missing values: a
/// default of a later version of the driver is assumed to be the earlier value.
pub fn replacing_part(root: &Json, rules: &Json, value: Option<&Value>) -> Option<Value> {
    fn part(root: &Json, rules: &Json, value: Option<&Value>, depth: usize) -> Option<Value> {
        let rules = resolved(root, rules);
        let default = || rules.get("default").map(|default| Value::from(default.clone()));
        if is_marked(rules, REPLACES) {
            return value.cloned().or_else(default);
        }
        if depth > MOST_STEPS {
            return None;
        }
        let value = value.cloned().or_else(default);
        let parts = names(rules).filter_map(|name| {
            let value = value.as_ref().and_then(|value| value.get(name));
            Some((Arc::from(name), part(root, property(root, rules, name)?, value.as_ref(), depth + 1)?))
        });
        let parts: Map = parts.collect();
        (!parts.is_empty()).then_some(Value::Map(parts))
    }
    part(root, rules, value, 0)
}

/// The fields of a group of inputs without any part that is marked with [`REPLACES`].
pub fn fields_without_identity<'a>(root: &'a Json, rules: &'a Json) -> impl Iterator<Item = &'a str> {
    fn has_identity(root: &Json, rules: &Json, depth: usize) -> bool {
        let rules = resolved(root, rules);
        depth > MOST_STEPS
            || is_marked(rules, REPLACES)
            || names(rules).any(|name| {
                property(root, rules, name).is_some_and(|rules| has_identity(root, rules, depth + 1))
            })
    }
    let rules = resolved(root, rules);
    names(rules)
        .filter(move |name| property(root, rules, name).is_some_and(|rules| !has_identity(root, rules, 0)))
}

/// Keeps the inputs marked with [`REPLACES`] that the documents omit: the driver chose them, and no
/// omitted value replaces a resource. `part` is the group of inputs.
pub fn keep_omitted(schema: &Json, part: &str, before: &Value, after: &mut Value) {
    fn keep(root: &Json, rules: &Json, before: &Value, after: &mut Value, depth: usize) {
        let (Value::Map(before), Value::Map(after)) = (before.exposed(), after) else { return };
        let rules = resolved(root, rules);
        for name in names(rules) {
            let (Some(rules), Some(there)) = (property(root, rules, name), before.get(name)) else {
                continue;
            };
            match after.get_mut(name) {
                Some(after) if depth < MOST_STEPS => keep(root, rules, there, after, depth + 1),
                None if is_marked(resolved(root, rules), REPLACES) => {
                    after.insert(name.into(), there.clone());
                }
                _ => {}
            }
        }
    }
    if let Some(rules) = property(schema, schema, part) {
        keep(schema, rules, before, after, 0);
    }
}

/// The names of outputs that only `create` returns.
pub fn write_once_outputs(schema: &Json) -> impl Iterator<Item = &str> {
    names(schema).filter(|name| {
        property(schema, schema, name).is_some_and(|rules| is_marked(resolved(schema, rules), WRITE_ONCE))
    })
}

/// Keeps values that only `create` returns if they are not returned again.
pub fn keep_write_once(schema: &Json, before: &Value, outputs: &mut Value) {
    let (Value::Map(before), Value::Map(outputs)) = (before.exposed(), outputs) else { return };
    for name in write_once_outputs(schema) {
        let is_returned = outputs.get(name).is_some_and(|value| !matches!(value.exposed(), Value::Null));
        if let (false, Some(known)) = (is_returned, before.get(name)) {
            outputs.insert(name.into(), known.clone());
        }
    }
}

/// Whether a schema of inputs defines the effect of any change.
pub fn has_change_keywords(schema: &Json) -> bool {
    has_keyword(schema, &|name| matches!(name, REPLACES | IMMUTABLE))
}

/// Whether a schema of outputs has any output that only `create` returns.
pub fn has_write_once_outputs(schema: &Json) -> bool {
    has_keyword(schema, &|name| name == WRITE_ONCE)
}

fn has_keyword(schema: &Json, of: &dyn Fn(&str) -> bool) -> bool {
    match schema {
        Json::Object(map) => {
            map.iter().any(|(name, value)| of(name) && *value == true || has_keyword(value, of))
        }
        Json::Array(items) => items.iter().any(|item| has_keyword(item, of)),
        _ => false,
    }
}

fn is_marked(rules: &Json, keyword: &str) -> bool {
    rules.get(keyword) == Some(&Json::Bool(true))
}

fn names(rules: &Json) -> impl Iterator<Item = &str> {
    rules
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flat_map(|all| all.keys())
        .map(String::as_str)
}

/// The schema of a property.
pub fn property<'a>(root: &'a Json, rules: &'a Json, name: &str) -> Option<&'a Json> {
    resolved(root, rules).get("properties")?.get(name)
}

/// Follows `$ref` to other parts of the same schema.
pub(super) fn resolved<'a>(root: &'a Json, mut rules: &'a Json) -> &'a Json {
    for _ in 0..MOST_STEPS {
        let to = rules.get("$ref").and_then(Json::as_str).and_then(|to| to.strip_prefix('#'));
        match to.and_then(|to| root.pointer(to)) {
            Some(part) => rules = part,
            None => break,
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Json {
        json!({
            "$defs": {"place": {"properties": {"zone": {"x-purlin-replaces": true}, "rack": {}}}},
            "properties": {
                "values": {"properties": {
                    "size": {"type": "integer"},
                    "name": {"x-purlin-replaces": true},
                    "engine": {"x-purlin-immutable": true},
                    "place": {"$ref": "#/$defs/place"},
                }},
                "connection": {"properties": {"host": {"x-purlin-replaces": true}, "password": {}}},
            },
        })
    }

    fn inputs(values: Json, connection: Json) -> Inputs {
        Inputs { values: values.into(), connection: connection.into(), ..Inputs::default() }
    }

    #[test]
    fn the_meta_schema_has_every_keyword() {
        let meta: Json = serde_json::from_str(META_SCHEMA).expect("JSON");
        let mut keywords =
            [REPLACES, IMMUTABLE, WRITE_ONCE, HOLDS_DATA, REACHES, PORT, METHODS, OUTPUTS].map(Json::from);
        keywords.sort_by_key(Json::to_string);
        let mut described: Vec<&str> = names(&meta).filter(|name| name.starts_with("x-purlin-")).collect();
        described.sort_unstable();
        assert_eq!(json!(described), json!(keywords));
        let mut allowed = meta["propertyNames"]["anyOf"][2]["enum"].as_array().expect("a list").clone();
        allowed.sort_by_key(Json::to_string);
        assert_eq!(json!(allowed), json!(keywords));
    }

    #[test]
    fn changes_are_found_where_a_schema_marks_them() {
        let before = inputs(
            json!({"size": 1, "name": "a", "engine": "x", "place": {"zone": 1, "rack": 1}}),
            json!({"host": "a", "password": "p"}),
        );
        let found = |values, connection| changed(&schema(), &before, &inputs(values, connection));
        let same = || json!({"host": "a", "password": "p"});
        assert_eq!(
            found(
                json!({"size": 2, "name": "a", "engine": "x", "place": {"zone": 1, "rack": 2}}),
                json!({"host": "a", "password": "q"}),
            ),
            Changed::default()
        );
        assert_eq!(
            found(json!({"name": "b", "engine": "x", "place": {"zone": 2}}), json!({"host": "b"})).replaces,
            ["/values/name", "/values/place/zone", "/connection/host"]
        );
        assert_eq!(found(json!({"name": "a"}), same()).immutable, ["/values/engine"]);
        assert_eq!(found(json!({"name": "a"}), same()).replaces, ["/values/place/zone"]);
        let mut unknown = before.clone();
        unknown.values = Value::from(json!({"engine": "x", "place": {"zone": 1, "rack": 1}}));
        if let Value::Map(map) = &mut unknown.values {
            map.insert("name".into(), Value::unknown());
        }
        assert_eq!(changed(&schema(), &before, &unknown).replaces, ["/values/name"]);
    }

    #[test]
    fn items_of_lists_are_compared_one_by_one() {
        let schema = json!({"properties": {"values": {"properties": {"disks": {"items": {
            "properties": {"kind": {"x-purlin-replaces": true}, "size": {}},
        }}}}}});
        let of = |disks: Json| inputs(json!({"disks": disks}), json!({}));
        let before = of(json!([{"kind": "a", "size": 1}, {"kind": "b", "size": 1}]));
        let found = |disks| changed(&schema, &before, &of(disks)).replaces;
        assert_eq!(found(json!([{"kind": "a", "size": 2}, {"kind": "c"}])), ["/values/disks/1/kind"]);
        assert!(found(json!([{"kind": "a"}, {"kind": "b"}, {"kind": "c"}])).is_empty());
    }

    #[test]
    fn a_new_default_does_not_mean_another_system() {
        let rules = json!({"properties": {
            "host": {"x-purlin-replaces": true},
            "port": {"x-purlin-replaces": true, "default": 1},
            "tls": {"properties": {"host": {"x-purlin-replaces": true, "default": "h"}, "key": {}}},
        }});
        let part = |value: Json| replacing_part(&rules, &rules, Some(&value.into()));
        assert_eq!(part(json!({"host": "a"})), part(json!({"host": "a", "port": 1, "tls": {"key": 1}})));
        assert_ne!(part(json!({"host": "a"})), part(json!({"host": "a", "port": 2})));
    }

    #[test]
    fn an_omitted_value_replaces_nothing() {
        let before = Value::from(json!({"size": 1, "name": "a", "place": {"zone": 1, "rack": 1}}));
        let kept = |after: Json| {
            let mut after = Value::from(after);
            keep_omitted(&schema(), "values", &before, &mut after);
            after.redact()
        };
        assert_eq!(kept(json!({"place": {}})), json!({"place": {"zone": 1}, "name": "a"}));
        assert_eq!(kept(json!({"name": "b"})), json!({"name": "b"}));
    }

    #[test]
    fn write_once_outputs_stay() {
        let schema = json!({"properties": {"token": {"x-purlin-write-once": true}, "url": {}}});
        let before = Value::from(json!({"token": "t", "url": "u"}));
        for returned in [json!({"url": "v"}), json!({"url": "v", "token": null})] {
            let mut outputs = Value::from(returned);
            keep_write_once(&schema, &before, &mut outputs);
            assert_eq!(outputs, Value::from(json!({"url": "v", "token": "t"})));
        }
        let mut outputs = Value::from(json!({"token": "new"}));
        keep_write_once(&schema, &before, &mut outputs);
        assert_eq!(outputs, Value::from(json!({"token": "new"})));
    }

    #[test]
    fn a_schema_that_refers_to_itself_has_an_end() {
        let schema = json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "properties": {
            "values": {"$ref": "#/$defs/a"},
            "params": {"properties": {"deep": {"$ref": "#/properties/params"}}},
        }});
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({"deep": deep});
        }
        let after = Inputs { values: json!({"x": 1}).into(), params: deep.into(), ..Inputs::default() };
        assert_eq!(changed(&schema, &Inputs::default(), &after), Changed::default());
    }
}
