//! Recognises the kind of a document (SPEC §2, the table). Reads only its head.

use purlin_expression::did_you_mean;
use purlin_model::Diagnostic;

use crate::bundle::BundleFormat;
use crate::near::slip;
use crate::reader::Reader;
use crate::shape::{self, Shape};
use crate::yaml::{Entry, Node, NodeKind};

/// A document that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A definition, in our own envelope or in another one.
    Definition {
        foreign: bool,
    },
    Score,
    Deployment,
    DeploymentSet,
    ResourceType,
    Workspace,
    Lock,
    Bundle(BundleFormat),
    /// A managed resource, or a `kind: List` of these.
    Manifest,
}

impl Format {
    /// The word for a document of this format, for people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Definition { .. } => "Definition",
            Self::Score => "Score file",
            Self::Deployment => "Deployment",
            Self::DeploymentSet => "Deployment Set",
            Self::ResourceType => "ResourceType",
            Self::Workspace => "Workspace",
            Self::Lock => "Lock",
            Self::Bundle(_) => "Bundle",
            Self::Manifest => "manifest",
        }
    }

    /// Whether it declares resources, rather than how to provision them.
    pub(crate) fn declares_resources(self) -> bool {
        match self {
            Self::Score | Self::Deployment | Self::DeploymentSet | Self::Manifest => true,
            Self::Definition { .. } | Self::ResourceType | Self::Workspace | Self::Lock | Self::Bundle(_) => {
                false
            }
        }
    }
}

/// The result of recognising a document.
#[derive(Debug)]
pub(crate) enum Recognised {
    Ours(Format),
    /// Skipped in a walked folder, an error when named.
    Other(Diagnostic),
    /// Like `Other`, but without a head: next to a document of ours, it is a part of that.
    Stray(Diagnostic),
    /// An error everywhere.
    Wrong(Diagnostic),
}

/// The kinds of documents of our own, with what each is read as.
const OWN_KINDS: [(&str, Format); 6] = [
    ("Bundle", Format::Bundle(BundleFormat::Own)),
    ("Definition", Format::Definition { foreign: false }),
    ("Deployment", Format::Deployment),
    ("Lock", Format::Lock),
    ("ResourceType", Format::ResourceType),
    ("Workspace", Format::Workspace),
];
const FOREIGN: Format = Format::Definition { foreign: true };

/// Recognises a document. Diagnostics come as errors; the caller lowers those that it skips.
pub(crate) fn recognise(reader: &Reader<'_>, root: &Node<'_>) -> Recognised {
    let NodeKind::Map(_) = &root.kind else {
        return Recognised::Stray(other(reader, root, "this is not a Purlin document", None));
    };
    let Some(version) = root.get("apiVersion") else { return without_version(reader, root) };
    let Some(text) = version.as_str() else {
        return match shape::of(root) {
            Some(shape) => Recognised::Wrong(missing_version(reader, (root, version), &shape)),
            None => {
                let message = "this is not a Purlin document: its `apiVersion` is not a string";
                Recognised::Other(other(reader, version, message, None))
            }
        };
    };
    let (group, number) = text.split_once('/').unwrap_or((text, ""));
    match (group, number) {
        ("purlin.dev", "v1") => own(reader, root),
        ("entity.humanitec.io", "v1b1") => definition(reader, root, FOREIGN),
        ("core.api.humanitec.io", "v1") => definition(reader, root, FOREIGN),
        ("score.dev", "v1b1") => Recognised::Ours(Format::Score),
        ("humanitec.org", _) => Recognised::Other(other(
            reader,
            version,
            "this is a Score extension file, which Purlin does not read",
            Some("write its settings into a definition of type `workload`"),
        )),
        _ => match near_version(group) {
            Some(known) => unknown_version(reader, version, text, known),
            None => foreign(reader, root, version, text),
        },
    }
}

