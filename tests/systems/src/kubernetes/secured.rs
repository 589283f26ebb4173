//! The cluster behind HTTPS, with a certificate for `localhost`.

use std::time::Duration;

use crate::certificates::{Authority, Key};
use crate::server::{Server, free_port, guarded, listens};
use crate::tools::need;

use super::Kubernetes;

/// A way to a cluster by HTTPS.
#[derive(Debug)]
pub struct Secured {
    _server: Server,
    port: u16,
    authority: Authority,
}

impl Secured {
    /// A way to a cluster; nothing where `openssl` or Python is not installed.
    pub fn start(k8s: &Kubernetes) -> Option<Self> {
        let (authority, python) = (Authority::new(Key::P256)?, need("python3")?);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        authority.issue("localhost", &path("server.crt"), &path("server.key"));
        std::fs::write(path("tls.py"), include_str!("tls.py")).expect("a file");
        let port = free_port();
        let mut command = guarded(python, None);
        command.arg(path("tls.py")).arg(port.to_string()).arg(path("server.crt")).arg(path("server.key"));
        command.arg(k8s.port().to_string());
        let server = Server::start(command, folder, || {
            std::thread::sleep(Duration::from_millis(20));
            listens(port)
        });
        Some(Self { _server: server, port, authority })
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// Who signed its certificate, as PEM.
    pub fn authority(&self) -> String {
        self.authority.pem()
    }
}
