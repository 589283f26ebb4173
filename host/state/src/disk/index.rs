//! The index: sled, which follows the journal. It is never what makes a change durable, so that
//! whatever happens to it costs time only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sled::{Batch, Db, IVec};

use super::cut::{self, Stored};
use super::files;
use super::guard::guarded;
use super::journal::Position;
use crate::probe::Probed;
use crate::table::{Table, Tally};
use crate::{Error, keyspace};

/// How long sled may take to let go of a database that was closed in this very process.
const LINGER: Duration = Duration::from_secs(2);
/// So many entries are read or written at once.
const AT_ONCE: usize = 1000;

/// The index, open.
pub(super) struct Index {
    db: Db,
    path: PathBuf,
    probe: Probed,
}

/// The index in a store's folder.
pub(super) fn folder_in(folder: &Path) -> PathBuf {
    folder.join("sled")
}

impl Index {
    /// Opens sled in a folder that is ours.
    pub(super) fn open(folder: &Path, probe: Probed) -> Result<Self, Error> {
        let path = folder_in(folder);
        files::private_folder(&path)?;
        purlin_files::close_to_others(&path).map_err(Error::io("close to others the folder", &path))?;
        set_stale_snapshots_aside(folder)?;
        probe.at("index: before it is opened");
        let db = open_sled(&path)?;
        probe.at("index: after it is opened");
        Ok(Self { db, path, probe })
    }

    fn guarded<T>(&self, call: impl FnOnce() -> Result<T, sled::Error>) -> Result<T, Error> {
        guarded(&self.path, call)
    }

    /// How much of which journal is in it, and the tally of its entries then; none where it is
    /// nothing whole.
    pub(super) fn position(&self) -> Result<Option<(Position, Tally)>, Error> {
        let value = self.guarded(|| self.db.get([cut::POSITION]))?;
        Ok(value.and_then(|value| read_position(&value)))
    }

    /// Applies entries and notes how far it has come, all or nothing. With no position it is
    /// nothing whole until there is one.
    pub(super) fn apply<'e>(
        &self,
        entries: impl Iterator<Item = (&'e [u8], Option<&'e [u8]>)>,
        position: Option<(Position, Tally)>,
    ) -> Result<(), Error> {
        let mut batch = Batch::default();
        for (key, value) in entries {
            self.stage(&mut batch, key, value)?;
        }
        match position {
            Some((position, tally)) => batch.insert(&[cut::POSITION], put_position(position, tally)),
            None => batch.remove(&[cut::POSITION]),
        }
        self.probe.at("index: before a batch is applied");
        self.guarded(|| self.db.apply_batch(batch))?;
        self.probe.at("index: after a batch is applied");
        Ok(())
    }

    fn stage(&self, batch: &mut Batch, key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        let old = self.guarded(|| self.db.get(key))?;
        let old_pieces = old.as_deref().and_then(Stored::from_value).map_or(0, |stored| stored.pieces());
        let mut pieces = 0;
        if let Some(value) = value {
            let stored = Stored::of(value);
            pieces = stored.pieces();
            for (number, piece) in (0..pieces).zip(value.chunks(cut::PIECE)) {
                batch.insert(cut::piece(key, number), piece);
            }
            batch.insert(key, stored.to_value());
        } else if old.is_some() {
            batch.remove(key);
        }
        for number in pieces..old_pieces {
            batch.remove(cut::piece(key, number));
        }
        Ok(())
    }

    /// Makes the entries those of a table, whatever they are now; says how many were different.
    pub(super) fn reconcile(
        &self,
        changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
        position: (Position, Tally),
    ) -> Result<(), Error> {
        for some in changes.chunks(AT_ONCE) {
            self.apply(some.iter().map(|(key, value)| (key.as_slice(), value.as_deref())), None)?;
        }
        self.apply(std::iter::empty(), Some(position))
    }

    /// Every entry, put together.
    pub(super) fn entries(&self, take: &mut dyn FnMut(Vec<u8>, Vec<u8>)) -> Result<(), Error> {
        self.each(&mut |key, value| {
            let name = || keyspace::describe(&key, None);
            // Version 1 kept this one as it is.
            let whole = if &*key == keyspace::RECIPIENT && value.starts_with(b"age1") {
                value.to_vec()
            } else {
                self.assemble(&key, &value, &name())?
            };
            take(key.to_vec(), whole);
            Ok(())
        })
    }

    /// Every entry as a fingerprint. One that cannot be put together has none that fits.
    pub(super) fn fingerprints(&self) -> Result<BTreeMap<Vec<u8>, u64>, Error> {
        let mut found = BTreeMap::new();
        self.each(&mut |key, value| {
            let whole = self.assemble(&key, &value, "");
            let fingerprint = whole.map_or(0, |value| Tally::of(&key, &value).digest);
            found.insert(key.to_vec(), fingerprint);
            Ok(())
        })?;
        Ok(found)
    }

    fn each(&self, take: &mut dyn FnMut(IVec, IVec) -> Result<(), Error>) -> Result<(), Error> {
        let mut entries = self.db.iter();
        loop {
            let some: Vec<(IVec, IVec)> = self.guarded(|| entries.by_ref().take(AT_ONCE).collect())?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, value) in some {
                if !matches!(key.first(), Some(&(cut::PIECES | cut::POSITION))) {
                    take(key, value)?;
                }
            }
        }
    }

    /// The entries as a table, if they are all that they should be.
    pub(super) fn table(&self) -> Result<Option<(Table, Position)>, Error> {
        let Some((position, tally)) = self.position()? else { return Ok(None) };
        let mut table = Table::default();
        self.entries(&mut |key, value| table.apply(key, Some(value)))?;
        Ok(Some((table, position)).filter(|(table, _)| table.tally() == tally))
    }

    /// Hands everything to the system.
    pub(super) fn flush(&self) -> Result<(), Error> {
        self.probe.at("index: before it is flushed");
        self.guarded(|| self.db.flush())?;
        self.probe.at("index: after it is flushed");
        Ok(())
    }

    /// Puts a value together; `key` is what it lies under.
    fn assemble(&self, key: &[u8], value: &[u8], name: &str) -> Result<Vec<u8>, Error> {
        let damaged = |detail: &str| Error::Damaged { name: name.into(), detail: detail.into() };
        let length = match Stored::from_value(value) {
            Some(Stored::Whole(value)) => return Ok(value.to_vec()),
            Some(Stored::Cut(length)) => length as usize,
            None => return Err(damaged("it is neither whole nor in pieces")),
        };
        let mut whole = Vec::new();
        for number in 0.. {
            if whole.len() >= length {
                break;
            }
            let piece = self.guarded(|| self.db.get(cut::piece(key, number)))?;
            whole.extend_from_slice(&piece.ok_or_else(|| damaged("a piece of it is missing"))?);
        }
        if whole.len() == length { Ok(whole) } else { Err(damaged("its pieces have the wrong length")) }
    }
}

