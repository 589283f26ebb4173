//! Plans from the records alone, to look ahead over many environments: no driver is called and no
//! store is read.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use purlin_graph::Graph;
use purlin_model::driver::keywords::{self, keep_omitted};
use purlin_model::driver::{Checked, DriverInfo, Failure, Impact, Inputs, Observed};
use purlin_model::{Context, Diagnostic, Map, Urn, Value};
use purlin_sandbox::CallError;
use secrecy::{ExposeSecret as _, SecretString};

use crate::driver::{About, Call, Driver, Drivers, Effect, Needed, ReadRequest, Request, Response};
use crate::planner::Base;
use crate::values::current::AsRecorded;
use crate::values::predict;
use crate::values::secrets::{self, SecretFault, SecretRef, SecretStores};

/// Drivers reduced to their descriptions: the schemas say what a change does, and the records stand
/// for the real objects. What a driver's `check` made of inputs is in the records too: where the
/// documents write the same as before, or nothing, the recorded value stays. The outputs of a resource
/// that is updated in place count as unchanged, unless they are computed from its inputs: a value that only
/// the driver knows is no change of what reads it.
pub struct DescribedDrivers<'a> {
    drivers: &'a dyn Drivers,
    /// The values that the documents of the records wrote.
    written: Arc<HashMap<Urn, Value>>,
    keeps_outputs: bool,
}

impl<'a> DescribedDrivers<'a> {
    /// `graph` is that of the documents with which the resources of `base` were provisioned.
    pub fn new(drivers: &'a dyn Drivers, graph: &Graph, base: &Base) -> Self {
        let read = AsRecorded { graph, recorded: &base.recorded };
        let written = graph.nodes().filter_map(|node| {
            let urn = Urn::new(graph.context(), node.key);
            base.current(&urn)?;
            Some((urn, graph.evaluate(node.id, &read).ok()?.values))
        });
        Self { drivers, written: Arc::new(written.collect()), keeps_outputs: true }
    }

    /// The same, with unknown outputs of every resource that is updated.
    pub fn with_unknown_outputs(self) -> Self {
        Self { keeps_outputs: false, ..self }
    }
}

#[async_trait]
impl Drivers for DescribedDrivers<'_> {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let driver = self.drivers.find(needed).await?;
        let mut info = driver.info().clone();
        for described in &mut info.types {
            (described.implements.update_impact, described.implements.name) = (true, false);
            // Without a call, not even the names of computed outputs are known.
            if described.outputs[keywords::OUTPUTS] == "computed"
                && let Some(outputs) = described.outputs.as_object_mut()
            {
                outputs.remove(keywords::OUTPUTS);
            }
        }
        let written = Arc::clone(&self.written);
        Ok(Arc::new(DescribedDriver { info, driver, written, keeps_outputs: self.keeps_outputs }))
    }
}

struct DescribedDriver {
    info: DriverInfo,
    driver: Arc<dyn Driver>,
    written: Arc<HashMap<Urn, Value>>,
    keeps_outputs: bool,
}

impl DescribedDriver {
    /// The outputs that count as unchanged if the resource is updated in place.
    fn stable_outputs(&self, call: &Call) -> Vec<String> {
        match self.keeps_outputs && !predict::computes(&*self.driver, &call.subject.key) {
            true => vec!["/outputs".to_owned(), "/secrets".to_owned()],
            false => Vec::new(),
        }
    }
}

#[async_trait]
impl Driver for DescribedDriver {
    fn about(&self) -> About<'_> {
        About { info: &self.info, previews: false, ..self.driver.about() }
    }

    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError> {
        let what = match request {
            Request::Check { inputs, previous } => {
                let Inputs { mut values, secrets, .. } = inputs.clone();
                if let Some(previous) = previous {
                    let written = self.written.get(&call.subject.urn);
                    values = checked_again(&values, written, Some(&previous.values)).unwrap_or_default();
                    if let Some(schema) = self.info.schema(call.subject.key.type_name()) {
                        keep_omitted(&schema.inputs, "values", &previous.values, &mut values);
                    }
                }
                return Ok(Response::Checked(Checked { values, secrets, warnings: Vec::new() }));
            }
            Request::Read(ReadRequest { state: Some(state), .. }) => {
                return Ok(Response::Observed(Some(Observed {
                    state: state.clone(),
                    ..Observed::default()
                })));
            }
            Request::UpdateImpact(_) => {
                let stable_outputs = self.stable_outputs(call);
                return Ok(Response::Impact(Impact { stable_outputs, ..Impact::default() }));
            }
            Request::Preview(_) => return Ok(Response::Forecast(None)),
            Request::Name(_) => "name",
            Request::Read(_) => "read",
            Request::Effect(Effect::Create { .. }) => "create",
            Request::Effect(Effect::Update(_)) => "update",
            Request::Effect(Effect::Delete { .. }) => "delete",
        };
        let message =
            format!("only a call of the driver `{}` can {what} the resource", self.driver.known_as());
        Err(CallError::Failure(Failure::Failed(message.into())))
    }
}

