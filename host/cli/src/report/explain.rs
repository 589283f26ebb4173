//! The explanation of how a resource is provisioned, as plain data.

use std::sync::Arc;

use purlin_graph as graph;
use purlin_graph::{Candidate, EdgeReason, Graph, NodeId, Origin, UnusedDefinition};
use purlin_model::ReferenceField;
use purlin_requirements::Resolution;
use serde::Serialize;

use super::{FORMAT, bundle};

/// The explanation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Explanation {
    pub(crate) format: u8,
    pub(crate) key: String,
    /// Null if the graph could not be built.
    pub(crate) in_graph: Option<bool>,
    /// For an installation: its bundle, and why it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) installation: Option<bundle::InstallationReport>,
    pub(crate) winner: Option<Candidate>,
    pub(crate) runner_up: Option<Candidate>,
    pub(crate) tied: Vec<Candidate>,
    pub(crate) losers: Vec<UnusedDefinition>,
    pub(crate) driver: Option<String>,
    pub(crate) origin: Vec<Origin>,
    /// For a manifest: the fields that Purlin takes out of it, and what it fills instead.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) references: Arc<[ReferenceField]>,
    pub(crate) dependencies: Vec<Neighbour>,
    pub(crate) dependents: Vec<Neighbour>,
}

/// A resource at the other end of an edge.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Neighbour {
    pub(crate) key: String,
    pub(crate) reasons: Vec<EdgeReason>,
}

impl Explanation {
    /// Converts an explanation of the host. Without a graph, it covers only definitions.
    pub(crate) fn new(
        explanation: &graph::Explanation,
        graph: Option<&Graph>,
        resolution: &Resolution,
    ) -> Self {
        let found = graph.and_then(|graph| Some((graph, graph.find(explanation.key.as_str())?)));
        let neighbours = |list: fn(&Graph, NodeId) -> &[NodeId], outward: bool| -> Vec<Neighbour> {
            let Some((graph, id)) = found else { return Vec::new() };
            let neighbour = |other: &NodeId| {
                let (from, to) = if outward { (id, *other) } else { (*other, id) };
                Some(Neighbour { key: graph.key(*other)?.to_string(), reasons: graph.reasons(from, to) })
            };
            let mut all: Vec<Neighbour> = list(graph, id).iter().filter_map(neighbour).collect();
            all.sort_by(|a, b| a.key.cmp(&b.key));
            all
        };
        Self {
            format: FORMAT,
            key: explanation.key.to_string(),
            in_graph: graph.map(|_| found.is_some()),
            installation: bundle::of_key(&explanation.key, resolution),
            winner: explanation.winner.clone(),
            runner_up: explanation.runner_up.clone(),
            tied: explanation.tied.clone(),
            losers: explanation.losers.clone(),
            driver: found.and_then(|(graph, id)| Some(graph.node(id)?.recipe.driver.name.to_string())),
            origin: found.map(|(graph, id)| graph.origins(id)).unwrap_or_default(),
            references: found.map(|(graph, id)| graph.reference_fields(id)).unwrap_or_default(),
            dependencies: neighbours(Graph::dependencies, true),
            dependents: neighbours(Graph::dependents, false),
        }
    }
}
