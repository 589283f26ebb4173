//! Passwords as a server stores them: a SCRAM verifier (RFC 5803), computed here, so that the
//! password itself goes neither to the server nor to any log.

use data_encoding::BASE64;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// The number that PostgreSQL uses.
const ITERATIONS: u32 = 4096;

/// The verifier of a role's password. The same password gives the same text, so that repeating it
/// changes nothing; the salt is the role's own, and a server reveals it to anyone who logs in.
pub(super) fn verifier(password: &str, guresid: &str) -> String {
    let digest = Sha256::digest(format!("purlin/postgres role {guresid}"));
    let salt: [u8; 16] = std::array::from_fn(|index| digest.get(index).copied().unwrap_or_default());
    with_salt(password, &salt)
}

fn with_salt(password: &str, salt: &[u8]) -> String {
    // A password that cannot be prepared is used unchanged, as PostgreSQL does.
    let prepared = stringprep::saslprep(password).unwrap_or_else(|_| password.into());
    let mut block = mac(prepared.as_bytes(), &[salt, &1u32.to_be_bytes()]);
    let mut salted = block;
    for _ in 1..ITERATIONS {
        block = mac(prepared.as_bytes(), &[&block]);
        salted = std::array::from_fn(|index| {
            salted.get(index).copied().unwrap_or_default() ^ block.get(index).copied().unwrap_or_default()
        });
    }
    let stored = Sha256::digest(mac(&salted, &[b"Client Key"]));
    let server = mac(&salted, &[b"Server Key"]);
    let [salt, stored, server] = [salt, &stored, &server].map(|bytes| BASE64.encode(bytes));
    format!("SCRAM-SHA-256${ITERATIONS}:{salt}${stored}:{server}")
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // A key may have any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677 §3: the user `user` with the password `pencil`.
    #[test]
    fn the_verifier_is_the_standards() {
        let salt = BASE64.decode(b"W22ZaJ0SNY7soEsUEjb6gQ==").expect("a salt");
        assert_eq!(
            with_salt("pencil", &salt),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }

    #[test]
    fn the_same_password_is_another_text_for_another_role() {
        assert_eq!(verifier("x", "a"), verifier("x", "a"));
        assert_ne!(verifier("x", "a"), verifier("x", "b"));
    }
}
