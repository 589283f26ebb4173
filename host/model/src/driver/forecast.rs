//! What a driver says that an effect would make (`purlin:preview`).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

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

impl Forecast {
    /// The same forecast, with what the record knows of the data of parts: a part that is there still holds
    /// it, although this forecast does not say so.
    #[must_use]
    pub fn remembering(mut self, recorded: &[RecordedPart]) -> Self {
        let known: HashMap<&str, &Arc<str>> =
            recorded.iter().filter_map(|part| Some((&*part.address, part.holds_data.as_ref()?))).collect();
        for part in self.parts.iter_mut().filter(|part| part.holds_data.is_none() && part.is_there_before()) {
            let before = part.moved_from.as_deref().unwrap_or(&part.address);
            part.holds_data = known.get(before).map(|data| data.to_string());
        }
        self
    }
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

    /// Parts for people: those first that lose data, then others that go away.
    pub fn most_severe_first<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Vec<&'a Self> {
        let mut parts: Vec<&Self> = parts.into_iter().collect();
        parts.sort_by_key(|part| (part.loss().is_none(), !part.action.deletes()));
        parts
    }

    /// Whether the resource has it already.
    fn is_there_before(&self) -> bool {
        !matches!(self.action, PartAction::Create | PartAction::Adopt | PartAction::Read)
    }

    /// Whether the resource has it once the effect has happened.
    fn is_there_afterwards(&self) -> bool {
        !matches!(self.action, PartAction::Delete | PartAction::Forget | PartAction::Read)
    }
}

/// How many parts of a resource are recorded: as many as one forecast may have.
pub const MOST_PARTS: usize = 10_000;

/// One of the objects that a resource consists of, as the forecasts of its effects said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedPart {
    /// Its address within the resource, of no other part.
    pub address: Arc<str>,
    /// Its type, in the driver's words.
    #[serde(rename = "type")]
    pub type_name: Arc<str>,
    /// The data that it holds, in the driver's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds_data: Option<Arc<str>>,
}

impl RecordedPart {
    /// The parts of a resource after an effect, by address: those before it, and what its driver foresaw. What
    /// is only read is not a part. If there are more than [`MOST_PARTS`], the last ones without data are left
    /// out first.
    pub fn after(before: &Arc<[Self]>, foreseen: &[Part]) -> Arc<[Self]> {
        if foreseen.is_empty() {
            return Arc::clone(before);
        }
        let mut parts: BTreeMap<&str, Self> =
            before.iter().map(|part| (&*part.address, part.clone())).collect();
        // One part may take the address of another that moves too.
        for part in foreseen {
            let _ = parts.remove(part.moved_from.as_deref().unwrap_or(&part.address));
        }
        for part in foreseen.iter().filter(|part| part.is_there_afterwards()) {
            let recorded = Self {
                address: part.address.as_str().into(),
                type_name: part.type_name.as_str().into(),
                holds_data: part.holds_data.as_deref().map(Into::into),
            };
            parts.insert(&part.address, recorded);
        }
        at_most(parts.into_values().collect())
    }

    /// The parts that may exist after an effect of unknown extent, by address: those before it and those
    /// after it.
    pub fn of_either(before: &Arc<[Self]>, after: &Arc<[Self]>) -> Arc<[Self]> {
        if before == after {
            return Arc::clone(before);
        }
        let all = before.iter().chain(&**after);
        let parts: BTreeMap<&str, &Self> = all.map(|part| (&*part.address, part)).collect();
        at_most(parts.into_values().cloned().collect())
    }
}

