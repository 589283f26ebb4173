//! Why a resource is in the graph, and why there is an edge. Neither is stored: they are computed
//! from the documents, because only messages and people need them.

use std::fmt;
use std::sync::Arc;

use purlin_model::{Key, Location, Reference, TargetSelector};
use serde::Serialize;

use crate::docs::{Params, Scope, Source};
use crate::graph::Graph;
use crate::json::{as_text, as_text_or_null};
use crate::lifecycle;
use crate::nested_text;
use crate::node::{EdgeKind, NodeId};
use crate::targets::Target;

/// Why a resource is in the graph.
///
/// It serialises in the published, versioned form: `origin` of `graph` in
/// `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// Purlin adds it to every deployment, or for a workload.
    Implicit,
    /// A developer declared it.
    Declared {
        /// The workload, none for the deployment's shared resources.
        workload: Option<Arc<str>>,
        /// Where.
        #[serde(rename = "at", serialize_with = "as_text")]
        location: Location,
    },
    /// A manifest declares it.
    Manifest {
        /// Where.
        #[serde(rename = "at", serialize_with = "as_text")]
        location: Location,
    },
    /// The installation was requested.
    Installed {
        /// Where.
        #[serde(rename = "at", serialize_with = "as_text")]
        location: Location,
    },
    /// A bundle requires it.
    Required {
        /// The installation of that bundle.
        by: Key,
        /// Where.
        #[serde(rename = "at", serialize_with = "as_text")]
        location: Location,
    },
    /// A recipe co-provisions it.
    CoProvision {
        /// The resource that uses the recipe.
        by: Key,
        /// Where.
        #[serde(rename = "at", serialize_with = "as_text")]
        location: Location,
    },
    /// A placeholder refers to it.
    Reference {
        /// The resource that reads it.
        from: Key,
        /// The placeholder as written.
        placeholder: Arc<str>,
        /// Where.
        #[serde(rename = "at", serialize_with = "as_text")]
        location: Location,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Implicit => f.write_str("always there (implicit)"),
            Self::Declared { workload: Some(workload), location } => {
                write!(f, "declared by workload `{workload}` at {location}")
            }
            Self::Declared { workload: None, location } => {
                write!(f, "a shared resource of the deployment, at {location}")
            }
            Self::Manifest { location } => write!(f, "a manifest at {location}"),
            Self::Installed { location } => write!(f, "an installation, requested at {location}"),
            Self::Required { by, location } => write!(f, "required by {by} at {location}"),
            Self::CoProvision { by, location } => write!(f, "co-provisioned by {by} at {location}"),
            Self::Reference { from, placeholder, location } => {
                write!(f, "{from} reads `{placeholder}` at {location}")
            }
        }
    }
}

/// One reason for an edge.
///
/// It serialises in the published, versioned form: `reasons` of a dependency of `explain` in
/// `docs/src/reference/json.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeReason {
    /// Its kind.
    pub kind: EdgeKind,
    /// The placeholder as written, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<Arc<str>>,
    /// Where it was written, if it was.
    #[serde(rename = "at", skip_serializing_if = "Option::is_none", serialize_with = "as_text_or_null")]
    pub location: Option<Location>,
}

