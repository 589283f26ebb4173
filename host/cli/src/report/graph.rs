//! A graph as plain data.

use std::collections::{HashMap, HashSet};

use purlin_graph::{NodeId, Origin};
use serde::Serialize;

use super::FORMAT;

/// A graph: nodes by key, edges by the keys of their ends, and the order in levels.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Graph {
    pub(crate) format: u8,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// Dependencies without an order (`blocking: false`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) beside: Vec<Beside>,
    /// The levels: each resource comes after all its dependencies.
    pub(crate) order: Vec<Vec<String>>,
    /// How many resources a part of the graph leaves out.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) omitted: usize,
}

/// The part of a graph to report.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphSelection {
    /// Only these.
    pub(crate) only: Option<HashSet<NodeId>>,
    /// Implicit resources that nothing refers to, too.
    pub(crate) all: bool,
    /// Without these edges.
    pub(crate) implied: HashSet<(NodeId, NodeId)>,
}

/// A resource.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Node {
    pub(crate) key: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) class: String,
    pub(crate) id: String,
    pub(crate) urn: String,
    /// Null for the built-in echo.
    pub(crate) definition: Option<String>,
    /// The bundle of an installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bundle: Option<String>,
    pub(crate) driver: String,
    pub(crate) implicit: bool,
    /// Why it is in the graph.
    pub(crate) origin: Vec<Origin>,
    /// Its dependencies and dependents outside the reported part.
    #[serde(skip_serializing_if = "Omitted::is_none")]
    pub(crate) omitted: Omitted,
    /// The workload that it belongs to.
    #[serde(skip)]
    pub(crate) workload: Option<String>,
}

/// How many neighbours of a resource a part of the graph leaves out.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Omitted {
    pub(crate) dependencies: usize,
    pub(crate) dependents: usize,
}

impl Omitted {
    fn is_none(&self) -> bool {
        self.dependencies == 0 && self.dependents == 0
    }

    /// In words, and whether it is about dependents.
    pub(crate) fn words(self) -> Vec<(bool, String)> {
        let below = (self.dependencies > 0).then(|| (false, format!("and {} more", self.dependencies)));
        let above = (self.dependents > 0).then(|| {
            let noun = if self.dependents == 1 { "dependent" } else { "dependents" };
            (true, format!("and {} more {noun}", self.dependents))
        });
        below.into_iter().chain(above).collect()
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Node {
    /// The name of its recipe: its definition, its bundle, or otherwise its driver.
    pub(crate) fn recipe(&self) -> &str {
        self.definition.as_deref().or(self.bundle.as_deref()).unwrap_or(&self.driver)
    }
}

/// `from` depends on `to`.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) kinds: Vec<String>,
}

/// `from` is ready only when `to` is ready, too.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Beside {
    pub(crate) from: String,
    pub(crate) to: String,
}

