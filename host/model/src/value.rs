//! Values: those of placeholders and those that drivers return. Known, unknown, or secret.

use std::fmt;
use std::sync::Arc;

use serde_json::Number;
use zeroize::Zeroize;

use crate::Map;

/// A value of the expression language (SPEC §4).
///
/// There is deliberately no `Serialize`: code that turns a value into text must decide whether
/// secrets are shown ([`Value::reveal`]) or masked ([`Value::redact`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(Arc<str>),
    /// A list.
    List(Vec<Value>),
    /// A map.
    Map(Map),
    /// A value that must not be shown.
    Secret(Secret),
    /// A value that exists only after provisioning.
    Unknown(Unknown),
}

/// A value that must not be shown. Its `Debug` does not show it. The last owner of a text or a map
/// wipes it from memory.
#[derive(Clone, PartialEq)]
pub struct Secret(Box<Value>);

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(text) = Arc::get_mut(text) {
                text.zeroize();
            }
        }
        Value::List(items) => items.iter_mut().for_each(wipe),
        Value::Map(map) => map.alone().into_iter().flat_map(|map| map.values_mut()).for_each(wipe),
        _ => {}
    }
}

impl Secret {
    /// The value. The caller is responsible for where it goes.
    pub fn expose(&self) -> &Value {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A value that exists only after provisioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Whether it will certainly be secret.
    pub secret: bool,
}

/// A value that cannot become JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value at `{pointer}` is not known yet")]
pub struct JsonError {
    /// JSON Pointer to the unknown value.
    pub pointer: String,
}

impl Value {
    /// An empty map.
    pub fn map() -> Self {
        Self::Map(Map::default())
    }

    /// Text.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// An unknown value.
    pub const fn unknown() -> Self {
        Self::Unknown(Unknown { secret: false })
    }

