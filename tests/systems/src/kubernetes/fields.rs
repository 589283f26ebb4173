//! Fields of objects and who owns them: what server-side apply is about.
//!
//! Follows the rules of Kubernetes' structured merge: structs and maps are merged member by member,
//! lists by their keys or as sets where the schema says so, and all else as one value.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::schema::{Node, Shape};

/// A step of a path into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Member of a struct or map.
    Field(String),
    /// Item of a list, by its keys as JSON.
    Key(String),
    /// Item of a set, as JSON.
    Item(String),
}

/// A path into an object.
pub(super) type Path = Vec<Step>;

/// Fields with their values; items of lists have none of their own.
pub(super) type Fields = BTreeMap<Path, Value>;

/// What a field path looks like in messages.
pub(super) fn shown(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) => text.push_str(&format!(".{name}")),
            Step::Key(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let pairs: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
                text.push_str(&format!("[{}]", pairs.join(",")));
            }
            Step::Item(value) => text.push_str(&format!("[={value}]")),
        }
    }
    text
}

/// All fields of a value.
pub(super) fn flatten(node: &Node, value: &Value) -> Fields {
    let mut fields = Fields::new();
    descend(node, value, &mut Vec::new(), &mut fields);
    fields
}

fn descend(node: &Node, value: &Value, path: &mut Path, fields: &mut Fields) {
    match (node.shape(), value) {
        (Shape::Granular, Value::Object(members)) => {
            if members.is_empty() && !path.is_empty() {
                fields.insert(path.clone(), json!({}));
            }
            for (name, member) in members {
                path.push(Step::Field(name.clone()));
                descend(&node.member(name), member, path, fields);
                path.pop();
            }
        }
        (Shape::Keyed(keys), Value::Array(items)) => {
            for item in items {
                path.push(Step::Key(key_of(&keys, item)));
                fields.insert(path.clone(), Value::Null);
                descend(&node.item(), item, path, fields);
                path.pop();
            }
        }
        (Shape::Set, Value::Array(items)) => {
            for item in items {
                path.push(Step::Item(item.to_string()));
                fields.insert(path.clone(), Value::Null);
                path.pop();
            }
        }
        _ => {
            fields.insert(path.clone(), value.clone());
        }
    }
}

/// The keys of an item, in alphabetical order as the API server writes them.
fn key_of(keys: &[String], item: &Value) -> String {
    let mut sorted: Vec<&String> = keys.iter().collect();
    sorted.sort();
    let value = |key: &str| match item.get(key) {
        None if key == "protocol" => json!("TCP"),
        found => found.cloned().unwrap_or_default(),
    };
    let keys: Map<String, Value> = sorted.into_iter().map(|key| (key.clone(), value(key))).collect();
    Value::Object(keys).to_string()
}

/// One value laid over another.
pub(super) fn merge(node: &Node, under: &Value, over: &Value) -> Value {
    match (node.shape(), under, over) {
        (Shape::Granular, Value::Object(under), Value::Object(over)) => {
            let mut merged = under.clone();
            for (name, value) in over {
                let value = match under.get(name) {
                    Some(under) => merge(&node.member(name), under, value),
                    None => value.clone(),
                };
                merged.insert(name.clone(), value);
            }
            Value::Object(merged)
        }
        (Shape::Keyed(keys), Value::Array(under), Value::Array(over)) => {
            let mut merged = under.clone();
            for item in over {
                let key = key_of(&keys, item);
                match merged.iter_mut().find(|known| key_of(&keys, known) == key) {
                    Some(known) => *known = merge(&node.item(), known, item),
                    None => merged.push(item.clone()),
                }
            }
            Value::Array(merged)
        }
        (Shape::Set, Value::Array(under), Value::Array(over)) => {
            let new = over.iter().filter(|item| !under.contains(item)).cloned();
            Value::Array(under.iter().cloned().chain(new).collect())
        }
        _ => over.clone(),
    }
}

/// Takes a field away, and what it leaves empty.
pub(super) fn remove(node: &Node, value: &mut Value, path: &[Step]) {
    let Some((step, rest)) = path.split_first() else { return };
    match (step, value) {
        (Step::Field(name), Value::Object(members)) => {
            let Some(member) = members.get_mut(name) else { return };
            let had_items = member.as_array().is_some_and(|items| !items.is_empty());
            if !rest.is_empty() {
                remove(&node.member(name), member, rest);
            }
            let left_empty = had_items && member.as_array().is_some_and(Vec::is_empty);
            let is_bare = rest.len() == 1 && member.as_object().is_some_and(Map::is_empty);
            if rest.is_empty() || left_empty || is_bare {
                members.shift_remove(name);
            }
        }
        (Step::Key(key), Value::Array(items)) => {
            let Shape::Keyed(keys) = node.shape() else { return };
            let Some(index) = items.iter().position(|item| key_of(&keys, item) == *key) else { return };
            if rest.is_empty() {
                items.remove(index);
            } else if let Some(item) = items.get_mut(index) {
                remove(&node.item(), item, rest);
            }
        }
        (Step::Item(text), Value::Array(items)) => {
            items.retain(|item| serde_json::from_str::<Value>(text).ok().as_ref() != Some(item));
        }
        _ => {}
    }
}

/// Fields as `managedFields` has them.
pub(super) fn to_json<'a>(paths: impl Iterator<Item = &'a Path>) -> Value {
    let mut root = json!({});
    for path in paths {
        let mut at = &mut root;
        for step in path {
            let name = match step {
                Step::Field(name) => format!("f:{name}"),
                Step::Key(keys) => format!("k:{keys}"),
                Step::Item(value) => format!("v:{value}"),
            };
            at = &mut at[name.as_str()];
            if at.is_null() {
                *at = json!({});
            }
        }
        if matches!(path.last(), Some(Step::Key(_))) {
            at["."] = json!({});
        }
    }
    root
}
