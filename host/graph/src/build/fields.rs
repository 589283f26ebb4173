//! Reference fields of managed resources, and the other dependencies of manifests (SPEC §7 [X]).

mod kinds;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use purlin_expression::nearest;
use purlin_model::{Class, Key, Location, Manifest, Reference, ResourceId, Target as Meant, TargetSelector};

use super::Builder;
use super::analyse::may_be_absent;
use crate::node::{EdgeKind, NodeId};
use crate::targets::{Missing, Target, TargetPart};
use kinds::{Fit, Hint};

/// For how many missing targets a similar name is searched.
const NEAR: usize = 10;

/// Manifests by the keys of references.
struct Index<'a> {
    manifests: &'a [Manifest],
    by_name: HashMap<&'a str, Vec<u32>>,
    by_type: HashMap<&'a str, Vec<u32>>,
    by_label: HashMap<(&'a str, &'a str), Vec<u32>>,
    /// The number of the manifest of a resource.
    numbers: HashMap<NodeId, u32>,
}

impl<'a> Index<'a> {
    fn new(manifests: &'a [Manifest], nodes: &[NodeId]) -> Self {
        let (mut by_name, mut by_type, mut by_label) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (number, manifest) in (0_u32..).zip(manifests) {
            by_name.entry(&*manifest.name).or_insert_with(Vec::new).push(number);
            by_type.entry(manifest.type_name.as_str()).or_insert_with(Vec::new).push(number);
            for (name, value) in &manifest.labels {
                by_label.entry((&**name, &**value)).or_insert_with(Vec::new).push(number);
            }
        }
        let numbers = nodes.iter().copied().zip(0..).collect();
        Self { manifests, by_name, by_type, by_label, numbers }
    }

