//! The documents behind a graph, and the nodes found so far: the author and the scope of
//! everything.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use purlin_expression::did_you_mean;
use purlin_model::{
    Context, Deployment, Descriptor, DescriptorPart, Diagnostic, InstallationRequest, Key, Location,
    Manifest, Path, Placeholder, Provision, Recipe, RequiredBy, ResourceRequest, Template, Workload,
};

use crate::definition_index::{CriterionRow, DefinitionIndex};
use crate::node::NodeId;

/// The documents. Everything borrowed from them outlives changes to the nodes.
#[derive(Clone, Copy)]
pub(crate) struct Docs<'a> {
    pub(crate) context: &'a Context,
    pub(crate) definition_index: &'a DefinitionIndex,
    pub(crate) deployment: &'a Deployment,
}

/// The owner of placeholders: it decides the meaning of `@`, `params` and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// A recipe's, used by this node. Also for the `params` of the resources that it co-provisions.
    Recipe(NodeId),
    /// A workload's document.
    Workload(u32),
    /// The `params` of a shared resource.
    Shared(u32),
    /// The deployment's `values`.
    Values,
    /// A manifest's.
    Manifest(u32),
}

/// A document that declares a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// Purlin itself.
    Implicit,
    /// A workload, for its own node.
    Workload(u32),
    /// An entry of a workload's `resources`.
    Request { workload: u32, index: u32 },
    /// An entry of the deployment's `shared`.
    Shared(u32),
    /// A manifest.
    Manifest(u32),
    /// An installation, or the resource that requires it.
    Installation(u32),
    /// An entry of a recipe's `provision`, by the node that uses the recipe.
    Provision { by: NodeId, index: u32 },
}

/// The recipe of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// None: a fault was reported.
    Missing,
    /// The built-in echo.
    Echo,
    /// That of a definition, by this criterion.
    Definition(CriterionRow),
    /// That of the bundle of an installation.
    Bundle(u32),
}

/// The data of a node.
#[derive(Debug)]
pub(crate) struct NodeData {
    pub(crate) found: Match,
    /// The source of its params.
    pub(crate) params: Option<Source>,
    pub(crate) level: u32,
    pub(crate) implicit: bool,
    pub(crate) foundation: bool,
    pub(crate) shown: bool,
}

/// The nodes and the names that workloads use for them.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub(crate) map: IndexMap<Key, NodeData>,
    /// For each workload: its own node, and those that it declares by name.
    pub(crate) workloads: Vec<(NodeId, HashMap<Arc<str>, NodeId>)>,
    /// Those of the manifests, in the order of the deployment.
    pub(crate) manifests: Vec<NodeId>,
    /// Those of the installations, in the order of the deployment.
    pub(crate) installations: Vec<NodeId>,
    /// Other names of the installations, by key.
    pub(crate) aliases: HashMap<Key, NodeId>,
    /// Numbers of the shared resources sorted by name, created when a name is first needed.
    shared: OnceLock<Vec<u32>>,
}

impl Nodes {
    pub(crate) fn id(&self, key: &str) -> Option<NodeId> {
        self.map.get_index_of(key).map(|index| NodeId(index as u32))
    }

    /// The node that a document means by a key: the installation of the requirement with this name,
    /// although another one may have the name from an earlier run.
    pub(crate) fn meant(&self, key: &str) -> Option<NodeId> {
        self.aliases.get(key).copied().or_else(|| self.id(key))
    }

    pub(crate) fn get(&self, node: NodeId) -> Option<(&Key, &NodeData)> {
        self.map.get_index(node.index())
    }

    pub(crate) fn get_mut(&mut self, node: NodeId) -> Option<&mut NodeData> {
        self.map.get_index_mut(node.index()).map(|(_, data)| data)
    }

    pub(crate) fn key(&self, node: NodeId) -> Option<&Key> {
        self.get(node).map(|(key, _)| key)
    }

    /// The node that requires an installation.
    pub(crate) fn requiring(&self, by: &RequiredBy) -> Option<NodeId> {
        match by {
            RequiredBy::Installation(index) => self.installations.get(*index as usize).copied(),
            RequiredBy::Resource(key) => self.id(key.as_str()),
        }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.map.len() as u32).map(NodeId)
    }
}

