//! Whether what is recorded can be read: for `purlin state repair` of every store.

use std::path::PathBuf;

use crate::keys::Keyring;
use crate::keyspace::{self, Kind};
use crate::table::Table;
use crate::{Environment, Error, codec};

/// What a look at a store found, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is wrong, or was before the repair: a sentence each.
    pub findings: Vec<String>,
    /// What could not be saved, by name where there is one.
    pub lost: Vec<String>,
    /// Where copies of the old files lie now; nothing is thrown away.
    pub moved: Vec<PathBuf>,
    /// How many resources are recorded.
    pub records: usize,
    /// The format of the folder, where an earlier version wrote it. A look does not convert it, and sees
    /// nothing of what version 1 wrote.
    pub older: Option<u32>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.lost.is_empty()
    }
}

/// What is wrong with the entries of a table.
pub(crate) fn inspect(table: &Table, keys: Option<&Keyring>, report: &mut Report) {
    for (key, value) in table.iter() {
        if let Err(error) = check(key, value, keys) {
            report.findings.push(error.to_string());
        }
    }
    report.records += table.range(&keyspace::all(Kind::Record)).count();
}

/// Takes out the entries that cannot be read, and names them. Gives their keys.
pub(crate) fn left_out(table: &mut Table, keys: Option<&Keyring>, report: &mut Report) -> Vec<Vec<u8>> {
    let broken: Vec<_> = table
        .iter()
        .filter_map(|(key, value)| Some((key.to_vec(), check(key, value, keys).err()?)))
        .collect();
    for (key, error) in &broken {
        report.findings.push(error.to_string());
        report.lost.push(keyspace::describe(key, None));
        table.apply(key.clone(), None);
    }
    broken.into_iter().map(|(key, _)| key).collect()
}

/// The environment that the entries of a table lie in, as far as any of them says.
pub(crate) fn environment_of(table: &Table) -> Option<Environment> {
    [Kind::Record, Kind::Deployment, Kind::Intent, Kind::Unmet].into_iter().find_map(|kind| {
        let all = keyspace::all(kind);
        table.range(&all).find_map(|(_, value)| codec::decode_environment(value, "").ok().flatten())
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
        (Some(b'u'), Some(keys)) => {
            let unmet = codec::decode_unmet(value, &name, keys)?;
            placed(key, keyspace::of(Kind::Unmet, &crate::RecordId::current(unmet.urn)), name)
        }
        (Some(b'd'), Some(keys)) => match digest() {
            Some(digest) => codec::decode_documents(value, &digest, keys).map(drop),
            None => Err(Error::Damaged { name, detail: "its digest is lost".into() }),
        },
        (Some(b'k'), Some(keys)) => codec::decode_checkpoint(value, &name, keys).map(drop),
        (Some(b'h'), Some(keys)) => codec::decode_deployment(value, 0, &name, keys).map(drop),
        (Some(b'l'), Some(keys)) => codec::decode_hold(value, &name, keys).map(drop),
        (Some(b'q'), Some(keys)) => codec::decode_doubt(value, &name, keys).map(drop),
        (Some(b'm'), _) => codec::decode_key(value).map(drop),
        (Some(b'r' | b'i' | b'k' | b'u' | b'h' | b'd' | b'l' | b'q'), None) => Ok(()),
        _ => Err(Error::Damaged { name, detail: "it is of an unknown kind".into() }),
    }
}

fn placed(key: &[u8], expected: Option<Vec<u8>>, name: String) -> Result<(), Error> {
    if expected.as_deref() == Some(key) {
        return Ok(());
    }
    Err(Error::Damaged { name, detail: "it is that of another resource".into() })
}
