//! How to open a store in PostgreSQL.

use std::path::PathBuf;
use std::time::Duration;

use super::address::Address;
use crate::KeyProvider;

/// How to open a store in PostgreSQL.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The address of the database.
    pub address: Address,
    /// The source of the key. The key must exist; none is created.
    pub key: KeyProvider,
    /// How long an environment stays with a process that no longer responds. A process renews its
    /// lease long before that.
    pub lease: Duration,
    /// How long to retry while the database does not respond.
    pub patience: Duration,
    /// The folder in which this host remembers the last commit that it made in each environment, so that it
    /// notices a database that was restored to an earlier one. It is created if missing, and has at most
    /// 16,384 small files. `None`: this host remembers nothing.
    pub memory: Option<PathBuf>,
}

impl PostgresOptions {
    /// The shortest lease: with a shorter one, a busy machine would lose it.
    pub const SHORTEST_LEASE: Duration = Duration::from_secs(3);
    /// The default patience.
    pub const PATIENCE: Duration = Duration::from_secs(20);
}
