//! The values of resources while a plan is made or executed.

use std::borrow::Cow;
use std::sync::OnceLock;

use purlin_graph::{Graph, Inputs as Resolved, Node, NodeId, Provisioned};
use purlin_model::driver::keywords::write_once_outputs;
use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Diagnostic, Recipe, Value};

use crate::driver::requirement_name;
use crate::plan::{DriverSet, Plan};
use crate::values::rules::SchemaRules;
use crate::values::secrets::{self, SecretRef, Vault};

/// The values of a node once its turn has passed.
#[derive(Clone, Debug)]
pub(crate) struct NodeValues {
    /// Its outputs, unknown before it is provisioned.
    pub outputs: Value,
    /// Its resolved `inputs.values`.
    pub values: Value,
    /// Its resolved `driver_account`.
    pub account: Option<Box<str>>,
    /// Whether the driver may add outputs to these.
    pub more_outputs: bool,
}

impl NodeValues {
    /// The values of a node that matches the documents.
    pub(crate) fn settled(inputs: &Inputs, state: &ResourceState) -> Self {
        Self::with_outputs(inputs, state.outputs.clone())
    }

    /// The values of a node with known or unknown outputs.
    pub(crate) fn with_outputs(inputs: &Inputs, outputs: Value) -> Self {
        Self {
            outputs,
            values: inputs.values.clone(),
            account: inputs.account.as_deref().map(Box::from),
            more_outputs: false,
        }
    }

    /// The same values, with or without the note that the driver may add outputs.
    pub(crate) fn with_more(self, more_outputs: bool) -> Self {
        Self { more_outputs, ..self }
    }
}

/// One slot for each node, filled once and read by its dependents.
pub(crate) struct NodeValueTable(Vec<OnceLock<NodeValues>>);

impl NodeValueTable {
    /// As many empty slots as the graph has nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self(std::iter::repeat_with(OnceLock::new).take(nodes).collect())
    }

    /// Fills a slot. Each node has one turn, so no slot is filled twice.
    pub(crate) fn fill(&self, node: NodeId, known: NodeValues) {
        if let Some(slot) = self.0.get(node.index()) {
            let _ = slot.set(known);
        }
    }

    fn get(&self, node: NodeId) -> Option<&NodeValues> {
        self.0.get(node.index()).and_then(OnceLock::get)
    }
}

impl Provisioned for NodeValueTable {
    fn outputs(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.get(node).map(|known| Cow::Borrowed(&known.outputs))
    }
    fn values(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.get(node).map(|known| Cow::Borrowed(&known.values))
    }
    fn account(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        let account = |known: &NodeValues| known.account.as_deref().map_or(Value::Null, Value::from);
        self.get(node).map(|known| Cow::Owned(account(known)))
    }
    fn has_more_outputs(&self, node: NodeId) -> bool {
        self.get(node).is_some_and(|known| known.more_outputs)
    }
}

/// The known values of the nodes, combined with the drivers, which know the outputs that only a creation returns.
pub(crate) struct Reading<'a> {
    pub graph: &'a Graph,
    pub node_values: &'a NodeValueTable,
    pub drivers: &'a DriverSet,
}

impl Provisioned for Reading<'_> {
    fn outputs(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.node_values.outputs(node)
    }
    fn values(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.node_values.values(node)
    }
    fn account(&self, node: NodeId) -> Option<Cow<'_, Value>> {
        self.node_values.account(node)
    }
    fn has_more_outputs(&self, node: NodeId) -> bool {
        self.node_values.has_more_outputs(node)
    }
    fn is_write_once(&self, node: NodeId, output: &str) -> bool {
        let Some(node) = self.graph.node(node) else { return false };
        let driver = self.drivers.get(&requirement_name(&node.recipe.driver));
        let schema = driver.and_then(|driver| driver.info().schema(node.key.type_name()));
        schema.is_some_and(|schema| write_once_outputs(&schema.outputs).any(|name| name == output))
    }
}

/// What is known of the nodes before anything is provisioned: nothing.
pub(crate) struct NothingYet;

impl Provisioned for NothingYet {
    fn outputs(&self, _: NodeId) -> Option<Cow<'_, Value>> {
        None
    }
    fn values(&self, _: NodeId) -> Option<Cow<'_, Value>> {
        None
    }
    fn account(&self, _: NodeId) -> Option<Cow<'_, Value>> {
        None
    }
    fn has_more_outputs(&self, _: NodeId) -> bool {
        false
    }
}

/// Whether the documents alone determine the inputs of a node, whatever other resources return.
pub(crate) fn is_determined(graph: &Graph, node: NodeId) -> bool {
    graph.evaluate(node, &NothingYet).is_ok_and(|inputs| {
        let Resolved { params, values, secrets, secret_refs, connection, account } = &inputs;
        let parts = [params, values, secrets, connection].into_iter().chain(secret_refs).chain(account);
        !parts.into_iter().any(Value::has_unknown)
    })
}

