//! Reads a journal from its beginning, and distinguishes its end from damage.
//!
//! A crash leaves at most one incomplete frame, at the very end, since each frame is synced before
//! the next one is written. An incomplete frame that is followed by a complete one is therefore
//! damage, and the entries before it must not be used.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;

use super::frame::{self, FORMAT, FRAME, FrameKind, HEADER, Head, Header, LONGEST};
use crate::Error;
use crate::packed;
use crate::table::Table;

/// The end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) header: Header,
    /// The number of the last frame.
    pub(super) number: u64,
    /// Its checksum.
    pub(super) check: u32,
    /// The position after it, in bytes.
    pub(super) length: u64,
    /// Whether incomplete data follows, which must be cut off.
    pub(super) torn: bool,
    /// Whether the store was closed properly.
    pub(super) closed: bool,
    /// The position after the base, in bytes.
    pub(super) base: u64,
}

/// The maximum length after the last complete frame, in bytes: one frame that a crash cut off, and
/// zeros that were written ahead.
const MOST_BEHIND: u64 = LONGEST as u64 + (2 << 20);

/// Why a journal cannot be read.
#[derive(Debug)]
pub(super) enum ScanError {
    Io(std::io::Error),
    Newer(u32),
    Damaged { at: u64, detail: &'static str },
}

impl From<std::io::Error> for ScanError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl ScanError {
    /// The error for users.
    pub(super) fn into_error(self, folder: &Path, path: &Path) -> Error {
        match self {
            Self::Io(source) => Error::io("read", path)(source),
            Self::Newer(found) => {
                let what = format!("the journal `{}`", path.display());
                Error::Newer { what, found, supported: FORMAT }
            }
            Self::Damaged { at, detail } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let detail = format!(
                    "{detail} at byte {at} of its journal (`journal/{name}`); `purlin state repair` saves the intact part"
                );
                Error::Corrupt { folder: folder.into(), detail }
            }
        }
    }
}

/// Reads the journal in a file into an empty table.
pub(super) fn scan(file: &File, table: &mut Table) -> Result<End, ScanError> {
    let end = begin(file)?;
    go_on(file, end, table)
}

/// Reads the header of a journal.
fn begin(file: &File) -> Result<End, ScanError> {
    let size = file.metadata()?.len();
    let mut reader = file;
    reader.seek(SeekFrom::Start(0))?;
    let damaged = |at, detail| Err(ScanError::Damaged { at, detail });
    let mut bytes = [0; HEADER];
    if size < HEADER as u64 {
        return damaged(0, "the header is cut short");
    }
    reader.read_exact(&mut bytes)?;
    let Some((header, check)) = Header::parse(&bytes) else { return damaged(0, "the header is damaged") };
    if header.format > FORMAT {
        return Err(ScanError::Newer(header.format));
    }
    Ok(End { header, number: 0, check, length: HEADER as u64, torn: false, closed: false, base: 0 })
}

/// Continues reading after an earlier end of a journal, into the table with everything before.
pub(super) fn go_on(file: &File, mut end: End, table: &mut Table) -> Result<End, ScanError> {
    let mut looked_again = None;
    loop {
        let behind = read_on(file, &mut end, table)?;
        end.torn = !behind.is_empty();
        if !end.torn || whole_frame(&behind, end.number).is_none() {
            return Ok(end);
        }
        // Another process may have been writing the frame when it was read. Since a complete frame
        // follows, it must be complete by now. A damaged frame stays damaged.
        if looked_again.replace(end.number) == Some(end.number) {
            return Err(ScanError::Damaged { at: end.length, detail: "a frame is damaged" });
        }
    }
}

