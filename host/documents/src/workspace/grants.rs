//! The grants of a driver: folders, variables, requests, connections, lookups, secret stores (SPEC
//! §8).
//!
//! ```yaml
//! grants:
//!   env: [PGSSLMODE]
//!   dirs: [{host: ./data, guest: /data, mode: ro}]
//!   http: ["GET,POST https://api.example/v1/*"]
//!   tcp: ["db.internal:5432"]
//!   udp: ["10.0.0.53:53"]
//!   dns: ["*.internal"]
//!   addresses: [10.0.0.0/8]         # non-public addresses that names may resolve to
//!   ca: [internal-ca.pem]
//!   secrets: [vault]                # stores
//! ```

use purlin_model::grants::{Endpoint, HostPattern, HttpGrant, PatternError};
use purlin_model::{DirGrant, Grants};

use crate::reader::{Fields, Reader};
use crate::yaml::{Node, Span};

/// Reads the fields of `grants`.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Grants> {
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
    grants.http = patterns(reader, &mut fields, "http", HttpGrant::parse);
    grants.tcp = patterns(reader, &mut fields, "tcp", Endpoint::parse);
    grants.udp = patterns(reader, &mut fields, "udp", Endpoint::parse);
    grants.dns = patterns(reader, &mut fields, "dns", name_pattern);
    grants.addresses = patterns(reader, &mut fields, "addresses", purlin_model::grants::network);
    grants.ca = texts(reader, &mut fields, "ca").into_iter().map(|(file, _)| file.into()).collect();
    grants.secrets =
        texts(reader, &mut fields, "secrets").into_iter().map(|(store, _)| store.into()).collect();
    fields.done(reader);
    Some(grants)
}

/// Patterns of a list, each rejected at its own place.
fn patterns<T>(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    parse: fn(&str) -> Result<T, PatternError>,
) -> Vec<T> {
    let mut parsed = Vec::new();
    for (text, span) in texts(reader, fields, name) {
        match parse(text) {
            Ok(pattern) => parsed.push(pattern),
            Err(PatternError { message, help }) => {
                reader.wrong_value(&span, format!("`grants.{name}`: {message}"), help);
            }
        }
    }
    parsed
}

fn texts<'n>(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'n, '_>,
    name: &'static str,
) -> Vec<(&'n str, Span)> {
    let Some(node) = fields.get(reader, name) else { return Vec::new() };
    let items = reader.strings(node, &format!("`grants.{name}`")).unwrap_or_default();
    let (texts, empty): (Vec<_>, Vec<_>) = items.into_iter().partition(|(text, _)| !text.trim().is_empty());
    for (_, span) in empty {
        reader.wrong_value(&span, format!("`grants.{name}` has an empty item"), "leave it out");
    }
    texts
}

/// Addresses need no lookup.
fn name_pattern(text: &str) -> Result<HostPattern, PatternError> {
    match HostPattern::parse(text)? {
        HostPattern::Network(_) => Err(PatternError {
            message: format!("`{text}` is an address, and only names are looked up"),
            help: "write a name such as `db.internal`, or `*.internal`",
        }),
        pattern => Ok(pattern),
    }
}

/// The name of an environment variable.
pub(super) fn variable(reader: &mut Reader<'_>, name: &str, span: &Span) -> Option<String> {
    if name.is_empty() || name.contains(|c: char| c == '=' || c == '*' || c.is_whitespace() || c.is_control())
    {
        let message = format!("`{name}` is not the name of an environment variable");
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
    let location = reader.at(&mode.unwrap_or(node).span);
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
            let message = format!("`{guest}` is not an absolute path");
            reader.wrong_value(&node.span, message, "write the path that the driver sees, such as /data");
        }
        return None;
    }
    Some(DirGrant { host: host?.into(), guest: guest.to_owned(), writable, location })
}