fn other(reader: &Reader<'_>, node: &Node<'_>, message: &str, help: Option<&str>) -> Diagnostic {
    let fault = match node.kind {
        NodeKind::Map(_) | NodeKind::List(_) => {
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
    let names = OWN_KINDS.map(|(name, _)| name);
    let Some(kind) = root.get("kind") else { return missing_kind(reader, root, &names) };
    match OWN_KINDS.iter().find(|(name, _)| kind.as_str() == Some(name)) {
        Some((_, format)) => Recognised::Ours(*format),
        None => unknown_kind(reader, kind, &names),
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
    let near = root.entries().unwrap_or_default().iter().find(|entry| slip(&entry.key, ["kind"]).is_some());
    let span = root.get("apiVersion").map_or(root.span, |version| version.span);
    let fault = reader.about(
        &near.map_or(span, |entry| entry.key_span),
        "missing-field",
        "the document lacks `kind`",
    );
    let list = kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ");
    Recognised::Wrong(fault.help(match near {
        Some(_) => "did you mean `kind`?".to_owned(),
        None => format!("add a `kind`: {list}"),
    }))
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

/// The supported groups, each with its version.
pub(crate) const GROUPS: [(&str, &str); 4] = [
    ("purlin.dev", "purlin.dev/v1"),
    ("score.dev", "score.dev/v1b1"),
    ("entity.humanitec.io", "entity.humanitec.io/v1b1"),
    ("core.api.humanitec.io", "core.api.humanitec.io/v1"),
];

/// The version for a group that is ours, or a misspelling of one: one edit away, or another suffix
/// of the same name, such as `purlin.io`.
fn near_version(group: &str) -> Option<&'static str> {
    let stem = |group: &str| group.rsplit_once('.').map(|(stem, _)| stem.to_ascii_lowercase());
    GROUPS
        .iter()
        .find(|(known, _)| {
            let known_stem = stem(known);
            group == *known
                || slip(group, [*known]).is_some()
                || (known_stem.is_some() && stem(group) == known_stem)
                || known_stem.is_some_and(|known| group.eq_ignore_ascii_case(&known))
        })
        .map(|(_, version)| *version)
}

fn unknown_version(reader: &Reader<'_>, version: &Node<'_>, text: &str, known: &str) -> Recognised {
    let fault = reader.about(&version.span, "unknown-version", format!("unknown version `{text}`"));
    let (group, _) = text.split_once('/').unwrap_or((text, ""));
    let near = slip(text, [known]).is_some() || !known.starts_with(&format!("{group}/"));
    Recognised::Wrong(fault.help(match near {
        true => format!("did you mean `{known}`?"),
        false => format!("write `apiVersion: {known}`"),
    }))
}

/// A document that has the form of one of ours, but not its head.
fn missing_version(reader: &Reader<'_>, (root, place): (&Node<'_>, &Node<'_>), shape: &Shape) -> Diagnostic {
    let span = match &place.kind {
        NodeKind::Map(entries) => entries.first().map_or(place.span, |entry| entry.key_span),
        _ => place.span,
    };
    reader
        .about(&span, "missing-field", format!("this looks like {} and lacks `apiVersion`", shape.name))
        .help(format!("add {}", shape.head(root)))
}

fn without_version(reader: &Reader<'_>, root: &Node<'_>) -> Recognised {
    let entries = root.entries().unwrap_or_default();
    let has = |name| root.get(name).is_some();
    let near = entries.iter().find(|entry| slip(&entry.key, ["apiVersion"]).is_some());
    if let Some(entry) = near {
        let group = entry.value.as_str().and_then(|text| text.split('/').next());
        if group.is_some_and(|group| near_version(group).is_some()) || shape::of(root).is_some() {
            let message = format!("unknown field `{}`, and no `apiVersion`", entry.key);
            let fault = reader.about(&entry.key_span, "unknown-field", message);
            return Recognised::Wrong(fault.help("did you mean `apiVersion`?"));
        }
    }
    if let Some(fault) = slipped_manifest(reader, root) {
        return Recognised::Wrong(fault);
    }
    if let Some(modules) = root.get("modules") {
        // Other formats may use `modules` for other things; a cut leaves nothing at all.
        let alone = entries.iter().all(|entry| ["modules", "shared"].contains(&&*entry.key));
        if modules.entries().is_some() || alone || modules.is_null() {
            return Recognised::Ours(Format::DeploymentSet);
        }
    }
    if has("schemaVersion") && has("name") && has("version") {
        return Recognised::Ours(Format::Bundle(BundleFormat::Porter));
    }
    if let Some(fault) = incomplete_porter(reader, root) {
        return Recognised::Other(fault);
    }
    if root.get("cases").is_some_and(|cases| matches!(cases.kind, NodeKind::List(_))) {
        let message = "these are test cases for a driver, with nothing to deploy";
        let help = "`purlin driver check` reads them";
        return Recognised::Other(other(reader, root, message, Some(help)));
    }
    if let Some(shape) = shape::of(root) {
        return Recognised::Wrong(missing_version(reader, (root, root), &shape));
    }
    let slipped =
        |entry: &&Entry<'_>| slip(&entry.key, ["modules"]).is_some() && shape::is_modules(&entry.value);
    if let Some(entry) = entries.iter().find(slipped) {
        let message = format!("unknown field `{}` of a Deployment Set", entry.key);
        let fault = reader.about(&entry.key_span, "unknown-field", message);
        return Recognised::Wrong(fault.help("did you mean `modules`?"));
    }
    let slipped = |entry: &&Entry<'_>| {
        (&*entry.key == "shared" || slip(&entry.key, ["shared"]).is_some())
            && shape::is_requests(&entry.value)
    };
    if let Some(entry) = entries.iter().find(slipped) {
        let fault = reader.about(
            &entry.key_span,
            "missing-field",
            "this looks like a Deployment Set and lacks `modules`",
        );
        return Recognised::Wrong(fault.help("add `modules: {}`"));
    }
    let message = "this is not a Purlin document: it has no `apiVersion`";
    let help = "a document has an `apiVersion`, or is a Deployment Set with a map `modules`";
    Recognised::Stray(other(reader, root, message, Some(help)))
}

/// The code of the fault of [`incomplete_porter`].
pub(crate) const INCOMPLETE_PORTER: &str = "missing-field";

/// A `porter.yaml` without the fields by which it is recognised.
fn incomplete_porter(reader: &Reader<'_>, root: &Node<'_>) -> Option<Diagnostic> {
    let has = |name: &&str| root.get(name).is_some();
    let requires = root.get("dependencies").and_then(|node| node.get("requires")).is_some();
    let steps = ["install", "upgrade", "uninstall"]
        .iter()
        .any(|name| root.get(name).is_some_and(|node| matches!(node.kind, NodeKind::List(_))));
    let is_one = (has(&"schemaVersion") && (has(&"name") || has(&"mixins")))
        || (has(&"mixins") && steps)
        || (has(&"name") && requires);
    if !is_one {
        return None;
    }
    let missing = [("schemaVersion", "1.0.0"), ("name", "NAME"), ("version", "1.0.0")];
    let missing: Vec<_> = missing.into_iter().filter(|(name, _)| !has(name)).collect();
    let names: Vec<String> = missing.iter().map(|(name, _)| format!("`{name}`")).collect();
    let lines: Vec<String> = missing.iter().map(|(name, value)| format!("`{name}: {value}`")).collect();
    let message = format!("this looks like a `porter.yaml`, and lacks {}", names.join(" and "));
    let span = root.entries().and_then(|entries| entries.first()).map_or(root.span, |entry| entry.key_span);
    Some(reader.about(&span, INCOMPLETE_PORTER, message).help(format!("add {}", lines.join(" and "))))
}

/// A group that is not ours: a managed resource, if it has a kind and a name.
fn foreign(reader: &Reader<'_>, root: &Node<'_>, version: &Node<'_>, text: &str) -> Recognised {
    let named = root.get("metadata").and_then(|metadata| metadata.get("name")).is_some();
    let kind = root.get("kind").and_then(Node::as_str);
    let is_list =
        kind == Some("List") && root.get("items").is_some_and(|node| matches!(node.kind, NodeKind::List(_)));
    let is_manifest = root.get("kind").is_some() && named;
    let shape = if is_manifest { shape::under_another_name(root) } else { shape::of(root) };
    if (is_manifest || is_list) && shape.is_none() {
        return match fault_of_version(reader, version) {
            Some(fault) => Recognised::Wrong(fault),
            None => Recognised::Ours(Format::Manifest),
        };
    }
    if let Some(fault) = slipped_manifest(reader, root) {
        return Recognised::Wrong(fault);
    }
    if let Some(shape) = shape {
        let message = format!("this looks like {}, and its `apiVersion` is `{text}`", shape.name);
        let fault = reader.about(&version.span, "unknown-version", message);
        return Recognised::Wrong(fault.help(format!("write {}", shape.head(root))));
    }
    let known = GROUPS.map(|(_, version)| version);
    let help = did_you_mean(text, "known ones", known);
    let message = format!("this is not a Purlin document: unknown `apiVersion: {text}`");
    Recognised::Other(other(reader, version, &message, Some(&help)))
}

/// The fault of the `apiVersion` of a manifest, if its group has no version.
pub(crate) fn fault_of_version(reader: &Reader<'_>, version: &Node<'_>) -> Option<Diagnostic> {
    let text = version.as_str().filter(|text| text.contains('.') && !text.contains('/'))?;
    Some(without_slash(reader, version, text))
}

/// The fault of a group without a version. Only the core group has no name, and its versions have no
/// dot: without its `/`, a manifest would become another resource.
fn without_slash(reader: &Reader<'_>, version: &Node<'_>, text: &str) -> Diagnostic {
    let message = format!("`{text}` has no `/` between the group and the version");
    let fault = reader.about(&version.span, "unknown-version", message);
    match text.rfind('v').filter(|at| *at > 0) {
        Some(at) => {
            let (group, version) = text.split_at(at);
            fault.help(format!("write it as `{}/{version}`", group.trim_end_matches('.')))
        }
        None => fault.help("write it as `GROUP/VERSION`, such as `apps/v1`"),
    }
}

/// The fault of a manifest with a misspelt field in its head, or with an empty `metadata`. All other
/// fields of the head must be there: documents of others have some of them, too.
fn slipped_manifest(reader: &Reader<'_>, root: &Node<'_>) -> Option<Diagnostic> {
    let head = ["apiVersion", "kind", "metadata"].map(|name| (name, field(root, name)));
    let [(_, Some(version)), (_, Some(kind)), (_, Some(metadata))] = head else { return None };
    if version.value.as_str().is_none() || kind.value.as_str().is_none() {
        return None;
    }
    let name = ("name", field(&metadata.value, "name"));
    let misspelt = head.into_iter().chain([name]).find_map(|(name, found)| {
        let entry = found.filter(|entry| &*entry.key != name)?;
        let message = format!("unknown field `{}`, and no `{name}`", entry.key);
        let fault = reader.about(&entry.key_span, "unknown-field", message);
        Some(fault.help(format!("did you mean `{name}`?")))
    });
    let is_complete = name.1.is_some() || metadata.value.is_null();
    let empty = || {
        let message = "this looks like a manifest, and its `metadata` is empty";
        let fault = reader.about(&metadata.key_span, "missing-field", message);
        metadata.value.is_null().then(|| fault.help("indent `name` further than `metadata`"))
    };
    misspelt.filter(|_| is_complete).or_else(empty)
}

/// The entry of a field, under its name or a misspelling of it.
fn field<'n, 't>(node: &'n Node<'t>, name: &str) -> Option<&'n Entry<'t>> {
    let entries = node.entries()?;
    let exact = entries.iter().find(|entry| &*entry.key == name);
    exact.or_else(|| entries.iter().find(|entry| slip(&entry.key, [name]).is_some()))
}
