//! Keeps a picture of a large graph readable: groups resources by workload, and counts arrows at
//! hubs instead of drawing them. It knows graphs, not pictures.

use std::collections::{BTreeMap, HashSet};

use crate::report::graph::{Graph, Node};

/// A resource with more arrows of one kind in one direction is a hub.
const MOST_ARROWS: usize = 8;

/// The resources of a workload, or those of none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The name of the workload.
    pub(crate) workload: Option<String>,
    /// Its resources by number.
    pub(crate) members: Vec<usize>,
}

/// Arrows of one kind that lead to a resource, or away from it, and are counted instead of drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hub {
    pub(crate) node: usize,
    pub(crate) kind: String,
    /// Whether the arrows lead to the resource.
    pub(crate) incoming: bool,
    /// The edges, by number.
    pub(crate) edges: Vec<usize>,
    /// Their other ends, in the same order.
    pub(crate) others: Vec<usize>,
}

/// How a graph is divided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    /// The workloads by name, then the shared resources.
    pub(crate) groups: Vec<Group>,
    /// The ends of the edges that are drawn, by number of the edge.
    pub(crate) drawn: BTreeMap<usize, (usize, usize)>,
    pub(crate) hubs: Vec<Hub>,
}

impl Clusters {
    pub(crate) fn new(graph: &Graph) -> Self {
        let mut by_name: BTreeMap<(bool, Option<&str>), Vec<usize>> = BTreeMap::new();
        for (number, node) in graph.nodes.iter().enumerate() {
            let workload = node.workload.as_deref();
            by_name.entry((workload.is_none(), workload)).or_default().push(number);
        }
        let group = |((_, workload), members): ((bool, Option<&str>), Vec<usize>)| Group {
            workload: workload.map(str::to_owned),
            members,
        };
        let groups = by_name.into_iter().map(group).collect();
        let index = graph.index();
        let ends = |(number, edge): (usize, &crate::report::graph::Edge)| {
            Some((number, (*index.get(edge.from.as_str())?, *index.get(edge.to.as_str())?)))
        };
        let edges: BTreeMap<usize, (usize, usize)> =
            graph.edges.iter().enumerate().filter_map(ends).collect();
        let (hubs, counted) = hubs(graph, &edges);
        let drawn = edges.into_iter().filter(|(number, _)| !counted.contains(number)).collect();
        Self { groups, drawn, hubs }
    }
}

/// The name of a resource within its group.
pub(crate) fn short_id(node: &Node) -> &str {
    let own = node.workload.as_deref().and_then(|workload| {
        let rest = node.id.strip_prefix("modules.")?.strip_prefix(workload)?;
        Some(if rest.is_empty() { workload } else { rest.strip_prefix(".externals.")? })
    });
    own.or_else(|| node.id.strip_prefix("shared.")).unwrap_or(&node.id)
}

/// The column of each node: one right of the rightmost whose edge leads to it. `order` names each node
/// after all whose edges lead to it.
pub(crate) fn layers(
    nodes: usize,
    edges: impl Iterator<Item = (usize, usize)>,
    order: &[usize],
) -> Vec<usize> {
    let mut below = vec![Vec::new(); nodes];
    for (from, to) in edges {
        below[from].push(to);
    }
    let mut layers = vec![0; nodes];
    for from in order {
        for to in &below[*from] {
            layers[*to] = layers[*to].max(layers[*from] + 1);
        }
    }
    layers
}

/// The hubs, and the edges that they count. A hub counts its edges to other groups; and those within
/// its group as well, if they alone are too many and lead to it. Those that lead from a workload to
/// its own resources are few and short.
fn hubs(graph: &Graph, edges: &BTreeMap<usize, (usize, usize)>) -> (Vec<Hub>, HashSet<usize>) {
    let kind = |number: usize| graph.edges[number].kinds.first().map_or("", String::as_str);
    let mut arrows: BTreeMap<(usize, &str, bool), Vec<usize>> = BTreeMap::new();
    for (number, (from, to)) in edges {
        arrows.entry((*to, kind(*number), true)).or_default().push(*number);
        arrows.entry((*from, kind(*number), false)).or_default().push(*number);
    }
    let mut hubs = Vec::new();
    let mut counted = HashSet::new();
    for ((node, kind, incoming), mut arrows) in arrows {
        if arrows.len() <= MOST_ARROWS {
            continue;
        }
        let is_far = |number: &usize| {
            let (from, to) = edges[number];
            graph.nodes[from].workload != graph.nodes[to].workload
        };
        let near = arrows.iter().filter(|number| !is_far(number)).count();
        if near <= MOST_ARROWS || !incoming {
            arrows.retain(is_far);
        }
        if arrows.is_empty() {
            continue;
        }
        counted.extend(arrows.iter().copied());
        let other = |number: &usize| if incoming { edges[number].0 } else { edges[number].1 };
        let others = arrows.iter().map(other).collect();
        hubs.push(Hub { node, kind: kind.to_owned(), incoming, edges: arrows, others });
    }
    (hubs, counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::fixture;

    #[test]
    fn workloads_come_before_shared_resources() {
        let clusters = Clusters::new(&fixture::shop());
        let names: Vec<_> = clusters.groups.iter().map(|group| group.workload.as_deref()).collect();
        assert_eq!(names, [Some("web"), Some("worker"), None]);
        assert!(clusters.hubs.is_empty());
        assert_eq!(clusters.drawn.len(), fixture::shop().edges.len());
    }

    #[test]
    fn ids_are_short_within_their_group() {
        let graph = fixture::shop();
        let ids: Vec<&str> = graph.nodes.iter().map(short_id).collect();
        assert_eq!(ids, ["web", "worker", "api-dns", "db", "store", "store", "worker", "base-env"]);
    }

    #[test]
    fn a_hub_counts_its_arrows() {
        let keys: Vec<String> = (0..12).map(|n| format!("s3.default#modules.w{n}.externals.s")).collect();
        let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let edges: Vec<_> =
            keys.iter().map(|key| (*key, "base-env.default#base-env", &["reference"][..])).collect();
        keys.push("base-env.default#base-env");
        let clusters = Clusters::new(&fixture::graph(&keys, &edges));
        assert!(clusters.drawn.is_empty());
        let [hub] = &clusters.hubs[..] else { panic!("one hub") };
        assert_eq!((hub.node, hub.incoming, hub.others.len()), (12, true, 12));
    }
}
