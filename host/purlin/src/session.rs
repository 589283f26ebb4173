//! A deployment under way: the lock of an environment, and what is recorded in it.

use purlin_engine::{ApplyOptions, CancelToken, Plan, PlanOptions, Run};
use purlin_model::Context;
use purlin_state::{Environment, Lock, Record};

use crate::{Documents, Error, Purlin};

/// A deployment under way. It holds the environment's lock until it is dropped, so that what it
/// plans is what it finds when it applies.
pub struct Session<'a> {
    pub(crate) purlin: &'a Purlin,
    pub(crate) lock: Lock,
}

impl Session<'_> {
    /// The environment that is locked.
    pub fn environment(&self) -> &Environment {
        self.lock.environment()
    }

    /// Everything that is recorded in the environment.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be read whole.
    pub async fn records(&self) -> Result<Vec<Record>, Error> {
        self.purlin.records(self.environment()).await
    }

    /// Plans to make the environment what the documents say. No effects.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault; others when a driver or the state fails.
    pub async fn plan(&self, documents: &Documents, options: PlanOptions) -> Result<Plan, Error> {
        self.purlin.plan(documents, options).await
    }

    /// Plans to delete everything that is recorded, from the record alone.
    ///
    /// # Errors
    /// [`Error::Documents`] when a driver that is needed is missing or something is protected.
    pub async fn plan_destroy(&self, context: &Context) -> Result<Plan, Error> {
        let records = self.records().await?;
        Ok(purlin_engine::destroy(context, records, self.purlin.registry()?).await?)
    }

    /// Carries out a plan that this session made. The stream ends with the summary; nothing
    /// happens while nobody polls it.
    ///
    /// # Errors
    /// When the plan was made offline.
    pub async fn apply(&self, plan: Plan, cancel: CancelToken) -> Result<Run, Error> {
        let options =
            ApplyOptions { parallelism: self.purlin.parallelism(), cancel, clock: self.purlin.clock() };
        Ok(purlin_engine::apply(plan, self.purlin.store().await?, options)?)
    }
}
