//! The data key as it is stored.

use crate::Error;
use crate::envelope::{KIND, Stored, assemble, damaged};
use crate::wire::{CodecError, Reader, put_bytes, put_optional, put_text};

/// The kind of its entry. `codec` has those of the other entries.
const KEY: u8 = b'm';
/// Its name in errors.
const NAME: &str = "the data key";

/// The data key as it is stored: sealed, with the recipient of the seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedKey {
    /// The public half of the key that it is sealed for.
    pub(crate) recipient: String,
    /// The sealed key; `None` for version 1, which recorded only the recipient.
    pub(crate) sealed: Option<Vec<u8>>,
}

impl SealedKey {
    /// Encodes its entry.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_text(&mut body, &self.recipient);
        put_optional(&mut body, self.sealed.as_deref(), put_bytes);
        // It cannot exceed 4 GiB, since it contains two short texts.
        assemble(&[], &[KEY, 0], &body).unwrap_or_default()
    }

    /// Decodes its entry.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let stored = Stored::open(bytes, NAME)?;
        let key = || {
            let mut body = match stored.version {
                0..=2 => {
                    let mut clear = Reader::new(stored.clear);
                    if clear.byte()? != KEY {
                        return Err(KIND);
                    }
                    clear
                }
                _ => match stored.head()? {
                    head if head.kind == KEY && head.place.is_empty() => Reader::new(head.body),
                    _ => return Err(KIND),
                },
            };
            let key = Self::get(&mut body)?;
            if body.is_empty() && stored.sealed.is_empty() { Ok(key) } else { Err(KIND) }
        };
        key().map_err(|detail| damaged(NAME, detail))
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let recipient = reader.text()?.into();
        Ok(Self { recipient, sealed: reader.optional(|reader| reader.bytes().map(Into::into))? })
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
