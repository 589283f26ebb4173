//! Connects the crates: the builder, and the orchestrator that it builds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use purlin_engine::{Accounts, Drivers, SecretStores, SuppliedDrivers};
use purlin_model::{KeySource, Location, Workspace};
use purlin_sandbox::{CompileEvent, Compiler, SandboxConfig, clock};
use purlin_state::{Environment, Holder, KeyProvider, Probe, Store};
use tokio::sync::OnceCell;

#[cfg(feature = "postgres")]
use crate::database::LockReleases;
use crate::drivers::{self, Given, ProtectedFile, Registry};
use crate::secrets::Stores;
use crate::stored::Opened;
use crate::{Error, ListedDriver};

/// The folder of the embedded state, in the folder of the workspace unless the workspace says otherwise.
pub const STATE_FOLDER: &str = ".purlin";

/// Milliseconds since 1970.
type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How long a compilation takes before it is reported.
const SLOW_COMPILE: Duration = Duration::from_secs(3);

/// Receives a sentence.
type NoteSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Collects the configuration of a [`Purlin`]. Nothing is opened before it is needed.
#[derive(Default)]
pub struct Builder {
    workspace: Workspace,
    drivers: Given,
    holder: Option<Holder>,
    reason: Option<Arc<str>>,
    wait: Duration,
    patience: Duration,
    lock_timeout: Duration,
    state_folder: Option<PathBuf>,
    store: Option<Arc<dyn Store>>,
    cache_folder: Option<PathBuf>,
    compiler: Option<Arc<dyn Compiler>>,
    describe_time: Option<Duration>,
    key: Option<KeyProvider>,
    variables: BTreeMap<String, String>,
    stores: Option<Arc<dyn SecretStores>>,
    parallelism: Option<usize>,
    ends_with_progress: bool,
    clock: Option<Clock>,
    probe: Option<Probe>,
    tell: Option<NoteSink>,
}

