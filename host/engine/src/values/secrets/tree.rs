//! The tree of `secret_refs`: its leaves, and the values that replace them.

use std::sync::Arc;

use purlin_model::{Diagnostic, DocumentPart, Location, Map, Value};

use super::{SecretFault, SecretRef, Vault};
use crate::values::rules::SchemaRules;

/// A leaf of the tree.
pub(super) enum Leaf {
    /// A literal secret.
    Value(Value),
    /// A reference to a store.
    Reference(SecretRef),
    /// A reference that is known only after provisioning; the store is named if known.
    Unknown { store: Option<Arc<str>> },
}

/// The path of a leaf below `secret_refs`, for messages.
pub(super) type LeafPath<'a> = &'a str;

/// Returns the replacement of a leaf, or the fault in it.
type Visit<'a> = dyn FnMut(LeafPath<'_>, Leaf) -> Result<Value, Box<Diagnostic>> + 'a;

/// The tree with its references only, as far as they are known.
pub(crate) fn references(refs: &Value) -> Value {
    let mut visit = |_: LeafPath<'_>, leaf: Leaf| {
        let Leaf::Reference(SecretRef { store, name, version }) = leaf else { return Ok(Value::Null) };
        let mut map =
            Map::from_iter([("store".into(), Value::String(store)), ("ref".into(), Value::String(name))]);
        map.extend(version.map(|version| ("version".into(), Value::String(version))));
        Ok(Value::Map(map))
    };
    walk(refs, &mut String::new(), &mut visit, &mut Vec::new())
}

/// The secrets that a tree names, as far as they are known. [`resolve`] reports the faults of the
/// tree.
pub(crate) fn wanted(refs: &Value) -> Vec<SecretRef> {
    let mut wanted = Vec::new();
    let mut visit = |_: LeafPath<'_>, leaf: Leaf| {
        if let Leaf::Reference(secret) = leaf {
            wanted.push(secret);
        }
        Ok(Value::Null)
    };
    walk(refs, &mut String::new(), &mut visit, &mut Vec::new());
    wanted
}

/// Replaces the references of a tree with the secrets that the vault has read. A secret that is not
/// known yet becomes unknown and secret.
///
/// # Errors
/// Each leaf whose secret the driver cannot have, at its place in the definition.
pub(crate) fn resolve(
    refs: &Value,
    driver: &str,
    vault: &Vault,
    rules: &SchemaRules,
    definition: &Location,
) -> Result<Value, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut visit = |place: LeafPath<'_>, leaf: Leaf| match leaf {
        Leaf::Value(value) => Ok(value.into_secret()),
        Leaf::Unknown { .. } => Ok(Value::unknown().into_secret()),
        Leaf::Reference(secret) => {
            vault.secret(&secret, driver).map_err(|fault| about("secret_refs", &secret, place, fault))
        }
    };
    let resolved = walk(refs, &mut String::new(), &mut visit, &mut faults);
    match faults.is_empty() {
        true => Ok(resolved),
        false => Err(placed(faults, "secrets", rules, definition)),
    }
}

/// The store secrets that a connection names, as far as they are known.
pub(crate) fn wanted_in(connection: &Value) -> Vec<SecretRef> {
    let mut wanted = Vec::new();
    let mut visit = |_: LeafPath<'_>, leaf: Leaf| {
        if let Leaf::Reference(secret) = leaf {
            wanted.push(secret);
        }
        Ok(Value::Null)
    };
    within(connection, &mut String::new(), &mut visit, &mut Vec::new());
    wanted
}

/// A connection or the fields of an account, with the store secrets in place of `{store, ref, version}`.
/// `root` is what it is called, and where it was written.
///
/// # Errors
/// Each secret that the driver cannot have, at its place.
pub(crate) fn resolve_in(
    written: Value,
    driver: &str,
    vault: &Vault,
    rules: &SchemaRules,
    (root, location): (&str, &Location),
) -> Result<Value, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut visit = |place: LeafPath<'_>, leaf: Leaf| match leaf {
        Leaf::Reference(secret) => {
            vault.secret(&secret, driver).map_err(|fault| about(root, &secret, place, fault))
        }
        Leaf::Value(_) | Leaf::Unknown { .. } => Ok(Value::unknown().into_secret()),
    };
    let resolved = within(&written, &mut String::new(), &mut visit, &mut faults);
    match faults.is_empty() {
        true => Ok(resolved),
        false => Err(placed(faults, root, rules, location)),
    }
}

