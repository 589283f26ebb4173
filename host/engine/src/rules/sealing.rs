//! Making secret what drivers return, wherever they return it.

use std::sync::Arc;

use async_trait::async_trait;
use purlin_model::driver::{Checked, Failure, Impact, Inputs, Manifest, Observed, ResourceState};
use purlin_model::{Grants, Label, Map, Value};
use purlin_sandbox::{CallError, Change};
use purlin_schema::Schema;

use super::Rules;
use crate::driver::{Call, Driver, Look};

/// A driver of which some outputs are secret by a schema.
struct Sealing {
    driver: Arc<dyn Driver>,
    rules: Arc<Rules>,
}

impl Rules {
    /// The same driver; outputs that are secret by a schema are so as soon as it returns them.
    pub(crate) fn sealing(self: &Arc<Self>, driver: Arc<dyn Driver>) -> Arc<dyn Driver> {
        match self.seals_outputs_of(&*driver) {
            true => Arc::new(Sealing { driver, rules: Arc::clone(self) }),
            false => driver,
        }
    }
}

impl Sealing {
    fn state(&self, call: &Call, mut state: ResourceState) -> ResourceState {
        let outputs = std::mem::take(&mut state.outputs);
        state.outputs = self.rules.seal_outputs(call.subject.key.type_name(), &*self.driver, outputs);
        state
    }

    fn result(
        &self,
        call: &Call,
        result: Result<ResourceState, CallError>,
    ) -> Result<ResourceState, CallError> {
        match result {
            Ok(state) => Ok(self.state(call, state)),
            Err(CallError::Failure(Failure::Partial { state, message })) => {
                let state = Box::new(self.state(call, *state));
                Err(CallError::Failure(Failure::Partial { state, message }))
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Driver for Sealing {
    fn manifest(&self) -> &Manifest {
        self.driver.manifest()
    }

    fn known_as(&self) -> &str {
        self.driver.known_as()
    }

    fn digest(&self) -> &str {
        self.driver.digest()
    }

    fn grants(&self) -> Option<&Grants> {
        self.driver.grants()
    }

    async fn check(
        &self,
        call: &Call,
        inputs: &Inputs,
        previous: Option<&Inputs>,
    ) -> Result<Checked, CallError> {
        self.driver.check(call, inputs, previous).await
    }

    async fn name(&self, call: &Call, inputs: &Inputs) -> Result<Label, CallError> {
        self.driver.name(call, inputs).await
    }

    async fn create(&self, call: &Call, inputs: &Inputs, name: &str) -> Result<ResourceState, CallError> {
        self.result(call, self.driver.create(call, inputs, name).await)
    }

    async fn read(&self, call: &Call, look: Look<'_>) -> Result<Option<Observed>, CallError> {
        let found = self.driver.read(call, look).await?;
        Ok(found.map(|found| Observed { state: self.state(call, found.state), ..found }))
    }

    async fn update_impact(&self, call: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        self.driver.update_impact(call, change).await
    }

    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        self.result(call, self.driver.update(call, change).await)
    }

    async fn delete(&self, call: &Call, state: &ResourceState, inputs: &Inputs) -> Result<(), CallError> {
        self.driver.delete(call, state, inputs).await
    }
}

/// Makes secret what a driver's own schema says is secret among the outputs of a type, for a caller
/// without documents.
pub fn seal_outputs(manifest: &Manifest, type_name: &str, outputs: Value) -> Value {
    match manifest.schema(type_name).filter(|schema| speaks_of_secrets(&schema.outputs)) {
        Some(schema) => match Schema::new(&schema.outputs) {
            Ok(schema) => schema.seal(outputs),
            // What is secret cannot be told, and something is.
            Err(_) => outputs.into_secret(),
        },
        None => outputs,
    }
}

/// Whether a schema says of anything that it is secret.
pub(super) fn speaks_of_secrets(schema: &serde_json::Value) -> bool {
    match schema {
        serde_json::Value::Object(map) => map.iter().any(|(name, value)| {
            (matches!(name.as_str(), "writeOnly" | "x-secret") && *value == true) || speaks_of_secrets(value)
        }),
        serde_json::Value::Array(items) => items.iter().any(speaks_of_secrets),
        _ => false,
    }
}

/// What was found, secret where what is recorded is: no schema is at hand when only records are
/// read.
pub(crate) fn keep_secret(recorded: &Value, found: Value) -> Value {
    match (recorded, found) {
        (Value::Secret(_), found) => found.into_secret(),
        (Value::Map(recorded), Value::Map(found)) => Value::Map(
            found
                .into_iter()
                .map(|(name, value)| {
                    let value = match recorded.get(&name) {
                        Some(recorded) => keep_secret(recorded, value),
                        None => value,
                    };
                    (name, value)
                })
                .collect::<Map>(),
        ),
        (Value::List(recorded), Value::List(found)) => {
            // Where the items moved to cannot be told.
            let all = recorded.len() != found.len() && recorded.iter().any(Value::has_secret);
            let item = |(index, value): (usize, Value)| match recorded.get(index) {
                _ if all => value.into_secret(),
                Some(recorded) => keep_secret(recorded, value),
                None => value,
            };
            Value::List(found.into_iter().enumerate().map(item).collect())
        }
        (_, found) => found,
    }
}
