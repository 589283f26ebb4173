//! Digests, as hexadecimal text.

use data_encoding::HEXLOWER;
use sha2::Digest;

use super::Table;
use crate::value::string;

pub(super) const TABLE: Table = &[
    ("sha1sum", |c| Ok(string(HEXLOWER.encode(&sha1::Sha1::digest(c.text(0)?))))),
    ("sha256sum", |c| Ok(string(HEXLOWER.encode(&sha2::Sha256::digest(c.text(0)?))))),
    ("sha512sum", |c| Ok(string(HEXLOWER.encode(&sha2::Sha512::digest(c.text(0)?))))),
    ("adler32sum", |c| {
        let (mut a, mut b) = (1u32, 0u32);
        for byte in c.text(0)?.bytes() {
            a = (a + u32::from(byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        Ok(string((b << 16 | a).to_string()))
    }),
];