/// The faults of leaves, each at its leaf in the part of `inputs` that a pointer calls `root`.
pub(super) fn placed(
    faults: Vec<(String, Diagnostic)>,
    root: &str,
    rules: &SchemaRules,
    definition: &Location,
) -> Vec<Diagnostic> {
    let at_leaf = |(place, fault): (String, Diagnostic)| {
        let pointer = format!("/{root}{}", place.replace('.', "/"));
        rules.at(fault, DocumentPart::Definition(definition), &pointer, false)
    };
    faults.into_iter().map(at_leaf).collect()
}

/// A connection with unknown values in place of its secrets.
pub(crate) fn unread(connection: &Value) -> Value {
    let mut visit = |_: LeafPath<'_>, _: Leaf| Ok(Value::unknown().into_secret());
    within(connection, &mut String::new(), &mut visit, &mut Vec::new())
}

/// Calls `found` for each store secret that a tree or a connection names, with the value at the
/// same place in a tree in which the secrets were read.
pub(crate) fn pair(written: &Value, read: &Value, found: &mut dyn FnMut(SecretRef, &Value)) {
    match (written.exposed(), read.exposed()) {
        (Value::Map(map), read) if is_reference(map) => {
            if let Ok(Leaf::Reference(secret)) = reference(map) {
                found(secret, read);
            }
        }
        (Value::Map(written), Value::Map(read)) => {
            let both = written.iter().filter_map(|(key, value)| Some((value, read.get(key)?)));
            both.for_each(|(written, read)| pair(written, read, found));
        }
        (Value::List(written), Value::List(read)) => {
            written.iter().zip(read.iter()).for_each(|(written, read)| pair(written, read, found));
        }
        _ => {}
    }
}

/// Replaces each `{store, ref, version}` within a value with the result of `visit`, and leaves the
/// rest unchanged.
pub(super) fn within(
    value: &Value,
    place: &mut String,
    visit: &mut Visit<'_>,
    faults: &mut Vec<(String, Diagnostic)>,
) -> Value {
    let mut below = |key: &str, value: &Value, visit: &mut Visit<'_>| {
        let length = place.len();
        place.push('.');
        place.push_str(key);
        let resolved = within(value, place, visit, faults);
        place.truncate(length);
        resolved
    };
    match value {
        Value::Map(map) if is_reference(map) => match reference(map).and_then(|leaf| visit(place, leaf)) {
            Ok(value) => value,
            Err(fault) => {
                faults.push((place.clone(), named(*fault, "connection", place)));
                Value::Null
            }
        },
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), below(key, value, visit)));
            Value::Map(entries.collect())
        }
        Value::List(items) => {
            let items = items.iter().enumerate();
            Value::List(items.map(|(index, value)| below(&index.to_string(), value, visit)).collect())
        }
        other => other.clone(),
    }
}

/// Whether a map names a store secret: it has `store`, `ref` and possibly `version`, and nothing
/// else.
pub(crate) fn is_reference(map: &Map) -> bool {
    let known = map.keys().all(|key| matches!(&**key, "store" | "ref" | "version"));
    known && map.get("store").is_some() && map.get("ref").is_some()
}

/// The fault of a secret that could not be read.
fn about(root: &str, secret: &SecretRef, place: LeafPath<'_>, fault: SecretFault) -> Box<Diagnostic> {
    let version = secret.version.as_ref().map(|version| format!(" in version `{version}`"));
    let what = format!("`{}`{}", secret.name, version.unwrap_or_default());
    diagnostic(root, place, &what, &secret.store, fault)
}

pub(super) fn diagnostic(
    root: &str,
    place: LeafPath<'_>,
    what: &str,
    store: &str,
    fault: SecretFault,
) -> Box<Diagnostic> {
    let SecretFault { why, help } = fault;
    let message = format!("`{root}{place}` reads {what} from the secret store `{store}`: {why}");
    let diagnostic = Diagnostic::error("secret-store", message);
    Box::new(match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    })
}

