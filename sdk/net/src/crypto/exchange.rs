//! Key exchange.

use p256::elliptic_curve::sec1::ToEncodedPoint;
use rustls_portable::crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup};
use rustls_portable::{Error, NamedGroup, PeerMisbehaved};
use zeroize::Zeroizing;

fn random() -> Result<Zeroizing<[u8; 32]>, Error> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|_| GetRandomFailed)?;
    Ok(bytes)
}

fn invalid() -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}

/// RFC 7748.
#[derive(Debug)]
pub(super) struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = random()?;
        let public = x25519_dalek::x25519(*secret, x25519_dalek::X25519_BASEPOINT_BYTES);
        Ok(Box::new(ActiveX25519 { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct ActiveX25519 {
    secret: Zeroizing<[u8; 32]>,
    public: [u8; 32],
}

impl ActiveKeyExchange for ActiveX25519 {
    fn complete(self: Box<Self>, theirs: &[u8]) -> Result<SharedSecret, Error> {
        let theirs: [u8; 32] = theirs.try_into().map_err(|_| invalid())?;
        let shared = Zeroizing::new(x25519_dalek::x25519(*self.secret, theirs));
        // RFC 8446 §7.4.2: a key that leads to all zeros was chosen for that.
        if shared.iter().all(|byte| *byte == 0) {
            return Err(invalid());
        }
        Ok(SharedSecret::from(shared.as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// NIST's P-256.
#[derive(Debug)]
pub(super) struct P256;

impl SupportedKxGroup for P256 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        // Almost every number of this size is a valid key.
        for _ in 0..16 {
            if let Ok(secret) = p256::SecretKey::from_slice(random()?.as_slice()) {
                let public = secret.public_key().to_encoded_point(false).as_bytes().to_vec();
                return Ok(Box::new(ActiveP256 { secret, public }));
            }
        }
        Err(GetRandomFailed.into())
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

struct ActiveP256 {
    secret: p256::SecretKey,
    public: Vec<u8>,
}

impl ActiveKeyExchange for ActiveP256 {
    fn complete(self: Box<Self>, theirs: &[u8]) -> Result<SharedSecret, Error> {
        // RFC 8446 §4.2.8.2: the uncompressed form, and no other.
        if theirs.first() != Some(&4) {
            return Err(invalid());
        }
        let theirs = p256::PublicKey::from_sec1_bytes(theirs).map_err(|_| invalid())?;
        let shared = p256::ecdh::diffie_hellman(self.secret.to_nonzero_scalar(), theirs.as_affine());
        Ok(SharedSecret::from(shared.raw_secret_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}
