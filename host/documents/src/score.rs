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

use crate::reader::{FILL_IN, Reader};
use crate::shape::is_requests;
use crate::template::{Names, constant, map};
use crate::yaml::{Node, NodeKind};

/// The help for a text that is not a label.
const FORM_OF_LABELS: &str = "write 2 to 63 of a-z, 0-9 and `-`, with no `-` at the beginning or end";

/// Reads a Score file.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Workload> {
    document(reader, root, "the Score file", true)
}

/// Reads a Score document inside a Deployment, where it needs no `apiVersion`.
pub(crate) fn read_inline(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Workload> {
    document(reader, node, "the workload", false)
}

fn document(reader: &mut Reader<'_>, root: &Node<'_>, what: &str, versioned: bool) -> Option<Workload> {
    let mut fields = reader.fields(root, what)?;
    let version = if versioned {
        fields.need(reader, "apiVersion", "score.dev/v1b1")
    } else {
        fields.get(reader, "apiVersion")
    };
    if let Some(node) = version
        && let Some(text) = reader.string(node, "`apiVersion`")
        && text != "score.dev/v1b1"
    {
        reader.wrong_value(
            &node.span,
            format!("`{text}` is not a version of Score"),
            "write `score.dev/v1b1`",
        );
    }
    let metadata_node = fields.need(reader, "metadata", "{name: NAME}");
    let name = metadata_node.and_then(|node| metadata(reader, node));
    let mut spec = Vec::new();
    if let Some(entry) = fields.entry("service") {
        service(reader, &entry.value);
        spec.push((entry.key.clone(), Template::Constant(constant(&entry.value))));
    }
    if let Some(node) = fields.need(reader, "containers", "{main: {image: IMAGE}}") {
        spec.push(("containers".into(), container::containers(reader, node)));
    }
    let resources_node = fields.entry("resources").map(|entry| &entry.value);
    let resources = resources_node.map(|node| resource::resources(reader, node)).unwrap_or_default();
    fields.done(reader);
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
    let mut fields = reader.fields(node, "`metadata`")?;
    for entry in node.entries().unwrap_or_default() {
        let resources = &*entry.key == "resources" && is_requests(&entry.value);
        let service = &*entry.key == "service" && entry.value.get("ports").is_some();
        if resources || service || (&*entry.key == "containers" && entry.value.entries().is_some()) {
            reader.misplaced(entry, "metadata", "indent it as far as `metadata`");
        }
    }
    let entries = node.entries().unwrap_or_default();
    reader.no_requests(entries, "metadata");
    reader.no_empty(
        entries,
        &["resources", "containers", "service"],
        "metadata",
        "indent it as far as `metadata`",
    );
    let name = fields.need(reader, "name", "NAME");
    if let Some(node) = fields.get(reader, "annotations") {
        annotations(reader, node);
    }
    let node = name?;
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
    let Some(mut fields) = reader.fields(node, "`service`") else { return };
    if let Some(node) = fields.get(reader, "ports") {
        for entry in reader.map(node, "`ports`").unwrap_or_default() {
            label(reader, &entry.key, &entry.key_span, "the name of a port");
            service_port(reader, &entry.value, &entry.key);
        }
    }
    fields.done(reader);
}

fn service_port(reader: &mut Reader<'_>, node: &Node<'_>, name: &str) {
    let Some(mut fields) = reader.fields(node, &format!("the port `{name}`")) else { return };
    if let Some(node) = fields.need(reader, "port", "8080") {
        port(reader, node, "`port`");
    }
    if let Some(node) = fields.get(reader, "protocol") {
        choice(reader, node, "`protocol`", &["TCP", "UDP"]);
    }
    if let Some(node) = fields.get(reader, "targetPort") {
        port(reader, node, "`targetPort`");
    }
    fields.done(reader);
}

/// An integer from 1 to 65535; `8080.0` is an integer.
fn port(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) {
    let NodeKind::Number(number) = &node.kind else {
        reader.wrong_type(node, what, "a number");
        return;
    };
    let fits = number.as_f64().is_some_and(|port| port.fract() == 0.0 && (1.0..=65535.0).contains(&port));
    if !fits {
        reader.wrong_value(
            &node.span,
            format!("{what} is not a port"),
            "write a whole number from 1 to 65535",
        );
    }
}

/// One of a few strings.
fn choice(reader: &mut Reader<'_>, node: &Node<'_>, what: &str, choices: &[&str]) {
    let Some(text) = reader.string(node, what) else { return };
    if !choices.contains(&text) {
        let help = purlin_expression::did_you_mean(text, "choices", choices.iter().copied());
        reader.wrong_value(&node.span, format!("{what} cannot be `{text}`"), help);
    }
}

/// A non-empty string.
fn filled(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) {
    if reader.string(node, what).is_some_and(str::is_empty) {
        reader.wrong_value(&node.span, format!("{what} is empty"), FILL_IN);
    }
}
