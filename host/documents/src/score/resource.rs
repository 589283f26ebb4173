//! The resources that a Score file declares.

use std::sync::Arc;

use purlin_expression::Dialect;
use purlin_model::{Class, ResourceRequest};

use super::{FORM_OF_LABELS, annotations, label, pattern};
use crate::names;
use crate::reader::Reader;
use crate::request::FIELDS;
use crate::template::template;
use crate::yaml::{Entry, Node};

pub(super) fn resources(reader: &mut Reader<'_>, node: &Node<'_>) -> Vec<ResourceRequest> {
    let entries = reader.things(node, "`resources`", &["type"], &FIELDS);
    entries.into_iter().filter_map(|entry| resource(reader, entry)).collect()
}

fn resource(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<ResourceRequest> {
    let named = label(reader, &entry.key, &entry.key_span, "the name of a resource");
    let mut fields = reader.fields(&entry.value, &format!("the resource `{}`", entry.key))?;
    let type_name = fields.need(reader, "type", "TYPE").and_then(|node| names::type_name(reader, node));
    let class = fields.get(reader, "class").map(|node| class(reader, node));
    let id = fields.get(reader, "id").map(|node| {
        let text = reader.string(node, "`id`")?;
        if !pattern::id(text) {
            let help = "write 2 to 63 of a-z, 0-9 and `-`, with `.` between parts";
            reader.wrong_value(&node.span, format!("`{text}` cannot be the id of a resource"), help);
            return None;
        }
        Some(Arc::from(names::shared_id(text)))
    });
    if let Some(node) = fields.get(reader, "metadata")
        && let Some(mut metadata) = reader.fields(node, "`metadata`")
    {
        reader.no_requests(node.entries().unwrap_or_default(), "metadata");
        if let Some(node) = metadata.get(reader, "annotations") {
            annotations(reader, node);
        }
    }
    let params = fields.get(reader, "params").and_then(|node| {
        let entries = reader.map(node, "`params`")?;
        reader.no_requests(entries, "params");
        Some(Arc::new(template(reader, node, Dialect::Score)))
    });
    fields.done_with(reader, &crate::lifecycle::in_a_resource);
    Some(ResourceRequest {
        name: named.then(|| entry.key.clone())?,
        type_name: type_name?,
        class: class.unwrap_or_else(|| Some(Class::default_class()))?,
        id: id.map_or(Some(None), |id| id.map(Some))?,
        params,
        location: reader.at(&entry.key_span),
    })
}

/// A class: the format's rule (2 to 63 characters) and ours (lower case) together.
fn class(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Class> {
    let text = reader.string(node, "`class`")?;
    if let Ok(class) = Class::new(text)
        && pattern::label(text)
    {
        return Some(class);
    }
    let lower = text.to_ascii_lowercase();
    let help = if pattern::label(&lower) {
        format!("classes have lower case: write `{lower}`")
    } else {
        FORM_OF_LABELS.to_owned()
    };
    reader.wrong_value(&node.span, format!("`{text}` cannot be a class"), help);
    None
}
