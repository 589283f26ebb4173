//! What a resource waits for.

use purlin_graph::{EmptyReference, Graph, Missing, NodeId};
use purlin_model::{Awaited, Reason, Wait};

use super::evaluate::NodeValueTable;

/// The waits for values of other resources that are still empty; none if there are other faults.
pub(crate) fn for_values(graph: &Graph, node: NodeId, node_values: &NodeValueTable) -> Vec<Reason> {
    let wait = |empty: EmptyReference| {
        let key = graph.key(empty.target)?.clone();
        let at = empty.location.to_string().into();
        Some(Reason::Waits(Wait::directly(Awaited::Empty { key, path: empty.path.into(), at })))
    };
    graph.empty_references(node, node_values).into_iter().filter_map(wait).collect()
}

/// The wait for a resource that no document declares, or for the word which one is meant.
pub(crate) fn missed(missing: &Missing) -> Wait {
    if !missing.candidates.is_empty() {
        return Wait::directly(Awaited::Ambiguous {
            field: missing.field.clone(),
            at: missing.location.to_string().into(),
            candidates: missing.candidates.iter().map(|(key, _)| key.clone()).collect(),
        });
    }
    Wait::directly(Awaited::Missing {
        target: missing.target.to_string().into(),
        field: missing.field.clone(),
        at: missing.location.to_string().into(),
        near: missing.near.clone(),
    })
}
