//! Reference fields as written: which values are reference fields, and what they name. Only values
//! of exactly their shape are: `passwordSecretRef: {name, namespace, key}` is plain data. And only
//! fields of which a ResourceType or the convention of the group says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{Diagnostic, Location, Severity};

use super::head::strings;
use super::policy::{self, Policy};
use crate::near::slip;
use crate::reader::Reader;
use crate::x_reference::ENDS;
use crate::yaml::{Entry, Node, NodeKind};

/// A reference field.
#[derive(Debug)]
pub(super) struct Field<'n> {
    /// The name of the whole field.
    pub(super) key: &'n str,
    /// The name without `Ref`, `Refs` or `Selector`.
    pub(super) stem: &'n str,
    pub(super) form: Form,
}

/// The form of a reference field.
#[derive(Debug)]
pub(super) enum Form {
    /// `fooRef`
    One(TargetName),
    /// `fooRefs`
    Several(Vec<TargetName>),
    /// `fooSelector`
    Labels(Labelled),
}

impl Form {
    /// Whether an existing literal value stays.
    pub(super) fn keeps(&self) -> bool {
        match self {
            Self::One(named) => named.policy.keeps,
            Self::Several(names) => names.iter().all(|named| named.policy.keeps),
            Self::Labels(labelled) => labelled.policy.keeps,
        }
    }
}

/// `{name, namespace?, policy?}`
#[derive(Debug)]
pub(super) struct TargetName {
    pub(super) name: Arc<str>,
    pub(super) namespace: Option<Arc<str>>,
    pub(super) policy: Policy,
    pub(super) location: Location,
}

/// `{matchLabels, namespace?, policy?}`
#[derive(Debug)]
pub(super) struct Labelled {
    pub(super) labels: BTreeMap<Arc<str>, Arc<str>>,
    pub(super) namespace: Option<Arc<str>>,
    pub(super) policy: Policy,
    pub(super) location: Location,
}

/// The result of reading an entry of a map.
#[derive(Debug)]
pub(super) enum ReadEntry<'n> {
    Data,
    Field(Field<'n>),
    /// A reference field with a fault, which was reported.
    Faulty,
}

const NAMED: [&str; 3] = ["name", "namespace", "policy"];
const LABELLED: [&str; 4] = ["matchLabels", "matchControllerRef", "namespace", "policy"];
/// The member that decides the form of a map.
const NAME: &str = "name";
const LABELS: &str = "matchLabels";
/// The only member of ACK's form: `{from: {name, namespace?}}`.
const FROM: &str = "from";

/// Who says that a field is a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nobody: it is a value like any other.
    Nobody,
    /// The convention of its group.
    Convention,
    /// A ResourceType describes the field that it fills.
    Described,
}

/// The suffix that makes a name the name of a reference field.
pub(super) fn end(key: &str) -> Option<&'static str> {
    ENDS.into_iter().find(|end| key.len() > end.len() && key.ends_with(end))
}

/// The help for a value that is not a reference.
pub(super) fn write(form: &str) -> String {
    format!("write `{form}`, with `namespace` and `policy` where needed")
}

/// Reads an entry of the params.
pub(super) fn read<'n>(reader: &mut Reader<'_>, entry: &'n Entry<'_>, said: Said) -> ReadEntry<'n> {
    let key: &str = &entry.key;
    let (Some(end), true) = (end(key), said != Said::Nobody) else { return ReadEntry::Data };
    let Some(stem) = key.strip_suffix(end) else { return ReadEntry::Data };
    let form = match end {
        "Ref" => {
            let Some(node) = names(reader, &entry.value, key, said) else { return ReadEntry::Data };
            named(reader, node, key).map(Form::One)
        }
        "Refs" => {
            let NodeKind::List(items) = &entry.value.kind else { return ReadEntry::Data };
            let nodes: Vec<Option<&Node<'_>>> =
                items.iter().map(|item| names(reader, item, key, said)).collect();
            if nodes.iter().all(Option::is_none) {
                return ReadEntry::Data;
            }
            if let Some((item, _)) = items.iter().zip(&nodes).find(|(_, node)| node.is_none()) {
                let message = format!("this entry of `{key}` is not a reference, and others are");
                let fault = reader.about(&place_of(item), "wrong-value", message);
                reader.report(fault.help(write("{name: NAME}")));
                return ReadEntry::Faulty;
            }
            let names: Vec<_> = nodes.into_iter().flatten().map(|node| named(reader, node, key)).collect();
            names.into_iter().collect::<Option<Vec<_>>>().map(Form::Several)
        }
        _ => {
            if !fits(reader, &entry.value, key, &LABELLED, LABELS, said) {
                return ReadEntry::Data;
            }
            labelled(reader, entry).map(Form::Labels)
        }
    };
    form.map_or(ReadEntry::Faulty, |form| ReadEntry::Field(Field { key, stem, form }))
}

