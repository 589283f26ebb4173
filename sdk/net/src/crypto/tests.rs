//! Tests against another implementation.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SignatureAlgorithm};
use rustls_pki_types::PrivateKeyDer;
use rustls_portable::crypto::CryptoProvider;
use rustls_portable::{ServerConfig, ServerConnection, Stream as TlsStream, SupportedCipherSuite};

use crate::{Deadline, Server, Tls, Trouble, connect};

/// A server that returns every byte, for one connection, with this suite and this group.
fn echo(kind: &'static SignatureAlgorithm, suite: usize, group: usize) -> (u16, String) {
    let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate_for(kind).expect("a key");
    let authority = CertifiedIssuer::self_signed(parameters, key).expect("an authority");
    let key = KeyPair::generate_for(kind).expect("a key");
    let parameters = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    let certificate = parameters.signed_by(&key, &authority).expect("a certificate");
    let ring = rustls_portable::crypto::ring::default_provider();
    let suites: Vec<SupportedCipherSuite> = super::provider().cipher_suites;
    let wanted = suites.get(suite).expect("a suite").suite();
    let groups = super::provider().kx_groups;
    let group = groups.get(group).expect("a group").name();
    let provider = CryptoProvider {
        cipher_suites: ring.cipher_suites.iter().copied().filter(|suite| suite.suite() == wanted).collect(),
        kx_groups: ring.kx_groups.iter().copied().filter(|there| there.name() == group).collect(),
        ..ring
    };
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls_portable::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a server");
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let config = Arc::new(config);
        for mut tcp in listener.incoming().flatten() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut tls = TlsStream::new(&mut connection, &mut tcp);
            let mut buffer = vec![0; 100_000];
            while let Ok(length @ 1..) = tls.read(&mut buffer) {
                if tls.write_all(buffer.get(..length).unwrap_or_default()).is_err() {
                    break;
                }
            }
        }
    });
    (port, authority.pem())
}

/// Far longer than a busy machine takes.
const PATIENCE: Duration = Duration::from_secs(600);

fn server(port: u16, tls: Tls, ca: &str) -> Server {
    let connect_timeout = PATIENCE.as_secs();
    Server { host: "localhost".to_owned(), port, tls, ca: Some(ca.to_owned()), connect_timeout }
}

#[test]
fn every_suite_group_and_curve_talks_with_another_implementation() {
    for kind in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384] {
        for suite in 0..3 {
            for group in 0..2 {
                let (port, ca) = echo(kind, suite, group);
                let server = server(port, Tls::VerifyFull, &ca);
                let until = Deadline::after(PATIENCE);
                let mut stream =
                    connect(&server, until).and_then(|stream| stream.secure(&server)).expect("TLS");
                assert!(stream.is_secure() && stream.end_point().is_some());
                // More than fits in one record.
                let words: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
                let (half, rest) = words.split_at(70_000);
                for part in [half, rest] {
                    stream.write_all(part).and_then(|()| stream.flush()).expect("to write");
                    let mut back = vec![0; part.len()];
                    stream.read_exact(&mut back).expect("to read");
                    assert!(back == part);
                }
            }
        }
    }
}

#[test]
fn a_server_with_another_identity_is_rejected() {
    let (port, ca) = echo(&rcgen::PKCS_ECDSA_P256_SHA256, 0, 0);
    let (_, other) = echo(&rcgen::PKCS_ECDSA_P256_SHA256, 0, 0);
    let attempt = |server: Server| {
        let until = Deadline::after(PATIENCE);
        connect(&server, until)
            .and_then(|stream| stream.secure(&server))
            .map(|_| ())
            .map_err(|error| error.trouble)
    };
    let by_address = |tls| Server { host: "127.0.0.1".to_owned(), ..server(port, tls, &ca) };
    assert_eq!(attempt(server(port, Tls::VerifyFull, &ca)), Ok(()));
    assert_eq!(attempt(by_address(Tls::VerifyCa)), Ok(()));
    assert_eq!(attempt(server(port, Tls::Require, "")), Ok(()));
    for wrong in [by_address(Tls::VerifyFull), server(port, Tls::VerifyCa, &other)] {
        assert!(matches!(attempt(wrong), Err(Trouble::Tls(_))));
    }
}
