//! `purlin state repair`: checks the state for damage and saves what can be saved.
//!
//! A check writes nothing. A repair writes the intact data next to the damaged file, and only then
//! replaces it; a copy of the damaged file stays in `stale/`. A repair can therefore be interrupted
//! at any point and started again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::saved::{Saved, save};
use super::{EmbeddedStore, OpenOptions};
use crate::check::{RepairReport, environment_of, inspect, left_out};
use crate::disk::head::{self, Head};
use crate::disk::journal::{self, Journal};
use crate::disk::{EnvironmentFolder, FolderFormat, Root, files, index};
use crate::keys::{Keyring, SealedKey, vault};
use crate::keyspace::{self, EntryKind};
use crate::probe::Probed;
use crate::table::Table;
use crate::{Error, Staleness, codec};

impl EmbeddedStore {
    /// Checks the store in a folder for damage: its format, its key, its journals and all entries.
    /// Writes nothing, and may run while others write. Blocks.
    ///
    /// # Errors
    /// [`Error::Newer`] if a newer version wrote it, [`Error::Io`] if it cannot be read at all.
    /// Damage is not an error but part of the report.
    pub fn verify(folder: &Path, options: &OpenOptions) -> Result<RepairReport, Error> {
        let root = Root::at(folder);
        let mut report = RepairReport::default();
        match format_of(&root, &mut report)? {
            FolderFormat::Nothing => {}
            FolderFormat::Current => {
                let stored = stored_keys(&root, &mut report);
                let keys = keys(options, &root, stored, &mut report)?;
                for folder in root.folders()? {
                    let saved = journal::patiently(|| save(&root, &folder))?;
                    report.findings.extend(saved.findings);
                    report.lost.extend(saved.lost);
                    inspect(&saved.table, keys.as_ref(), &mut report)?;
                }
            }
        }
        Ok(report)
    }

    /// Like [`EmbeddedStore::verify`], but repairs the damage: each damaged environment is rebuilt
    /// from its intact data, and unreadable entries are dropped and reported. If something was
    /// lost, the next run reads the resources before it plans. Copies of the old files are kept in
    /// `stale/`. Blocks.
    ///
    /// # Errors
    /// Like [`EmbeddedStore::verify`]; [`Error::Busy`] if another process writes,
    /// [`Error::Corrupt`] if nothing of an environment can be read; and if the disk fails.
    pub fn repair(folder: &Path, options: &OpenOptions) -> Result<RepairReport, Error> {
        // If a newer version wrote anything, nothing is changed, not even the intact environments.
        Self::verify(folder, options)?;
        let (root, probe) = (Root::at(folder), Probed(options.probe.clone()));
        let _alone = root.alone(&options.holder, options.wait)?;
        let mut report = RepairReport::default();
        match format_of(&root, &mut report)? {
            FolderFormat::Nothing => {}
            FolderFormat::Current => {
                if !report.findings.is_empty() || !folder.join("format").exists() {
                    probe.at("repair: before the format is written");
                    root.note_format()?;
                    probe.at("repair: after the format is written");
                }
                repair_keys(&root, &probe, &mut report)?;
                let stored = vault::read(&root.vault());
                let keys = keys(options, &root, stored, &mut report)?;
                let before = report.findings.len() + report.lost.len();
                for folder in root.folders()? {
                    repair_environment(&root, &folder, (keys.as_ref(), &probe), &mut report)?;
                }
                if report.findings.len() + report.lost.len() > before {
                    probe.at("repair: before the index is removed");
                    index::remove(&root)?;
                    probe.at("repair: after the index is removed");
                }
            }
        }
        Ok(report)
    }
}

/// The format of a folder. If its note is lost or invalid, the folder of the environments shows it.
fn format_of(root: &Root, report: &mut RepairReport) -> Result<FolderFormat, Error> {
    match root.format() {
        Ok(FolderFormat::Current) if !root.path().join("format").exists() => {}
        Err(Error::Corrupt { .. }) => {}
        found => return found,
    }
    report.findings.push("the file `format` is missing or invalid".into());
    Ok(FolderFormat::Current)
}

