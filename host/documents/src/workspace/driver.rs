//! One driver of the workspace: where it is, what it may do, what it may use up (SPEC §8).

use purlin_model::{DirGrant, DriverConfig, DriverSource, Grants, Limits};

use super::count;
use crate::definition::is_driver_name;
use crate::quantity;
use crate::reader::{Fields, Reader};
use crate::yaml::{Entry, Node, Span};

/// Grants that the contract knows and this version does not give.
const NOT_YET: [&str; 5] = ["http", "tcp", "udp", "dns", "secrets"];

pub(super) fn read(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<DriverConfig> {
    if !is_driver_name(&entry.key) {
        let fault = reader
            .about(&entry.key_span, "bad-name", format!("`{}` is no name of a driver", entry.key))
            .help("a driver is `ORG/NAME`, such as `acme/postgres`");
        reader.report(fault);
    }
    let mut config = DriverConfig { location: reader.at(&entry.key_span), ..DriverConfig::default() };
    let mut fields = reader.fields(&entry.value, &format!("the driver `{}`", entry.key))?;
    if let Some(node) = fields.get(reader, "source") {
        config.source = reader.text(node, "`source`").map(|text| match text.strip_prefix("oci://") {
            Some(reference) => DriverSource::Oci(reference.to_owned()),
            None => DriverSource::Path(text.into()),
        });
    }
    if let Some(node) = fields.get(reader, "version") {
        config.version = version(reader, node);
    }
    if let Some(node) = fields.get(reader, "grants") {
        config.grants = grants(reader, node).unwrap_or_default();
    }
    if let Some(node) = fields.get(reader, "limits") {
        config.limits = limits(reader, node).unwrap_or_default();
    }
    fields.done(reader);
    Some(config)
}

fn version(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<semver::VersionReq> {
    let text = reader.text(node, "`version`")?;
    match semver::VersionReq::parse(text) {
        Ok(range) => Some(range),
        Err(error) => {
            let message = format!("`{text}` is no range of versions: {error}");
            let fault = reader.about(&node.span, "bad-version", message);
            reader.report(fault.help("write a range such as `^1`, `~1.2` or `>=1.2, <2`"));
            None
        }
    }
}

fn grants(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Grants> {
    let mut fields = reader.fields(node, "`grants`")?;
    let mut grants = Grants::default();
    if let Some(node) = fields.get(reader, "env") {
        let names = reader.strings(node, "`grants.env`").unwrap_or_default();
        grants.env = names.into_iter().filter_map(|(name, span)| variable(reader, name, &span)).collect();
    }
    if let Some(node) = fields.get(reader, "dirs") {
        let items = reader.list(node, "`grants.dirs`").unwrap_or_default();
        grants.dirs = items.iter().filter_map(|item| directory(reader, item)).collect();
    }
    for name in NOT_YET {
        if let Some(entry) = fields.refused(name) {
            let message = format!("this version does not grant `{name}` yet");
            reader.not_yet(&entry.key_span, message, "leave it out; `env` and `dirs` can be granted");
        }
    }
    fields.done(reader);
    Some(grants)
}

/// The name of an environment variable.
pub(super) fn variable(reader: &mut Reader<'_>, name: &str, span: &Span) -> Option<String> {
    if name.is_empty() || name.contains(|c: char| c == '=' || c == '*' || c.is_whitespace() || c.is_control())
    {
        let message = format!("`{name}` is no name of an environment variable");
        reader.wrong_value(span, message, "name each variable in full, such as PGSSLMODE");
        return None;
    }
    Some(name.to_owned())
}

fn directory(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<DirGrant> {
    let mut fields = reader.fields(node, "a folder")?;
    let host = fields.need(reader, "host", "./data").and_then(|node| reader.text(node, "`host`"));
    let guest_node = fields.need(reader, "guest", "/data");
    let guest = guest_node.and_then(|node| reader.text(node, "`guest`"));
    let mode = fields.get(reader, "mode");
    fields.done(reader);
    let writable = match mode.map(|node| (node, reader.string(node, "`mode`"))) {
        None => false,
        Some((_, Some("ro"))) => false,
        Some((_, Some("rw"))) => true,
        Some((node, mode)) => {
            if let Some(mode) = mode {
                reader.wrong_value(&node.span, format!("there is no mode `{mode}`"), "write `ro` or `rw`");
            }
            return None;
        }
    };
    let guest = guest?;
    let plain = guest.split('/').skip(1).all(|part| !matches!(part, "." | ".."));
    if !guest.starts_with('/') || !plain {
        if let Some(node) = guest_node {
            let message = format!("`{guest}` is no absolute path");
            reader.wrong_value(&node.span, message, "write the path that the driver sees, such as /data");
        }
        return None;
    }
    Some(DirGrant { host: host?.into(), guest: guest.to_owned(), writable })
}

fn limits(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Limits> {
    let mut fields = reader.fields(node, "`limits`")?;
    let limits = Limits {
        memory: size(reader, &mut fields, "memory"),
        time: quantity(reader, &mut fields, "time", "a duration", "30s", quantity::duration),
        output: size(reader, &mut fields, "output"),
        log: size(reader, &mut fields, "log"),
        concurrency: fields.get(reader, "concurrency").and_then(|node| count(reader, node, "`concurrency`")),
    };
    fields.done(reader);
    Some(limits)
}

fn size(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>, name: &'static str) -> Option<u64> {
    quantity(reader, fields, name, "a size", "64MiB", quantity::size)
}

fn quantity<T>(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    kind: &str,
    example: &str,
    read: fn(&str) -> Option<T>,
) -> Option<T> {
    let node = fields.get(reader, name)?;
    let text = node.as_str();
    let value = text.and_then(read);
    if value.is_none() {
        let message = format!("`{name}` takes {kind}, not `{}`", node.span.slice(reader.text));
        reader.wrong_value(&node.span, message, format!("write a number and a unit, such as {example}"));
    }
    value
}