impl Graph {
    /// Why a resource is in the graph: its declarations and its co-provisioners; if there are none,
    /// the placeholders that refer to it.
    pub fn origins(&self, id: NodeId) -> Vec<Origin> {
        let docs = self.docs();
        let mut origins = Vec::new();
        let from = self.sources.partition_point(|(node, _)| *node < id);
        for (_, source) in self.sources.iter().skip(from).take_while(|(node, _)| *node == id) {
            let location = docs.location(&self.nodes, *source).cloned().unwrap_or_default();
            let origin = match *source {
                Source::Implicit | Source::Workload(_) => Origin::Implicit,
                Source::Shared(_) => Origin::Declared { workload: None, location },
                Source::Manifest(_) => Origin::Manifest { location },
                Source::Installation(index) => {
                    let by = docs.installation(index).map(|one| &*one.required_by).unwrap_or_default();
                    let required = by.iter().filter_map(|(by, location)| {
                        let by = self.nodes.key(self.nodes.requiring(by)?)?.clone();
                        Some(Origin::Required { by, location: location.clone() })
                    });
                    origins.extend(required);
                    if by.is_empty() {
                        origins.push(Origin::Installed { location });
                    }
                    continue;
                }
                Source::Request { workload, .. } => {
                    Origin::Declared { workload: docs.workload(workload).map(|w| w.name.clone()), location }
                }
                Source::Provision { by, .. } => match self.nodes.key(by) {
                    Some(by) => Origin::CoProvision { by: by.clone(), location },
                    None => continue,
                },
            };
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        if !origins.is_empty() {
            return origins;
        }
        let mut dependents: Vec<&Key> =
            self.dependents(id).iter().filter_map(|from| self.nodes.key(*from)).collect();
        dependents.sort_unstable();
        for key in dependents {
            let Some(from) = self.nodes.id(key.as_str()) else { continue };
            for reason in self.reasons(from, id) {
                if let (
                    EdgeKind::Reference | EdgeKind::Dependency | EdgeKind::Ref,
                    Some(location),
                    Some(placeholder),
                ) = (reason.kind, reason.location, reason.placeholder)
                {
                    origins.push(Origin::Reference { from: key.clone(), placeholder, location });
                }
            }
        }
        origins
    }

    /// Why `from` depends on `to`, in the order of the kinds and then of the places; empty if it
    /// does not.
    pub fn reasons(&self, from: NodeId, to: NodeId) -> Vec<EdgeReason> {
        let Some(at) = self.adjacency.dependencies(from).iter().position(|node| *node == to) else {
            return Vec::new();
        };
        let Some(kinds) = self.adjacency.kinds(from).get(at) else { return Vec::new() };
        let docs = self.docs();
        let read = self.placeholders_to(from, to);
        let provisions = |by: NodeId, new: NodeId| {
            let start = self.sources.partition_point(|(node, _)| *node < new);
            self.sources.iter().skip(start).take_while(move |(node, _)| *node == new).filter_map(
                move |(_, source)| match source {
                    Source::Provision { by: other, index } if *other == by => {
                        docs.provision(&self.nodes, by, *index)
                    }
                    _ => None,
                },
            )
        };
        let mut reasons = Vec::new();
        for kind in kinds.iter() {
            let before = reasons.len();
            let mut add = |location: Option<Location>, placeholder: Option<Arc<str>>| {
                reasons.push(EdgeReason { kind, location, placeholder });
            };
            match kind {
                EdgeKind::Dependency | EdgeKind::Reference | EdgeKind::Selector | EdgeKind::Ref => {
                    // A resource that a workload reads by name is a dependency.
                    let written = if kind == EdgeKind::Dependency { EdgeKind::Reference } else { kind };
                    for (location, placeholder, read) in &read {
                        if *read == written {
                            add(Some(location.clone()), Some(placeholder.clone()));
                        }
                    }
                    if kind == EdgeKind::Dependency && read.is_empty() {
                        let start = self.sources.partition_point(|(node, _)| *node < to);
                        for (_, source) in self.sources.iter().skip(start).take_while(|(node, _)| *node == to)
                        {
                            if let Source::Request { workload, .. } = source
                                && self
                                    .nodes
                                    .workloads
                                    .get(*workload as usize)
                                    .is_some_and(|(own, _)| *own == from)
                            {
                                add(docs.location(&self.nodes, *source).cloned(), None);
                            }
                        }
                    }
                }
                EdgeKind::CoProvision => {
                    for provision in provisions(to, from).filter(|provision| provision.is_dependent) {
                        add(Some(provision.location.clone()), None);
                    }
                }
                EdgeKind::MatchDependents => {
                    for by in self.adjacency.dependencies(from) {
                        for provision in provisions(*by, to).filter(|provision| provision.match_dependents) {
                            add(Some(provision.location.clone()), None);
                        }
                    }
                }
                EdgeKind::DependsOn => {
                    let settings = self.lifecycle(from).into_iter().flat_map(lifecycle::named);
                    for (_, (descriptor, location)) in settings {
                        let here = self.nodes.key(from).map(|here| Key::relative(descriptor, here));
                        if here.as_ref() == self.nodes.key(to) {
                            add(Some(location.clone()), None);
                        }
                    }
                    if reasons.len() == before {
                        let manifest = self.nodes.get(from).and_then(|(_, data)| match data.params {
                            Some(Source::Manifest(index)) => docs.manifest(index),
                            _ => None,
                        });
                        for dependency in manifest.into_iter().flat_map(|m| &m.depends_on) {
                            let named = match &dependency.target.which {
                                TargetSelector::Named(name) => self.names(to, name),
                                _ => true,
                            };
                            if named && dependency.blocking {
                                let location = Some(dependency.location.clone());
                                reasons.push(EdgeReason { kind, location, placeholder: None });
                            }
                        }
                    }
                }
                EdgeKind::Requires => {
                    let required = docs.installation_of(&self.nodes, to).map(|one| &*one.required_by);
                    for (by, location) in required.unwrap_or_default() {
                        if self.nodes.requiring(by) == Some(from) {
                            add(Some(location.clone()), None);
                        }
                    }
                }
            }
            if reasons.len() == before {
                reasons.push(EdgeReason { kind, location: None, placeholder: None });
            }
            // In a graph with a loop the nodes have no order.
            if let Some(same) = reasons.get_mut(before..) {
                same.sort_by(|a, b| (&a.location, &a.placeholder).cmp(&(&b.location, &b.placeholder)));
            }
        }
        reasons
    }

    /// Whether this is the name of a manifest's resource.
    fn names(&self, node: NodeId, name: &str) -> bool {
        let id = self.nodes.key(node).map_or("", Key::id);
        id == name || id.rsplit_once('/').is_some_and(|(_, own)| own == name)
    }

    /// The placeholders through which one resource reads another, each with the kind of its edge.
    fn placeholders_to(&self, from: NodeId, to: NodeId) -> Vec<(Location, Arc<str>, EdgeKind)> {
        let docs = self.docs();
        let mut roots = Vec::new();
        match docs.params(&self.nodes, from) {
            Params::None => {}
            Params::Given(template, scope) => roots.push((template, scope)),
            Params::Workload(index, workload) => {
                roots.extend([&workload.metadata, &workload.spec].map(|t| (t, Scope::Workload(index))));
            }
        }
        if let Some(recipe) = docs.recipe(&self.nodes, from) {
            roots.extend(recipe.templates().map(|template| (template, Scope::Recipe(from))));
        }
        let mut read = Vec::new();
        nested_text::visit(docs, &self.nodes, roots, &mut |placeholder, scope| {
            let named = match self.target(placeholder, scope) {
                Some(Target::Node(node)) => node == to,
                Some(target) => from != to && self.targets.nodes(target).contains(&to),
                None => false,
            };
            let kind = match placeholder.reference {
                Reference::Selected(..) => EdgeKind::Selector,
                Reference::Field(_) => EdgeKind::Ref,
                _ => EdgeKind::Reference,
            };
            if named {
                read.push((placeholder.location.clone(), Arc::from(&*placeholder.source()), kind));
            }
        });
        read.sort();
        read.dedup();
        read
    }
}
