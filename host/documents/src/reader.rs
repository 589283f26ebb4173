//! Reads maps field by field, so that every format names its fields once and all of them report
//! faults in the same way. This module knows no format.

use std::sync::Arc;

use purlin_expression::did_you_mean;
use purlin_model::{Diagnostic, Location};

use crate::attached::{AttachedFile, Files};
use crate::yaml::{Entry, Node, NodeKind, Span};
use crate::{form, names, near, shape};

/// One document during reading.
pub(crate) struct Reader<'a> {
    pub(crate) file: &'a Arc<str>,
    pub(crate) text: &'a str,
    /// A format that is not ours: unknown fields are warnings if they are harmless.
    pub(crate) foreign: bool,
    /// Field names of the format, at any level: if an unknown field has one of them, it is
    /// misplaced.
    pub(crate) vocabulary: &'static [&'static str],
    /// The source of files beside the document, and those that were read so far.
    pub(crate) files: Files<'a>,
    pub(crate) attached: Vec<AttachedFile>,
    pub(crate) faults: Vec<Diagnostic>,
    /// The fields whose values are of another kind than their examples: where the value begins, the name
    /// of the field, and the example.
    pub(crate) unlike: Vec<(u32, &'static str, &'static str)>,
    /// Faults that are some only if there is a resource type of that name.
    pub(crate) suspects: Vec<(Arc<str>, Diagnostic)>,
}

