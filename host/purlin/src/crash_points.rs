//! Drivers whose calls with effects are crash points, for tests.

use std::sync::Arc;

use async_trait::async_trait;
use purlin_engine::{About, Call, Driver, Request, Response};
use purlin_sandbox::{CallError, Effect};
use purlin_state::Probe;

/// A driver that reports to a probe before and after each call with effects.
pub(crate) struct ProbedDriver {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) probe: Probe,
}

#[async_trait]
impl Driver for ProbedDriver {
    fn about(&self) -> About<'_> {
        self.driver.about()
    }

    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError> {
        let (before, after) = match request {
            Request::Effect(Effect::Create { .. }) => ("before create", "after create"),
            Request::Effect(Effect::Update(_)) => ("before update", "after update"),
            Request::Effect(Effect::Delete { .. }) => ("before delete", "after delete"),
            _ => return self.driver.call(call, request).await,
        };
        self.probe.at(before);
        let response = self.driver.call(call, request).await;
        self.probe.at(after);
        response
    }
}
