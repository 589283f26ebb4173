//! `policy` of a reference field: `{resolve: Always | IfNotPresent, resolution: Required | Optional}`.

use purlin_expression::did_you_mean;

use crate::reader::Reader;
use crate::yaml::Node;

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
    let mut fields = reader.fields(node, "`policy`")?.strict();
    let resolve = fields.get(reader, "resolve");
    let keeps = word(reader, resolve, "`resolve`", ["Always", "IfNotPresent"]);
    let resolution = fields.get(reader, "resolution");
    let optional = word(reader, resolution, "`resolution`", ["Required", "Optional"]);
    fields.done(reader);
    (reader.faults.len() == before).then_some(Policy { keeps, optional })
}

/// Whether a field has the second of two values; the first is the default.
fn word(reader: &mut Reader<'_>, node: Option<&Node<'_>>, what: &str, words: [&str; 2]) -> bool {
    let Some(node) = node.filter(|node| !node.is_null()) else { return false };
    let Some(text) = reader.string(node, what) else { return false };
    if !words.contains(&text) {
        let message = format!("{what} has no value `{text}`");
        reader.wrong_value(&node.span, message, did_you_mean(text, "values", words));
    }
    words.get(1).is_some_and(|word| *word == text)
}
