//! The graph: every resource, its dependencies with their reasons, and the order.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use petgraph::algo::toposort;
use petgraph::algo::tred::{dag_to_toposorted_adjacency_list, dag_transitive_reduction_closure};
use petgraph::graph::{DiGraph, NodeIndex};
use purlin_model::{
    Context, Criterion, Definition, Deployment, Diagnostic, InstallationRequest, Key, Lifecycle, Location,
    Recipe, Urn,
};

use crate::adjacency::Adjacency;
use crate::build::FOUNDATION;
use crate::definition_index::DefinitionIndex;
use crate::docs::{Docs, Match, Nodes, Source};
use crate::lifecycle::NodeLifecycles;
use crate::node::{EdgeKinds, NodeId};
use crate::targets::{Missing, Targets};

/// The resources of the largest graph that is reduced: the cost grows with their square.
pub const MOST_REDUCED: usize = 10_000;

/// A graph without a fault: every resource has a recipe, and there is no loop.
#[derive(Debug)]
pub struct Graph {
    pub(crate) context: Arc<Context>,
    pub(crate) definition_index: Arc<DefinitionIndex>,
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) nodes: Nodes,
    /// Sorted.
    pub(crate) sources: Vec<(NodeId, Source)>,
    pub(crate) lifecycles: NodeLifecycles,
    pub(crate) adjacency: Adjacency,
    pub(crate) targets: Targets,
    pub(crate) missing: Vec<Missing>,
    pub(crate) warnings: Vec<(Key, Diagnostic)>,
    /// The params that developers give resources and that no placeholder reads, by resource.
    pub(crate) params_not_named: Vec<(NodeId, Box<[Arc<str>]>)>,
    pub(crate) non_blocking_dependencies: Vec<(NodeId, NodeId)>,
    pub(crate) levels: Vec<Vec<NodeId>>,
    pub(crate) secret_params: Option<Arc<dyn crate::SecretParams>>,
    pub(crate) read: crate::evaluate::ReadByAll,
}

/// A resource in the graph.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// Its number.
    pub id: NodeId,
    /// Its key.
    pub key: &'a Key,
    /// How it is provisioned.
    pub recipe: &'a Arc<Recipe>,
    /// Its lifecycle settings: those of its definition, overridden by those of the deployment. Use
    /// these and not the recipe's own.
    pub lifecycle: &'a Lifecycle,
    /// The definition of the recipe; none for the built-in echo.
    pub definition: Option<&'a Definition>,
    /// The criterion by which the definition matched.
    pub criterion: Option<&'a Criterion>,
    /// Its installation, if it is one.
    pub installation: Option<&'a InstallationRequest>,
    /// Purlin itself added it.
    pub implicit: bool,
    /// It is provisioned before everything that is not foundation.
    pub foundation: bool,
    /// It is shown without `--all`.
    pub shown: bool,
    /// Its place in [`Graph::levels`].
    pub level: usize,
}

impl<'a> Node<'a> {
    /// Where the id of the object that it adopts or observes was written, or else its recipe.
    pub fn id_location(&self) -> &'a Location {
        self.lifecycle.id_location.as_ref().unwrap_or(&self.recipe.location)
    }
}

/// An edge: `from` depends on `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The dependent.
    pub from: NodeId,
    /// The dependency.
    pub to: NodeId,
    /// Why.
    pub kinds: EdgeKinds,
}

