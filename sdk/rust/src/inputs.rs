//! The inputs of a resource: as JSON, and as the driver's own type.

mod faults;

use std::marker::PhantomData;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::{Failure, Object};
use faults::InputFault;

/// Inputs of a driver that accepts everything.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct Anything {
    /// The definition's values.
    pub values: Object,
    /// The definition's secrets.
    pub secrets: Object,
    /// The developer's params.
    pub params: Object,
    /// The definition's connection.
    pub connection: Object,
    /// The account that the definition names, empty if it names none.
    pub account: Object,
}

/// Inputs as the driver's own type, to which they dereference. All of them are known.
#[derive(Clone)]
pub struct Inputs<I> {
    /// The inputs.
    pub given: I,
    /// Places outside of `secrets` that hold secrets, as pointers. Put everything made from them in
    /// [`crate::State::secrets`], or name it in [`crate::State::sensitive`].
    pub sensitive: Vec<String>,
}

impl<I> Deref for Inputs<I> {
    type Target = I;
    fn deref(&self) -> &I {
        &self.given
    }
}

/// Inputs as JSON: with gaps for unknown values, or from an older version of the driver.
/// [`Raw::parse`] reads them as the driver's own type.
#[derive(Clone)]
pub struct Raw<I> {
    document: Value,
    /// Places that are still unknown, and `null` until they are known, as pointers.
    pub unknown: Vec<String>,
    /// Places outside of `secrets` that hold secrets, as pointers.
    pub sensitive: Vec<String>,
    kind: PhantomData<fn() -> I>,
}

impl<I> Raw<I> {
    /// Inputs from the whole document
    /// `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`.
    pub fn new(document: Value) -> Self {
        Self { document, unknown: Vec::new(), sensitive: Vec::new(), kind: PhantomData }
    }

    /// The whole document.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The whole document, mutable.
    pub fn document_mut(&mut self) -> &mut Value {
        &mut self.document
    }

    /// The whole document, owned.
    pub fn into_document(self) -> Value {
        self.document
    }

    /// The account that the definition names: only its name, if the driver does not describe it, and empty if
    /// the definition names none.
    pub fn account(&self) -> Object {
        self.get("/account").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// The value at a pointer such as `/values/path`; `None` if there is none.
    pub fn get(&self, pointer: &str) -> Option<&Value> {
        self.document.pointer(pointer)
    }

    /// The value at a pointer, as a type of the driver.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with the first place that does not fit, or with the missing one.
    pub fn part<T: DeserializeOwned>(&self, pointer: &str) -> Result<T, Failure> {
        let part = self.get(pointer).ok_or_else(|| Failure::input(pointer, "is missing"))?;
        read(part).map_err(|(within, message)| Failure::input(format!("{pointer}{within}"), message))
    }

    /// The same without values and secrets that are `null` and not unknown: an input written as
    /// `null` is an omitted input, and an existing resource does not have it.
    #[must_use]
    pub fn without_nulls(mut self) -> Self {
        let mut document = self.document.take();
        for part in ["values", "secrets"] {
            if let Some(value) = document.get_mut(part) {
                self.strip(value, &format!("/{part}"));
            }
        }
        self.document = document;
        self
    }

    fn strip(&self, value: &mut Value, place: &str) {
        match value {
            Value::Object(fields) => {
                let below = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
                fields.retain(|name, value| !value.is_null() || self.is_unknown(&below(name)));
                fields.iter_mut().for_each(|(name, value)| self.strip(value, &below(name)));
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.strip(item, &format!("{place}/{index}"));
                }
            }
            _ => {}
        }
    }

    /// Whether the value at a pointer, above it or below it is still unknown.
    pub fn is_unknown(&self, pointer: &str) -> bool {
        self.unknown.iter().any(|unknown| related(unknown, pointer))
    }

    /// Whether there is a value at a pointer. An unknown value is treated as a value, and `null` as none.
    pub fn is_given(&self, pointer: &str) -> bool {
        self.is_unknown(pointer) || self.get(pointer).is_some_and(|value| !value.is_null())
    }

    /// The value at a pointer, if there is one and every part of it is known.
    pub fn get_known(&self, pointer: &str) -> Option<&Value> {
        self.get(pointer).filter(|_| !self.is_unknown(pointer))
    }
}

/// The thing that inputs name, if a resource is exactly one of several kinds of things. `message` says
/// which.
///
/// # Errors
/// [`Failure::InvalidInputs`] at `/values` if none or more than one is given.
pub fn only_one<T>(kinds: impl IntoIterator<Item = Option<T>>, message: &str) -> Result<T, Failure> {
    let mut given = kinds.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(thing), None) => Ok(thing),
        _ => Err(Failure::input("/values", message)),
    }
}

impl<I: DeserializeOwned> Raw<I> {
    /// The inputs as the driver's own type.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with every place that does not fit.
    pub fn parse(&self) -> Result<I, Failure> {
        read(&self.document).map_err(|first| faults::refused(faults::all::<I>(&self.document, first)))
    }

