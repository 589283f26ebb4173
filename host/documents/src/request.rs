//! Resources that a Deployment or a Deployment Set declares:
//! `{NAME: {type, class?, id?, params?}}`.

use std::sync::Arc;

use purlin_expression::Dialect;
use purlin_model::{Class, ResourceRequest};

use crate::names;
use crate::reader::Reader;
use crate::template::template;
use crate::yaml::{Entry, Node};

/// The fields of a requested resource.
pub(crate) const FIELDS: [&str; 5] = ["type", "class", "id", "params", "metadata"];

/// Reads a map of requests; `what` names it.
pub(crate) fn requests(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    dialect: Dialect,
) -> Vec<ResourceRequest> {
    let entries = reader.things(node, what, &["type"], &FIELDS);
    entries.into_iter().filter_map(|entry| request(reader, entry, dialect)).collect()
}

fn request(reader: &mut Reader<'_>, entry: &Entry<'_>, dialect: Dialect) -> Option<ResourceRequest> {
    let name = names::resource(reader, &entry.key, &entry.key_span);
    let mut fields = reader.fields(&entry.value, &format!("the resource `{}`", entry.key))?.strict();
    let type_name = fields.need(reader, "type", "TYPE").and_then(|node| names::type_name(reader, node));
    let class = fields.get(reader, "class").map(|node| reader.name(node, "`class`"));
    let id = fields.get(reader, "id").map(|node| {
        let text = reader.string(node, "`id`")?;
        names::resource(reader, names::shared_id(text), &node.span)
    });
    let params = fields.get(reader, "params").and_then(|node| {
        let entries = reader.map(node, "`params`")?;
        reader.no_requests(entries, "params");
        Some(Arc::new(template(reader, node, dialect)))
    });
    fields.done_with(reader, &crate::lifecycle::in_a_resource);
    Some(ResourceRequest {
        name: name?,
        type_name: type_name?,
        class: class.unwrap_or_else(|| Some(Class::default_class()))?,
        id: id.map_or(Some(None), |id| id.map(Some))?,
        params,
        location: reader.at(&entry.key_span),
    })
}
