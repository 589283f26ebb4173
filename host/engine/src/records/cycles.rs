//! Dependencies between URNs, and the cycles in them, found with petgraph.

use std::collections::HashMap;
use std::sync::OnceLock;

use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use purlin_graph::Graph;
use purlin_model::{Context, Urn};
use purlin_state::Record;

use crate::records::recorded::Recorded;

/// The dependencies between resources.
#[derive(Default)]
pub(crate) struct Dependence {
    graph: DiGraph<Urn, ()>,
    nodes: HashMap<Urn, NodeIndex>,
}

impl Dependence {
    /// The dependencies in the records.
    pub(crate) fn recorded<'a>(records: impl Iterator<Item = &'a Record>) -> Self {
        let mut all = Self::default();
        for record in records {
            let from = all.node(&record.urn);
            for dependency in &record.dependencies {
                let to = all.node(dependency);
                all.graph.add_edge(from, to, ());
            }
        }
        all
    }

    /// Adds the dependencies that a graph has for some of its resources.
    pub(crate) fn and_wanted(mut self, graph: &Graph, context: &Context, of: impl Fn(&Urn) -> bool) -> Self {
        let wanted = graph.nodes().map(|node| (node.id, Urn::new(context, node.key)));
        for (id, urn) in wanted.filter(|(_, urn)| of(urn)) {
            let from = self.node(&urn);
            for key in graph.dependencies(id).iter().filter_map(|id| graph.key(*id)) {
                let to = self.node(&Urn::new(context, key));
                self.graph.add_edge(from, to, ());
            }
        }
        self
    }

    fn node(&mut self, urn: &Urn) -> NodeIndex {
        if let Some(node) = self.nodes.get(urn) {
            return *node;
        }
        let node = self.graph.add_node(urn.clone());
        self.nodes.insert(urn.clone(), node);
        node
    }

    /// The first resource that depends on itself, directly or indirectly.
    pub(crate) fn looped(&self) -> Option<&Urn> {
        toposort(&self.graph, None).err()?;
        let alone = |node: NodeIndex| !self.graph.contains_edge(node, node);
        let circles = kosaraju_scc(&self.graph).into_iter();
        let circles = circles.filter(|circle| circle.len() > 1 || circle.iter().any(|node| !alone(*node)));
        circles.flatten().filter_map(|node| self.graph.node_weight(node)).min()
    }

    /// A cycle of resources, if there is one.
    pub(crate) fn circle(&self) -> Option<Vec<Urn>> {
        let first = self.looped()?;
        let circles = kosaraju_scc(&self.graph).into_iter();
        let urns = |circle: Vec<NodeIndex>| -> Vec<Urn> {
            circle.into_iter().filter_map(|node| self.graph.node_weight(node).cloned()).collect()
        };
        circles.map(urns).find(|circle| circle.contains(first))
    }

    /// The groups of resources that depend on each other, directly or indirectly.
    pub(crate) fn circles(&self) -> DependencyCycles {
        let circles = kosaraju_scc(&self.graph).into_iter().filter(|circle| circle.len() > 1);
        let numbered = circles.enumerate().flat_map(|(number, circle)| {
            let urns = circle.into_iter().filter_map(|node| self.graph.node_weight(node));
            urns.map(move |urn| (urn.clone(), number))
        });
        DependencyCycles(numbered.collect())
    }
}

/// Groups of resources that depend on each other, directly or indirectly.
pub(crate) struct DependencyCycles(HashMap<Urn, usize>);

impl DependencyCycles {
    /// Whether two resources depend on each other.
    pub(crate) fn join(&self, a: &Urn, b: &Urn) -> bool {
        self.0.get(a).is_some_and(|circle| self.0.get(b) == Some(circle))
    }
}

/// The cycles that would arise if some resources kept their recorded dependencies while others got
/// those of the documents. Computed on first use.
pub(crate) struct TransitionCycles<'a> {
    graph: &'a Graph,
    context: &'a Context,
    recorded: &'a Recorded,
    circles: OnceLock<DependencyCycles>,
}

impl<'a> TransitionCycles<'a> {
    pub(crate) fn new(graph: &'a Graph, context: &'a Context, recorded: &'a Recorded) -> Self {
        Self { graph, context, recorded, circles: OnceLock::new() }
    }

    /// Whether a resource would depend on itself through another one that is left alone.
    pub(crate) fn joins(&self, resource: &Urn, left_alone: &Urn) -> bool {
        let circles = self.circles.get_or_init(|| {
            let records = self.recorded.all_current().map(|record| &**record);
            Dependence::recorded(records).and_wanted(self.graph, self.context, |_| true).circles()
        });
        circles.join(resource, left_alone)
    }
}