impl Graph {
    /// Converts a part of a graph of the host.
    pub(crate) fn new(graph: &purlin_graph::Graph, part: &GraphSelection) -> Self {
        let would_show = |id| graph.node(id).is_some_and(|node| part.all || node.shown);
        let shown = |id| part.only.as_ref().map_or_else(|| would_show(id), |only| only.contains(&id));
        let omitted = |ids: &[NodeId]| ids.iter().filter(|id| would_show(**id) && !shown(**id)).count();
        let key = |id| graph.key(id).map(ToString::to_string);
        let node = |node: purlin_graph::Node<'_>| Node {
            key: node.key.to_string(),
            type_name: node.key.type_name().to_owned(),
            class: node.key.class().to_owned(),
            id: node.key.id().to_owned(),
            urn: graph.urn(node.id).map(|urn| urn.to_string()).unwrap_or_default(),
            definition: node.definition.map(|definition| definition.id.to_string()),
            bundle: node.installation.and(node.recipe.name.as_deref()).map(str::to_owned),
            driver: node.recipe.driver.name.to_string(),
            implicit: node.implicit,
            origin: graph.origins(node.id),
            omitted: Omitted {
                dependencies: omitted(graph.dependencies(node.id)),
                dependents: omitted(graph.dependents(node.id)),
            },
            workload: node.key.workload().map(str::to_owned),
        };
        let mut nodes: Vec<Node> = graph.nodes().filter(|node| shown(node.id)).map(node).collect();
        nodes.sort_by(|a, b| a.key.cmp(&b.key));
        let mut edges: Vec<Edge> = graph
            .edges()
            .filter(|edge| {
                shown(edge.from) && shown(edge.to) && !part.implied.contains(&(edge.from, edge.to))
            })
            .filter_map(|edge| {
                let kinds = edge.kinds.iter().map(|kind| kind.name().to_owned()).collect();
                Some(Edge { from: key(edge.from)?, to: key(edge.to)?, kinds })
            })
            .collect();
        edges.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
        let beside = graph.non_blocking_dependencies().iter().filter(|(from, to)| shown(*from) && shown(*to));
        let beside = beside.filter_map(|(from, to)| Some(Beside { from: key(*from)?, to: key(*to)? }));
        let beside = beside.collect();
        let level = |level: &Vec<NodeId>| -> Vec<String> {
            level.iter().filter(|id| shown(**id)).filter_map(|id| key(*id)).collect()
        };
        let order = graph.levels().iter().map(level).filter(|level| !level.is_empty()).collect();
        let omitted = graph.nodes().filter(|node| would_show(node.id) && !shown(node.id)).count();
        Self { format: FORMAT, nodes, edges, beside, order, omitted }
    }

    /// The index of each node, by key.
    pub(crate) fn index(&self) -> HashMap<&str, usize> {
        self.nodes.iter().enumerate().map(|(index, node)| (node.key.as_str(), index)).collect()
    }

    /// The dependencies of each node as (node, edge), in the order of the edges.
    pub(crate) fn dependencies(&self) -> Vec<Vec<(usize, usize)>> {
        let index = self.index();
        let mut below = vec![Vec::new(); self.nodes.len()];
        for (number, edge) in self.edges.iter().enumerate() {
            if let (Some(&from), Some(&to)) = (index.get(edge.from.as_str()), index.get(edge.to.as_str())) {
                below[from].push((to, number));
            }
        }
        below
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    /// A graph with levels, from edges `(from, to, kinds)`.
    pub(crate) fn graph(keys: &[&str], edges: &[(&str, &str, &[&str])]) -> Graph {
        let nodes: Vec<Node> = keys
            .iter()
            .map(|key| {
                let (head, id) = key.split_once('#').unwrap_or((key, "x"));
                let (type_name, class) = head.split_once('.').unwrap_or((head, "default"));
                Node {
                    key: (*key).into(),
                    type_name: type_name.into(),
                    class: class.into(),
                    id: id.into(),
                    urn: format!("urn:purlin:dev/default::shop::shared::{head}::{id}"),
                    definition: Some(format!("{type_name}-def")),
                    bundle: None,
                    driver: "purlin/echo".into(),
                    implicit: matches!(type_name, "workload" | "base-env" | "k8s-cluster"),
                    origin: vec![],
                    omitted: Omitted::default(),
                    workload: id.strip_prefix("modules.").map(|rest| {
                        rest.split_once(".externals.").map_or(rest, |(workload, _)| workload).to_owned()
                    }),
                }
            })
            .collect();
        let edges: Vec<Edge> = edges
            .iter()
            .map(|(from, to, kinds)| Edge {
                from: (*from).into(),
                to: (*to).into(),
                kinds: kinds.iter().map(|k| (*k).into()).collect(),
            })
            .collect();
        let mut level: HashMap<&str, usize> = HashMap::new();
        for _ in 0..nodes.len() {
            for edge in &edges {
                let to = level.get(edge.to.as_str()).copied().unwrap_or(0);
                let from = level.entry(edge.from.as_str()).or_default();
                *from = (*from).max(to + 1);
            }
        }
        let mut order: Vec<Vec<String>> = Vec::new();
        for node in &nodes {
            let at = level.get(node.key.as_str()).copied().unwrap_or(0);
            if order.len() <= at {
                order.resize(at + 1, vec![]);
            }
            order[at].push(node.key.clone());
        }
        for level in &mut order {
            level.sort();
        }
        Graph { format: FORMAT, nodes, edges, order, ..Graph::default() }
    }

    /// The graph of two workloads that share resources.
    pub(crate) fn shop() -> Graph {
        graph(
            &[
                "workload.default#modules.web",
                "workload.default#modules.worker",
                "dns.public#shared.api-dns",
                "postgres.default#modules.web.externals.db",
                "s3.default#modules.worker.externals.store",
                "aws-policy.default#modules.worker.externals.store",
                "aws-role.default#modules.worker",
                "base-env.default#base-env",
            ],
            &[
                ("workload.default#modules.web", "dns.public#shared.api-dns", &["dependency"]),
                (
                    "workload.default#modules.web",
                    "postgres.default#modules.web.externals.db",
                    &["dependency", "reference"],
                ),
                ("postgres.default#modules.web.externals.db", "base-env.default#base-env", &["reference"]),
                (
                    "workload.default#modules.worker",
                    "s3.default#modules.worker.externals.store",
                    &["dependency"],
                ),
                ("workload.default#modules.worker", "dns.public#shared.api-dns", &["dependency"]),
                (
                    "workload.default#modules.worker",
                    "aws-policy.default#modules.worker.externals.store",
                    &["match-dependents"],
                ),
                ("workload.default#modules.worker", "aws-role.default#modules.worker", &["reference"]),
                (
                    "aws-role.default#modules.worker",
                    "aws-policy.default#modules.worker.externals.store",
                    &["selector"],
                ),
                (
                    "aws-policy.default#modules.worker.externals.store",
                    "s3.default#modules.worker.externals.store",
                    &["co-provision", "reference"],
                ),
                ("s3.default#modules.worker.externals.store", "base-env.default#base-env", &["reference"]),
            ],
        )
    }
}
