//! Which document it is (SPEC §2, the table). Looks at the head of a document only.

use purlin_expression::did_you_mean;
use purlin_model::Diagnostic;

use crate::reader::Reader;
use crate::yaml::{Kind, Node};

/// A document that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A definition, with the names of the fields that its body may stand under.
    Definition {
        bodies: &'static [&'static str],
        foreign: bool,
    },
    Score,
    Deployment,
    DeploymentSet,
    ResourceType,
    Workspace,
    Lock,
}

/// What a document turns out to be.
#[derive(Debug)]
pub(crate) enum Recognised {
    Ours(Format),
    /// Passed over in a walked folder, an error when named.
    Other(Diagnostic),
    /// An error everywhere.
    Wrong(Diagnostic),
}

const OWN_KINDS: [&str; 6] = ["Bundle", "Definition", "Deployment", "Lock", "ResourceType", "Workspace"];
const OWN: Format = Format::Definition { bodies: &["spec"], foreign: false };
const ENTITY: Format = Format::Definition { bodies: &["entity"], foreign: true };
const CORE: Format = Format::Definition { bodies: &["object", "entity"], foreign: true };

/// Recognises a document. Diagnostics come as errors; the caller lowers those that it passes over.
pub(crate) fn recognise(reader: &Reader<'_>, root: &Node<'_>) -> Recognised {
    let Kind::Map(_) = &root.kind else {
        return Recognised::Other(other(reader, root, "this is no document of Purlin", None));
    };
    let Some(version) = root.get("apiVersion") else { return without_version(reader, root) };
    let Some(text) = version.as_str() else {
        let message = "this is no document of Purlin: its `apiVersion` is no string";
        return Recognised::Other(other(reader, version, message, None));
    };
    let (group, number) = text.split_once('/').unwrap_or((text, ""));
    match (group, number) {
        ("purlin.dev", "v1") => own(reader, root),
        ("entity.humanitec.io", "v1b1") => definition(reader, root, ENTITY),
        ("core.api.humanitec.io", "v1") => definition(reader, root, CORE),
        ("score.dev", "v1b1") => Recognised::Ours(Format::Score),
        ("purlin.dev", _) => unknown_version(reader, version, text, "purlin.dev/v1"),
        ("entity.humanitec.io", _) => unknown_version(reader, version, text, "entity.humanitec.io/v1b1"),
        ("core.api.humanitec.io", _) => unknown_version(reader, version, text, "core.api.humanitec.io/v1"),
        ("score.dev", _) => unknown_version(reader, version, text, "score.dev/v1b1"),
        ("humanitec.org", _) => Recognised::Other(other(
            reader,
            version,
            "this is a Score extension file, which Purlin does not read",
            Some("what it says belongs into a definition of type `workload`"),
        )),
        _ => foreign(reader, root, version, text),
    }
}

fn other(reader: &Reader<'_>, node: &Node<'_>, message: &str, help: Option<&str>) -> Diagnostic {
    let fault = match node.kind {
        Kind::Map(_) | Kind::List(_) => {
            Diagnostic::error("not-a-document", message).at(&reader.at(&node.span))
        }
        _ => reader.about(&node.span, "not-a-document", message),
    };
    match help {
        Some(help) => fault.help(help),
        None => fault,
    }
}

fn own(reader: &Reader<'_>, root: &Node<'_>) -> Recognised {
    let Some(kind) = root.get("kind") else { return missing_kind(reader, root, &OWN_KINDS) };
    match kind.as_str() {
        Some("Definition") => Recognised::Ours(OWN),
        Some("Deployment") => Recognised::Ours(Format::Deployment),
        Some("ResourceType") => Recognised::Ours(Format::ResourceType),
        Some("Workspace") => Recognised::Ours(Format::Workspace),
        Some("Lock") => Recognised::Ours(Format::Lock),
        Some("Bundle") => Recognised::Other(not_yet(
            reader,
            kind,
            "this is a bundle, and this version does not deploy them yet",
        )),
        _ => unknown_kind(reader, kind, &OWN_KINDS),
    }
}

