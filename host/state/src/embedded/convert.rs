//! Converts a folder of an earlier format to the current one.
//!
//! The environments are written next to the old files and then renamed. Then the format changes,
//! which completes the conversion. Finally, the old files are moved to `stale/`. An interrupted
//! conversion starts over if the format has not changed, and continues otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::check::environment_of;
use crate::disk::head::Head;
use crate::disk::journal::Journal;
use crate::disk::{EnvironmentFolder, FORMAT, FolderFormat, Root, files, legacy};
use crate::keys::{Keyring, SealedKey, vault};
use crate::keyspace;
use crate::probe::Probed;
use crate::table::Table;
use crate::{Environment, Error, Holder, KeyProvider, codec};

/// Converts a folder. Returns a sentence about it, unless another process did it meanwhile.
pub(super) fn convert(
    root: &Root,
    key: &KeyProvider,
    holder: &Holder,
    wait: Duration,
    probe: &Probed,
) -> Result<Option<String>, Error> {
    let _alone = root.alone(holder, wait)?;
    let FolderFormat::Older(format) = root.look()? else { return Ok(None) };
    let table = legacy::read(root.path(), format)?;
    let count = spread(root, key, table, probe)?;
    Ok(Some(note(root, format, count)))
}

fn note(root: &Root, format: u32, count: usize) -> String {
    format!(
        "the state in `{}` was converted from format {format} to {FORMAT} ({count} environment{}); the old files are in `stale/` there, and are no longer needed",
        root.path().display(),
        if count == 1 { "" } else { "s" }
    )
}

/// Moves away the old files that an interrupted conversion left behind.
pub(super) fn put_away(root: &Root) -> Result<Option<String>, Error> {
    let current = root.path().join("format").exists() && root.environments().exists();
    if current {
        for old in legacy::left(root.path()) {
            // Another process may do the same at the same time.
            match files::set_aside(root.path(), &old) {
                Err(error) if old.exists() => return Err(error),
                _ => {}
            }
        }
    }
    Ok(None)
}

/// Writes a folder of the current format with all entries of an earlier one. The caller has locked
/// the whole folder. Returns the number of environments.
pub(super) fn spread(root: &Root, key: &KeyProvider, table: Table, probe: &Probed) -> Result<usize, Error> {
    let table = take_over_key(root, key, table)?;
    let staged = root.path().join("environments.new");
    if staged.exists() {
        fs::remove_dir_all(&staged).map_err(Error::io("remove", &staged))?;
    }
    // Left by a conversion that was interrupted before it was complete.
    let environments = root.environments();
    if environments.exists() {
        fs::remove_dir_all(&environments).map_err(Error::io("remove", &environments))?;
    }
    files::private_folder(&staged)?;
    let parts = by_environment(table);
    for (environment, table) in &parts {
        write(&staged, environment, table, probe)?;
    }
    files::sync_folder(&staged)?;
    probe.at("convert: before the environments get their name");
    fs::rename(&staged, &environments).map_err(Error::io("write", &environments))?;
    files::sync_folder(root.path())?;
    probe.at("convert: before the format changes");
    root.note_format()?;
    probe.at("convert: after the format changed");
    put_away(root)?;
    Ok(parts.len())
}

fn write(folder: &Path, environment: &Environment, table: &Table, probe: &Probed) -> Result<(), Error> {
    let place = EnvironmentFolder::in_folder(folder, environment);
    files::private_folder(&place.folder)?;
    place.describe()?;
    let mut journal = Journal::write(&place.folder, 1, table, probe.clone())?;
    journal.close()?;
    Head::open(&place.folder)?.note(journal.position())?;
    files::sync_folder(&place.folder)
}

/// Moves the data key to its current place, and seals with it the entries that version 1 had sealed
/// with the key itself.
fn take_over_key(root: &Root, key: &KeyProvider, table: Table) -> Result<Table, Error> {
    let Some(stored) = stored_key(&table)? else { return Ok(table) };
    // A wrong key is rejected before anything changes.
    let keys = Keyring::with(key, &root.vault(), vec![stored.clone()])?;
    if stored.sealed.is_some() {
        drop(keys);
        vault::replace(&root.vault(), &[stored])?;
        return Ok(table);
    }
    let keys = Keyring::open(key, &root.vault())?;
    let mut sealed = Table::default();
    for (at, value) in table.iter().filter(|(at, _)| *at != keyspace::RECIPIENT) {
        let value = codec::reseal(value, &keyspace::describe(at, None), &keys, &keys)?;
        sealed.apply(at.to_vec(), Some(value));
    }
    for stored in keys.stored() {
        sealed.apply(keyspace::DATA_KEY.to_vec(), Some(stored.encode()));
    }
    Ok(sealed)
}

/// The key in a table of an earlier format.
pub(super) fn stored_key(table: &Table) -> Result<Option<SealedKey>, Error> {
    if let Some(key) = table.get(keyspace::DATA_KEY) {
        return SealedKey::decode(key).map(Some);
    }
    let recipient = table.get(keyspace::RECIPIENT);
    Ok(recipient
        .map(|name| SealedKey { recipient: String::from_utf8_lossy(name).into_owned(), sealed: None }))
}

/// The entries of each environment.
fn by_environment(table: Table) -> Vec<(Environment, Table)> {
    let mut parts: BTreeMap<Vec<u8>, Table> = BTreeMap::new();
    let mut key = None;
    for (at, value) in table {
        if at == keyspace::DATA_KEY {
            key = Some(value);
        } else if let Some(place) = keyspace::place_of(&at) {
            parts.entry(place.to_vec()).or_default().apply_bytes(at, Some(value));
        }
    }
    let mut environments = Vec::new();
    for (_, mut table) in parts {
        match environment_of(&table) {
            Some(environment) => {
                if let Some(key) = &key {
                    table.apply_bytes(bytes::Bytes::from_static(keyspace::DATA_KEY), Some(key.clone()));
                }
                environments.push((environment, table));
            }
            // Its name was never stored: an environment without deployments was closed.
            None => tracing::warn!("a note that an empty environment is closed could not be converted"),
        }
    }
    environments
}