/// Reads up to the first incomplete frame. Returns the bytes found in its place.
fn read_on(file: &File, end: &mut End, table: &mut Table) -> Result<Vec<u8>, ScanError> {
    let size = file.metadata()?.len();
    let damaged = |at, detail| Err(ScanError::Damaged { at, detail });
    if size < end.length {
        return damaged(end.length, "the frames before it are missing");
    }
    let mut reader = BufReader::with_capacity(256 << 10, file);
    reader.seek(SeekFrom::Start(end.length))?;
    let mut payload = Vec::new();
    while let Some(head) = next(&mut reader, size - end.length, &mut payload)? {
        if head.before != end.check || head.number != end.number + 1 {
            return damaged(end.length, "a frame is missing");
        }
        take(head.kind, &mut payload, end.base != 0, table)
            .map_err(|detail| ScanError::Damaged { at: end.length, detail })?;
        end.number = head.number;
        end.closed = head.kind == FrameKind::Closed;
        end.check = head.check;
        end.length += (FRAME + head.length) as u64;
        if head.kind == FrameKind::End {
            end.base = end.length;
        }
    }
    if end.base == 0 {
        return damaged(end.length, "the base of the journal is incomplete");
    }
    // Zeros were written ahead; anything else was cut off by a crash, or is damage. A sparse file
    // can be far longer than its size on the disk.
    if size - end.length > MOST_BEHIND {
        return damaged(end.length, "the file is longer than anything that is written to it");
    }
    reader.seek(SeekFrom::Start(end.length))?;
    Ok(behind_zeros(&mut reader)?)
}

/// The remaining bytes without leading zeros; a frame may begin with zeros.
fn behind_zeros(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut zeros = 0usize;
    loop {
        let bytes = reader.fill_buf()?;
        let length = bytes.len();
        match bytes.iter().position(|byte| *byte != 0) {
            Some(at) => {
                reader.consume(at);
                let mut rest = vec![0; (zeros + at).min(FRAME)];
                reader.read_to_end(&mut rest)?;
                return Ok(rest);
            }
            None if length == 0 => return Ok(Vec::new()),
            None => {
                reader.consume(length);
                zeros += length;
            }
        }
    }
}

/// The next frame, if it is complete.
fn next(reader: &mut impl Read, left: u64, payload: &mut Vec<u8>) -> Result<Option<Head>, ScanError> {
    let mut bytes = [0; FRAME];
    if left < FRAME as u64 {
        return Ok(None);
    }
    reader.read_exact(&mut bytes)?;
    let Some(head) = Head::parse(&bytes).filter(|head| head.length as u64 <= left - FRAME as u64) else {
        return Ok(None);
    };
    payload.clear();
    reader.by_ref().take(head.length as u64).read_to_end(payload)?;
    Ok(Some(head).filter(|head| head.proves(&bytes, payload)))
}

/// Applies a frame to a table.
fn take(
    kind: FrameKind,
    payload: &mut Vec<u8>,
    after_base: bool,
    table: &mut Table,
) -> Result<(), &'static str> {
    match kind {
        FrameKind::Changes if after_base => {
            for entry in frame::entries(payload) {
                let (key, value) = frame::owned(entry.ok_or("a frame is invalid")?);
                table.apply(key, value);
            }
            Ok(())
        }
        // A table that is only read frees the frames of the base as its records are taken out, and
        // each frame is one piece of memory.
        FrameKind::Base if !after_base && table.shares_frames() => {
            let payload = Bytes::from(std::mem::take(payload));
            for entry in frame::entries(&payload) {
                let (key, value) = entry.ok_or("a frame is invalid")?;
                table.apply_bytes(payload.slice_ref(key), value.map(|value| payload.slice_ref(value)));
            }
            Ok(())
        }
        FrameKind::Base if !after_base => {
            for entry in frame::entries(payload) {
                let (key, value) = frame::owned(entry.ok_or("a frame is invalid")?);
                table.apply(key, value);
            }
            Ok(())
        }
        FrameKind::Packed if !after_base => {
            let mut payload = packed::unpack(payload, LONGEST).ok_or("a frame is invalid")?;
            take(FrameKind::Base, &mut payload, after_base, table)
        }
        FrameKind::End if !after_base => {
            let tally = frame::get_tally(payload);
            if tally == Some(table.tally()) { Ok(()) } else { Err("the base of the journal is incomplete") }
        }
        FrameKind::Closed if after_base => Ok(()),
        _ => Err("a frame is in the wrong place"),
    }
}

/// Finds a complete frame with a number after this one. Returns its position.
pub(super) fn whole_frame(bytes: &[u8], after: u64) -> Option<usize> {
    let most = after.saturating_add((bytes.len() / FRAME) as u64 + 1);
    (0..bytes.len().saturating_sub(FRAME - 1)).find(|at| {
        let Some((head, rest)) = bytes.get(*at..).and_then(|rest| rest.split_at_checked(FRAME)) else {
            return false;
        };
        Head::parse(head).is_some_and(|parsed| {
            parsed.number > after
                && parsed.number <= most
                && rest.get(..parsed.length).is_some_and(|payload| parsed.proves(head, payload))
        })
    })
}