    fn manifest(&self, number: u32) -> Option<&'a Manifest> {
        self.manifests.get(number as usize)
    }

    /// Those that a field can name: of its type, and in its namespace or, if it names none, in
    /// none. Without a type, the manifest that refers is never its own target (SPEC §7).
    fn reachable(&self, meant: &Meant, owner: NodeId, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let owner = self.numbers.get(&owner).copied();
        let by_labels = !matches!(meant.which, TargetSelector::Named(_));
        let fits = |number: &u32| {
            let Some(manifest) = self.manifest(*number) else { return false };
            let type_fits = meant.type_name.as_ref().is_none_or(|name| *name == manifest.type_name);
            let is_own = Some(*number) == owner && (by_labels || meant.type_name.is_none());
            let is_within = manifest.namespace == meant.namespace;
            type_fits && !is_own && (is_within || (!meant.in_namespace && manifest.namespace.is_none()))
        };
        numbers.filter(fits).collect()
    }

    /// All that a target can mean.
    fn find(&self, meant: &Meant, owner: NodeId) -> Vec<u32> {
        let found = match &meant.which {
            TargetSelector::Named(name) => self.named(name),
            TargetSelector::Labelled(labels) | TargetSelector::AllLabelled(labels) => {
                self.labelled(meant, labels)
            }
        };
        let found = self.reachable(meant, owner, found.into_iter());
        let found = self.of_named_kind(meant, found);
        let (within, without): (Vec<u32>, Vec<u32>) = found
            .into_iter()
            .partition(|number| self.manifest(*number).is_some_and(|m| m.namespace.is_some()));
        if within.is_empty() { without } else { within }
    }

    fn named(&self, name: &str) -> Vec<u32> {
        self.by_name.get(name).cloned().unwrap_or_default()
    }

    fn labelled(&self, meant: &Meant, labels: &BTreeMap<Arc<str>, Arc<str>>) -> Vec<u32> {
        let fits = |number: &u32| {
            let own = self.manifest(*number).map(|manifest| &manifest.labels);
            own.is_some_and(|own| labels.iter().all(|(name, value)| own.get(name) == Some(value)))
        };
        let with = labels.iter().map(|(name, value)| self.by_label.get(&(&**name, &**value)));
        let rarest = match with.min_by_key(|found| found.map_or(0, Vec::len)) {
            Some(rarest) => rarest,
            None => meant.type_name.as_ref().and_then(|name| self.by_type.get(name.as_str())),
        };
        rarest.into_iter().flatten().copied().filter(fits).collect()
    }

    /// Those whose kind the field names best; all if it names none of their kinds.
    fn of_named_kind(&self, meant: &Meant, found: Vec<u32>) -> Vec<u32> {
        let (Some(stem), 2..) = (&meant.hint, found.len()) else { return found };
        let hint = Hint::new(stem);
        let is_list = matches!(meant.which, TargetSelector::AllLabelled(_));
        // A list may have targets of several kinds.
        let fit = |number: u32| {
            self.fit(&hint, number).map(|(words, part)| (words, if is_list { 0 } else { part }))
        };
        let fits: Vec<Option<Fit>> = found.iter().map(|number| fit(*number)).collect();
        let Some(best) = fits.iter().flatten().max().copied() else { return found };
        let best = found.into_iter().zip(fits).filter(|(_, fit)| *fit == Some(best));
        best.map(|(number, _)| number).collect()
    }

    fn fit(&self, hint: &Hint, number: u32) -> Option<Fit> {
        let manifest = self.manifest(number)?;
        let group = manifest.api_version.split_once('/').map_or("", |(group, _)| group);
        hint.fit(group, &manifest.kind)
    }

    /// What the author of a name that leads nowhere may have meant: never the manifest that refers,
    /// and no other kind than the field asks for.
    fn near(&self, meant: &Meant, owner: NodeId) -> Near {
        let TargetSelector::Named(name) = &meant.which else { return Near::None };
        let hint = meant.hint.as_deref().map(Hint::new).filter(|_| meant.type_name.is_none());
        let own = self.numbers.get(&owner).copied();
        let of_kind = |number: &u32| {
            Some(*number) != own && hint.as_ref().is_none_or(|hint| self.fit(hint, *number).is_some())
        };
        // The same name elsewhere is nearer than another name.
        let anywhere = |number: u32| {
            let namespace = self.manifest(number)?.namespace.clone();
            let meant = Meant { namespace, in_namespace: true, ..meant.clone() };
            self.reachable(&meant, owner, std::iter::once(number)).pop().filter(of_kind)
        };
        let elsewhere: Vec<u32> = self.named(name).into_iter().filter_map(anywhere).collect();
        if let [one] = *elsewhere {
            return Near::Elsewhere(one);
        }
        let of_type: Vec<u32> = match &meant.type_name {
            Some(type_name) => self.by_type.get(type_name.as_str()).cloned().unwrap_or_default(),
            None => (0..self.manifests.len() as u32).collect(),
        };
        let mut numbers: Vec<u32> = self.reachable(meant, owner, of_type.into_iter());
        numbers.retain(of_kind);
        let mut names: Vec<(&str, u32)> =
            numbers.iter().filter_map(|number| Some((&*self.manifest(*number)?.name, *number))).collect();
        names.sort_unstable();
        let near = nearest(name, names.iter().map(|(name, _)| *name));
        near.and_then(|near| names.iter().find(|(name, _)| *name == near))
            .map_or(Near::None, |(_, number)| Near::Named(*number))
    }
}

/// A manifest like the one that a field names.
#[derive(Clone, Copy)]
enum Near {
    None,
    /// With a similar name.
    Named(u32),
    /// With the same name in another namespace.
    Elsewhere(u32),
}