/// Params as written in a document.
#[derive(Clone, Copy)]
pub(crate) enum Params<'a> {
    /// None were given: an empty map.
    None,
    /// A template and its scope.
    Given(&'a Template, Scope),
    /// Those of a workload's own node: its id, profile, metadata and spec.
    Workload(u32, &'a Workload),
}

impl<'a> Docs<'a> {
    pub(crate) fn workload(self, index: u32) -> Option<&'a Workload> {
        self.deployment.workloads.get(index as usize)
    }

    /// The manifest of a resource, if it was written as one.
    pub(crate) fn manifest_of(self, nodes: &Nodes, node: NodeId) -> Option<&'a Manifest> {
        match nodes.get(node)?.1.params? {
            Source::Manifest(index) => self.manifest(index),
            _ => None,
        }
    }

    pub(crate) fn manifest(self, index: u32) -> Option<&'a Manifest> {
        self.deployment.manifests.get(index as usize)
    }

    pub(crate) fn installation(self, index: u32) -> Option<&'a InstallationRequest> {
        self.deployment.installations.get(index as usize)
    }

    /// The installation of a resource, if it is one.
    pub(crate) fn installation_of(self, nodes: &Nodes, node: NodeId) -> Option<&'a InstallationRequest> {
        match nodes.get(node)?.1.found {
            Match::Bundle(index) => self.installation(index),
            _ => None,
        }
    }

    pub(crate) fn request(self, source: Source) -> Option<&'a ResourceRequest> {
        match source {
            Source::Request { workload, index } => self.workload(workload)?.resources.get(index as usize),
            Source::Shared(index) => self.deployment.shared.get(index as usize),
            _ => None,
        }
    }

    pub(crate) fn recipe_arc(self, nodes: &Nodes, node: NodeId) -> Option<&'a Arc<Recipe>> {
        match nodes.get(node)?.1.found {
            Match::Missing => None,
            Match::Echo => Some(self.definition_index.echo()),
            Match::Definition(row) => {
                let found = &self.definition_index.definition(row.definition)?.recipe;
                if found.requires.is_empty() {
                    return Some(found);
                }
                let filled = nodes.key(node).and_then(|key| self.deployment.requirer(key.as_str()));
                Some(filled.map_or(found, |filled| &filled.recipe))
            }
            Match::Bundle(index) => self.installation(index).map(|found| &found.recipe),
        }
    }

    pub(crate) fn recipe(self, nodes: &Nodes, node: NodeId) -> Option<&'a Recipe> {
        self.recipe_arc(nodes, node).map(|recipe| &**recipe)
    }

    pub(crate) fn provision(self, nodes: &Nodes, by: NodeId, index: u32) -> Option<&'a Provision> {
        self.recipe(nodes, by)?.provision.get(index as usize)
    }

    /// The params in a document, if it has any.
    pub(crate) fn params_of(self, nodes: &Nodes, source: Source) -> Params<'a> {
        let (template, scope) = match source {
            Source::Implicit => return Params::None,
            Source::Workload(index) => {
                return self
                    .workload(index)
                    .map_or(Params::None, |workload| Params::Workload(index, workload));
            }
            Source::Request { workload, .. } => {
                (self.request(source).and_then(|r| r.params.as_deref()), Scope::Workload(workload))
            }
            Source::Shared(index) => {
                (self.request(source).and_then(|r| r.params.as_deref()), Scope::Shared(index))
            }
            Source::Manifest(index) => {
                (self.manifest(index).map(|manifest| &*manifest.params), Scope::Manifest(index))
            }
            Source::Installation(index) => {
                let Some(found) = self.installation(index) else { return Params::None };
                let parent = found.required_by.first().and_then(|(by, _)| nodes.requiring(by));
                (Some(&*found.params), parent.map_or(Scope::Values, Scope::Recipe))
            }
            Source::Provision { by, index } => {
                (self.provision(nodes, by, index).and_then(|p| p.params.as_deref()), Scope::Recipe(by))
            }
        };
        template.map_or(Params::None, |template| Params::Given(template, scope))
    }

    /// The params of a node.
    pub(crate) fn params(self, nodes: &Nodes, node: NodeId) -> Params<'a> {
        match nodes.get(node).and_then(|(_, data)| data.params) {
            Some(source) => self.params_of(nodes, source),
            None => Params::None,
        }
    }

    /// Where a document declares a resource.
    pub(crate) fn location(self, nodes: &Nodes, source: Source) -> Option<&'a Location> {
        match source {
            Source::Implicit => None,
            Source::Workload(index) => self.workload(index).map(|workload| &workload.location),
            Source::Request { .. } | Source::Shared(_) => self.request(source).map(|r| &r.location),
            Source::Manifest(index) => self.manifest(index).map(|manifest| &manifest.location),
            Source::Installation(index) => self.installation(index).map(|found| &found.location),
            Source::Provision { by, index } => self.provision(nodes, by, index).map(|p| &p.location),
        }
    }

    /// The resource that `context.res` and `@` mean.
    pub(crate) fn here(self, nodes: &Nodes, scope: Scope) -> Option<NodeId> {
        match scope {
            Scope::Recipe(node) => Some(node),
            Scope::Workload(index) => nodes.workloads.get(index as usize).map(|(node, _)| *node),
            Scope::Shared(index) => {
                let key = self.deployment.shared.get(index as usize)?.shared_key().ok()?;
                nodes.id(key.as_str())
            }
            Scope::Manifest(index) => nodes.id(self.manifest(index)?.key().as_str()),
            Scope::Values => None,
        }
    }

    /// Writes the key that a descriptor means in a scope; returns the fault if it means none.
    pub(crate) fn write_key(
        self,
        nodes: &Nodes,
        scope: Scope,
        descriptor: &Descriptor,
        text: &mut String,
    ) -> Result<(), NoKey> {
        let here = match scope {
            Scope::Recipe(node) => nodes.key(node),
            Scope::Workload(_) | Scope::Shared(_) | Scope::Values | Scope::Manifest(_) => None,
        };
        text.clear();
        text.push_str(&descriptor.type_name);
        text.push('.');
        text.push_str(descriptor.class_in(here.map(Key::class)).ok_or(NoKey::Class)?);
        text.push('#');
        match (&descriptor.id, here) {
            (DescriptorPart::Named(id), _) => text.push_str(id),
            (_, Some(here)) => text.push_str(here.id()),
            (_, None) => return Err(NoKey::Id),
        }
        Ok(())
    }

    /// The node that a descriptor means in a scope, if it is there, and its key as `text`. The output
    /// of a requirement is read from the installation with this very key.
    pub(crate) fn resource(
        self,
        nodes: &Nodes,
        scope: Scope,
        descriptor: &Descriptor,
        of_requirement: bool,
        text: &mut String,
    ) -> Result<Option<NodeId>, NoKey> {
        self.write_key(nodes, scope, descriptor, text)?;
        Ok(if of_requirement { nodes.id(text) } else { nodes.meant(text) })
    }

    /// The node with this name in a workload.
    pub(crate) fn named(self, nodes: &Nodes, scope: Scope, name: &str) -> Option<NodeId> {
        let Scope::Workload(index) = scope else { return None };
        nodes.workloads.get(index as usize)?.1.get(name).copied()
    }

    /// The node of a shared resource, by its name.
    pub(crate) fn shared(self, nodes: &Nodes, name: &str) -> Option<NodeId> {
        let all = &self.deployment.shared;
        let name_of = |index: &u32| all.get(*index as usize).map_or("", |request| &*request.name);
        let sorted = nodes.shared.get_or_init(|| {
            let mut sorted: Vec<u32> = (0..all.len() as u32).collect();
            sorted.sort_by_key(name_of);
            sorted
        });
        let at = sorted.partition_point(|index| name_of(index) < name);
        let index = sorted.get(at).filter(|index| name_of(index) == name)?;
        let key = all.get(*index as usize)?.shared_key().ok()?;
        nodes.id(key.as_str())
    }
}

