//! The last position of a journal, in a file next to it. The file is written after each batch and
//! never synced, so after a crash it may be behind the journal, but never ahead of it. If a journal
//! ends before the noted position, it has lost its end or is an older copy.
//!
//! It also notes the identity of its own file, by its inode and time of creation, so that a copied folder
//! is recognised. In either case the records may be stale, and every resource is read before a plan.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::journal::Position;
use crate::Error;

const MAGIC: &[u8; 8] = b"PURLINH\n";
const LENGTH: usize = 8 + 8 + 16 + 8 + 4 + 8 + 4;

/// The content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) position: Position,
    /// Whether this is the original file and not a copy.
    pub(crate) original: bool,
}

/// The file, open for writing.
pub(crate) struct Head {
    file: File,
    path: PathBuf,
    identity: u64,
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join("head")
}

/// Reads the file of an environment; `None` if it is missing or invalid.
pub(crate) fn read(folder: &Path) -> Option<Noted> {
    let path = path_in(folder);
    let bytes = purlin_files::read(&path, LENGTH as u64).ok()?;
    let (body, check) = bytes.split_last_chunk::<4>()?;
    if bytes.len() != LENGTH || crc32fast::hash(body) != u32::from_le_bytes(*check) {
        return None;
    }
    let (magic, rest) = body.split_first_chunk::<8>()?;
    let (position, rest) = Position::split(rest)?;
    let identity = u64::from_le_bytes(rest.try_into().ok()?);
    if magic != MAGIC {
        return None;
    }
    let now = std::fs::metadata(&path).map(|metadata| identity_of(&metadata)).unwrap_or_default();
    Some(Noted { position, original: identity == now })
}

impl Head {
    /// Opens the file of an environment.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let path = path_in(folder);
        let mut options = OpenOptions::new();
        options.read(true).create(true).truncate(false);
        let file = purlin_files::open_to_write(&path, &mut options).map_err(Error::io("open", &path))?;
        let identity =
            file.metadata().map(|metadata| identity_of(&metadata)).map_err(Error::io("look at", &path))?;
        Ok(Self { file, path, identity })
    }

    /// Notes the end of the journal.
    pub(crate) fn note(&self, position: Position) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&position.to_bytes());
        bytes.extend_from_slice(&self.identity.to_le_bytes());
        let check = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&check.to_le_bytes());
        self.write(&bytes).map_err(Error::io("write", &self.path))
    }

    #[cfg(unix)]
    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, 0)
    }

    #[cfg(not(unix))]
    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(bytes)
    }
}

/// Distinguishes a file from its copies: the file number and the creation time, since systems reuse
/// the numbers of deleted files. Zero if the system has neither.
fn identity_of(metadata: &std::fs::Metadata) -> u64 {
    let made = metadata.created().ok().and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    number_of(metadata).rotate_left(32) ^ made.map_or(0, |made| made.as_nanos() as u64)
}

#[cfg(unix)]
fn number_of(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number_of(_: &std::fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back_and_copies_are_detected() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(read(folder.path()), None);
        let position = Position { generation: 3, id: [7; 16], number: 41, check: 0xdead_beef };
        let head = Head::open(folder.path()).expect("opens");
        for number in [40, 41] {
            head.note(Position { number, ..position }).expect("writes");
        }
        assert_eq!(read(folder.path()), Some(Noted { position, original: true }));
        let copy = tempfile::tempdir().expect("a folder");
        let _ = std::fs::copy(folder.path().join("head"), copy.path().join("head")).expect("copied");
        assert_eq!(read(copy.path()), Some(Noted { position, original: !cfg!(unix) }));
        let mut bytes = std::fs::read(folder.path().join("head")).expect("read");
        bytes[20] ^= 1;
        std::fs::write(folder.path().join("head"), &bytes).expect("written");
        assert_eq!(read(folder.path()), None);
        std::fs::write(folder.path().join("head"), &bytes[..9]).expect("written");
        assert_eq!(read(folder.path()), None);
    }
}
