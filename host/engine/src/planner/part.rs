//! Runs that cover only a part of the resources must leave records that are consistent with each
//! other. A resource that such a run leaves alone keeps its recorded dependencies, which the
//! documents may have reversed since.

use std::collections::HashSet;

use purlin_graph::Graph;
use purlin_model::{Context, Diagnostic, Key, Urn};

use crate::records::cycles::Dependence;
use crate::records::recorded::Recorded;

/// The help for a run that covers a resource without another one, which it needs.
pub(super) fn both(other: &Key) -> String {
    format!("add `--target '{other}'`, or leave both out")
}

/// # Errors
/// For each resource of the run that would depend on one that is left alone, if that one is
/// recorded to depend on it.
pub(super) fn check(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
    in_scope: &HashSet<Urn>,
) -> Vec<Diagnostic> {
    // A resource that fails during the run keeps its recorded dependencies.
    let records = recorded.all_current().map(|record| &**record);
    let circles =
        Dependence::recorded(records).and_wanted(graph, context, |urn| in_scope.contains(urn)).circles();
    let mut errors = Vec::new();
    for node in graph.nodes() {
        let urn = Urn::new(context, node.key);
        if !in_scope.contains(&urn) {
            continue;
        }
        for key in graph.dependencies(node.id).iter().filter_map(|id| graph.key(*id)) {
            let other = Urn::new(context, key);
            if in_scope.contains(&other) || recorded.current(&other).is_none() || !circles.join(&urn, &other)
            {
                continue;
            }
            errors.push(
                Diagnostic::error(
                    "left-alone",
                    format!(
                        "`{}` would depend on `{key}`, which is left alone and, according to the state, depends on it",
                        node.key
                    ),
                )
                .help(both(key)),
            );
        }
    }
    errors
}
