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
    if let Err(error) = jsonschema::draft202012::meta::validate(&schema) {
        let mut place = node;
        for segment in error.instance_path().to_string().split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            place = place.child(&segment).unwrap_or(place);
        }
        let fault = reader.about(&place.span, "bad-schema", format!("`{name}` is no JSON Schema: {error}"));
        reader.report(fault.help("schemas are those of JSON Schema 2020-12"));
        return None;
    }
    // Valid against the meta-schema is not all: patterns and references have to make sense too.
    if let Err(error) = jsonschema::draft202012::new(&schema) {
        let fault =
            reader.about(&node.span, "bad-schema", format!("`{name}` cannot be used as a schema: {error}"));
        reader.report(fault.help("references have to stay within the schema, and patterns have to be valid"));
        return None;
    }
    Some(schema)
}
