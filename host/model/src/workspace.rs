//! The operator's configuration (SPEC §2, kind `Workspace`; §8, capabilities).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::{Diagnostic, Grants, Location, Lock, SecretStore, Template, Value};

/// The content of `purlin.yaml`. Paths are as written, relative to `folder`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workspace {
    /// The folder of the file.
    pub folder: PathBuf,
    /// Used if neither a Deployment nor the command line sets them.
    pub defaults: ContextDefaults,
    /// Folder of the embedded state, `.purlin` by default.
    pub state: Option<PathBuf>,
    /// The database of the state, instead of a folder.
    pub database: Option<StateDatabase>,
    /// How long the entries of audits are kept; [`Workspace::AUDIT_KEEP`] by default.
    pub audit_keep: Option<Duration>,
    /// The source of the key for encrypted secrets.
    pub key: Option<KeySource>,
    /// Whether the state's location or key source is set but unreadable; no default may replace it.
    pub is_state_unknown: bool,
    /// Drivers by name, `ORG/NAME`. Built-in ones may be listed too, for their grants and limits.
    pub drivers: IndexMap<Arc<str>, DriverConfig>,
    /// Stores of secrets by name. A name must be valid as a part of a resource id.
    pub secret_stores: IndexMap<Arc<str>, SecretStore>,
    /// The accounts that definitions name as `driver_account`, by name.
    pub accounts: IndexMap<Arc<str>, Account>,
    /// The labels that the operator wants on every real object, by name.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// Grants of stores that are not among these. They are faults unless the program has stores of
    /// its own.
    pub unknown_stores: Vec<Diagnostic>,
    /// The environments, by id. If any is declared, others are treated as mistakes unless the user
    /// confirms them.
    pub environments: IndexMap<Arc<str>, DeclaredEnvironment>,
    /// The settings of `purlin reconcile`.
    pub reconcile: Reconcile,
    /// Groups of manifests whose fields such as `vpcIdRef` are references by convention, besides the
    /// known ones; `*` stands for any text.
    pub references: Vec<Arc<str>>,
    /// Concurrent driver calls; [`Workspace::PARALLELISM`] by default.
    pub parallelism: Option<usize>,
    /// The approvals of drivers: `purlin.lock` beside the file, if it exists.
    pub lock: Option<Lock>,
    /// Where it was written.
    pub location: Location,
}

impl Workspace {
    /// The maximum number of concurrent driver calls by default.
    pub const PARALLELISM: usize = 32;
    /// How long the entries of audits are kept by default: a year, and the time to look at it.
    pub const AUDIT_KEEP: Duration = Duration::from_hours(400 * 24);
}

/// An account that drivers use, such as one at a cloud (SPEC §8).
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// What it is for, such as `aws`. Drivers read it as `type`.
    pub kind: Arc<str>,
    /// The rest, a map. Like a connection, it has `{store, ref, version}` in place of secrets.
    pub fields: Value,
    /// Where it was written.
    pub location: Location,
}

/// A PostgreSQL database that holds the state of a team (SPEC §10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDatabase {
    /// `postgres://USER@HOST:PORT/DATABASE`, without a password.
    pub url: Arc<str>,
    /// The schema of the tables; [`StateDatabase::SCHEMA`] by default.
    pub schema: Option<Arc<str>>,
    /// The secret store with the password, and the name of the password there.
    pub password: Option<(Arc<str>, Arc<str>)>,
    /// The certificate with which the server recognises its user.
    pub client: Option<StateDatabaseClient>,
    /// File with the certificates (PEM) of the authorities for the server's certificate, or of the server
    /// itself.
    pub ca: Option<PathBuf>,
    /// How long an environment stays with a process that does not respond; [`StateDatabase::LEASE`] by
    /// default.
    pub lease: Option<Duration>,
    /// Where it was written.
    pub location: Location,
}

impl StateDatabase {
    /// The schema of the tables by default.
    pub const SCHEMA: &'static str = "purlin";
    /// The lease by default. A process renews its lease long before it ends.
    pub const LEASE: Duration = Duration::from_secs(30);

    /// The name of a database for messages: its address, with the schema if that is not the usual one.
    pub fn place(url: &str, schema: &str) -> String {
        let separator = if url.contains('?') { '&' } else { '?' };
        match schema == Self::SCHEMA {
            true => url.to_owned(),
            false => format!("{url}{separator}schema={schema}"),
        }
    }
}

/// The certificate with which a database recognises its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDatabaseClient {
    /// File with the certificate (PEM), and those between it and its authority.
    pub certificate: PathBuf,
    /// The secret store with its private key (PEM), and the name of the key there.
    pub key: (Arc<str>, Arc<str>),
}

/// How resources are kept in line with the documents (SPEC §7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconcile {
    /// How often each resource is read, never under a second; [`Reconcile::INTERVAL`] by default.
    pub interval: Option<Duration>,
    /// The reaction to drift; [`Reconcile::DRIFT`] by default.
    pub drift: Option<Drift>,
    /// Whether resources that left the documents are deleted without a confirmation.
    pub delete: bool,
    /// Whether resources are replaced without a confirmation, if that requires deleting the old
    /// one.
    pub replace: bool,
    /// Whether that also applies to resources that hold data.
    pub data_loss: bool,
    /// Other settings for some resources; the last matching one is used.
    pub rules: Vec<ReconcileRule>,
}