impl Builder {
    /// Sets the operator's configuration: drivers, their grants and limits, parallelism.
    #[must_use]
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = workspace;
        self
    }

    /// Adds a driver that is part of the program, such as `include_bytes!("queue.wasm")`. Documents
    /// use it under its name, `ORG/NAME`; the workspace has its grants and limits under the same
    /// name. It needs no approval in `purlin.lock`. It takes precedence over a driver that comes with
    /// Purlin under the same name.
    #[must_use]
    pub fn driver(mut self, name: impl Into<Arc<str>>, component: impl Into<Cow<'static, [u8]>>) -> Self {
        self.drivers.insert(name.into(), component.into());
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

    /// Sets the folder of compiled drivers, and of what this host remembers of states in databases; `cache` in
    /// the state's folder by default.
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

    /// Sets how long a driver that is inspected may take to describe itself; by default five
    /// seconds.
    #[must_use]
    pub fn describe_time(mut self, time: Duration) -> Self {
        self.describe_time = Some(time);
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

    /// Sets secret stores to use instead of those of the workspace, whose grants may then name any
    /// store: [`SecretStores::allows`] decides.
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

    /// Sets why changes of the state are made, for its audit ([`Purlin::audit`]).
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.reason = Some(reason.into());
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

    /// Ends a run with the resources that are in progress, instead of waiting for them up to the limit of
    /// their drivers. Whoever runs next goes on.
    #[must_use]
    pub fn end_with_progress(mut self, ends: bool) -> Self {
        self.ends_with_progress = ends;
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

    /// Sets a receiver of sentences about what Purlin waits for: other deployments, and the compilation
    /// of a driver that takes long (SPEC §8, Compilation). Without it they are not reported.
    #[must_use]
    pub fn on_note(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Some(Arc::new(tell));
        self
    }

    /// Sets a probe that is called at every crash point: before and after
    /// each write, and around each driver call with effects. For tests.
    #[must_use]
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Builds the orchestrator. Opens nothing.
    pub fn build(self) -> Purlin {
        let state_folder = self.state_folder.unwrap_or_else(|| {
            let folder = self.workspace.state.clone().unwrap_or_else(|| STATE_FOLDER.into());
            self.workspace.folder.join(folder)
        });
        Purlin {
            ends_with_progress: self.ends_with_progress,
            parallelism: self.parallelism.or(self.workspace.parallelism).unwrap_or(Workspace::PARALLELISM),
            cache_folder: self.cache_folder.unwrap_or_else(|| state_folder.join("cache")),
            state_folder,
            compiler: self.compiler,
            describe_time: self.describe_time,
            workspace: self.workspace,
            drivers: self.drivers,
            variables: self.variables,
            key: self.key,
            holder: self.holder.unwrap_or_else(|| Holder {
                user: "purlin-host".into(),
                host: "this machine".into(),
                pid: std::process::id(),
                command: "purlin-host".into(),
                since: 0,
            }),
            reason: self.reason,
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
            #[cfg(feature = "postgres")]
            releases: LockReleases::default(),
            registry: OnceLock::new(),
        }
    }
}

/// The orchestrator: plans and applies documents with one state and one set of drivers.
pub struct Purlin {
    workspace: Workspace,
    drivers: Given,
    pub(crate) state_folder: PathBuf,
    cache_folder: PathBuf,
    compiler: Option<Arc<dyn Compiler>>,
    describe_time: Option<Duration>,
    variables: BTreeMap<String, String>,
    parallelism: usize,
    ends_with_progress: bool,
    pub(crate) key: Option<KeyProvider>,
    holder: Holder,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) wait: Duration,
    pub(crate) patience: Duration,
    pub(crate) lock_timeout: Duration,
    clock: Clock,
    pub(crate) is_system_clock: bool,
    pub(crate) probe: Option<Probe>,
    pub(crate) tell: Option<NoteSink>,
    pub(crate) given: Option<Arc<dyn Store>>,
    pub(crate) stores: Option<Arc<dyn SecretStores>>,
    pub(crate) opened: OnceCell<Opened>,
    #[cfg(feature = "postgres")]
    pub(crate) releases: LockReleases,
    registry: OnceLock<Arc<Registry>>,
}

impl Purlin {
    /// Starts to build an orchestrator.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The available drivers: built in, or named by the workspace.
    ///
    /// # Errors
    /// If the sandbox cannot be set up.
    pub async fn drivers(&self) -> Result<Vec<ListedDriver>, Error> {
        Ok(self.registry()?.list().await)
    }

    /// The names of the available drivers, sorted. Does not load them.
    pub fn driver_names(&self) -> Vec<String> {
        let built_in = drivers::built_in_names(&self.drivers);
        let mut names: Vec<String> =
            built_in.chain(self.workspace.drivers.keys().map(ToString::to_string)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The folder of compiled drivers, and of what this host remembers of states in databases.
    pub fn cache_folder(&self) -> &std::path::Path {
        &self.cache_folder
    }

    fn compiled_folder(&self) -> PathBuf {
        self.cache_folder.join("drivers")
    }

    /// Finishes pending writes and closes the state. Nothing can use it afterwards.
    ///
    /// # Errors
    /// If the disk fails.
    pub async fn close(&self) -> Result<(), Error> {
        match self.opened.get() {
            Some(opened) => opened.close().await,
            None => Ok(()),
        }
    }

    /// Whether the program has secret stores of its own.
    pub(crate) fn has_own_stores(&self) -> bool {
        self.stores.is_some()
    }

    /// The locks that this value dropped, released in the background. Wait for them before the
    /// program exits, even if a function returned early and this value was never closed.
    #[cfg(feature = "postgres")]
    pub fn releases(&self) -> LockReleases {
        self.releases.clone()
    }

    /// The location in the workspace that forbids deletions in an environment.
    pub(crate) fn protection(&self, environment: &Environment) -> Option<Location> {
        self.workspace.environments.get(&environment.env)?.protect.clone()
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn ends_with_progress(&self) -> bool {
        self.ends_with_progress
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

    /// The drivers, which are given what no record repeats. To be made anew for each plan, since a secret is
    /// read once.
    pub(crate) async fn supplied_drivers(&self) -> Result<SuppliedDrivers, Error> {
        Ok(SuppliedDrivers { store: Some(self.store().await?), ..self.drivers_for(true)? })
    }

    /// The same where no secret and no record is read.
    pub(crate) fn drivers_without_secrets(&self) -> Result<SuppliedDrivers, Error> {
        self.drivers_for(false)
    }

    fn drivers_for(&self, reads_secrets: bool) -> Result<SuppliedDrivers, Error> {
        let drivers = Arc::clone(self.registry()?) as Arc<dyn Drivers>;
        let accounts = Accounts::new(self.workspace.accounts.clone(), self.secret_stores()?, reads_secrets);
        Ok(SuppliedDrivers { drivers, accounts: Arc::new(accounts), store: None })
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
        let mut sandbox = SandboxConfig { cache: Some(self.compiled_folder()), ..SandboxConfig::default() };
        if let Some(time) = self.describe_time {
            sandbox.describe_time = time;
        }
        if let Some(compiler) = &self.compiler {
            sandbox.compiler = Arc::clone(compiler);
        }
        if let Some(tell) = self.tell.clone() {
            sandbox.slow_compile = SLOW_COMPILE;
            sandbox.on_compile = Some(Arc::new(move |event| {
                if let CompileEvent::Slow { driver } = event {
                    tell(&format!("compiling `{driver}`; the result is kept, so that this happens once"));
                }
            }));
        }
        let registry = Registry::new(
            &self.workspace,
            self.drivers.clone(),
            sandbox,
            self.variables.clone(),
            self.kept(),
            self.probe.clone(),
        )?;
        Ok(self.registry.get_or_init(|| Arc::new(registry)))
    }
}
