//! One driver of the workspace: its source, its grants, its limits (SPEC §8).

use purlin_model::{DriverConfig, DriverSource, Limits};

use super::{count, grants};
use crate::definition::{check_driver_name, range_of};
use crate::quantity;
use crate::reader::{Fields, Reader};
use crate::yaml::{Entry, Node};

pub(super) fn read(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<DriverConfig> {
    check_driver_name(reader, entry);
    let mut config = DriverConfig { location: reader.at(&entry.key_span), ..DriverConfig::default() };
    let mut fields = reader.fields(&entry.value, &format!("the driver `{}`", entry.key))?;
    if let Some(node) = fields.get(reader, "source") {
        config.source = reader.text(node, "`source`").map(|text| match text.strip_prefix("oci://") {
            Some(reference) => DriverSource::Oci(reference.to_owned()),
            None => DriverSource::Path(text.into()),
        });
    }
    if let Some(node) = fields.get(reader, "version") {
        config.version = reader.text(node, "`version`").and_then(|text| range_of(reader, node, text));
    }
    if let Some(node) = fields.get(reader, "grants") {
        config.grants = grants::read(reader, node).unwrap_or_default();
    }
    if let Some(node) = fields.get(reader, "limits") {
        config.limits = limits(reader, node).unwrap_or_default();
    }
    fields.done(reader);
    Some(config)
}

fn limits(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Limits> {
    let mut fields = reader.fields(node, "`limits`")?;
    let limits = Limits {
        memory: size(reader, &mut fields, "memory"),
        time: quantity(reader, &mut fields, "time", "a duration", "30s", quantity::duration),
        output: size(reader, &mut fields, "output"),
        log: size(reader, &mut fields, "log"),
        concurrency: fields.get(reader, "concurrency").and_then(|node| count(reader, node, "`concurrency`")),
        wait: quantity(reader, &mut fields, "wait", "a duration", "1m", quantity::duration),
        grace: quantity(reader, &mut fields, "grace", "a duration", "30s", quantity::duration_or_zero),
        total: quantity(reader, &mut fields, "total", "a duration", "10m", quantity::duration),
        response: size(reader, &mut fields, "response"),
        requests: fields
            .get(reader, "requests")
            .and_then(|node| count(reader, node, "`requests`"))
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
    };
    fields.done(reader);
    Some(limits)
}

fn size(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>, name: &'static str) -> Option<u64> {
    quantity(reader, fields, name, "a size", "64MiB", quantity::size)
}

/// A number with a unit.
pub(super) fn quantity<T>(
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
