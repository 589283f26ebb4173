//! Which parts of a value are secret. A veil lies beside a value and has its shape; what a function
//! makes of something veiled is veiled too.

use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::Value;
use serde_json::Value as Json;

/// What of a value is secret.
///
/// Two kinds of secret are told apart. Of one that was *given*, whether a text, list or map is there
/// or empty is no secret, so that a template may ask for it (`{{ if .driver.secrets.ca }}`). What
/// was *made* from a secret tells of it by its mere being there.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Veil {
    /// Nothing.
    #[default]
    Open,
    /// All of it, and it is as it was given.
    Given,
    /// All of it, and it was made from a secret.
    Made,
    /// What these say of the items of a list.
    List(Arc<[Veil]>),
    /// What these say of the entries of a map; what is not named is open.
    Map(Arc<BTreeMap<Arc<str>, Veil>>),
}

impl Veil {
    /// Every leaf of a value, as it was given. The names in maps are open.
    pub fn leaves(json: &Json) -> Self {
        match json {
            Json::Null => Self::Open,
            Json::Array(items) => Self::List(items.iter().map(Self::leaves).collect()),
            Json::Object(entries) => {
                let veils = entries.iter().map(|(name, entry)| (name.as_str().into(), Self::leaves(entry)));
                Self::Map(Arc::new(veils.collect()))
            }
            _ => Self::Given,
        }
    }

    /// A map of veils.
    pub fn map<const N: usize>(entries: [(&str, Self); N]) -> Self {
        Self::Map(Arc::new(entries.into_iter().map(|(name, veil)| (name.into(), veil)).collect()))
    }

    /// Covers the place at a JSON Pointer as well; what is there already stays. A pointer to
    /// nothing covers what it came to last.
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
                let mut veils = match std::mem::take(self) {
                    Self::Map(veils) => Arc::unwrap_or_clone(veils),
                    _ => BTreeMap::new(),
                };
                let veil = veils.entry(segment.as_str().into()).or_default();
                veil.cover_at(&json[segment], rest, with);
                *self = Self::Map(Arc::new(veils));
            }
            Json::Array(items) => {
                let at = segment.parse::<usize>().ok().and_then(|at| Some((at, items.get(at)?)));
                let Some((at, item)) = at else {
                    *self = with.clone();
                    return;
                };
                let mut veils = match self {
                    Self::List(veils) => veils.to_vec(),
                    _ => Vec::new(),
                };
                veils.resize(items.len(), Self::Open);
                if let Some(veil) = veils.get_mut(at) {
                    veil.cover_at(item, rest, with);
                }
                *self = Self::List(veils.into());
            }
            _ => *self = with.clone(),
        }
    }

    /// Whether nothing is secret.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Open => true,
            Self::Given | Self::Made => false,
            Self::List(veils) => veils.iter().all(Self::is_open),
            Self::Map(veils) => veils.values().all(Self::is_open),
        }
    }

    /// What is secret of an entry.
    pub fn field(&self, name: &str) -> Self {
        match self {
            Self::Map(veils) => veils.get(name).cloned().unwrap_or_default(),
            Self::List(_) | Self::Open => Self::Open,
            whole => whole.clone(),
        }
    }

    /// What is secret of an item.
    pub(crate) fn item(&self, index: usize) -> Self {
        match self {
            Self::List(veils) => veils.get(index).cloned().unwrap_or_default(),
            Self::Map(_) | Self::Open => Self::Open,
            whole => whole.clone(),
        }
    }

    /// Whether the value as a whole is secret.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Given | Self::Made)
    }

    /// Whether it tells of a secret that the value is there, true or empty.
    pub(crate) fn decides(&self, value: &Value) -> bool {
        match self {
            Self::Made => true,
            Self::Given => matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_)),
            _ => false,
        }
    }
}

/// A value, and what of it is secret.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) value: Value,
    pub(crate) veil: Veil,
}

impl Default for Held {
    fn default() -> Self {
        Self::open(Value::Nil)
    }
}

impl Held {
    pub(crate) fn open(value: Value) -> Self {
        Self { value, veil: Veil::Open }
    }

    pub(crate) fn made(value: Value) -> Self {
        Self { value, veil: Veil::Made }
    }
}
