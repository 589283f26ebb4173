//! Resources that a Deployment or a Deployment Set declares:
//! `{NAME: {type, class?, id?, params?}}`.

use std::sync::Arc;

use purlin_expression::Dialect;
use purlin_model::{Class, ResourceRequest, TypeName};
use serde_json::Value;

use crate::declare::{Declared, Form, Kind, form};
use crate::kinds::{MapOf, NAME, Names, Object, OrNull, kind, matching};
use crate::names;
use crate::reader::Reader;
use crate::template::template;
use crate::yaml::{Entry, Node};

form! {
    /// A resource.
    pub(crate) struct Request {
        /// Resource type.
        TYPE: TypeName = needed "type", "TYPE";
        /// Resource class.
        CLASS: OrNull<Class> = "class" default "default";
        /// Id under which deployments share the resource.
        ID: OrNull<Id> = "id";
        /// Params, which the definition reads as `${params.NAME}`.
        PARAMS: OrNull<Object> = "params", "{NAME: VALUE}";
    }

    const STRICT: bool = true;

    fn hint(name: &str) -> Option<String> {
        crate::lifecycle::in_a_resource(name)
    }
}

kind! {
    /// The id of a shared resource.
    pub(crate) struct Id: matching(NAME)
}

/// The name of a resource.
pub(crate) struct ResourceName;

impl Names for ResourceName {
    fn schema() -> Value {
        serde_json::json!({"pattern": NAME})
    }
}

/// Resources by name, in formats of ours: their fields are not left empty.
pub(crate) struct Requests;

impl Kind for Requests {
    const FIELDS: &'static [Declared] = Request::FIELDS;

    fn schema() -> Value {
        let mut schema = MapOf::<ResourceName, Request>::schema();
        for field in ["class", "id", "params"] {
            let kind = &mut schema["additionalProperties"]["properties"][field]["type"];
            let own = kind[0].take();
            *kind = own;
        }
        schema
    }
}

/// Whether something may be a field of a resource, in any format.
pub(crate) fn is_field(name: &str) -> bool {
    Request::has(name) || name == "metadata"
}

/// Reads a map of requests; `what` names it.
pub(crate) fn requests(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    dialect: Dialect,
) -> Vec<ResourceRequest> {
    let entries = reader.things(node, what, &["type"], &is_field);
    entries.into_iter().filter_map(|entry| request(reader, entry, dialect)).collect()
}

fn request(reader: &mut Reader<'_>, entry: &Entry<'_>, dialect: Dialect) -> Option<ResourceRequest> {
    let name = names::resource(reader, &entry.key, &entry.key_span);
    let request = Request::open(reader, &entry.value, &format!("the resource `{}`", entry.key))?;
    let type_name = request.node(Request::TYPE).and_then(|node| names::type_name(reader, node));
    let class = request.node(Request::CLASS).map(|node| reader.name(node, "`class`"));
    let id = request.node(Request::ID).map(|node| {
        let text = reader.string(node, "`id`")?;
        names::resource(reader, names::shared_id(text), &node.span)
    });
    let params = request.node(Request::PARAMS).and_then(|node| {
        let entries = reader.map(node, "`params`")?;
        reader.no_requests(entries, "params");
        Some(Arc::new(template(reader, node, dialect)))
    });
    Some(ResourceRequest {
        name: name?,
        type_name: type_name?,
        class: class.unwrap_or_else(|| Some(Class::default_class()))?,
        id: id.map_or(Some(None), |id| id.map(Some))?,
        params,
        location: reader.at(&entry.key_span),
    })
}
