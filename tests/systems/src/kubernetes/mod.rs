//! Kubernetes on loopback: etcd, and the API server and the controller manager that
//! `cargo xtask tools` builds. RBAC is on, and the requests of the users of tests are in the audit
//! log.
//!
//! There are no nodes and no scheduler. `kubelet.rs` decides the outcome of pods.

mod audit;
mod client;
mod kubelet;
mod objects;
mod start;
mod webhook;

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::certificates::Authority;
use crate::server::Server;

pub use audit::Request;
pub use webhook::Webhook;

use client::Door;
use kubelet::Kubelet;

/// The token of a user who may do everything.
pub const TOKEN: &str = "token-of-an-administrator";
/// The token of the user `reader`, who has the rights that a test allows.
pub const READER: &str = "token-of-a-reader";
/// The token of the tests themselves. Their requests are not in the audit log.
const TESTER: &str = "token-of-the-tests";

/// How long a test waits for the cluster.
const PATIENCE: Duration = Duration::from_secs(150);

/// A running cluster. It ends with the test.
#[derive(Debug)]
pub struct Kubernetes {
    // Fields are dropped in this order: clients before their servers.
    _kubelet: Kubelet,
    _manager: Server,
    api: Server,
    _proxy: Server,
    _etcd: Server,
    port: u16,
    door: Door,
    authority: Authority,
    /// How many lines of the audit log [`Kubernetes::requests`] has returned.
    returned: Cell<usize>,
}

impl Kubernetes {
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
        self.authority.pem()
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
