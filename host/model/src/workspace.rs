//! The operator's configuration (SPEC §2, kind `Workspace`; §8, capabilities).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::{Grants, Location, Lock, SecretStore, Template};

/// What stands in `purlin.yaml`. Paths are as written; they count from `folder`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workspace {
    /// The folder that the file lies in.
    pub folder: PathBuf,
    /// Used where no Deployment and no command line says otherwise.
    pub defaults: ContextDefaults,
    /// Folder of the embedded state, `.purlin` when none is written.
    pub state: Option<PathBuf>,
    /// The database that the state is in, in place of a folder.
    pub database: Option<StateDatabase>,
    /// Where the key of encrypted secrets comes from.
    pub key: Option<KeySource>,
    /// Drivers by name, `ORG/NAME`. Built-in ones may stand here too, for their grants and limits.
    pub drivers: IndexMap<Arc<str>, DriverConfig>,
    /// Stores of secrets by name. A name is one of an id of a resource.
    pub secret_stores: IndexMap<Arc<str>, SecretStore>,
    /// The environments that there are, by id. Where any is declared, others are mistakes until
    /// somebody says otherwise.
    pub environments: IndexMap<Arc<str>, DeclaredEnvironment>,
    /// How `purlin reconcile` keeps resources.
    pub reconcile: Reconcile,
    /// Driver calls at the same time, the engine's choice when none is written.
    pub parallelism: Option<usize>,
    /// What was approved of drivers: `purlin.lock` beside the file, where there is one.
    pub lock: Option<Lock>,
    /// Where it was written.
    pub location: Location,
}

/// A database of PostgreSQL that holds the state of a team (SPEC §10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDatabase {
    /// `postgres://USER@HOST:PORT/DATABASE`, without a password.
    pub url: Arc<str>,
    /// The schema of the tables; `purlin` when none is written.
    pub schema: Option<Arc<str>>,
    /// The secret store that has the password, and the name of the password there.
    pub password: Option<(Arc<str>, Arc<str>)>,
    /// File with the certificates (PEM) of the authorities that may have signed the server's.
    pub ca: Option<PathBuf>,
    /// How long an environment stays with a process that is not heard of; 30 seconds when none is written.
    pub lease: Option<Duration>,
    /// Where it was written.
    pub location: Location,
}

/// How resources are kept as the documents want them (SPEC §7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconcile {
    /// How often each resource is read; 10 minutes when none is written, never under a second.
    pub interval: Option<Duration>,
    /// What happens to a resource that others changed; it is repaired when nothing is written.
    pub drift: Option<Drift>,
    /// How long after its creation a resource may be missing from its system; 30 seconds when none is
    /// written. Systems that are eventually consistent show a new resource late.
    pub grace: Option<Duration>,
    /// Whether resources that left the documents are deleted without asking.
    pub delete: bool,
    /// Whether resources are replaced without asking, where that takes deleting the old one.
    pub replace: bool,
    /// Whether that goes for resources that hold data, too.
    pub data_loss: bool,
    /// Other settings for some resources; the last that fits one counts.
    pub rules: Vec<ReconcileRule>,
}

/// What happens to a resource that others changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drift {
    /// It is changed back.
    Repair,
    /// It is left so, and that is said.
    Report,
}

/// Settings for some resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcileRule {
    /// Which: a key, without its class where that is `default`, or a pattern with `*`.
    pub resources: Arc<str>,
    /// How often each is read.
    pub interval: Option<Duration>,
    /// What happens to one that others changed.
    pub drift: Option<Drift>,
    /// How long after its creation one may be missing.
    pub grace: Option<Duration>,
    /// Where it was written.
    pub location: Location,
}

/// Parts of a context that may be left open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextDefaults {
    /// Organisation.
    pub org: Option<Arc<str>>,
    /// Application.
    pub app: Option<Arc<str>>,
    /// Environment.
    pub env: Option<Arc<str>>,
    /// Type of the environment.
    pub env_type: Option<Arc<str>>,
    /// Namespace.
    pub namespace: Option<Arc<str>>,
}

/// Where the parts of a context were written, as far as documents say them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextPlaces {
    /// Organisation.
    pub org: Option<Location>,
    /// Application.
    pub app: Option<Location>,
    /// Environment.
    pub env: Option<Location>,
    /// Type of the environment.
    pub env_type: Option<Location>,
    /// Namespace.
    pub namespace: Option<Location>,
}

/// What a Workspace says about one environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredEnvironment {
    /// Its type, and where that was written.
    pub kind: Option<(Arc<str>, Location)>,
    /// Its namespace, and where that was written.
    pub namespace: Option<(Arc<str>, Location)>,
    /// What `${values.K}` reads there, over the values of Deployments.
    pub values: Vec<GivenValue>,
    /// Where it says that nothing in it may be deleted; none where it does not.
    pub protect: Option<Location>,
    /// Where it was written.
    pub location: Location,
}

/// A value that `${values.K}` reads and that no Deployment gives.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenValue {
    /// The name, `K`.
    pub name: Arc<str>,
    /// As it was written, to be kept with the history.
    pub written: serde_json::Value,
    /// The same, its placeholders parsed.
    pub template: Template,
    /// Who gives it.
    pub origin: ValueOrigin,
    /// Where it was written; its file is empty for one of the command line.
    pub location: Location,
}

/// Who gives a value besides Deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueOrigin {
    /// The environment in the Workspace.
    Environment,
    /// A file of values.
    File,
    /// The command line, or an embedding program, as text: it becomes a number or a boolean where
    /// it takes the place of one.
    Text,
    /// The same, as the value that it is.
    Typed,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file with an age identity.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A command that prints it: program and arguments.
    Command(Vec<String>),
}

/// One driver: where it is and what it may do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverConfig {
    /// Where the component is; `None` for a built-in driver.
    pub source: Option<DriverSource>,
    /// Versions that will do.
    pub version: Option<purlin_range::Range>,
    /// What it may do; nothing by default.
    pub grants: Grants,
    /// What it may use up.
    pub limits: Limits,
    /// Where it was written.
    pub location: Location,
}

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverSource {
    /// A file, or a folder with components in it.
    Path(PathBuf),
    /// A reference in a registry, without `oci://`.
    Oci(String),
}

/// What a driver may use up. `None` is the sandbox's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory of one instance.
    pub memory: Option<u64>,
    /// Wall-clock time of one call.
    pub time: Option<Duration>,
    /// Bytes of what one call returns.
    pub output: Option<u64>,
    /// Bytes of log lines of one call.
    pub log: Option<u64>,
    /// Calls at the same time.
    pub concurrency: Option<usize>,
    /// Wall-clock time of all calls together, while one program runs.
    pub total: Option<Duration>,
    /// Bytes of the bodies that the requests of one call may be answered with, together.
    pub response: Option<u64>,
    /// Requests, connections and look-ups of names of one call, together.
    pub requests: Option<u32>,
}
