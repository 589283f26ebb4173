//! Whether recorded state is whole (SPEC §10). No run starts from one that is not.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_model::Urn;
use purlin_state::Record;

use crate::error::Error;

/// Records by URN.
///
/// # Errors
/// When a URN is recorded twice, a dependency is not recorded, or dependencies form a loop.
pub(crate) fn index(records: Vec<Record>) -> Result<HashMap<Urn, Arc<Record>>, Error> {
    let mut indexed: HashMap<Urn, Arc<Record>> = HashMap::with_capacity(records.len());
    for record in records {
        let urn = record.urn.clone();
        if urn.key().is_none() {
            return Err(Error::Integrity(format!("`{urn}` is no URN of a resource")));
        }
        if indexed.insert(urn.clone(), Arc::new(record)).is_some() {
            return Err(Error::Integrity(format!("`{urn}` is recorded twice")));
        }
    }
    let mut waiting: HashMap<&Urn, usize> = HashMap::with_capacity(indexed.len());
    let mut dependents: HashMap<&Urn, Vec<&Urn>> = HashMap::with_capacity(indexed.len());
    for record in indexed.values() {
        waiting.insert(&record.urn, record.dependencies.len());
        for dependency in &record.dependencies {
            if !indexed.contains_key(dependency) {
                return Err(Error::Integrity(format!(
                    "`{}` depends on `{dependency}`, which is not recorded",
                    record.urn
                )));
            }
            dependents.entry(dependency).or_default().push(&record.urn);
        }
    }
    let mut ready: Vec<&Urn> =
        waiting.iter().filter(|(_, count)| **count == 0).map(|(urn, _)| *urn).collect();
    let mut passed = 0;
    while let Some(urn) = ready.pop() {
        passed += 1;
        for dependent in dependents.remove(urn).unwrap_or_default() {
            if let Some(count) = waiting.get_mut(dependent) {
                *count -= 1;
                if *count == 0 {
                    ready.push(dependent);
                }
            }
        }
    }
    if passed < indexed.len() {
        let looped = waiting.iter().filter(|(_, count)| **count > 0).map(|(urn, _)| *urn).min();
        let looped = looped.map_or_else(String::new, |urn| format!(", `{urn}` among them"));
        return Err(Error::Integrity(format!("recorded dependencies form a loop{looped}")));
    }
    Ok(indexed)
}
