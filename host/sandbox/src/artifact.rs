//! Compiled components as bytes: the content of the cache and of release binaries.
//!
//! `magic, BLAKE3 of the rest, SHA-256 of the component, length and JSON of the description, code`.
//! The description is included so that starting needs no call of the driver. It is missing, with
//! length 0, if the component was compiled and has not been loaded as a driver since.

use purlin_model::driver::DriverInfo;

use crate::info;

const MAGIC: &[u8; 16] = b"purlin aot\0\0\0\0\0\x02";
const HASH: usize = 32;

/// A compiled component from [`crate::precompile`], which the caller trusts.
#[derive(Clone, Copy, Debug)]
pub struct Precompiled<'a>(pub(crate) &'a [u8]);

impl<'a> Precompiled<'a> {
    /// Declares the bytes trusted.
    ///
    /// # Safety
    /// They must be the unchanged result of [`crate::precompile`]: they hold machine code, which
    /// cannot be verified. Bytes embedded at build time qualify; bytes from elsewhere do not.
    #[allow(unsafe_code)]
    pub const unsafe fn trust(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

/// The parts of an artifact.
pub(crate) struct Artifact<'a> {
    pub(crate) digest: [u8; HASH],
    pub(crate) info: Option<DriverInfo>,
    pub(crate) code: &'a [u8],
}

impl<'a> Artifact<'a> {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let info = self.info.as_ref().map(info::to_json).unwrap_or_default();
        let mut body = Vec::with_capacity(HASH + 8 + info.len() + self.code.len());
        body.extend_from_slice(&self.digest);
        body.extend_from_slice(&(info.len() as u64).to_le_bytes());
        body.extend_from_slice(&info);
        body.extend_from_slice(self.code);
        let mut bytes = Vec::with_capacity(MAGIC.len() + HASH + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(blake3::hash(&body).as_bytes());
        bytes.append(&mut body);
        bytes
    }

    /// Reads an artifact; `None` if it is damaged or of another version. `intact` is whether its
    /// integrity is already known.
    pub(crate) fn parse(bytes: &'a [u8], intact: bool) -> Option<Self> {
        let (hash, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<HASH>()?;
        if !intact && blake3::hash(body) != *hash {
            return None;
        }
        let (digest, rest) = body.split_first_chunk::<HASH>()?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (info, code) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let info = match info {
            [] => None,
            info => Some(info::from_json(info)?),
        };
        Some(Self { digest: *digest, info, code })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_is_loaded_intact_or_not_at_all() {
        let info = DriverInfo {
            name: "acme/x".into(),
            version: semver::Version::new(1, 2, 3),
            description: "it".into(),
            types: vec![],
            requested_capabilities: vec![],
            notes: serde_json::Map::default(),
        };
        for info in [Some(info), None] {
            let bytes = Artifact { digest: [7; 32], info: info.clone(), code: b"code" }.to_bytes();
            let back = Artifact::parse(&bytes, false).expect("whole");
            assert_eq!((back.digest, &back.info, back.code), ([7; 32], &info, &b"code"[..]));
            for end in 0..bytes.len() {
                assert!(Artifact::parse(&bytes[..end], false).is_none(), "{end}");
                let mut torn = bytes.clone();
                torn[end] ^= 1;
                assert!(Artifact::parse(&torn, false).is_none(), "{end}");
            }
        }
    }
}
