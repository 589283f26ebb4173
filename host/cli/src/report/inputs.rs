//! The inputs of a recipe as documents write them, for people. Secrets are left out.

use std::collections::BTreeSet;

use purlin_documents::names_a_credential;
use purlin_model::{InstallationShare, Piece, Recipe, Template, Value};
use serde_json::Value as Json;

/// How many inputs of a resource are shown.
const MOST: usize = 100;
/// After how many characters a value is cut.
const LONGEST: usize = 2_000;
const SECRET: &str = "[secret]";

/// Which values below a path are secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    /// Values whose names are those of credentials.
    Values,
    /// The same, but a reference to a secret store may take the place of such a value.
    Connection,
    /// Everything.
    Secrets,
    /// Everything except the parts of a reference that say where the secret is.
    References,
}

impl Below {
    /// The same for an entry of a map. `is_reference` is whether the map refers to a secret store.
    fn entry(self, name: &str, is_manifest: bool, is_reference: bool, is_plain: bool) -> Self {
        match self {
            Self::References if is_reference && is_plain && is_public(name) => Self::Values,
            Self::Values if is_manifest || names_a_credential(name) => Self::Secrets,
            Self::Connection if names_a_credential(name) => Self::References,
            _ => self,
        }
    }

    fn is_secret(self) -> bool {
        matches!(self, Self::Secrets | Self::References)
    }
}

