//! Looking at a store as a whole, and making it whole again.
//!
//! Nothing is thrown away: what is replaced is moved to `stale/` first.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::index::{self, Index};
use super::journal::{self, Journal, Part, Position};
use super::{Folder, files};
use crate::probe::Probed;
use crate::table::{Table, Tally};
use crate::{Error, codec, keyspace};

/// What was found, and done.
#[derive(Debug, Default)]
pub(crate) struct Repaired {
    /// What is wrong, or was.
    pub(crate) findings: Vec<String>,
    /// What could not be saved, by name where there is one.
    pub(crate) lost: Vec<String>,
    /// Where the old files are now.
    pub(crate) moved: Vec<PathBuf>,
    /// The entries.
    pub(crate) table: Table,
    /// Whether files have to be written.
    wanted: bool,
    /// Whether anything could be read at all.
    read: bool,
}

impl Repaired {
    fn wrong(&mut self, finding: impl Into<String>) {
        self.findings.push(finding.into());
        self.wanted = true;
    }
}

/// Looks, and changes nothing but what opening sled changes.
pub(crate) fn verify(folder: &Folder) -> Result<Repaired, Error> {
    let mut report = Repaired::default();
    look(folder, &mut report)?;
    Ok(report)
}

/// Says what is wrong with an entry.
pub(crate) type Check<'c> = dyn Fn(&[u8], &[u8]) -> Result<(), Error> + 'c;

/// Looks, and puts right what is wrong.
pub(crate) fn repair(folder: &Folder, check: &Check<'_>) -> Result<Repaired, Error> {
    let mut report = Repaired::default();
    let generation = look(folder, &mut report)?;
    let mut table = std::mem::take(&mut report.table);
    let broken: Vec<_> =
        table.iter().filter_map(|(key, value)| Some((key.to_vec(), check(key, value).err()?))).collect();
    for (key, error) in broken {
        report.wrong(error.to_string());
        report.lost.push(keyspace::describe(&key, None));
        table.apply(key, None);
    }
    let path = folder.path();
    if report.wanted && !report.read {
        // An empty state would say that nothing exists.
        let detail = format!(
            "nothing in it can be read ({}), so it is left as it is; bring back a copy of the folder",
            report.findings.join("; ")
        );
        return Err(Error::Corrupt { folder: path.into(), detail });
    }
    if report.wanted {
        for old in [journal::folder_in(path), index::folder_in(path)] {
            if old.exists() {
                report.moved.push(files::set_aside(path, &old)?);
            }
        }
        let mut journal = Journal::write(path, generation + 1, &table, Probed::default())?;
        files::replace_private(&path.join("format"), format!("{}\n", super::folder::FORMAT).as_bytes())?;
        journal.close()?;
        let index = Index::open(path, Probed::default())?;
        let all = table.iter().map(|(key, value)| (key.to_vec(), Some(value.to_vec()))).collect();
        index.reconcile(all, (journal.position(), table.tally()))?;
        index.flush()?;
    }
    report.table = table;
    Ok(report)
}

/// What the index says, where it can be read.
struct Indexed {
    table: Table,
    position: Option<Position>,
    /// Whether it has all that it had when it noted its position.
    whole: bool,
}

/// Reads journal and index; gives the generation of the journal.
fn look(folder: &Folder, report: &mut Repaired) -> Result<u64, Error> {
    let indexed = read_index(folder, report);
    let Some((generation, path)) = journal::find(folder.path())? else {
        match indexed {
            Some(indexed) => {
                if !folder.is_version_1() {
                    report.wrong("the journal is missing");
                    name_doubts(&indexed, report);
                }
                report.table = indexed.table;
            }
            None if folder.is_fresh() || !report.findings.is_empty() => {}
            None => report.wrong("the journal and the index are missing"),
        }
        return Ok(0);
    };
    let mut table = Table::default();
    match Journal::open(folder.path(), path.clone(), &mut table, Probed::default()) {
        Ok(journal) => {
            report.read = true;
            compare(&table, journal.position(), indexed.as_ref(), report);
            report.table = match indexed {
                Some(indexed) if is_ahead(&indexed, journal.position()) => {
                    report.wrong("the end of the journal is missing; the index is ahead of it");
                    join(table, indexed, report)
                }
                _ => table,
            };
            if folder.is_fresh() {
                report.wrong("the file `format` is missing or makes no sense");
            }
        }
        Err(error @ (Error::Newer { .. } | Error::Io { .. })) => return Err(error),
        Err(error) => {
            report.wrong(error.to_string());
            let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
            save(&bytes, indexed, report);
        }
    }
    Ok(generation)
}

