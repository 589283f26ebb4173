//! Recovers the readable parts of a damaged folder of an earlier format, from its journal or its
//! index.

use std::collections::BTreeMap;
use std::path::Path;

use super::index::{self, Index, There};
use crate::disk::journal::{self, Part, Position, Reading};
use crate::table::{Table, Tally};
use crate::{Error, codec, keyspace};

/// The recovered data.
#[derive(Debug, Default)]
pub(crate) struct Salvaged {
    /// The damage that was found.
    pub(crate) findings: Vec<String>,
    /// The data that could not be recovered, by name if there is one.
    pub(crate) lost: Vec<String>,
    /// The recovered entries.
    pub(crate) table: Table,
    /// Whether anything could be read.
    pub(crate) read: bool,
}

impl Salvaged {
    fn wrong(&mut self, finding: impl Into<String>) {
        self.findings.push(finding.into());
    }
}

/// Reads the journal and the index of a folder as far as possible.
pub(crate) fn salvage(folder: &Path, format: u32) -> Result<Salvaged, Error> {
    let mut report = Salvaged::default();
    let indexed = read_index(folder, &mut report);
    look(folder, format == 1, indexed, &mut report)?;
    Ok(report)
}

/// Reads the journal of such a folder as far as possible. Does not open the index, since sled
/// writes even when it is only opened.
pub(crate) fn look_at_journal(folder: &Path) -> Result<Salvaged, Error> {
    let mut report = Salvaged::default();
    look(folder, false, None, &mut report)?;
    Ok(report)
}

/// The content of the index, if it can be read.
struct Indexed {
    table: Table,
    position: Option<There>,
    /// Whether its entries match the tally of its position.
    whole: bool,
}

/// Reads the journal and the index.
fn look(
    folder: &Path,
    only_index: bool,
    indexed: Option<Indexed>,
    report: &mut Salvaged,
) -> Result<(), Error> {
    let Some((_, path)) = journal::newest(folder)? else {
        match indexed {
            Some(indexed) => {
                if !only_index {
                    report.wrong("the journal is missing");
                    report_gap(&indexed, report);
                }
                report.table = indexed.table;
            }
            None => report.wrong("the journal and the index are missing"),
        }
        return Ok(());
    };
    match Reading::of(folder, &path) {
        Ok(reading) => {
            let (position, table) = (reading.position(), reading.table);
            report.read = true;
            compare(&table, position, indexed.as_ref(), report);
            report.table = match indexed {
                Some(indexed) if is_ahead(&indexed, position) => {
                    report.wrong("the end of the journal is missing; the index is ahead of it");
                    join(table, indexed, report)
                }
                _ => table,
            };
        }
        Err(error @ (Error::Newer { .. } | Error::Io { .. })) => return Err(error),
        Err(error) => {
            report.wrong(error.to_string());
            let bytes = purlin_files::read(&path, u64::MAX).map_err(Error::io("read", &path))?;
            save(&bytes, indexed, report);
        }
    }
    Ok(())
}

fn read_index(folder: &Path, report: &mut Salvaged) -> Option<Indexed> {
    if !index::folder_in(folder).join("db").exists() {
        return None;
    }
    let read = || {
        let index = Index::open(folder)?;
        let noted = index.position()?;
        let mut table = Table::default();
        index.entries(&mut |key, value| table.apply(key, Some(value)))?;
        let whole = noted.is_some_and(|(_, tally)| tally == table.tally());
        Ok(Indexed { table, position: noted.map(|(position, _)| position), whole })
    };
    match read() {
        Ok(indexed) => {
            // sled mistakes some invalid files for an empty database.
            report.read |= indexed.position.is_some() || indexed.table.tally().count > 0;
            Some(indexed)
        }
        Err::<_, Error>(error) => {
            report.wrong(format!("the index cannot be read: {error}"));
            None
        }
    }
}

/// The index may be behind the journal, but at the same position it must have the same entries.
fn compare(table: &Table, position: Position, indexed: Option<&Indexed>, report: &mut Salvaged) {
    let Some(indexed) = indexed else { return };
    if indexed.position.is_some() && !indexed.whole {
        report.wrong("the index does not have the entries that it should have");
    } else if indexed.position.is_some_and(|there| there.is(position))
        && indexed.table.tally() != table.tally()
    {
        report.wrong("the index has other entries than the journal");
    }
}

fn is_ahead(indexed: &Indexed, here: Position) -> bool {
    indexed.position.is_some_and(|there| there.id == here.id && there.number > here.number)
}

/// The combined entries of a journal that lost its end and an index that is ahead of it.
fn join(mut journal: Table, indexed: Indexed, report: &mut Salvaged) -> Table {
    if indexed.whole {
        return indexed.table;
    }
    // Either deleted since, or lost from the index.
    for (key, _) in journal.iter().filter(|(key, _)| indexed.table.get(key).is_none()) {
        report.lost.push(format!("perhaps changes of {}", keyspace::describe(key, None)));
    }
    report.lost.push("perhaps changes that neither the journal nor the index has".into());
    for (key, value) in indexed.table.iter() {
        journal.apply(key.to_vec(), Some(value.to_vec()));
    }
    journal
}

/// Combines the remains of a damaged journal with the index.
fn save(bytes: &[u8], indexed: Option<Indexed>, report: &mut Salvaged) {
    let found = journal::rescue(bytes);
    let id = found.header.map(|(_, id)| id);
    // The index is complete up to this frame.
    let mut covered = 0;
    let mut unverified = BTreeMap::new();
    let mut table = Table::default();
    if let Some(indexed) = indexed {
        let fits = indexed.position.filter(|at| id.is_none() || id == Some(at.id));
        match fits {
            Some(position) if indexed.whole => {
                covered = position.number;
                table = indexed.table;
            }
            // The index is from another time. It is better than nothing if the journal's base is
            // lost.
            _ if !found.base => {
                unverified =
                    indexed.table.iter().map(|(key, value)| (key.to_vec(), Tally::of(key, value))).collect();
                table = indexed.table;
            }
            _ => {}
        }
    }
    if covered == 0 && !found.base {
        report.lost.push(journal::LOST_BASE.into());
    }
    report.read |= !found.parts.is_empty();
    for part in found.parts.into_iter().filter(|part| part.last > covered) {
        let Part { entries, broken, .. } = part;
        if let Some(at) = broken {
            report.lost.push(journal::lost_at(at));
        }
        for (key, value) in entries {
            unverified.remove(&key);
            let whole = value.as_ref().is_none_or(|value| codec::check(value, "").is_ok());
            if broken.is_none() || whole {
                table.apply(key, value);
            } else {
                report.lost.push(format!("the last change of {}", keyspace::describe(&key, None)));
            }
        }
    }
    for key in unverified.keys() {
        report.lost.push(format!("perhaps changes of {}", keyspace::describe(key, None)));
    }
    report.table = table;
}

fn report_gap(indexed: &Indexed, report: &mut Salvaged) {
    if !indexed.whole {
        report.lost.push("an unknown part of the index".into());
    }
}