/// The map with the name of a reference, if the value is one.
fn names<'n, 't>(
    reader: &mut Reader<'_>,
    node: &'n Node<'t>,
    field: &str,
    said: Said,
) -> Option<&'n Node<'t>> {
    if let Some([entry]) = node.entries()
        && &*entry.key == FROM
    {
        let parts = entry.value.entries().unwrap_or_default();
        let is_part = |part: &Entry<'_>| ["name", "namespace"].contains(&&*part.key);
        return (entry.value.get(NAME).is_some() && parts.iter().all(is_part)).then_some(&entry.value);
    }
    fits(reader, node, field, &NAMED, NAME, said).then_some(node)
}

/// Whether a value has exactly the keys of a reference. Reports a misspelled key.
fn fits(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    field: &str,
    known: &[&'static str],
    main: &str,
    said: Said,
) -> bool {
    let Some(entries) = node.entries().filter(|entries| !entries.is_empty()) else { return false };
    let other = |entry: &&Entry<'_>| !known.contains(&&*entry.key);
    let others: Vec<_> = entries.iter().filter(other).collect();
    let warn = |reader: &mut Reader<'_>, entry: &Entry<'_>, why: &str, help: String| {
        let message = format!("`{field}` is plain data and not a reference, because {why}");
        let fault = reader.about(&entry.key_span, "unknown-field", message);
        reader.report(Diagnostic { severity: Severity::Warning, ..fault }.help(help));
    };
    if others.is_empty() {
        let is_whole = said == Said::Described || node.get(main).is_some();
        if let (false, Some(first)) = (is_whole, entries.first()) {
            warn(reader, first, &format!("it lacks `{main}`"), format!("add `{main}`"));
        }
        return is_whole;
    }
    // With a field that a reference does not have, it is most likely something else.
    let slips: Vec<_> = others
        .iter()
        .filter_map(|entry| Some((*entry, slip(&entry.key, known.iter().copied())?)))
        .filter(|(entry, near)| {
            node.get(near).is_none() && (node.get(main).is_some() || *near == main) && !entry.value.is_null()
        })
        .collect();
    if slips.len() == others.len() {
        for (entry, near) in slips {
            warn(reader, entry, &format!("of `{}`", entry.key), format!("did you mean `{near}`?"));
        }
    }
    false
}

/// A map is too large to underline; its first key is enough.
fn place_of(node: &Node<'_>) -> crate::yaml::Span {
    node.entries().and_then(|entries| entries.first()).map_or(node.span, |entry| entry.key_span)
}

fn named(reader: &mut Reader<'_>, node: &Node<'_>, field: &str) -> Option<TargetName> {
    let namespace = namespace(reader, node);
    let policy = policy::read(reader, node.get("policy"));
    let Some(name) = node.get(NAME) else {
        let fault = reader.about(&place_of(node), "missing-field", format!("`{field}` lacks `name`"));
        reader.report(fault.help("add the `name` of the manifest that is meant"));
        return None;
    };
    let text = reader.text(name, "`name`")?;
    Some(TargetName {
        name: text.into(),
        namespace: namespace?,
        policy: policy?,
        location: reader.at(&name.span),
    })
}

/// The namespace of a field, if it has one; `None` if that is wrong.
fn namespace(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Option<Arc<str>>> {
    match node.get("namespace") {
        None => Some(None),
        Some(node) if node.is_null() => Some(None),
        Some(node) => Some(Some(reader.text(node, "`namespace`")?.into())),
    }
}

fn labelled(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Labelled> {
    let node = &entry.value;
    let field = &entry.key;
    let namespace = namespace(reader, node);
    let policy = policy::read(reader, node.get("policy"));
    if let Some(controller) = node.get("matchControllerRef")
        && reader.boolean(controller, "`matchControllerRef`")?
    {
        let help = "select by `matchLabels` alone";
        reader.wrong_value(&controller.span, "manifests have no controller to match here", help);
        return None;
    }
    let Some(labels) = node.get(LABELS) else {
        let fault = reader.about(&entry.key_span, "missing-field", format!("`{field}` lacks `matchLabels`"));
        reader.report(
            fault.help("add the labels of the manifests that are meant: `matchLabels: {NAME: VALUE}`"),
        );
        return None;
    };
    let before = reader.faults.len();
    reader.map(labels, "`matchLabels`")?;
    let found = strings(reader, labels, "`matchLabels`");
    let location = reader.at(&place_of(labels));
    (reader.faults.len() == before).then_some(())?;
    Some(Labelled { labels: found, namespace: namespace?, policy: policy?, location })
}
