//! TLS on a connection, and the server's identity.

mod end_point;
mod verify;

use std::fmt;
use std::io;
use std::sync::Arc;

use data_encoding::{BASE64, Specification};
use purlin_sdk::Input;
use rustls_pki_types::{CertificateDer, ServerName};
use rustls_portable::client::WebPkiServerVerifier;
use rustls_portable::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Serialize;

use crate::tcp::Tcp;
use crate::{Server, Trouble, crypto};

pub(crate) use end_point::end_point;

/// Whether a connection is encrypted, and how well the server has to prove who it is. There is no
/// `prefer`: an attacker between the two sides could turn encryption off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Input, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    /// Not encrypted.
    Disable,
    /// Encrypted; the server's certificate is not verified.
    Require,
    /// Encrypted; the server's certificate must come from a trusted authority.
    VerifyCa,
    /// Like `VerifyCa`, and the certificate must have the host's name.
    #[default]
    VerifyFull,
}

impl fmt::Display for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disable => "disable",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        })
    }
}

/// The certificates in PEM text, as DER.
///
/// # Errors
/// If there is none, or one is broken; returns the reason.
pub fn certificates(pem: &str) -> Result<Vec<Vec<u8>>, String> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let base64 = lenient();
    let mut found = Vec::new();
    for (index, part) in pem.split(BEGIN).skip(1).enumerate() {
        let broken = |why: &str| format!("certificate {} {why}", index + 1);
        let (body, _) = part.split_once(END).ok_or_else(|| broken("does not end"))?;
        let bytes = base64.as_ref().unwrap_or(&BASE64).decode(body.as_bytes());
        found.push(bytes.map_err(|error| broken(&format!("is not Base64: {error}")))?);
    }
    if found.is_empty() {
        return Err(format!("contains no certificate: it has to be PEM, with `{BEGIN}`"));
    }
    let mut store = RootCertStore::empty();
    for (index, der) in found.iter().enumerate() {
        let added = store.add(CertificateDer::from(der.as_slice()).into_owned());
        added.map_err(|error| format!("certificate {} cannot be used: {}", index + 1, words(&error)))?;
    }
    Ok(found)
}

/// Base64 with embedded white space.
fn lenient() -> Option<data_encoding::Encoding> {
    let mut specification: Specification = BASE64.specification();
    specification.ignore.push_str(" \r\n\t");
    specification.encoding().ok()
}

/// The TLS handshake.
pub(crate) struct Secured;

impl Secured {
    pub(crate) fn agree(
        mut tcp: Tcp,
        server: &Server,
    ) -> Result<StreamOwned<ClientConnection, Tcp>, Trouble> {
        let name = ServerName::try_from(server.host.clone())
            .map_err(|_| Trouble::Tls(format!("`{}` is not a valid name for a certificate", server.host)))?;
        let mut connection = ClientConnection::new(Arc::new(config(server)?), name)?;
        while connection.is_handshaking() {
            if let Err(error) = connection.complete_io(&mut tcp) {
                return Err(because(error));
            }
        }
        Ok(StreamOwned::new(connection, tcp))
    }
}

fn because(error: io::Error) -> Trouble {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls_portable::Error>()) {
        Some(tls) => Trouble::Tls(words(tls)),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            Trouble::Tls("the server ended the connection while TLS was agreed on".to_owned())
        }
        None => error.into(),
    }
}

fn config(server: &Server) -> Result<ClientConfig, Trouble> {
    let provider = Arc::new(crypto::provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls_portable::version::TLS13])?;
    let verifier = match server.tls {
        Tls::Disable | Tls::Require => verify::Anybody::verifier(&provider),
        Tls::VerifyCa | Tls::VerifyFull => {
            let mut roots = RootCertStore::empty();
            let pem = server.ca.as_deref().unwrap_or_default();
            for der in certificates(pem).map_err(|reason| Trouble::Tls(format!("`ca` {reason}")))? {
                roots.add(CertificateDer::from(der))?;
            }
            let full = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| Trouble::Tls(error.to_string()))?;
            match server.tls {
                Tls::VerifyCa => verify::AnyName::verifier(full),
                _ => full,
            }
        }
    };
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    // A driver connects once: there is nothing to resume.
    config.resumption = rustls_portable::client::Resumption::disabled();
    Ok(config)
}

/// The error, in words for an operator.
pub(crate) fn words(error: &rustls_portable::Error) -> String {
    use rustls_portable::Error;
    match error {
        Error::InvalidCertificate(reason) => match reason {
            CertificateError::UnknownIssuer => {
                "the server's certificate was not issued by an authority in `connection.ca`".to_owned()
            }
            // An issuer with the same name and another key.
            CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
                "the server's certificate was not issued by an authority in `connection.ca`, or it does not have the key to it"
                    .to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the server's certificate is for another host ({error}); `tls: verify-ca` does not check the name")
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the server's certificate has expired ({error})")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the server's certificate is not valid yet ({error})")
            }
            _ => format!("the server's certificate cannot be trusted: {error}"),
        },
        Error::PeerIncompatible(_) => format!("the server does not support TLS 1.3 in a compatible form ({error})"),
        Error::InvalidMessage(_) => format!("the server does not support TLS ({error})"),
        _ => error.to_string(),
    }
}
