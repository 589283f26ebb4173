//! The explanation of how a resource is provisioned, as plain data.

use purlin_host::internal::graph::{self, Graph, NodeId};
use purlin_host::internal::model::Criterion;
use purlin_host::internal::requirements::Resolution;
use serde::Serialize;

use super::graph::Origin;
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
    pub(crate) installation: Option<bundle::One>,
    pub(crate) winner: Option<Candidate>,
    pub(crate) runner_up: Option<Candidate>,
    pub(crate) tied: Vec<Candidate>,
    pub(crate) losers: Vec<Loser>,
    pub(crate) driver: Option<String>,
    pub(crate) origin: Vec<Origin>,
    pub(crate) dependencies: Vec<Neighbour>,
    pub(crate) dependents: Vec<Neighbour>,
}

/// A definition that matches.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Candidate {
    pub(crate) definition: String,
    #[serde(rename = "type")]
    pub(crate) type_pattern: String,
    pub(crate) criterion: String,
    pub(crate) specificity: u8,
    pub(crate) at: String,
}

/// A definition that was not used.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Loser {
    pub(crate) definition: String,
    #[serde(rename = "type")]
    pub(crate) type_pattern: String,
    pub(crate) criterion: Option<String>,
    pub(crate) reasons: Vec<String>,
    pub(crate) at: String,
}

/// A resource at the other end of an edge.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Neighbour {
    pub(crate) key: String,
    pub(crate) reasons: Vec<Reason>,
}

/// A reason for an edge.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reason {
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) placeholder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
}

/// A criterion in the notation of documents.
pub(super) fn criterion(criterion: &Criterion) -> String {
    let fields = [
        ("env_type", &criterion.env_type),
        ("app_id", &criterion.app_id),
        ("env_id", &criterion.env_id),
        ("res_id", &criterion.res_id),
    ];
    let mut parts: Vec<String> = fields
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", value.as_deref()?)))
        .collect();
    if criterion.class.as_str() != "default" {
        parts.push(format!("class: {}", criterion.class));
    }
    format!("{{{}}}", parts.join(", "))
}

fn candidate(candidate: &graph::Candidate) -> Candidate {
    Candidate {
        definition: candidate.definition.to_string(),
        type_pattern: candidate.type_pattern.to_string(),
        criterion: criterion(&candidate.criterion),
        specificity: candidate.specificity,
        at: candidate.location.to_string(),
    }
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
                Some(Neighbour { key: graph.key(*other)?.to_string(), reasons: reasons(graph, from, to) })
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
            winner: explanation.winner.as_ref().map(candidate),
            runner_up: explanation.runner_up.as_ref().map(candidate),
            tied: explanation.tied.iter().map(candidate).collect(),
            losers: explanation
                .losers
                .iter()
                .map(|loser| Loser {
                    definition: loser.definition.to_string(),
                    type_pattern: loser.type_pattern.to_string(),
                    criterion: loser.criterion.as_ref().map(criterion),
                    reasons: loser.reasons.iter().map(ToString::to_string).collect(),
                    at: loser.location.to_string(),
                })
                .collect(),
            driver: found.and_then(|(graph, id)| Some(graph.node(id)?.recipe.driver.name.to_string())),
            origin: found
                .map_or_else(Vec::new, |(graph, id)| graph.origins(id).iter().map(Origin::new).collect()),
            dependencies: neighbours(Graph::dependencies, true),
            dependents: neighbours(Graph::dependents, false),
        }
    }
}

pub(super) fn reasons(graph: &Graph, from: NodeId, to: NodeId) -> Vec<Reason> {
    let reason = |reason: graph::EdgeReason| Reason {
        kind: reason.kind.name(),
        placeholder: reason.placeholder.map(|placeholder| placeholder.to_string()),
        at: reason.location.map(|location| location.to_string()),
    };
    graph.reasons(from, to).into_iter().map(reason).collect()
}
