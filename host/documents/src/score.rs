//! Score files, `score.dev/v1b1` (SPEC §2, §5): reads the whole published format as a workload.
//!
//! Placeholders are read where the format expands them: variables, content and source of files,
//! volumes, and params of resources. Everywhere else `${` is text, as in a shell command. Two rules
//! are our own: a resource's type is any type of SPEC §2, and its class has lower case.

mod container;
mod file;
mod pattern;
mod probe;
mod resource;

use purlin_model::{Template, Value, Workload};
use serde_json::json;

use crate::declare::{Declared, Form, Kind, Read, form};
use crate::kinds::{AnyText, Choice, MapOf, Names as NamesOf, Words, kind};
use crate::reader::Reader;
use crate::shape::is_requests;
use crate::template::{Names, constant, map};
use crate::yaml::{Node, NodeKind};

/// The help for a text that is not a label.
const FORM_OF_LABELS: &str = "write 2 to 63 of a-z, 0-9 and `-`, with no `-` at the beginning or end";

const VERSION: &str = "score.dev/v1b1";

form! {
    /// A workload.
    pub(crate) struct Document {
        /// Version of the format.
        API_VERSION: Version = "apiVersion";
        /// Name, annotations, and other values for `${metadata.NAME}`.
        METADATA: Metadata = needed "metadata", "{name: NAME}";
        /// The ports of the workload.
        SERVICE: Service = "service", "{ports: {http: {port: 80}}}";
        /// Containers by name.
        CONTAINERS: container::Containers = needed "containers", "{main: {image: IMAGE}}";
        /// Required resources, by name.
        RESOURCES: MapOf<Label, resource::Resource> = "resources", "{db: {type: postgres}}";
    }

    fn constrain(schema: &mut serde_json::Value) {
        schema["title"] = "Score file".into();
        schema["required"] = json!(["apiVersion", "metadata", "containers"]);
    }
}

/// A Score document inside a Deployment, where it needs no `apiVersion`.
pub(crate) struct Inline;

impl Kind for Inline {
    const FIELDS: &'static [Declared] = Document::FIELDS;

    fn schema() -> serde_json::Value {
        let mut schema = Document::schema();
        schema["required"] = json!(["metadata", "containers"]);
        if let Some(fields) = schema.as_object_mut() {
            fields.shift_remove("title");
        }
        schema
    }
}

kind! {
    /// The version of the format.
    pub(crate) struct Version: json!({"const": VERSION})
}

form! {
    /// Name, annotations, and other values for `${metadata.NAME}`.
    pub(crate) struct Metadata {
        /// Name of the workload.
        NAME: Label = needed "name", "NAME";
        /// Remarks for other tools.
        ANNOTATIONS: Annotations = "annotations", "{NAME: \"value\"}";
    }

    const OPEN: bool = true;
}

/// Remarks for other tools.
type Annotations = MapOf<AnnotationName, AnyText>;

/// The name of an annotation.
pub(crate) struct AnnotationName;

impl NamesOf for AnnotationName {
    fn schema() -> serde_json::Value {
        const PATTERN: &str = "^([a-z0-9][a-z0-9-]{0,61}[a-z0-9](\\.[a-z0-9][a-z0-9-]{0,61}[a-z0-9])*/)?[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]$";
        json!({"pattern": PATTERN, "maxLength": 316})
    }
}

kind! {
    /// 2 to 63 of a-z, 0-9 and `-`, with no `-` at the beginning or end.
    pub(crate) struct Label: crate::kinds::matching("^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$")
}

impl NamesOf for Label {
    fn schema() -> serde_json::Value {
        json!({"pattern": <Self as Kind>::schema()["pattern"]})
    }
}

form! {
    /// The ports of the workload.
    pub(crate) struct Service {
        /// Ports by name.
        PORTS: MapOf<Label, ServicePort> = "ports", "{http: {port: 80}}";
    }
}

form! {
    /// A port of the workload.
    pub(crate) struct ServicePort {
        /// Port that others use.
        PORT: Port = needed "port", "8080";
        /// The protocol.
        PROTOCOL: Choice<Protocol> = "protocol" default "TCP";
        /// Port of the container. Default: `port`.
        TARGET_PORT: Port = "targetPort";
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Protocol;

impl Words for Protocol {
    const WORDS: &'static [(&'static str, Self)] = &[("TCP", Self), ("UDP", Self)];
}

kind! {
    /// The number of a port.
    pub(crate) struct Port: json!({"type": "integer", "minimum": 1, "maximum": 65535})
}

impl Read for Port {
    type Value = ();

    /// An integer from 1 to 65535; `8080.0` is an integer.
    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<()> {
        let NodeKind::Number(number) = &node.kind else {
            reader.wrong_type(node, what, "a number");
            return None;
        };
        let fits = number.as_f64().is_some_and(|port| port.fract() == 0.0 && (1.0..=65535.0).contains(&port));
        if !fits {
            let message = format!("{what} is not a port");
            reader.wrong_value(&node.span, message, "write a whole number from 1 to 65535");
        }
        fits.then_some(())
    }
}

