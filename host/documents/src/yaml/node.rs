//! The tree.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Number;

use super::Span;

/// How a string was written; it decides how its offsets map to the file's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Single,
    Double,
    Block,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    pub(crate) kind: NodeKind<'t>,
    pub(crate) span: Span,
}

/// The kind of a node.
#[derive(Clone, Debug)]
pub(crate) enum NodeKind<'t> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'t, str>, Style),
    List(Vec<Node<'t>>),
    Map(Vec<Entry<'t>>),
}

/// One entry of a map.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'t> {
    pub(crate) key: Arc<str>,
    pub(crate) key_span: Span,
    pub(crate) value: Node<'t>,
}

impl<'t> Node<'t> {
    /// The same, independent of the text that it was read from.
    pub(crate) fn owned(&self) -> Node<'static> {
        let kind = match &self.kind {
            NodeKind::Null => NodeKind::Null,
            NodeKind::Bool(value) => NodeKind::Bool(*value),
            NodeKind::Number(value) => NodeKind::Number(value.clone()),
            NodeKind::String(text, style) => NodeKind::String(Cow::Owned(text.clone().into_owned()), *style),
            NodeKind::List(items) => NodeKind::List(items.iter().map(Self::owned).collect()),
            NodeKind::Map(entries) => NodeKind::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: entry.key.clone(),
                        key_span: entry.key_span,
                        value: entry.value.owned(),
                    })
                    .collect(),
            ),
        };
        Node { kind, span: self.span }
    }

    /// The kind of the value, in a word for people.
    pub(crate) fn describe(&self) -> &'static str {
        match &self.kind {
            NodeKind::Null => "nothing",
            NodeKind::Bool(_) => "a boolean",
            NodeKind::Number(_) => "a number",
            NodeKind::String(..) => "a string",
            NodeKind::List(_) => "a list",
            NodeKind::Map(_) => "a map",
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::String(text, _) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn entries(&self) -> Option<&[Entry<'t>]> {
        match &self.kind {
            NodeKind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.kind, NodeKind::Null)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry with a key.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries()?.iter().find(|entry| &*entry.key == key)
    }

    /// A child: the value of a key, or the item of a list by decimal index.
    pub(crate) fn child(&self, segment: &str) -> Option<&Self> {
        match &self.kind {
            NodeKind::Map(_) => self.get(segment),
            NodeKind::List(items) => items.get(segment.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The same as JSON. The depth is bounded, and so is the recursion.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.kind {
            NodeKind::Null => serde_json::Value::Null,
            NodeKind::Bool(value) => (*value).into(),
            NodeKind::Number(value) => value.clone().into(),
            NodeKind::String(text, _) => text.as_ref().into(),
            NodeKind::List(items) => items.iter().map(Self::to_json).collect(),
            NodeKind::Map(entries) => {
                entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_json())).collect()
            }
        }
    }
}
