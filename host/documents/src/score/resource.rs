//! The resources that a Score file declares.

use std::sync::Arc;

use purlin_expression::Dialect;
use purlin_model::{Class, ResourceRequest, TypeName};
use serde_json::json;

use super::{Annotations, FORM_OF_LABELS, Label, annotations, label, pattern};
use crate::declare::{Form, form};
use crate::kinds::{Object, kind};
use crate::names;
use crate::reader::Reader;
use crate::request::is_field;
use crate::template::template;
use crate::yaml::{Entry, Node};

form! {
    /// A resource that the workload needs.
    pub(crate) struct Resource {
        /// Resource type.
        TYPE: TypeName = needed "type", "TYPE";
        /// Resource class.
        CLASS: Label = "class" default "default";
        /// Id under which workloads share the resource.
        ID: Id = "id";
        /// Remarks about the resource.
        METADATA: Metadata = "metadata", "{annotations: {NAME: \"value\"}}";
        /// Params, which the definition reads as `${params.NAME}`.
        PARAMS: Object = "params", "{NAME: VALUE}";
    }

    fn hint(name: &str) -> Option<String> {
        crate::lifecycle::in_a_resource(name)
    }
}

form! {
    /// Remarks about the resource.
    pub(crate) struct Metadata {
        /// Remarks for other tools.
        ANNOTATIONS: Annotations = "annotations", "{NAME: \"value\"}";
    }

    const OPEN: bool = true;
}

kind! {
    /// 2 to 63 of a-z, 0-9 and `-`, with `.` between parts.
    pub(crate) struct Id: json!({
        "type": "string",
        "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$",
        "minLength": 2,
        "maxLength": 63,
    })
}

pub(super) fn resources(reader: &mut Reader<'_>, node: &Node<'_>) -> Vec<ResourceRequest> {
    let entries = reader.things(node, "`resources`", &["type"], &is_field);
    entries.into_iter().filter_map(|entry| resource(reader, entry)).collect()
}

fn resource(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<ResourceRequest> {
    let named = label(reader, &entry.key, &entry.key_span, "the name of a resource");
    let resource = Resource::open(reader, &entry.value, &format!("the resource `{}`", entry.key))?;
    let type_name = resource.node(Resource::TYPE).and_then(|node| names::type_name(reader, node));
    let class = resource.node(Resource::CLASS).map(|node| class(reader, node));
    let id = resource.node(Resource::ID).map(|node| {
        let text = reader.string(node, "`id`")?;
        if !pattern::id(text) {
            let help = "write 2 to 63 of a-z, 0-9 and `-`, with `.` between parts";
            reader.wrong_value(&node.span, format!("`{text}` cannot be the id of a resource"), help);
            return None;
        }
        Some(Arc::from(names::shared_id(text)))
    });
    if let Some(node) = resource.node(Resource::METADATA)
        && let Some(metadata) = Metadata::open(reader, node, "`metadata`")
    {
        reader.no_requests(metadata.entries, "metadata");
        if let Some(node) = metadata.node(Metadata::ANNOTATIONS) {
            annotations(reader, node);
        }
    }
    let params = resource.node(Resource::PARAMS).and_then(|node| {
        let entries = reader.map(node, "`params`")?;
        reader.no_requests(entries, "params");
        Some(Arc::new(template(reader, node, Dialect::Score)))
    });
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