impl Graph {
    /// The resources that Purlin adds and no definition matches. For one that a definition made before,
    /// [`Input::recorded`](crate::Input::recorded) makes that an error.
    pub fn implicit_unmatched(&self) -> impl Iterator<Item = Cow<'_, Key>> {
        let is_unmatched = |node: &Node<'_>| node.implicit && node.definition.is_none();
        let echoes = self.nodes().filter(is_unmatched).map(|node| Cow::Borrowed(node.key));
        let absent = FOUNDATION.iter().filter(|name| self.nodes.id(name).is_none());
        echoes.chain(absent.filter_map(|name| Key::parse(name).ok().map(Cow::Owned)))
    }

    pub(crate) fn docs(&self) -> Docs<'_> {
        Docs {
            context: &self.context,
            definition_index: &self.definition_index,
            deployment: &self.deployment,
        }
    }

    /// Where it is deployed.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The keys of the workloads and of the resources that the documents declare. The others follow
    /// from them.
    pub fn declared(&self) -> Vec<Key> {
        self.deployment.keys()
    }

    /// How many resources there are.
    pub fn len(&self) -> usize {
        self.nodes.map.len()
    }

    /// Whether there is no resource; never so in a valid graph.
    pub fn is_empty(&self) -> bool {
        self.nodes.map.is_empty()
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.adjacency.len()
    }

    /// The resource with this key.
    pub fn find(&self, key: &str) -> Option<NodeId> {
        self.nodes.id(key)
    }

    /// The installation that documents mean by this key, although another one, or none, has it as
    /// its own: that of a requirement which shares one with others.
    pub fn find_alias(&self, key: &str) -> Option<NodeId> {
        self.nodes.aliases.get(key).copied()
    }

    /// A resource; none for a number from another, larger graph.
    pub fn node(&self, id: NodeId) -> Option<Node<'_>> {
        let (key, data) = self.nodes.get(id)?;
        let row = match data.found {
            Match::Definition(row) => self.definition_index.row(row),
            Match::Echo | Match::Missing | Match::Bundle(_) => None,
        };
        Some(Node {
            id,
            key,
            recipe: self.docs().recipe_arc(&self.nodes, id)?,
            lifecycle: self.lifecycle(id)?,
            definition: row.map(|(definition, _)| definition),
            criterion: row.map(|(_, criterion)| criterion),
            installation: self.docs().installation_of(&self.nodes, id),
            implicit: data.implicit,
            foundation: data.foundation,
            shown: data.shown,
            level: data.level as usize,
        })
    }

    /// The key of a resource.
    pub fn key(&self, id: NodeId) -> Option<&Key> {
        self.nodes.key(id)
    }

    /// The URN of a resource.
    pub fn urn(&self, id: NodeId) -> Option<Urn> {
        Some(Urn::new(&self.context, self.nodes.key(id)?))
    }

    /// All resources, in the order in which they were found.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.nodes.ids().filter_map(|id| self.node(id))
    }

    /// All edges, by number of the dependent, then of the dependency.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.nodes.ids().flat_map(|from| self.dependency_edges(from))
    }

    /// The edges that a longer path implies, too: a picture without them has the same meaning. None
    /// for a graph of more than [`MOST_REDUCED`] resources.
    pub fn implied_edges(&self) -> Option<HashSet<(NodeId, NodeId)>> {
        if self.len() > MOST_REDUCED {
            return None;
        }
        let mut graph = DiGraph::<(), ()>::with_capacity(self.len(), 0);
        let nodes: Vec<NodeIndex> = self.nodes.ids().map(|_| graph.add_node(())).collect();
        let node = |id: NodeId| nodes.get(id.index()).copied().unwrap_or_default();
        for edge in self.edges() {
            graph.add_edge(node(edge.from), node(edge.to), ());
        }
        // A valid graph has no loop.
        let sorted = toposort(&graph, None).ok()?;
        let (list, places) = dag_to_toposorted_adjacency_list::<_, u32>(&graph, &sorted);
        let (reduced, _) = dag_transitive_reduction_closure(&list);
        let place = |id: NodeId| places.get(id.index()).copied().unwrap_or_default();
        let is_implied = |edge: &Edge| !reduced.contains_edge(place(edge.from), place(edge.to));
        Some(self.edges().filter(is_implied).map(|edge| (edge.from, edge.to)).collect())
    }

    /// The dependencies of a resource.
    pub fn dependencies(&self, id: NodeId) -> &[NodeId] {
        self.adjacency.dependencies(id)
    }

    /// The dependents of a resource.
    pub fn dependents(&self, id: NodeId) -> &[NodeId] {
        self.adjacency.dependents(id)
    }

    /// The edges from a resource to its dependencies.
    pub fn dependency_edges(&self, from: NodeId) -> impl Iterator<Item = Edge> + '_ {
        let kinds = self.adjacency.kinds(from);
        self.adjacency.dependencies(from).iter().zip(kinds).map(move |(to, kinds)| Edge {
            from,
            to: *to,
            kinds: *kinds,
        })
    }

    /// The order of provisioning: a resource depends only on those of earlier levels. The
    /// foundation's levels come first; each level is sorted by key.
    pub fn levels(&self) -> &[Vec<NodeId>] {
        &self.levels
    }

    /// The same, one after the other.
    pub fn order(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.levels.iter().flatten().copied()
    }

    /// The targets of reference fields that no document declares, by place. A resource that refers
    /// to one cannot be provisioned yet, nor can its dependents (SPEC §7).
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Remarks about what the documents most likely do not mean, each with the resource that it
    /// is about.
    pub fn warnings(&self) -> &[(Key, Diagnostic)] {
        &self.warnings
    }

    /// Non-blocking dependencies: each a resource and another that must be ready before the first
    /// is ready. They imply no order (SPEC §7).
    pub fn non_blocking_dependencies(&self) -> &[(NodeId, NodeId)] {
        &self.non_blocking_dependencies
    }
}