fn put_position(position: Position, tally: Tally) -> Vec<u8> {
    let mut value = position.id.to_vec();
    value.extend_from_slice(&position.check.to_le_bytes());
    for number in [position.number, tally.count, tally.bytes, tally.digest] {
        value.extend_from_slice(&number.to_le_bytes());
    }
    value
}

fn read_position(value: &[u8]) -> Option<(Position, Tally)> {
    let (id, rest) = value.split_first_chunk()?;
    let (check, rest) = rest.split_first_chunk()?;
    let (numbers, rest) = rest.as_chunks::<8>();
    let [number, count, bytes, digest] = numbers else { return None };
    let number_of = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let position = Position { id: *id, number: number_of(number), check: u32::from_le_bytes(*check) };
    let tally = Tally { count: number_of(count), bytes: number_of(bytes), digest: number_of(digest) };
    rest.is_empty().then_some((position, tally))
}

fn open_sled(path: &Path) -> Result<Db, Error> {
    let start = Instant::now();
    loop {
        // Durability is the journal's business, and memory is better spent elsewhere.
        let config = sled::Config::new().path(path).cache_capacity(4 << 20).flush_every_ms(None);
        let folder = path.to_owned();
        // On a thread of its own, because a stack that was unwound through sled is not trusted.
        let opened = thread::Builder::new()
            .name("purlin-state-open".into())
            .spawn(move || guarded(&folder, || config.open()))
            .map_err(Error::io("start a thread for", path))?
            .join();
        match opened.unwrap_or(Err(Error::Closed)) {
            Err(Error::Io { source, .. })
                if source.to_string().contains("could not acquire lock") && start.elapsed() < LINGER =>
            {
                thread::sleep(Duration::from_millis(2));
            }
            result => return result,
        }
    }
}

/// A kill while sled starts can leave a snapshot that is not whole, which sled would prefer to the
/// whole one, and refuse.
fn set_stale_snapshots_aside(folder: &Path) -> Result<(), Error> {
    let path = folder_in(folder);
    for entry in fs::read_dir(&path).map_err(Error::io("list", &path))? {
        let entry = entry.map_err(Error::io("list", &path))?;
        if entry.file_name().to_string_lossy().ends_with(".generating") {
            let to = files::set_aside(folder, &entry.path())?;
            tracing::debug!(snapshot = %to.display(), "moved away what a crash left behind");
        }
    }
    Ok(())
}
