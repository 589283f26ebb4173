//! Marks values as secret that a schema declares secret, with `writeOnly: true` or
//! `x-secret: true`.

use purlin_model::Value;
use serde_json::Value as Json;

use crate::compile::{SAME_VALUE, Schema, escaped};
use crate::validate::plain;

/// The maximum depth of a search; deeper values are secret as a whole.
const DEEPEST: usize = 200;

impl Schema {
    /// The same value, with everything secret that the schema declares secret. If forms differ, a
    /// value that is secret in one of them is secret.
    #[must_use]
    pub fn seal(&self, value: Value) -> Value {
        if self.secrets { self.sealed(&[&self.root], value, 0) } else { value }
    }

    /// The JSON Pointers to the parts of a value that the schema declares secret, whether or not they are
    /// marked as secret already.
    pub fn secret_places(&self, value: &Value) -> Vec<String> {
        let mut places = Vec::new();
        if self.secrets {
            marked(&self.seal(plain(value)), &mut String::new(), &mut places);
        }
        places
    }

    /// The same for a value at a path of the whole.
    #[must_use]
    pub fn seal_at<'p>(&self, path: impl IntoIterator<Item = &'p str>, value: Value) -> Value {
        if !self.secrets {
            return value;
        }
        let mut rules = vec![&self.root];
        for segment in path {
            let all = self.together(&rules);
            if all.iter().any(|one| is_secret(one)) {
                return value.into_secret();
            }
            rules = self.below(&all, segment);
        }
        self.sealed(&rules, value, 0)
    }

    fn sealed(&self, rules: &[&Json], value: Value, depth: usize) -> Value {
        if rules.is_empty() {
            return value;
        }
        let all = self.together(rules);
        if depth > DEEPEST || all.iter().any(|one| is_secret(one)) {
            return value.into_secret();
        }
        match value {
            Value::Map(map) => Value::Map(
                map.into_iter()
                    .map(|(name, item)| {
                        let item = self.sealed(&self.below(&all, &name), item, depth + 1);
                        (name, item)
                    })
                    .collect(),
            ),
            Value::List(items) => Value::List(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, item)| self.sealed(&self.item(&all, index), item, depth + 1))
                    .collect(),
            ),
            // It is unknown which part of it will be read.
            Value::Unknown(unknown) if all.iter().any(|one| mentions_secrets(one)) => {
                Value::Unknown(unknown).into_secret()
            }
            other => other,
        }
    }

    /// All schemas that apply to the same value.
    pub(crate) fn together<'s>(&'s self, rules: &[&'s Json]) -> Vec<&'s Json> {
        let mut all: Vec<&Json> = Vec::new();
        let mut open: Vec<&Json> = rules.to_vec();
        while let Some(one) = open.pop() {
            if all.iter().any(|known| std::ptr::eq(*known, one)) {
                continue;
            }
            all.push(one);
            let Json::Object(map) = one else { continue };
            if let Some((_, target)) =
                map.get("$ref").and_then(Json::as_str).and_then(|target| self.follow(target))
            {
                open.push(target);
            }
            for keyword in SAME_VALUE {
                match map.get(keyword) {
                    Some(Json::Array(several)) => open.extend(several),
                    Some(Json::Object(several)) if keyword == "dependentSchemas" => {
                        open.extend(several.values());
                    }
                    Some(one) => open.push(one),
                    None => {}
                }
            }
        }
        all
    }

    pub(crate) fn below<'s>(&'s self, all: &[&'s Json], name: &str) -> Vec<&'s Json> {
        let mut found = Vec::new();
        for rules in all.iter().filter_map(|one| one.as_object()) {
            let before = found.len();
            found.extend(rules.get("properties").and_then(|all| all.get(name)));
            for (pattern, schema) in
                rules.get("patternProperties").and_then(Json::as_object).into_iter().flatten()
            {
                if self.patterns.get(pattern).is_some_and(|regex| regex.is_match(name)) {
                    found.push(schema);
                }
            }
            if found.len() == before {
                found.extend(rules.get("additionalProperties"));
            }
            found.extend(rules.get("unevaluatedProperties"));
            // A path may go through a list.
            if let Ok(index) = name.parse::<usize>() {
                found.extend(items(rules, index));
            }
        }
        found
    }

    fn item<'s>(&'s self, all: &[&'s Json], index: usize) -> Vec<&'s Json> {
        all.iter().filter_map(|one| one.as_object()).flat_map(|rules| items(rules, index)).collect()
    }
}

/// Adds the JSON Pointers to the outermost values that are marked as secret.
fn marked(value: &Value, at: &mut String, places: &mut Vec<String>) {
    let mut below = |name: &str, item: &Value| {
        let length = at.len();
        at.push('/');
        at.push_str(&escaped(name));
        marked(item, at, places);
        at.truncate(length);
    };
    match value {
        Value::Secret(_) => places.push(at.clone()),
        Value::Map(map) => map.iter().for_each(|(name, item)| below(name, item)),
        Value::List(items) => {
            items.iter().enumerate().for_each(|(index, item)| below(&index.to_string(), item));
        }
        _ => {}
    }
}

fn items(rules: &serde_json::Map<String, Json>, index: usize) -> impl Iterator<Item = &Json> {
    let prefix = rules.get("prefixItems").and_then(|all| all.get(index));
    let rest = rules.get("items").filter(|_| prefix.is_none());
    prefix.into_iter().chain(rest).chain(rules.get("contains")).chain(rules.get("unevaluatedItems"))
}

pub(crate) fn is_secret(schema: &Json) -> bool {
    ["writeOnly", "x-secret"].iter().any(|keyword| schema.get(keyword) == Some(&Json::Bool(true)))
}

/// Whether a schema declares anything in it secret, or refers to a schema that may.
fn mentions_secrets(schema: &Json) -> bool {
    match schema {
        Json::Object(map) => {
            is_secret(schema) || map.contains_key("$ref") || map.values().any(mentions_secrets)
        }
        Json::Array(items) => items.iter().any(mentions_secrets),
        _ => false,
    }
}
