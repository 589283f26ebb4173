//! Probes of a container.

use super::{choice, filled, pattern, port};
use crate::reader::Reader;
use crate::yaml::Node;

/// Checks a probe: `httpGet`, `exec`, or both.
pub(super) fn probe(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) {
    let Some(mut fields) = reader.fields(node, what) else { return };
    let (http, exec) = (fields.get(reader, "httpGet"), fields.get(reader, "exec"));
    fields.done(reader);
    if http.is_none() && exec.is_none() {
        let fault = reader
            .about(&node.span, "missing-field", format!("{what} does not specify a probe"))
            .help("add `exec: {command: [PROGRAM]}` or `httpGet: {port: 8080, path: /}`");
        reader.report(fault);
    }
    if let Some(node) = http {
        http_get(reader, node);
    }
    if let Some(node) = exec
        && let Some(mut fields) = reader.fields(node, "`exec`")
    {
        if let Some(node) = fields.need(reader, "command", "[PROGRAM]") {
            reader.strings(node, "`command`");
        }
        fields.done(reader);
    }
}

fn http_get(reader: &mut Reader<'_>, node: &Node<'_>) {
    let Some(mut fields) = reader.fields(node, "`httpGet`") else { return };
    if let Some(node) = fields.need(reader, "port", "8080") {
        port(reader, node, "`port`");
    }
    if let Some(node) = fields.need(reader, "path", "/") {
        reader.string(node, "`path`");
    }
    if let Some(node) = fields.get(reader, "host") {
        filled(reader, node, "`host`");
    }
    if let Some(node) = fields.get(reader, "scheme") {
        choice(reader, node, "`scheme`", &["HTTP", "HTTPS"]);
    }
    if let Some(node) = fields.get(reader, "httpHeaders") {
        for item in reader.list(node, "`httpHeaders`").unwrap_or_default() {
            header(reader, item);
        }
    }
    fields.done(reader);
}

fn header(reader: &mut Reader<'_>, node: &Node<'_>) {
    let Some(mut fields) = reader.fields(node, "a header") else { return };
    if let Some(node) = fields.need(reader, "name", "NAME")
        && let Some(name) = reader.string(node, "`name`")
        && !pattern::header(name)
    {
        let message = format!("`{name}` is not a header name");
        reader.wrong_value(&node.span, message, "write letters, digits, `_` and `-`");
    }
    if let Some(node) = fields.need(reader, "value", "VALUE") {
        filled(reader, node, "`value`");
    }
    fields.done(reader);
}
