//! Reads a journal that another process may be writing.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::scan::{self, End, ScanError};
use super::{Position, newest};
use crate::Error;
use crate::disk::head;
use crate::keyspace::EntryKind;
use crate::table::{Entries, Table};

/// The number of attempts to read invalid data, since the writing process may not have finished it.
const LOOKS: usize = 5;
/// The pause between attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A journal as far as it was read.
pub(crate) struct Reading {
    file: File,
    path: PathBuf,
    end: End,
    pub(crate) table: Table,
    /// Whether the files are the original ones and not copies.
    pub(crate) original: bool,
    /// Whether the table still contains the records.
    pub(crate) has_records: bool,
}

impl Reading {
    /// Reads the journal of an environment; `None` if nothing was recorded.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>, Error> {
        patiently(|| {
            let noted = head::read(folder);
            let Some((_, path)) = newest(folder)? else {
                return if noted.is_some() { Err(missing(folder)) } else { Ok(None) };
            };
            // If the next generation is just replacing it, the file is not found, and the caller
            // tries again.
            let mut reading = Self::of(folder, &path)?;
            if let Some(noted) = noted {
                check_reaches(folder, &path, noted.position, reading.position())?;
                reading.original = noted.original;
            }
            Ok(Some(reading))
        })
    }

    /// Takes the records, which are most of the table, out of it. A caller that needs them again
    /// must open the journal again.
    pub(crate) fn take_records(&mut self) -> Entries {
        self.has_records = false;
        self.table.take(EntryKind::Record as u8)
    }

    /// Reads the frames that were written since; returns `false` if the journal must be opened
    /// again.
    pub(crate) fn go_on(&mut self, folder: &Path) -> Result<bool, Error> {
        if newest(folder)?.is_none_or(|(_, path)| path != self.path) {
            return Ok(false);
        }
        // A frame that is still being written is read the next time.
        match scan::go_on(&self.file, self.end, &mut self.table) {
            Ok(end) => {
                self.end = end;
                Ok(true)
            }
            Err(ScanError::Io(source)) if source.kind() != ErrorKind::UnexpectedEof => {
                Err(Error::io("read", &self.path)(source))
            }
            Err(_) => Ok(false),
        }
    }

    /// Reads a journal regardless of other notes about it. Messages name `folder`.
    pub(crate) fn of(folder: &Path, path: &Path) -> Result<Self, Error> {
        let file = purlin_files::open(path).map_err(Error::io("open", path))?;
        let mut table = Table::of_frames();
        let end = scan::scan(&file, &mut table).map_err(|fault| fault.into_error(folder, path))?;
        Ok(Self { file, path: path.to_owned(), end, table, original: true, has_records: true })
    }

    /// Whether it was closed properly.
    pub(crate) fn was_closed(&self) -> bool {
        self.end.closed && !self.end.torn
    }

    pub(crate) fn position(&self) -> Position {
        let End { header, number, check, .. } = self.end;
        Position { generation: header.generation, id: header.id, number, check }
    }
}

/// The error for an environment whose journal has disappeared.
pub(crate) fn missing(folder: &Path) -> Error {
    let detail = "its journal is missing; put back a copy, or see `purlin state repair`";
    Error::Corrupt { folder: folder.into(), detail: detail.into() }
}

/// Checks that a journal reaches the position that was noted.
pub(crate) fn check_reaches(
    folder: &Path,
    path: &Path,
    noted: Position,
    here: Position,
) -> Result<(), Error> {
    let same = noted.id == here.id;
    let fits = if same { here.number >= noted.number } else { here.generation > noted.generation };
    let forked = same && here.number == noted.number && here.check != noted.check;
    if fits && !forked {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let detail = if same && !forked {
        format!(
            "its journal (`journal/{name}`) ends with batch {}, but batch {} had already been written: its end is missing, or it is an older copy; put back the newest copy, or continue from this one with `purlin state repair`",
            here.number, noted.number
        )
    } else {
        format!(
            "its journal (`journal/{name}`) is not the one that was written last; put back the newest copy, or continue from this one with `purlin state repair`"
        )
    };
    Err(Error::Corrupt { folder: folder.into(), detail })
}

/// Repeats a read that found invalid data.
pub(crate) fn patiently<T>(mut read: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 1..LOOKS {
        match read() {
            Err(Error::Corrupt { .. }) => sleep(PAUSE),
            // The next generation replaced the file, or the writing process truncated the reserved
            // space.
            Err(Error::Io { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof) => {}
            result => return result,
        }
    }
    read()
}
