//! What an installation was set to, in a form that can be compared and says nothing (SPEC §6, reuse
//! and parameters).
//!
//! The listing of an environment has them, sealed if a value is secret, so that requirements of other
//! environments are compared with an installation without its values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::{Setting, Value};

/// Digests of the parameters and credentials of an installation, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Settings {
    /// The digests. A parameter that is not here has no known value.
    pub digests: BTreeMap<(Setting, Arc<str>), SettingDigest>,
    /// Those whose values are secret. Their digests are, too: a short secret can be guessed from its
    /// digest.
    pub secret: BTreeSet<(Setting, Arc<str>)>,
}

/// The digest of a value: equal for equal values, whether they are secret or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingDigest(pub [u8; 16]);

impl SettingDigest {
    /// The digest of a value. None if a part of it is unknown: an unknown value equals nothing.
    pub fn of(value: &Value) -> Option<Self> {
        let plain = plain(value)?;
        let mut hasher = Sha256::new();
        plain.feed(&mut |bytes| hasher.update(bytes));
        let whole: [u8; 32] = hasher.finalize().into();
        let mut digest = [0; 16];
        digest.iter_mut().zip(whole).for_each(|(own, of_whole)| *own = of_whole);
        Some(Self(digest))
    }
}

impl Settings {
    /// The settings in the params of an installation: `{parameters, credentials}`.
    pub fn of_params(params: &Value) -> Self {
        let mut settings = Self::default();
        let Value::Map(parts) = params else { return settings };
        for (part, name) in [(Setting::Parameter, "parameters"), (Setting::Credential, "credentials")] {
            let Some(Value::Map(values)) = parts.get(name) else { continue };
            for (name, value) in values.iter() {
                if value.has_secret() {
                    settings.secret.insert((part, Arc::clone(name)));
                }
                if let Some(digest) = SettingDigest::of(value) {
                    settings.digests.insert((part, Arc::clone(name)), digest);
                }
            }
        }
        settings
    }
}

/// The value with its secrets exposed. None if a part of it is unknown.
fn plain(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Secret(secret) => plain(secret.expose())?,
        Value::Unknown(_) => return None,
        Value::List(items) => Value::List(items.iter().map(plain).collect::<Option<_>>()?),
        Value::Map(map) => Value::Map(
            map.iter().map(|(key, item)| Some((Arc::clone(key), plain(item)?))).collect::<Option<_>>()?,
        ),
        value => value.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_digests_whether_secret_or_not() {
        let value = |text: &str| Value::from(serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
        let map = |text| SettingDigest::of(&value(text)).expect("known");
        assert_eq!(map(r#"{"a": 1, "b": ["x"]}"#), map(r#"{"b": ["x"], "a": 1}"#));
        assert_ne!(map(r#"{"a": 1}"#), map(r#"{"a": "1"}"#));
        assert_eq!(SettingDigest::of(&value("\"x\"").into_secret()), Some(map("\"x\"")));
        assert_eq!(SettingDigest::of(&Value::List(vec![Value::unknown()])), None);
    }

    #[test]
    fn a_setting_that_is_not_known_has_no_digest() {
        let text = r#"{"parameters": {"size": "s", "none": null}, "credentials": {"key": "k"}}"#;
        let mut params = Value::from(serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
        let settings = Settings::of_params(&params);
        let names: Vec<&str> = settings.digests.keys().map(|(_, name)| &**name).collect();
        assert_eq!((names, settings.secret.len()), (vec!["none", "size", "key"], 0));
        if let Value::Map(parts) = &mut params {
            let credentials = [("key".into(), Value::from("k").into_secret())].into_iter().collect();
            let parameters = [("size".into(), Value::unknown())].into_iter().collect();
            parts.insert("credentials".into(), Value::Map(credentials));
            parts.insert("parameters".into(), Value::Map(parameters));
        }
        let settings = Settings::of_params(&params);
        let secret = [(Setting::Credential, "key".into())].into();
        assert_eq!((settings.digests.len(), settings.secret), (1, secret));
    }
}
