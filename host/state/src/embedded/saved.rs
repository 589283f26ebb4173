//! Reads the files of an environment as far as possible.

use std::path::{Path, PathBuf};

use crate::disk::journal::{self, JournalPart, Position, Reading};
use crate::disk::{EnvironmentFolder, Root, head};
use crate::table::Table;
use crate::{Error, codec, keyspace};

/// The readable data of an environment.
#[derive(Default)]
pub(super) struct Saved {
    pub(super) findings: Vec<String>,
    pub(super) lost: Vec<String>,
    pub(super) table: Table,
    /// The newest generation of all files.
    pub(super) generation: u64,
    /// The file that was read, if it is damaged or in the wrong place.
    pub(super) broken: Option<PathBuf>,
    /// Whether anything could be read.
    pub(super) read: bool,
    /// The end of the journal, if it is intact.
    pub(super) end: Option<Position>,
}

/// Reads an environment as far as possible. Writes nothing.
pub(super) fn save(root: &Root, folder: &Path) -> Result<Saved, Error> {
    // Read before the journal, which may grow meanwhile.
    let noted = head::read(folder).map(|noted| noted.position);
    let mut saved = Saved::default();
    let path = match journal::newest(folder)? {
        Some((generation, path)) => {
            saved.generation = generation;
            path
        }
        None => {
            let Some((generation, path)) = journal::newest(&folder.join("stale"))? else {
                if noted.is_some() {
                    saved.findings.push(format!("the journal in `{}` is missing", folder.display()));
                    saved.lost.push(format!("everything in `{}`", folder.display()));
                }
                return Ok(saved);
            };
            saved
                .findings
                .push(format!("the journal in `{}` is missing; a copy is in `stale/`", folder.display()));
            (saved.generation, saved.broken) = (generation, Some(path.clone()));
            path
        }
    };
    match whole(folder, &path) {
        Ok(reading) => {
            saved.read = true;
            let here = reading.position();
            saved.end = Some(here);
            if let Some(noted) = noted
                && let Err(error) = journal::check_reaches(folder, &path, noted, here)
            {
                saved.findings.push(error.to_string());
                saved.lost.push(since(noted.id == here.id, noted.number, here.number));
                saved.broken = Some(path);
            }
            saved.table = reading.table;
        }
        Err(error @ (Error::Newer { .. } | Error::Io { .. })) => return Err(error),
        Err(error) => {
            saved.findings.push(error.to_string());
            let bytes = purlin_files::read(&path, u64::MAX).map_err(Error::io("read", &path))?;
            let generation = saved.generation;
            let (id, number) = rescue(&bytes, &mut saved);
            // If the header is lost, only the file name identifies the journal.
            let same =
                noted.is_some_and(|noted| id.map_or(generation == noted.generation, |id| id == noted.id));
            let reached = |noted: Position| {
                if same { number >= noted.number } else { generation > noted.generation }
            };
            if let Some(noted) = noted.filter(|noted| !reached(*noted)) {
                saved.lost.push(since(same, noted.number, number));
            }
            saved.broken = Some(path);
        }
    }
    // The next journal must get a higher generation than any before.
    saved.generation = saved.generation.max(noted.map_or(0, |noted| noted.generation));
    if EnvironmentFolder::read(root, folder).is_none() && saved.read {
        saved.findings.push(format!("the environment of `{}` is unknown", folder.display()));
    }
    Ok(saved)
}

/// A journal that another process is writing becomes valid when it is read again.
fn whole(folder: &Path, path: &Path) -> Result<Reading, Error> {
    for _ in 0..4 {
        match Reading::of(folder, path) {
            Err(Error::Corrupt { .. }) => std::thread::sleep(std::time::Duration::from_millis(10)),
            result => return result,
        }
    }
    Reading::of(folder, path)
}

/// The changes that a journal lacks, if the same journal once went up to `noted`.
fn since(same: bool, noted: u64, number: u64) -> String {
    match noted.checked_sub(number) {
        Some(missing @ 1..) if same => format!("the last {missing} batches of changes"),
        _ => "an unknown part of the last changes".to_owned(),
    }
}

/// Combines the remains of a damaged journal. Returns the id in its header, if that is intact, and
/// the number of its last batch.
fn rescue(bytes: &[u8], saved: &mut Saved) -> (Option<[u8; 16]>, u64) {
    let found = journal::rescue(bytes);
    let id = found.header.map(|(_, id)| id);
    let number = found.parts.last().map_or(0, |part| part.last);
    if !found.base {
        saved.lost.push(journal::LOST_BASE.into());
    }
    saved.read |= found.parts.iter().any(|part| !part.entries.is_empty());
    for JournalPart { entries, broken, .. } in found.parts {
        if let Some(at) = broken {
            saved.lost.push(journal::lost_at(at));
        }
        for (key, value) in entries {
            let whole = value
                .as_ref()
                .is_none_or(|value| !matches!(codec::check(value, ""), Err(Error::Damaged { .. })));
            if broken.is_none() || whole {
                saved.table.apply(key, value);
            } else {
                saved.lost.push(format!("the last change of {}", keyspace::describe(&key, None)));
            }
        }
    }
    (id, number)
}
