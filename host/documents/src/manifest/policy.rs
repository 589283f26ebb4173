//! `policy` of a reference field: `{resolve: Always | IfNotPresent, resolution: Required | Optional}`.

use crate::declare::{Form, form};
use crate::kinds::{Choice, OrNull, Words};
use crate::reader::Reader;
use crate::yaml::Node;

form! {
    /// How to resolve a reference field.
    struct Fields {
        /// Whether a reference overrides a literal value.
        RESOLVE: OrNull<Choice<Resolve>> = "resolve" default "Always";
        /// Whether the target must exist.
        RESOLUTION: OrNull<Choice<Resolution>> = "resolution" default "Required";
    }

    const STRICT: bool = true;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Resolve {
    Always,
    IfNotPresent,
}

impl Words for Resolve {
    const WORDS: &'static [(&'static str, Self)] =
        &[("Always", Self::Always), ("IfNotPresent", Self::IfNotPresent)];
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Resolution {
    Required,
    Optional,
}

impl Words for Resolution {
    const WORDS: &'static [(&'static str, Self)] =
        &[("Required", Self::Required), ("Optional", Self::Optional)];
}

/// How to resolve a reference field. By default, a reference overrides a literal value, and its
/// target must exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// An existing literal value stays.
    pub(super) keeps: bool,
    /// A missing target is omitted.
    pub(super) optional: bool,
}

/// Reads a `policy`; `None` if it is wrong, which is reported.
pub(super) fn read(reader: &mut Reader<'_>, node: Option<&Node<'_>>) -> Option<Policy> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Some(Policy::default()) };
    let before = reader.faults.len();
    let fields = Fields::open(reader, node, "`policy`")?;
    let keeps = fields.read(reader, Fields::RESOLVE) == Some(Resolve::IfNotPresent);
    let optional = fields.read(reader, Fields::RESOLUTION) == Some(Resolution::Optional);
    (reader.faults.len() == before).then_some(Policy { keeps, optional })
}
