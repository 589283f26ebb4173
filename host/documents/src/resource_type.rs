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

use purlin_model::{ManifestKind, ResourceType, TypeName};
use serde_json::{Value, json};

use crate::declare::{Field, Form, Opened, form};
use crate::kinds::{Either, List, Text, kind, matching};
use crate::reader::Reader;
use crate::x_reference::{self, Rules};
use crate::yaml::{Node, NodeKind};

form! {
    /// Schemas of a resource type.
    pub(crate) struct Document {
        /// The identity of the document.
        METADATA: Metadata = "metadata", "{name: NAME}";
        /// The type and its schemas.
        SPEC: Spec = needed "spec", "{type: TYPE}";
    }

    const HEAD: Option<(&'static str, &'static str)> = Some(("ResourceType", "Purlin resource type"));

}

form! {
    /// The identity of the document.
    pub(crate) struct Metadata {
        /// A display id.
        ID: Text = "id";
        /// A display name.
        NAME: Text = "name";
        /// A description in one sentence.
        DESCRIPTION: Text = "description";
    }

    const WITHIN: &'static str = "metadata.";
}

form! {
    /// The type and its schemas.
    pub(crate) struct Spec {
        /// The type.
        TYPE: TypeName = needed "type", "TYPE";
        /// The kinds of manifests that are resources of this type.
        MANIFEST: Either<ManifestOf, List<ManifestOf>> = "manifest", "{group: GROUP, kind: KIND}";
        /// JSON Schema of the params. A field that refers to another resource has `x-reference: {type,
        /// output}` or `{type, build}`; `x-reference: false` makes it a value. `dependsOn` with
        /// `x-reference: {}` is a list of dependencies.
        PARAMS: JsonSchema = "params", "{type: object}";
        /// JSON Schema of the outputs.
        OUTPUTS: JsonSchema = "outputs", "{type: object}";
    }

    const REJECTED: &'static [&'static str] = &["references"];
}

form! {
    /// A kind of manifest, whatever its version.
    pub(crate) struct ManifestOf {
        /// Group, without a version; empty for the core group.
        GROUP: Group = needed "group", "ec2.aws.crossplane.io";
        /// Kind.
        KIND: Text = needed "kind", "VPC";
    }
}

kind! {
    /// A group without a version.
    pub(crate) struct Group: matching("^[^/]*$")
}
kind! {
    /// A JSON Schema.
    pub(crate) struct JsonSchema: json!({"type": "object", "$ref": crate::schema::DIALECT})
}

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
    let document = Document::open(reader, root, "the ResourceType")?;
    if let Some(node) = document.node(Document::METADATA)
        && let Some(metadata) = Metadata::open(reader, node, "`metadata`")
    {
        metadata.read(reader, Metadata::ID);
        metadata.read(reader, Metadata::NAME);
        metadata.read(reader, Metadata::DESCRIPTION);
    }
    let spec = Spec::open(reader, document.node(Document::SPEC)?, "`spec`")?;
    let type_name = spec.placed(reader, Spec::TYPE);
    let (manifests, places) = manifests(reader, spec.node(Spec::MANIFEST)).into_iter().unzip();
    let rules = spec.node(Spec::PARAMS).map(|node| x_reference::read(reader, node)).unwrap_or_default();
    if let Some(node) = spec.node(Spec::OUTPUTS) {
        x_reference::none(reader, node);
    }
    let (params, outputs) = (schema(reader, &spec, Spec::PARAMS), schema(reader, &spec, Spec::OUTPUTS));
    if let Some(entry) = spec.entry_called("references") {
        let help = "write `x-reference` into the schema of the field that refers";
        let fault = reader.about(&entry.key_span, "unknown-field", "`spec` has no field `references`");
        reader.report(fault.help(help));
    }
    let (type_name, location) = type_name?;
    let resource_type = ResourceType { type_name, manifests, params, outputs, location };
    Some(Written { resource_type, rules, manifests: places })
}

/// The kinds of manifests: one, or a list.
fn manifests(
    reader: &mut Reader<'_>,
    node: Option<&Node<'_>>,
) -> Vec<(ManifestKind, purlin_model::Location)> {
    let Some(node) = node else { return Vec::new() };
    let items = match &node.kind {
        NodeKind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    items.iter().filter_map(|item| manifest(reader, item)).collect()
}

fn manifest(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<(ManifestKind, purlin_model::Location)> {
    let manifest = ManifestOf::open(reader, node, "`manifest`")?;
    // The core group has no name.
    let group = manifest.node(ManifestOf::GROUP);
    let group = group.and_then(|node| Some((reader.string(node, "`group`")?, node.span)));
    let kind = manifest.placed(reader, ManifestOf::KIND);
    let ((group, span), (kind, place)) = (group?, kind?);
    if group.contains('/') {
        let help = format!("leave the version out: `{}`", group.split('/').next().unwrap_or_default());
        reader.wrong_value(&span, "`group` takes a group without a version", help);
        return None;
    }
    Some((ManifestKind { group: group.into(), kind }, place))
}

fn schema(
    reader: &mut Reader<'_>,
    spec: &Opened<'_, '_, Spec>,
    field: Field<Spec, JsonSchema>,
) -> Option<Value> {
    let (node, name) = (spec.node(field)?, spec.name(field));
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
