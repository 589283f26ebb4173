//! Holds a driver to its own schemas: the host enforces them, regardless of the language that the
//! driver is written in. Outputs become secret as soon as the driver returns them, outputs that are
//! returned once stay recorded, and a change to an input that cannot change in place replaces the
//! resource or is rejected.

use std::sync::Arc;

use async_trait::async_trait;
use purlin_model::driver::keywords::{
    add_effects, has_change_keywords, has_write_once_outputs, keep_write_once,
};
use purlin_model::driver::{Failure, Implements, Manifest, Observed, ResourceState};
use purlin_sandbox::CallError;

use super::SchemaRules;
use crate::driver::{About, Call, Driver, Request, Response};

/// A driver with a schema that does more than describe the shape of its inputs.
struct SchemaGuard {
    driver: Arc<dyn Driver>,
    rules: Arc<SchemaRules>,
    manifest: Manifest,
}

impl SchemaRules {
    /// Wraps the driver so that its schemas are enforced.
    pub(crate) fn guarded(self: &Arc<Self>, driver: Arc<dyn Driver>) -> Arc<dyn Driver> {
        let manifest = driver.manifest();
        let changes = manifest.types.iter().any(|schema| has_change_keywords(&schema.inputs));
        let once = manifest.types.iter().any(|schema| has_write_once_outputs(&schema.outputs));
        if !(changes || once || self.seals_outputs_of(&*driver)) {
            return driver;
        }
        let implements = manifest.implements;
        let implements = Implements { update_impact: implements.update_impact || changes, ..implements };
        let manifest = Manifest { implements, ..manifest.clone() };
        Arc::new(SchemaGuard { driver, rules: Arc::clone(self), manifest })
    }
}

impl SchemaGuard {
    /// The state that a driver returned, with the outputs that it returned earlier.
    fn state(&self, call: &Call, mut state: ResourceState, before: Option<&ResourceState>) -> ResourceState {
        let type_name = call.subject.key.type_name();
        let outputs = std::mem::take(&mut state.outputs);
        state.outputs = self.rules.seal_outputs(type_name, &*self.driver, outputs);
        if let (Some(schema), Some(before)) = (self.manifest.schema(type_name), before) {
            keep_write_once(&schema.outputs, &before.outputs, &mut state.outputs);
        }
        state
    }
}

#[async_trait]
impl Driver for SchemaGuard {
    fn about(&self) -> About<'_> {
        About { manifest: &self.manifest, ..self.driver.about() }
    }

    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError> {
        let before = match request {
            Request::Read(request) => request.state,
            Request::Update(change) => Some(change.state),
            _ => None,
        };
        match self.driver.call(call, request).await {
            Ok(Response::State(state)) => Ok(Response::State(self.state(call, state, before))),
            Ok(Response::Observed(Some(found))) => {
                let state = self.state(call, found.state, before);
                Ok(Response::Observed(Some(Observed { state, ..found })))
            }
            Ok(Response::Impact(mut impact)) => {
                let schema = self.manifest.schema(call.subject.key.type_name());
                if let (Request::UpdateImpact(change), Some(schema)) = (request, schema) {
                    add_effects(&schema.inputs, change.before, change.after, &mut impact);
                }
                Ok(Response::Impact(impact))
            }
            Err(CallError::Failure(Failure::Partial { state, message })) => {
                let state = Box::new(self.state(call, *state, before));
                Err(CallError::Failure(Failure::Partial { state, message }))
            }
            other => other,
        }
    }
}