/// The keys, or a finding about what cannot be checked without them.
fn keys(
    options: &OpenOptions,
    root: &Root,
    stored: Result<Vec<SealedKey>, Error>,
    report: &mut RepairReport,
) -> Result<Option<Keyring>, Error> {
    let keys = stored.and_then(|stored| match stored.is_empty() {
        // Nothing is sealed, so any key will do.
        true => Ok(Keyring::in_memory()),
        false => Keyring::with(&options.key, &root.vault(), stored),
    });
    match keys {
        Ok(keys) => Ok(Some(keys)),
        Err(error @ Error::Newer { .. }) => Err(error),
        Err(error) => {
            report.findings.push(format!("the sealed content was not checked: {error}"));
            Ok(None)
        }
    }
}

/// The data keys from their file or, if that is lost, from the copies in the journals.
fn stored_keys(root: &Root, report: &mut RepairReport) -> Result<Vec<SealedKey>, Error> {
    match vault::read(&root.vault()) {
        Ok(stored) if !stored.is_empty() => return Ok(stored),
        Ok(_) => {}
        Err(error @ Error::Newer { .. }) => return Err(error),
        Err(error) => report.findings.push(error.to_string()),
    }
    let copies = copies_of_keys(root)?;
    if !copies.is_empty() {
        report.findings.push("the file `data-key` is missing; the journals have a copy".into());
    }
    Ok(copies)
}

fn copies_of_keys(root: &Root) -> Result<Vec<SealedKey>, Error> {
    let mut copies: Vec<SealedKey> = Vec::new();
    for folder in root.folders()? {
        let Ok(saved) = save(root, &folder) else { continue };
        let copy = saved.table.get(keyspace::DATA_KEY).and_then(|copy| SealedKey::decode(copy).ok());
        copies.extend(copy.filter(|copy| !copies.contains(copy)));
    }
    // After an interrupted rotation, only the keys of one owner can be used together.
    if let Some(last) = copies.last().map(|copy| copy.recipient.clone()) {
        copies.retain(|copy| copy.recipient == last);
    }
    Ok(copies)
}

/// Restores the file with the data keys if it is lost.
fn repair_keys(root: &Root, probe: &Probed, report: &mut RepairReport) -> Result<(), Error> {
    let there = vault::read(&root.vault());
    if there.as_ref().is_ok_and(|stored| !stored.is_empty()) {
        return Ok(());
    }
    let stored = stored_keys(root, report)?;
    probe.at("repair: before the data key is written");
    if there.is_err() {
        report.moved.push(keep_copy(root.path(), &root.vault())?);
    }
    match stored.is_empty() {
        true if there.is_err() => fs::remove_file(root.vault()).map_err(Error::io("remove", &root.vault())),
        true => Ok(()),
        false => vault::replace(&root.vault(), &stored),
    }
}

fn unreadable(folder: &Path, report: &RepairReport) -> Error {
    // An empty state would claim that no resources exist.
    let detail = format!(
        "nothing in it can be read ({}), so it is left as it is; bring back a copy of the folder",
        report.findings.join("; ")
    );
    Error::Corrupt { folder: folder.into(), detail }
}

