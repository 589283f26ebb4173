//! One engine, one linker, and the way from bytes to a driver.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use purlin_model::driver::DriverInfo;
use purlin_model::{Grants, Limits};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::artifact::{Artifact, Precompiled};
use crate::cache::{Cache, hex};
use crate::call::Runner;
use crate::capability::{self, Guest};
use crate::compiler::{Compiler, InProcess};
use crate::driver::Driver;
use crate::error::{LoadError, SandboxError};
use crate::ticker::Ticker;
use crate::{component, engine, info};

/// Components larger than this are rejected unread, in bytes.
pub const LARGEST_COMPONENT: u64 = 512 << 20;

/// The size from which the functions of a component in a file are kept, so that its next version, and
/// another one with the same runtime, is compiled faster. Smaller ones are compiled in a moment.
const LARGE: usize = 2 << 20;

/// The settings of a sandbox.
#[derive(Clone)]
pub struct SandboxConfig {
    /// Instances that may run at once, over all drivers. Each reserves address space, not
    /// memory, of about 4 GiB.
    pub instances: u32,
    /// The folder for compiled components; without it they are compiled at every start. Only this
    /// user may have write access to it.
    pub cache: Option<PathBuf>,
    /// How long a busy driver may hold a thread before others get their turn.
    pub tick: Duration,
    /// How long a component may take to describe itself to [`Sandbox::ask`].
    pub describe_time: Duration,
    /// Where components are read and compiled.
    pub compiler: Arc<dyn Compiler>,
    /// A compilation that takes longer than this is reported to `on_compile`.
    pub slow_compile: Duration,
    /// Receives slow compilations.
    pub on_compile: Option<Arc<dyn Fn(CompileEvent) + Send + Sync>>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            instances: 128,
            cache: None,
            tick: Duration::from_millis(5),
            describe_time: Duration::from_secs(5),
            compiler: Arc::new(InProcess),
            slow_compile: Duration::from_millis(500),
            on_compile: None,
        }
    }
}

impl fmt::Debug for SandboxConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxConfig")
            .field("instances", &self.instances)
            .field("cache", &self.cache)
            .field("tick", &self.tick)
            .field("compiler", &self.compiler)
            .finish_non_exhaustive()
    }
}

/// A slow compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileEvent {
    /// It has not finished within [`SandboxConfig::slow_compile`].
    Slow {
        /// Name of the driver.
        driver: Arc<str>,
    },
    /// It has finished.
    Finished {
        /// Name of the driver.
        driver: Arc<str>,
        /// How long it took.
        took: Duration,
    },
}

/// The operator's settings for a driver.
#[derive(Clone, Debug)]
pub struct DriverSetup {
    /// Its name in `purlin.yaml`, for messages.
    pub name: Arc<str>,
    /// Its grants.
    pub grants: Grants,
    /// Its limits.
    pub limits: Limits,
    /// The folder that granted folders are relative to.
    pub folder: PathBuf,
    /// Values of the granted environment variables; others are ignored.
    pub env: BTreeMap<String, String>,
    /// Labels for every real object (`context.labels`), by name.
    pub labels: BTreeMap<String, String>,
}

impl Default for DriverSetup {
    fn default() -> Self {
        Self {
            name: "driver".into(),
            grants: Grants::default(),
            limits: Limits::default(),
            folder: PathBuf::from("."),
            env: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }
}

/// The source of a component.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The component itself.
    Bytes(Cow<'static, [u8]>),
}

/// Runs drivers. Cheap to clone; all clones share one engine.
#[derive(Clone)]
pub struct Sandbox(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) ticker: Ticker,
    /// Free slots of the pool.
    pub(crate) slots: Semaphore,
    pub(crate) instances: u32,
    linker: Linker<Guest>,
    cache: Option<Cache>,
    config: SandboxConfig,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sandbox").field(&self.0.config).finish()
    }
}

