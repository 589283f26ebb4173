//! A PostgreSQL server, and the runtime of its clients.

use std::sync::Arc;
use std::time::Duration;

use purlin_state::{
    Address, Change, Credentials, Deployment, Error, KeyProvider, Lock, Outcome, PostgresOptions,
    PostgresStore, Store, Vacancy,
};
use purlin_systems::postgres::{PASSWORD, Postgres};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use super::{environment, holder, intend, put, remove, secret_record};

/// A lease that lasts, and a patience that suffices, on a machine that stalls.
pub const LONG: Duration = Duration::from_secs(120);

/// Leases whose end a test can wait for, in seconds. A machine that stalls loses one too early: then
/// the test takes the next one.
pub const LEASES: [u64; 4] = [3, 9, 27, 81];

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
                credentials: Arc::new(Credentials::password(PASSWORD)),
                ca: None,
            },
            key: KeyProvider::File(self.key.path().join("key")),
            lease: LONG,
            patience: LONG,
            memory: None,
        }
    }

    pub fn with_lease(&self, lease: Duration) -> PostgresOptions {
        PostgresOptions { lease, ..self.options() }
    }

    /// Ends all leases by the clock of the database, as for hosts that were stopped.
    pub fn end_leases(&self) {
        self.sql("UPDATE purlin.environments SET lease_until = clock_timestamp() - interval '1 second'");
    }

    pub fn open(&self) -> PostgresStore {
        self.run(PostgresStore::open(self.options())).expect("opens")
    }

    /// The store with no content.
    pub fn open_anew(&self) -> PostgresStore {
        self.sql(
            "TRUNCATE purlin.environments, purlin.commits, purlin.entries, purlin.vacancies, purlin.stale",
        );
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

/// Installs its server where that is missing, and says so.
#[allow(unused_macros)]
macro_rules! scene {
    () => {
        scene!(&[])
    };
    ($settings:expr) => {
        match $crate::common::scene::Scene::begin($settings) {
            Some(scene) => scene,
            None => return,
        }
    };
}

/// Everything of an environment, as somebody else reads it.
pub fn all(scene: &Scene, store: &dyn Store) -> impl PartialEq + std::fmt::Debug + use<> {
    scene.run(async {
        let snapshot = store.load(&environment()).await.expect("loads");
        let history = store.history(&environment()).await.expect("reads");
        let mut documents = Vec::new();
        for digest in history.iter().filter_map(|deployment| deployment.documents) {
            documents.push(store.documents(&environment(), &digest).await.expect("reads"));
        }
        (snapshot.records, snapshot.pending, snapshot.obstacles, snapshot.closed_by, history, documents)
    })
}

pub fn deployed(number: u64) -> Change {
    let documents = format!("documents {number}").into_bytes();
    let deployment = Deployment {
        id: format!("d{number}").into(),
        number,
        holder: holder(),
        ended: Some(7),
        outcome: Outcome::Succeeded,
        steps: Vec::new(),
        documents: Some(Sha256::digest(&documents).into()),
        rollback_of: None,
        rejected: None,
        rollouts: Default::default(),
    };
    Change::Deployed { deployment: Box::new(deployment), documents: Some(documents) }
}

pub fn fill(scene: &Scene, store: &dyn Store) {
    let lock = scene.run(store.lock(&environment(), holder())).expect("free");
    let changes =
        (0..20).map(|n| put(secret_record(n))).chain([intend(secret_record(30)), deployed(1), deployed(2)]);
    scene.run(lock.writer().commit(changes.collect())).expect("commits");
    scene.run(lock.release()).expect("released");
}

/// What a deployment does with its store, the documents and the history included.
pub fn deploy(scene: &Scene, store: &PostgresStore, round: usize) -> Result<(), Error> {
    scene.run(async {
        let lock = store.lock(&environment(), holder()).await?;
        let writer = lock.writer();
        writer.commit(vec![intend(secret_record(round)), remove(round.wrapping_sub(1))]).await?;
        let settled = Change::Settle(secret_record(round).id());
        let (one, two) =
            (writer.submit(vec![put(secret_record(round)), settled])?, writer.submit(vec![deployed(1)])?);
        one.await?;
        two.await?;
        lock.release().await?;
        let vacancy = Vacancy { namespace: "dev".into(), group: "".into(), bundle: None };
        drop(store.reserve(&vacancy, holder()).await?);
        store.environments(None, 10).await?;
        store.history(&environment()).await.map(drop)
    })
}
