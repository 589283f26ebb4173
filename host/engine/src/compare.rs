//! Compares the resources that two sets of documents describe.

use std::collections::BTreeMap;

use purlin_graph::Graph;
use purlin_model::driver::Inputs;
use purlin_model::{Diagnostic, Key, Urn, Value};
use purlin_state::Snapshot;

use crate::diff;
use crate::error::Error;
use crate::evaluate::{self, NodeValueTable, NodeValues};
use crate::plan::Change;
use crate::recorded::Recorded;
use crate::rules::Rules;
use crate::secrets::Vault;

/// How a resource differs between two sets of documents.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Only the later documents contain the resource.
    Added(Vec<Change>),
    /// Only the earlier documents contain the resource.
    Removed,
    /// Both contain the resource, with different inputs, drivers or definitions.
    Changed(Vec<Change>),
}

impl Difference {
    /// The word for it, as in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added(_) => "added",
            Self::Removed => "removed",
            Self::Changed(_) => "changed",
        }
    }

    /// The inputs that differ.
    pub fn changes(&self) -> &[Change] {
        match self {
            Self::Added(changes) | Self::Changed(changes) => changes,
            Self::Removed => &[],
        }
    }
}

/// The differences by key. Inputs that read outputs get the recorded ones. Outputs that are not
/// recorded are unknown, and two unknown values count as equal.
///
/// # Errors
/// [`Error::Documents`] if inputs cannot be resolved.
pub fn compare(
    before: &Graph,
    after: &Graph,
    snapshot: Snapshot,
) -> Result<BTreeMap<Key, Difference>, Error> {
    let recorded = Recorded::new(snapshot)?;
    let before = inputs_of(before, &recorded).map_err(Error::Documents)?;
    let after = inputs_of(after, &recorded).map_err(Error::Documents)?;
    let mut differences = BTreeMap::new();
    for (key, (recipe, inputs, refs)) in &after {
        let difference = match before.get(key) {
            None => Difference::Added(diff::inputs(None, inputs)),
            Some((old_recipe, old, old_refs)) => {
                let mut changes = diff::inputs(Some(old), inputs);
                changes.extend(diff::references(old_refs, refs));
                for (path, old, new) in
                    [("/driver", &old_recipe.0, &recipe.0), ("/definition", &old_recipe.1, &recipe.1)]
                {
                    if old != new {
                        changes.push(Change {
                            path: path.into(),
                            before: Some(Value::string(old.as_str())),
                            after: Some(Value::string(new.as_str())),
                            replaces: false,
                        });
                    }
                }
                if changes.is_empty() {
                    continue;
                }
                Difference::Changed(changes)
            }
        };
        differences.insert(key.clone(), difference);
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        differences.insert(key.clone(), Difference::Removed);
    }
    Ok(differences)
}

/// A map whose entries are all secret.
fn secret_entries(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(name, value)| (name, value.into_secret())).collect())
        }
        Value::Null => Value::Null,
        other => other.into_secret(),
    }
}

/// The driver and definition, the inputs, and the secret references of every resource.
type InputsByKey = BTreeMap<Key, ((String, String), Inputs, Value)>;

fn inputs_of(graph: &Graph, recorded: &Recorded) -> Result<InputsByKey, Vec<Diagnostic>> {
    let node_values = NodeValueTable::new(graph.len());
    // Two secrets are equal if they have the same reference, so no store is read.
    let (closed, rules) = (Vault::closed(), Rules::default());
    let mut inputs_by_key = BTreeMap::new();
    let mut errors = Vec::new();
    for id in graph.order() {
        let Some(node) = graph.node(id) else { continue };
        let resolved = graph.evaluate(id, &node_values).and_then(|resolved| {
            let refs = evaluate::references(&resolved);
            let mut inputs = evaluate::inputs(node, resolved, &closed, &rules)?;
            // Without the driver's schema, it is unknown which parts of a connection are secret.
            inputs.connection = secret_entries(inputs.connection);
            Ok((inputs, refs))
        });
        match resolved {
            Err(faults) => errors.extend(faults),
            Ok((inputs, refs)) => {
                let record = recorded.current(&Urn::new(graph.context(), node.key));
                let outputs = record.map_or(Value::unknown(), |record| record.state.outputs.clone());
                node_values.settle(id, NodeValues::with_outputs(&inputs, outputs));
                let driver = match &node.recipe.driver.range {
                    None => node.recipe.driver.name.to_string(),
                    Some(range) => format!("{}@{range}", node.recipe.driver.name),
                };
                let definition = node.recipe.name.as_deref().unwrap_or("").to_owned();
                inputs_by_key.insert(node.key.clone(), ((driver, definition), inputs, refs));
            }
        }
    }
    if errors.is_empty() { Ok(inputs_by_key) } else { Err(errors) }
}
