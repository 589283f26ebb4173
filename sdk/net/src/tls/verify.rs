//! TLS modes that verify less than everything.

use std::sync::Arc;

use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_portable::client::WebPkiServerVerifier;
use rustls_portable::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls_portable::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls_portable::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// `require`: accepts any server that has the key of its certificate.
#[derive(Debug)]
pub(super) struct Anybody(WebPkiSupportedAlgorithms);

impl Anybody {
    pub(super) fn verifier(provider: &CryptoProvider) -> Arc<dyn ServerCertVerifier> {
        Arc::new(Self(provider.signature_verification_algorithms))
    }
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// `verify-ca`: accepts any server with a certificate from a trusted issuer, whatever its name.
#[derive(Debug)]
pub(super) struct AnyName(Arc<WebPkiServerVerifier>);

impl AnyName {
    pub(super) fn verifier(full: Arc<WebPkiServerVerifier>) -> Arc<dyn ServerCertVerifier> {
        Arc::new(Self(full))
    }
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(certificate, between, name, ocsp, now) {
            // The name is checked last: everything else was right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
