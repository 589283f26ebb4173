//! Text that may not grow without end: its limit holds before the memory is used (SPEC §4).

use std::io;

/// The maximum number of bytes of a text with placeholders filled in, 16 MiB. Texts that contain
/// texts grow exponentially; no real one comes near.
pub const MAX_TEXT: usize = 16 << 20;

/// The text would grow beyond [`MAX_TEXT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// A text of at most [`MAX_TEXT`] bytes.
#[derive(Default)]
pub(crate) struct Bounded(Vec<u8>);

impl Bounded {
    pub(crate) fn push(&mut self, text: &str) -> Result<(), TooLarge> {
        self.push_bytes(text.as_bytes())
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if bytes.len() > MAX_TEXT - self.0.len() {
            return Err(TooLarge);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn push_json(&mut self, json: &serde_json::Value) -> Result<(), TooLarge> {
        // Writing JSON to memory fails only at the limit.
        serde_json::to_writer(self, json).map_err(|_| TooLarge)
    }

    pub(crate) fn into_string(self) -> String {
        // Only text and JSON were pushed.
        String::from_utf8(self.0).unwrap_or_default()
    }
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.push_bytes(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(TooLarge) => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
