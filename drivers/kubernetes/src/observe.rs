//! A manifest as reality has it: our part of a live object, in the spelling of the manifest.
//!
//! The server normalises values (`0.5` of a CPU becomes `500m`) and adds values of others and
//! defaults. So the driver compares the live object with the result of applying the manifest: if
//! both agree, reality equals the manifest, in whatever spelling.

use data_encoding::BASE64;
use purlin_sdk::{Json, Object};

use crate::object::is_secret;

/// Keys that identify items of lists, the more specific first.
const KEYS: [&[&str]; 9] = [
    &["name"],
    &["containerPort", "protocol"],
    &["containerPort"],
    &["port", "protocol"],
    &["port"],
    &["mountPath"],
    &["devicePath"],
    &["type"],
    &["topologyKey", "whenUnsatisfiable"],
];

/// Replaces a value that somebody else put in a Secret.
const HIDDEN: &str = "(changed, not shown)";

/// The result of applying the manifest to a place.
#[derive(Clone, Copy)]
enum Applied<'a> {
    /// It is unknown.
    Unknown,
    /// This, or nothing.
    Known(Option<&'a Json>),
    /// It does not matter: the live value is returned as the server writes it.
    Ignored,
}

impl<'a> Applied<'a> {
    /// The same for a part of the place.
    fn part(self, of: impl FnOnce(&'a Json) -> Option<&'a Json>) -> Self {
        match self {
            Self::Known(applied) => Self::Known(applied.and_then(of)),
            other => other,
        }
    }
}

/// The manifest as reality has it. `applied` is the result of applying it to the live object, if
/// known.
pub(crate) fn manifest(wanted: &Object, live: &Json, applied: Option<&Json>) -> Json {
    let (live, applied) = (readable(wanted, live), applied.map(|applied| readable(wanted, applied)));
    let mut seen = Object::new();
    for (name, want) in wanted {
        let applied = match &applied {
            Some(applied) => Applied::Known(applied.get(name)),
            None => Applied::Unknown,
        };
        let found = project(want, live.get(name), applied);
        seen.extend(found.map(|found| (name.clone(), found)));
    }
    let mut seen = Json::Object(seen);
    if wanted.get("kind").is_some_and(|kind| kind == "Secret") {
        hide(wanted, &mut seen);
    }
    seen
}

/// The values of a live object in the places of a part of a manifest, as the server writes them.
pub(crate) fn raw(part: &Object, live: &Json) -> Json {
    let live = readable(part, live);
    let found = part
        .iter()
        .filter_map(|(name, want)| Some((name.clone(), project(want, live.get(name), Applied::Ignored)?)));
    Json::Object(found.collect())
}

/// With text in a Secret, if the manifest has text.
fn readable(wanted: &Object, object: &Json) -> Json {
    let mut object = object.clone();
    let Some(texts) = wanted.get("stringData").and_then(Json::as_object).filter(|_| is_secret(&object))
    else {
        return object;
    };
    let decoded = |name: &String| {
        let bytes = BASE64.decode(object["data"][name.as_str()].as_str()?.as_bytes()).ok()?;
        Some((name.clone(), Json::String(String::from_utf8_lossy(&bytes).into_owned())))
    };
    let texts: Object = texts.keys().filter_map(decoded).collect();
    object["stringData"] = Json::Object(texts);
    object
}

/// Hides values that somebody else put in a Secret.
fn hide(wanted: &Object, seen: &mut Json) {
    for part in ["data", "stringData"] {
        let Some(found) = seen.get_mut(part).and_then(Json::as_object_mut) else { continue };
        for (name, value) in found {
            if wanted.get(part).and_then(|wanted| wanted.get(name)) != Some(value) {
                *value = HIDDEN.into();
            }
        }
    }
}

/// The value of a place, in the spelling of the manifest; none if it has no value.
fn project(want: &Json, live: Option<&Json>, applied: Applied<'_>) -> Option<Json> {
    let as_wanted = match (applied, live) {
        // The server stores no empty maps and lists, and for some fields no `false`, `0` and `""`.
        (Applied::Known(applied), live) if applied == live => true,
        (Applied::Unknown, Some(live)) => alike(want, live),
        (_, None) => want.is_null(),
        _ => false,
    };
    if as_wanted {
        return Some(want.clone());
    }
    let live = live?;
    match (want, live) {
        (Json::Object(want), Json::Object(found)) => {
            let mut seen = Object::new();
            for (name, want) in want {
                let found = project(want, found.get(name), applied.part(|applied| applied.get(name)));
                seen.extend(found.map(|found| (name.clone(), found)));
            }
            Some(Json::Object(seen))
        }
        (Json::Array(want), Json::Array(found)) => Some(list(want, found, applied)),
        _ => Some(live.clone()),
    }
}

/// Items are matched by their keys; without keys, the list is compared as it is.
fn list(want: &[Json], live: &[Json], applied: Applied<'_>) -> Json {
    let known_by = |keys: &&&[&str]| {
        let telling = |item: &Json| keys.iter().all(|key| item.get(key).is_some());
        let distinct = want
            .iter()
            .enumerate()
            .all(|(n, item)| want.iter().skip(n + 1).all(|next| !same(keys, item, next)));
        want.iter().all(telling) && distinct && !want.is_empty()
    };
    let Some(keys) = KEYS.iter().find(known_by) else { return Json::Array(live.to_vec()) };
    let made = match applied {
        Applied::Known(Some(Json::Array(made))) => Some(made),
        _ => None,
    };
    let mut seen: Vec<Json> = Vec::with_capacity(want.len());
    for item in want {
        let found = live.iter().find(|found| same(keys, item, found));
        let applied = match made {
            Some(made) => Applied::Known(made.iter().find(|made| same(keys, item, made))),
            None => Applied::Unknown,
        };
        seen.extend(found.and_then(|found| project(item, Some(found), applied)));
    }
    // A value that applying would remove does not belong to others: it is ours, and changed.
    if let Some(made) = made {
        let surplus = live.iter().filter(|found| !made.iter().any(|made| same(keys, found, made)));
        seen.extend(surplus.cloned());
    }
    Json::Array(seen)
}

fn same(keys: &[&str], a: &Json, b: &Json) -> bool {
    keys.iter().all(|key| a.get(key) == b.get(key))
}

/// Whether a live value equals a manifest's, as far as that shows without the server: members that
/// others added are ignored, and quantities have many spellings.
fn alike(want: &Json, live: &Json) -> bool {
    match (want, live) {
        (Json::Object(want), Json::Object(live)) => want.iter().all(|(name, want)| match live.get(name) {
            Some(live) => alike(want, live),
            None => want.is_null(),
        }),
        (Json::Array(want), Json::Array(live)) => {
            want.len() == live.len() && want.iter().zip(live).all(|(want, live)| alike(want, live))
        }
        _ if want == live => true,
        _ => matches!((quantity(want), quantity(live)), (Some(a), Some(b)) if a == b),
    }
}

/// A quantity such as `500m`, `0.5`, `1Gi`, in thousandths.
fn quantity(value: &Json) -> Option<i128> {
    let text = match value {
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.clone(),
        _ => return None,
    };
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 3 || whole.len() > 15 {
        return None;
    }
    let thousandths = format!("{whole}{part:0<3}").parse::<i128>().ok()?;
    let factor: i128 = match unit {
        "m" => return (thousandths % 1000 == 0).then_some(thousandths / 1000),
        "" => 1,
        "k" => 1000,
        "M" => 1000i128.pow(2),
        "G" => 1000i128.pow(3),
        "T" => 1000i128.pow(4),
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    thousandths.checked_mul(factor)
}

/// A manifest as it was seen, with the texts of a Secret in its data.
pub(crate) fn comparable(seen: &Json) -> Json {
    let mut seen = seen.clone();
    let Some(Json::Object(texts)) = seen.get("stringData").cloned() else { return seen };
    let encoded = texts.into_iter().map(|(name, text)| match text.as_str() {
        Some(text) if text != HIDDEN => (name, BASE64.encode(text.as_bytes()).into()),
        _ => (name, text),
    });
    let encoded: Object = encoded.collect();
    crate::object::merge(&mut seen, &serde_json::json!({"data": encoded}));
    seen
}

/// Whether the live value is the one that was seen.
pub(crate) fn is_seen(was: &Json, is: Option<&Json>) -> bool {
    was == HIDDEN || is.is_some_and(|is| alike(was, is))
}

/// The value of a field that the API server names in a conflict, such as
/// `.spec.template.spec.containers[name="web"].image`.
pub(crate) fn field<'a>(object: &'a Json, path: &str) -> Option<&'a Json> {
    if path.is_empty() {
        return Some(object);
    }
    if let Some(rest) = path.strip_prefix('.') {
        // Names contain dots: the longest match is used.
        let names = object.as_object()?.iter().filter(|(name, _)| {
            let end = rest.strip_prefix(name.as_str());
            end.is_some_and(|end| end.is_empty() || end.starts_with(['.', '[']))
        });
        let mut names: Vec<_> = names.collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        return names.into_iter().find_map(|(name, value)| field(value, rest.get(name.len()..)?));
    }
    let (inside, rest) = path.strip_prefix('[')?.split_once(']')?;
    let items = object.as_array()?;
    if let Ok(index) = inside.parse::<usize>() {
        return field(items.get(index)?, rest);
    }
    if let Some(value) = inside.strip_prefix('=') {
        let value: Json = serde_json::from_str(value).ok()?;
        return field(items.iter().find(|item| **item == value)?, rest);
    }
    let wanted: Vec<(&str, Json)> = inside
        .split(',')
        .filter_map(|pair| pair.split_once('='))
        .filter_map(|(key, value)| Some((key, serde_json::from_str(value).ok()?)))
        .collect();
    let fits =
        |item: &&Json| wanted.iter().all(|(key, value)| item.get(key).is_none_or(|found| found == value));
    field(items.iter().find(fits)?, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(wanted: &Json, live: &Json, applied: Option<&Json>) -> Json {
        wanted.as_object().map_or(Json::Null, |wanted| manifest(wanted, live, applied))
    }

    #[test]
    fn unchanged_objects_match_the_inputs() {
        let wanted = json!({"spec": {"cpu": 0.5, "containers": [{"name": "a", "image": "x"}]}});
        let live = json!({"spec": {"cpu": "500m", "containers": [{"name": "a", "image": "x", "more": 1}]}});
        assert_eq!(seen(&wanted, &live, Some(&live)), wanted);
        assert_eq!(seen(&wanted, &live, None), wanted);
    }

    #[test]
    fn changes_are_shown_and_additions_are_not() {
        let wanted = json!({
            "metadata": {"labels": {"a": "1", "b": "2"}},
            "spec": {"replicas": 2, "containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]},
        });
        let live = json!({
            "metadata": {"labels": {"a": "9", "theirs": "1"}, "uid": "u"},
            "spec": {"replicas": 5, "containers": [{"name": "side", "image": "s"}, {"name": "a", "image": "z"}]},
        });
        let applied = json!({
            "metadata": {"labels": {"a": "1", "b": "2", "theirs": "1"}, "uid": "u"},
            "spec": {"replicas": 2, "containers": [
                {"name": "side", "image": "s"}, {"name": "a", "image": "x"}, {"name": "b", "image": "y"},
            ]},
        });
        let expected = json!({
            "metadata": {"labels": {"a": "9"}},
            "spec": {"replicas": 5, "containers": [{"name": "a", "image": "z"}]},
        });
        assert_eq!(seen(&wanted, &live, Some(&applied)), expected);
    }

    #[test]
    fn dropped_fields_are_no_change() {
        let wanted = json!({"data": {}, "spec": {"hostNetwork": false, "env": [], "automount": false}});
        let live = json!({"spec": {"dnsPolicy": "ClusterFirst"}});
        let mut applied = live.clone();
        applied["spec"]["automount"] = false.into();
        let mut expected = wanted.clone();
        expected["spec"].as_object_mut().expect("an object").shift_remove("automount");
        assert_eq!(seen(&wanted, &live, Some(&applied)), expected, "somebody took `automount` away");
    }

    #[test]
    fn a_changed_secret_is_not_shown() {
        let wanted = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "one", "b": "two"}});
        let live = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "b25l", "b": "dGhyZWU="}});
        let applied = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "b25l", "b": "dHdv"}});
        let found = seen(&wanted, &live, Some(&applied));
        assert_eq!(found["stringData"], json!({"a": "one", "b": "(changed, not shown)"}));
    }

    #[test]
    fn quantities_have_many_spellings() {
        for (a, b) in [(json!("0.5"), json!("500m")), (json!("1Gi"), json!("1024Mi")), (json!(2), json!("2"))]
        {
            assert_eq!(quantity(&a), quantity(&b), "{a} {b}");
        }
        assert_ne!(quantity(&json!("1G")), quantity(&json!("1Gi")));
        assert_eq!(quantity(&json!("web")), None);
        assert_eq!(quantity(&json!("é")), None);
    }

    #[test]
    fn fields_are_found_as_conflicts_name_them() {
        let object = json!({
            "metadata": {"annotations": {"a.example/b.c": "x"}},
            "spec": {"containers": [{"name": "a"}, {"name": "b", "ports": [{"containerPort": 80}]}], "set": ["x"]},
        });
        let at = |path: &str| field(&object, path).cloned();
        assert_eq!(at(".metadata.annotations.a.example/b.c"), Some(json!("x")));
        assert_eq!(
            at(".spec.containers[name=\"b\"].ports[containerPort=80,protocol=\"TCP\"].containerPort"),
            Some(json!(80))
        );
        assert_eq!(at(".spec.set[=\"x\"]"), Some(json!("x")));
        for wrong in [".spec.none", ".spec.containers[9]", ".spec.containers[", "x", ".spec.set[=y]"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
