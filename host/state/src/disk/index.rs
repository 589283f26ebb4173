//! The index: sled, which holds a summary of each environment, for questions about all of them. Everything
//! in it is in the journals too, so whatever happens to it costs time only.
//!
//! ```text
//! e │ environment, 16 bytes               position in its journal, 36 bytes │ summary
//! s │ environment │ part, 2 bytes         the same position │ what other environments know of its installations
//! ```
//!
//! sled lets one process in at a time, so it is open only for the moment of a question or a note.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sled::{Batch, Db};

use super::guard::guarded;
use super::journal::Position;
use super::{Place, Root, files};
use crate::{Error, keyspace};

/// How long to wait for another process, which needs it for some milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look whether it is done.
const PAUSE: Duration = Duration::from_millis(2);
/// sled writes a value that is longer than this, in bytes, to a file of its own, which it does not sync.
const LONGEST: usize = 16 << 10;

const ENVIRONMENT: u8 = b'e';
const LISTING: u8 = b's';

/// What the index has of an environment: up to where, and the summary.
pub(crate) type Noted = (Position, Vec<u8>);

/// The same of many, by their places.
pub(crate) type Summaries = BTreeMap<Vec<u8>, Noted>;

pub(crate) fn folder_in(root: &Root) -> PathBuf {
    root.path().join("index")
}

fn key(kind: u8, place: &Place) -> Vec<u8> {
    [&[kind][..], &keyspace::place(&place.environment)].concat()
}

/// Notes the summary of an environment as of a position, and what others know of its installations, where it has to
/// do with any.
pub(crate) fn publish(
    root: &Root,
    place: &Place,
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
        // What needs more parts than there are numbers is read from the journal.
        for (number, part) in (0..=u16::MAX).zip(&parts) {
            batch.insert([&listed[..], &number.to_be_bytes()].concat(), [&at[..], part].concat());
        }
        db.apply_batch(batch)?;
        db.flush().map(drop)
    })
}

/// The summaries of all environments, and what each says of its installations.
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

/// What is noted of each environment, by its place.
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

/// Removes the index; it is made again as environments are written.
pub(crate) fn remove(root: &Root) -> Result<(), Error> {
    let folder = folder_in(root);
    match fs::remove_dir_all(&folder) {
        Err(error) if folder.exists() => Err(Error::io("remove", &folder)(error)),
        _ => Ok(()),
    }
}

/// Opens sled for a moment. Where its files are broken they are moved away, and it begins anew.
fn within<T>(root: &Root, call: impl Fn(&Db) -> Result<T, sled::Error>) -> Result<T, Error> {
    let path = folder_in(root);
    let tried = open(root, &path).and_then(|db| guarded(&path, || call(&db)));
    match tried {
        Err(Error::Corrupt { detail, .. }) => {
            let stale = files::set_aside(root.path(), &path)?;
            tracing::warn!(stale = %stale.display(), detail, "the index of the state was broken, and begins anew");
            open(root, &path).and_then(|db| guarded(&path, || call(&db)))
        }
        result => result,
    }
}

/// Opens sled, waiting for another process for a moment.
pub(super) fn open(root: &Root, path: &Path) -> Result<Db, Error> {
    let start = Instant::now();
    files::private_folder(path)?;
    loop {
        match open_sled(path) {
            Err(Error::Io { source, .. }) if is_taken(&source) && start.elapsed() < PATIENCE => {
                thread::sleep(PAUSE);
            }
            // A kill while sled starts can leave a snapshot that is not whole, which sled would prefer to
            // the whole one, and refuse.
            Err(Error::Corrupt { .. } | Error::Io { .. }) if set_torn_snapshots_aside(root, path)? => {}
            result => return result,
        }
    }
}

fn is_taken(error: &std::io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Opens sled in a folder, at once or not at all.
fn open_sled(path: &Path) -> Result<Db, Error> {
    // Durability is the journal's business, and memory is better spent elsewhere.
    let config = sled::Config::new().path(path).cache_capacity(4 << 20).flush_every_ms(None);
    let folder = path.to_owned();
    // On a thread of its own, because a stack that was unwound through sled is not trusted.
    let opened = thread::Builder::new()
        .name("purlin-state-open".into())
        .spawn(move || guarded(&folder, || config.open()))
        .map_err(Error::io("start a thread for", path))?
        .join();
    opened.unwrap_or(Err(Error::Closed))
}

/// Moves away what a kill left; says whether there was any.
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