impl<'a> Builder<'a> {
    /// Resolves the reference fields, and adds the edges to their targets.
    pub(super) fn resolve_fields(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        let manifests = &self.docs.deployment.manifests;
        if fields.is_empty() && manifests.iter().all(|manifest| manifest.depends_on.is_empty()) {
            return;
        }
        let index = Index::new(manifests, &self.nodes.manifests);
        for (owner, scope, placeholder) in fields {
            let Reference::Field(field) = &placeholder.reference else { continue };
            let named = self.named_by(&index, owner, &field.target);
            let target = match (&*named, &field.target.which) {
                ([], _) => {
                    if !may_be_absent(placeholder) {
                        let written = placeholder.source().into();
                        self.miss(&index, owner, &field.target, &written, &placeholder.location, true);
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
                    let written = placeholder.source().into();
                    self.ambiguous(several, owner, &field.target, (&written, &placeholder.location), true);
                    Target::Missing
                }
            };
            for node in self.nodes_of(target) {
                if let Some(TargetPart::Outputs(path)) = TargetPart::of(&placeholder.reference) {
                    self.output(node, path, placeholder);
                }
            }
            self.targets.set(&placeholder.reference, scope, target);
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
                        self.miss(
                            &index,
                            owner,
                            &dependency.target,
                            &written,
                            &dependency.location,
                            blocking,
                        );
                    }
                    [_, _, ..] if !matches!(dependency.target.which, TargetSelector::AllLabelled(_)) => {
                        let place = (&written, &dependency.location);
                        self.ambiguous(&named, owner, &dependency.target, place, dependency.blocking);
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

    /// The target resources, sorted by key.
    fn named_by(&self, index: &Index<'_>, owner: NodeId, meant: &Meant) -> Vec<NodeId> {
        let mut named: Vec<NodeId> = match (&meant.which, &meant.type_name) {
            // A description names the resource itself, whether or not a manifest declares it.
            (TargetSelector::Named(name), Some(type_name)) => {
                let within = meant.namespace.as_ref().map(|namespace| format!("{namespace}/{name}"));
                let without = (!meant.in_namespace || within.is_none()).then(|| name.to_string());
                let ids = within.into_iter().chain(without);
                let keys = ids.filter_map(|id| {
                    Some(Key::new(type_name, &Class::default_class(), &ResourceId::new(id).ok()?))
                });
                keys.filter_map(|key| self.nodes.id(key.as_str())).take(1).collect()
            }
            _ => {
                let found = index.find(meant, owner).into_iter();
                found.filter_map(|number| self.nodes.manifests.get(number as usize).copied()).collect()
            }
        };
        named.sort_unstable_by(|a, b| self.nodes.key(*a).cmp(&self.nodes.key(*b)));
        named.dedup();
        named
    }

    /// Records that a target is not declared: it may come later (SPEC §7).
    fn miss(
        &mut self,
        index: &Index<'_>,
        from: NodeId,
        target: &Meant,
        field: &Arc<str>,
        location: &Location,
        blocking: bool,
    ) {
        let near = if self.missing.len() < NEAR { index.near(target, from) } else { Near::None };
        let key = |number| index.manifest(number).map(Manifest::key);
        let (near, elsewhere) = match near {
            Near::None => (None, None),
            Near::Named(number) => (key(number), None),
            Near::Elsewhere(number) => (None, key(number)),
        };
        self.missing.push(Missing {
            from,
            target: target.clone(),
            field: field.clone(),
            location: location.clone(),
            near,
            elsewhere,
            candidates: Box::default(),
            blocking,
        });
    }

    /// Records that several resources can be meant: which one is decided by another document, or by a
    /// correction of this one.
    fn ambiguous(
        &mut self,
        several: &[NodeId],
        from: NodeId,
        target: &Meant,
        (field, location): (&Arc<str>, &Location),
        blocking: bool,
    ) {
        let candidates = several.iter().filter_map(|node| {
            let (key, data) = self.nodes.get(*node)?;
            let place = data.params.and_then(|source| self.docs.location(&self.nodes, source));
            Some((key.clone(), place.cloned()))
        });
        let missing = Missing {
            from,
            target: target.clone(),
            field: field.clone(),
            location: location.clone(),
            near: None,
            elsewhere: None,
            candidates: candidates.collect(),
            blocking,
        };
        self.missing.push(missing);
    }
}

/// A dependency in the form of a reference field: `depends-on: main`.
fn written(target: &Meant) -> Arc<str> {
    match &target.which {
        TargetSelector::Named(name) => format!("depends-on: {name}").into(),
        TargetSelector::Labelled(_) | TargetSelector::AllLabelled(_) => "depends-on".into(),
    }
}
