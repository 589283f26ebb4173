//! What a driver says that an effect would make (`purlin:preview`).

use std::fmt;

use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use crate::{Map, Value};

/// What an effect would make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// The outputs that are certain, a map whose places may be secret or unknown. Nothing is known of others.
    pub outputs: Value,
    /// The parts to which something happens, in the driver's order.
    pub parts: Vec<Part>,
    /// What ties the effect to this forecast.
    pub token: Option<Token>,
    /// Anything else for people, by name.
    pub notes: Map,
}

/// One of the objects that a resource consists of, and what happens to it.
///
/// It serialises in the published, versioned form, without secrets and unknown values:
/// `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its address within the resource, of no other part.
    pub address: String,
    /// Its address so far, if that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// Its type, in the driver's words.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What happens to it.
    pub action: PartAction,
    /// Its attributes so far, if there are any to show.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "redacted")]
    pub before: Option<Value>,
    /// Its attributes afterwards, perhaps with unknown places, if there are any to show.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "redacted")]
    pub after: Option<Value>,
    /// Places in `{before, after}` that make a replacement necessary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// The data that it holds, in the driver's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds_data: Option<String>,
    /// Anything else for people, by name.
    #[serde(skip_serializing_if = "is_empty", serialize_with = "redacted_notes")]
    pub notes: Map,
}

fn is_empty(notes: &Map) -> bool {
    notes.is_empty()
}

fn redacted<S: Serializer>(value: &Option<Value>, to: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(Value::redact).serialize(to)
}

fn redacted_notes<S: Serializer>(notes: &Map, to: S) -> Result<S::Ok, S::Error> {
    Value::Map(notes.clone()).redact().serialize(to)
}

/// What happens to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PartAction {
    /// Nothing but another address.
    None,
    /// It is created.
    Create,
    /// It is only read.
    Read,
    /// It changes in place.
    Update,
    /// The new one is created, then the old one is deleted.
    CreateThenDelete,
    /// The old one is deleted, then the new one is created.
    DeleteThenCreate,
    /// It is deleted.
    Delete,
    /// An existing object becomes this part.
    Adopt,
    /// It stays, and the resource no longer has it.
    Forget,
}

impl PartAction {
    /// The word for it, as in the contract.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the object that is there goes away.
    pub fn deletes(self) -> bool {
        matches!(self, Self::CreateThenDelete | Self::DeleteThenCreate | Self::Delete)
    }
}

impl Part {
    /// The data that is lost, in the driver's words.
    pub fn loss(&self) -> Option<&str> {
        self.holds_data.as_deref().filter(|_| self.action.deletes())
    }
}

/// What ties an effect to its forecast, such as a plan file. It may hold secrets, so that it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<Vec<u8>>);

impl Token {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Token {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({} bytes)", self.0.len())
    }
}
