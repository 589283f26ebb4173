//! What fields take: texts, numbers, words, lists and maps, each with its check and its schema.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use purlin_expression::did_you_mean;
use purlin_model::{Class, TypeName};
use serde_json::{Value, json};

use crate::declare::{Declared, Kind, Read};
use crate::names::context_part;
use crate::quantity;
use crate::reader::Reader;
use crate::yaml::{Node, NodeKind, Span};

/// Patterns of names. The types of the model are stricter where a pattern cannot say it.
pub(crate) const TYPE: &str = "^[A-Za-z0-9][A-Za-z0-9_/-]*$";
pub(crate) const CLASS: &str = "^[a-z0-9][a-z0-9-]*$";
pub(crate) const DRIVER: &str = "[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*";
/// Names that become parts of ids.
pub(crate) const NAME: &str = "^[^\\s\\p{Cc}#<>'\"`()\\[\\]{}]+$";

/// Declares a kind by its schema alone; its reader needs more than the node.
macro_rules! kind {
    ($(#[doc = $about:literal])+ $vis:vis struct $kind:ident: $schema:expr) => {
        $(#[doc = $about])+
        $vis struct $kind;

        impl $crate::declare::Kind for $kind {
            fn schema() -> serde_json::Value {
                $schema
            }
        }
    };
}
pub(crate) use kind;

/// A text that matches a pattern, which its reader checks with a message of its own.
pub(crate) fn matching(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

kind! {
    /// Non-empty text.
    pub(crate) struct Text: matching("\\S")
}

impl Read for Text {
    type Value = Arc<str>;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
        reader.text(node, what).map(Arc::from)
    }
}

kind! {
    /// Any text.
    pub(crate) struct AnyText: json!({"type": "string"})
}

impl Read for AnyText {
    type Value = Arc<str>;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
        reader.string(node, what).map(Arc::from)
    }
}

kind! {
    /// Text of at least one character, whatever it is.
    pub(crate) struct Filled: json!({"type": "string", "minLength": 1})
}

impl Read for Filled {
    type Value = Arc<str>;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
        let text = reader.string(node, what)?;
        if text.is_empty() {
            reader.wrong_value(&node.span, format!("{what} is empty"), crate::reader::FILL_IN);
            return None;
        }
        Some(text.into())
    }
}

kind! {
    /// True or false.
    pub(crate) struct Flag: json!({"type": "boolean"})
}

impl Read for Flag {
    type Value = bool;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<bool> {
        reader.boolean(node, what)
    }
}

kind! {
    /// A whole number of 1 or more.
    pub(crate) struct Count: json!({"type": "integer", "minimum": 1, "maximum": MOST})
}

/// The largest count: more of anything at the same time has no use.
const MOST: usize = 1_000_000;

impl Read for Count {
    type Value = usize;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<usize> {
        let NodeKind::Number(number) = &node.kind else {
            reader.wrong_type(node, what, "a number");
            return None;
        };
        let count = number.as_u64().and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| (1..=MOST).contains(count));
        if count.is_none() {
            let message = format!("{what} takes a whole number from 1 to {MOST}");
            reader.wrong_value(&node.span, message, "write a number such as 8");
        }
        count
    }
}

/// A number with a unit.
fn quantity<T>(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    (what, kind, example): (&str, &str, &str),
    read: fn(&str) -> Option<T>,
) -> Option<T> {
    let value = node.as_str().and_then(read);
    if value.is_none() {
        let message = format!("{what} takes {kind}, not `{}`", node.span.slice(reader.text));
        reader.wrong_value(&node.span, message, format!("write a number and a unit, such as {example}"));
    }
    value
}

kind! {
    /// A size in bytes, such as `64MiB`.
    pub(crate) struct Size: matching("^0*[1-9][0-9]* *(B|KiB|MiB|GiB|kB|MB|GB)$")
}

impl Read for Size {
    type Value = u64;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<u64> {
        quantity(reader, node, (what, "a size", "64MiB"), quantity::size)
    }
}

kind! {
    /// A duration of more than zero, such as `30s`.
    pub(crate) struct Time: matching("^0*[1-9][0-9]* *(ms|s|m|h|d)$")
}

impl Read for Time {
    type Value = Duration;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Duration> {
        quantity(reader, node, (what, "a duration", "30s"), quantity::duration)
    }
}

kind! {
    /// A duration, which may be zero.
    pub(crate) struct TimeOrZero: matching("^[0-9]+ *(ms|s|m|h|d)$")
}

