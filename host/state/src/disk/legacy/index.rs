//! The index of the formats before version 5: every entry, in sled.

use std::path::{Path, PathBuf};

use sled::{Db, IVec};

use super::cut::{self, Stored};
use crate::disk::Root;
use crate::disk::guard::guarded;
use crate::disk::index;
use crate::table::{Table, Tally};
use crate::{Error, keyspace};

/// The number of entries that are read at once.
const AT_ONCE: usize = 1000;

/// The journal position that the index contains: the journal's id and the number of the last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct There {
    pub(super) id: [u8; 16],
    pub(super) number: u64,
    check: u32,
}

impl There {
    /// Whether a journal ends at this position.
    pub(super) fn is(self, position: crate::disk::journal::Position) -> bool {
        (self.id, self.number, self.check) == (position.id, position.number, position.check)
    }
}

/// The open index.
pub(super) struct Index {
    db: Db,
    path: PathBuf,
}

/// The index in a store's folder.
pub(super) fn folder_in(folder: &Path) -> PathBuf {
    folder.join("sled")
}

impl Index {
    /// Opens sled in a folder that this process has locked.
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder_in(folder);
        Ok(Self { db: index::open(&Root::at(folder), &path)?, path })
    }

    fn guarded<T>(&self, call: impl FnOnce() -> Result<T, sled::Error>) -> Result<T, Error> {
        guarded(&self.path, call)
    }

    /// The journal position in the index, and the tally of its entries at that position; `None` if
    /// it is incomplete.
    pub(super) fn position(&self) -> Result<Option<(There, Tally)>, Error> {
        let value = self.guarded(|| self.db.get([cut::POSITION]))?;
        Ok(value.and_then(|value| read_position(&value)))
    }

    /// Reads every entry, with its pieces joined.
    pub(super) fn entries(&self, take: &mut dyn FnMut(Vec<u8>, Vec<u8>)) -> Result<(), Error> {
        let mut entries = self.db.iter();
        loop {
            let some: Vec<(IVec, IVec)> = self.guarded(|| entries.by_ref().take(AT_ONCE).collect())?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, value) in some {
                if matches!(key.first(), Some(&(cut::PIECES | cut::POSITION))) {
                    continue;
                }
                // Version 1 stored this entry without a tag.
                let whole = if &*key == keyspace::RECIPIENT && value.starts_with(b"age1") {
                    value.to_vec()
                } else {
                    self.assemble(&key, &value, &keyspace::describe(&key, None))?
                };
                take(key.to_vec(), whole);
            }
        }
    }

    /// The entries as a table, if they match their tally.
    pub(super) fn table(&self) -> Result<Option<(Table, There)>, Error> {
        let Some((position, tally)) = self.position()? else { return Ok(None) };
        let mut table = Table::default();
        self.entries(&mut |key, value| table.apply(key, Some(value)))?;
        Ok(Some((table, position)).filter(|(table, _)| table.tally() == tally))
    }

    /// Joins the pieces of the value under `key`.
    fn assemble(&self, key: &[u8], value: &[u8], name: &str) -> Result<Vec<u8>, Error> {
        let damaged = |detail: &str| Error::Damaged { name: name.into(), detail: detail.into() };
        let length = match Stored::from_value(value) {
            Some(Stored::Whole(value)) => return Ok(value.to_vec()),
            Some(Stored::Cut(length)) => length as usize,
            None => return Err(damaged("it is neither whole nor in pieces")),
        };
        let mut whole = Vec::new();
        for number in 0.. {
            if whole.len() >= length {
                break;
            }
            let piece = self.guarded(|| self.db.get(cut::piece(key, number)))?;
            whole.extend_from_slice(&piece.ok_or_else(|| damaged("a piece of it is missing"))?);
        }
        if whole.len() == length { Ok(whole) } else { Err(damaged("its pieces have the wrong length")) }
    }
}

fn read_position(value: &[u8]) -> Option<(There, Tally)> {
    let (id, rest) = value.split_first_chunk()?;
    let (check, rest) = rest.split_first_chunk()?;
    let (numbers, rest) = rest.as_chunks::<8>();
    let [number, count, bytes, digest] = numbers else { return None };
    let number_of = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let there = There { id: *id, number: number_of(number), check: u32::from_le_bytes(*check) };
    let tally = Tally { count: number_of(count), bytes: number_of(bytes), digest: number_of(digest) };
    rest.is_empty().then_some((there, tally))
}
