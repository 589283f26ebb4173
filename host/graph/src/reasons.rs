//! Why a resource is in the graph, and why there is an edge. Neither is stored: they are computed
//! from the documents, because only messages and people need them.

use std::fmt;
use std::sync::Arc;

use purlin_model::{Key, Location, Provision, Reference, TargetSelector};
use serde::Serialize;

use crate::docs::{Params, Scope, Source};
use crate::graph::Graph;
use crate::json::{as_text, as_text_or_null};
use crate::lifecycle;
use crate::nested_text;
use crate::node::{EdgeKind, NodeId};
use crate::targets::Target;

/// A place in the documents that causes an edge, and the placeholder there.
type Written = (Option<Location>, Option<Arc<str>>);

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
        let mut reasons = Vec::new();
        for kind in kinds.iter() {
            let mut written = match kind {
                EdgeKind::Dependency => self.written_dependencies(from, to),
                EdgeKind::Reference | EdgeKind::Selector | EdgeKind::Ref => self.written_as(kind, from, to),
                EdgeKind::CoProvision => {
                    let provisions = self.provisions(to, from).filter(|provision| provision.is_dependent);
                    provisions.map(|provision| (Some(provision.location.clone()), None)).collect()
                }
                EdgeKind::MatchDependents => {
                    let by = self.adjacency.dependencies(from).iter();
                    let provisions = by.flat_map(|by| self.provisions(*by, to));
                    let provisions = provisions.filter(|provision| provision.match_dependents);
                    provisions.map(|provision| (Some(provision.location.clone()), None)).collect()
                }
                EdgeKind::DependsOn => self.written_orders(from, to),
                EdgeKind::Requires => {
                    let docs = self.docs();
                    let required = docs.installation_of(&self.nodes, to).map(|one| &*one.required_by);
                    let required = required.unwrap_or_default().iter();
                    let required = required.filter(|(by, _)| self.nodes.requiring(by) == Some(from));
                    required.map(|(_, location)| (Some(location.clone()), None)).collect()
                }
            };
            if written.is_empty() {
                written.push((None, None));
            }
            // In a graph with a loop the nodes have no order.
            written.sort();
            let reason = |(location, placeholder)| EdgeReason { kind, location, placeholder };
            reasons.extend(written.into_iter().map(reason));
        }
        reasons
    }

    /// The provisions of `new` that a resource has.
    fn provisions(&self, by: NodeId, new: NodeId) -> impl Iterator<Item = &Provision> {
        let (docs, start) = (self.docs(), self.sources.partition_point(|(node, _)| *node < new));
        let of_new = self.sources.iter().skip(start).take_while(move |(node, _)| *node == new);
        of_new.filter_map(move |(_, source)| match source {
            Source::Provision { by: other, index } if *other == by => docs.provision(&self.nodes, by, *index),
            _ => None,
        })
    }

    /// The placeholders of this kind through which one resource reads another.
    fn written_as(&self, kind: EdgeKind, from: NodeId, to: NodeId) -> Vec<Written> {
        let read = self.placeholders_to(from, to).into_iter();
        let read = read.filter(|(_, _, read)| *read == kind);
        read.map(|(location, placeholder, _)| (Some(location), Some(placeholder))).collect()
    }

    /// Where a workload names a resource that it needs.
    fn written_dependencies(&self, from: NodeId, to: NodeId) -> Vec<Written> {
        // A resource that a workload reads by name is a dependency.
        let read = self.placeholders_to(from, to);
        if !read.is_empty() {
            return self.written_as(EdgeKind::Reference, from, to);
        }
        let (docs, start) = (self.docs(), self.sources.partition_point(|(node, _)| *node < to));
        let of_it = self.sources.iter().skip(start).take_while(|(node, _)| *node == to);
        let asks = of_it.filter(|(_, source)| match source {
            Source::Request { workload, .. } => {
                self.nodes.workloads.get(*workload as usize).is_some_and(|(own, _)| *own == from)
            }
            _ => false,
        });
        asks.map(|(_, source)| (docs.location(&self.nodes, *source).cloned(), None)).collect()
    }

    /// Where `depends_on` names a resource.
    fn written_orders(&self, from: NodeId, to: NodeId) -> Vec<Written> {
        let settings = self.lifecycle(from).into_iter().flat_map(lifecycle::named);
        let is_it = |descriptor| {
            let here = self.nodes.key(from).map(|here| Key::relative(descriptor, here));
            here.as_ref() == self.nodes.key(to)
        };
        let named: Vec<Written> = settings
            .filter(|(_, (descriptor, _))| is_it(descriptor))
            .map(|(_, (_, location))| (Some(location.clone()), None))
            .collect();
        if !named.is_empty() {
            return named;
        }
        let docs = self.docs();
        let manifest = self.nodes.get(from).and_then(|(_, data)| match data.params {
            Some(Source::Manifest(index)) => docs.manifest(index),
            _ => None,
        });
        let of_it = manifest.into_iter().flat_map(|manifest| &manifest.depends_on).filter(|dependency| {
            let named = match &dependency.target.which {
                TargetSelector::Named(name) => self.names(to, name),
                _ => true,
            };
            named && dependency.blocking
        });
        of_it.map(|dependency| (Some(dependency.location.clone()), None)).collect()
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