impl Sandbox {
    /// Sets up an engine.
    ///
    /// # Errors
    /// If the machine cannot run it.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let instances = config.instances.clamp(1, 10_000);
        let engine = engine::running(instances)?;
        let mut linker = Linker::new(&engine);
        capability::link(&mut linker).map_err(|error| SandboxError::Engine(format!("{error:#}")))?;
        let ticker = Ticker::start(&engine, config.tick.max(Duration::from_millis(1)))
            .map_err(SandboxError::Ticker)?;
        let cache = config.cache.as_deref().and_then(|folder| Cache::open(folder, &engine));
        let slots = Semaphore::new(instances as usize);
        Ok(Self(Arc::new(Shared { engine, ticker, slots, instances, linker, cache, config })))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(crate) fn compiler(&self) -> Arc<dyn Compiler> {
        Arc::clone(&self.0.config.compiler)
    }

    pub(crate) fn describe_time(&self) -> Duration {
        self.0.config.describe_time
    }

    pub(crate) fn linker(&self) -> &Linker<Guest> {
        &self.0.linker
    }

    /// Loads a component as a driver: from the cache, or compiled now.
    ///
    /// # Errors
    /// If it is not a driver of this contract, or its grants are invalid.
    pub async fn load(&self, source: Source, setup: &DriverSetup) -> Result<Driver, LoadError> {
        let (bytes, file) = match source {
            Source::Bytes(bytes) => (bytes, None),
            Source::File(path) => {
                let file = path.clone();
                (blocking(move || read(path)).await?.into(), Some(file))
            }
        };
        let compiled = self.compiled(bytes, file, &setup.name).await?;
        let (digest, component) = (compiled.digest, compiled.component);
        let info = match compiled.known {
            Known::DriverInfo(info) => info,
            Known::Code { code, .. } => {
                let info = self.describe(&component, setup).await?;
                self.keep(digest, Some(info.clone()), &code);
                info
            }
        };
        self.driver(&component, digest, info, setup)
    }

    fn keep(&self, digest: [u8; 32], info: Option<DriverInfo>, code: &[u8]) {
        if let Some(cache) = &self.0.cache {
            cache.write(&hex(&digest), &Artifact { digest, info, code }.to_bytes());
        }
    }

    /// Loads a driver from code compiled ahead of time, or from the component itself if this
    /// machine needs other code.
    ///
    /// # Errors
    /// As for [`Sandbox::load`].
    pub async fn load_precompiled(
        &self,
        code: Precompiled<'_>,
        wasm: &'static [u8],
        setup: &DriverSetup,
    ) -> Result<Driver, LoadError> {
        if let Some((artifact, component)) = self.open_artifact(code.0, true)
            && let Some(info) = artifact.info
        {
            return self.driver(&component, artifact.digest, info, setup);
        }
        self.load(Source::Bytes(Cow::Borrowed(wasm)), setup).await
    }

    /// The component of some bytes: from the cache, or compiled now. Nothing of it runs.
    pub(crate) async fn component(
        &self,
        bytes: Cow<'static, [u8]>,
        file: Option<PathBuf>,
        driver: &Arc<str>,
    ) -> Result<Component, LoadError> {
        let compiled = self.compiled(bytes, file, driver).await?;
        if let Known::Code { code, is_new: true } = &compiled.known {
            self.keep(compiled.digest, None, code);
        }
        Ok(compiled.component)
    }

    async fn compiled(
        &self,
        bytes: Cow<'static, [u8]>,
        file: Option<PathBuf>,
        driver: &Arc<str>,
    ) -> Result<Compiled, LoadError> {
        component::check_header(&bytes)?;
        let (sandbox, driver) = (self.clone(), Arc::clone(driver));
        blocking(move || sandbox.compile(&bytes, file.as_deref(), &driver)).await
    }

