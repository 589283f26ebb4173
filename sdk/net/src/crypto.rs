//! The parts of TLS 1.3, from the RustCrypto crates: so cargo alone builds a driver, without a C
//! compiler for WebAssembly. This module verifies and agrees on keys; it has no private keys.

mod aead;
mod exchange;
mod hash;
mod signature;

use std::sync::Arc;

use rustls_pki_types::PrivateKeyDer;
use rustls_portable::Error;
use rustls_portable::crypto::{CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom};
use rustls_portable::sign::SigningKey;

/// The parts, the preferred ones first.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        // Without AES instructions, ChaCha is faster.
        cipher_suites: vec![aead::CHACHA20_POLY1305, aead::AES_256_GCM, aead::AES_128_GCM],
        kx_groups: vec![&exchange::X25519, &exchange::P256],
        signature_verification_algorithms: signature::ALGORITHMS,
        secure_random: &System,
        key_provider: &NoKeys,
    }
}

/// The system's random numbers.
#[derive(Debug)]
pub(crate) struct System;

impl SecureRandom for System {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        getrandom::fill(bytes).map_err(|_| GetRandomFailed)
    }
}

/// A driver presents no certificate of its own.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("certificates of clients are not supported".to_owned()))
    }
}

#[cfg(test)]
mod tests;