/// The first [`MOST_PARTS`] parts, those with data before the others, by address.
fn at_most(mut parts: Vec<RecordedPart>) -> Arc<[RecordedPart]> {
    if parts.len() > MOST_PARTS {
        parts.sort_by_key(|part| part.holds_data.is_none());
        parts.truncate(MOST_PARTS);
        parts.sort_by(|a, b| a.address.cmp(&b.address));
    }
    parts.into()
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

/// The first output that differs from the certain value, as a JSON Pointer. Secrecy makes no
/// difference: the returned value may contain a secret by chance, or only in part.
pub fn broken_output(certain: &Value, outputs: &Value) -> Option<String> {
    let Value::Map(certain) = certain.exposed() else { return None };
    let outputs = outputs.exposed();
    let actual = |name: &str| outputs.as_map().and_then(|map| map.get(name));
    certain
        .iter()
        .find(|(name, value)| !holds(value, actual(name)))
        .map(|(name, _)| format!("/{}", name.replace('~', "~0").replace('/', "~1")))
}

/// Whether a value, or none, is as it was certain to be. Its unknown places can be anything.
fn holds(certain: &Value, actual: Option<&Value>) -> bool {
    match (certain.exposed(), actual.map(Value::exposed)) {
        (Value::Unknown(_), _) => true,
        (Value::Map(certain), Some(Value::Map(actual))) if certain.values().any(Value::has_unknown) => {
            certain.iter().all(|(name, value)| holds(value, actual.get(name)))
        }
        (Value::List(certain), Some(Value::List(actual))) if certain.iter().any(Value::has_unknown) => {
            let mut both = certain.iter().zip(actual);
            certain.len() == actual.len() && both.all(|(certain, actual)| holds(certain, Some(actual)))
        }
        (certain, Some(actual)) => same(actual, certain),
        (_, None) => false,
    }
}

/// Whether two values are equal in plain text.
fn same(one: &Value, other: &Value) -> bool {
    match (one.exposed(), other.exposed()) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Map(one), Value::Map(other)) => {
            let equal =
                |(name, one): (&Arc<str>, &Value)| other.get(name).is_some_and(|other| same(one, other));
            one.len() == other.len() && one.iter().all(equal)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(address: &str, moved_from: Option<&str>, action: PartAction) -> Part {
        Part {
            address: address.to_owned(),
            moved_from: moved_from.map(str::to_owned),
            type_name: "table".to_owned(),
            action,
            before: None,
            after: None,
            replaces: Vec::new(),
            holds_data: None,
            notes: Map::default(),
        }
    }

    fn addresses(parts: &[RecordedPart]) -> Vec<&str> {
        parts.iter().map(|part| &*part.address).collect()
    }

    #[test]
    fn a_resource_has_the_parts_that_were_foreseen() {
        use PartAction::{Adopt, Create, CreateThenDelete, Delete, Forget, None as Nothing, Read};
        let none = Arc::default();
        let made = RecordedPart::after(
            &none,
            &[part("b", None, Create), part("a", None, Adopt), part("data", None, Read)],
        );
        assert_eq!(addresses(&made), ["a", "b"]);
        // Two parts that swap their addresses, and one that nothing happens to.
        let swapped =
            RecordedPart::after(&made, &[part("b", Some("a"), Nothing), part("a", Some("b"), Nothing)]);
        assert_eq!(addresses(&swapped), ["a", "b"]);
        let changed =
            RecordedPart::after(&made, &[part("a", None, CreateThenDelete), part("c", None, Create)]);
        assert_eq!(addresses(&changed), ["a", "b", "c"]);
        let moved = RecordedPart::after(&made, &[part("d", Some("b"), Nothing)]);
        assert_eq!(addresses(&moved), ["a", "d"]);
        let gone = RecordedPart::after(&made, &[part("a", None, Delete), part("b", None, Forget)]);
        assert_eq!(addresses(&gone), [""; 0]);
        assert_eq!(addresses(&RecordedPart::of_either(&made, &moved)), ["a", "b", "d"]);
        assert_eq!(RecordedPart::after(&made, &[]), made);
    }

    #[test]
    fn no_more_parts_are_recorded_than_one_forecast_may_have() {
        let many = |prefix: &str| -> Vec<Part> {
            let address = |number| format!("{prefix}{number:05}");
            (0..MOST_PARTS).map(|number| part(&address(number), None, PartAction::Create)).collect()
        };
        let first = RecordedPart::after(&Arc::default(), &many("a"));
        let both = RecordedPart::after(&first, &many("b"));
        assert_eq!((first.len(), both.len()), (MOST_PARTS, MOST_PARTS));
        assert_eq!(RecordedPart::of_either(&first, &both), first);
        // Data is left out last.
        let data = Part { holds_data: Some("rows".to_owned()), ..part("z", None, PartAction::Create) };
        let with = RecordedPart::after(&first, &[data]);
        assert_eq!((with.len(), with.last().map(|part| &*part.address)), (MOST_PARTS, Some("z")));
    }

    #[test]
    fn data_is_remembered_as_long_as_its_part_is_there() {
        let data = |address: &str, action| Part {
            holds_data: Some("rows".to_owned()),
            ..part(address, None, action)
        };
        let recorded = RecordedPart::after(&Arc::default(), &[data("a", PartAction::Create)]);
        let then = |part: Part| {
            let forecast = Forecast { parts: vec![part], ..Forecast::default() }.remembering(&recorded);
            forecast.parts[0].holds_data.clone()
        };
        for action in [PartAction::None, PartAction::Update, PartAction::Delete, PartAction::Forget] {
            assert_eq!(then(part("a", None, action)).as_deref(), Some("rows"));
            assert_eq!(then(part("b", Some("a"), action)).as_deref(), Some("rows"));
            assert_eq!(then(part("b", None, action)), None);
        }
        assert_eq!(then(part("a", None, PartAction::Create)), None);
        let other = Part { holds_data: Some("files".to_owned()), ..part("a", None, PartAction::Delete) };
        assert_eq!(then(other).as_deref(), Some("files"));
    }

    #[test]
    fn a_promised_output_may_be_secret() {
        let plain = Value::from(json!({"a": {"b": ["hidden", 1], "c": 2}}));
        let mut partly = plain.clone();
        if let Value::Map(map) = &mut partly
            && let Some(Value::Map(a)) = map.get_mut("a")
        {
            a.insert("b".into(), Value::from(json!(["hidden", 1])).into_secret());
        }
        assert_eq!(broken_output(&plain, &partly), None);
        assert_eq!(broken_output(&partly, &plain), None);
        assert_eq!(broken_output(&plain, &plain.clone().into_secret()), None);
        let other = Value::from(json!({"a": {"b": ["other", 1], "c": 2}}));
        assert_eq!(broken_output(&plain, &other), Some("/a".to_owned()));
        assert_eq!(broken_output(&plain, &Value::map()), Some("/a".to_owned()));
    }

    #[test]
    fn a_promise_holds_where_it_is_known() {
        let mut certain =
            Value::from(json!({"at": {"host": "h", "port": null}, "list": [1, null], "free": null}));
        if let Value::Map(map) = &mut certain {
            map.insert("free".into(), Value::unknown());
            for (name, place) in [("at", "/port"), ("list", "/1")] {
                let Some(value) = map.get_mut(name) else { panic!("it is there") };
                match (value, place) {
                    (Value::Map(at), _) => drop(at.insert("port".into(), Value::unknown())),
                    (Value::List(items), _) => items[1] = Value::unknown(),
                    _ => panic!("a map or a list"),
                }
            }
        }
        let broken = |actual: serde_json::Value| broken_output(&certain, &actual.into());
        assert_eq!(broken(json!({"at": {"host": "h", "port": 1}, "list": [1, 2], "more": 3})), None);
        assert_eq!(broken(json!({"at": {"host": "h"}, "list": [1, {}], "free": 1})), None);
        assert_eq!(broken(json!({"at": {"host": "i"}, "list": [1, 2]})).as_deref(), Some("/at"));
        assert_eq!(broken(json!({"at": {"host": "h"}, "list": [2, 2]})).as_deref(), Some("/list"));
        assert_eq!(broken(json!({"at": {"host": "h"}, "list": [1]})).as_deref(), Some("/list"));
        assert_eq!(broken(json!({"at": {"host": "h"}})).as_deref(), Some("/list"));
    }
}