fn definition(reader: &Reader<'_>, root: &Node<'_>, format: Format) -> Recognised {
    match root.get("kind") {
        None => missing_kind(reader, root, &["Definition"]),
        Some(kind) if kind.as_str() == Some("Definition") => Recognised::Ours(format),
        Some(kind) => unknown_kind(reader, kind, &["Definition"]),
    }
}

fn missing_kind(reader: &Reader<'_>, root: &Node<'_>, kinds: &[&str]) -> Recognised {
    let span = root.get("apiVersion").map_or(root.span, |version| version.span);
    let list = kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ");
    let fault = reader.about(&span, "missing-field", "the document lacks `kind`");
    Recognised::Wrong(fault.help(format!("add a `kind`: {list}")))
}

fn unknown_kind(reader: &Reader<'_>, kind: &Node<'_>, kinds: &[&str]) -> Recognised {
    let name = kind.as_str().unwrap_or_default();
    let message = match kind.as_str() {
        Some(name) => format!("there is no kind `{name}` in this group"),
        None => format!("`kind` takes a string, not {}", kind.describe()),
    };
    let fault = reader.about(&kind.span, "unknown-kind", message);
    Recognised::Wrong(fault.help(did_you_mean(name, "kinds", kinds.iter().copied())))
}

fn unknown_version(reader: &Reader<'_>, version: &Node<'_>, text: &str, known: &str) -> Recognised {
    let fault =
        reader.about(&version.span, "unknown-version", format!("`{text}` is no version that Purlin knows"));
    Recognised::Wrong(fault.help(format!("write `apiVersion: {known}`")))
}

fn not_yet(reader: &Reader<'_>, node: &Node<'_>, message: &str) -> Diagnostic {
    reader.about(&node.span, "not-supported-yet", message)
}

fn without_version(reader: &Reader<'_>, root: &Node<'_>) -> Recognised {
    if root.get("modules").is_some_and(|modules| modules.entries().is_some()) {
        return Recognised::Ours(Format::DeploymentSet);
    }
    let has = |name| root.get(name).is_some();
    if has("schemaVersion") && has("name") && has("version") {
        let node = root.get("schemaVersion").unwrap_or(root);
        let message = "this is a Porter bundle, and this version does not deploy them yet";
        return Recognised::Other(not_yet(reader, node, message));
    }
    if root.get("cases").is_some_and(|cases| matches!(cases.kind, Kind::List(_))) {
        let message = "these are cases that a driver is tried with, nothing to deploy";
        let help = "`purlin driver check` reads them";
        return Recognised::Other(other(reader, root, message, Some(help)));
    }
    let kind = root.get("kind").and_then(Node::as_str).filter(|kind| OWN_KINDS.contains(kind));
    let help = match kind {
        Some(_) => "add `apiVersion: purlin.dev/v1`",
        None if has("containers") => "add `apiVersion: score.dev/v1b1` if it is a Score file",
        None => "a document has an `apiVersion`, or is a Deployment Set with a map `modules`",
    };
    Recognised::Other(other(
        reader,
        root,
        "this is no document of Purlin: it has no `apiVersion`",
        Some(help),
    ))
}

/// A group that is none of ours: a managed resource, if it has a kind and a name.
fn foreign(reader: &Reader<'_>, root: &Node<'_>, version: &Node<'_>, text: &str) -> Recognised {
    let named = root.get("metadata").and_then(|metadata| metadata.get("name")).is_some();
    if root.get("kind").is_some() && named {
        let message = "this is a managed resource, and this version does not deploy them yet";
        return Recognised::Other(not_yet(reader, version, message));
    }
    let known = ["purlin.dev/v1", "score.dev/v1b1", "entity.humanitec.io/v1b1", "core.api.humanitec.io/v1"];
    let help = did_you_mean(text, "known ones", known);
    let message = format!("this is no document of Purlin: nobody knows `apiVersion: {text}`");
    Recognised::Other(other(reader, version, &message, Some(&help)))
}