/// Replaces each leaf with the result of `visit`. Faults come with their places.
pub(super) fn walk(
    value: &Value,
    place: &mut String,
    visit: &mut Visit<'_>,
    faults: &mut Vec<(String, Diagnostic)>,
) -> Value {
    match value {
        Value::Map(map) => match leaf(map).filter(|_| !place.is_empty()) {
            Some(leaf) => leaf.and_then(|leaf| visit(place, leaf)).unwrap_or_else(|fault| {
                faults.push((place.clone(), named(*fault, "secret_refs", place)));
                Value::Null
            }),
            None => {
                let mut resolved = Map::with_capacity(map.len());
                for (key, value) in map {
                    resolved.insert(key.clone(), below(key, value, place, visit, faults));
                }
                Value::Map(resolved)
            }
        },
        Value::List(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, value)| below(&index.to_string(), value, place, visit, faults));
            Value::List(items.collect())
        }
        Value::Null if place.is_empty() => Value::map(),
        Value::Unknown(_) => Value::unknown().into_secret(),
        other => {
            let fault = wrong(format!("is {}, not a reference", other.kind()));
            faults.push((place.clone(), named(*fault, "secret_refs", place)));
            Value::Null
        }
    }
}

fn below(
    key: &str,
    value: &Value,
    place: &mut String,
    visit: &mut Visit<'_>,
    faults: &mut Vec<(String, Diagnostic)>,
) -> Value {
    let length = place.len();
    place.push('.');
    place.push_str(key);
    let resolved = walk(value, place, visit, faults);
    place.truncate(length);
    resolved
}

/// A fault of a leaf, still without its place.
fn wrong(what: impl Into<String>) -> Box<Diagnostic> {
    let fault = Diagnostic::error("secret-ref", what);
    Box::new(fault.help("write `{store: NAME, ref: NAME}` or `{value: TEXT}`"))
}

fn named(fault: Diagnostic, root: &str, place: &str) -> Diagnostic {
    match fault.code {
        "secret-ref" => Diagnostic { message: format!("`{root}{place}` {}", fault.message), ..fault },
        _ => fault,
    }
}

/// The leaf that a map represents, if it is one.
fn leaf(map: &Map) -> Option<Result<Leaf, Box<Diagnostic>>> {
    let only = |fields: &[&str]| map.keys().all(|key| fields.contains(&&**key));
    if let Some(value) = map.get("value").filter(|_| only(&["value"])) {
        return Some(Ok(Leaf::Value(value.clone())));
    }
    let is_tree = |value: &Value| matches!(value, Value::Map(_) | Value::List(_));
    let names = |field| map.get(field).is_some_and(|value| !is_tree(value));
    if !only(&["store", "ref", "version"]) || !(names("store") || names("ref")) {
        return None;
    }
    Some(reference(map))
}

fn reference(map: &Map) -> Result<Leaf, Box<Diagnostic>> {
    let (store, name) = (needed(map, "store")?, needed(map, "ref")?);
    let version = match map.get("version") {
        None | Some(Value::Null) => Some(None),
        // Versions are often numbers.
        Some(Value::Number(number)) => Some(Some(number.to_string().into())),
        Some(_) => needed(map, "version")?.map(Some),
    };
    Ok(match (store, name, version) {
        (Some(store), Some(name), Some(version)) => Leaf::Reference(SecretRef { store, name, version }),
        (store, ..) => Leaf::Unknown { store },
    })
}

/// The text of a field; `None` if it is still unknown.
fn needed(map: &Map, field: &str) -> Result<Option<Arc<str>>, Box<Diagnostic>> {
    match map.get(field) {
        None => Err(wrong(format!("lacks `{field}`"))),
        Some(Value::Unknown(_)) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Err(wrong(format!("has an empty `{field}`"))),
        Some(Value::String(text)) if text.contains(char::is_control) => {
            Err(wrong(format!("has control characters in `{field}`")))
        }
        Some(Value::String(text)) => Ok(Some(Arc::clone(text))),
        // Messages and the logs of the store would reveal it.
        Some(Value::Secret(_)) => {
            Err(wrong(format!("takes `{field}` from a secret, which must not be shown")))
        }
        Some(other) => Err(wrong(format!("has {} for `{field}`, not text", other.kind()))),
    }
}
