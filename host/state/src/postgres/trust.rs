//! Which certificates of a server are trusted, and how a server recognises this client.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use secrecy::ExposeSecret as _;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::oid::db::rfc5912::ID_CE_SUBJECT_ALT_NAME;

use super::credentials::ClientCertificate;

/// What is known of the certificates of a server before it is reached.
pub(super) struct Trust {
    provider: Arc<CryptoProvider>,
    verifier: Arc<Verifier>,
}

impl Trust {
    /// Trusts these certificates (PEM) or, without any, the authorities of the system. `has_name` is
    /// whether a certificate must have the name of the host.
    ///
    /// # Errors
    /// What is wrong with `ca`.
    pub(super) fn new(ca: Option<&[u8]>, has_name: bool) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (mut roots, mut named) = (RootCertStore::empty(), Vec::new());
        match ca {
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    let certificate = certificate.map_err(|error| format!("`ca`: {error}"))?;
                    roots.add(certificate.clone()).map_err(|error| format!("`ca`: {error}"))?;
                    named.push(certificate);
                }
                if roots.is_empty() {
                    return Err(format!("`ca` {NO_CERTIFICATE}"));
                }
            }
            None => {
                let (_, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let algorithms = provider.signature_verification_algorithms;
        let verifier = Arc::new(Verifier { roots, named, has_name, algorithms });
        Ok(Self { provider, verifier })
    }

    /// The configuration of a connection, with the certificate of the client.
    ///
    /// # Errors
    /// What is wrong with that certificate. Contains nothing of its key.
    pub(super) fn config(&self, client: Option<&ClientCertificate>) -> Result<ClientConfig, String> {
        let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&self.verifier) as _);
        let Some(ClientCertificate { chain, key }) = client else { return Ok(config.with_no_client_auth()) };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.map_err(|error| format!("`client.certificate`: {error}"))?;
        if chain.is_empty() {
            return Err(format!("`client.certificate` {NO_CERTIFICATE}"));
        }
        let key = PrivateKeyDer::from_pem_slice(key.expose_secret().as_bytes()).map_err(|error| match error {
            pem::Error::NoItemsFound => {
                "`client.key` contains no private key in PEM without a passphrase (`-----BEGIN PRIVATE KEY-----`)"
            }
            _ => "`client.key` is not valid PEM",
        })?;
        config.with_client_auth_cert(chain, key).map_err(|error| match error {
            TlsError::InconsistentKeys(_) => "`client.key` is not the key of `client.certificate`".to_owned(),
            other => format!("`client`: {other}"),
        })
    }
}

const NO_CERTIFICATE: &str = "contains no PEM certificate (`-----BEGIN CERTIFICATE-----`)";

/// Checks the certificate of a server. One that is itself named in `ca` needs no authority, as for
/// PostgreSQL's own clients: its manual makes a certificate that is its own authority.
#[derive(Debug)]
struct Verifier {
    roots: RootCertStore,
    /// The certificates of `ca`.
    named: Vec<CertificateDer<'static>>,
    has_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        let has_name = || if self.has_name { verify_server_name(&parsed, name) } else { Ok(()) };
        if self.named.iter().any(|named| named == certificate) {
            let own = Certificate::from_der(certificate)
                .map_err(|_| TlsError::InvalidCertificate(CertificateError::BadEncoding))?;
            check_time(&own, now)?;
            // Such a certificate often has its name only where PostgreSQL looks last.
            if common_name(&own).is_none_or(|own| !own.eq_ignore_ascii_case(&name.to_str())) {
                has_name()?;
            }
        } else {
            let algorithms = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, algorithms)?;
            has_name()?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Checks that a certificate is valid now.
fn check_time(certificate: &Certificate, now: UnixTime) -> Result<(), TlsError> {
    let validity = certificate.tbs_certificate.validity;
    let now = Duration::from_secs(now.as_secs());
    let invalid = |reason| Err(TlsError::InvalidCertificate(reason));
    if now < validity.not_before.to_unix_duration() {
        return invalid(CertificateError::NotValidYet);
    }
    if now > validity.not_after.to_unix_duration() {
        return invalid(CertificateError::Expired);
    }
    Ok(())
}

/// The common name of a certificate that has no other names.
fn common_name(certificate: &Certificate) -> Option<&str> {
    let own = &certificate.tbs_certificate;
    let mut extensions = own.extensions.iter().flatten();
    if extensions.any(|extension| extension.extn_id == ID_CE_SUBJECT_ALT_NAME) {
        return None;
    }
    let mut parts = own.subject.0.iter().flat_map(|part| part.0.iter());
    let part = parts.find(|part| part.oid == COMMON_NAME)?;
    std::str::from_utf8(part.value.value()).ok()
}
