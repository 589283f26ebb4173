//! Which resources wait for something that no document declares (SPEC §7), and along which way.

use std::collections::{HashMap, VecDeque};

use purlin_graph::{Graph, NodeId};
use purlin_model::{Awaited, Context, Key, Reason, Urn};

use crate::recorded::{Recorded, exists};

/// Of how many missing resources a waiting one tells the way.
const MOST_TOLD: usize = 10;

/// The resources that cannot be provisioned now, each with its reasons: those with a reference field
/// that names what is missing, and everything that needs one of them and was not provisioned before.
pub(super) fn find(graph: &Graph, context: &Context, recorded: &Recorded) -> HashMap<NodeId, Vec<Reason>> {
    let mut waiting: HashMap<NodeId, Vec<Reason>> = HashMap::new();
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
        waiting.entry(missing.from).or_default().push(reason);
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
    let mut reason = reason.clone();
    if let Reason::Waits { through, .. } = &mut reason {
        through.insert(0, key.clone());
    }
    reason
}

/// Whether two reasons wait for the same thing, by whatever way.
fn is_same(a: &Reason, b: &Reason) -> bool {
    matches!((a, b), (Reason::Waits { what, .. }, Reason::Waits { what: other, .. }) if what == other)
}
