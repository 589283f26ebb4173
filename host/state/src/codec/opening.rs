//! Opens the sealed part of an entry, and decodes the entry.

use zeroize::Zeroizing;

use crate::Error;
use crate::envelope::{Head, KIND, Stored, damaged};
use crate::keys::Keyring;
use crate::wire::{CodecError, Reader, TOO_LONG};

pub(super) const UNSEALED: CodecError = "its secrets cannot be decrypted";

impl Stored<'_> {
    /// The decrypted sealed part; `None` if there is none.
    pub(super) fn unsealed(&self, name: &str, keys: &Keyring) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        match self.sealed {
            [] => Ok(None),
            sealed => {
                let opened = keys.unseal(self.clear, sealed)?;
                opened.map(Some).ok_or_else(|| damaged(name, UNSEALED))
            }
        }
    }

    /// Decodes an entry of a kind from its lookup key and its body.
    pub(super) fn read<T>(
        &self,
        kind: u8,
        name: &str,
        keys: &Keyring,
        read: impl FnOnce(&mut Reader<'_>, &mut Reader<'_>) -> Result<T, CodecError>,
    ) -> Result<T, Error> {
        let opened = self.unsealed(name, keys)?;
        let all = || {
            let Head { kind: found, mut place, body } = self.head()?;
            if found != kind {
                return Err(KIND);
            }
            let mut whole = Reader::new(opened.as_ref().map_or(body, |opened| opened.as_slice()));
            let read = read(&mut place, &mut whole)?;
            // A sealed entry has no clear body.
            let is_over = place.is_empty() && whole.is_empty() && (opened.is_none() || body.is_empty());
            if is_over { Ok(read) } else { Err(TOO_LONG) }
        };
        all().map_err(|detail| damaged(name, detail))
    }
}