    /// The inputs as the driver's own type, `None` while anything in them is unknown.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with every known place that does not fit.
    pub fn known(&self) -> Result<Option<I>, Failure> {
        let first = match read(&self.document) {
            Ok(_) if !self.unknown.is_empty() => return Ok(None),
            Ok(inputs) => return Ok(Some(inputs)),
            Err(first) => first,
        };
        let mut faults = faults::all::<I>(&self.document, first);
        faults.retain(|(pointer, _)| !self.is_unknown(pointer));
        if faults.is_empty() { Ok(None) } else { Err(faults::refused(faults)) }
    }

    pub(crate) fn into_inputs(self) -> Result<Inputs<I>, Failure> {
        let given = self.parse()?;
        Ok(Inputs { given, sensitive: self.sensitive })
    }
}

/// Whether one pointer equals the other or is a prefix of it.
fn related(a: &str, b: &str) -> bool {
    let within = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(a, b) || within(b, a)
}

/// Reads a document, or returns the first place that does not fit, and why.
fn read<I: DeserializeOwned>(document: &Value) -> Result<I, InputFault> {
    serde_path_to_error::deserialize(document).map_err(|error| located(&error))
}

fn located(error: &serde_path_to_error::Error<serde_json::Error>) -> (String, String) {
    let mut pointer = String::new();
    for segment in error.path().iter() {
        match segment {
            Segment::Seq { index } => {
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
            Segment::Map { key } => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Enum { .. } | Segment::Unknown => break,
        }
    }
    (pointer, error.inner().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Wanted {
        values: WantedValues,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct WantedValues {
        sizes: Vec<u8>,
        name: Option<String>,
    }

    #[test]
    fn a_fault_is_pointed_at() {
        let raw = Raw::<Wanted>::new(json!({"values": {"sizes": [1, "two"]}}));
        let text = raw.parse().map_err(|failure| failure.to_string());
        assert!(
            text.as_ref().is_err_and(|text| text.contains("/values/sizes/1: invalid type: string")),
            "{text:?}"
        );
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Kind {
            Small,
            Large,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Values {
            kind: Kind,
            text: String,
            size: u8,
            other: Option<bool>,
        }
        #[derive(Debug, Deserialize)]
        struct All {
            #[allow(dead_code)]
            values: Values,
        }
        let places = |document: Value, unknown: &[&str]| {
            let mut raw = Raw::<All>::new(document);
            raw.unknown = unknown.iter().map(ToString::to_string).collect();
            match raw.known() {
                Err(Failure::InvalidInputs(faults)) => {
                    faults.into_iter().map(|fault| fault.pointer).collect::<Vec<_>>()
                }
                other => vec![format!("{other:?}")],
            }
        };
        let wrong = json!({"values": {"kind": "huge", "size": 300, "other": "x", "stray": 1}});
        let mut found = places(wrong.clone(), &[]);
        found.sort();
        assert_eq!(found, ["/values", "/values/kind", "/values/other", "/values/size", "/values/stray"]);
        let mut found = places(wrong, &["/values/size"]);
        found.sort();
        assert_eq!(
            found,
            ["/values/kind", "/values/other", "/values/stray"],
            "what holds the unknown may be completed"
        );
        assert_eq!(
            places(json!({"values": {"kind": ["large"], "text": 1, "size": 1}}), &[]),
            ["/values/kind", "/values/text"]
        );
        assert_eq!(places(json!([]), &[]).len(), 1);
    }

    #[test]
    fn unknowns_are_neither_faults_nor_values() {
        let mut raw = Raw::<Wanted>::new(json!({"values": {"sizes": [1, null], "name": null}}));
        raw.unknown = vec!["/values/sizes/1".to_owned()];
        assert!(matches!(raw.known(), Ok(None)));
        raw.unknown = vec!["/values/name".to_owned()];
        assert!(raw.known().is_err(), "the size is wrong whatever the name will be");
        let mut raw = Raw::<Wanted>::new(json!({"values": {"sizes": [], "name": null}}));
        raw.unknown = vec!["/values/name".to_owned()];
        assert!(matches!(raw.known(), Ok(None)), "an unknown name is not the same as none");
        assert!(!raw.is_unknown("/values/names") && raw.is_unknown("/values"));
    }

    #[test]
    fn nulls_are_removed_and_unknowns_stay() {
        let document = json!({"values": {"a": null, "b": {"c": null, "d/e": null}, "f": [{"g": null}]}});
        let mut raw = Raw::<Wanted>::new(document);
        raw.unknown = vec!["/values/b/d~1e".to_owned()];
        let raw = raw.without_nulls();
        assert_eq!(raw.document(), &json!({"values": {"b": {"d/e": null}, "f": [{}]}}));
    }

    #[test]
    fn a_part_is_read_by_itself() {
        let raw = Raw::<Wanted>::new(json!({"values": {"sizes": [1, "two"]}, "connection": 1}));
        let text = |failure: Failure| failure.to_string();
        assert_eq!(raw.part::<u8>("/values/sizes/0").map_err(text), Ok(1));
        let wrong = raw.part::<WantedValues>("/values").map_err(text);
        assert!(wrong.is_err_and(|text| text.contains("/values/sizes/1: invalid type")));
        let missing = raw.part::<u8>("/values/name").map_err(text);
        assert!(missing.is_err_and(|text| text.contains("/values/name: is missing")));
    }
}
