//! Connects the crates: the builder, and the orchestrator that it builds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use purlin_engine::{Base, CancelToken, CurrentInputs, Plan, PlanOptions, SecretStores};
use purlin_graph::{Explanation, Graph};
use purlin_model::{Context, Diagnostic, Key, KeySource, Location, Urn, Workspace};
use purlin_sandbox::Compiler;
use purlin_sandbox::clock;
use purlin_state::{Environment, Holder, KeyProvider, Probe, Store};
use tokio::sync::OnceCell;

use crate::drivers::{ProtectedFile, Registry};
use crate::secrets::Stores;
use crate::stored::{Opened, Releases};
use crate::{ContextChanges, Documents, DriverInfo, Error, Session};

/// Milliseconds since 1970.
type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Receives a sentence.
type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Collects the configuration of a [`Purlin`]. Nothing is opened before it is needed.
#[derive(Default)]
pub struct Builder {
    workspace: Workspace,
    holder: Option<Holder>,
    wait: Duration,
    patience: Duration,
    lock_timeout: Duration,
    state_folder: Option<PathBuf>,
    store: Option<Arc<dyn Store>>,
    cache_folder: Option<PathBuf>,
    compiler: Option<Arc<dyn Compiler>>,
    key: Option<KeyProvider>,
    variables: BTreeMap<String, String>,
    stores: Option<Arc<dyn SecretStores>>,
    parallelism: Option<usize>,
    clock: Option<Clock>,
    probe: Option<Probe>,
    tell: Option<Tell>,
}

impl Builder {
    /// Sets the operator's configuration: drivers, their grants and limits, parallelism.
    #[must_use]
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = workspace;
        self
    }

    /// Sets the folder of the embedded state; `.purlin` in the workspace's folder by default.
    #[must_use]
    pub fn state_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_folder = Some(folder.into());
        self
    }

    /// Sets a store to use instead of the embedded one.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the folder of compiled drivers; `cache` in the state's folder by default.
    #[must_use]
    pub fn cache_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache_folder = Some(folder.into());
        self
    }

    /// Sets where untrusted components are read and compiled: preferably in a [`Worker`], which is
    /// a separate process. Without it, this happens in the current process, where a malicious
    /// component could crash the program or exhaust its memory.
    ///
    /// [`Worker`]: crate::Worker
    #[must_use]
    pub fn compiler(mut self, compiler: Arc<dyn Compiler>) -> Self {
        self.compiler = Some(compiler);
        self
    }

    /// Sets the key that encrypts recorded secrets. Without it, the embedded state creates a key
    /// when it first needs one.
    #[must_use]
    pub fn key(mut self, key: KeyProvider) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the values of the environment variables that drivers can be granted, that secret stores
    /// read, and with which their commands run.
    #[must_use]
    pub fn variables(mut self, variables: BTreeMap<String, String>) -> Self {
        self.variables = variables;
        self
    }

    /// Sets secret stores to use instead of those of the workspace.
    #[must_use]
    pub fn secret_stores(mut self, stores: Arc<dyn SecretStores>) -> Self {
        self.stores = Some(stores);
        self
    }

    /// Sets the holder that others see when the state is in use or an environment is locked.
    /// `since` is filled in. By default, only the process is named.
    #[must_use]
    pub fn holder(mut self, holder: Holder) -> Self {
        self.holder = Some(holder);
        self
    }

    /// Sets how long to wait while another process has the state open; by default not at all.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets how long a deployment waits for another one that creates an installation that both
    /// would share; by default not at all. A deployment of the environment in which an installation
    /// is to be used waits only a few seconds of that. The wait is reported through
    /// [`Self::on_note`].
    #[must_use]
    pub fn wait_for_others(mut self, wait: Duration) -> Self {
        self.patience = wait;
        self
    }

    /// Sets how long a deployment waits for another one of the same environment; by default not at
    /// all. The wait is reported through [`Self::on_note`].
    #[must_use]
    pub fn lock_timeout(mut self, wait: Duration) -> Self {
        self.lock_timeout = wait;
        self
    }

    /// Sets the maximum number of concurrent driver calls; 32 unless it is set here or in the
    /// workspace.
    #[must_use]
    pub fn parallelism(mut self, calls: usize) -> Self {
        self.parallelism = Some(calls);
        self
    }

    /// Sets the clock, in milliseconds since 1970; the system's clock by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Sets a receiver of sentences about changes that Purlin makes to the state on its own, such
    /// as the conversion of an earlier format, and about other deployments that it waits for.
    /// Without it they are not reported.
    #[must_use]
    pub fn on_note(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Some(Arc::new(tell));
        self
    }

    /// Sets a probe that is called at every place where a crash is worth a test: before and after
    /// each write, and around each driver call with effects. For tests.
    #[must_use]
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Builds the orchestrator. Opens nothing.
    pub fn build(self) -> Purlin {
        let state_folder = self.state_folder.unwrap_or_else(|| {
            let folder = self.workspace.state.clone().unwrap_or_else(|| ".purlin".into());
            self.workspace.folder.join(folder)
        });
        Purlin {
            parallelism: self.parallelism.or(self.workspace.parallelism).unwrap_or(32),
            cache_folder: self.cache_folder.unwrap_or_else(|| state_folder.join("cache")),
            state_folder,
            compiler: self.compiler,
            workspace: self.workspace,
            variables: self.variables,
            key: self.key,
            holder: self.holder.unwrap_or_else(|| Holder {
                user: "purlin-host".into(),
                host: "this machine".into(),
                pid: std::process::id(),
                command: "purlin-host".into(),
                since: 0,
            }),
            wait: self.wait,
            patience: self.patience,
            lock_timeout: self.lock_timeout,
            is_system_clock: self.clock.is_none(),
            clock: self.clock.unwrap_or_else(|| Arc::new(clock::steady())),
            probe: self.probe,
            tell: self.tell,
            given: self.store,
            stores: self.stores,
            opened: OnceCell::new(),
            releases: Releases::default(),
            registry: OnceLock::new(),
        }
    }
}

