//! Part of a graph: the resources near some of them. A step follows one edge.

use std::collections::{HashSet, VecDeque};

use petgraph::Direction::{self, Incoming, Outgoing};
use petgraph::visit::{Bfs, IntoNeighborsDirected as _, Reversed, VisitMap as _, Visitable as _};

use crate::graph::Graph;
use crate::node::NodeId;

impl Graph {
    /// These resources and their dependencies, at any distance or at most `depth` steps away.
    pub fn with_dependencies(&self, of: &[NodeId], depth: Option<usize>) -> HashSet<NodeId> {
        self.within(of, depth, Outgoing)
    }

    /// These resources and their dependents, at any distance or at most `depth` steps away.
    pub fn with_dependents(&self, of: &[NodeId], depth: Option<usize>) -> HashSet<NodeId> {
        self.within(of, depth, Incoming)
    }

    fn within(&self, of: &[NodeId], depth: Option<usize>, direction: Direction) -> HashSet<NodeId> {
        let graph = &self.adjacency;
        let mut distance: Vec<Option<usize>> = vec![None; self.len()];
        let mut search = Bfs { stack: VecDeque::new(), discovered: graph.visit_map() };
        for node in of {
            if search.discovered.visit(*node) {
                search.stack.push_back(*node);
                distance[node.index()] = Some(0);
            }
        }
        let mut within = HashSet::new();
        loop {
            let (next, before) = match direction {
                Outgoing => (search.next(graph), Incoming),
                Incoming => (search.next(Reversed(graph)), Outgoing),
            };
            let Some(node) = next else { return within };
            // The search visits nearer nodes first, so it has visited one before it on a shortest path.
            let nearest = graph.neighbors_directed(node, before).filter_map(|near| distance[near.index()]);
            let here = distance[node.index()].or_else(|| nearest.min().map(|near| near + 1));
            if here.is_some_and(|here| depth.is_some_and(|depth| here > depth)) {
                return within;
            }
            distance[node.index()] = here;
            within.insert(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use purlin_model::Deployment;
    use serde_json::json;

    use super::*;
    use crate::testing::{definition, try_build, workload};

    #[test]
    fn a_part_is_a_number_of_steps_wide() {
        let reads = |other: &str| json!({"values": {"x": format!("${{resources.{other}.outputs.x}}")}});
        // The workload depends on `a`, that on `b`, and that on `c`.
        let definitions = vec![
            definition("a", "a", reads("b")),
            definition("b", "b", reads("c")),
            definition("c", "c", json!({})),
        ];
        let w = workload("w", &[("x", "a", json!(null))], json!({}));
        let graph = try_build(definitions, Deployment { workloads: vec![w], ..Deployment::default() })
            .expect("a graph");
        let node = |name: &str| graph.find(&format!("{name}.default#modules.w.externals.x")).expect("a node");
        let w = graph.find("workload.default#modules.w").expect("a node");
        let (a, b, c) = (node("a"), node("b"), node("c"));
        let set = |nodes: &[NodeId]| nodes.iter().copied().collect::<HashSet<_>>();
        assert_eq!(graph.with_dependencies(&[w], Some(0)), set(&[w]));
        assert_eq!(graph.with_dependencies(&[w], Some(2)), set(&[w, a, b]));
        assert_eq!(graph.with_dependencies(&[b], None), set(&[b, c]));
        assert_eq!(graph.with_dependents(&[c], Some(2)), set(&[c, b, a]));
        assert_eq!(graph.with_dependents(&[c, a], Some(1)), set(&[c, b, a, w]));
        assert_eq!(graph.with_dependents(&[c], None), set(&[c, b, a, w]));
        assert!(graph.with_dependencies(&[], None).is_empty());
    }
}
