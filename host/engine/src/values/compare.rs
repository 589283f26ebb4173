//! Compares the resources that two sets of documents describe.

use std::collections::{BTreeMap, HashSet};

use purlin_graph::Graph;
use purlin_model::driver::Inputs;
use purlin_model::{AliasName, Diagnostic, Key, Urn, Value};
use purlin_state::Snapshot;

use crate::changes::diff;
use crate::error::Error;
use crate::plan::ValueChange;
use crate::records::recorded::Recorded;
use crate::values::evaluate::{self, NodeValueTable, NodeValues};
use crate::values::rules::SchemaRules;
use crate::values::secrets::Vault;

/// How a resource differs between two sets of documents.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Difference {
    /// Only the later documents contain the resource.
    Added(Vec<ValueChange>),
    /// Only the earlier documents contain the resource.
    Removed,
    /// Both contain the resource, with different inputs, drivers or definitions.
    Changed(Vec<ValueChange>),
    /// Both contain the resource, and the later documents give it another name.
    Moved {
        /// Its name in the earlier documents.
        from: Key,
        /// The inputs that differ, and its driver and definition.
        changes: Vec<ValueChange>,
    },
}

impl Difference {
    /// The word for it, as in JSON.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }

    /// The inputs that differ.
    pub fn changes(&self) -> &[ValueChange] {
        match self {
            Self::Added(changes) | Self::Changed(changes) | Self::Moved { changes, .. } => changes,
            Self::Removed => &[],
        }
    }

    /// The earlier name of a resource that was moved.
    pub fn moved_from(&self) -> Option<&Key> {
        match self {
            Self::Moved { from, .. } => Some(from),
            Self::Added(_) | Self::Removed | Self::Changed(_) => None,
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
    let moved = moves(before, after);
    let old_names: BTreeMap<&Key, &Key> = moved.iter().map(|(new, old)| (old, new)).collect();
    // What was recorded under the one name may be recorded under the other one now.
    let before =
        inputs_of(before, &recorded, &|key| old_names.get(key).copied()).map_err(Error::Documents)?;
    let after = inputs_of(after, &recorded, &|key| moved.get(key)).map_err(Error::Documents)?;
    let mut differences = BTreeMap::new();
    for (key, now) in &after {
        let from = moved.get(key);
        let difference = match (before.get(from.unwrap_or(key)), from) {
            (None, _) => Difference::Added(diff::inputs(None, &now.inputs)),
            (Some(old), Some(from)) => Difference::Moved { from: from.clone(), changes: changes(old, now) },
            (Some(old), None) => match changes(old, now) {
                none if none.is_empty() => continue,
                changes => Difference::Changed(changes),
            },
        };
        differences.insert(key.clone(), difference);
    }
    for key in before.keys().filter(|key| !after.contains_key(*key) && !old_names.contains_key(key)) {
        differences.insert(key.clone(), Difference::Removed);
    }
    Ok(differences)
}

/// The earlier names of the resources that have another name in the later documents, by their later
/// names: those that an alias names, as in a plan.
fn moves(before: &Graph, after: &Graph) -> BTreeMap<Key, Key> {
    let mut moved = BTreeMap::new();
    let mut taken = HashSet::new();
    for node in after.nodes().filter(|node| before.find(node.key.as_str()).is_none()) {
        let names = node.lifecycle.aliases.iter().filter_map(|alias| match &alias.name {
            AliasName::Key(key) => Some(key.clone()),
            AliasName::Urn(urn) => urn.key().filter(|key| Urn::new(before.context(), key) == *urn),
        });
        let left = |key: &Key| before.find(key.as_str()).is_some() && after.find(key.as_str()).is_none();
        if let Some(old) = names.into_iter().find(left)
            && taken.insert(old.clone())
        {
            moved.insert(node.key.clone(), old);
        }
    }
    moved
}

/// What a resource is made from.
struct Made {
    driver: String,
    definition: String,
    inputs: Inputs,
    /// The references to secrets.
    references: Value,
}

fn changes(old: &Made, now: &Made) -> Vec<ValueChange> {
    let mut changes = diff::inputs(Some(&old.inputs), &now.inputs);
    changes.extend(diff::references(&old.references, &now.references));
    for (path, old, new) in
        [("/driver", &old.driver, &now.driver), ("/definition", &old.definition, &now.definition)]
    {
        if old != new {
            changes.push(ValueChange {
                path: path.into(),
                before: Some(Value::string(old.as_str())),
                after: Some(Value::string(new.as_str())),
                replaces: false,
            });
        }
    }
    changes
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

/// What every resource is made from. Some are perhaps recorded under the other name that they have.
fn inputs_of<'a>(
    graph: &Graph,
    recorded: &Recorded,
    other_name: &dyn Fn(&Key) -> Option<&'a Key>,
) -> Result<BTreeMap<Key, Made>, Vec<Diagnostic>> {
    let node_values = NodeValueTable::new(graph.len());
    // Two secrets are equal if they have the same reference, so no store is read.
    let (closed, rules) = (Vault::closed(), SchemaRules::default());
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
            Ok((inputs, references)) => {
                let record_of = |key: &Key| recorded.current(&Urn::new(graph.context(), key));
                let record = record_of(node.key).or_else(|| record_of(other_name(node.key)?));
                let outputs = record.map_or(Value::unknown(), |record| record.state.outputs.clone());
                node_values.fill(id, NodeValues::with_outputs(&inputs, outputs));
                let driver = match &node.recipe.driver.range {
                    None => node.recipe.driver.name.to_string(),
                    Some(range) => format!("{}@{range}", node.recipe.driver.name),
                };
                let definition = node.recipe.name.as_deref().unwrap_or("").to_owned();
                inputs_by_key.insert(node.key.clone(), Made { driver, definition, inputs, references });
            }
        }
    }
    if errors.is_empty() { Ok(inputs_by_key) } else { Err(errors) }
}
