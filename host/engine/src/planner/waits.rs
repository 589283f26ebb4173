//! The resources that are left alone because they are paused, held back, or waiting for a resource
//! that cannot be provisioned now (SPEC §7), with the path to the cause.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use purlin_graph::{Graph, NodeId};
use purlin_model::{Awaited, Context, Key, Reason, Urn, Wait};
use purlin_state::{Record, RecordId, Status};

use crate::records::cycles::TransitionCycles;
use crate::records::recorded::{Recorded, exists, is_made_in_part};
use crate::values::awaited;

/// The maximum number of missing resources for which a waiting resource reports the path.
const MOST_REPORTED: usize = 10;

/// The resources to leave alone, each with its reasons: those that are paused or held back, those
/// with a reference field that names a missing resource, and everything that needs one of them
/// while that does not exist.
pub(super) fn find(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
    left_alone: &HashMap<Urn, Reason>,
    transition_cycles: &TransitionCycles<'_>,
) -> HashMap<NodeId, Vec<Reason>> {
    let mut waiting: HashMap<NodeId, Vec<Reason>> = HashMap::new();
    for node in graph.nodes() {
        if node.lifecycle.paused {
            waiting.insert(node.id, vec![Reason::Paused]);
        } else if !left_alone.is_empty()
            && let Some(reason) = left_alone.get(&Urn::new(context, node.key))
        {
            waiting.insert(node.id, vec![reason.clone()]);
        }
    }
    for missing in graph.missing().iter().filter(|missing| missing.blocking) {
        let reason = Reason::Waits(awaited::missed(missing));
        let reasons = waiting.entry(missing.from).or_default();
        if !has_own_reason(reasons) {
            reasons.push(reason);
        }
    }
    let mut sources: Vec<NodeId> = waiting.keys().copied().collect();
    sources.sort_unstable();
    spread(graph, context, recorded, transition_cycles, &mut waiting, sources);
    waiting
}

/// Adds everything that needs one of the waiting `sources` while that does not exist. If it exists,
/// adds only those of its recorded dependencies that would now depend on it, since records must not
/// form a cycle.
pub(super) fn spread(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
    transition_cycles: &TransitionCycles<'_>,
    waiting: &mut HashMap<NodeId, Vec<Reason>>,
    sources: Vec<NodeId>,
) {
    // Breadth-first search finds the shortest path.
    let mut open: VecDeque<NodeId> = sources.into();
    while let Some(node) = open.pop_front() {
        let Some(key) = graph.key(node) else { continue };
        let urn = Urn::new(context, key);
        let record = recorded.current(&urn).filter(|record| exists(record));
        let failed = waiting.get(&node).is_some_and(|reasons| reasons.iter().any(is_failure));
        // Dependents can then read the recorded values. A resource that may be gone, or that was made only
        // in part, cannot provide outputs.
        let keeps_its_outputs = !recorded.is_perhaps_deleted(&RecordId::current(urn.clone()))
            && record
                .is_some_and(|record| record.status == Status::Ready || !failed && !is_made_in_part(record));
        let there = record.is_some();
        let reasons: Vec<Reason> =
            waiting.get(&node).into_iter().flatten().map(|why| Reason::Waits(via(why, key, there))).collect();
        for dependent in graph.dependents(node) {
            let is_free = |key| !transition_cycles.joins(&Urn::new(context, key), &urn);
            if keeps_its_outputs && graph.key(*dependent).is_none_or(is_free) {
                continue;
            }
            let known = waiting.entry(*dependent).or_default();
            if has_own_reason(known) {
                continue;
            }
            let before = known.len();
            for reason in &reasons {
                if known.len() < MOST_REPORTED && !known.iter().any(|other| is_same(other, reason)) {
                    known.push(reason.clone());
                }
            }
            if known.len() > before {
                open.push_back(*dependent);
            }
        }
    }
}

