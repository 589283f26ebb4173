//! Declarations of fields: each field of a document is declared once, beside the code that reads
//! it. The declaration gives the reader the name of the field and the example for a missing one,
//! and makes the JSON Schema, the page of the book, and whatever an editor shows (SPEC §2).
//!
//! ```text
//! form! {
//!     /// Settings for some resources.
//!     pub(super) struct Rule {
//!         /// Key of a resource, or a pattern with `*`.
//!         RESOURCES: Text = needed "resources", "postgres*";
//!         /// What Purlin does if a resource drifts.
//!         DRIFT: Choice<Drift> = "drift" default "repair";
//!     }
//! }
//! ```
//!
//! A field is `CONSTANT: KIND = [needed] "name" [or "name in formats that are not ours"]… [default
//! "value"] [matching "pattern"] [, "example"];`. An empty name is a format that lacks the field. A
//! pattern is for editors; the reader checks it with a message of its own. After its fields, a form may
//! override items of [`Form`].

use std::borrow::Cow;
use std::marker::PhantomData;

use purlin_model::Location;
use serde_json::{Map, Value, json};

use crate::reader::Reader;
use crate::yaml::{Entry, Node, NodeKind, Span};

/// What a field takes.
pub(crate) trait Kind {
    /// The fields of the map that it takes, or of each of its items.
    const FIELDS: &'static [Declared] = &[];

    /// Its JSON Schema, without a description.
    fn schema() -> Value;
}

/// A kind that needs nothing but its node to be read.
pub(crate) trait Read: Kind {
    /// What it becomes.
    type Value;

    /// Reads a value, and reports what is wrong with it; `what` names it for people.
    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Self::Value>;
}

/// A map whose fields are known, declared with `form!`.
pub(crate) trait Form: Kind + Sized {
    /// Its purpose.
    const ABOUT: &'static str;
    /// The `kind` of a document of ours, whose head was read when it was recognised, and its title.
    const HEAD: Option<(&'static str, &'static str)> = None;
    /// Whether an unknown field is an error even in a format that is not ours, because to ignore it
    /// would change the meaning.
    const STRICT: bool = false;
    /// Whether it may have any other fields.
    const OPEN: bool = false;
    /// What precedes the names of its fields in messages, such as `grants.`.
    const WITHIN: &'static str = "";
    /// Fields that are allowed and not declared one by one, such as those of other programs that have
    /// no effect here.
    const ALLOWED: &'static [&'static [&'static str]] = &[];
    /// Fields that are rejected with a message of their own, so that no help suggests them.
    const REJECTED: &'static [&'static str] = &[];

    /// The help for an unknown field.
    fn hint(_name: &str) -> Option<String> {
        None
    }

    /// Adds to the schema what no single field says, such as that two exclude each other.
    fn constrain(_schema: &mut Value) {}

    /// Opens a map, and reports its missing and unknown fields; `what` names it for people.
    fn open<'n, 't>(reader: &mut Reader<'_>, node: &'n Node<'t>, what: &str) -> Option<Opened<'n, 't, Self>> {
        Self::open_among::<Self>(reader, node, what)
    }

    /// The same for a map that may have the fields of another form, too.
    fn open_among<'n, 't, G: Form>(
        reader: &mut Reader<'_>,
        node: &'n Node<'t>,
        what: &str,
    ) -> Option<Opened<'n, 't, Self>> {
        let entries = reader.map(node, what)?;
        let opened = Opened { entries, span: node.span, foreign: reader.foreign, form: PhantomData };
        opened.check::<G>(reader, what);
        Some(opened)
    }

    /// Whether it has a field of this name.
    fn has(name: &str) -> bool {
        Self::FIELDS.iter().any(|field| field.name == name)
    }

    /// What the field of this name is for.
    fn about(name: &str) -> &'static str {
        Self::FIELDS.iter().find(|field| field.name == name).map_or("", |field| field.about.trim())
    }
}

/// A field of the form `F` that takes `K`.
pub(crate) struct Field<F, K> {
    name: &'static str,
    /// Its names in formats that are not ours, if they differ.
    elsewhere: &'static [&'static str],
    of: PhantomData<fn() -> (F, K)>,
}

impl<F, K> Field<F, K> {
    pub(crate) const fn new(name: &'static str, elsewhere: &'static [&'static str]) -> Self {
        Self { name, elsewhere, of: PhantomData }
    }
}

impl<F, K> Clone for Field<F, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, K> Copy for Field<F, K> {}

/// The declaration of a field.
#[derive(Clone, Copy)]
pub(crate) struct Declared {
    pub(crate) name: &'static str,
    pub(crate) elsewhere: &'static [&'static str],
    /// What it is for, as one or more sentences.
    pub(crate) about: &'static str,
    pub(crate) is_needed: bool,
    /// What applies if it is left out, as it would be written.
    pub(crate) default: Option<&'static str>,
    /// A value to copy; empty if there is none.
    pub(crate) example: &'static str,
    pub(crate) schema: fn() -> Value,
    /// The fields below it.
    pub(crate) fields: &'static [Self],
}

