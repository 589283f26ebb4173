//! Values as documents write them, with placeholders already parsed (SPEC §4).
//!
//! The types are here because recipes and requests contain them. `purlin-expression` parses and
//! evaluates them, and `purlin-graph` decides what each placeholder depends on.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::{ContextField, Descriptor, Entries, Location, Selector, Value};

/// A value that may hold placeholders.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// No placeholder anywhere below.
    Constant(Value),
    /// Text with at least one placeholder. Literal text and placeholders alternate. A single
    /// placeholder alone takes the value's type; with an empty literal before it, it does not.
    Text(Arc<[Piece]>),
    /// A list with a placeholder somewhere below.
    List(Vec<Template>),
    /// A map with a placeholder somewhere below.
    Map(Box<Entries<Template>>),
}

impl Default for Template {
    fn default() -> Self {
        Self::Constant(Value::Map(crate::Map::default()))
    }
}

impl Template {
    /// The same, filled in as text whatever the values are: a single placeholder alone does not take
    /// the value's type either.
    #[must_use]
    pub fn as_text(self) -> Self {
        match self {
            Self::Text(pieces) if matches!(*pieces, [Piece::Placeholder(_)]) => {
                let nothing = Piece::Literal(Arc::default());
                Self::Text(std::iter::once(nothing).chain(pieces.iter().cloned()).collect())
            }
            other => other,
        }
    }

    /// Calls `visit` for each placeholder, in the order of the document.
    pub fn placeholders<'a>(&'a self, visit: &mut dyn FnMut(&'a Placeholder)) {
        match self {
            Self::Constant(_) => {}
            Self::Text(text) => {
                for piece in text.iter() {
                    if let Piece::Placeholder(placeholder) = piece {
                        visit(placeholder);
                    }
                }
            }
            Self::List(items) => items.iter().for_each(|item| item.placeholders(visit)),
            Self::Map(entries) => entries.values().for_each(|item| item.placeholders(visit)),
        }
    }
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Literal text, with escapes undone.
    Literal(Arc<str>),
    /// A placeholder to fill in.
    Placeholder(Placeholder),
}

/// One `${…}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Placeholder {
    /// What it refers to.
    pub reference: Reference,
    /// `?`, `??` and pipes, if it has any.
    pub modifiers: Option<Box<Modifiers>>,
    /// As written, with `${` and `}`, if [`source`](Self::source) does not derive that from the
    /// reference.
    written: Option<Arc<str>>,
    /// Whether it reads an output of a requirement: its reference then names the installation that
    /// the requirement has, and not one that a document calls so.
    pub is_of_requirement: bool,
    /// Where it was written.
    pub location: Location,
}

impl Placeholder {
    /// A placeholder written as `source`, with `${` and `}`.
    pub fn new(
        reference: Reference,
        modifiers: Option<Box<Modifiers>>,
        source: &str,
        location: Location,
    ) -> Self {
        let is_usual = modifiers.is_none() && usual(&reference).is_some_and(|usual| usual == source);
        let written = (!is_usual).then(|| source.into());
        Self { reference, modifiers, written, is_of_requirement: false, location }
    }

    /// The same, as written, which reads the output of a requirement from its installation.
    #[must_use]
    pub fn of_requirement(&self, reference: Reference) -> Self {
        Self {
            reference,
            modifiers: self.modifiers.clone(),
            written: Some(self.source().into()),
            is_of_requirement: true,
            location: self.location.clone(),
        }
    }

    /// As written, with `${` and `}`.
    pub fn source(&self) -> Cow<'_, str> {
        match &self.written {
            Some(written) => Cow::Borrowed(written),
            None => Cow::Owned(usual(&self.reference).unwrap_or_default()),
        }
    }
}

/// The usual spelling of a reference to an output of a resource. Large documents consist mostly of
/// these: a text that can be derived need not be stored.
fn usual(reference: &Reference) -> Option<String> {
    let Reference::Resource(descriptor, Access::Outputs(path)) = reference else { return None };
    let mut source = format!("${{resources['{descriptor}'].outputs");
    for segment in &path.0 {
        source.push('.');
        source.push_str(segment);
    }
    source.push('}');
    Some(source)
}

