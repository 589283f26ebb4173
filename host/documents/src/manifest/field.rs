//! Reference fields as written: which values are reference fields, and what they name. Only values
//! of exactly their shape are: `passwordSecretRef: {name, namespace, key}` is plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{Diagnostic, Location, Severity};

use super::head::strings;
use super::policy::{self, Policy};
use crate::near::slip;
use crate::reader::Reader;
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
    One(Named),
    /// `fooRefs`
    Several(Vec<Named>),
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
pub(super) struct Named {
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

/// Fields of Kubernetes' own kinds that have the shape of a reference field.
pub(super) const OF_KUBERNETES: [&str; 12] = [
    "configMapRef",
    "controllerExpandSecretRef",
    "controllerPublishSecretRef",
    "labelSelector",
    "namespaceSelector",
    "nodeExpandSecretRef",
    "nodePublishSecretRef",
    "nodeStageSecretRef",
    "objectSelector",
    "podSelector",
    "secretRef",
    "serviceSelector",
];

/// Whether a group is one of Kubernetes itself: without a dot, or below `k8s.io`.
pub(super) fn is_of_kubernetes(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// The suffix that makes a name the name of a reference field.
pub(super) fn end(key: &str) -> Option<&'static str> {
    ["Refs", "Ref", "Selector"].into_iter().find(|end| key.len() > end.len() && key.ends_with(end))
}

/// The help for a value that is not a reference.
pub(super) fn write(form: &str) -> String {
    format!("write `{form}`, with `namespace` and `policy` where needed")
}

/// Reads an entry of the params.
pub(super) fn read<'n>(reader: &mut Reader<'_>, entry: &'n Entry<'_>, of_kubernetes: bool) -> ReadEntry<'n> {
    let key: &str = &entry.key;
    if of_kubernetes && OF_KUBERNETES.contains(&key) {
        return ReadEntry::Data;
    }
    let stem = |end| key.strip_suffix(end).filter(|stem: &&str| !stem.is_empty());
    let (stem, form) = if let Some(stem) = stem("Ref") {
        if !fits(reader, &entry.value, key, &NAMED, NAME) {
            return ReadEntry::Data;
        }
        (stem, named(reader, &entry.value, key).map(Form::One))
    } else if let Some(stem) = stem("Refs") {
        let NodeKind::List(items) = &entry.value.kind else { return ReadEntry::Data };
        let fitting: Vec<bool> = items.iter().map(|item| fits(reader, item, key, &NAMED, NAME)).collect();
        if !fitting.contains(&true) {
            return ReadEntry::Data;
        }
        if let Some(item) = items.iter().zip(&fitting).find(|(_, fits)| !**fits).map(|(item, _)| item) {
            let message = format!("this entry of `{key}` is not a reference, and others are");
            let fault = reader.about(&place_of(item), "wrong-value", message);
            reader.report(fault.help(write("{name: NAME}")));
            return ReadEntry::Faulty;
        }
        let names: Vec<_> = items.iter().map(|item| named(reader, item, key)).collect();
        (stem, names.into_iter().collect::<Option<Vec<_>>>().map(Form::Several))
    } else if let Some(stem) = stem("Selector") {
        if !fits(reader, &entry.value, key, &LABELLED, LABELS) {
            return ReadEntry::Data;
        }
        (stem, labelled(reader, entry).map(Form::Labels))
    } else {
        return ReadEntry::Data;
    };
    form.map_or(ReadEntry::Faulty, |form| ReadEntry::Field(Field { key, stem, form }))
}

/// Whether a value has exactly the keys of a reference. Reports a misspelled key.
fn fits(reader: &mut Reader<'_>, node: &Node<'_>, field: &str, known: &[&'static str], main: &str) -> bool {
    let Some(entries) = node.entries().filter(|entries| !entries.is_empty()) else { return false };
    let other = |entry: &&Entry<'_>| !known.contains(&&*entry.key);
    let others: Vec<_> = entries.iter().filter(other).collect();
    if others.is_empty() {
        return true;
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
            let message = format!("`{field}` is plain data and not a reference, because of `{}`", entry.key);
            let fault = reader.about(&entry.key_span, "unknown-field", message);
            let fault = Diagnostic { severity: Severity::Warning, ..fault };
            reader.report(fault.help(format!("did you mean `{near}`?")));
        }
    }
    false
}

/// A map is too large to underline; its first key is enough.
fn place_of(node: &Node<'_>) -> crate::yaml::Span {
    node.entries().and_then(|entries| entries.first()).map_or(node.span, |entry| entry.key_span)
}

fn named(reader: &mut Reader<'_>, node: &Node<'_>, field: &str) -> Option<Named> {
    let namespace = namespace(reader, node);
    let policy = policy::read(reader, node.get("policy"));
    let Some(name) = node.get(NAME) else {
        let fault = reader.about(&place_of(node), "missing-field", format!("`{field}` lacks `name`"));
        reader.report(fault.help("add the `name` of the manifest that is meant"));
        return None;
    };
    let text = reader.text(name, "`name`")?;
    Some(Named { name: text.into(), namespace: namespace?, policy: policy?, location: reader.at(&name.span) })
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
