//! Encrypts and decrypts records.

use std::marker::PhantomData;

use aes_gcm::aead::generic_array::typenum::Unsigned;
use aes_gcm::aead::{AeadInPlace, Buffer, KeyInit, Nonce as AeadNonce};
use rustls_portable::crypto::cipher::{
    AeadKey, BorrowedPayload, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter,
    MessageEncrypter, Nonce, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload,
    Tls13AeadAlgorithm, UnsupportedOperationError, make_tls13_aad,
};
use rustls_portable::crypto::tls13::HkdfUsingHmac;
use rustls_portable::{
    CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion,
    SupportedCipherSuite, Tls13CipherSuite,
};

use super::hash;

/// Bytes of the tag, the same for all ciphers.
const TAG: usize = 16;

pub(super) static CHACHA20_POLY1305: SupportedCipherSuite = SupportedCipherSuite::Tls13(&Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        hash_provider: &hash::SHA256,
        confidentiality_limit: u64::MAX,
    },
    hkdf_provider: &HkdfUsingHmac(&hash::SHA256),
    aead_alg: &Aead::<chacha20poly1305::ChaCha20Poly1305>(PhantomData),
    quic: None,
});

pub(super) static AES_256_GCM: SupportedCipherSuite = SupportedCipherSuite::Tls13(&Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_AES_256_GCM_SHA384,
        hash_provider: &hash::SHA384,
        confidentiality_limit: 1 << 24,
    },
    hkdf_provider: &HkdfUsingHmac(&hash::SHA384),
    aead_alg: &Aead::<aes_gcm::Aes256Gcm>(PhantomData),
    quic: None,
});

pub(super) static AES_128_GCM: SupportedCipherSuite = SupportedCipherSuite::Tls13(&Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
        hash_provider: &hash::SHA256,
        confidentiality_limit: 1 << 24,
    },
    hkdf_provider: &HkdfUsingHmac(&hash::SHA256),
    aead_alg: &Aead::<aes_gcm::Aes128Gcm>(PhantomData),
    quic: None,
});

struct Aead<C>(PhantomData<fn() -> C>);

/// A cipher with its key and the start of its nonces; none if the length of the key is wrong for
/// the cipher, and then nothing is encrypted or decrypted.
struct Keyed<C> {
    cipher: Option<C>,
    iv: Iv,
}

impl<C: KeyInit> Keyed<C> {
    fn new(key: &AeadKey, iv: Iv) -> Box<Self> {
        Box::new(Self { cipher: C::new_from_slice(key.as_ref()).ok(), iv })
    }
}

impl<C: AeadInPlace + KeyInit + Send + Sync + 'static> Tls13AeadAlgorithm for Aead<C> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Keyed::<C>::new(&key, iv)
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Keyed::<C>::new(&key, iv)
    }

    fn key_len(&self) -> usize {
        C::KeySize::USIZE
    }

    fn extract_keys(&self, _: AeadKey, _: Iv) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Err(UnsupportedOperationError)
    }
}

fn nonce<C: AeadInPlace>(iv: &Iv, sequence: u64) -> Option<AeadNonce<C>> {
    AeadNonce::<C>::from_exact_iter(Nonce::new(iv, sequence).0)
}

impl<C: AeadInPlace + KeyInit + Send + Sync> MessageEncrypter for Keyed<C> {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let length = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(length);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&message.typ.to_array());
        let cipher = self.cipher.as_ref().ok_or(Error::EncryptError)?;
        let nonce = nonce::<C>(&self.iv, sequence).ok_or(Error::EncryptError)?;
        cipher
            .encrypt_in_place(&nonce, &make_tls13_aad(length), &mut Sealed(&mut payload))
            .map_err(|_| Error::EncryptError)?;
        // RFC 8446 §5.1: records of TLS 1.3 have the version number of 1.2.
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + 1 + TAG
    }
}

impl<C: AeadInPlace + KeyInit + Send + Sync> MessageDecrypter for Keyed<C> {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let cipher = self.cipher.as_ref().ok_or(Error::DecryptError)?;
        let nonce = nonce::<C>(&self.iv, sequence).ok_or(Error::DecryptError)?;
        let aad = make_tls13_aad(message.payload.len());
        cipher
            .decrypt_in_place(&nonce, &aad, &mut Opened(&mut message.payload))
            .map_err(|_| Error::DecryptError)?;
        message.into_tls13_unpadded_message()
    }
}

/// Encrypts in place, after room for the record's header.
struct Sealed<'a>(&'a mut PrefixedPayload);

impl AsRef<[u8]> for Sealed<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl AsMut<[u8]> for Sealed<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.as_mut()
    }
}

impl Buffer for Sealed<'_> {
    fn extend_from_slice(&mut self, bytes: &[u8]) -> aes_gcm::aead::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }
}

/// Decrypts in place.
struct Opened<'a, 'b>(&'a mut BorrowedPayload<'b>);

impl AsRef<[u8]> for Opened<'_, '_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl AsMut<[u8]> for Opened<'_, '_> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0
    }
}

impl Buffer for Opened<'_, '_> {
    fn extend_from_slice(&mut self, _: &[u8]) -> aes_gcm::aead::Result<()> {
        // Decryption never makes it longer.
        Err(aes_gcm::aead::Error)
    }

    fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }
}
