//! `kind: ResourceType`: the schemas of a type's params and outputs (SPEC §2, §7).

use purlin_model::ResourceType;

use crate::reader::{Fields, Reader};
use crate::yaml::Node;

/// Reads a resource type. Its schemas are checked to be schemas; `x-…` keys in them stay.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<ResourceType> {
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
    let params = schema(reader, &mut fields, "params");
    let outputs = schema(reader, &mut fields, "outputs");
    if let Some(entry) = fields.refused("references") {
        let help = "write `x-reference` into the schema of the field that refers";
        reader.not_yet(&entry.key_span, "this version does not read `references` yet", help);
    }
    fields.done(reader);
    Some(ResourceType {
        type_name: type_name?,
        params,
        outputs,
        location: type_node.map(|node| reader.at(&node.span))?,
    })
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
