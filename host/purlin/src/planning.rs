//! From documents to a graph, its faults, and a plan.

use std::sync::Arc;

use purlin_engine::{Base, CurrentInputs, Plan, PlanOptions};
use purlin_graph::{Explanation, Graph};
use purlin_model::{Context, Diagnostic, Key, Urn};
use purlin_state::Environment;

use crate::{ContextChanges, Documents, Error, Purlin, guards};

impl Purlin {
    /// Builds the resource graph. Needs no state. Loads drivers only for the names of their
    /// outputs, and only if they exist.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault.
    pub async fn graph(&self, documents: &Documents) -> Result<Arc<Graph>, Error> {
        self.check_declared(documents).await?;
        self.graph_in(documents, Arc::clone(&documents.context)).await
    }

    /// The graph of documents in a given context.
    pub(crate) async fn graph_in(
        &self,
        documents: &Documents,
        context: Arc<Context>,
    ) -> Result<Arc<Graph>, Error> {
        self.graph_over(documents, context, None).await
    }

    /// The graph of documents for an environment with records: an implicit resource must not
    /// disappear with its definition.
    async fn graph_over(
        &self,
        documents: &Documents,
        context: Arc<Context>,
        base: Option<&Base>,
    ) -> Result<Arc<Graph>, Error> {
        let (deployment, registry) = (self.with_outputs(&documents.deployment).await?, self.registry()?);
        let base = base.filter(|_| documents.files.are_here());
        let recorded = |key: &Key| {
            base.and_then(|base| base.current(&Urn::new(&documents.context, key)))
                .is_some_and(|record| record.definition.is_some())
                && !documents.accepts_key(key)
        };
        if let Some(graph) = documents.built.get(&context, &deployment, registry)
            && !graph.implicit_unmatched().any(|key| recorded(&key))
        {
            return Ok(graph);
        }
        let known = registry.known_outputs(documents).await;
        let input = purlin_graph::Input {
            context: Arc::clone(&context),
            definition_index: Arc::clone(&documents.definition_index),
            deployment: Arc::clone(&deployment),
            outputs: &known,
            recorded: &recorded,
        };
        let graph = purlin_graph::build(&input).map_err(Error::Documents)?;
        let graph = Arc::new(match documents.rules.has_secret_params() {
            true => graph.with_secret_params(Arc::clone(&documents.rules) as _),
            false => graph,
        });
        documents.built.set(context, deployment, registry, &graph);
        Ok(graph)
    }

    /// The inputs that the current documents give resources in a context; `None` if the documents
    /// have faults.
    pub(crate) async fn current_inputs(
        &self,
        documents: &Documents,
        context: &Context,
    ) -> Option<CurrentInputs> {
        crate::installations::check_answered(documents.resolution()).ok()?;
        let graph = self.graph_over(documents, Arc::new(context.clone()), None).await.ok()?;
        let rules = Arc::clone(&documents.rules);
        Some(CurrentInputs::new(graph, context, rules, self.secret_stores().ok()?, self.parallelism()))
    }

    /// Reports secret stores that the definitions of a graph name but that do not exist or are not
    /// granted to their drivers. Reads no secrets. Planning reports the same.
    ///
    /// # Errors
    /// If the sandbox cannot be set up.
    pub fn check_secrets(&self, documents: &Documents, graph: &Graph) -> Result<Vec<Diagnostic>, Error> {
        Ok(purlin_engine::check_secrets(graph.nodes(), &*self.secret_stores()?, &documents.rules))
    }

    /// Reports the faults that the schemas of resource types and drivers, and the drivers
    /// themselves, find in documents and in the workspace. Needs no state, and reads no secrets and
    /// no existing resources. Offline, checks that need a driver are left out.
    ///
    /// # Errors
    /// If the sandbox cannot be set up.
    pub async fn validate(
        &self,
        documents: &Documents,
        graph: Arc<Graph>,
        offline: bool,
    ) -> Result<Vec<Diagnostic>, Error> {
        let (registry, drivers) = (self.registry()?, self.drivers_without_secrets()?);
        let options = PlanOptions {
            offline,
            parallelism: self.parallelism(),
            rules: Arc::clone(&documents.rules),
            ..PlanOptions::default()
        };
        let context = &documents.context;
        let undecided = purlin_requirements::unmapped_faults(documents.resolution());
        if !undecided.is_empty() {
            return Ok(undecided);
        }
        let mut faults =
            purlin_engine::validate(graph, &documents.definition_index, context, &drivers, options).await?;
        if !offline {
            for missing in registry.missing_driver_faults().await {
                let known = faults.iter().any(|fault| {
                    (fault.code, &fault.message) == (missing.code, &missing.message)
                        && fault.location == missing.location
                });
                if !known {
                    faults.push(missing);
                }
            }
        }
        Ok(faults)
    }

