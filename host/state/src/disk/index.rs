//! The index: a sled database with a summary of each environment, for queries over all of them. The
//! journals contain everything in it, so losing it costs only time.
//!
//! ```text
//! e │ environment, 16 bytes               position in its journal, 36 bytes │ summary
//! s │ environment │ part, 2 bytes         the same position │ part of its listing
//! ```
//!
//! Only one process can open sled at a time, so it is open only during a query or an update.
//!
//! An entry counts only while its position is the end of the journal; otherwise the journal is read. So a
//! requirement finds an installation among thousands of environments without reading their records.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sled::{Batch, Db};

use super::guard::guarded;
use super::journal::Position;
use super::{EnvironmentFolder, Root, files};
use crate::{Error, keyspace};

/// How long to wait for another process, which needs the index for a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// The interval between attempts to open it.
const PAUSE: Duration = Duration::from_millis(2);
/// sled writes a value longer than this, in bytes, to a separate file, which it does not sync.
const LONGEST: usize = 16 << 10;

const ENVIRONMENT: u8 = b'e';
const LISTING: u8 = b's';

/// The index entry of an environment: a position and the summary.
type Noted = (Position, Vec<u8>);

/// The entries of many environments, by place.
pub(crate) type Summaries = BTreeMap<Vec<u8>, Noted>;

fn folder_in(root: &Root) -> PathBuf {
    root.path().join("index")
}

fn key(kind: u8, place: &EnvironmentFolder) -> Vec<u8> {
    [&[kind][..], &keyspace::place(&place.environment)].concat()
}

/// Records the summary of an environment at a position and, if it has any installations or uses,
/// their listing.
pub(crate) fn publish(
    root: &Root,
    place: &EnvironmentFolder,
    position: Position,
    (summary, listing): (&[u8], Option<&[u8]>),
) -> Result<(), Error> {
    let at = position.to_bytes();
    let value = [&at[..], summary].concat();
    let parts: Vec<&[u8]> = listing.unwrap_or_default().chunks(LONGEST - at.len()).collect();
    within(root, |db| {
        let mut batch = Batch::default();
        match value.len() {
            ..=LONGEST => batch.insert(key(ENVIRONMENT, place), value.as_slice()),
            _ => batch.remove(key(ENVIRONMENT, place)),
        }
        let listed = key(LISTING, place);
        for old in db.scan_prefix(&listed).keys() {
            batch.remove(old?);
        }
        // A listing that needs more parts than there are numbers is read from the journal instead.
        for (number, part) in (0..=u16::MAX).zip(&parts) {
            batch.insert([&listed[..], &number.to_be_bytes()].concat(), [&at[..], part].concat());
        }
        db.apply_batch(batch)?;
        db.flush().map(drop)
    })
}

/// The summaries and listings of all environments.
pub(crate) fn listed(root: &Root) -> Result<(Summaries, Summaries), Error> {
    if !folder_in(root).join("db").exists() {
        return Ok(Default::default());
    }
    within(root, |db| {
        let mut listings = Summaries::new();
        for entry in db.scan_prefix([LISTING]) {
            let (key, value) = entry?;
            let Some((place, _)) = key.get(1..).and_then(|key| key.split_last_chunk::<2>()) else { continue };
            let Some((position, part)) = Position::split(&value) else { continue };
            let (_, bytes) = listings.entry(place.to_vec()).or_insert_with(|| (position, Vec::new()));
            bytes.extend_from_slice(part);
        }
        Ok((summaries(db)?, listings))
    })
}

/// The entry of each environment, by place.
pub(crate) fn all(root: &Root) -> Result<Summaries, Error> {
    if !folder_in(root).join("db").exists() {
        return Ok(Summaries::new());
    }
    within(root, summaries)
}

fn summaries(db: &Db) -> Result<Summaries, sled::Error> {
    let mut all = Summaries::new();
    for entry in db.scan_prefix([ENVIRONMENT]) {
        let (key, value) = entry?;
        if let (Some((_, place)), Some((position, summary))) = (key.split_first(), Position::split(&value)) {
            all.insert(place.to_vec(), (position, summary.to_vec()));
        }
    }
    Ok(all)
}

/// Removes the index. It is rebuilt as environments are written.
pub(crate) fn remove(root: &Root) -> Result<(), Error> {
    let folder = folder_in(root);
    match fs::remove_dir_all(&folder) {
        Err(error) if folder.exists() => Err(Error::io("remove", &folder)(error)),
        _ => Ok(()),
    }
}

/// Opens sled for one operation. Broken files are moved away, and the index is rebuilt.
fn within<T>(root: &Root, call: impl Fn(&Db) -> Result<T, sled::Error>) -> Result<T, Error> {
    let path = folder_in(root);
    let tried = open(root, &path).and_then(|db| guarded(&path, || call(&db)));
    match tried {
        Err(Error::Corrupt { detail, .. }) => {
            let stale = files::set_aside(root.path(), &path)?;
            tracing::warn!(stale = %stale.display(), detail, "the index of the state was damaged and is created again");
            open(root, &path).and_then(|db| guarded(&path, || call(&db)))
        }
        result => result,
    }
}

/// Opens sled, waiting briefly for another process.
fn open(root: &Root, path: &Path) -> Result<Db, Error> {
    let start = Instant::now();
    files::private_folder(path)?;
    loop {
        match open_sled(path) {
            Err(Error::Io { source, .. }) if is_taken(&source) && start.elapsed() < PATIENCE => {
                thread::sleep(PAUSE);
            }
            // A kill while sled starts can leave a partial snapshot, which sled would prefer to the
            // complete one and then reject.
            Err(Error::Corrupt { .. } | Error::Io { .. }) if set_torn_snapshots_aside(root, path)? => {}
            result => return result,
        }
    }
}

fn is_taken(error: &std::io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Tries once to open sled in a folder.
fn open_sled(path: &Path) -> Result<Db, Error> {
    // The journal is responsible for durability, and the memory is needed elsewhere.
    let config = sled::Config::new().path(path).cache_capacity(4 << 20).flush_every_ms(None);
    let folder = path.to_owned();
    // In a thread of its own, since a stack that was unwound through sled is not trusted.
    let opened = thread::Builder::new()
        .name("purlin-state-open".into())
        .spawn(move || guarded(&folder, || config.open()))
        .map_err(Error::io("start a thread for", path))?
        .join();
    opened.unwrap_or(Err(Error::Closed))
}

/// Moves away files that a kill left behind. Returns whether there were any.
fn set_torn_snapshots_aside(root: &Root, path: &Path) -> Result<bool, Error> {
    let mut found = false;
    for entry in fs::read_dir(path).map_err(Error::io("list", path))? {
        let entry = entry.map_err(Error::io("list", path))?;
        if entry.file_name().to_string_lossy().ends_with(".generating") {
            let to = files::set_aside(root.path(), &entry.path())?;
            tracing::debug!(snapshot = %to.display(), "moved away what a crash left behind");
            found = true;
        }
    }
    Ok(found)
}