impl Reconcile {
    /// How often each resource is read by default.
    pub const INTERVAL: Duration = Duration::from_mins(10);
    /// The reaction to drift by default.
    pub const DRIFT: Drift = Drift::Repair;
}

/// The reaction to drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drift {
    /// It is changed back.
    Repair,
    /// It is reported and not changed.
    Report,
}

/// Settings for some resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcileRule {
    /// Which: a key, without its class if that is `default`, or a pattern with `*`.
    pub resources: Arc<str>,
    /// How often each is read.
    pub interval: Option<Duration>,
    /// The reaction to drift.
    pub drift: Option<Drift>,
    /// Where it was written.
    pub location: Location,
}

/// Optional parts of a context.
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

/// Where the parts of a context were written, if documents contain them.
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

/// The settings of a Workspace for one environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredEnvironment {
    /// Its type, and where that was written.
    pub kind: Option<(Arc<str>, Location)>,
    /// Its namespace, and where that was written.
    pub namespace: Option<(Arc<str>, Location)>,
    /// The values of `${values.K}` there, which override those of Deployments.
    pub values: Vec<GivenValue>,
    /// The place that forbids deletions in it; none if there is no such setting.
    pub protect: Option<Location>,
    /// Where it was written.
    pub location: Location,
}

/// A value of `${values.K}` that no Deployment gives.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenValue {
    /// The name, `K`.
    pub name: Arc<str>,
    /// As written, to be kept in the history.
    pub written: serde_json::Value,
    /// The same, with its placeholders parsed.
    pub template: Template,
    /// Its origin.
    pub origin: ValueOrigin,
    /// Where it was written; the file is empty for a value of the command line.
    pub location: Location,
}

/// The origin of a value besides Deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueOrigin {
    /// The environment in the Workspace.
    Environment,
    /// A file of values.
    File,
    /// The command line, or an embedding program, as text: it becomes a number or a boolean if it
    /// replaces one.
    Text,
    /// The same, as a typed value.
    Typed,
}

/// The source of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file with an age identity.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A command that prints it: program and arguments.
    Command(Vec<String>),
}

/// One driver: its location and its grants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverConfig {
    /// The location of the component; `None` for a built-in driver.
    pub source: Option<DriverSource>,
    /// The accepted versions.
    pub version: Option<purlin_range::Range>,
    /// Its grants; nothing by default.
    pub grants: Grants,
    /// Its limits.
    pub limits: Limits,
    /// Where it was written.
    pub location: Location,
}

/// The location of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverSource {
    /// A file, or a folder with components in it.
    Path(PathBuf),
    /// A reference in a registry, without `oci://`.
    Oci(String),
}

/// The limits of a driver. `None` is the default, which is a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory of one instance.
    pub memory: Option<u64>,
    /// Wall-clock time of one call.
    pub time: Option<Duration>,
    /// Bytes of the result of one call.
    pub output: Option<u64>,
    /// Bytes of log lines of one call.
    pub log: Option<u64>,
    /// Concurrent calls.
    pub concurrency: Option<usize>,
    /// The time that one operation waits between its calls, if the driver asks for it.
    pub wait: Option<Duration>,
    /// How long its system may not show what was created: see [`Limits::grace`].
    pub grace: Option<Duration>,
    /// How long a run waits for one resource that is in progress: see [`Limits::pending`].
    pub pending: Option<Duration>,
    /// Bytes of the private state of one resource (the cookie of the contract).
    pub state: Option<u64>,
    /// Wall-clock time of all calls together, while one program runs.
    pub total: Option<Duration>,
    /// Bytes of the bodies of all answers to the requests of one call.
    pub response: Option<u64>,
    /// Requests, connections and lookups of one call, together.
    pub requests: Option<u32>,
}

impl Limits {
    /// The default of [`Limits::memory`].
    pub const MEMORY: u64 = 64 << 20;
    /// The default of [`Limits::time`].
    pub const TIME: Duration = Duration::from_secs(30);
    /// The default of [`Limits::output`].
    pub const OUTPUT: u64 = 4 << 20;
    /// The default of [`Limits::log`].
    pub const LOG: u64 = 1 << 20;
    /// The default of [`Limits::concurrency`].
    pub const CONCURRENCY: usize = 64;
    /// The default of [`Limits::wait`]. It is part of each deadline, so that the time of one attempt can
    /// be read from a deadline.
    pub const WAIT: Duration = Duration::from_secs(60);
    /// The default of [`Limits::grace`], except for the built-in drivers whose systems show a new
    /// resource at once.
    pub const GRACE: Duration = Duration::from_secs(30);
    /// The default of [`Limits::pending`].
    pub const PENDING: Duration = Duration::from_mins(30);
    /// The default of [`Limits::state`].
    pub const STATE: u64 = 10 << 10;
    /// The default of [`Limits::response`].
    pub const RESPONSE: u64 = 64 << 20;
    /// The default of [`Limits::requests`].
    pub const REQUESTS: u32 = 1_000;

    /// How long after its creation a resource may be missing from its system. Eventually consistent
    /// systems show a new resource late, so a resource that is not found counts as missing only once
    /// this time has passed.
    pub fn grace(&self) -> Duration {
        self.grace.unwrap_or(Self::GRACE)
    }

    /// How long a run waits, in all, until a resource is done that its driver calls pending. It goes on in
    /// the next run.
    pub fn pending(&self) -> Duration {
        self.pending.unwrap_or(Self::PENDING)
    }
}
