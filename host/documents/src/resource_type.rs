//! `kind: ResourceType`: the schemas of a type's params and outputs, and the kinds of manifests that
//! are resources of the type (SPEC §2, §7).
//!
//! ```yaml
//! apiVersion: purlin.dev/v1
//! kind: ResourceType
//! spec:
//!   type: ec2/vpc
//!   manifest: {group: ec2.aws.crossplane.io, kind: VPC}   # or a list of these
//!   params: {type: object, properties: {cidrBlock: {type: string}}}
//!   outputs: {type: object, properties: {id: {type: string}}}
//! ```

use purlin_model::{ManifestKind, ResourceType};

use crate::reader::{Fields, Reader};
use crate::x_reference::{self, Rules};
use crate::yaml::{Node, NodeKind, Span};

/// A resource type, and the parts that only manifests need.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) resource_type: ResourceType,
    /// The references of the fields of its params.
    pub(crate) rules: Rules,
    /// The place of each of its manifests.
    pub(crate) manifests: Vec<purlin_model::Location>,
}

/// Reads a resource type. Its schemas are validated as schemas; `x-…` keys in them stay.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Written> {
    let mut top = reader.fields(root, "the ResourceType")?;
    top.entry("apiVersion");
    top.entry("kind");
    if let Some(node) = top.get(reader, "metadata")
        && let Some(mut metadata) = reader.fields(node, "`metadata`")
    {
        for name in ["id", "name", "description"] {
            if let Some(node) = metadata.get(reader, name) {
                reader.text(node, &format!("`metadata.{name}`"));
            }
        }
        metadata.done(reader);
    }
    let node = top.need(reader, "spec", "{type: TYPE}");
    top.done(reader);
    let mut fields = reader.fields(node?, "`spec`")?;
    let type_node = fields.need(reader, "type", "TYPE");
    let type_name = type_node.and_then(|node| reader.name(node, "`type`"));
    let (manifests, places) = manifests(reader, &mut fields).into_iter().unzip();
    let params_node = fields.entry("params").map(|entry| &entry.value);
    let rules = params_node.map(|node| x_reference::read(reader, node)).unwrap_or_default();
    if let Some(entry) = fields.entry("outputs") {
        x_reference::none(reader, &entry.value);
    }
    let params = schema(reader, &mut fields, "params");
    let outputs = schema(reader, &mut fields, "outputs");
    if let Some(entry) = fields.refused("references") {
        let help = "write `x-reference` into the schema of the field that refers";
        let fault = reader.about(&entry.key_span, "unknown-field", "`spec` has no field `references`");
        reader.report(fault.help(help));
    }
    fields.done(reader);
    let resource_type = ResourceType {
        type_name: type_name?,
        manifests,
        params,
        outputs,
        location: type_node.map(|node| reader.at(&node.span))?,
    };
    Some(Written { resource_type, rules, manifests: places })
}

/// The kinds of manifests: one, or a list.
fn manifests(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
) -> Vec<(ManifestKind, purlin_model::Location)> {
    let Some(node) = fields.get(reader, "manifest") else { return Vec::new() };
    let items = match &node.kind {
        NodeKind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    items.iter().filter_map(|item| manifest(reader, item)).collect()
}

fn manifest(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<(ManifestKind, purlin_model::Location)> {
    let mut fields = reader.fields(node, "`manifest`")?;
    let group = fields.need(reader, "group", "ec2.aws.crossplane.io");
    let kind = fields.need(reader, "kind", "VPC");
    fields.done(reader);
    // The core group has no name.
    let group = group.and_then(|node| Some((reader.string(node, "`group`")?, node.span)));
    let kind = kind.and_then(|node| Some((reader.text(node, "`kind`")?, node.span)));
    let ((group, group_span), (kind, kind_span)) = (group?, kind?);
    if group.contains('/') {
        let help = format!("leave the version out: `{}`", group.split('/').next().unwrap_or_default());
        reader.wrong_value(&group_span, "`group` takes a group without a version", help);
        return None;
    }
    let place = |span: &Span| reader.at(span);
    Some((ManifestKind { group: group.into(), kind: kind.into() }, place(&kind_span)))
}

fn schema(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
    name: &'static str,
) -> Option<serde_json::Value> {
    let node = fields.get(reader, name)?;
    reader.map(node, &format!("`{name}`"))?;
    let schema = node.to_json();
    if let Err(unusable) = purlin_schema::Schema::new(&schema) {
        let mut place = node;
        for segment in unusable.pointer.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            place = place.child(&segment).unwrap_or(place);
        }
        let message = format!("`{name}` cannot be used as a schema: {unusable}");
        let fault = reader.about(&place.span, "bad-schema", message);
        reader.report(fault.help("schemas are those of JSON Schema 2020-12, and refer to nothing outside"));
        return None;
    }
    Some(schema)
}