/// Why a descriptor names no resource here.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoKey {
    Class,
    Id,
}

impl NoKey {
    pub(crate) fn diagnose(self, descriptor: &Descriptor) -> Diagnostic {
        let (part, help) = match self {
            Self::Class => ("class", format!("write it out: `{}.default#…`", descriptor.type_name)),
            Self::Id => ("id", format!("write it out, such as `{}#shared.NAME`", descriptor.type_name)),
        };
        Diagnostic::error("missing-id", Descriptor::lacks(descriptor, part)).help(help)
    }
}

/// A diagnostic at a placeholder.
pub(crate) fn at(placeholder: &Placeholder, fault: Diagnostic) -> Diagnostic {
    fault.at(&placeholder.location).spanning(placeholder.source().chars().count())
}

/// The fault that a resource was not written as a manifest.
pub(crate) fn no_manifest(key: Option<&Key>) -> Diagnostic {
    let who = key.map_or_else(|| "the resource".to_owned(), |key| format!("`{key}`"));
    Diagnostic::error("no-manifest", format!("{who} was not written as a manifest"))
        .help("read `params`, or give a default as in `${manifest.kind ?? ''}`")
}

/// The fault that a manifest has nothing at a place.
pub(crate) fn not_in_manifest<'a>(
    key: Option<&Key>,
    path: &Path,
    names: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    let last = path.0.last().map_or("", |name| &**name);
    let who = key.map_or_else(|| "the manifest".to_owned(), |key| format!("the manifest of `{key}`"));
    let optional = format!("where only some manifests have it, write `${{manifest.{path}?}}`");
    let help = match did_you_mean(last, "fields", names) {
        near if near.is_empty() => optional,
        near => format!("{near}; {optional}"),
    };
    Diagnostic::error("unknown-manifest-field", format!("{who} has no `{path}`")).help(help)
}
