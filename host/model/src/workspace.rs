//! The operator's configuration (SPEC §2, kind `Workspace`; §8, capabilities).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::{Grants, Location, Lock, SecretStore};

/// What stands in `purlin.yaml`. Paths are as written; they count from `folder`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workspace {
    /// The folder that the file lies in.
    pub folder: PathBuf,
    /// Used where no Deployment and no command line says otherwise.
    pub defaults: ContextDefaults,
    /// Folder of the embedded state, `.purlin` when none is written.
    pub state: Option<PathBuf>,
    /// Where the key of encrypted secrets comes from.
    pub key: Option<KeySource>,
    /// Drivers by name, `ORG/NAME`. Built-in ones may stand here too, for their grants and limits.
    pub drivers: IndexMap<Arc<str>, DriverConfig>,
    /// Stores of secrets by name. A name is one of an id of a resource.
    pub secret_stores: IndexMap<Arc<str>, SecretStore>,
    /// Driver calls at the same time, the engine's choice when none is written.
    pub parallelism: Option<usize>,
    /// What was approved of drivers: `purlin.lock` beside the file, where there is one.
    pub lock: Option<Lock>,
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
    pub version: Option<semver::VersionReq>,
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
