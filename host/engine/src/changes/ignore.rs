//! Inputs whose changes are ignored (SPEC §9, `lifecycle.ignore_changes`).

use purlin_model::driver::Inputs;
use purlin_model::{InputPath, Map, Value};

/// Replaces the desired value at each path with the recorded one. Returns the paths that exist on
/// neither side: such a path is a mistake.
pub(crate) fn keep_recorded<'a>(
    paths: &'a [InputPath],
    recorded: &Inputs,
    wanted: &mut Inputs,
) -> Vec<&'a InputPath> {
    let mut wrong = Vec::new();
    for path in paths {
        let mut segments = segments(&path.pointer).into_iter();
        let root = segments.next().unwrap_or_default();
        let rest: Vec<String> = segments.collect();
        let found = match root.as_str() {
            "values" => carry(&rest, Some(&recorded.values), &mut wanted.values),
            "secrets" => carry(&rest, Some(&recorded.secrets), &mut wanted.secrets),
            "params" => carry(&rest, Some(&recorded.params), &mut wanted.params),
            "account" => {
                wanted.account.clone_from(&recorded.account);
                true
            }
            _ => false,
        };
        if !found {
            wrong.push(path);
        }
    }
    wrong
}

/// The segments of a pointer.
pub(crate) fn segments(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()
}

/// Copies the value at a path. Returns whether the path exists on either side.
fn carry(path: &[String], old: Option<&Value>, new: &mut Value) -> bool {
    let Some((segment, rest)) = path.split_first() else {
        let found = old.is_some() || *new != Value::Null;
        *new = old.cloned().unwrap_or_default();
        return found;
    };
    if let Value::Secret(secret) = new {
        let mut plain = secret.expose().clone();
        let found = carry(path, old.map(Value::exposed), &mut plain);
        *new = plain.into_secret();
        return found;
    }
    let old = old.map(Value::exposed);
    match new {
        Value::Map(map) => in_map(map, segment, rest, old),
        Value::List(items) if segment == "*" => {
            let mut found = false;
            for (index, item) in items.iter_mut().enumerate() {
                let old = old.and_then(|old| old.get(&index.to_string()));
                found |= carry(rest, old.as_ref(), item);
            }
            found
        }
        Value::List(items) => {
            let item = segment.parse::<usize>().ok().and_then(|index| items.get_mut(index));
            let old = old.and_then(|old| old.get(segment));
            item.is_some_and(|item| carry(rest, old.as_ref(), item))
        }
        // The value below is still unknown; the path is checked again once it is known.
        Value::Unknown(_) => true,
        _ => false,
    }
}

fn in_map(map: &mut Map, segment: &str, rest: &[String], old: Option<&Value>) -> bool {
    let old = old.and_then(Value::as_map);
    let mut names: Vec<std::sync::Arc<str>> = Vec::new();
    if segment == "*" {
        names.extend(map.keys().cloned());
        names.extend(
            old.into_iter().flat_map(|map| map.keys()).filter(|name| !map.contains_key(*name)).cloned(),
        );
    } else {
        names.push(segment.into());
    }
    let mut found = false;
    for name in names {
        let before = old.and_then(|old| old.get(&name));
        match (map.get_mut(&name), before) {
            (Some(now), before) if before.is_some() || !rest.is_empty() => found |= carry(rest, before, now),
            (Some(_), _) => {
                map.remove(&name);
                found = true;
            }
            (None, Some(before)) if rest.is_empty() => {
                map.insert(name, before.clone());
                found = true;
            }
            (None, before) => found |= before.is_some(),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use purlin_model::Location;
    use serde_json::json;

    use super::*;

    fn with(values: serde_json::Value) -> Inputs {
        Inputs { values: values.into(), ..Inputs::default() }
    }

    fn path(pointer: &str) -> InputPath {
        let text: Arc<str> = pointer.into();
        InputPath { pointer: Arc::clone(&text), text, location: Location::default() }
    }

    #[test]
    fn ignored_inputs_keep_their_recorded_values() {
        let old = with(json!({"a": 1, "l": [{"x": 1, "y": 1}, {"x": 2, "y": 2}], "gone": 5}));
        let mut new = with(json!({"a": 2, "l": [{"x": 8, "y": 8}, {"x": 9, "y": 9}], "new": 1}));
        let paths = ["/values/a", "/values/l/*/x", "/values/gone", "/values/new"].map(path);
        assert!(keep_recorded(&paths, &old, &mut new).is_empty());
        assert_eq!(new, with(json!({"a": 1, "l": [{"x": 1, "y": 8}, {"x": 2, "y": 9}], "gone": 5})));
    }

    #[test]
    fn a_path_that_does_not_exist_is_an_error() {
        let old = with(json!({"a": {"b": 1}}));
        let mut new = with(json!({"a": {"b": 2}}));
        let paths = ["/values/a/c", "/values/nope/*", "/values/a/b/c"].map(path);
        assert_eq!(keep_recorded(&paths, &old, &mut new).len(), 3);
        assert_eq!(new, with(json!({"a": {"b": 2}})));
    }

    #[test]
    fn a_copied_secret_stays_secret() {
        let secret = |v: i64| Value::from(json!({"p": v})).into_secret();
        let old = Inputs {
            secrets: Value::Map([("s".into(), secret(1))].into_iter().collect()),
            ..Inputs::default()
        };
        let mut new = Inputs {
            secrets: Value::Map([("s".into(), secret(2))].into_iter().collect()),
            ..Inputs::default()
        };
        assert!(keep_recorded(&[path("/secrets/s/p")], &old, &mut new).is_empty());
        assert_eq!(new, old);
    }
}
