//! Reference fields of managed resources, and the other dependencies of manifests (SPEC §7 [X]).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use purlin_expression::nearest;
use purlin_model::{
    Class, Diagnostic, Key, Location, Manifest, Reference, ResourceId, Target as Meant, TargetSelector,
};

use super::Builder;
use super::analyse::may_be_absent;
use crate::node::{EdgeKind, NodeId};
use crate::targets::{Missing, Read, Target};

/// For how many missing targets a similar name is searched.
const NEAR: usize = 10;

/// Manifests by the keys of references.
struct Index<'a> {
    manifests: &'a [Manifest],
    by_name: HashMap<&'a str, Vec<u32>>,
    by_type: HashMap<&'a str, Vec<u32>>,
}

impl<'a> Index<'a> {
    fn new(manifests: &'a [Manifest]) -> Self {
        let (mut by_name, mut by_type) = (HashMap::new(), HashMap::new());
        for (number, manifest) in (0_u32..).zip(manifests) {
            by_name.entry(&*manifest.name).or_insert_with(Vec::new).push(number);
            by_type.entry(manifest.type_name.as_str()).or_insert_with(Vec::new).push(number);
        }
        Self { manifests, by_name, by_type }
    }

    /// The manifests of a target's type, if it has one.
    fn of_type(&self, meant: &Meant) -> impl Iterator<Item = u32> + use<> {
        match &meant.type_name {
            Some(name) => self.by_type.get(name.as_str()).cloned().unwrap_or_default(),
            None => (0..self.manifests.len() as u32).collect(),
        }
        .into_iter()
    }

    /// Those in the namespace of the target; if there are none, those without a namespace.
    fn within(&self, meant: &Meant, all: impl Iterator<Item = u32>) -> Vec<u32> {
        let namespace =
            |number: &u32| self.manifests.get(*number as usize).and_then(|m| m.namespace.as_ref());
        let all: Vec<u32> =
            all.filter(|n| namespace(n).is_none_or(|own| Some(own) == meant.namespace.as_ref())).collect();
        let (within, without): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|n| namespace(n).is_some());
        if within.is_empty() { without } else { within }
    }

    fn labelled(&self, meant: &Meant, labels: &BTreeMap<Arc<str>, Arc<str>>) -> Vec<u32> {
        let fits = |number: &u32| {
            let own = self.manifests.get(*number as usize).map(|manifest| &manifest.labels);
            own.is_some_and(|own| labels.iter().all(|(name, value)| own.get(name) == Some(value)))
        };
        self.within(meant, self.of_type(meant).filter(fits))
    }
}

impl<'a> Builder<'a> {
    /// Resolves the reference fields, and adds the edges to their targets.
    pub(super) fn resolve_fields(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        let manifests = &self.docs.deployment.manifests;
        if fields.is_empty() && manifests.iter().all(|manifest| manifest.depends_on.is_empty()) {
            return;
        }
        let index = Index::new(manifests);
        for (owner, scope, placeholder) in fields {
            let Reference::Field(field) = &placeholder.reference else { continue };
            let named = self.named_by(&index, owner, &field.target);
            let target = match (&*named, &field.target.which) {
                ([], _) => {
                    if !may_be_absent(placeholder) {
                        self.miss(
                            owner,
                            &field.target,
                            &placeholder.source().into(),
                            &placeholder.location,
                            true,
                        );
                    }
                    Target::Missing
                }
                (_, TargetSelector::AllLabelled(_)) => {
                    named.iter().for_each(|node| self.edge(owner, *node, EdgeKind::Ref));
                    self.targets.list(named.into())
                }
                ([node], _) => {
                    self.edge(owner, *node, EdgeKind::Ref);
                    Target::Node(*node)
                }
                (several, _) => {
                    let length = placeholder.source().chars().count();
                    let fault = self.ambiguous(&placeholder.source(), several);
                    self.faults.push(fault.at(&placeholder.location).spanning(length));
                    Target::Missing
                }
            };
            for node in self.nodes_of(target) {
                if let Some(Read::Outputs(path)) = Read::of(&placeholder.reference) {
                    self.output(node, path, placeholder);
                }
            }
            self.targets.set(placeholder, scope, target);
        }
        for (number, manifest) in (0_usize..).zip(manifests) {
            let Some(owner) = self.nodes.manifests.get(number).copied() else { continue };
            for dependency in &manifest.depends_on {
                let named = self.named_by(&index, owner, &dependency.target);
                let written = written(&dependency.target);
                match &*named {
                    [] if dependency.optional => {}
                    [] => {
                        let blocking = dependency.blocking;
                        self.miss(owner, &dependency.target, &written, &dependency.location, blocking);
                    }
                    [_, _, ..] if !matches!(dependency.target.which, TargetSelector::AllLabelled(_)) => {
                        let fault = self.ambiguous(&written, &named).at(&dependency.location);
                        self.faults.push(fault.help("add the `kind` of the one that is meant"));
                    }
                    all if dependency.blocking => {
                        all.iter().for_each(|node| self.edge(owner, *node, EdgeKind::DependsOn));
                    }
                    all => self.non_blocking_dependencies.extend(all.iter().map(|node| (owner, *node))),
                }
            }
        }
    }