/// The fields of a form except those with these names, all of which it has: anything else does not compile.
pub(crate) const fn except<const N: usize>(fields: &'static [Declared], names: &[&str]) -> [Declared; N] {
    let mut kept = [fields[0]; N];
    let (mut from, mut to) = (0, 0);
    while from < fields.len() {
        if !is_one_of(fields[from].name, names) {
            kept[to] = fields[from];
            to += 1;
        }
        from += 1;
    }
    assert!(to == N, "the form has each of these fields once");
    kept
}

const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let mut index = 0;
    while index < names.len() {
        if is_same(name.as_bytes(), names[index].as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

impl Declared {
    /// Its names in a format of ours, or in one that is not, and those of the other format.
    pub(crate) fn names(&self, foreign: bool) -> (&[&'static str], &[&'static str]) {
        names(&self.name, self.elsewhere, foreign)
    }

    /// A value to copy, with the names of a format of ours or of one that is not.
    fn example_in(&self, foreign: bool) -> Cow<'static, str> {
        let is_renamed = |field: &Self| foreign && field.is_needed && !field.elsewhere.is_empty();
        if !self.fields.iter().any(is_renamed) {
            return self.example.into();
        }
        let needed = self.fields.iter().filter(|field| field.is_needed);
        let named = needed.filter_map(|field| Some((field.names(foreign).0.first()?, field.example)));
        let entries: Vec<String> = named.map(|(name, example)| format!("{name}: {example}")).collect();
        format!("{{{}}}", entries.join(", ")).into()
    }

    /// Its description in the schema.
    fn description(&self) -> String {
        match self.default {
            Some(default) => format!("{} Default: `{default}`.", self.about.trim()),
            None => self.about.trim().to_owned(),
        }
    }
}

/// The names of a field in a format of ours, or in one that is not, and those of the other format.
fn names<'a>(
    name: &'a &'static str,
    elsewhere: &'a [&'static str],
    foreign: bool,
) -> (&'a [&'static str], &'a [&'static str]) {
    let (ours, theirs) = (std::slice::from_ref(name), elsewhere);
    let (own, other) = match (foreign, theirs) {
        (_, []) => (ours, &[][..]),
        (true, _) => (theirs, ours),
        (false, _) => (ours, theirs),
    };
    // Where a format lacks the field, its name is no misnomer, but unknown.
    let lacks = |names: &[&'static str]| names == [NONE];
    match () {
        () if lacks(own) => (&[], &[]),
        () if lacks(other) => (own, &[]),
        () => (own, other),
    }
}

/// The schema of a field, with a pattern for its text or for the texts of its list.
pub(crate) fn schema_of_field<K: Kind>(patterns: &[&str]) -> Value {
    let mut schema = K::schema();
    for pattern in patterns {
        match schema.get_mut("items") {
            Some(items) => items["pattern"] = (*pattern).into(),
            None => schema["pattern"] = (*pattern).into(),
        }
    }
    schema
}

/// In place of the name of a field in a format that has no such field.
pub(crate) const NONE: &str = "";

/// The JSON Schema of a form.
pub(crate) fn schema_of<F: Form>() -> Value {
    let mut properties = Map::new();
    if let Some((kind, _)) = F::HEAD {
        let version = json!({"description": "Group and version.", "const": "purlin.dev/v1"});
        properties.insert("apiVersion".into(), version);
        properties.insert("kind".into(), json!({"description": "Kind of document.", "const": kind}));
    }
    for field in F::FIELDS.iter().filter(|field| field.name != NONE) {
        let mut property = Map::new();
        property.insert("description".into(), field.description().into());
        if let Value::Object(mut schema) = (field.schema)() {
            schema.shift_remove("description");
            property.append(&mut schema);
        }
        if let Some(default) = field.default {
            let default = serde_json::from_str(default).unwrap_or_else(|_| Value::from(default));
            property.insert("default".into(), default);
        }
        properties.insert(field.name.into(), property.into());
    }
    let needed = F::FIELDS.iter().filter(|field| field.is_needed).map(|field| field.name);
    let needed: Vec<&str> = F::HEAD.iter().flat_map(|_| HEAD_FIELDS).chain(needed).collect();
    let mut schema = json!({
        "description": F::ABOUT.trim(),
        "type": "object",
        "required": needed,
        "properties": properties,
    });
    if let Some((_, title)) = F::HEAD {
        schema["title"] = title.into();
    }
    if !F::OPEN {
        schema["additionalProperties"] = false.into();
    }
    F::constrain(&mut schema);
    schema
}

/// The fields of the head of a document of ours.
const HEAD_FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// A map of a form.
pub(crate) struct Opened<'n, 't, F> {
    pub(crate) entries: &'n [Entry<'t>],
    pub(crate) span: Span,
    foreign: bool,
    form: PhantomData<F>,
}