/// The path of each input, and its value with its placeholders. Values with the names of secret
/// outputs of `share` are secret, too.
pub(crate) fn inputs(recipe: &Recipe, share: Option<&InstallationShare>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    if let Some(account) = &recipe.account {
        add("driver_account", account, Below::Values, &mut all);
    }
    let secrets = share.map(|share| share.offers.iter().filter(|one| one.is_sensitive)).into_iter().flatten();
    let secrets: BTreeSet<&str> = secrets.map(|one| &*one.name).collect();
    let below = |name: &str| match secrets.contains(name) {
        true => Below::Secrets,
        false => Below::Values.entry(name, false, false, false),
    };
    match &recipe.values {
        Template::Map(entries) if !secrets.is_empty() => {
            entries.iter().for_each(|(name, item)| add(name, item, below(name), &mut all));
        }
        Template::Constant(Value::Map(map)) if !secrets.is_empty() => {
            map.iter().for_each(|(name, item)| add_value(name, item, below(name), &mut all));
        }
        values => add("", values, Below::Values, &mut all),
    }
    add("", &recipe.secrets, Below::Secrets, &mut all);
    if let Some(references) = &recipe.secret_refs {
        add("secret_refs", references, Below::References, &mut all);
    }
    if let Some(connection) = &recipe.connection {
        add("connection", connection, Below::Connection, &mut all);
    }
    let more = all.len().saturating_sub(MOST);
    if more > 0 {
        all.truncate(MOST);
        all.push(("…".to_owned(), format!("and {more} more")));
    }
    all
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Adds what is below a path. Only placeholders of a secret are shown: they reveal nothing about it.
fn add(path: &str, template: &Template, below: Below, into: &mut Vec<(String, String)>) {
    match template {
        Template::Constant(value) => add_value(path, value, below, into),
        Template::Text(pieces) => {
            let piece = |piece: &Piece| match piece {
                Piece::Literal(_) if below.is_secret() => SECRET.to_owned(),
                Piece::Literal(literal) => literal.to_string(),
                Piece::Placeholder(placeholder) => placeholder.source().into_owned(),
            };
            push(path, pieces.iter().map(piece).collect(), into);
        }
        Template::List(items) => {
            for (number, item) in items.iter().enumerate() {
                add(&join(path, &number.to_string()), item, below, into);
            }
        }
        Template::Map(entries) => {
            let kind = entries.get("kind").and_then(|kind| match kind {
                Template::Constant(kind) => kind.as_str(),
                _ => None,
            });
            let is_reference = entries.contains_key("store");
            for (name, item) in entries.iter() {
                let is_plain = matches!(item, Template::Text(_) | Template::Constant(Value::String(_)));
                let entry = below.entry(name, kind == Some("Secret"), is_reference, is_plain);
                add(&join(path, name), item, entry, into);
            }
        }
    }
}

fn add_value(path: &str, value: &Value, below: Below, into: &mut Vec<(String, String)>) {
    match value {
        Value::Map(map) if !map.is_empty() => {
            let is_manifest = map.get("kind").and_then(Value::as_str) == Some("Secret");
            let is_reference = map.contains_key("store");
            for (name, item) in map.iter() {
                let is_plain = matches!(item, Value::String(_));
                let entry = below.entry(name, is_manifest, is_reference, is_plain);
                add_value(&join(path, name), item, entry, into);
            }
        }
        Value::Map(_) if path.is_empty() => {}
        Value::Null | Value::Bool(_) => push(path, value.redact().to_string(), into),
        _ if below.is_secret() => push(path, SECRET.to_owned(), into),
        Value::List(items) if items.iter().any(|item| matches!(item, Value::List(_) | Value::Map(_))) => {
            for (number, item) in items.iter().enumerate() {
                add_value(&join(path, &number.to_string()), item, below, into);
            }
        }
        value => match value.redact() {
            Json::String(text) => push(path, text, into),
            other => push(path, other.to_string(), into),
        },
    }
}

/// Whether a part of a reference to a secret store only says where the secret is.
fn is_public(name: &str) -> bool {
    matches!(name, "store" | "ref" | "version")
}

fn push(path: &str, mut text: String, into: &mut Vec<(String, String)>) {
    if has_credentials(&text) {
        SECRET.clone_into(&mut text);
    }
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    into.push((path.to_owned(), text));
}

/// Whether a text has an address with a password: `postgres://user:password@host`.
fn has_credentials(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '\n']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(json: &Json, below: Below) -> Vec<(String, String)> {
        let mut all = Vec::new();
        add("", &Template::Constant(Value::from(json.clone())), below, &mut all);
        all
    }

    #[test]
    fn inputs_are_shown_by_path() {
        let json = json!({"a": {"b": "x", "c": [1, 2]}, "d": [{"e": true}], "f": {}});
        let pairs = shown(&json, Below::Values);
        let pairs: Vec<_> = pairs.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(pairs, [("a.b", "x"), ("a.c", "[1,2]"), ("d.0.e", "true"), ("f", "{}")]);
    }

    #[test]
    fn secrets_are_not_shown() {
        for (below, json) in [
            (Below::Values, json!({"dbPassword": "s3cr3t"})),
            (Below::Values, json!({"api_key": {"deep": ["s3cr3t"]}})),
            (Below::Values, json!({"list": [{"token": "s3cr3t"}]})),
            (Below::Values, json!({"url": "postgres://me:s3cr3t@host/db"})),
            (Below::Values, json!({"urls": ["postgres://me:s3cr3t@host/db"]})),
            (Below::Values, json!({"manifest": {"kind": "Secret", "data": {"a": "s3cr3t"}}})),
            (Below::Values, json!({"password": {"store": "s3cr3t", "ref": "s3cr3t"}})),
            (Below::Secrets, json!({"store": "s3cr3t", "ref": "s3cr3t"})),
            (Below::References, json!({"store": {"value": "s3cr3t"}})),
            (Below::References, json!({"a": {"store": "vault", "value": "s3cr3t"}})),
            (Below::Connection, json!({"password": "s3cr3t"})),
            (Below::Connection, json!({"password": {"store": "vault", "value": "s3cr3t"}})),
        ] {
            let pairs = shown(&json, below);
            assert!(!pairs.is_empty());
            assert!(pairs.iter().all(|(_, text)| !text.contains("s3cr3t")), "{json}: {pairs:?}");
        }
    }

    #[test]
    fn references_to_secret_stores_are_shown() {
        let json = json!({"password": {"store": "vault", "ref": "db", "version": "3"}});
        for below in [Below::References, Below::Connection] {
            let pairs = shown(&json, below);
            assert!(pairs.iter().all(|(_, text)| text != SECRET), "{pairs:?}");
        }
    }
}
