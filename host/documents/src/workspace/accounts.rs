//! Accounts of the workspace: what definitions name as `driver_account` (SPEC §8).
//!
//! ```yaml
//! accounts:
//!   acme-dev:
//!     type: aws
//!     fields:
//!       region: eu-central-1
//!       access_key_id: AKIAIOSFODNN7EXAMPLE
//!       secret_access_key: {store: vault, ref: aws/acme-dev}
//! ```

use std::sync::Arc;

use purlin_model::Account as Read;
use serde_json::{Value, json};

use super::stores;
use crate::declare::{Form, form};
use crate::kinds::{Names, Object, Text};
use crate::reader::Reader;
use crate::template::constant;
use crate::yaml::{Entry, Node, NodeKind, Span};

/// What a driver reads beside the fields.
const RESERVED: [&str; 2] = ["name", "type"];

form! {
    /// An account.
    pub(crate) struct Account {
        /// What it is for, such as `aws`. Drivers read it as `type`.
        TYPE: Text = needed "type";
        /// Everything else that its drivers need. A secret is `{store: STORE, ref: NAME}`.
        FIELDS: Object = "fields", "{region: eu-central-1, token: {store: vault, ref: token}}";
    }

    fn constrain(schema: &mut Value) {
        schema["properties"]["fields"]["propertyNames"] = json!({"not": {"enum": RESERVED}});
    }
}

/// The name of an account.
pub(crate) struct AccountName;

impl Names for AccountName {
    fn schema() -> Value {
        json!({"pattern": "^[^\\s\\p{Cc}]+$"})
    }
}

/// The name of a store, where it was written, and the secret that is read from it.
pub(super) type Used = (Arc<str>, Span);

/// Reads one account, and adds the stores that it reads to `used`.
pub(super) fn read(reader: &mut Reader<'_>, entry: &Entry<'_>, used: &mut Vec<Used>) -> Option<Read> {
    let named = !entry.key.is_empty() && !entry.key.contains(|c: char| c.is_whitespace() || c.is_control());
    if !named {
        let message = format!("`{}` is not a valid account name", entry.key.escape_debug());
        let fault = reader.about(&entry.key_span, "bad-name", message);
        reader.report(fault.help("a name has no spaces, such as `acme-dev`"));
    }
    let what = format!("the account `{}`", entry.key);
    let account = Account::open(reader, &entry.value, &what)?;
    let mut fields = purlin_model::Value::map();
    if let Some(node) = account.node(Account::FIELDS) {
        for field in reader.map(node, "`fields`")? {
            if RESERVED.contains(&&*field.key) {
                let message =
                    format!("`{}` is not a field of {what}: drivers read that beside them", field.key);
                let fault = reader.about(&field.key_span, "bad-name", message);
                reader.report(fault.help("choose another name"));
                return None;
            }
        }
        stores::no_placeholders(reader, node, "an account; a text with `${` is kept in a secret store");
        for field in node.entries().unwrap_or_default() {
            references(reader, &field.value, used);
        }
        fields = constant(node);
    }
    let kind = account.read(reader, Account::TYPE);
    if account.node(Account::TYPE).is_some_and(|node| node.as_str().is_some_and(|text| text.contains("${"))) {
        stores::no_placeholders(reader, account.node(Account::TYPE)?, "an account");
    }
    Some(Read { kind: kind.filter(|_| named)?, fields, location: reader.at(&entry.key_span) })
}

/// Checks the maps that name secrets: one with `store` or `ref` has both, and at most `version` besides.
fn references(reader: &mut Reader<'_>, node: &Node<'_>, used: &mut Vec<Used>) {
    const HELP: &str = "write `{store: STORE, ref: NAME}`, perhaps with `version`, or the value itself";
    let entries = match &node.kind {
        NodeKind::List(items) => return items.iter().for_each(|item| references(reader, item, used)),
        NodeKind::Map(entries) => entries,
        _ => return,
    };
    let part = |name: &str| entries.iter().find(|entry| &*entry.key == name);
    let known = |name: &str| matches!(name, "store" | "ref" | "version" | "value");
    let is_meant = part("store").is_some() && part("ref").is_some()
        || (part("store").or(part("ref")).or(part("value")).is_some())
            && entries.iter().all(|entry| known(&entry.key));
    if !is_meant {
        return entries.iter().for_each(|entry| references(reader, &entry.value, used));
    }
    for entry in entries.iter().filter(|entry| !matches!(&*entry.key, "store" | "ref" | "version")) {
        let message = format!("`{}` does not belong to the name of a secret", entry.key.escape_debug());
        reader.wrong_value(&entry.key_span, message, HELP);
    }
    for name in ["store", "ref"] {
        match part(name) {
            None => reader.wrong_value(&node.span, format!("the name of this secret lacks `{name}`"), HELP),
            Some(entry) => {
                if entry.value.as_str().is_none_or(|text| text.trim().is_empty()) {
                    reader.wrong_value(&entry.value.span, format!("`{name}` of a secret is a text"), HELP);
                } else if let (Some(text), "store") = (entry.value.as_str(), name) {
                    used.push((text.into(), entry.value.span));
                }
            }
        }
    }
    if let Some(entry) = part("version")
        && !matches!(entry.value.kind, NodeKind::String(..) | NodeKind::Number(_))
    {
        reader.wrong_value(&entry.value.span, "`version` of a secret is a text or a number", HELP);
    }
}
