//! Names that become parts of ids and of URNs (SPEC §1, §2 Names).

use std::sync::Arc;

use purlin_model::{Class, ResourceId, TypeName};

use crate::reader::Reader;
use crate::yaml::{Node, Span};

/// Names like a wrong one that may be valid: without the characters that names rarely have, and in
/// lower case.
pub(crate) fn similar(name: &str) -> [String; 2] {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    let words = name.split(|c| !plain(c)).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-");
    let joined = joined.trim_matches('-');
    [joined.to_owned(), joined.to_ascii_lowercase().replace('_', "-")]
}

/// The type of a requested resource.
pub(crate) fn type_name(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<TypeName> {
    let text = reader.string(node, "`type`")?;
    if let Some((name, class)) = text.split_once('.')
        && let (Ok(_), Ok(_)) = (TypeName::new(name), Class::new(class))
    {
        let message = purlin_model::NameError::Type(text.into()).to_string();
        let help = format!("write `type: {name}` and `class: {class}`");
        let fault = reader.about(&node.span, "bad-name", message).help(help);
        reader.report(fault);
        return None;
    }
    reader.name(node, "`type`")
}

/// The name of a workload: it becomes part of ids and of URNs, whose separator is `::`.
pub(crate) fn workload(reader: &mut Reader<'_>, name: &str, span: &Span) -> Option<Arc<str>> {
    let fits = ResourceId::new(format!("modules.{name}")).is_ok()
        && !name.is_empty()
        && !name.contains(':')
        && !name.contains(".externals.");
    if fits {
        return Some(name.into());
    }
    let rule = match name.contains(".externals.") {
        true => "a name is without `.externals.`, which is before the name of a resource in ids",
        false => "a name is printable, without spaces, `:`, `#`, `<`, `>`, quotes or brackets",
    };
    let fault = reader.about(span, "bad-name", format!("`{name}` cannot be the name of a workload"));
    reader.report(fault.help(with_similar(rule, name)));
    None
}

/// A rule for names, and a name that follows it.
fn with_similar(rule: &str, name: &str) -> String {
    let [similar, _] = similar(name);
    match similar.is_empty() {
        true => rule.to_owned(),
        false => format!("{rule}, such as `{similar}`"),
    }
}

/// The name or the `id` of a resource.
pub(crate) fn resource(reader: &mut Reader<'_>, name: &str, span: &Span) -> Option<Arc<str>> {
    if !name.is_empty() && ResourceId::new(format!("shared.{name}")).is_ok() {
        return Some(name.into());
    }
    let fault = reader
        .about(span, "bad-name", format!("`{name}` cannot be the name of a resource"))
        .help(with_similar("a name is printable, without spaces, `#`, `<`, `>`, quotes or brackets", name));
    reader.report(fault);
    None
}

/// An `id` without the `shared.` prefix, which ids of shared resources have anyway, so that `db`
/// and `shared.db` are the same.
pub(crate) fn shared_id(id: &str) -> &str {
    id.strip_prefix("shared.").filter(|rest| !rest.is_empty()).unwrap_or(id)
}

/// A part of the context: organisation, application, environment, its type or namespace.
pub(crate) fn context_part(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Arc<str>> {
    let text = reader.string(node, what)?;
    context_word(reader, text, &node.span, what)
}

/// The same, from the key of a map.
pub(crate) fn context_word(reader: &mut Reader<'_>, text: &str, span: &Span, what: &str) -> Option<Arc<str>> {
    let empty_fits = what.ends_with("namespace`");
    let wrong = |c: char| c == ':' || c == '/' || c.is_whitespace() || c.is_control();
    if (text.is_empty() && !empty_fits) || text.contains(wrong) {
        let message =
            if text.is_empty() { format!("{what} is empty") } else { format!("`{text}` cannot be {what}") };
        let help = "it becomes part of URNs: write a name without `:`, `/` or spaces";
        let fault = reader.about(span, "bad-name", message).help(help);
        reader.report(fault);
        return None;
    }
    Some(text.into())
}