fn read_index(folder: &Folder, report: &mut Repaired) -> Option<Indexed> {
    if !index::folder_in(folder.path()).join("db").exists() {
        return None;
    }
    let read = || {
        let index = Index::open(folder.path(), Probed::default())?;
        let noted = index.position()?;
        let mut table = Table::default();
        index.entries(&mut |key, value| table.apply(key, Some(value)))?;
        let whole = noted.is_some_and(|(_, tally)| tally == table.tally());
        Ok(Indexed { table, position: noted.map(|(position, _)| position), whole })
    };
    match read() {
        Ok(indexed) => {
            // sled takes some of what makes no sense for an empty database.
            report.read |= indexed.position.is_some() || indexed.table.tally().count > 0;
            Some(indexed)
        }
        Err::<_, Error>(error) => {
            report.wrong(format!("the index cannot be read: {error}"));
            None
        }
    }
}

/// The index may be behind the journal; but where it is not, it has to be the same.
fn compare(table: &Table, position: Position, indexed: Option<&Indexed>, report: &mut Repaired) {
    let Some(indexed) = indexed else { return };
    if indexed.position.is_some() && !indexed.whole {
        report.wrong("the index does not have the entries that it should have");
    } else if indexed.position == Some(position) && indexed.table.tally() != table.tally() {
        report.wrong("the index has other entries than the journal");
    }
}

fn is_ahead(indexed: &Indexed, here: Position) -> bool {
    indexed.position.is_some_and(|there| there.id == here.id && there.number > here.number)
}

/// What a journal that lost its end and an index that is ahead of it know together.
fn join(mut journal: Table, indexed: Indexed, report: &mut Repaired) -> Table {
    if indexed.whole {
        return indexed.table;
    }
    // Deleted since, or lost from the index.
    for (key, _) in journal.iter().filter(|(key, _)| indexed.table.get(key).is_none()) {
        report.lost.push(format!("perhaps changes of {}", keyspace::describe(key, None)));
    }
    report.lost.push("perhaps changes that neither the journal nor the index has".into());
    for (key, value) in indexed.table.iter() {
        journal.apply(key.to_vec(), Some(value.to_vec()));
    }
    journal
}

/// Puts together what is left of a journal that is damaged and of the index.
fn save(bytes: &[u8], indexed: Option<Indexed>, report: &mut Repaired) {
    let found = journal::rescue(bytes);
    let id = found.header.map(|(_, id)| id);
    // Up to where the index has everything.
    let mut covered = 0;
    let mut doubtful = BTreeMap::new();
    let mut table = Table::default();
    if let Some(indexed) = indexed {
        let fits = indexed.position.filter(|at| id.is_none() || id == Some(at.id));
        match fits {
            Some(position) if indexed.whole => {
                covered = position.number;
                table = indexed.table;
            }
            // It is of another time: better than nothing, where the journal does not say otherwise.
            _ if !found.base => {
                doubtful =
                    indexed.table.iter().map(|(key, value)| (key.to_vec(), Tally::of(key, value))).collect();
                table = indexed.table;
            }
            _ => {}
        }
    }
    if covered == 0 && !found.base {
        report.lost.push("an unknown part of what the journal began with".into());
    }
    report.read |= !found.parts.is_empty();
    for part in found.parts.into_iter().filter(|part| part.last > covered) {
        let Part { entries, broken, .. } = part;
        if let Some(at) = broken {
            report.lost.push(format!(
                "changes at byte {at} of the journal, but for those that are named in no other line"
            ));
        }
        for (key, value) in entries {
            doubtful.remove(&key);
            let whole = value.as_ref().is_none_or(|value| codec::check(value, "").is_ok());
            if broken.is_none() || whole {
                table.apply(key, value);
            } else {
                report.lost.push(format!("the last change of {}", keyspace::describe(&key, None)));
            }
        }
    }
    for key in doubtful.keys() {
        report.lost.push(format!("perhaps changes of {}", keyspace::describe(key, None)));
    }
    report.table = table;
}

fn name_doubts(indexed: &Indexed, report: &mut Repaired) {
    if !indexed.whole {
        report.lost.push("an unknown part of the index".into());
    }
}