/// A value as the driver's `check` would return it: like the `previous` one if it is `written` as
/// before, also if it is written nowhere. `None` if there is no such value.
fn checked_again(value: &Value, written: Option<&Value>, previous: Option<&Value>) -> Option<Value> {
    let Some(previous) = previous else {
        return (written != Some(value)).then(|| value.clone());
    };
    if written == Some(value) {
        return Some(previous.clone());
    }
    Some(match (value, previous) {
        (Value::Map(map), Value::Map(previous)) => {
            let was = |name: &str| written.and_then(|written| written.as_map()?.get(name));
            let mut checked = Map::with_capacity(map.len());
            for (name, value) in map {
                if let Some(value) = checked_again(value, was(name), previous.get(name)) {
                    checked.insert(name.clone(), value);
                }
            }
            for (name, value) in previous {
                if !map.contains_key(name) && was(name).is_none() {
                    checked.insert(name.clone(), value.clone());
                }
            }
            Value::Map(checked)
        }
        (Value::List(items), Value::List(previous)) if items.len() == previous.len() => {
            let was = |index: usize| match written {
                Some(Value::List(written)) => written.get(index),
                _ => None,
            };
            let items = items.iter().zip(previous).enumerate();
            let checked = items.map(|(index, (item, previous))| {
                checked_again(item, was(index), Some(previous)).unwrap_or_default()
            });
            Value::List(checked.collect())
        }
        _ => value.clone(),
    })
}

/// Stores that return the secrets with which resources were last provisioned. A secret that is not
/// recorded gets a unique text, which equals no other secret.
#[derive(Debug)]
pub struct RecordedSecrets {
    known: HashMap<SecretRef, SecretString>,
    stores: Arc<dyn SecretStores>,
}

impl RecordedSecrets {
    /// The secrets of an environment: `graph` says which store secret each resource was provisioned
    /// with. `stores` decides which driver may have one.
    pub fn new(graph: &Graph, base: &Base, stores: Arc<dyn SecretStores>) -> Self {
        let mut known = HashMap::new();
        let read = AsRecorded { graph, recorded: &base.recorded };
        for node in graph.nodes() {
            let recipe = node.recipe;
            if recipe.secret_refs.is_none() && recipe.connection.is_none() {
                continue;
            }
            let Some(record) = base.current(&Urn::new(graph.context(), node.key)) else { continue };
            let Ok(resolved) = graph.evaluate(node.id, &read) else { continue };
            let Inputs { secrets, connection, .. } = &record.inputs;
            let refs = resolved.secret_refs.unwrap_or_default();
            for (written, recorded) in [(&refs, secrets), (&resolved.connection, connection)] {
                secrets::pair(written, recorded, &mut |secret, value| {
                    if let Value::String(text) = value.exposed() {
                        known.insert(secret, SecretString::from(text.to_string()));
                    }
                });
            }
        }
        Self { known, stores }
    }
}

#[async_trait]
impl SecretStores for RecordedSecrets {
    fn allows(&self, driver: &str, store: &str) -> Result<(), SecretFault> {
        self.stores.allows(driver, store)
    }

    fn knows_driver(&self, driver: &str) -> bool {
        self.stores.knows_driver(driver)
    }

    async fn get(&self, secret: &SecretRef, _: &Context) -> Result<SecretString, SecretFault> {
        if let Some(known) = self.known.get(secret) {
            return Ok(SecretString::from(known.expose_secret().to_owned()));
        }
        let SecretRef { store, name, version } = secret;
        let version = version.as_deref().unwrap_or_default();
        Ok(SecretString::from(format!("not read: `{name}` of `{store}` {version}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_driver_made_of_unchanged_values_stays() {
        let written = Value::from(json!({
            "bucket": {"tags": {"a": "1", "b": "2"}, "gone": 1, "null": null},
            "name": "Example.COM", "rules": [{"x": 1}, {"x": 2}],
        }));
        let previous = Value::from(json!({
            "bucket": {"name": "chosen", "tags": {"a": "1", "b": "2", "owner": "me"}, "gone": 1},
            "name": "example.com", "rules": [{"x": 1, "id": "one"}, {"x": 2, "id": "two"}],
        }));
        let again = |value: serde_json::Value| {
            checked_again(&value.into(), Some(&written), Some(&previous)).expect("a value").redact()
        };
        let same = written.redact();
        assert_eq!(again(same), previous.redact());
        assert_eq!(
            again(json!({
                "bucket": {"tags": {"a": "1", "c": "3"}, "null": null},
                "name": "Example.COM", "rules": [{"x": 1}, {"x": 3}],
            })),
            json!({
                "bucket": {"tags": {"a": "1", "c": "3", "owner": "me"}, "name": "chosen"},
                "name": "example.com", "rules": [{"x": 1, "id": "one"}, {"x": 3, "id": "two"}],
            })
        );
        assert_eq!(again(json!({"name": "other", "rules": []}))["name"], json!("other"));
        assert_eq!(again(json!({"rules": []})), json!({"rules": []}));
        // A resource that the earlier documents did not have.
        let moved = checked_again(&Value::from(json!({"bucket": {}})), None, Some(&previous));
        assert_eq!(moved.expect("a value").redact()["bucket"]["name"], json!("chosen"));
    }
}