impl Read for TimeOrZero {
    type Value = Duration;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Duration> {
        quantity(reader, node, (what, "a duration", "30s"), quantity::duration_or_zero)
    }
}

kind! {
    /// A part of the context: organisation, application, environment, or the type of one.
    pub(crate) struct ContextPart: matching("^[^:/\\s\\p{Cc}]+$")
}

impl Read for ContextPart {
    type Value = Arc<str>;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
        context_part(reader, node, what)
    }
}

kind! {
    /// A namespace, which may be empty.
    pub(crate) struct Namespace: matching("^[^:/\\s\\p{Cc}]*$")
}

impl Read for Namespace {
    type Value = Arc<str>;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
        context_part(reader, node, what)
    }
}

impl Kind for TypeName {
    fn schema() -> Value {
        matching(TYPE)
    }
}

impl Read for TypeName {
    type Value = Self;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Self> {
        reader.name(node, what)
    }
}

impl Kind for Class {
    fn schema() -> Value {
        matching(CLASS)
    }
}

impl Read for Class {
    type Value = Self;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Self> {
        reader.name(node, what)
    }
}

kind! {
    /// A map of any values.
    pub(crate) struct Object: json!({"type": "object"})
}

kind! {
    /// Any value.
    pub(crate) struct Anything: json!({})
}

/// Words, one of which a field takes.
pub(crate) trait Words: Copy + 'static {
    /// The words and their meanings.
    const WORDS: &'static [(&'static str, Self)];
}

/// One word of a few.
pub(crate) struct Choice<T>(PhantomData<T>);

impl<T: Words> Kind for Choice<T> {
    fn schema() -> Value {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        json!({"enum": words})
    }
}

impl<T: Words> Read for Choice<T> {
    type Value = T;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<T> {
        let text = reader.string(node, what)?;
        word(reader, text, &node.span, what)
    }
}

/// The meaning of a word; another word is reported.
pub(crate) fn word<T: Words>(reader: &mut Reader<'_>, text: &str, span: &Span, what: &str) -> Option<T> {
    let found = T::WORDS.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let help = did_you_mean(text, "values", T::WORDS.iter().map(|(word, _)| *word));
        reader.wrong_value(span, format!("{what} has no value `{text}`"), help);
    }
    found.map(|(_, meaning)| *meaning)
}

/// A list.
pub(crate) struct List<K>(PhantomData<K>);

impl<K: Kind> Kind for List<K> {
    const FIELDS: &'static [Declared] = K::FIELDS;

    fn schema() -> Value {
        json!({"type": "array", "items": K::schema()})
    }
}

impl<T: Words> Read for List<Choice<T>> {
    type Value = Vec<T>;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Vec<T>> {
        let words = reader.strings(node, what)?;
        Some(words.into_iter().filter_map(|(text, span)| word(reader, text, &span, what)).collect())
    }
}

/// The texts of a list, with their places.
impl Read for List<AnyText> {
    type Value = Vec<(Arc<str>, Span)>;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Self::Value> {
        let items = reader.strings(node, what)?;
        Some(items.into_iter().map(|(text, span)| (text.into(), span)).collect())
    }
}

/// Names of the entries of a map.
pub(crate) trait Names {
    /// The JSON Schema of a name.
    fn schema() -> Value;
}

/// A map from names to things of one kind.
pub(crate) struct MapOf<N, K>(PhantomData<(N, K)>);

impl<N: Names, K: Kind> Kind for MapOf<N, K> {
    const FIELDS: &'static [Declared] = K::FIELDS;

    fn schema() -> Value {
        json!({"type": "object", "propertyNames": N::schema(), "additionalProperties": K::schema()})
    }
}

/// One of two kinds.
pub(crate) struct Either<A, B>(PhantomData<(A, B)>);

impl<A: Kind, B: Kind> Kind for Either<A, B> {
    const FIELDS: &'static [Declared] = if A::FIELDS.is_empty() { B::FIELDS } else { A::FIELDS };

    fn schema() -> Value {
        json!({"oneOf": [A::schema(), B::schema()]})
    }
}

/// What a document of another program may also leave empty.
pub(crate) struct OrNull<K>(PhantomData<K>);

impl<K: Kind> Kind for OrNull<K> {
    const FIELDS: &'static [Declared] = K::FIELDS;

    fn schema() -> Value {
        let mut schema = K::schema();
        schema["type"] = json!([schema["type"], "null"]);
        schema
    }
}

impl<K: Read> Read for OrNull<K> {
    type Value = K::Value;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<K::Value> {
        K::read(reader, node, what)
    }
}
