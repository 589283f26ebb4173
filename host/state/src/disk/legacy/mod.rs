//! Reads folders of the formats before version 5, which had one journal for all environments and
//! the same entries by key in sled. These formats are no longer written.

mod cut;
mod index;
mod salvage;

use std::path::{Path, PathBuf};

pub(crate) use self::salvage::{look_at_journal, salvage};
use super::journal::{self, Reading};
use crate::Error;
use crate::table::Table;

/// The contents of such a folder, besides its key.
pub(crate) const PARTS: [&str; 2] = ["journal", "sled"];

/// Reads all entries of a folder that this process has locked.
pub(crate) fn read(folder: &Path, format: u32) -> Result<Table, Error> {
    let corrupt = |detail: &str| Error::Corrupt { folder: folder.into(), detail: detail.into() };
    if format == 1 {
        let mut table = Table::default();
        index::Index::open(folder)?.entries(&mut |key, value| table.apply(key, Some(value)))?;
        return Ok(table);
    }
    let Some((_, path)) = journal::newest(folder)? else {
        return Err(corrupt("its journal is missing; `purlin state repair` makes it again from the index"));
    };
    let journal = Reading::of(folder, &path)?;
    if journal.was_closed() || !index::folder_in(folder).join("db").exists() {
        return Ok(journal.table);
    }
    // The index is ahead of the journal only if the journal lost its end.
    let Ok(index) = index::Index::open(folder) else { return Ok(journal.table) };
    let here = journal.position();
    let ahead = index
        .position()
        .is_ok_and(|found| found.is_some_and(|(there, _)| there.id == here.id && there.number > here.number));
    match ahead.then(|| index.table()) {
        None => Ok(journal.table),
        Some(Ok(Some((saved, _)))) => Ok(saved),
        Some(_) => Err(corrupt(
            "the end of its journal is missing, and its index is incomplete; `purlin state repair` saves the intact part",
        )),
    }
}

/// The old files that remain in a folder after its conversion.
pub(crate) fn left(folder: &Path) -> Vec<PathBuf> {
    PARTS.into_iter().map(|part| folder.join(part)).filter(|path| path.exists()).collect()
}