impl<F> Clone for Opened<'_, '_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Opened<'_, '_, F> {}

impl<'n, 't, F: Form> Opened<'n, 't, F> {
    /// The same map as one of another form with the same fields.
    pub(crate) fn as_form<G>(self) -> Opened<'n, 't, G> {
        Opened { entries: self.entries, span: self.span, foreign: self.foreign, form: PhantomData }
    }

    /// The entry of a field.
    pub(crate) fn entry<K>(&self, field: Field<F, K>) -> Option<&'n Entry<'t>> {
        let (own, other) = names(&field.name, field.elsewhere, self.foreign);
        own.iter().chain(other).find_map(|name| self.entry_called(name))
    }

    /// The value of a field. In a format that is not ours, some may be left empty.
    pub(crate) fn node<K>(&self, field: Field<F, K>) -> Option<&'n Node<'t>> {
        let entry = self.entry(field)?;
        (!self.is_left_out(field.name, &entry.value)).then_some(&entry.value)
    }

    fn is_left_out(&self, name: &str, node: &Node<'_>) -> bool {
        self.foreign && NULLABLE.contains(&name) && node.is_null()
    }

    /// Reads a field, if it is there.
    pub(crate) fn read<K: Read>(&self, reader: &mut Reader<'_>, field: Field<F, K>) -> Option<K::Value> {
        let node = self.node(field)?;
        let name = self.name(field);
        K::read(reader, node, &format!("`{}{name}`", F::WITHIN))
    }

    /// The same, with the place of the value.
    pub(crate) fn placed<K: Read>(
        &self,
        reader: &mut Reader<'_>,
        field: Field<F, K>,
    ) -> Option<(K::Value, Location)> {
        let place = reader.at(&self.node(field)?.span);
        Some((self.read(reader, field)?, place))
    }

    /// The name of a field in this format.
    pub(crate) fn name<K>(&self, field: Field<F, K>) -> &'static str {
        field.elsewhere.first().copied().filter(|_| self.foreign).unwrap_or(field.name)
    }

    /// The entry with a key, declared or not.
    pub(crate) fn entry_called(&self, name: &str) -> Option<&'n Entry<'t>> {
        self.entries.iter().find(|entry| &*entry.key == name)
    }

    /// The entries that the form does not declare.
    pub(crate) fn others(&self) -> impl Iterator<Item = &'n Entry<'t>> {
        self.entries.iter().filter(|entry| !self.is_declared(&entry.key))
    }

    /// Reports that a field is missing.
    pub(crate) fn report_missing(&self, reader: &mut Reader<'_>, what: &str, name: &str, example: &str) {
        // A whole map is too large to underline; its first key is enough.
        let span = self.entries.first().map_or(self.span, |entry| entry.key_span);
        let fault = reader
            .about(&span, "missing-field", format!("{what} lacks `{name}`"))
            .help(format!("add `{name}: {example}`"));
        reader.report(fault);
    }

    fn is_declared(&self, name: &str) -> bool {
        let declared = |field: &Declared| field.names(self.foreign).0.contains(&name);
        F::FIELDS.iter().any(declared) || F::ALLOWED.iter().any(|names| names.contains(&name))
    }

    /// Reports fields with a name of another format, missing fields, and unknown fields.
    fn check<G: Form>(&self, reader: &mut Reader<'_>, what: &str) {
        let is_given = |name: &&&str| {
            let given = self.entry_called(name).filter(|entry| !self.is_left_out(name, &entry.value));
            given.is_some()
        };
        let mut misnamed = Vec::new();
        for field in F::FIELDS {
            let (names, misnomers) = field.names(self.foreign);
            let mut given = names.iter().filter(is_given).filter_map(|name| self.entry_called(name));
            if let Some(entry) = given.next() {
                if is_unlike(&entry.value, field.example) {
                    let name = names.iter().find(|name| **name == &*entry.key).copied();
                    let name = name.unwrap_or(field.name);
                    reader.unlike.push((entry.value.span.start, name, field.example));
                }
                for other in given {
                    let message = format!("{what} has `{}` as well as `{}`", other.key, entry.key);
                    let fault = reader.about(&other.key_span, "unknown-field", message);
                    let place = reader.at(&entry.key_span);
                    reader.report(fault.related(&place, "the other one").help("keep one of them"));
                }
                continue;
            }
            let misnomer = misnomers.iter().find(is_given);
            if let Some(entry) = misnomer.and_then(|name| self.entry_called(name)) {
                let fault = reader.about(
                    &entry.key_span,
                    "unknown-field",
                    format!("{what} has no field `{}`", entry.key),
                );
                let right = names.first().copied().unwrap_or(field.name);
                reader.report(fault.help(format!("here the field is called `{right}`")));
                misnamed.push(&*entry.key);
            } else if field.is_needed {
                let name = names.first().copied().unwrap_or(field.name);
                self.report_missing(reader, what, name, &field.example_in(self.foreign));
            }
        }
        if F::OPEN {
            return;
        }
        let is_known = |name: &str| {
            let is_head = F::HEAD.or(G::HEAD).is_some() && HEAD_FIELDS.contains(&name);
            let is_other = |field: &Declared| field.names(self.foreign).0.contains(&name);
            is_head
                || misnamed.contains(&name)
                || F::REJECTED.contains(&name)
                || G::FIELDS.iter().any(is_other)
        };
        let unknown: Vec<&Entry<'_>> = self.others().filter(|entry| !is_known(&entry.key)).collect();
        if unknown.is_empty() {
            return;
        }
        let own = known_names::<F>(self.foreign);
        let others = known_names::<G>(self.foreign).into_iter().filter(|name| !own.contains(name));
        let known: Vec<&'static str> = own.iter().copied().chain(others).collect();
        for entry in unknown {
            reader.unknown_field(entry, what, &known, F::STRICT, F::hint(&entry.key));
        }
    }
}

