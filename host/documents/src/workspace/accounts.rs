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

use purlin_model::Account as Read;
use serde_json::{Value, json};

use super::stores;
use crate::declare::{Form, form};
use crate::kinds::{Names, Object, Text};
use crate::reader::Reader;
use crate::template::constant;
use crate::yaml::Entry;

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

/// Reads one account.
pub(super) fn read(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Read> {
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
        stores::no_placeholders(reader, node, "an account");
        fields = constant(node);
    }
    let kind = account.read(reader, Account::TYPE);
    Some(Read { kind: kind.filter(|_| named)?, fields, location: reader.at(&entry.key_span) })
}
