//! Signatures of certificates and of the handshake.

use std::fmt;

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Sign, Pss, RsaPublicKey};
use rustls_pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use rustls_portable::SignatureScheme;
use rustls_portable::crypto::WebPkiSupportedAlgorithms;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// Bytes of the shortest accepted RSA key: 2048 bits.
const SHORTEST: usize = 256;

pub(super) static ALGORITHMS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        P256_SHA256,
        P256_SHA384,
        P384_SHA256,
        P384_SHA384,
        PKCS1_SHA256,
        PKCS1_SHA384,
        PKCS1_SHA512,
        PSS_SHA256,
        PSS_SHA384,
        PSS_SHA512,
    ],
    mapping: &[
        (SignatureScheme::ECDSA_NISTP256_SHA256, &[P256_SHA256, P384_SHA256]),
        (SignatureScheme::ECDSA_NISTP384_SHA384, &[P384_SHA384, P256_SHA384]),
        (SignatureScheme::RSA_PSS_SHA256, &[PSS_SHA256]),
        (SignatureScheme::RSA_PSS_SHA384, &[PSS_SHA384]),
        (SignatureScheme::RSA_PSS_SHA512, &[PSS_SHA512]),
        (SignatureScheme::RSA_PKCS1_SHA256, &[PKCS1_SHA256]),
        (SignatureScheme::RSA_PKCS1_SHA384, &[PKCS1_SHA384]),
        (SignatureScheme::RSA_PKCS1_SHA512, &[PKCS1_SHA512]),
    ],
};

type Verify = fn(&[u8], &[u8], &[u8]) -> Option<()>;

/// A kind of signature.
struct Algorithm {
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    verify: Verify,
}

type Shared = &'static dyn SignatureVerificationAlgorithm;

const fn algorithm(key: AlgorithmIdentifier, signature: AlgorithmIdentifier, verify: Verify) -> Algorithm {
    Algorithm { key, signature, verify }
}

static P256_SHA256: Shared = &algorithm(alg_id::ECDSA_P256, alg_id::ECDSA_SHA256, p256::<Sha256>);
static P256_SHA384: Shared = &algorithm(alg_id::ECDSA_P256, alg_id::ECDSA_SHA384, p256::<Sha384>);
static P384_SHA256: Shared = &algorithm(alg_id::ECDSA_P384, alg_id::ECDSA_SHA256, p384::<Sha256>);
static P384_SHA384: Shared = &algorithm(alg_id::ECDSA_P384, alg_id::ECDSA_SHA384, p384::<Sha384>);
static PKCS1_SHA256: Shared = &algorithm(alg_id::RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA256, |k, m, s| {
    rsa(k)?.verify(Pkcs1v15Sign::new::<Sha256>(), &Sha256::digest(m), s).ok()
});
static PKCS1_SHA384: Shared = &algorithm(alg_id::RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA384, |k, m, s| {
    rsa(k)?.verify(Pkcs1v15Sign::new::<Sha384>(), &Sha384::digest(m), s).ok()
});
static PKCS1_SHA512: Shared = &algorithm(alg_id::RSA_ENCRYPTION, alg_id::RSA_PKCS1_SHA512, |k, m, s| {
    rsa(k)?.verify(Pkcs1v15Sign::new::<Sha512>(), &Sha512::digest(m), s).ok()
});
static PSS_SHA256: Shared = &algorithm(alg_id::RSA_ENCRYPTION, alg_id::RSA_PSS_SHA256, |k, m, s| {
    rsa(k)?.verify(Pss::new::<Sha256>(), &Sha256::digest(m), s).ok()
});
static PSS_SHA384: Shared = &algorithm(alg_id::RSA_ENCRYPTION, alg_id::RSA_PSS_SHA384, |k, m, s| {
    rsa(k)?.verify(Pss::new::<Sha384>(), &Sha384::digest(m), s).ok()
});
static PSS_SHA512: Shared = &algorithm(alg_id::RSA_ENCRYPTION, alg_id::RSA_PSS_SHA512, |k, m, s| {
    rsa(k)?.verify(Pss::new::<Sha512>(), &Sha512::digest(m), s).ok()
});

fn p256<D: Digest>(key: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
    let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    let signature = p256::ecdsa::DerSignature::from_bytes(signature).ok()?;
    key.verify_prehash(&D::digest(message), &signature).ok()
}

fn p384<D: Digest>(key: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
    let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    let signature = p384::ecdsa::DerSignature::from_bytes(signature).ok()?;
    key.verify_prehash(&D::digest(message), &signature).ok()
}

fn rsa(key: &[u8]) -> Option<RsaPublicKey> {
    RsaPublicKey::from_pkcs1_der(key).ok().filter(|key| key.size() >= SHORTEST)
}

impl SignatureVerificationAlgorithm for Algorithm {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        (self.verify)(key, message, signature).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Algorithm").field("signature", &self.signature).finish_non_exhaustive()
    }
}
