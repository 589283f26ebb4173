//! The order of the steps that delete removed resources, as plans show it. It also decides which of
//! several deletions begins first if all of them may begin; the edges in `deletion.rs` decide which
//! may.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::Urn;
use purlin_state::Record;

use crate::records::recorded::Recorded;

/// The resources to delete, dependents first, then by URN.
pub(super) fn dependents_first(recorded: &Recorded, going: &HashSet<&Urn>) -> Vec<Arc<Record>> {
    let mut gone: Vec<Arc<Record>> =
        going.iter().filter_map(|urn| recorded.current(urn)).map(Arc::clone).collect();
    let mut depth: HashMap<&Urn, u32> = HashMap::with_capacity(gone.len());
    let mut waiting: HashMap<&Urn, usize> = gone.iter().map(|record| (&record.urn, 0)).collect();
    for record in &gone {
        for dependency in &record.dependencies {
            if let Some(count) = waiting.get_mut(dependency) {
                *count += 1;
            }
        }
    }
    let mut ready: Vec<&Urn> =
        waiting.iter().filter(|(_, count)| **count == 0).map(|(urn, _)| *urn).collect();
    while let Some(urn) = ready.pop() {
        let below = depth.get(urn).copied().unwrap_or(0) + 1;
        let Some(record) = recorded.current(urn) else { continue };
        for dependency in &record.dependencies {
            let Some(count) = waiting.get_mut(dependency) else { continue };
            *count -= 1;
            let own = depth.entry(dependency).or_insert(0);
            *own = below.max(*own);
            if *count == 0 {
                ready.push(dependency);
            }
        }
    }
    let depths: HashMap<Urn, u32> = depth.into_iter().map(|(urn, depth)| (urn.clone(), depth)).collect();
    gone.sort_by(|a, b| {
        let level = |record: &Record| depths.get(&record.urn).copied().unwrap_or(0);
        level(a).cmp(&level(b)).then_with(|| a.urn.cmp(&b.urn))
    });
    gone
}
