//! The inputs that the current documents give a recorded resource. Calls on recorded resources use
//! the recorded inputs; if those are outdated, such as a rotated credential, the current ones
//! replace them.

use std::borrow::Cow;
use std::sync::Arc;

use purlin_graph::{Graph, Node, NodeId, Provisioned};
use purlin_model::driver::Inputs;
use purlin_model::{Context, Urn, Value};
use purlin_state::Record;

use crate::driver::{Call, Driver};
use crate::records::recorded::{Recorded, exists};
use crate::values::evaluate;
use crate::values::evaluate::is_known;
use crate::values::rules::{SchemaRules, connection};
use crate::values::secrets::{SecretStores, Vault};

/// The inputs that the current documents give recorded resources.
#[derive(Clone, Debug)]
pub struct CurrentInputs {
    graph: Arc<Graph>,
    rules: Arc<SchemaRules>,
    vault: Arc<Vault>,
}

impl CurrentInputs {
    /// Takes the graph of the documents. Secrets are read from `stores` when inputs are requested,
    /// at most `parallelism` at a time.
    pub fn new(
        graph: Arc<Graph>,
        context: &Context,
        rules: Arc<SchemaRules>,
        stores: Arc<dyn SecretStores>,
        parallelism: usize,
    ) -> Self {
        Self { graph, rules, vault: Arc::new(Vault::new(stores, context, parallelism)) }
    }

    /// Takes the parts of a plan.
    pub(crate) fn of_plan(graph: &Arc<Graph>, rules: &Arc<SchemaRules>, vault: &Arc<Vault>) -> Self {
        Self { graph: Arc::clone(graph), rules: Arc::clone(rules), vault: Arc::clone(vault) }
    }

    /// The recorded inputs of a resource with the current connection. `None` if the documents have
    /// no connection for the resource, or if the connection leads to another system.
    ///
    /// A resource that left the documents uses the connection of its current definition, if that
    /// definition still uses the same driver and the connection reads no other resource.
    pub(crate) async fn with_current_connection(
        &self,
        record: &Record,
        recorded: &Recorded,
        driver: &dyn Driver,
    ) -> Option<Inputs> {
        let key = record.urn.key()?;
        let mut inputs = match self.graph.find(key.as_str()) {
            Some(node) => {
                let node = self.graph.node(node)?;
                if !has_connection(node) || node.recipe.driver.name != record.driver.name {
                    return None;
                }
                let read = AsRecorded { graph: &self.graph, recorded };
                let resolved = self.graph.evaluate(node.id, &read).ok()?;
                self.vault.read(evaluate::wanted(node, &resolved, &self.vault)).await;
                evaluate::inputs(node, resolved, &self.vault, &self.rules).ok()?
            }
            None => {
                let recipe = self.graph.recipe(record.definition.as_deref()?)?;
                if recipe.driver.name != record.driver.name {
                    return None;
                }
                let written = self.graph.connection_of(recipe, &key, &record.inputs.params)?;
                let connection =
                    evaluate::connection(recipe, written, &self.vault, &self.rules).await.ok()?;
                Inputs { connection, ..record.inputs.clone() }
            }
        };
        self.rules.connect(driver, key.type_name(), &mut inputs);
        let reached = connection::with_connection(driver.info(), record, &inputs.connection)?;
        (!reached.connection.has_unknown()).then_some(reached)
    }

    /// The current inputs of a recorded resource. `None` if the documents do not contain the
    /// resource or give it another driver, or if a resource that it reads is not recorded.
    pub(crate) async fn of(
        &self,
        record: &Record,
        recorded: &Recorded,
        driver: &dyn Driver,
        call: &Call,
    ) -> Option<Inputs> {
        let key = record.urn.key()?;
        let node = self.graph.node(self.graph.find(key.as_str())?)?;
        if node.recipe.driver.name != record.driver.name {
            return None;
        }
        let resolved = self.graph.evaluate(node.id, &AsRecorded { graph: &self.graph, recorded }).ok()?;
        self.vault.read(evaluate::wanted(node, &resolved, &self.vault)).await;
        let mut inputs = evaluate::inputs(node, resolved, &self.vault, &self.rules).ok()?;
        self.rules.connect(driver, key.type_name(), &mut inputs);
        self.rules.fill(driver, key.type_name(), &mut inputs, Some(&record.inputs));
        if driver.implements(&key).check {
            let checked = driver.check(call, &inputs, Some(&record.inputs)).await.ok()?;
            inputs.values = checked.values;
            inputs.secrets = checked.secrets;
        }
        is_known(&inputs).then_some(inputs)
    }
}

/// Whether the recipe of a node has a connection.
fn has_connection(node: Node<'_>) -> bool {
    node.recipe.connection.is_some()
}

/// Reads the recorded values of the resources of a graph.
pub(crate) struct AsRecorded<'a> {
    pub graph: &'a Graph,
    pub recorded: &'a Recorded,
}

impl<'a> AsRecorded<'a> {
    fn record(&self, node: NodeId) -> Option<&'a Record> {
        let urn = Urn::new(self.graph.context(), self.graph.key(node)?);
        self.recorded.current(&urn).map(|record| &**record).filter(|record| exists(record))
    }
}

impl Provisioned for AsRecorded<'_> {
    fn outputs(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.record(node).map(|record| Cow::Borrowed(&record.state.outputs))
    }
    fn values(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.record(node).map(|record| Cow::Borrowed(&record.inputs.values))
    }
    fn account(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        let account = |record: &Record| record.inputs.account.as_deref().map_or(Value::Null, Value::from);
        self.record(node).map(|record| Cow::Owned(account(record)))
    }
}
