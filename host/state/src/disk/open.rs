//! From a folder to a store that is whole, whatever a crash left.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::follower::Note;
use super::index::{self, Index};
use super::journal::{self, Journal};
use super::shared::Shared;
use super::writer::Writing;
use super::{Folder, Writer, files};
use crate::probe::Probed;
use crate::table::Table;
use crate::{Error, Holder};

/// A store whose entries were read, and which nobody writes yet.
pub(crate) struct Opened {
    pub(crate) shared: Arc<Shared>,
    /// What was repaired without being asked for.
    pub(crate) note: Note,
    writing: Writing,
}

impl Opened {
    /// Takes a folder and reads what is in it.
    pub(crate) fn open(path: &Path, holder: &Holder, wait: Duration, probe: Probed) -> Result<Self, Error> {
        let folder = Folder::open(path, holder, wait)?;
        probe.at("open: after the folder is locked");
        let note: Note = Arc::new(Mutex::new(None));
        let mut table = Table::default();
        let (journal, index) = if folder.is_version_1() {
            (Some(migrate(&folder, &mut table, &probe)?), None)
        } else {
            match journal::find(path)? {
                Some((_, file)) => {
                    let mut journal = Journal::open(path, file, &mut table, probe.clone())?;
                    // The folder's own format comes after the journal.
                    folder.establish(&probe)?;
                    let index = after_a_crash(&folder, &mut journal, &mut table, &note, &probe)?;
                    (Some(journal), index)
                }
                None if folder.is_fresh() => (None, None),
                None => {
                    let detail =
                        "its journal is missing; `purlin state repair` makes it again from the index";
                    return Err(Error::Corrupt { folder: path.into(), detail: detail.into() });
                }
            }
        };
        let shared = Arc::new(Shared::new(table, journal.as_ref().map(Journal::position)));
        let writing = Writing::new(folder, journal, shared.clone(), index, note.clone(), probe);
        Ok(Self { shared, note, writing })
    }

    /// Starts the thread that writes.
    pub(crate) fn start(self) -> Result<Writer, Error> {
        Writer::start(self.writing)
    }
}

/// A journal whose end was lost, by whatever, is behind the index, which never is in front of it
/// otherwise. Then the index has what was lost. Only after a store was not closed is this looked for.
fn after_a_crash(
    folder: &Folder,
    journal: &mut Journal,
    table: &mut Table,
    note: &Note,
    probe: &Probed,
) -> Result<Option<Index>, Error> {
    if journal.was_closed() || !index::folder_in(folder.path()).join("db").exists() {
        return Ok(None);
    }
    // What is wrong with it is found out, and seen to, once it is written.
    let Ok(index) = Index::open(folder.path(), probe.clone()) else { return Ok(None) };
    let ahead = index.position().is_ok_and(|found| {
        let here = journal.position();
        found.is_some_and(|(there, _)| there.id == here.id && there.number > here.number)
    });
    if !ahead {
        return Ok(Some(index));
    }
    let Ok(Some((saved, _))) = index.table() else {
        let detail = "the end of its journal is missing, and its index is not whole; `purlin state repair` saves what is";
        return Err(Error::Corrupt { folder: folder.path().into(), detail: detail.into() });
    };
    journal.renew(folder.path(), &saved)?;
    *table = saved;
    let text = "the end of the state's journal was missing; it was made again from the index";
    tracing::warn!("{text}");
    *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.into());
    Ok(Some(index))
}

/// Version 1 had its entries in sled alone. They become a journal, and sled its index. Whoever is
/// killed in here begins anew: the version changes last.
fn migrate(folder: &Folder, table: &mut Table, probe: &Probed) -> Result<Journal, Error> {
    let path = folder.path();
    let left = journal::folder_in(path);
    if left.exists() {
        files::set_aside(path, &left)?;
    }
    {
        let index = Index::open(path, probe.clone())?;
        index.entries(&mut |key, value| table.apply(key, Some(value)))?;
    }
    let journal = Journal::write(path, 1, table, probe.clone())?;
    folder.establish(probe)?;
    Ok(journal)
}
