//! Edges in compact rows, in both directions. Built in linear time from any list of edges;
//! petgraph's algorithms run on it.

use std::iter::Map;
use std::ops::Range;
use std::slice;

use petgraph::Direction;
use petgraph::visit::{
    GraphBase, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, NodeCompactIndexable, NodeCount,
    NodeIndexable, VisitMap, Visitable,
};

use crate::node::{EdgeKinds, NodeId};

/// An edge as found: `from` depends on `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawEdge {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) kinds: EdgeKinds,
}

/// All edges of a graph. Rows are sorted by number of node, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct Adjacency {
    starts: Vec<u32>,
    targets: Vec<NodeId>,
    kinds: Vec<EdgeKinds>,
    back_starts: Vec<u32>,
    sources: Vec<NodeId>,
}

impl Adjacency {
    /// Sorts the edges into rows and merges those between the same two nodes.
    pub(crate) fn new(nodes: usize, edges: &[RawEdge]) -> Self {
        let starts = row_starts(nodes, edges.iter().map(|edge| edge.from));
        let mut next = starts.clone();
        let mut rows = vec![(NodeId(0), EdgeKinds::default()); edges.len()];
        for edge in edges {
            if let Some(at) = next.get_mut(edge.from.index()) {
                rows[*at as usize] = (edge.to, edge.kinds);
                *at += 1;
            }
        }
        let mut graph = Self { starts: Vec::with_capacity(nodes + 1), ..Self::default() };
        graph.targets.reserve_exact(edges.len());
        graph.kinds.reserve_exact(edges.len());
        for node in 0..nodes {
            graph.starts.push(graph.targets.len() as u32);
            let row = &mut rows[starts[node] as usize..starts[node + 1] as usize];
            row.sort_unstable_by_key(|(to, _)| *to);
            let first = graph.targets.len();
            for (to, kinds) in row.iter() {
                match graph.kinds.last_mut() {
                    Some(last) if graph.targets.len() > first && graph.targets.last() == Some(to) => {
                        *last = last.union(*kinds);
                    }
                    _ => {
                        graph.targets.push(*to);
                        graph.kinds.push(*kinds);
                    }
                }
            }
        }
        graph.starts.push(graph.targets.len() as u32);
        graph.targets.shrink_to_fit();
        graph.kinds.shrink_to_fit();
        graph.turn_round(nodes);
        graph
    }

    fn turn_round(&mut self, nodes: usize) {
        self.back_starts = row_starts(nodes, self.targets.iter().copied());
        let mut next = self.back_starts.clone();
        self.sources = vec![NodeId(0); self.targets.len()];
        for node in 0..nodes {
            for to in &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize] {
                let at = &mut next[to.index()];
                self.sources[*at as usize] = NodeId(node as u32);
                *at += 1;
            }
        }
    }

    fn row<'a, T>(starts: &[u32], items: &'a [T], node: NodeId) -> &'a [T] {
        match (starts.get(node.index()), starts.get(node.index() + 1)) {
            (Some(start), Some(end)) => items.get(*start as usize..*end as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// The dependencies of a node.
    pub(crate) fn dependencies(&self, node: NodeId) -> &[NodeId] {
        Self::row(&self.starts, &self.targets, node)
    }

    /// Why a node depends on each of its dependencies.
    pub(crate) fn kinds(&self, node: NodeId) -> &[EdgeKinds] {
        Self::row(&self.starts, &self.kinds, node)
    }

    /// The dependents of a node.
    pub(crate) fn dependents(&self, node: NodeId) -> &[NodeId] {
        Self::row(&self.back_starts, &self.sources, node)
    }

    /// How many edges there are.
    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }
}

/// Dependents come first: an edge leads to the dependency.
impl GraphBase for Adjacency {
    type NodeId = NodeId;
    type EdgeId = (NodeId, NodeId);
}

impl<'a> IntoNeighbors for &'a Adjacency {
    type Neighbors = std::iter::Copied<slice::Iter<'a, NodeId>>;

    fn neighbors(self, node: NodeId) -> Self::Neighbors {
        self.dependencies(node).iter().copied()
    }
}

impl<'a> IntoNeighborsDirected for &'a Adjacency {
    type NeighborsDirected = std::iter::Copied<slice::Iter<'a, NodeId>>;

    fn neighbors_directed(self, node: NodeId, direction: Direction) -> Self::NeighborsDirected {
        match direction {
            Direction::Outgoing => self.dependencies(node).iter().copied(),
            Direction::Incoming => self.dependents(node).iter().copied(),
        }
    }
}

impl IntoNodeIdentifiers for &Adjacency {
    type NodeIdentifiers = Map<Range<u32>, fn(u32) -> NodeId>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        (0..self.node_count() as u32).map(NodeId)
    }
}

impl NodeCount for Adjacency {
    fn node_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
}

impl NodeIndexable for Adjacency {
    fn node_bound(&self) -> usize {
        self.node_count()
    }

    fn to_index(&self, node: NodeId) -> usize {
        node.index()
    }

    fn from_index(&self, index: usize) -> NodeId {
        NodeId(index as u32)
    }
}

impl NodeCompactIndexable for Adjacency {}

impl Visitable for Adjacency {
    type Map = Visited;

    fn visit_map(&self) -> Visited {
        Visited(vec![false; self.node_count()])
    }

    fn reset_map(&self, map: &mut Visited) {
        map.0.clear();
        map.0.resize(self.node_count(), false);
    }
}

/// The nodes that a search has visited.
#[derive(Clone, Debug)]
pub(crate) struct Visited(Vec<bool>);

impl VisitMap<NodeId> for Visited {
    fn visit(&mut self, node: NodeId) -> bool {
        self.0.get_mut(node.index()).is_some_and(|visited| !std::mem::replace(visited, true))
    }

    fn is_visited(&self, node: &NodeId) -> bool {
        self.0.get(node.index()).is_none_or(|visited| *visited)
    }

    fn unvisit(&mut self, node: NodeId) -> bool {
        self.0.get_mut(node.index()).is_some_and(std::mem::take)
    }
}

fn row_starts(nodes: usize, rows: impl Iterator<Item = NodeId>) -> Vec<u32> {
    let mut starts = vec![0_u32; nodes + 1];
    for row in rows {
        if let Some(count) = starts.get_mut(row.index() + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}