/// The help for an empty text.
pub(crate) const FILL_IN: &str = "write a value, or leave the field out";

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &'a Arc<str>, text: &'a str, foreign: bool) -> Self {
        Self {
            file,
            text,
            foreign,
            vocabulary: &[],
            files: Files::Unread,
            attached: Vec::new(),
            faults: Vec::new(),
            unlike: Vec::new(),
            suspects: Vec::new(),
        }
    }

    pub(crate) fn at(&self, span: &Span) -> Location {
        span.location(self.file)
    }

    /// A fault about a span, not reported yet.
    pub(crate) fn about(&self, span: &Span, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, message).at(&self.at(span)).spanning(span.width(self.text))
    }

    pub(crate) fn report(&mut self, fault: Diagnostic) {
        self.faults.push(fault);
    }

    /// Reports a value of the wrong kind.
    pub(crate) fn wrong_type(&mut self, node: &Node<'_>, what: &str, expected: &str) {
        let declared = self.unlike.iter().find(|(start, ..)| *start == node.span.start);
        let declared = declared.map(|(_, name, example)| (*name, *example));
        let help = form::right_form(node, what, expected, self.text, declared);
        let fault = if node.is_null() && expected.starts_with("a ") {
            let message = format!("{what} is empty, and takes {expected}");
            self.about(&node.span, "wrong-type", message)
        } else {
            let message = format!("{what} takes {expected}, not {}", node.describe());
            self.about(&node.span, "wrong-type", message)
        };
        self.report(fault.help(help));
    }

    /// Reports a value of the right kind that is still wrong.
    pub(crate) fn wrong_value(&mut self, span: &Span, message: impl Into<String>, help: impl Into<String>) {
        let fault = self.about(span, "wrong-value", message).help(help);
        self.report(fault);
    }

    pub(crate) fn string<'n>(&mut self, node: &'n Node<'_>, what: &str) -> Option<&'n str> {
        match &node.kind {
            NodeKind::String(text, _) => Some(text),
            _ => {
                self.wrong_type(node, what, "a string");
                None
            }
        }
    }

    /// A non-empty string.
    pub(crate) fn text<'n>(&mut self, node: &'n Node<'_>, what: &str) -> Option<&'n str> {
        let text = self.string(node, what)?;
        if text.trim().is_empty() {
            self.wrong_value(&node.span, format!("{what} is empty"), FILL_IN);
            return None;
        }
        Some(text)
    }

    pub(crate) fn boolean(&mut self, node: &Node<'_>, what: &str) -> Option<bool> {
        match &node.kind {
            NodeKind::Bool(value) => Some(*value),
            _ => {
                self.wrong_type(node, what, "true or false");
                None
            }
        }
    }

    pub(crate) fn list<'n, 't>(&mut self, node: &'n Node<'t>, what: &str) -> Option<&'n [Node<'t>]> {
        match &node.kind {
            NodeKind::List(items) => Some(items),
            _ => {
                self.wrong_type(node, what, "a list");
                None
            }
        }
    }

    pub(crate) fn map<'n, 't>(&mut self, node: &'n Node<'t>, what: &str) -> Option<&'n [Entry<'t>]> {
        match &node.kind {
            NodeKind::Map(entries) => Some(entries),
            _ => {
                self.wrong_type(node, what, "a map");
                None
            }
        }
    }

    /// Reports an entry in a map of arbitrary values, where it is just another value, if it has the
    /// form of something that belongs elsewhere.
    pub(crate) fn misplaced(&mut self, entry: &Entry<'_>, within: &str, help: &str) {
        let fault = self.out_of_place(entry, within, help);
        self.report(fault);
    }

    fn out_of_place(&self, entry: &Entry<'_>, within: &str, help: &str) -> Diagnostic {
        let message = format!("`{}` is inside `{within}`, where it has no effect", entry.key);
        self.about(&entry.key_span, "misplaced-field", message).help(help)
    }

    /// Reports a field that slipped into a map of arbitrary values and left its entries behind.
    pub(crate) fn no_empty(&mut self, entries: &[Entry<'_>], fields: &[&str], within: &str, help: &str) {
        for entry in entries {
            if entry.value.is_null() && fields.contains(&&*entry.key) {
                self.misplaced(entry, within, help);
            }
        }
    }

    /// Reports resources that slipped into a map of arbitrary values, such as the `params` of the
    /// one above. With a class or an id and without `params`, it is one only if there is such a type;
    /// with only a `type` it may be intended.
    pub(crate) fn no_requests(&mut self, entries: &[Entry<'_>], within: &str) {
        self.no_requests_at(entries, within, false);
    }

    /// The same at any depth. Below other maps, it is one only if there is such a type.
    fn no_requests_at(&mut self, entries: &[Entry<'_>], within: &str, is_deep: bool) {
        const HELP: &str = "a resource belongs next to the others: check its indentation";
        for entry in entries {
            let has = |name| entry.value.get(name).is_some();
            let kind = entry.value.get("type").and_then(Node::as_str);
            match kind.filter(|_| shape::is_request(&entry.value)) {
                Some(_) if has("params") && !is_deep => self.misplaced(entry, within, HELP),
                Some(kind) if has("params") || has("class") || has("id") => {
                    let fault = self.out_of_place(entry, within, HELP);
                    self.suspects.push((kind.into(), fault));
                }
                _ => self.no_requests_at(entry.value.entries().unwrap_or_default(), within, true),
            }
        }
    }

    /// The strings of a list.
    pub(crate) fn strings<'n>(&mut self, node: &'n Node<'_>, what: &str) -> Option<Vec<(&'n str, Span)>> {
        let items = self.list(node, what)?;
        let item = format!("an item of {what}");
        Some(items.iter().filter_map(|node| Some((self.string(node, &item)?, node.span))).collect())
    }

    /// A name that a type of the model checks.
    pub(crate) fn name<T: std::str::FromStr<Err = purlin_model::NameError>>(
        &mut self,
        node: &Node<'_>,
        what: &str,
    ) -> Option<T> {
        let text = self.string(node, what)?;
        match text.parse() {
            Ok(name) => Some(name),
            Err(error) => {
                let valid = names::similar(text).into_iter().find(|name| name.parse::<T>().is_ok());
                let fault = self.about(&node.span, "bad-name", error.to_string());
                self.report(match valid {
                    Some(valid) => fault.help(format!("write a name such as `{valid}`")),
                    None => fault,
                });
                None
            }
        }
    }

    /// The entries of a map of things of one kind, such as resources. A field of such a thing that
    /// stands beside the things, where it would be one of them, is reported and left out. `needs`
    /// are the fields by which a thing is known, and `is_field` tells all of them.
    pub(crate) fn things<'n, 't>(
        &mut self,
        node: &'n Node<'t>,
        what: &str,
        needs: &[&str],
        is_field: &dyn Fn(&str) -> bool,
    ) -> Vec<&'n Entry<'t>> {
        let entries = self.map(node, what).unwrap_or_default();
        let is_thing = |entry: &Entry<'_>| needs.iter().any(|name| entry.value.get(name).is_some());
        let mut above: Option<&Entry<'_>> = None;
        let mut things = Vec::with_capacity(entries.len());
        for entry in entries {
            match above {
                Some(above) if is_field(&entry.key) && !is_thing(entry) => {
                    let message =
                        format!("`{}` is beside `{}`, where it has no effect", entry.key, above.key);
                    let help = format!("indent it below `{}`", above.key);
                    let fault = self.about(&entry.key_span, "misplaced-field", message).help(help);
                    self.report(fault);
                }
                _ => {
                    things.push(entry);
                    above = Some(entry).filter(|entry| entry.value.entries().is_some());
                }
            }
        }
        things
    }

    /// Reports an unknown field of the map that `what` names. In a format that is not ours, it is only a
    /// warning if it is harmless, unless the map is `strict`.
    pub(crate) fn unknown_field(
        &mut self,
        entry: &Entry<'_>,
        what: &str,
        known: &[&'static str],
        strict: bool,
        help: Option<String>,
    ) {
        let misplaced = self.vocabulary.contains(&&*entry.key);
        let harmless = self.foreign
            && !strict
            && !misplaced
            && near::slip(&entry.key, known.iter().copied()).is_none()
            && !holds_something(&entry.value);
        let message = format!("{what} has no field `{}`", entry.key);
        let fault = self.about(&entry.key_span, "unknown-field", message);
        let fault = fault.help(help.unwrap_or_else(|| {
            let known = did_you_mean(&entry.key, "fields", known.iter().copied());
            match misplaced && !known.starts_with("did you mean") {
                true => format!("`{}` belongs elsewhere: check its indentation; {known}", entry.key),
                false => known,
            }
        }));
        self.report(match harmless {
            true => Diagnostic { severity: purlin_model::Severity::Warning, ..fault },
            false => fault,
        });
    }
}

/// Whether an unknown field may be a misplaced or misnamed part of the document: a remark would be
/// a word or a number.
fn holds_something(node: &Node<'_>) -> bool {
    matches!(node.kind, NodeKind::Map(_) | NodeKind::List(_) | NodeKind::Null)
}
