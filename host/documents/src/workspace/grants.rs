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

use std::sync::Arc;

use purlin_model::DirGrant;
use purlin_model::grants::{Endpoint, HostPattern, HttpGrant, PatternError};

use crate::declare::{Field, Form, Opened, Read, form};
use crate::kinds::{AnyText, Choice, List, Text, Words, kind, matching};
use crate::reader::Reader;
use crate::yaml::{Node, Span};

form! {
    /// The grants of a driver.
    pub(crate) struct Grants {
        /// Allowed requests, such as `GET,POST https://api.example/v1/*`.
        HTTP: List<AnyText> = "http" matching "^([A-Z*,-]+ +)?https?://[^/@\\s]+(/[^\\s?#]*)?$", "[\"GET https://api.example/*\"]";
        /// Allowed connections, such as `db.internal:5432`.
        TCP: List<Destination> = "tcp", "[\"db.example:5432\"]";
        /// Allowed destinations of datagrams, such as `10.0.0.53:53`.
        UDP: List<Destination> = "udp", "[\"10.0.0.53:53\"]";
        /// Names that it may look up, in addition to those of the other grants.
        DNS: List<AnyText> = "dns" matching "^(\\*|(\\*\\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)$", "[\"*.internal\"]";
        /// Private networks that names may resolve to.
        ADDRESSES: List<Network> = "addresses", "[10.0.0.0/8]";
        /// Files with trusted certificates, in addition to those of the system.
        CA: List<Text> = "ca", "[ca.pem]";
        /// Secret stores whose secrets it may receive.
        SECRETS: List<Text> = "secrets", "[vault]";
        /// Environment variables that it may read.
        ENV: List<Variable> = "env", "[PGSSLMODE]";
        /// Folders that it may use.
        DIRS: List<Folder> = "dirs", "[{host: ./data, guest: /data, mode: ro}]";
    }

    const WITHIN: &'static str = "grants.";
}

form! {
    /// A folder that a driver may use.
    pub(crate) struct Folder {
        /// Folder on the host, relative to the folder of this file.
        HOST: Text = needed "host", "./data";
        /// Path inside the driver.
        GUEST: GuestPath = needed "guest", "/data";
        /// Whether the driver may write.
        MODE: Choice<Mode> = "mode" default "ro";
    }
}

kind! {
    /// `HOST:PORT`
    pub(crate) struct Destination: matching("^\\S+:([0-9]+(-[0-9]+)?|\\*)$")
}
kind! {
    /// An address or a network.
    pub(crate) struct Network: matching("^[0-9A-Fa-f]*[.:][0-9A-Fa-f.:]*(/[0-9]+)?$")
}
kind! {
    /// An absolute path without `.` and `..`.
    pub(crate) struct GuestPath: serde_json::json!({
        "type": "string", "pattern": "^/", "not": {"pattern": "/\\.\\.?(/|$)"},
    })
}

kind! {
    /// The name of an environment variable.
    pub(crate) struct Variable: matching("^[^=*\\s\\p{Cc}]+$")
}

/// What a driver may do in a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Write,
}

impl Words for Mode {
    const WORDS: &'static [(&'static str, Self)] = &[("ro", Self::Read), ("rw", Self::Write)];
}

impl Read for Grants {
    type Value = purlin_model::Grants;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Self::Value> {
        let grants = Self::open(reader, node, what)?;
        let variables = grants.node(Self::ENV).and_then(|node| reader.strings(node, "`grants.env`"));
        let variables = variables.unwrap_or_default().into_iter();
        let folders = grants.node(Self::DIRS).and_then(|node| reader.list(node, "`grants.dirs`"));
        let (ca, secrets) = (texts(reader, &grants, Self::CA), texts(reader, &grants, Self::SECRETS));
        Some(purlin_model::Grants {
            env: variables.filter_map(|(name, span)| variable(reader, name, &span)).collect(),
            dirs: folders.unwrap_or_default().iter().filter_map(|item| directory(reader, item)).collect(),
            http: patterns(reader, &grants, Self::HTTP, HttpGrant::parse),
            tcp: patterns(reader, &grants, Self::TCP, Endpoint::parse),
            udp: patterns(reader, &grants, Self::UDP, Endpoint::parse),
            dns: patterns(reader, &grants, Self::DNS, name_pattern),
            addresses: patterns(reader, &grants, Self::ADDRESSES, purlin_model::grants::network),
            ca: ca.into_iter().map(|(file, _)| file.into()).collect(),
            secrets: secrets.into_iter().map(|(store, _)| Arc::from(store)).collect(),
        })
    }
}

/// Patterns of a list, each rejected at its own place.
fn patterns<K, T>(
    reader: &mut Reader<'_>,
    grants: &Opened<'_, '_, Grants>,
    field: Field<Grants, List<K>>,
    parse: fn(&str) -> Result<T, PatternError>,
) -> Vec<T> {
    let mut parsed = Vec::new();
    for (text, span) in texts(reader, grants, field) {
        match parse(text) {
            Ok(pattern) => parsed.push(pattern),
            Err(PatternError { message, help }) => {
                reader.wrong_value(&span, format!("`grants.{}`: {message}", grants.name(field)), help);
            }
        }
    }
    parsed
}

fn texts<'n, K>(
    reader: &mut Reader<'_>,
    grants: &Opened<'n, '_, Grants>,
    field: Field<Grants, List<K>>,
) -> Vec<(&'n str, Span)> {
    let Some(node) = grants.node(field) else { return Vec::new() };
    let what = format!("`grants.{}`", grants.name(field));
    let items = reader.strings(node, &what).unwrap_or_default();
    let (texts, empty): (Vec<_>, Vec<_>) = items.into_iter().partition(|(text, _)| !text.trim().is_empty());
    for (_, span) in empty {
        reader.wrong_value(&span, format!("{what} has an empty item"), "leave it out");
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
    let folder = Folder::open(reader, node, "a folder")?;
    let host = folder.read(reader, Folder::HOST);
    let location = reader.at(&folder.node(Folder::MODE).unwrap_or(node).span);
    let writable = match folder.node(Folder::MODE) {
        Some(_) => folder.read(reader, Folder::MODE)? == Mode::Write,
        None => false,
    };
    let node = folder.node(Folder::GUEST)?;
    let guest = reader.text(node, "`guest`")?;
    let plain = guest.split('/').skip(1).all(|part| !matches!(part, "." | ".."));
    if !guest.starts_with('/') || !plain {
        let message = format!("`{guest}` is not an absolute path");
        reader.wrong_value(&node.span, message, "write the path that the driver sees, such as /data");
        return None;
    }
    Some(DirGrant { host: (&*host?).into(), guest: guest.to_owned(), writable, location })
}