    fn nodes_of(&self, target: Target) -> Vec<NodeId> {
        match target {
            Target::Node(node) => vec![node],
            target => self.targets.nodes(target).to_vec(),
        }
    }

    /// The target resources, sorted by key; labels never select the resource that refers.
    fn named_by(&self, index: &Index<'_>, owner: NodeId, meant: &Meant) -> Vec<NodeId> {
        let nodes = |numbers: Vec<u32>| -> Vec<NodeId> {
            numbers.iter().filter_map(|number| self.nodes.manifests.get(*number as usize).copied()).collect()
        };
        let mut named = match (&meant.which, &meant.type_name) {
            (TargetSelector::Named(name), Some(type_name)) => {
                let within = meant.namespace.as_ref().map(|namespace| format!("{namespace}/{name}"));
                let ids = within.into_iter().chain([name.to_string()]);
                let keys = ids.filter_map(|id| {
                    Some(Key::new(type_name, &Class::default_class(), &ResourceId::new(id).ok()?))
                });
                keys.filter_map(|key| self.nodes.id(key.as_str())).take(1).collect()
            }
            (TargetSelector::Named(name), None) => {
                let all = index.by_name.get(&**name).cloned().unwrap_or_default();
                nodes(index.within(meant, all.into_iter()))
            }
            (TargetSelector::Labelled(labels) | TargetSelector::AllLabelled(labels), _) => {
                let mut all = nodes(index.labelled(meant, labels));
                all.retain(|node| *node != owner);
                all
            }
        };
        named.sort_unstable_by(|a, b| self.nodes.key(*a).cmp(&self.nodes.key(*b)));
        named.dedup();
        named
    }

    /// Records that a target is not declared: it may come later (SPEC §7).
    fn miss(&mut self, from: NodeId, target: &Meant, field: &Arc<str>, location: &Location, blocking: bool) {
        let near = match &target.which {
            TargetSelector::Named(name) if self.missing.len() < NEAR => {
                let of_type = |key: &&Key| {
                    target.type_name.as_ref().is_none_or(|name| key.type_name() == name.as_str())
                };
                let mut ids: Vec<&str> = self.nodes.map.keys().filter(of_type).map(Key::id).collect();
                ids.sort_unstable();
                let near = nearest(name, ids).map(str::to_owned);
                near.and_then(|id| self.nodes.map.keys().filter(of_type).find(|key| key.id() == id).cloned())
            }
            _ => None,
        };
        let missing = Missing {
            from,
            target: target.clone(),
            field: field.clone(),
            location: location.clone(),
            near,
            blocking,
        };
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }

    fn ambiguous(&self, written: &str, named: &[NodeId]) -> Diagnostic {
        const SHOWN: usize = 10;
        let mut fault = Diagnostic::error(
            "ambiguous-reference",
            format!("`{written}` can mean any of {} resources", named.len()),
        );
        for node in named.iter().take(SHOWN) {
            let Some((key, data)) = self.nodes.get(*node) else { continue };
            let place = data.params.and_then(|source| self.docs.location(&self.nodes, source));
            fault = match place {
                Some(place) => fault.related(place, format!("`{key}`")),
                None => fault.fact(format!("`{key}`")),
            };
        }
        fault.help("describe the field in a ResourceType: `x-reference: {type: TYPE}`")
    }
}

/// An entry of `dependsOn` in the form of a reference field: `dependsOn: main`.
fn written(target: &Meant) -> Arc<str> {
    match &target.which {
        TargetSelector::Named(name) => format!("dependsOn: {name}").into(),
        TargetSelector::Labelled(_) | TargetSelector::AllLabelled(_) => "dependsOn".into(),
    }
}