    fn compile(&self, bytes: &[u8], file: Option<&Path>, driver: &Arc<str>) -> Result<Compiled, LoadError> {
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let cached = self.0.cache.as_ref().and_then(|cache| cache.read(&hex(&digest)));
        if let Some((artifact, component)) =
            cached.as_deref().and_then(|code| self.open_artifact(code, false))
            && artifact.digest == digest
        {
            let known = match artifact.info {
                Some(info) => Known::DriverInfo(info),
                None => Known::Code { code: artifact.code.to_vec(), is_new: false },
            };
            return Ok(Compiled { digest, component, known });
        }
        let functions = self.0.cache.as_ref().zip(file.filter(|_| bytes.len() >= LARGE));
        let kept = functions.map(|(cache, file)| cache.functions(file, bytes.len()));
        let start = Instant::now();
        let compiled = std::thread::scope(|scope| {
            let (done, waiting) = std::sync::mpsc::channel::<()>();
            if let Some(on_compile) = &self.0.config.on_compile {
                let slow = self.0.config.slow_compile;
                scope.spawn(move || {
                    if waiting.recv_timeout(slow) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                        on_compile(CompileEvent::Slow { driver: Arc::clone(driver) });
                        let _ = waiting.recv();
                        on_compile(CompileEvent::Finished {
                            driver: Arc::clone(driver),
                            took: start.elapsed(),
                        });
                    }
                });
            }
            let compiled = self.0.config.compiler.compile(bytes, kept.as_deref());
            drop(done);
            compiled
        })?;
        if let (Some((cache, file)), Some(functions)) = (functions, &compiled.functions) {
            cache.write_functions(file, bytes.len(), functions);
        }
        let code = compiled.code;
        let component = self.deserialize(&code).map_err(|error| LoadError::invalid(&error))?;
        tracing::debug!(target: "purlin::sandbox", %driver, took = ?start.elapsed(), "compiled");
        Ok(Compiled { digest, component, known: Known::Code { code, is_new: true } })
    }

    /// Asks a component to describe itself. It gets no grants for that.
    pub(crate) async fn describe(
        &self,
        component: &Component,
        setup: &DriverSetup,
    ) -> Result<DriverInfo, LoadError> {
        let bare = DriverSetup { grants: Grants::default(), ..setup.clone() };
        let runner = Runner::new(self, component, &bare)?;
        let described = runner.describe().await.map_err(|error| {
            component::explained(self.engine(), component, LoadError::Describe(Box::new(error)))
        })?;
        info::from_wit(described).map_err(|message| LoadError::info(&message))
    }

    fn driver(
        &self,
        component: &Component,
        digest: [u8; 32],
        info: DriverInfo,
        setup: &DriverSetup,
    ) -> Result<Driver, LoadError> {
        Ok(Driver::new(Runner::new(self, component, setup)?, info, hex(&digest)))
    }
}

struct Compiled {
    digest: [u8; 32],
    component: Component,
    known: Known,
}

/// The data that came with a component.
enum Known {
    /// Its description, from the cache.
    DriverInfo(DriverInfo),
    /// Its code, whose description is still unknown.
    Code {
        code: Vec<u8>,
        /// Whether it was compiled just now, and so is not in the cache.
        is_new: bool,
    },
}

/// Reads the file of a component, up to the maximum size.
///
/// # Errors
/// [`LoadError::Read`], or [`LoadError::Invalid`] for one of more than 512 MiB.
pub async fn read_component(path: PathBuf) -> Result<Vec<u8>, LoadError> {
    blocking(move || read(path)).await
}

fn read(path: PathBuf) -> Result<Vec<u8>, LoadError> {
    match purlin_files::read(&path, LARGEST_COMPONENT) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            Err(LoadError::Invalid { message: "larger than 512 MiB".into() })
        }
        Err(source) => Err(LoadError::Read { path, source }),
    }
}

/// Runs work that blocks a thread for long on a separate thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(LoadError::Invalid { message: format!("compiling failed: {error}") }),
    }
}