    /// The same value, secret. Null stays null: its absence is not secret.
    #[must_use]
    pub fn into_secret(self) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Secret(secret) => Self::Secret(secret),
            Self::Unknown(_) => Self::Unknown(Unknown { secret: true }),
            other => Self::Secret(Secret(Box::new(other.into_plain()))),
        }
    }

    /// The same value without marks of secrecy inside. Used if the whole value is marked.
    fn into_plain(self) -> Self {
        match self {
            Self::Secret(mut secret) => std::mem::replace(&mut *secret.0, Self::Null),
            Self::List(items) => Self::List(items.into_iter().map(Self::into_plain).collect()),
            Self::Map(map) => Self::Map(map.into_iter().map(|(k, v)| (k, v.into_plain())).collect()),
            other => other,
        }
    }

    /// The value behind a mark of secrecy, or the value itself.
    pub fn exposed(&self) -> &Self {
        match self {
            Self::Secret(secret) => &secret.0,
            other => other,
        }
    }

    /// Whether anything in it is secret.
    pub fn has_secret(&self) -> bool {
        match self {
            Self::Secret(_) | Self::Unknown(Unknown { secret: true }) => true,
            Self::List(items) => items.iter().any(Self::has_secret),
            Self::Map(map) => map.values().any(Self::has_secret),
            _ => false,
        }
    }

    /// Whether anything in it is unknown.
    pub fn has_unknown(&self) -> bool {
        match self {
            Self::Unknown(_) => true,
            Self::Secret(secret) => secret.0.has_unknown(),
            Self::List(items) => items.iter().any(Self::has_unknown),
            Self::Map(map) => map.values().any(Self::has_unknown),
            _ => false,
        }
    }

    /// The entries of a map, secret or not.
    pub fn as_map(&self) -> Option<&Map> {
        match self.exposed() {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Allows the caller to replace each name in it by an equal, shared text. Secrets are not
    /// changed.
    pub fn share_names(&mut self, share: &mut dyn FnMut(&mut Arc<str>)) {
        match self {
            Self::List(items) => items.iter_mut().for_each(|item| item.share_names(share)),
            Self::Map(map) => map.share_names(share),
            _ => {}
        }
    }

    /// Replaces its maps and lists by those of another value if the two are exactly the same,
    /// including the order of entries: equal values are then stored once.
    pub fn share_with(&mut self, other: &Self) {
        if self.is_same(other) {
            self.clone_from(other);
        }
    }

    /// Whether two values are equal, with their entries in the same order and their numbers in the
    /// same form.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Map(one), Self::Map(other)) => {
                let mut both = one.iter().zip(other.iter());
                one.len() == other.len()
                    && both.all(|(one, other)| one.0 == other.0 && one.1.is_same(other.1))
            }
            (Self::List(one), Self::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other))
            }
            (Self::Number(one), Self::Number(other)) => one == other && one.to_string() == other.to_string(),
            (Self::Secret(one), Self::Secret(other)) => one.0.is_same(&other.0),
            _ => self == other,
        }
    }

    /// The text of a string that is not secret.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A child: the entry of a map, or the item of a list by decimal index. A child of a secret is
    /// secret, and a child of an unknown value is unknown.
    pub fn get(&self, segment: &str) -> Option<Self> {
        match self {
            Self::Map(map) => map.get(segment).cloned(),
            Self::List(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)).cloned(),
            Self::Secret(secret) => secret.0.get(segment).map(Self::into_secret),
            Self::Unknown(unknown) => Some(Self::Unknown(*unknown)),
            _ => None,
        }
    }

    /// The kind of the value, in a word for people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Secret(_) => "a secret",
            Self::Unknown(_) => "not known yet",
        }
    }

    /// JSON for people: secrets read `[secret]`, unknown values `[unknown]`.
    pub fn redact(&self) -> serde_json::Value {
        match self {
            Self::Secret(_) => "[secret]".into(),
            Self::Unknown(_) => "[unknown]".into(),
            Self::List(items) => items.iter().map(Self::redact).collect(),
            Self::Map(map) => map.iter().map(|(k, v)| (k.to_string(), v.redact())).collect(),
            plain => plain.scalar(),
        }
    }

    /// JSON with secrets in plain text.
    ///
    /// # Errors
    /// If something in it is unknown.
    pub fn reveal(&self) -> Result<serde_json::Value, JsonError> {
        let mut unknown = None;
        let json = self.to_json(&mut String::new(), &mut |pointer, value| {
            if matches!(value, Self::Unknown(_)) && unknown.is_none() {
                unknown = Some(pointer.to_owned());
            }
        });
        match unknown {
            Some(pointer) => Err(JsonError { pointer }),
            None => Ok(json),
        }
    }

    /// JSON with secrets in plain text and unknown values as null; `mark` is called for each of them,
    /// with its JSON Pointer.
    pub fn reveal_marked(&self, mark: &mut dyn FnMut(&str, &Self)) -> serde_json::Value {
        self.to_json(&mut String::new(), mark)
    }

    fn to_json(&self, pointer: &mut String, mark: &mut dyn FnMut(&str, &Self)) -> serde_json::Value {
        match self {
            Self::Unknown(_) => {
                mark(pointer, self);
                serde_json::Value::Null
            }
            Self::Secret(secret) => {
                mark(pointer, self);
                secret.0.to_json(pointer, mark)
            }
            Self::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let length = pointer.len();
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                    list.push(item.to_json(pointer, mark));
                    pointer.truncate(length);
                }
                serde_json::Value::Array(list)
            }
            Self::Map(map) => {
                let mut object = serde_json::Map::with_capacity(map.len());
                for (key, item) in map {
                    let length = pointer.len();
                    pointer.push('/');
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    object.insert(key.to_string(), item.to_json(pointer, mark));
                    pointer.truncate(length);
                }
                serde_json::Value::Object(object)
            }
            plain => plain.scalar(),
        }
    }

    fn scalar(&self) -> serde_json::Value {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Number(value) => value.clone().into(),
            Self::String(value) => (**value).into(),
            _ => serde_json::Value::Null,
        }
    }

    /// Feeds the value to a digest: equal values (maps in any order) give equal bytes, and
    /// different values never do. Secrets are included, so the digest of a value with a secret is
    /// secret too.
    pub fn feed(&self, sink: &mut dyn FnMut(&[u8])) {
        let length = |sink: &mut dyn FnMut(&[u8]), len: usize| sink(&(len as u64).to_le_bytes());
        match self {
            Self::Null => sink(b"n"),
            Self::Bool(value) => sink(if *value { b"t" } else { b"f" }),
            Self::Number(value) => {
                let text = value.to_string();
                sink(b"d");
                length(sink, text.len());
                sink(text.as_bytes());
            }
            Self::String(text) => {
                sink(b"s");
                length(sink, text.len());
                sink(text.as_bytes());
            }
            Self::List(items) => {
                sink(b"l");
                length(sink, items.len());
                items.iter().for_each(|item| item.feed(sink));
            }
            Self::Map(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
                sink(b"m");
                length(sink, entries.len());
                for (key, value) in entries {
                    length(sink, key.len());
                    sink(key.as_bytes());
                    value.feed(sink);
                }
            }
            Self::Secret(secret) => {
                sink(b"x");
                secret.0.feed(sink);
            }
            Self::Unknown(_) => sink(b"u"),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(value) => Self::Number(value),
            serde_json::Value::String(value) => Self::String(value.into()),
            serde_json::Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(map) => {
                Self::Map(map.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
            }
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_owner_wipes_a_text() {
        let mut value = Value::from(serde_json::json!({"a": ["abc"], "b": "d"}));
        let shared = value.get("b").expect("there");
        wipe(&mut value);
        assert_eq!(value.get("a"), Some(Value::from(serde_json::json!(["\0\0\0"]))));
        assert_eq!((value.get("b"), shared), (Some("d".into()), "d".into()));
        let mut map = Value::from(serde_json::json!({"a": "abc"}));
        let shared = map.clone();
        wipe(&mut map);
        assert_eq!(shared.get("a"), Some("abc".into()));
        drop(shared);
        wipe(&mut map);
        assert_eq!(map.get("a"), Some("\0\0\0".into()));
        // A value with another owner stays readable.
        let secret = Value::from("text").into_secret();
        let other = secret.clone();
        drop(secret);
        assert_eq!(other.reveal(), Ok("text".into()));
        assert_eq!(other.into_plain(), Value::from("text"));
    }
    use serde_json::json;

    #[test]
    fn a_secret_is_never_shown() {
        let value: Value = json!({"a": [1, "hidden"], "b": true}).into();
        let Value::Map(mut map) = value else { unreachable!() };
        let hidden = map.get("a").expect("a value").clone().into_secret();
        map.insert("a".into(), hidden);
        let value = Value::Map(map);
        assert!(value.has_secret());
        assert!(!format!("{value:?}").contains("hidden"));
        assert_eq!(value.redact(), json!({"a": "[secret]", "b": true}));
        assert_eq!(value.reveal().expect("known"), json!({"a": [1, "hidden"], "b": true}));
        assert_eq!(value.get("a").and_then(|a| a.get("1")), Some(Value::from("hidden").into_secret()));
    }

    #[test]
    fn unknown_values_have_a_place() {
        let value =
            Value::Map(Map::from_iter([("a/b".into(), Value::List(vec![Value::Null, Value::unknown()]))]));
        assert_eq!(value.reveal(), Err(JsonError { pointer: "/a~1b/1".into() }));
    }

    #[test]
    fn digests_ignore_the_order_of_maps_and_nothing_else() {
        let bytes = |json| {
            let mut out = Vec::new();
            Value::from(json).feed(&mut |b| out.extend_from_slice(b));
            out
        };
        assert_eq!(bytes(json!({"a": 1, "b": 2})), bytes(json!({"b": 2, "a": 1})));
        assert_ne!(bytes(json!(["ab", "c"])), bytes(json!(["a", "bc"])));
        assert_ne!(bytes(json!([["a"], "b"])), bytes(json!([["a", "b"]])));
        assert_ne!(bytes(json!("1")), bytes(json!(1)));
    }
}
