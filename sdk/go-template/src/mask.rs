//! Which parts of a value are secret. A mask accompanies a value and has its shape; the result of a
//! function on something masked is masked too.

use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::Value;
use serde_json::Value as Json;

/// The secret parts of a value.
///
/// There are two kinds of secret. For a *given* secret, it is not secret whether a text, list or
/// map exists or is empty, so a template may test for it (`{{ if .driver.secrets.ca }}`). A value
/// *made* from a secret reveals something by its mere existence.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SecretMask {
    /// No part.
    #[default]
    Open,
    /// All of it, as it was given.
    Given,
    /// All of it, made from a secret.
    Made,
    /// The masks of the items of a list.
    List(Arc<[SecretMask]>),
    /// The masks of the entries of a map; entries without one are open.
    Map(Arc<BTreeMap<Arc<str>, SecretMask>>),
}

impl SecretMask {
    /// Every leaf of a value, as given. The names in maps are open.
    pub fn leaves(json: &Json) -> Self {
        match json {
            Json::Null => Self::Open,
            Json::Array(items) => Self::List(items.iter().map(Self::leaves).collect()),
            Json::Object(entries) => {
                let masks = entries.iter().map(|(name, entry)| (name.as_str().into(), Self::leaves(entry)));
                Self::Map(Arc::new(masks.collect()))
            }
            _ => Self::Given,
        }
    }

    /// A map of masks.
    pub fn map<const N: usize>(entries: [(&str, Self); N]) -> Self {
        Self::Map(Arc::new(entries.into_iter().map(|(name, mask)| (name.into(), mask)).collect()))
    }

    /// Also covers the place at a JSON Pointer; existing covers stay. A pointer to nothing covers
    /// the last place that exists on its way.
    pub fn cover(&mut self, json: &Json, pointer: &str, with: &Self) {
        let mut segments = pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        let segments: Vec<String> = segments.by_ref().collect();
        self.cover_at(json, &segments, with);
    }

    fn cover_at(&mut self, json: &Json, segments: &[String], with: &Self) {
        if matches!(self, Self::Given | Self::Made) {
            return;
        }
        let Some((segment, rest)) = segments.split_first() else {
            *self = with.clone();
            return;
        };
        match json {
            Json::Object(entries) if entries.contains_key(segment) => {
                let mut masks = match std::mem::take(self) {
                    Self::Map(masks) => Arc::unwrap_or_clone(masks),
                    _ => BTreeMap::new(),
                };
                let mask = masks.entry(segment.as_str().into()).or_default();
                mask.cover_at(&json[segment], rest, with);
                *self = Self::Map(Arc::new(masks));
            }
            Json::Array(items) => {
                let at = segment.parse::<usize>().ok().and_then(|at| Some((at, items.get(at)?)));
                let Some((at, item)) = at else {
                    *self = with.clone();
                    return;
                };
                let mut masks = match self {
                    Self::List(masks) => masks.to_vec(),
                    _ => Vec::new(),
                };
                masks.resize(items.len(), Self::Open);
                if let Some(mask) = masks.get_mut(at) {
                    mask.cover_at(item, rest, with);
                }
                *self = Self::List(masks.into());
            }
            _ => *self = with.clone(),
        }
    }

    /// Whether nothing is secret.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Open => true,
            Self::Given | Self::Made => false,
            Self::List(masks) => masks.iter().all(Self::is_open),
            Self::Map(masks) => masks.values().all(Self::is_open),
        }
    }

    /// The mask of an entry.
    pub fn field(&self, name: &str) -> Self {
        match self {
            Self::Map(masks) => masks.get(name).cloned().unwrap_or_default(),
            Self::List(_) | Self::Open => Self::Open,
            whole => whole.clone(),
        }
    }

    /// The mask of an item.
    pub(crate) fn item(&self, index: usize) -> Self {
        match self {
            Self::List(masks) => masks.get(index).cloned().unwrap_or_default(),
            Self::Map(_) | Self::Open => Self::Open,
            whole => whole.clone(),
        }
    }

    /// Whether the value as a whole is secret.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Given | Self::Made)
    }

    /// Whether it reveals a secret that the value exists, is true or is empty.
    pub(crate) fn decides(&self, value: &Value) -> bool {
        match self {
            Self::Made => true,
            Self::Given => matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_)),
            _ => false,
        }
    }
}

/// A value and its mask.
#[derive(Clone, Debug)]
pub(crate) struct MaskedValue {
    pub(crate) value: Value,
    pub(crate) mask: SecretMask,
}

impl Default for MaskedValue {
    fn default() -> Self {
        Self::open(Value::Nil)
    }
}

impl MaskedValue {
    pub(crate) fn open(value: Value) -> Self {
        Self { value, mask: SecretMask::Open }
    }

    pub(crate) fn made(value: Value) -> Self {
        Self { value, mask: SecretMask::Made }
    }
}
