//! The data key as it is stored.

use crate::Error;
use crate::envelope::{KIND, Stored, assemble, damaged};
use crate::wire::{CodecError, Reader, put_bytes, put_text};

/// The kind of its entry. `codec` has those of the other entries.
const KEY: u8 = b'm';
/// Its name in errors.
const NAME: &str = "the data key";

/// The data key as it is stored: sealed, with the recipient of the seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedKey {
    /// The public half of the key that it is sealed for.
    pub(crate) recipient: String,
    /// The sealed key.
    pub(crate) sealed: Vec<u8>,
}

impl SealedKey {
    /// Encodes its entry.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_text(&mut body, &self.recipient);
        put_bytes(&mut body, &self.sealed);
        // It cannot exceed 4 GiB, since it contains two short texts.
        assemble(&[], &[KEY, 0], &body).unwrap_or_default()
    }

    /// Decodes its entry.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let stored = Stored::open(bytes, NAME)?;
        let key = || {
            let mut body = match stored.head()? {
                head if head.kind == KEY && head.place.is_empty() => Reader::new(head.body),
                _ => return Err(KIND),
            };
            let key = Self::get(&mut body)?;
            if body.is_empty() && stored.sealed.is_empty() { Ok(key) } else { Err(KIND) }
        };
        key().map_err(|detail| damaged(NAME, detail))
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { recipient: reader.text()?.into(), sealed: reader.bytes()?.into() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_are_rejected_or_read(bytes in vec(any::<u8>(), 0..300)) {
            let _ = SealedKey::decode(&bytes);
            // Behind the checksum.
            let _ = SealedKey::get(&mut Reader::new(&bytes));
        }
    }
}
