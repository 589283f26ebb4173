//! Managed resources: manifests in the form that Kubernetes uses (SPEC §7 [X]).
//!
//! ```yaml
//! apiVersion: ec2.aws.crossplane.io/v1beta1
//! kind: Subnet
//! metadata: {name: front, namespace: shop, labels: {tier: front}}
//! spec:
//!   forProvider:                        # the params; else all of `spec`
//!     cidrBlock: 10.0.1.0/24
//!     vpcIdRef: {name: net}             # fills `vpcId`
//! ```
//!
//! The type of a manifest and the meaning of its reference fields depend on other documents, so
//! manifests are kept as drafts until all files are read, and become resources together. This
//! module knows no graph: it does not decide whether a target exists.

mod convention;
mod depends;
mod field;
mod head;
mod life;
mod params;
mod policy;
mod types;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use purlin_model::{Diagnostic, Key, Location, Manifest, ManifestKind, ResourceLifecycle, TypeName};

use crate::reader::Reader;
use crate::x_reference::Rules;
use crate::yaml::Node;
pub(crate) use convention::{Convention, is_never};
use head::Head;
pub(crate) use head::{Document, items, name_of};
pub(crate) use types::Claims;

/// A manifest that was read, and not yet compiled.
#[derive(Debug)]
pub(crate) struct Draft {
    file: Arc<str>,
    text: Arc<str>,
    root: Node<'static>,
}

impl Draft {
    pub(crate) fn new(file: &Arc<str>, text: &Arc<str>, root: &Node<'_>) -> Self {
        Self { file: file.clone(), text: text.clone(), root: root.owned() }
    }
}

/// The result of compiling manifests.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) lifecycle: Vec<ResourceLifecycle>,
    pub(crate) faults: Vec<Diagnostic>,
}

/// All manifests of a set of documents, by their search keys.
#[derive(Debug, Default)]
struct Known {
    /// Types of a kind, by the kind's name: the groups that have manifests of it.
    kinds: HashMap<Arc<str>, BTreeMap<Arc<str>, TypeName>>,
    all: Vec<Entry>,
    /// Manifests whose kinds end with `ProviderConfig`: there are few, and every manifest searches
    /// them.
    providers: Vec<usize>,
}

impl Known {
    /// All possible configurations of a provider.
    fn providers(&self) -> impl Iterator<Item = &Entry> {
        self.providers.iter().filter_map(|index| self.all.get(*index))
    }
}

/// A manifest that others can refer to.
#[derive(Debug)]
struct Entry {
    key: Key,
    kind: ManifestKind,
    type_name: TypeName,
    namespace: Option<Arc<str>>,
    name: Arc<str>,
    labels: BTreeMap<Arc<str>, Arc<str>>,
}

/// Turns manifests into resources. `rules` holds the reference fields of each `ResourceType`.
pub(crate) fn compile(
    drafts: &[Draft],
    claims: &Claims,
    rules: &HashMap<TypeName, Rules>,
    convention: Convention<'_>,
) -> Compiled {
    let mut compiled = Compiled::default();
    let mut heads = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let mut reader = Reader::new(&draft.file, &draft.text, true);
        heads.extend(head::read(&mut reader, &draft.root).map(|head| (draft, head)));
        compiled.faults.append(&mut reader.faults);
    }
    let types = types::resolve(heads.iter().map(|(_, head)| head), claims, &mut compiled.faults);
    let mut known = Known::default();
    let mut first: HashMap<Key, Location> = HashMap::new();
    let mut typed = Vec::with_capacity(heads.len());
    for (draft, head) in heads {
        let Some(type_name) = types.get(&head.kind) else { continue };
        let key = Key::new(type_name, &purlin_model::Class::default_class(), &head.id);
        if let Some(before) = first.get(&key) {
            compiled.faults.push(twice(&head, before));
            continue;
        }
        first.insert(key.clone(), head.location.clone());
        known
            .kinds
            .entry(head.kind.kind.clone())
            .or_default()
            .insert(head.kind.group.clone(), type_name.clone());
        if head.kind.kind.ends_with("ProviderConfig") {
            known.providers.push(known.all.len());
        }
        known.all.push(Entry {
            key,
            kind: head.kind.clone(),
            type_name: type_name.clone(),
            namespace: head.namespace.clone(),
            name: head.name.clone(),
            labels: head.labels.clone(),
        });
        typed.push((draft, head, type_name));
    }
    let scope = Scope { known: &known, types: &types, claims, convention };
    for ((draft, head, type_name), entry) in typed.into_iter().zip(&known.all) {
        let mut reader = Reader::new(&draft.file, &draft.text, true);
        let rules = rules.get(type_name);
        let mut body = head::body(&mut reader, &draft.root, &head);
        let (depends_on, taken) = depends::read(&mut reader, &mut body, &head, rules, &scope);
        let (params, mut references) = params::compile(&mut reader, &body, &head, entry, rules, &scope);
        references.extend(taken);
        let options = life::read(&mut reader, &body, &head);
        compiled.lifecycle.extend(options.map(|options| ResourceLifecycle {
            key: entry.key.clone(),
            options,
            location: head.location.clone(),
        }));
        compiled.faults.append(&mut reader.faults);
        compiled.manifests.push(Manifest {
            api_version: head.api_version,
            kind: head.kind.kind,
            type_name: type_name.clone(),
            namespace: head.namespace,
            name: head.name,
            id: head.id,
            labels: head.labels,
            around: body.around(),
            under: body.under,
            params: Arc::new(params),
            references: references.into(),
            depends_on,
            location: head.location,
        });
    }
    compiled
}

/// The data for compiling a manifest.
struct Scope<'a> {
    known: &'a Known,
    types: &'a HashMap<ManifestKind, TypeName>,
    claims: &'a Claims,
    convention: Convention<'a>,
}

impl Scope<'_> {
    /// The type of a kind of manifest, whether or not there is such a manifest.
    fn type_of(&self, kind: &ManifestKind) -> Option<TypeName> {
        let known = self.types.get(kind).or_else(|| self.claims.get(kind));
        known.cloned().or_else(|| types::by_convention(kind))
    }
}

fn twice(head: &Head, first: &Location) -> Diagnostic {
    Diagnostic::error("duplicate-document", format!("the {} `{}` is given twice", head.kind.kind, head.id))
        .at(&head.location)
        .spanning(head.name.chars().count())
        .related(first, "first given here")
        .help("keep one of them, or give it another `metadata.name`")
}
