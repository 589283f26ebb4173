//! Whether a schema has a place for a value, whether or not the value is given.

use serde_json::Value as Json;

use crate::compile::Schema;

impl Schema {
    /// Whether there can be a value at a path: `Some(true)` if a rule describes it, `Some(false)` if
    /// the rules exclude it, and `None` if they say nothing about it. `*` is any entry or item.
    pub fn has_place<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<bool> {
        let mut rules = vec![&self.root];
        for segment in path {
            let all = self.together(&rules);
            let objects = || all.iter().filter_map(|one| one.as_object());
            let entries = |keyword| {
                objects().filter_map(move |one| one.get(keyword)?.as_object()).flat_map(|map| map.values())
            };
            let (is_named, mut below): (bool, Vec<&Json>) = match segment {
                "*" => {
                    let other = ["additionalProperties", "unevaluatedProperties", "items", "contains"];
                    let other = other.iter().flat_map(|name| objects().filter_map(|one| one.get(*name)));
                    let prefix = objects().filter_map(|one| one.get("prefixItems")?.as_array()).flatten();
                    let named: Vec<&Json> =
                        entries("properties").chain(entries("patternProperties")).chain(prefix).collect();
                    (!named.is_empty(), named.into_iter().chain(other).collect())
                }
                name => {
                    let is_named =
                        objects().any(|one| one.get("properties").is_some_and(|all| all.get(name).is_some()));
                    (is_named, self.below(&all, name))
                }
            };
            if !is_named {
                let is_excluded = !below.is_empty() && below.iter().all(|one| **one == Json::Bool(false));
                below.retain(|one| one.is_object());
                if below.is_empty() {
                    return is_excluded.then_some(false);
                }
            }
            rules = below;
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_described_excluded_or_open() {
        let schema = Schema::new(&json!({
            "type": "object",
            "properties": {
                "values": {
                    "type": "object",
                    "properties": {"mode": true, "tags": {"additionalProperties": {"properties": {"on": {}}}}},
                    "patternProperties": {"^x-": {"type": "string"}},
                    "allOf": [{"properties": {"list": {"$ref": "#/$defs/list"}}}],
                    "additionalProperties": false
                },
                "secrets": {"type": "object"}
            },
            "$defs": {"list": {"items": {"properties": {"n": {}}, "additionalProperties": false}}}
        }))
        .expect("a schema");
        for (path, expected) in [
            ("values/mode", Some(true)),
            ("values/x-other", Some(true)),
            ("values/tags/any/on", Some(true)),
            ("values/tags/*/on", Some(true)),
            ("values/list/0/n", Some(true)),
            ("values/list/*/n", Some(true)),
            ("values/list/*/m", Some(false)),
            ("values/mod", Some(false)),
            ("secrets/token", None),
            ("other", None),
        ] {
            assert_eq!(schema.has_place(path.split('/')), expected, "{path}");
        }
    }
}
