//! Files and volumes of a container: maps by target path, or the older lists.

use purlin_expression::Dialect;
use purlin_model::{Diagnostic, Template};

use super::{filled, pattern};
use crate::reader::Reader;
use crate::template::{constant, list, map, template};
use crate::yaml::{Kind, Node};

/// One file or one volume: checked, and with its placeholders parsed.
type Item = fn(&mut Reader<'_>, &Node<'_>) -> Template;

/// `files`
pub(super) fn files(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    map_or_list(reader, node, "files", file)
}

/// `volumes`
pub(super) fn volumes(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    map_or_list(reader, node, "volumes", volume)
}

fn map_or_list(reader: &mut Reader<'_>, node: &Node<'_>, name: &str, item: Item) -> Template {
    match &node.kind {
        Kind::List(items) => {
            let warning = Diagnostic::warning("deprecated", format!("`{name}` as a list is deprecated"))
                .at(&reader.at(&node.span))
                .help("write a map from target paths");
            reader.report(warning);
            list(items.iter().map(|node| item(reader, node)).collect())
        }
        Kind::Map(entries) => {
            let mut items = Vec::with_capacity(entries.len());
            for entry in entries {
                let target =
                    entry.value.entries().and_then(|fields| fields.iter().find(|f| &*f.key == "target"));
                if let Some(target) = target {
                    let message = format!("`target` is given twice: `{}` is the target here", entry.key);
                    reader.wrong_value(&target.key_span, message, "leave `target` out");
                }
                items.push((entry.key.clone(), item(reader, &entry.value)));
            }
            map(items.into_iter())
        }
        _ => {
            reader.wrong_type(node, &format!("`{name}`"), "a map from target paths");
            Template::default()
        }
    }
}

fn file(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let Some(mut fields) = reader.fields(node, "a file") else { return Template::default() };
    if let Some(node) = fields.get(reader, "target") {
        filled(reader, node, "`target`");
    }
    if let Some(node) = fields.get(reader, "mode")
        && let Some(mode) = reader.string(node, "`mode`")
        && !pattern::mode(mode)
    {
        reader.wrong_value(
            &node.span,
            format!("`{mode}` is no mode of a file"),
            "write octal digits in quotes: \"0600\"",
        );
    }
    let source = fields.get(reader, "source");
    let content = fields.get(reader, "content");
    let binary = fields.get(reader, "binaryContent");
    let plain = fields.get(reader, "noExpand").and_then(|node| reader.boolean(node, "`noExpand`"));
    fields.done(reader);
    if let Some(node) = source {
        filled(reader, node, "`source`");
    }
    if let Some(node) = content {
        reader.string(node, "`content`");
    }
    if let Some(node) = binary {
        reader.string(node, "`binaryContent`");
    }
    let given = [source, content, binary].iter().flatten().count();
    if given != 1 {
        let message = match given {
            0 => "the file has no content",
            _ => "the file has more than one content",
        };
        reader.wrong_value(&node.span, message, "give one of `content`, `binaryContent` and `source`");
    }
    let expanded: &[&str] = if plain == Some(true) { &["source"] } else { &["source", "content"] };
    expand(reader, node, expanded)
}

fn volume(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let Some(mut fields) = reader.fields(node, "a volume") else { return Template::default() };
    if let Some(node) = fields.need(reader, "source", "${resources.NAME}") {
        reader.string(node, "`source`");
    }
    for name in ["path", "target"] {
        if let Some(node) = fields.get(reader, name) {
            reader.string(node, &format!("`{name}`"));
        }
    }
    if let Some(node) = fields.get(reader, "readOnly") {
        reader.boolean(node, "`readOnly`");
    }
    fields.done(reader);
    expand(reader, node, &["source", "path"])
}

/// A map in which only some fields hold placeholders.
pub(super) fn expand(reader: &mut Reader<'_>, node: &Node<'_>, fields: &[&str]) -> Template {
    let entries = node.entries().unwrap_or_default();
    map(entries.iter().map(|entry| {
        let value = if fields.contains(&&*entry.key) {
            template(reader, &entry.value, Dialect::Score)
        } else {
            Template::Constant(constant(&entry.value))
        };
        (entry.key.clone(), value)
    }))
}
