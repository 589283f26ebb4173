//! `purlin state repair`: is everything whole, and what can be saved where it is not.

use std::path::{Path, PathBuf};

use super::{OpenOptions, SledStore, stored_key};
use crate::disk::{self, Folder, Repaired};
use crate::keys::Keyring;
use crate::keyspace::{self, Kind};
use crate::table::Table;
use crate::{Error, codec};

/// What a look at a store found, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is wrong, or was before the repair: a sentence each.
    pub findings: Vec<String>,
    /// What could not be saved, by name where there is one.
    pub lost: Vec<String>,
    /// Where the old files lie now; nothing is thrown away.
    pub moved: Vec<PathBuf>,
    /// How many resources are recorded.
    pub records: usize,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.lost.is_empty()
    }
}

impl SledStore {
    /// Looks whether the store in a folder is whole: its format, its journal, its index, and whether
    /// everything in it reads. Changes nothing that matters. Blocks.
    ///
    /// # Errors
    /// [`Error::Busy`] when somebody has it open, [`Error::Newer`] when a newer version wrote it,
    /// [`Error::Io`] when it cannot be read at all. Damage is no error, but in the report.
    pub fn verify(folder: &Path, options: &OpenOptions) -> Result<Report, Error> {
        let folder = Folder::open_broken(folder, &options.holder, options.wait)?;
        let found = disk::verify(&folder)?;
        let mut report = Report::default();
        let keys = keys(&found.table, options, &mut report);
        for (key, value) in found.table.iter() {
            if let Err(error) = check(key, value, keys.as_ref()) {
                report.findings.push(error.to_string());
            }
        }
        Ok(report.with(found))
    }

    /// The same, and puts right what is wrong: journal and index are made again, each from what is
    /// whole in either, and what reads no more is left out, by name. The old files are moved to
    /// `stale/`. Blocks.
    ///
    /// # Errors
    /// As [`SledStore::verify`], and when the disk fails.
    pub fn repair(folder: &Path, options: &OpenOptions) -> Result<Report, Error> {
        let folder = Folder::open_broken(folder, &options.holder, options.wait)?;
        let mut report = Report::default();
        let keys = keys(&disk::verify(&folder)?.table, options, &mut report);
        let found = disk::repair(&folder, &|key, value| check(key, value, keys.as_ref()))?;
        Ok(report.with(found))
    }
}

impl Report {
    fn with(mut self, found: Repaired) -> Self {
        self.records = found.table.range(&keyspace::all(Kind::Record)).count();
        self.findings.extend(found.findings);
        self.lost.extend(found.lost);
        self.moved.extend(found.moved);
        self
    }
}

/// The keys, or a word on what cannot be checked without.
fn keys(table: &Table, options: &OpenOptions, report: &mut Report) -> Option<Keyring> {
    let stored = stored_key(table).and_then(|stored| match stored {
        Some(stored) => Keyring::open(&options.key, Some(stored)).map(Some),
        // Nothing is sealed, so any will do.
        None => Ok(Some(Keyring::in_memory())),
    });
    stored.unwrap_or_else(|error| {
        report.findings.push(format!("what is sealed was not looked at: {error}"));
        None
    })
}

/// Whether an entry reads. Without keys only its checksum is looked at.
fn check(key: &[u8], value: &[u8], keys: Option<&Keyring>) -> Result<(), Error> {
    let name = keyspace::describe(key, None);
    if key == keyspace::RECIPIENT {
        return Ok(());
    }
    codec::check(value, &name)?;
    let digest = || key.get(1..33).and_then(|digest| digest.try_into().ok());
    match (key.first(), keys) {
        (Some(b'r'), Some(keys)) => {
            let record = codec::decode(value, &name, keys)?;
            placed(key, keyspace::of(Kind::Record, &record.id()), name)
        }
        (Some(b'i'), Some(keys)) => {
            let intent = codec::decode_intent(value, &name, keys)?;
            placed(key, keyspace::of(Kind::Intent, &intent.id()), name)
        }
        (Some(b'd'), Some(keys)) => match digest() {
            Some(digest) => codec::decode_documents(value, &digest, keys).map(drop),
            None => Err(Error::Damaged { name, detail: "its digest is lost".into() }),
        },
        (Some(b'k'), Some(keys)) => codec::decode_checkpoint(value, &name, keys).map(drop),
        (Some(b'h'), Some(keys)) => codec::decode_deployment(value, 0, &name, keys).map(drop),
        (Some(b'l'), Some(keys)) => codec::decode_hold(value, &name, keys).map(drop),
        (Some(b'm'), _) => codec::decode_key(value).map(drop),
        (Some(b'r' | b'i' | b'k' | b'h' | b'd' | b'l'), None) => Ok(()),
        _ => Err(Error::Damaged { name, detail: "it is of an unknown kind".into() }),
    }
}

fn placed(key: &[u8], expected: Option<Vec<u8>>, name: String) -> Result<(), Error> {
    if expected.as_deref() == Some(key) {
        return Ok(());
    }
    Err(Error::Damaged { name, detail: "it is that of another resource".into() })
}
