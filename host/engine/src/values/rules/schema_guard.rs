//! Holds a driver to its own schemas: the host enforces them, regardless of the language that the
//! driver is written in. Outputs become secret as soon as the driver returns them, outputs that are
//! returned once stay recorded, and a change to an input that cannot change in place replaces the
//! resource or is rejected.

use std::sync::Arc;

use async_trait::async_trait;
use purlin_model::driver::keywords::{
    add_effects, has_change_keywords, has_write_once_outputs, keep_write_once,
};
use purlin_model::driver::{DriverInfo, ResourceState};
use purlin_sandbox::CallError;

use super::SchemaRules;
use crate::driver::{About, Call, Driver, Effect, Request, Response, returned_state};

/// A driver with a schema that does more than describe the shape of its inputs.
struct SchemaGuard {
    driver: Arc<dyn Driver>,
    rules: Arc<SchemaRules>,
    info: DriverInfo,
}

impl SchemaRules {
    /// Wraps the driver so that its schemas are enforced.
    pub(crate) fn guarded(self: &Arc<Self>, driver: Arc<dyn Driver>) -> Arc<dyn Driver> {
        let info = driver.info();
        let changes = info.types.iter().any(|schema| has_change_keywords(&schema.inputs));
        let once = info.types.iter().any(|schema| has_write_once_outputs(&schema.outputs));
        if !(changes || once || self.seals_outputs_of(&*driver)) {
            return driver;
        }
        let mut info = info.clone();
        for described in &mut info.types {
            described.implements.update_impact |= has_change_keywords(&described.inputs);
        }
        Arc::new(SchemaGuard { driver, rules: Arc::clone(self), info })
    }
}

impl SchemaGuard {
    /// The state that a driver returned, with the outputs that it returned earlier.
    fn state(&self, call: &Call, mut state: ResourceState, before: Option<&ResourceState>) -> ResourceState {
        let type_name = call.subject.key.type_name();
        let outputs = std::mem::take(&mut state.outputs);
        state.outputs = self.rules.seal_outputs(type_name, &*self.driver, outputs);
        if let (Some(schema), Some(before)) = (self.info.schema(type_name), before) {
            keep_write_once(&schema.outputs, &before.outputs, &mut state.outputs);
        }
        state
    }
}

#[async_trait]
impl Driver for SchemaGuard {
    fn about(&self) -> About<'_> {
        About { info: &self.info, ..self.driver.about() }
    }

    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError> {
        let before = match request {
            Request::Read(request) => request.state,
            Request::Effect(Effect::Update(change)) => Some(change.state),
            _ => None,
        };
        let mut result = self.driver.call(call, request).await;
        if let Some(state) = returned_state(&mut result) {
            *state = self.state(call, std::mem::take(state), before);
        }
        if let (Ok(Response::Impact(impact)), Request::UpdateImpact(change)) = (&mut result, request)
            && let Some(schema) = self.info.schema(call.subject.key.type_name())
        {
            add_effects(&schema.inputs, change.before, change.after, impact);
        }
        result
    }
}
