//! A PostgreSQL server, and the runtime of its clients.

use std::time::Duration;

use purlin_state::{Address, KeyProvider, Lock, PostgresOptions, PostgresStore, Store};
use purlin_systems::postgres::{PASSWORD, Postgres};
use tokio::runtime::Runtime;

use super::{environment, holder};

/// A short lease, three times as long as a busy machine needs to renew it.
pub const BRIEF: Duration = Duration::from_secs(9);

/// This identity was generated for these tests.
pub const KEY: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";

/// A server, and the runtime of its clients.
pub struct Scene {
    pub server: Postgres,
    pub runtime: Runtime,
    pub key: tempfile::TempDir,
}

impl Scene {
    pub fn begin(settings: &[&str]) -> Option<Self> {
        let server = Postgres::with(None, settings)?;
        let key = tempfile::tempdir().expect("a folder");
        KeyProvider::create(&key.path().join("key")).expect("made");
        let scene = Self { server, runtime: runtime(), key };
        assert!(scene.runtime.block_on(PostgresStore::prepare(&scene.options())).expect("prepared"));
        Some(scene)
    }

    pub fn options(&self) -> PostgresOptions {
        PostgresOptions {
            address: Address {
                url: format!("postgres://postgres@127.0.0.1:{}/postgres", self.server.port),
                schema: "purlin".into(),
                password: Some(PASSWORD.into()),
                ca: None,
            },
            key: KeyProvider::File(self.key.path().join("key")),
            lease: PostgresOptions::LEASE,
            patience: PostgresOptions::PATIENCE,
        }
    }

    /// A store with leases that a test can wait for but that a busy machine still keeps.
    pub fn open_briefly(&self) -> PostgresStore {
        self.run(PostgresStore::open(self.brief())).expect("opens")
    }

    pub fn brief(&self) -> PostgresOptions {
        PostgresOptions { lease: BRIEF, ..self.options() }
    }

    pub fn open(&self) -> PostgresStore {
        self.run(PostgresStore::open(self.options())).expect("opens")
    }

    /// The store with no content.
    pub fn open_anew(&self) -> PostgresStore {
        self.sql("TRUNCATE purlin.environments, purlin.entries, purlin.vacancies, purlin.stale");
        self.open()
    }

    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn sql(&self, sql: &str) -> String {
        self.server.ask(sql)
    }

    pub fn lock(&self, store: &PostgresStore) -> Lock {
        self.run(store.lock(&environment(), holder())).expect("free")
    }
}

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}
