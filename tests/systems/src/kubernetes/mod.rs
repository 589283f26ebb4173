//! Kubernetes on loopback: etcd, and the API server and the controller manager that
//! `cargo xtask tools` builds. RBAC is on, and the requests of the users of tests are in the audit
//! log.
//!
//! There are no nodes and no scheduler. `kubelet.rs` decides the outcome of pods.
//!
//! [`Kubernetes`] is what a test uses. Its cluster is the test's own, or one that a pool lends and that
//! `reset.rs` cleans for the next test.

mod audit;
mod client;
mod kubelet;
mod objects;
mod reset;
mod start;
mod store;
mod webhook;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::pool::{self, Lease, Lendable as _};

pub use audit::Request;
pub(crate) use start::Cluster;
pub use webhook::Webhook;

use client::Door;

/// The token of a user who may do everything.
pub const TOKEN: &str = "token-of-an-administrator";
/// The token of the user `reader`, who has the rights that a test allows.
pub const READER: &str = "token-of-a-reader";
/// The token of the tests themselves. Their requests are not in the audit log.
const TESTER: &str = "token-of-the-tests";

/// How long a test waits for the cluster.
const PATIENCE: Duration = Duration::from_secs(150);

/// A running cluster, for one test.
#[derive(Debug)]
pub struct Kubernetes {
    port: u16,
    door: Door,
    authority: String,
    audit: PathBuf,
    /// The part of the audit log that others have caused, in bytes.
    before: u64,
    /// How many requests [`Kubernetes::requests`] has returned.
    returned: Cell<usize>,
    /// One of these is there, and ends with the test.
    _own: Option<Cluster>,
    _lease: Option<Lease>,
}

impl Kubernetes {
    /// An empty cluster; none and a message if a program is not installed.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start() -> Option<Self> {
        if let Some(pool) = pool::of_this_run() {
            return Self::lent(&pool);
        }
        let own = Cluster::launch()?;
        Some(Self::new(&own.describe(), Some(own), None))
    }

    /// An empty cluster of the pool with this socket; none and a message if a program is not installed.
    ///
    /// # Panics
    /// If it does not start.
    pub fn lent(pool: &Path) -> Option<Self> {
        start::programs()?;
        let (lease, description) = Lease::take::<Cluster>(pool)?;
        Some(Self::new(&description, None, Some(lease)))
    }

    fn new(description: &Value, own: Option<Cluster>, lease: Option<Lease>) -> Self {
        let audit = PathBuf::from(pool::text(&description["audit"]));
        Self {
            port: pool::port(&description["port"]),
            door: Door { port: pool::port(&description["plain_port"]), token: TESTER },
            authority: pool::text(&description["authority"]),
            before: audit::length(&audit),
            audit,
            returned: Cell::default(),
            _own: own,
            _lease: lease,
        }
    }

    /// Its URL. The certificate is for this name.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The port of loopback at which it speaks HTTPS.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of loopback at which `kubectl proxy` forwards plain HTTP to it: a wire that cuts
    /// messages sees requests there, and no handshakes.
    pub fn plain_port(&self) -> u16 {
        self.door.port
    }

    /// The authority of its certificate, as PEM.
    pub fn authority(&self) -> String {
        self.authority.clone()
    }
}

/// Waits until something exists.
///
/// # Panics
/// If it does not appear.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "this does not happen: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
