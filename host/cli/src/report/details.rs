//! Details of resources and edges for the HTML page of a graph: why a definition matched,
//! inputs, and why there is an edge.

use purlin_graph::{EdgeReason, Graph as Host};

use super::graph::Graph;
use super::inputs::inputs;

/// The details of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// Where it is deployed: the application, and the environment.
    pub(crate) place: String,
    /// By resource, in the order of the graph.
    pub(crate) resources: Vec<Resource>,
    /// By edge, in the order of the graph: why there is the edge.
    pub(crate) edges: Vec<Vec<String>>,
}

/// The details of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource {
    /// The criterion by which its definition matched.
    pub(crate) matched: Option<String>,
    /// Where its recipe is written.
    pub(crate) at: Option<String>,
    pub(crate) inputs: Vec<(String, String)>,
}

impl Details {
    pub(crate) fn new(host: &Host, graph: &Graph) -> Self {
        let resource = |key: &str| {
            let node = host.node(host.find(key)?)?;
            let has_place = node.definition.is_some() || node.installation.is_some();
            Some(Resource {
                matched: node.criterion.map(|found| match found.to_string().as_str() {
                    "{}" => "any resource of the type".to_owned(),
                    criterion => criterion.to_owned(),
                }),
                at: has_place.then(|| node.recipe.location.to_string()),
                inputs: inputs(node.recipe, node.installation.map(|installation| &*installation.share)),
            })
        };
        let edge = |from: &str, to: &str| {
            let all = host.reasons(host.find(from)?, host.find(to)?);
            let words = |reason: &EdgeReason| {
                let at = reason.location.as_ref().map(ToString::to_string);
                let parts = [Some(reason.kind.name()), reason.placeholder.as_deref(), at.as_deref()];
                parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
            };
            Some(all.iter().map(words).collect())
        };
        let context = host.context();
        Self {
            place: format!("{} in {}", context.app, context.env.id),
            resources: graph.nodes.iter().map(|node| resource(&node.key).unwrap_or_default()).collect(),
            edges: graph.edges.iter().map(|each| edge(&each.from, &each.to).unwrap_or_default()).collect(),
        }
    }
}