/// The store secrets that the resolved inputs name, as far as the names are known and the driver is
/// granted the stores.
pub(crate) fn wanted(node: Node<'_>, resolved: &Resolved, vault: &Vault) -> Vec<SecretRef> {
    let mut wanted = resolved.secret_refs.as_ref().map(secrets::wanted).unwrap_or_default();
    wanted.extend(secrets::wanted_in(&resolved.connection));
    wanted.retain(|secret| vault.allows(&node.recipe.driver.name, &secret.store));
    wanted
}

/// The connection of a recipe, with its secrets read from their stores.
pub(crate) async fn connection(
    recipe: &Recipe,
    written: Value,
    vault: &Vault,
    rules: &SchemaRules,
) -> Result<Value, Vec<Diagnostic>> {
    let driver = &recipe.driver.name;
    let mut wanted = secrets::wanted_in(&written);
    wanted.retain(|secret| vault.allows(driver, &secret.store));
    vault.read(wanted).await;
    secrets::resolve_in(written, driver, vault, rules, ("connection", &recipe.location))
}

/// The secret references of a node: its `secret_refs` without literal secrets.
pub(crate) fn references(resolved: &Resolved) -> Value {
    resolved.secret_refs.as_ref().map(secrets::references).unwrap_or_default()
}

/// The inputs of a node, with their secrets read from their stores.
pub(crate) async fn read_inputs(
    graph: &Graph,
    node: Node<'_>,
    node_values: &NodeValueTable,
    plan: &Plan,
) -> Result<Inputs, Vec<Diagnostic>> {
    let vault = &plan.vault;
    let resolved = graph.evaluate(node.id, &Reading { graph, node_values, drivers: &plan.drivers })?;
    vault.read(wanted(node, &resolved, vault)).await;
    inputs(node, resolved, vault, &plan.rules)
}

/// The inputs of a node, as far as the values are known and the plan's vault has read the secrets.
pub(crate) fn known_inputs(
    graph: &Graph,
    node: Node<'_>,
    node_values: &NodeValueTable,
    plan: &Plan,
) -> Result<Inputs, Vec<Diagnostic>> {
    inputs(node, graph.evaluate(node.id, node_values)?, &plan.vault, &plan.rules)
}

/// The inputs of a node, with the secrets that the vault has read. `rules` know where faulty
/// references to secrets are written.
pub(crate) fn inputs(
    node: Node<'_>,
    resolved: Resolved,
    vault: &Vault,
    rules: &SchemaRules,
) -> Result<Inputs, Vec<Diagnostic>> {
    let (location, driver) = (&node.recipe.location, &node.recipe.driver.name);
    let secrets = match resolved.secret_refs {
        Some(refs) => secrets::resolve(&refs, driver, vault, rules, location),
        None => Ok(resolved.secrets),
    };
    let connection = secrets::resolve_in(resolved.connection, driver, vault, rules, ("connection", location));
    let (secrets, connection) = match (secrets, connection) {
        (Ok(secrets), Ok(connection)) => (secrets, connection),
        (secrets, connection) => {
            let faults = [secrets, connection].into_iter().filter_map(Result::err);
            return Err(faults.flatten().collect());
        }
    };
    let account = match resolved.account {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) if other.has_unknown() => {
            let what = format!(
                "the `driver_account` of `{}` reads what is known only once another resource is provisioned",
                node.key
            );
            let help = "read it from `${context…}`, `${values…}` or `${params…}`, or take that of another \
                        resource: `${resources[…].account}`";
            return Err(vec![Diagnostic::error("account-not-text", what).at(location).help(help)]);
        }
        Some(other) => {
            let what = format!("the `driver_account` of `{}` is {}, not a name", node.key, other.kind());
            return Err(vec![Diagnostic::error("account-not-text", what).at(location)]);
        }
    };
    Ok(Inputs {
        values: map(resolved.values),
        secrets: map(secrets),
        params: map(resolved.params),
        connection,
        account,
        account_fields: Value::Null,
    })
}

fn map(value: Value) -> Value {
    match value {
        Value::Null => Value::map(),
        other => other,
    }
}

/// Whether all inputs are known before provisioning.
pub(crate) fn is_known(inputs: &Inputs) -> bool {
    is_known_but_connection(inputs) && !inputs.connection.has_unknown()
}

/// Whether all inputs except the connection are known.
pub(crate) fn is_known_but_connection(inputs: &Inputs) -> bool {
    ![&inputs.values, &inputs.secrets, &inputs.params].into_iter().any(Value::has_unknown)
}
