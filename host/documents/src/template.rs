//! Nodes to templates: every string that may hold placeholders is parsed here, once.

use std::sync::Arc;

use purlin_expression::{Dialect, did_you_mean, lost_placeholders, parse_text};
use purlin_model::{Diagnostic, Entries, Location, Map, Reference, Template, Value};

use crate::reader::Reader;
use crate::yaml::{Entry, Locator, Node, NodeKind};

/// A tree with its placeholders parsed. Faults are reported, and leave a null.
pub(crate) fn template(reader: &mut Reader<'_>, node: &Node<'_>, dialect: Dialect) -> Template {
    match &node.kind {
        NodeKind::String(text, style) if text.contains(['$', '{']) => {
            let locator = Locator::new(reader.file, reader.text, node.span, text, *style);
            let lost = lost_placeholders(text, dialect);
            reader.faults.extend(lost.into_iter().map(|(part, correct)| {
                let written = text.get(part.clone()).unwrap_or_default();
                without_dollar(written, &correct, &locator.locate(part.start))
            }));
            match parse_text(text, dialect, &|offset| locator.locate(offset)) {
                Ok(template) => template,
                Err(faults) => {
                    reader.faults.extend(faults);
                    Template::Constant(Value::Null)
                }
            }
        }
        NodeKind::List(items) => list(items.iter().map(|item| template(reader, item, dialect)).collect()),
        NodeKind::Map(entries) => map(entries
            .iter()
            .map(|entry| (key(reader, entry, dialect), template(reader, &entry.value, dialect)))),
        _ => Template::Constant(constant(node)),
    }
}

/// The key of a map whose values hold placeholders. A placeholder in it is a fault, because the
/// names of a map have to be known (SPEC §4); the escape for `${` works as in values.
pub(crate) fn key(reader: &mut Reader<'_>, entry: &Entry<'_>, dialect: Dialect) -> Arc<str> {
    if !entry.key.contains('$') {
        return entry.key.clone();
    }
    if let Some(key) = constant_key(&entry.key, dialect) {
        return key;
    }
    let fault = reader
        .about(&entry.key_span, "placeholder-in-key", format!("the key `{}` contains a placeholder", entry.key))
        .help(format!(
            "write the key out, and use placeholders only in values; a key that contains `${{` as text is written \
             with `{}`",
            dialect.escaped()
        ));
    reader.report(fault);
    entry.key.clone()
}

/// A key with its escapes undone; none if it contains a placeholder.
pub(crate) fn constant_key(key: &str, dialect: Dialect) -> Option<Arc<str>> {
    if !key.contains("${") && !key.contains(dialect.escaped()) {
        return Some(key.into());
    }
    match parse_text(key, dialect, &|_| Location::default()) {
        Ok(Template::Constant(Value::String(text))) => Some(text),
        _ => None,
    }
}

/// The warning about a text that most likely lost a character of its placeholder.
pub(crate) fn without_dollar(written: &str, correct: &str, place: &Location) -> Diagnostic {
    Diagnostic::warning(WITHOUT_DOLLAR, format!("`{written}` is text, and reads nothing"))
        .at(place)
        .spanning(written.chars().count())
        .help(format!("write `{correct}` to read the value"))
}

/// The code of [`without_dollar`].
pub const WITHOUT_DOLLAR: &str = "placeholder-without-dollar";

/// The placeholder that the text of a file was most likely meant to be at the place of a warning with
/// the code [`WITHOUT_DOLLAR`].
pub fn meant_placeholder(text: &str, place: &Location) -> Option<String> {
    let line = text.lines().nth(usize::try_from(place.line).ok()?.checked_sub(1)?)?;
    let column = usize::try_from(place.column).ok()?.checked_sub(1)?;
    let (at, _) = line.char_indices().nth(column)?;
    let rest = line.get(at..)?.trim_start_matches(['$', '{']);
    Some(format!("${{{}}}", rest.get(..rest.find('}')?)?.trim()))
}

/// A tree in which `${` has no meaning.
pub(crate) fn constant(node: &Node<'_>) -> Value {
    match &node.kind {
        NodeKind::Null => Value::Null,
        NodeKind::Bool(value) => Value::Bool(*value),
        NodeKind::Number(value) => Value::Number(value.clone()),
        NodeKind::String(text, _) => Value::String(text.as_ref().into()),
        NodeKind::List(items) => Value::List(items.iter().map(constant).collect()),
        NodeKind::Map(entries) => {
            Value::Map(entries.iter().map(|entry| (entry.key.clone(), constant(&entry.value))).collect())
        }
    }
}

/// A list, constant when all of it is.
pub(crate) fn list(items: Vec<Template>) -> Template {
    if !items.iter().all(|item| matches!(item, Template::Constant(_))) {
        return Template::List(items);
    }
    let values = items.into_iter().filter_map(|item| match item {
        Template::Constant(value) => Some(value),
        _ => None,
    });
    Template::Constant(Value::List(values.collect()))
}

/// A map, constant when all of it is.
pub(crate) fn map(entries: impl Iterator<Item = (Arc<str>, Template)>) -> Template {
    let entries: Entries<Template> = entries.collect();
    if !entries.values().all(|item| matches!(item, Template::Constant(_))) {
        return Template::Map(Box::new(entries));
    }
    let values = entries.into_iter().filter_map(|(key, item)| match item {
        Template::Constant(value) => Some((key, value)),
        _ => None,
    });
    Template::Constant(Value::Map(values.collect::<Map>()))
}

/// A document's names for resources, to check its placeholders.
pub(crate) struct Names<'n> {
    /// Names of the workload's own resources.
    pub(crate) named: Vec<&'n str>,
    /// Names of shared resources; `None` if the document cannot know them.
    pub(crate) shared: Option<Vec<&'n str>>,
}

impl Names<'_> {
    /// Reports placeholders that name an undeclared resource.
    pub(crate) fn check(&self, template: &Template, faults: &mut Vec<Diagnostic>) {
        template.placeholders(&mut |placeholder| {
            let (name, known, what) = match (&placeholder.reference, &self.shared) {
                (Reference::Named(name, _), _) => (name, &self.named, "resources of this workload"),
                (Reference::Shared(name, _), Some(shared)) => (name, shared, "shared resources"),
                _ => return,
            };
            if known.contains(&&**name) {
                return;
            }
            let help = match did_you_mean(name, what, known.iter().copied()) {
                // Only a Score file does not know the names of shared resources.
                help if help.is_empty() && self.shared.is_none() => {
                    format!("declare it: `resources: {{{name}: {{type: TYPE}}}}`")
                }
                help => help,
            };
            faults.push(
                Diagnostic::error("unknown-resource", format!("no resource `{name}` is declared"))
                    .at(&placeholder.location)
                    .spanning(placeholder.source().chars().count())
                    .help(help),
            );
        });
    }
}