    /// Explains how a resource is provisioned: which definition matches best, and why the others do
    /// not.
    pub fn explain(&self, documents: &Documents, key: &Key) -> Explanation {
        documents.definition_index.explain(&documents.context, key)
    }

    /// Makes a plan that brings the environment in line with the documents. Takes no lock: to
    /// apply, begin a [`Session`] and plan in it.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault; other errors if a driver or the state fails.
    pub async fn plan(&self, documents: &Documents, options: PlanOptions) -> Result<Plan, Error> {
        let base = self.base(&documents.environment()).await?;
        let (base, _) = self.read_without_recording(documents, base, None).await?;
        self.plan_from(documents, base, options).await
    }

    /// Makes a plan that brings the environment in line with the documents, from a given starting
    /// point.
    ///
    /// # Errors
    /// As for [`Self::plan`].
    pub async fn plan_from(
        &self,
        documents: &Documents,
        base: Base,
        options: PlanOptions,
    ) -> Result<Plan, Error> {
        self.plan_with(documents, documents.changes, base, options, true).await
    }

    /// The same, with confirmed changes of the recorded context. The check for vanished documents
    /// is skipped for a plan that was made before.
    pub(crate) async fn plan_with(
        &self,
        documents: &Documents,
        changes: ContextChanges,
        base: Base,
        options: PlanOptions,
        is_new: bool,
    ) -> Result<Plan, Error> {
        let (graph, gone) = self.guarded_graph(documents, changes, &base, is_new).await?;
        let environment = documents.environment();
        let base = self.at_now(base).await.protected(self.protection(&environment));
        let options = PlanOptions {
            parallelism: self.parallelism(),
            stores: self.secret_stores()?,
            rules: Arc::clone(&documents.rules),
            ..options
        };
        let plan =
            purlin_engine::plan(graph, &documents.context, base, &self.supplied_drivers().await?, options)
                .await?;
        self.guard_plan(plan, Some(documents), &gone, &environment).await
    }

    /// The graph of documents that pass the guards before a plan, and the recorded resources that are not
    /// in it.
    ///
    /// # Errors
    /// As for [`Self::guard_documents`], and [`Error::Documents`] with the faults of the graph.
    pub(crate) async fn guarded_graph(
        &self,
        documents: &Documents,
        changes: ContextChanges,
        base: &Base,
        is_new: bool,
    ) -> Result<(Arc<Graph>, Vec<Key>), Error> {
        self.check_declared(documents).await?;
        self.guard_documents(documents, changes, base, is_new).await?;
        let recorded = Some(base).filter(|_| is_new);
        let graph = self.graph_over(documents, Arc::clone(&documents.context), recorded).await?;
        self.check_loops(&graph, &documents.environment()).await?;
        let gone = guards::gone(documents, base, &graph, is_new);
        Ok((graph, gone))
    }

    /// The starting point with the time, if that matters: by the clock of the store, or else that of
    /// the host.
    pub(crate) async fn at_now(&self, base: Base) -> Base {
        if !base.has_pending() {
            return base;
        }
        #[cfg(feature = "postgres")]
        let of_store = self.database_clock().await.ok().flatten();
        #[cfg(not(feature = "postgres"))]
        let of_store: Option<u64> = None;
        base.at(of_store.unwrap_or_else(|| (self.clock())()))
    }

    /// The starting point of plans. Takes no lock.
    ///
    /// # Errors
    /// [`Error::State`] if the state cannot be read completely, [`Error::Engine`] if it contradicts
    /// itself.
    pub async fn base(&self, environment: &Environment) -> Result<Base, Error> {
        let base = Base::new(self.snapshot(environment).await?)?;
        self.with_users(base, environment).await
    }
}
