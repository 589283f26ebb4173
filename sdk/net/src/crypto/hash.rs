//! Digests, with and without a key.

use std::marker::PhantomData;

use hmac::{Mac, SimpleHmac};
use rustls_portable::crypto::hash::{self, HashAlgorithm};
use rustls_portable::crypto::hmac as keyed;
use sha2::Digest;
use sha2::digest::core_api::BlockSizeUser;

/// One of SHA-2.
pub(super) struct Sha<D>(HashAlgorithm, PhantomData<fn() -> D>);

pub(super) static SHA256: Sha<sha2::Sha256> = Sha(HashAlgorithm::SHA256, PhantomData);
pub(super) static SHA384: Sha<sha2::Sha384> = Sha(HashAlgorithm::SHA384, PhantomData);

/// The required traits of a digest.
pub(super) trait Shaped: Digest + BlockSizeUser + Clone + Send + Sync + 'static {}
impl<D: Digest + BlockSizeUser + Clone + Send + Sync + 'static> Shaped for D {}

impl<D: Shaped> hash::Hash for Sha<D> {
    fn start(&self) -> Box<dyn hash::Context> {
        Box::new(Running(D::new()))
    }

    fn hash(&self, data: &[u8]) -> hash::Output {
        hash::Output::new(&D::digest(data))
    }

    fn output_len(&self) -> usize {
        <D as Digest>::output_size()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0
    }
}

struct Running<D>(D);

impl<D: Shaped> hash::Context for Running<D> {
    fn fork_finish(&self) -> hash::Output {
        hash::Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn hash::Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> hash::Output {
        hash::Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

impl<D: Shaped> keyed::Hmac for Sha<D> {
    fn with_key(&self, key: &[u8]) -> Box<dyn keyed::Key> {
        // A key may have any length.
        Box::new(Key(SimpleHmac::<D>::new_from_slice(key).ok()))
    }

    fn hash_output_len(&self) -> usize {
        <D as Digest>::output_size()
    }
}

struct Key<D: Shaped>(Option<SimpleHmac<D>>);

impl<D: Shaped> keyed::Key for Key<D> {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> keyed::Tag {
        let Some(mut mac) = self.0.clone() else { return keyed::Tag::new(&[]) };
        mac.update(first);
        for part in middle {
            mac.update(part);
        }
        mac.update(last);
        keyed::Tag::new(&mac.finalize().into_bytes())
    }

    fn tag_len(&self) -> usize {
        <D as Digest>::output_size()
    }
}
