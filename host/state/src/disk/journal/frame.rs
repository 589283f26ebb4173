//! The byte format of a journal. All input is verified before it is used.
//!
//! ```text
//! header   magic, 8 │ format, 4 │ generation, 8 │ id, 16 │ CRC-32 of these, 4
//! frame    length, 4 │ CRC-32 of the rest of the frame and the length, 4
//!          │ CRC of the frame before, 4 │ kind, 4 │ number, 8 │ payload
//! payload  of entries: for each, operation, 1 │ key │ value
//! ```
//!
//! A frame has its own checksum and names the checksum of its predecessor, so frames of different
//! histories do not fit together. Numbers are little-endian.

use crate::packed;
use crate::table::{Entry, Tally};
use crate::wire::{Reader, put_bytes};

pub(super) const MAGIC: &[u8; 8] = b"PURLINJ\n";
/// The format of journals. A newer one is rejected.
pub(super) const FORMAT: u32 = 1;
pub(super) const HEADER: usize = 40;
pub(super) const FRAME: usize = 24;
/// The longest payload.
pub(super) const LONGEST: usize = 1 << 30;

const REMOVE: u8 = 0;
const PUT: u8 = 1;

/// The purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum FrameKind {
    /// The entries that existed when the journal was begun.
    Base = 0x4553_4142,
    /// The same, compressed: the original length, then LZ4.
    Packed = 0x4b43_4150,
    /// The end of these entries, with their tally.
    End = 0x0044_4e45,
    /// A batch of changes.
    Changes = 0x5347_4843,
    /// The store was closed properly.
    Closed = 0x4553_4c43,
}

impl FrameKind {
    fn of(number: u32) -> Option<Self> {
        [Self::Base, Self::Packed, Self::End, Self::Changes, Self::Closed]
            .into_iter()
            .find(|kind| *kind as u32 == number)
    }
}

/// The header of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) format: u32,
    pub(super) generation: u64,
    /// A random id, unique to this journal.
    pub(super) id: [u8; 16],
}

impl Header {
    /// The bytes, and their checksum, which the first frame names.
    pub(super) fn to_bytes(self) -> (Vec<u8>, u32) {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.format.to_le_bytes());
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.id);
        let check = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&check.to_le_bytes());
        (bytes, check)
    }

    /// Reads a header and its checksum. The format may be a newer one, which the caller rejects.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, u32)> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (format, rest) = rest.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (check, _) = rest.split_first_chunk()?;
        let check = u32::from_le_bytes(*check);
        if magic != MAGIC || crc32fast::hash(bytes.get(..HEADER - 4)?) != check {
            return None;
        }
        let header = Self {
            format: u32::from_le_bytes(*format),
            generation: u64::from_le_bytes(*generation),
            id: *id,
        };
        Some((header, check))
    }
}

/// The head of a frame, which precedes its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) length: usize,
    pub(super) check: u32,
    pub(super) before: u32,
    pub(super) kind: FrameKind,
    pub(super) number: u64,
}

impl Head {
    /// Reads the head of a frame; `None` if there is none.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (check, rest) = rest.split_first_chunk()?;
        let (before, rest) = rest.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk()?;
        let (number, _) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        Some(Self {
            length: Some(length).filter(|length| *length <= LONGEST)?,
            check: u32::from_le_bytes(*check),
            before: u32::from_le_bytes(*before),
            kind: FrameKind::of(u32::from_le_bytes(*kind))?,
            number: u64::from_le_bytes(*number),
        })
    }

    /// Whether a frame with this head and payload is complete.
    pub(super) fn proves(self, head: &[u8], payload: &[u8]) -> bool {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(head.get(..4).unwrap_or_default());
        hasher.update(head.get(8..FRAME).unwrap_or_default());
        hasher.update(payload);
        payload.len() == self.length && hasher.finalize() == self.check
    }
}

/// Reserves space for the head of a frame, which [`seal`] fills in once the payload follows it.
pub(super) fn begin(frame: &mut Vec<u8>) -> usize {
    let at = frame.len();
    frame.extend_from_slice(&[0; FRAME]);
    at
}

/// Fills in the head of the frame that begins at a position. Returns its checksum; `None` if the
/// payload is too long.
pub(super) fn seal(frame: &mut [u8], at: usize, kind: FrameKind, before: u32, number: u64) -> Option<u32> {
    let (head, payload) = frame.get_mut(at..)?.split_at_mut_checked(FRAME)?;
    let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= LONGEST)?;
    head.get_mut(..4)?.copy_from_slice(&length.to_le_bytes());
    head.get_mut(8..12)?.copy_from_slice(&before.to_le_bytes());
    head.get_mut(12..16)?.copy_from_slice(&(kind as u32).to_le_bytes());
    head.get_mut(16..24)?.copy_from_slice(&number.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head.get(..4)?);
    hasher.update(head.get(8..FRAME)?);
    hasher.update(payload);
    let check = hasher.finalize();
    head.get_mut(4..8)?.copy_from_slice(&check.to_le_bytes());
    Some(check)
}

/// Compresses the payload of the frame that begins at a position.
pub(super) fn pack(frame: &mut Vec<u8>, at: usize) {
    if let Some(payload) = frame.get(at + FRAME..) {
        let packed = packed::pack(payload);
        frame.truncate(at + FRAME);
        frame.extend_from_slice(&packed);
    }
}

/// Appends an entry to a payload.
pub(super) fn put_entry(payload: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    payload.push(if value.is_some() { PUT } else { REMOVE });
    put_bytes(payload, key);
    if let Some(value) = value {
        put_bytes(payload, value);
    }
}

/// An entry within a payload.
pub(super) type EntryOf<'a> = (&'a [u8], Option<&'a [u8]>);

/// An entry with its own memory.
pub(super) fn owned((key, value): EntryOf<'_>) -> Entry {
    (key.to_vec(), value.map(<[u8]>::to_vec))
}

/// Reads the entries of a payload. An invalid entry is returned as `None` and ends the iteration.
pub(super) fn entries(payload: &[u8]) -> impl Iterator<Item = Option<EntryOf<'_>>> {
    let mut reader = Reader::new(payload);
    let mut broken = false;
    std::iter::from_fn(move || {
        if broken || reader.is_empty() {
            return None;
        }
        let mut read = || {
            let put = match reader.byte().ok()? {
                REMOVE => false,
                PUT => true,
                _ => return None,
            };
            let key = reader.bytes().ok()?;
            let value = if put { Some(reader.bytes().ok()?) } else { None };
            Some((key, value))
        };
        let entry = read();
        broken = entry.is_none();
        Some(entry)
    })
}

/// Appends a tally to a payload.
pub(super) fn put_tally(payload: &mut Vec<u8>, tally: Tally) {
    for number in [tally.count, tally.bytes, tally.digest] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
}

/// Reads a tally.
pub(super) fn get_tally(payload: &[u8]) -> Option<Tally> {
    let (count, rest) = payload.split_first_chunk()?;
    let (bytes, rest) = rest.split_first_chunk()?;
    let digest = rest.try_into().ok()?;
    Some(Tally {
        count: u64::from_le_bytes(*count),
        bytes: u64::from_le_bytes(*bytes),
        digest: u64::from_le_bytes(digest),
    })
}
