//! Which resources are left alone, as they are paused or wait for something that cannot be provisioned
//! now (SPEC §7), and along which way.

use std::collections::{HashMap, VecDeque};

use purlin_graph::{Graph, NodeId};
use purlin_model::{Awaited, Context, Key, Reason, Urn};

use crate::recorded::{Recorded, exists};

/// Of how many missing resources a waiting one tells the way.
const MOST_TOLD: usize = 10;

/// The resources to leave alone, each with its reasons: those that are paused, those with a reference
/// field that names what is missing, and everything that needs one of them while that does not exist.
pub(super) fn find(graph: &Graph, context: &Context, recorded: &Recorded) -> HashMap<NodeId, Vec<Reason>> {
    let mut waiting: HashMap<NodeId, Vec<Reason>> = HashMap::new();
    for node in graph.nodes().filter(|node| node.lifecycle.paused) {
        waiting.insert(node.id, vec![Reason::Paused]);
    }
    for missing in graph.missing() {
        let reason = Reason::Waits {
            through: Vec::new(),
            what: Awaited::Missing {
                target: missing.target.to_string().into(),
                field: missing.field.clone(),
                at: missing.location.to_string().into(),
                near: missing.near.clone(),
            },
        };
        let reasons = waiting.entry(missing.from).or_default();
        if !reasons.contains(&Reason::Paused) {
            reasons.push(reason);
        }
    }
    // Breadth first, so that the shortest way is told.
    let mut sources: Vec<NodeId> = waiting.keys().copied().collect();
    sources.sort_unstable();
    let mut open: VecDeque<NodeId> = sources.into();
    while let Some(node) = open.pop_front() {
        let Some(key) = graph.key(node) else { continue };
        let is_recorded = recorded.current(&Urn::new(context, key)).is_some_and(|record| exists(record));
        if is_recorded {
            // Others read what is recorded.
            continue;
        }
        let reasons: Vec<Reason> =
            waiting.get(&node).into_iter().flatten().map(|why| via(why, key)).collect();
        for dependent in graph.dependents(node) {
            let known = waiting.entry(*dependent).or_default();
            if known.contains(&Reason::Paused) {
                continue;
            }
            let before = known.len();
            for reason in &reasons {
                if known.len() < MOST_TOLD && !known.iter().any(|other| is_same(other, reason)) {
                    known.push(reason.clone());
                }
            }
            if known.len() > before {
                open.push_back(*dependent);
            }
        }
    }
    waiting
}

/// The same wait, one resource further along.
fn via(reason: &Reason, key: &Key) -> Reason {
    match reason {
        Reason::Waits { through, what } => {
            let through = [key].into_iter().chain(through).cloned().collect();
            Reason::Waits { through, what: what.clone() }
        }
        _ => Reason::Waits { through: Vec::new(), what: Awaited::Paused { key: key.clone() } },
    }
}

/// Whether two reasons wait for the same thing, by whatever way.
fn is_same(a: &Reason, b: &Reason) -> bool {
    matches!((a, b), (Reason::Waits { what, .. }, Reason::Waits { what: other, .. }) if what == other)
}
