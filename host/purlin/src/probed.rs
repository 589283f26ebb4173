//! Drivers whose calls with effects are crash points, for tests.

use std::sync::Arc;

use async_trait::async_trait;
use purlin_engine::{About, Call, Driver, Look};
use purlin_model::Label;
use purlin_model::driver::{Checked, Impact, Inputs, Observed, ResourceState};
use purlin_sandbox::{CallError, Change};
use purlin_state::Probe;

/// A driver that reports to a probe before and after each call with effects.
pub(crate) struct Probed {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) probe: Probe,
}

#[async_trait]
impl Driver for Probed {
    fn about(&self) -> About<'_> {
        self.driver.about()
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

    async fn create(
        &self,
        call: &Call,
        inputs: &Inputs,
        name: &str,
        replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        self.probe.at("before create");
        let made = self.driver.create(call, inputs, name, replaces).await;
        self.probe.at("after create");
        made
    }

    async fn read(&self, call: &Call, look: Look<'_>) -> Result<Option<Observed>, CallError> {
        self.driver.read(call, look).await
    }

    async fn update_impact(&self, call: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        self.driver.update_impact(call, change).await
    }

    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        self.probe.at("before update");
        let changed = self.driver.update(call, change).await;
        self.probe.at("after update");
        changed
    }

    async fn delete(&self, call: &Call, state: &ResourceState, inputs: &Inputs) -> Result<(), CallError> {
        self.probe.at("before delete");
        let deleted = self.driver.delete(call, state, inputs).await;
        self.probe.at("after delete");
        deleted
    }
}
