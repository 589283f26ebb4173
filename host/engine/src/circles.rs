//! Dependencies by URN, and the circles among them. petgraph finds these.

use std::collections::HashMap;
use std::sync::OnceLock;

use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use purlin_graph::Graph;
use purlin_model::{Context, Urn};
use purlin_state::Record;

use crate::recorded::Recorded;

/// Which resource depends on which.
#[derive(Default)]
pub(crate) struct Dependence {
    graph: DiGraph<Urn, ()>,
    nodes: HashMap<Urn, NodeIndex>,
}

impl Dependence {
    /// What records say.
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

    /// And what a graph says of some of its resources.
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

    /// The first resource that depends on itself, at any distance.
    pub(crate) fn looped(&self) -> Option<&Urn> {
        toposort(&self.graph, None).err()?;
        let alone = |node: NodeIndex| !self.graph.contains_edge(node, node);
        let circles = kosaraju_scc(&self.graph).into_iter();
        let circles = circles.filter(|circle| circle.len() > 1 || circle.iter().any(|node| !alone(*node)));
        circles.flatten().filter_map(|node| self.graph.node_weight(node)).min()
    }

    /// A circle of resources that depend on each other, if there is one.
    pub(crate) fn circle(&self) -> Option<Vec<Urn>> {
        let first = self.looped()?;
        let circles = kosaraju_scc(&self.graph).into_iter();
        let urns = |circle: Vec<NodeIndex>| -> Vec<Urn> {
            circle.into_iter().filter_map(|node| self.graph.node_weight(node).cloned()).collect()
        };
        circles.map(urns).find(|circle| circle.contains(first))
    }

    /// The resources that depend on each other, at any distance.
    pub(crate) fn circles(&self) -> Circles {
        let circles = kosaraju_scc(&self.graph).into_iter().filter(|circle| circle.len() > 1);
        let numbered = circles.enumerate().flat_map(|(number, circle)| {
            let urns = circle.into_iter().filter_map(|node| self.graph.node_weight(node));
            urns.map(move |urn| (urn.clone(), number))
        });
        Circles(numbered.collect())
    }
}

/// Resources that depend on each other, at any distance.
pub(crate) struct Circles(HashMap<Urn, usize>);

impl Circles {
    /// Whether each of two depends on the other.
    pub(crate) fn join(&self, a: &Urn, b: &Urn) -> bool {
        self.0.get(a).is_some_and(|circle| self.0.get(b) == Some(circle))
    }
}

/// The circles that would come about if some resources kept the dependencies that they are recorded with,
/// while others get those of the documents. Worked out when first asked for.
pub(crate) struct Turned<'a> {
    graph: &'a Graph,
    context: &'a Context,
    recorded: &'a Recorded,
    circles: OnceLock<Circles>,
}

impl<'a> Turned<'a> {
    pub(crate) fn new(graph: &'a Graph, context: &'a Context, recorded: &'a Recorded) -> Self {
        Self { graph, context, recorded, circles: OnceLock::new() }
    }

    /// Whether a resource would come to depend on itself by way of another, which is left alone.
    pub(crate) fn joins(&self, resource: &Urn, left_alone: &Urn) -> bool {
        let circles = self.circles.get_or_init(|| {
            let records = self.recorded.all_current().map(|record| &**record);
            Dependence::recorded(records).and_wanted(self.graph, self.context, |_| true).circles()
        });
        circles.join(resource, left_alone)
    }
}