/// Rebuilds a damaged environment from its intact data.
fn repair_environment(
    root: &Root,
    folder: &Path,
    (keys, probe): (Option<&Keyring>, &Probed),
    report: &mut RepairReport,
) -> Result<(), Error> {
    let mut saved = save(root, folder)?;
    let (findings, lost) = (std::mem::take(&mut saved.findings), std::mem::take(&mut saved.lost));
    let mut own = RepairReport { findings, lost, ..RepairReport::default() };
    let broken = !left_out(&mut saved.table, keys, &mut own)?.removed.is_empty();
    if !own.is_whole() && !saved.read {
        return Err(unreadable(folder, &own));
    }
    report.records += saved.table.range(&keyspace::all(EntryKind::Record)).count();
    if saved.broken.is_some() || broken {
        let old = saved.broken.clone().or(journal::newest(folder)?.map(|(_, path)| path));
        if let Some(old) = old.filter(|old| !old.starts_with(folder.join("stale"))) {
            probe.at("repair: before what is broken is copied");
            report.moved.push(keep_copy(folder, &old)?);
            probe.at("repair: after what is broken was copied");
        }
        let keys = if own.lost.is_empty() { None } else { keys };
        write(root, folder, &mut saved, (keys, probe))?;
    } else if let Some(end) = saved.end.filter(|_| head::read(folder).is_none()) {
        // A crash can cause this, so it is not damage. But without the file, later damage would go
        // unnoticed.
        Head::open(folder)?.note(end)?;
    }
    if EnvironmentFolder::read(root, folder).is_none() && saved.read {
        probe.at("repair: before the environment gets its name");
        name_again(root, folder, &saved.table, &mut own)?;
        probe.at("repair: after the environment got its name");
    }
    report.findings.extend(own.findings);
    report.lost.extend(own.lost);
    report.moved.extend(own.moved);
    Ok(())
}

/// Replaces the content of an environment. With `keys`, notes that something was lost.
fn write(
    root: &Root,
    folder: &Path,
    saved: &mut Saved,
    (keys, probe): (Option<&Keyring>, &Probed),
) -> Result<(), Error> {
    let Saved { table, generation, .. } = saved;
    // If nothing else is left, only the folder still names the environment.
    let place = EnvironmentFolder::read(root, folder);
    let place = place.or_else(|| environment_of(table).map(|environment| root.place(&environment)));
    if let (Some(place), Some(keys)) = (place, keys) {
        let key = keyspace::prefix(EntryKind::Staleness, &keyspace::place(&place.environment));
        table.apply(key, Some(codec::encode_staleness(Staleness::Lost, keys)?));
    }
    let mut journal = Journal::write(folder, generation.saturating_add(1), table, probe.clone())?;
    journal.close()?;
    probe.at("repair: before the end of the new journal is noted");
    Head::open(folder)?.note(journal.position())?;
    probe.at("repair: after the end of the new journal is noted");
    // The newest one counts, even if the older ones still exist.
    journal::find(folder).map(drop)
}

/// Restores the name of an environment's folder. If nothing in it names the environment, it
/// contains no resources and no deployments, and is moved away, since the other environments could
/// not be listed otherwise.
fn name_again(root: &Root, folder: &Path, table: &Table, report: &mut RepairReport) -> Result<(), Error> {
    let Some(environment) = environment_of(table) else {
        report.lost.push(format!("the name of the environment in `{}`", folder.display()));
        report.moved.push(files::set_aside(root.path(), folder)?);
        return files::sync_folder(&root.environments());
    };
    let place = root.place(&environment);
    if place.folder != folder {
        if place.folder.exists() {
            report.lost.push(format!("`{}`: another folder has {environment} already", folder.display()));
            return Ok(());
        }
        fs::rename(folder, &place.folder).map_err(Error::io("move", folder))?;
        files::sync_folder(&root.environments())?;
    }
    let described = place.folder.join("environment.json");
    match fs::remove_file(&described) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Error::io("remove", &described)(error));
        }
        _ => {}
    }
    place.describe()
}

/// Keeps a copy of a file in `stale/`, durable before the file is replaced.
fn keep_copy(folder: &Path, file: &Path) -> Result<PathBuf, Error> {
    let stale = match file.parent().and_then(Path::file_name) {
        Some(name) if name == "journal" => folder.join("stale").join("journal"),
        _ => folder.join("stale"),
    };
    files::copy_into(&stale, file)
}
