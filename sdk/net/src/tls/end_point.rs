//! The digest of a certificate that a password's proof is bound to (RFC 5929 §4.1).

use sha2::{Digest, Sha256, Sha384, Sha512};

/// `tag`, `length` and `value` of DER, and the rest.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((tag, value, rest))
}

/// The object identifier of a certificate's signature.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (0x30, certificate, _) = element(certificate)? else { return None };
    let (_, _, rest) = element(certificate)?;
    let (0x30, algorithm, _) = element(rest)? else { return None };
    let (0x06, identifier, _) = element(algorithm)? else { return None };
    Some(identifier)
}

/// The digest, by the algorithm that the certificate's own signature uses.
pub(crate) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: [u8; 7] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let identifier = signature_algorithm(certificate)?;
    let (rsa, ecdsa) = (identifier.strip_prefix(&RSA), identifier.strip_prefix(&ECDSA));
    match (rsa, ecdsa) {
        // Certificates signed with MD5 or SHA-1 are bound by SHA-256.
        (Some([4 | 5 | 11]), _) | (_, Some([2])) => Some(Sha256::digest(certificate).to_vec()),
        (Some([12]), _) | (_, Some([3])) => Some(Sha384::digest(certificate).to_vec()),
        (Some([13]), _) | (_, Some([4])) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_one_of_the_signature() {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).expect("a key");
        let parameters = rcgen::CertificateParams::new(vec!["db.internal".to_owned()]).expect("parameters");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        assert_eq!(end_point(certificate.der()), Some(Sha384::digest(certificate.der()).to_vec()));
    }

    #[test]
    fn invalid_certificates_have_none() {
        for bytes in [&[][..], &[0x30], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 2, 0x30, 0], b"hello"]
        {
            assert_eq!(end_point(bytes), None);
        }
    }
}
