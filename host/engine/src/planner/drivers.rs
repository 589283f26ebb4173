//! Finds every driver before any of them is called.

use std::collections::HashSet;
use std::sync::Arc;

use purlin_graph::Node;
use purlin_model::Diagnostic;
use purlin_state::Record;

use crate::driver::{Drivers, Needed, recorded_name, requirement_name};
use crate::plan::DriverSet;
use crate::values::rules::SchemaRules;

/// Finds the drivers that the recipes of these nodes name.
pub(super) async fn of_recipes(
    nodes: impl Iterator<Item = Node<'_>>,
    drivers: &dyn Drivers,
    rules: &Arc<SchemaRules>,
    set: &mut DriverSet,
) -> Vec<Diagnostic> {
    let mut seen = HashSet::new();
    let mut errors = Vec::new();
    for node in nodes {
        let requirement = &node.recipe.driver;
        if !seen.insert(requirement) {
            continue;
        }
        let slot = requirement_name(requirement);
        if set.contains_key(&slot) {
            continue;
        }
        match drivers.find(Needed::For(requirement)).await {
            Ok(driver) => {
                set.insert(slot, rules.guarded(driver));
            }
            Err(error) => errors.push(*error),
        }
    }
    errors
}

/// Finds the drivers that made these records, in order to do `what` with them.
pub(super) async fn of_records(
    records: impl Iterator<Item = &Record>,
    what: &str,
    drivers: &dyn Drivers,
    set: &mut DriverSet,
) -> Vec<Diagnostic> {
    // Only the drivers' own schemas count here; the documents may be gone.
    let own = Arc::<SchemaRules>::default();
    let mut errors = Vec::new();
    let mut missing = HashSet::new();
    for record in records {
        let slot = recorded_name(record);
        if set.contains_key(&slot) || missing.contains(&slot) {
            continue;
        }
        match drivers.find(Needed::Recorded(&record.driver.name, &record.driver.version)).await {
            Ok(driver) => {
                set.insert(slot, own.guarded(driver));
            }
            Err(error) => {
                let key = record.urn.shown();
                errors.push(error.fact(format!("it is needed to {what} `{key}`")));
                missing.insert(slot);
            }
        }
    }
    errors
}
