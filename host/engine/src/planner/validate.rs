//! Checks documents against the schemas and the drivers that they name. Needs no state, and reads
//! no secrets and no existing resources.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::{DefinitionIndex, Graph};
use purlin_model::driver::Inputs;
use purlin_model::{Context, Definition, Diagnostic, Map, Value};
use purlin_state::Snapshot;

use super::{Base, Ground, PlanOptions, Planner, drivers};
use crate::driver::{Drivers, Needed};
use crate::error::Error;
use crate::plan::DriverSet;
use crate::records::cycles::TransitionCycles;
use crate::values::rules;
use crate::values::secrets::{Vault, outline, unread};

/// Every fault that the schemas of resource types, the schemas of drivers, and the drivers' `check`
/// find in the resources of a graph. Definitions that no resource uses are checked as far as
/// possible on their own. Offline, no driver is needed or called.
///
/// # Errors
/// Faults of documents are not errors.
pub async fn validate(
    graph: Arc<Graph>,
    definition_index: &DefinitionIndex,
    context: &Context,
    drivers: &dyn Drivers,
    options: PlanOptions,
) -> Result<Vec<Diagnostic>, Error> {
    let mut faults = faults_of(&graph, context, drivers, &options).await?;
    if !options.offline {
        for definition in unused(&graph, definition_index) {
            faults.extend(alone(definition, drivers, &options).await);
        }
    }
    Ok(rules::once(faults))
}

/// Whether the documents alone cause one of these faults, whatever the resources return.
pub(super) async fn finds(
    doubtful: &[Diagnostic],
    graph: &Arc<Graph>,
    context: &Context,
    drivers: &dyn Drivers,
    options: &PlanOptions,
) -> Result<bool, Error> {
    let options = PlanOptions {
        parallelism: options.parallelism,
        rules: Arc::clone(&options.rules),
        ..PlanOptions::default()
    };
    let found = faults_of(graph, context, drivers, &options).await?;
    let is_same = |a: &Diagnostic, b: &Diagnostic| {
        (a.code, &a.message, &a.location) == (b.code, &b.message, &b.location)
    };
    Ok(doubtful.iter().any(|fault| found.iter().any(|other| is_same(fault, other))))
}

async fn faults_of(
    graph: &Arc<Graph>,
    context: &Context,
    drivers: &dyn Drivers,
    options: &PlanOptions,
) -> Result<Vec<Diagnostic>, Error> {
    let recorded = Base::new(Snapshot::default())?.recorded;
    let mut faults = Vec::new();
    let mut available = DriverSet::default();
    if !options.offline {
        faults.extend(drivers::of_recipes(graph.nodes(), drivers, &options.rules, &mut available).await);
    }
    let vault = Vault::closed();
    let (none_forced, transition_cycles) = (HashMap::new(), TransitionCycles::new(graph, context, &recorded));
    let ground = Ground {
        graph,
        context,
        recorded: &recorded,
        in_scope: &None,
        import: &HashMap::new(),
        transition_cycles: &transition_cycles,
        options,
        drivers: &available,
        vault: &vault,
        validating: true,
    };
    let mut planner = Planner::new(&ground, HashMap::new(), &none_forced);
    for level in graph.levels() {
        planner.level(level).await?;
    }
    faults.append(&mut planner.errors);
    faults.extend(rules::by_place(planner.invalid));
    faults.extend(planner.remarks.into_iter().map(|(_, remark)| remark));
    faults.extend(graph.missing().iter().map(purlin_graph::Missing::report));
    faults.extend(graph.warnings().iter().map(|(_, warning)| warning.clone()));
    Ok(faults)
}

/// The definitions that no resource of a graph uses.
fn unused<'a>(graph: &Graph, definition_index: &'a DefinitionIndex) -> Vec<&'a Definition> {
    let used: HashSet<&str> = graph.nodes().filter_map(|node| node.definition).map(|one| &*one.id).collect();
    definition_index.definitions().iter().filter(|one| !used.contains(&*one.id)).collect()
}

/// The faults of a definition that are independent of any resource.
async fn alone(definition: &Definition, drivers: &dyn Drivers, options: &PlanOptions) -> Vec<Diagnostic> {
    let recipe = &definition.recipe;
    let driver = match drivers.find(Needed::For(&recipe.driver)).await {
        Ok(driver) => driver,
        Err(fault) => return vec![*fault],
    };
    let secrets = match &recipe.secret_refs {
        Some(refs) => unknown_leaves(outline(refs), true),
        None => secret(outline(&recipe.secrets)),
    };
    let inputs = Inputs {
        values: outline(&recipe.values),
        secrets,
        params: Value::unknown(),
        connection: recipe.connection.as_ref().map_or(Value::Null, |one| unread(&outline(one))),
        account: None,
        account_fields: Value::Null,
    };
    let rules = &options.rules;
    rules.held_inputs(
        &*driver,
        &definition.type_pattern,
        &inputs,
        &recipe.location,
        &recipe.driver.location,
        None,
    )
}

fn secret(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(name, value)| (name, value.into_secret())).collect())
        }
        other => other,
    }
}

/// `secret_refs` with an unknown value in place of each leaf.
fn unknown_leaves(value: Value, top: bool) -> Value {
    let is_leaf = |map: &Map| map.keys().all(|key| matches!(&**key, "store" | "ref" | "version" | "value"));
    match value {
        Value::Map(map) if !top && is_leaf(&map) => Value::unknown().into_secret(),
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(name, value)| (name, unknown_leaves(value, false))).collect())
        }
        Value::List(items) => {
            Value::List(items.into_iter().map(|value| unknown_leaves(value, false)).collect())
        }
        other => other,
    }
}
