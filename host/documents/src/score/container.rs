//! Containers.

use purlin_expression::Dialect;
use purlin_model::Template;

use super::{choice, file, filled, label, pattern, probe};
use crate::reader::Reader;
use crate::template::{constant, key, map, template};
use crate::yaml::{Entry, Node};

/// The fields of a container.
const FIELDS: [&str; 10] = [
    "image",
    "command",
    "args",
    "variables",
    "files",
    "volumes",
    "before",
    "resources",
    "livenessProbe",
    "readinessProbe",
];

pub(super) fn containers(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let entries = reader.things(node, "`containers`", &["image"], &FIELDS);
    if node.entries().is_some_and(<[_]>::is_empty) {
        reader.wrong_value(&node.span, "`containers` is empty", "add a container: `main: {image: IMAGE}`");
    }
    let mut containers = Vec::with_capacity(entries.len());
    for entry in entries {
        label(reader, &entry.key, &entry.key_span, "the name of a container");
        containers.push((entry.key.clone(), container(reader, entry)));
    }
    map(containers.into_iter())
}

fn container(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Template {
    let node = &entry.value;
    let Some(mut fields) = reader.fields(node, &format!("the container `{}`", entry.key)) else {
        return Template::default();
    };
    if let Some(node) = fields.need(reader, "image", "IMAGE") {
        filled(reader, node, "`image`");
    }
    for name in ["command", "args"] {
        if let Some(node) = fields.get(reader, name) {
            reader.strings(node, &format!("`{name}`"));
        }
    }
    if let Some(node) = fields.get(reader, "variables") {
        variables(reader, node);
    }
    fields.entry("files");
    fields.entry("volumes");
    if let Some(node) = fields.get(reader, "before") {
        before(reader, node);
    }
    if let Some(node) = fields.get(reader, "resources") {
        resources(reader, node);
    }
    for name in ["livenessProbe", "readinessProbe"] {
        if let Some(node) = fields.get(reader, name) {
            probe::probe(reader, node, &format!("`{name}`"));
        }
    }
    fields.done_with(reader, &|name| {
        ["env", "environment"].contains(&name).then(|| "did you mean `variables`?".to_owned())
    });
    let entries = node.entries().unwrap_or_default();
    map(entries.iter().map(|entry| {
        let value = match &*entry.key {
            "variables" => texts(reader, &entry.value),
            "files" => file::files(reader, &entry.value),
            "volumes" => file::volumes(reader, &entry.value),
            _ => Template::Constant(constant(&entry.value)),
        };
        (entry.key.clone(), value)
    }))
}

/// A map of texts with placeholders.
fn texts(reader: &mut Reader<'_>, node: &Node<'_>) -> Template {
    let entries = node.entries().unwrap_or_default();
    map(entries.iter().map(|entry| {
        let text = template(reader, &entry.value, Dialect::Score).as_text();
        (key(reader, entry, Dialect::Score), text)
    }))
}

fn variables(reader: &mut Reader<'_>, node: &Node<'_>) {
    for entry in reader.map(node, "`variables`").unwrap_or_default() {
        if entry.key.is_empty() || entry.key.contains('=') {
            let message = format!("`{}` cannot be the name of a variable", entry.key);
            reader.wrong_value(&entry.key_span, message, "write a name without `=`");
        }
        reader.string(&entry.value, &format!("the variable `{}`", entry.key));
    }
}

fn before(reader: &mut Reader<'_>, node: &Node<'_>) {
    for entry in reader.map(node, "`before`").unwrap_or_default() {
        label(reader, &entry.key, &entry.key_span, "the name of a container");
        let what = format!("`before.{}`", entry.key);
        let Some(mut fields) = reader.fields(&entry.value, &what) else { continue };
        if let Some(node) = fields.need(reader, "ready", "started") {
            choice(reader, node, "`ready`", &["started", "healthy", "complete"]);
        }
        fields.done(reader);
    }
}

fn resources(reader: &mut Reader<'_>, node: &Node<'_>) {
    let Some(mut fields) = reader.fields(node, "`resources`") else { return };
    for name in ["limits", "requests"] {
        if let Some(node) = fields.get(reader, name) {
            amounts(reader, node, &format!("`{name}`"));
        }
    }
    fields.done(reader);
}

fn amounts(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) {
    let Some(mut fields) = reader.fields(node, what) else { return };
    let mut amount = |name, fits: fn(&str) -> bool, help: &str| {
        if let Some(node) = fields.get(reader, name)
            && let Some(text) = reader.string(node, &format!("`{name}`"))
            && !fits(text)
        {
            reader.wrong_value(&node.span, format!("`{text}` is not an amount of {name}"), help);
        }
    };
    amount("memory", pattern::memory, "write bytes, or a unit as in `125M` and `1.5Gi`");
    amount("cpu", pattern::cpu, "write CPUs as in \"2\" and \"0.5\", or thousandths as in `125m`");
    fields.done(reader);
}