/// The modifiers of a placeholder (SPEC §4 [+]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Modifiers {
    /// Its value if its path is absent.
    pub absent: Absent,
    /// The functions applied to the value, in this order.
    pub pipes: Vec<Pipe>,
}

/// The value of a placeholder if its path is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Absent {
    /// A fault: the path must exist.
    #[default]
    Fault,
    /// `${path?}`: nothing. An entry of a map or list is omitted, and so is a text that contains
    /// it.
    LeftOut,
    /// `${path ?? literal}`.
    Default(Value),
}

/// A function for values, from the closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// Percent-encodes a text, so that it can be used in any part of a URL.
    UrlEncode,
    /// Encodes a text in base64, with padding.
    Base64,
    /// Writes any value as JSON.
    Json,
    /// Converts a text to lower case.
    Lower,
    /// Converts a text to upper case.
    Upper,
}

impl Pipe {
    /// Each pipe with its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("urlencode", Self::UrlEncode),
        ("base64", Self::Base64),
        ("json", Self::Json),
        ("lower", Self::Lower),
        ("upper", Self::Upper),
    ];
}

/// A path into a value: keys of maps, or decimal indices of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(pub Box<[Arc<str>]>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            if segment.contains(['.', '[', ']', '\'', '"']) {
                write!(f, "['{segment}']")?;
            } else {
                write!(f, "{}{segment}", if index == 0 { "" } else { "." })?;
            }
        }
        Ok(())
    }
}

/// What a placeholder refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// `context.…`
    Context(ContextField),
    /// `resources.DESCRIPTOR.…`: one resource, which is added to the graph if it is missing.
    Resource(Descriptor, Access),
    /// `resources.START<A>B.…`: every selected resource, as a list.
    Selected(Arc<Selector>, Access),
    /// `values.K`: a value of the deployment.
    Value(Path),
    /// `params.K`: the developer's params for this resource.
    Param(Path),
    /// `manifest.K`: the manifest of this resource, with its references resolved.
    Manifest(Path),
    /// `metadata.K` in a Score file.
    Metadata(Path),
    /// A resource by the name that it has in its document: `resources.NAME[.OUTPUT…]` in a Score file,
    /// `externals.NAME…` in a Deployment Set, `bundle.dependencies.NAME…` in a bundle. An empty path is the
    /// resource itself, which reads as its id; an empty name is the resource whose outputs these are
    /// (`outputs.NAME`).
    Named(Arc<str>, Path),
    /// `shared.NAME…` in a Deployment Set.
    Shared(Arc<str>, Path),
    /// `installation.…` in a bundle.
    Installation(InstallationField),
    /// `bundle.name` and the like in a bundle.
    Bundle(BundleField),
    /// A reference field of a managed resource.
    Field(Arc<crate::FieldReference>),
}

/// The fields of a bundle that it can read itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BundleField {
    /// `bundle.name`, as its document gives it.
    Name,
    /// `bundle.version`
    Version,
    /// `bundle.description`
    Description,
}

impl BundleField {
    /// Every field, with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("name", Self::Name), ("version", Self::Version), ("description", Self::Description)];
}

/// The fields of its installation that a bundle can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstallationField {
    /// `installation.id`: permanent and unique.
    Id,
    /// `installation.name`
    Name,
    /// `installation.namespace`; empty for the global one.
    Namespace,
    /// `installation.root.id`: of the requested one that this one was created for.
    RootId,
    /// `installation.root.name`
    RootName,
}

impl InstallationField {
    /// Every field, with the path that names it.
    pub const ALL: [(&'static str, Self); 5] = [
        ("id", Self::Id),
        ("name", Self::Name),
        ("namespace", Self::Namespace),
        ("root.id", Self::RootId),
        ("root.name", Self::RootName),
    ];
}

/// The value that is read from a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `.outputs.OUTPUT[.SUB…]`; an empty path reads all outputs.
    Outputs(Path),
    /// `.guresid`
    Guresid,
    /// `.account`: its `driver_account`.
    Account,
    /// `.values.K`: its resolved input values.
    Values(Path),
}