/// Leaves resources alone that cannot be replaced because another one that is left alone depends on
/// the old one. Returns whether there are any.
pub(super) fn block(
    graph: &Graph,
    context: &Context,
    recorded: &Recorded,
    transition_cycles: &TransitionCycles<'_>,
    waiting: &mut HashMap<NodeId, Vec<Reason>>,
    blocked: Vec<(Urn, Key)>,
) -> bool {
    let mut sources = Vec::new();
    for (urn, other) in blocked {
        let Some(node) = urn.key().and_then(|key| graph.find(key.as_str())) else { continue };
        let reason = Reason::Waits(Wait::directly(Awaited::Dependent { key: other }));
        waiting.entry(node).or_default().push(reason);
        sources.push(node);
    }
    let any = !sources.is_empty();
    spread(graph, context, recorded, transition_cycles, waiting, sources);
    any
}

/// The resources to delete that a left-alone resource needs, directly or indirectly, each with the
/// key of that resource: nothing is deleted before its recorded dependents. The old copy of a
/// `replaced` resource stays too if a left-alone resource depends on it, and so does a retained
/// resource in an old copy that stays. Old copies of `left_out` resources stay.
pub(super) fn needed<'a>(
    recorded: &Recorded,
    left_alone: impl Iterator<Item = &'a Urn>,
    left_out: impl Fn(&Urn) -> bool,
    replaced: &HashSet<&Urn>,
    going: &[Urn],
) -> BTreeMap<Urn, Key> {
    let going: HashSet<&Urn> = going.iter().collect();
    let mut needed = BTreeMap::new();
    if going.is_empty() {
        return needed;
    }
    let mut left_alone: Vec<&Urn> = left_alone.collect();
    left_alone.sort();
    let there = |urn: &Urn| recorded.current(urn).map(|record| &**record);
    let records = left_alone.iter().flat_map(|urn| {
        let key = |record| Some((record, urn.key()?));
        // A resource that may have been created needs its dependencies.
        let perhaps_made = recorded.perhaps_made_as(&RecordId::current(Urn::clone(urn)));
        there(urn).into_iter().chain(perhaps_made).filter_map(key)
    });
    let mut open: Vec<(&Record, Key)> = records.collect();
    let is_old = |record: &Record| record.superseded.is_some() || replaced.contains(&record.urn);
    let retained_in = |home: &Record| {
        let retained = recorded.retained_in(home, is_old).into_iter();
        retained.filter_map(|record| Some((&**record, record.urn.key()?))).collect::<Vec<_>>()
    };
    let old_ones = recorded.all_superseded().filter(|record| left_out(&record.urn));
    open.extend(old_ones.flat_map(|record| retained_in(record)));
    let mut seen = HashSet::new();
    while let Some((record, by)) = open.pop() {
        open.extend(retained_in(record).into_iter().filter(|(record, _)| seen.insert(record.id())));
        // Old copies of its dependencies stay as long as the resource does.
        for old in recorded.needs(record, |urn| going.contains(urn) || replaced.contains(urn)) {
            if !seen.insert(old.id()) {
                continue;
            }
            if old.superseded.is_none() && going.contains(&old.urn) {
                needed.insert(old.urn.clone(), by.clone());
            }
            open.push((old, by.clone()));
        }
    }
    needed
}

/// Whether a resource is left alone for a reason of its own, regardless of other resources.
fn has_own_reason(reasons: &[Reason]) -> bool {
    reasons.iter().any(|reason| !matches!(reason, Reason::Waits(_)))
}

fn is_failure(reason: &Reason) -> bool {
    matches!(reason, Reason::BackedOff { .. })
}

/// The wait of a resource that depends on `key`, which may or may not exist.
fn via(reason: &Reason, key: &Key, exists: bool) -> Wait {
    let key = key.clone();
    Wait::directly(match reason {
        Reason::Waits(wait) => return wait.via(&key),
        Reason::BackedOff { message } => Awaited::Failed { key, message: message.clone() },
        Reason::NeedsConsent { .. } => Awaited::NeedsConsent { key },
        Reason::DriftReported => {
            let why = if exists { Reason::DriftReported } else { Reason::Gone };
            Awaited::Failed { key, message: why.to_string().into() }
        }
        _ => Awaited::Paused { key },
    })
}

/// Whether two reasons wait for the same thing, along any path.
fn is_same(a: &Reason, b: &Reason) -> bool {
    matches!((a, b), (Reason::Waits(a), Reason::Waits(b)) if a.what == b.what)
}