/// Whether a value is not a map or a list, as the example is.
fn is_unlike(node: &Node<'_>, example: &str) -> bool {
    match example.as_bytes().first() {
        Some(b'{') => node.entries().is_none(),
        Some(b'[') => !matches!(node.kind, NodeKind::List(_)),
        _ => false,
    }
}

/// The names that a form allows.
fn known_names<F: Form>(foreign: bool) -> Vec<&'static str> {
    let head = F::HEAD.iter().flat_map(|_| HEAD_FIELDS);
    let names = F::FIELDS.iter().flat_map(|field| field.names(foreign).0).copied();
    head.chain(names).chain(F::ALLOWED.iter().copied().flatten().copied()).collect()
}

/// Texts that exports of other platforms write as null if they are missing. Texts that determine
/// the identity of a resource, or that hold others, are excluded.
const NULLABLE: [&str; 3] = ["driver_account", "name", "profile"];

/// Declares a form: see the module.
macro_rules! form {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $form:ident {
            $(
                $(#[doc = $says:literal])+
                $field:ident: $kind:ty = $($needed:ident)? $name:literal $(or $elsewhere:literal)*
                    $(default $default:literal)? $(matching $pattern:literal)? $(, $example:literal)?;
            )*
        }
        $($rest:item)*
    ) => {
        $(#[doc = $about])+
        $vis struct $form;

        // Some are only in the schema: their readers look at the whole map.
        #[allow(dead_code)]
        impl $form {
            $(
                $(#[doc = $says])+
                $vis const $field: $crate::declare::Field<Self, $kind> =
                    $crate::declare::Field::new($name, &[$($elsewhere),*]);
            )*
        }

        impl $crate::declare::Kind for $form {
            const FIELDS: &'static [$crate::declare::Declared] = &[$(
                $crate::declare::Declared {
                    name: $name,
                    elsewhere: &[$($elsewhere),*],
                    about: concat!($($says),+),
                    is_needed: { const NEEDED: &[&str] = &[$(stringify!($needed))?]; !NEEDED.is_empty() },
                    default: { const DEFAULT: &[&str] = &[$($default)?]; DEFAULT.first().copied() },
                    example: concat!($($example)?),
                    schema: || {
                        const PATTERN: &[&str] = &[$($pattern)?];
                        $crate::declare::schema_of_field::<$kind>(PATTERN)
                    },
                    fields: <$kind as $crate::declare::Kind>::FIELDS,
                },
            )*];

            fn schema() -> serde_json::Value {
                $crate::declare::schema_of::<Self>()
            }
        }

        impl $crate::declare::Form for $form {
            const ABOUT: &'static str = concat!($($about),+);
            $($rest)*
        }
    };
}
pub(crate) use form;
