//! Runs that are about a part of the resources must leave records that agree with each other: what
//! such a run leaves alone keeps the dependencies that it was recorded with, which the documents
//! may have turned round since.

use std::collections::{HashMap, HashSet};

use purlin_graph::Graph;
use purlin_model::{Context, Diagnostic, Urn};

use crate::recorded::Recorded;

/// What each resource depends on after the run, or, where it fails on the way, still does.
struct Dependencies<'a> {
    recorded: &'a Recorded,
    /// What the documents say of what the run is about.
    wanted: HashMap<Urn, Vec<Urn>>,
}

impl Dependencies<'_> {
    /// Everything that a resource depends on, at any distance.
    fn all_of(&self, urn: &Urn) -> HashSet<Urn> {
        let mut found = HashSet::new();
        let mut stack = vec![urn.clone()];
        while let Some(urn) = stack.pop() {
            let wanted = self.wanted.get(&urn).into_iter().flatten();
            let recorded = self.recorded.current(&urn);
            let recorded = recorded.iter().flat_map(|record| &record.dependencies);
            for dependency in wanted.chain(recorded) {
                if found.insert(dependency.clone()) {
                    stack.push(dependency.clone());
                }
            }
        }
        found
    }
}

/// # Errors
/// For each resource of the run that would come to depend on one which is left alone, and which is
/// recorded to depend on it in turn.
pub(super) fn check(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
    in_scope: &HashSet<Urn>,
) -> Vec<Diagnostic> {
    let mut wanted = HashMap::new();
    for node in graph.nodes() {
        let urn = Urn::new(context, node.key);
        if in_scope.contains(&urn) {
            let keys = graph.dependencies(node.id).iter().filter_map(|id| graph.key(*id));
            wanted.insert(urn, keys.map(|key| Urn::new(context, key)).collect());
        }
    }
    let dependencies = Dependencies { recorded, wanted };
    let mut reached: HashMap<Urn, HashSet<Urn>> = HashMap::new();
    let mut errors = Vec::new();
    for node in graph.nodes() {
        let urn = Urn::new(context, node.key);
        for other in dependencies.wanted.get(&urn).into_iter().flatten() {
            if in_scope.contains(other) || recorded.current(other).is_none() {
                continue;
            }
            let reached = reached.entry(other.clone()).or_insert_with(|| dependencies.all_of(other));
            let Some(key) = other.key().filter(|_| reached.contains(&urn)) else { continue };
            errors.push(
                Diagnostic::error(
                    "left-alone",
                    format!(
                        "`{}` would depend on `{key}`, which is left alone and recorded to depend on it",
                        node.key
                    ),
                )
                .help(format!("take it in with `--target '{key}'`, or leave both out")),
            );
        }
    }
    errors
}
