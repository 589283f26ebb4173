//! The certificates that a driver's requests trust: the system's roots, and granted ones.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::Error;

use crate::error::LoadError;
use crate::sandbox::DriverSetup;

/// The certificates of one driver. The system's are read at their first use.
pub(in crate::capability) struct Trust {
    granted: Vec<CertificateDer<'static>>,
    config: OnceLock<Option<Arc<ClientConfig>>>,
}

impl Trust {
    /// A granted file must hold certificates.
    pub(in crate::capability) fn validate(setup: &DriverSetup) -> Result<Self, LoadError> {
        let mut granted = Vec::new();
        for file in &setup.grants.ca {
            let path = setup.folder.join(file);
            let fault = |what: &str| LoadError::Grant {
                message: format!(
                    "the granted file {} {what}; see `drivers.{}.grants.ca` in purlin.yaml",
                    path.display(),
                    setup.name
                ),
            };
            let found = certificates(&path).map_err(|what| fault(&what))?;
            if found.is_empty() {
                return Err(fault("contains no PEM certificate"));
            }
            granted.extend(found);
        }
        Ok(Self { granted, config: OnceLock::new() })
    }

    /// Starts TLS with a server, which must prove that it is this host.
    pub(super) async fn secure(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, Error> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(bare.to_owned()).map_err(|_| Error::HttpRequestUriInvalid)?;
        // Reading the system's certificates takes a while, once.
        let config = match self.config.get() {
            Some(config) => config.clone(),
            None => {
                let granted = self.granted.clone();
                let made = tokio::task::spawn_blocking(move || config(granted)).await.ok().flatten();
                self.config.get_or_init(|| made).clone()
            }
        };
        let config = config.ok_or(Error::ConfigurationError)?;
        TlsConnector::from(config).connect(name, stream).await.map_err(Error::Tls)
    }
}

/// The largest file of certificates, in bytes.
const LARGEST_CERTIFICATES: u64 = 10 << 20;

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = purlin_files::read(path, LARGEST_CERTIFICATES)
        .map_err(|error| format!("cannot be read ({})", purlin_files::reason(&error)))?;
    CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("is not PEM ({error})"))
}

fn config(granted: Vec<CertificateDer<'static>>) -> Option<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::debug!(target: "purlin::sandbox", %error, "a certificate of the system cannot be read");
    }
    roots.add_parsable_certificates(system.certs);
    roots.add_parsable_certificates(granted);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config.ok()?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Some(Arc::new(config))
}