/// Reads a Score file.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Workload> {
    document(reader, root, "the Score file")
}

/// Reads a Score document inside a Deployment.
pub(crate) fn read_inline(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Workload> {
    document(reader, node, "the workload")
}

fn document(reader: &mut Reader<'_>, root: &Node<'_>, what: &str) -> Option<Workload> {
    let document = Document::open(reader, root, what)?;
    if let Some(node) = document.node(Document::API_VERSION)
        && let Some(text) = reader.string(node, "`apiVersion`")
        && text != VERSION
    {
        let message = format!("`{text}` is not a version of Score");
        reader.wrong_value(&node.span, message, format!("write `{VERSION}`"));
    }
    let metadata_node = document.node(Document::METADATA);
    let name = metadata_node.and_then(|node| metadata(reader, node));
    let mut spec = Vec::new();
    if let Some(entry) = document.entry(Document::SERVICE) {
        service(reader, &entry.value);
        spec.push((entry.key.clone(), Template::Constant(constant(&entry.value))));
    }
    if let Some(node) = document.node(Document::CONTAINERS) {
        spec.push(("containers".into(), container::containers(reader, node)));
    }
    let resources_node = document.node(Document::RESOURCES);
    let resources = resources_node.map(|node| resource::resources(reader, node)).unwrap_or_default();
    let spec = map(spec.into_iter());
    let declared = resources_node.and_then(Node::entries).unwrap_or_default();
    let names = Names { named: declared.iter().map(|entry| &*entry.key).collect(), shared: None };
    names.check(&spec, &mut reader.faults);
    for request in &resources {
        if let Some(params) = &request.params {
            names.check(params, &mut reader.faults);
        }
    }
    Some(Workload {
        name: name?.into(),
        profile: None,
        metadata: Template::Constant(metadata_node.map_or_else(Value::map, constant)),
        spec,
        resources,
        location: reader.at(&metadata_node?.get("name")?.span),
    })
}

fn metadata<'n>(reader: &mut Reader<'_>, node: &'n Node<'_>) -> Option<&'n str> {
    // Further fields are allowed here, so the only fields reported as unknown are those meant for
    // the document itself.
    let metadata = Metadata::open(reader, node, "`metadata`")?;
    for entry in metadata.entries {
        let resources = &*entry.key == "resources" && is_requests(&entry.value);
        let service = &*entry.key == "service" && entry.value.get("ports").is_some();
        if resources || service || (&*entry.key == "containers" && entry.value.entries().is_some()) {
            reader.misplaced(entry, "metadata", "indent it as far as `metadata`");
        }
    }
    reader.no_requests(metadata.entries, "metadata");
    reader.no_empty(
        metadata.entries,
        &["resources", "containers", "service"],
        "metadata",
        "indent it as far as `metadata`",
    );
    if let Some(node) = metadata.node(Metadata::ANNOTATIONS) {
        annotations(reader, node);
    }
    let node = metadata.node(Metadata::NAME)?;
    let name = reader.string(node, "`metadata.name`")?;
    label(reader, name, &node.span, "`metadata.name`").then_some(name)
}

/// Checks a name that has to be a label.
fn label(reader: &mut Reader<'_>, name: &str, span: &crate::yaml::Span, what: &str) -> bool {
    let fits = pattern::label(name);
    if !fits {
        reader.wrong_value(span, format!("`{name}` cannot be {what}"), FORM_OF_LABELS);
    }
    fits
}

fn annotations(reader: &mut Reader<'_>, node: &Node<'_>) {
    for entry in reader.map(node, "`annotations`").unwrap_or_default() {
        if !pattern::annotation(&entry.key) {
            reader.wrong_value(
                &entry.key_span,
                format!("`{}` cannot be an annotation", entry.key),
                "write letters, digits, `.`, `_` and `-`, with a domain and `/` before them if need be",
            );
        }
        reader.string(&entry.value, &format!("the annotation `{}`", entry.key));
    }
}

fn service(reader: &mut Reader<'_>, node: &Node<'_>) {
    let service = Service::open(reader, node, "`service`");
    let ports = service.and_then(|service| service.node(Service::PORTS));
    for entry in ports.and_then(|node| reader.map(node, "`ports`")).unwrap_or_default() {
        label(reader, &entry.key, &entry.key_span, "the name of a port");
        let what = format!("the port `{}`", entry.key);
        if let Some(port) = ServicePort::open(reader, &entry.value, &what) {
            port.read(reader, ServicePort::PORT);
            port.read(reader, ServicePort::PROTOCOL);
            port.read(reader, ServicePort::TARGET_PORT);
        }
    }
}