/// The orchestrator: plans and applies documents with one state and one set of drivers.
pub struct Purlin {
    workspace: Workspace,
    pub(crate) state_folder: PathBuf,
    cache_folder: PathBuf,
    compiler: Option<Arc<dyn Compiler>>,
    variables: BTreeMap<String, String>,
    parallelism: usize,
    pub(crate) key: Option<KeyProvider>,
    holder: Holder,
    pub(crate) wait: Duration,
    pub(crate) patience: Duration,
    pub(crate) lock_timeout: Duration,
    clock: Clock,
    is_system_clock: bool,
    pub(crate) probe: Option<Probe>,
    pub(crate) tell: Option<Tell>,
    pub(crate) given: Option<Arc<dyn Store>>,
    stores: Option<Arc<dyn SecretStores>>,
    pub(crate) opened: OnceCell<Opened>,
    pub(crate) releases: Releases,
    registry: OnceLock<Arc<Registry>>,
}

impl Purlin {
    /// Starts to build an orchestrator.
    pub fn builder() -> Builder {
        Builder::default()
    }

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
        let deployment = self.with_outputs(&documents.deployment).await?;
        let known = self.registry()?.known_outputs(documents).await;
        let base = base.filter(|_| documents.files.are_here());
        let recorded = |key: &Key| {
            base.and_then(|base| base.current(&Urn::new(&documents.context, key)))
                .is_some_and(|record| record.definition.is_some())
                && !documents.accepts_key(key)
        };
        let input = purlin_graph::Input {
            context,
            catalogue: Arc::clone(&documents.catalogue),
            deployment,
            outputs: &known,
            recorded: &recorded,
        };
        let graph = purlin_graph::build(&input).map_err(Error::Documents)?;
        Ok(Arc::new(match documents.rules.has_secret_params() {
            true => graph.with_secret_params(Arc::clone(&documents.rules) as _),
            false => graph,
        }))
    }

    /// The inputs that the current documents give resources in a context; `None` if the documents
    /// have faults.
    pub(crate) async fn current_inputs(
        &self,
        documents: &Documents,
        context: &Context,
    ) -> Option<CurrentInputs> {
        crate::installations::check_said(documents.resolution()).ok()?;
        let graph = self.graph_over(documents, Arc::new(context.clone()), None).await.ok()?;
        let rules = Arc::clone(&documents.rules);
        Some(CurrentInputs::new(graph, context, rules, self.secret_stores().ok()?, self.parallelism))
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
        let registry = self.registry()?;
        let options = PlanOptions {
            offline,
            parallelism: self.parallelism,
            rules: Arc::clone(&documents.rules),
            ..PlanOptions::default()
        };
        let context = &documents.context;
        let unsaid = purlin_requirements::unsaid(documents.resolution());
        if !unsaid.is_empty() {
            return Ok(unsaid);
        }
        let mut faults =
            purlin_engine::validate(graph, &documents.catalogue, context, &**registry, options).await?;
        if !offline {
            for stray in registry.strays().await {
                let known = faults.iter().any(|fault| {
                    (fault.code, &fault.message) == (stray.code, &stray.message)
                        && fault.location == stray.location
                });
                if !known {
                    faults.push(stray);
                }
            }
        }
        Ok(faults)
    }

    /// Explains how a resource is provisioned: which definition matches best, and why the others do
    /// not.
    pub fn explain(&self, documents: &Documents, key: &Key) -> Explanation {
        documents.catalogue.explain(&documents.context, key)
    }

    /// Makes a plan that brings the environment in line with the documents. Takes no lock: to
    /// apply, begin a [`Session`] and plan in it.
    ///
    /// # Errors
    /// [`Error::Documents`] with every fault; other errors if a driver or the state fails.
    pub async fn plan(&self, documents: &Documents, options: PlanOptions) -> Result<Plan, Error> {
        let base = self.base(&documents.environment()).await?;
        let (base, _) = self.look(documents, base, None).await?;
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
        self.check_declared(documents).await?;
        crate::installations::check_said(documents.resolution())?;
        self.check_context_at(documents, changes, &base).await?;
        if is_new {
            self.hold_against_last(documents, &base).await?;
        }
        let recorded = Some(&base).filter(|_| is_new);
        let graph = self.graph_over(documents, Arc::clone(&documents.context), recorded).await?;
        let base = base.protected(self.protection(&documents.environment()));
        let options = PlanOptions {
            parallelism: self.parallelism,
            stores: self.secret_stores()?,
            rules: Arc::clone(&documents.rules),
            ..options
        };
        let mut plan =
            purlin_engine::plan(graph, &documents.context, base, &**self.registry()?, options).await?;
        self.explain_departures(&mut plan, documents).await?;
        self.warn_of_last_uses(&mut plan).await?;
        self.allow_as_recorded(plan, &documents.environment()).await
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

    /// Takes the lock of an environment.
    ///
    /// # Errors
    /// [`Error::State`], which names the holder if another process has the lock.
    pub async fn begin(&self, environment: &Environment) -> Result<Session<'_>, Error> {
        self.begin_within(environment, self.lock_timeout, &CancelToken::default()).await
    }

    /// The same, but waits for another deployment up to `wait`, or until the run is cancelled.
    pub(crate) async fn begin_within(
        &self,
        environment: &Environment,
        wait: Duration,
        cancel: &CancelToken,
    ) -> Result<Session<'_>, Error> {
        let session = self.take(environment, wait, cancel).await?;
        let snapshot = session.snapshot().await?;
        if let Some(holder) = &snapshot.held {
            return Err(Error::Held { environment: environment.clone(), holder: Box::new(holder.clone()) });
        }
        *session.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(session)
    }

    /// Takes the lock of an environment, even if it is closed to deployments.
    ///
    /// # Errors
    /// [`Error::State`], which names the holder if another process has the lock; [`Error::Clock`]
    /// if the system's clock is implausible.
    pub async fn begin_held(&self, environment: &Environment) -> Result<Session<'_>, Error> {
        self.take(environment, self.lock_timeout, &CancelToken::default()).await
    }

    async fn take(
        &self,
        environment: &Environment,
        wait: Duration,
        cancel: &CancelToken,
    ) -> Result<Session<'_>, Error> {
        if self.is_system_clock {
            clock::now()?;
        }
        let store = self.store().await?;
        let told = format!("which has the lock of {environment}");
        let lock = self.patiently(wait, &told, cancel, || store.lock(environment, self.holder())).await?;
        let (read, current, claims, reserved) = Default::default();
        let session = Session { purlin: self, lock, read, current, claims, reserved };
        if let Some(lapsed) = session.lock.lapsed() {
            self.outwait(&session, lapsed, cancel).await?;
        }
        Ok(session)
    }

    /// Waits until the calls of a previous holder have ended, which it left some time ago.
    async fn outwait(
        &self,
        session: &Session<'_>,
        lapsed: Duration,
        cancel: &CancelToken,
    ) -> Result<(), Error> {
        let longest = purlin_engine::last_attempts(&session.snapshot().await?.pending);
        let longest = longest.saturating_sub(lapsed);
        if !longest.is_zero() {
            if let Some(tell) = &self.tell {
                tell(&format!(
                    "the previous deployment was cut off; waiting {} s for its last calls to end",
                    longest.as_secs_f64().ceil()
                ));
            }
            let until = tokio::time::Instant::now() + longest;
            tokio::select! {
                () = cancel.requested() => {
                    let left = until.saturating_duration_since(tokio::time::Instant::now());
                    return Err(Error::Unfinished { environment: session.environment().clone(), left });
                }
                () = tokio::time::sleep_until(until) => {}
            }
        }
        Ok(())
    }

    /// The available drivers: built in, or named by the workspace.
    ///
    /// # Errors
    /// If the sandbox cannot be set up.
    pub async fn drivers(&self) -> Result<Vec<DriverInfo>, Error> {
        Ok(self.registry()?.list().await)
    }

    /// The names of the available drivers, sorted. Does not load them.
    pub fn driver_names(&self) -> Vec<String> {
        let built_in = purlin_builtin::drivers().iter().map(|driver| driver.name.to_owned());
        let mut names: Vec<String> =
            built_in.chain(self.workspace.drivers.keys().map(ToString::to_string)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The folder of compiled drivers.
    pub fn cache_folder(&self) -> &std::path::Path {
        &self.cache_folder
    }

    /// Finishes pending writes and closes the state.
    ///
    /// # Errors
    /// If the disk fails.
    pub async fn close(self) -> Result<(), Error> {
        match self.opened.get() {
            Some(opened) => opened.close().await,
            None => Ok(()),
        }
    }

    /// The locks that this drops, which are then being released. A program that ends waits for them, also
    /// where a function returned early and this was never closed.
    pub fn releases(&self) -> Releases {
        self.releases.clone()
    }

    /// The location in the workspace that forbids deletions in an environment.
    pub(crate) fn protection(&self, environment: &Environment) -> Option<Location> {
        self.workspace.environments.get(&environment.env)?.protect.clone()
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn parallelism(&self) -> usize {
        self.parallelism
    }

    pub(crate) fn clock(&self) -> Clock {
        Arc::clone(&self.clock)
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder { since: (self.clock)(), ..self.holder.clone() }
    }

    /// The secret stores that were given, or else those of the workspace.
    pub(crate) fn secret_stores(&self) -> Result<Arc<dyn SecretStores>, Error> {
        if let Some(stores) = &self.stores {
            return Ok(Arc::clone(stores));
        }
        let registry = Arc::clone(self.registry()?);
        Ok(Arc::new(Stores::new(&self.workspace, &self.variables, registry)))
    }

    /// The files that no driver may write to.
    fn kept(&self) -> Vec<ProtectedFile> {
        let given = match &self.key {
            Some(KeyProvider::File(path) | KeyProvider::Generate(path)) => Some(path.clone()),
            _ => None,
        };
        let named = match &self.workspace.key {
            Some(KeySource::File(path)) => Some(self.workspace.folder.join(path)),
            _ => None,
        };
        let key = given.or(named);
        ProtectedFile::all(&self.workspace, &self.state_folder, &self.cache_folder, key.as_deref())
    }

    pub(crate) fn registry(&self) -> Result<&Arc<Registry>, Error> {
        if let Some(registry) = self.registry.get() {
            return Ok(registry);
        }
        let registry = Registry::new(
            &self.workspace,
            &self.cache_folder,
            self.variables.clone(),
            self.kept(),
            self.compiler.clone(),
            self.probe.clone(),
        )?;
        Ok(self.registry.get_or_init(|| Arc::new(registry)))
    }
}
