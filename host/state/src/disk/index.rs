//! The records in sled: opening it safely, atomic batches, and what is in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use sled::{Batch, Db, IVec};

use super::cut::{self, Stored};
use super::guard::guarded;
use super::{Folder, files};
use crate::table::Entry;
use crate::{Error, keyspace};

/// How long sled may take to let go of a database that was closed in this very process.
const LINGER: Duration = Duration::from_secs(2);

/// So many entries are read at once.
const AT_ONCE: usize = 1024;

/// The records of a store. Whoever drops it last lets go of the folder.
pub(crate) struct Index {
    // Fields are dropped in this order: sled before the lock of the folder.
    db: Db,
    file: File,
    folder: Folder,
}

impl Index {
    /// Opens sled in a folder that is ours.
    pub(crate) fn open(folder: Folder) -> Result<Self, Error> {
        let path = folder.sled();
        set_stale_snapshots_aside(&folder)?;
        let db = open_sled(&folder)?;
        // sled syncs parts of this file at best; what is to last is synced through this handle.
        let db_path = path.join("db");
        let file =
            File::options().read(true).write(true).open(&db_path).map_err(Error::io("open", &db_path))?;
        if folder.fresh {
            file.sync_all().map_err(Error::io("make durable", &db_path))?;
            let conf = path.join("conf");
            File::open(&conf).and_then(|conf| conf.sync_all()).map_err(Error::io("make durable", &conf))?;
            files::sync_folder(folder.path())?;
        }
        // sled renames its snapshot at every start.
        files::sync_folder(&path)?;
        Ok(Self { db, file, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn guarded<T>(&self, call: impl FnOnce() -> Result<T, sled::Error>) -> Result<T, Error> {
        guarded(self.folder.path(), call)
    }

    /// Applies entries, all or none; later ones win. Not durable until [`Self::sync`] returns.
    pub(super) fn apply(&self, entries: &[Entry]) -> Result<(), Error> {
        let last: BTreeMap<&[u8], Option<&[u8]>> =
            entries.iter().map(|(key, value)| (key.as_slice(), value.as_deref())).collect();
        let mut batch = Batch::default();
        for (key, value) in last {
            self.stage(&mut batch, key, value)?;
        }
        self.guarded(|| self.db.apply_batch(batch))
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

    /// Makes what was applied durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.guarded(|| self.db.flush())?;
        self.file.sync_data().map_err(Error::io("make durable", self.folder.path()))
    }

    /// Every entry, put together.
    pub(crate) fn entries(&self, take: &mut dyn FnMut(Vec<u8>, Vec<u8>)) -> Result<(), Error> {
        let mut entries = self.db.iter();
        loop {
            let some: Vec<(IVec, IVec)> = self.guarded(|| entries.by_ref().take(AT_ONCE).collect())?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, value) in some {
                if key.first() == Some(&cut::PIECES) {
                    continue;
                }
                // Version 1 kept this one as it is.
                let whole = if &*key == keyspace::RECIPIENT {
                    value.to_vec()
                } else {
                    self.assemble(&key, &value, &keyspace::describe(&key, None))?
                };
                take(key.to_vec(), whole);
            }
        }
    }

    /// Puts a record together; `key` is what it lies under.
    fn assemble(&self, key: &[u8], value: &[u8], name: &str) -> Result<Vec<u8>, Error> {
        let damaged = |detail: &str| Error::Damaged { name: name.into(), detail: detail.into() };
        let length = match Stored::from_value(value) {
            Some(Stored::Whole(record)) => return Ok(record.to_vec()),
            Some(Stored::Cut(length)) => length as usize,
            None => return Err(damaged("it is neither whole nor in pieces")),
        };
        let mut record = Vec::new();
        for number in 0.. {
            if record.len() >= length {
                break;
            }
            let piece = self.guarded(|| self.db.get(cut::piece(key, number)))?;
            record.extend_from_slice(&piece.ok_or_else(|| damaged("a piece of it is missing"))?);
        }
        if record.len() == length { Ok(record) } else { Err(damaged("its pieces have the wrong length")) }
    }
}

fn open_sled(folder: &Folder) -> Result<Db, Error> {
    let path = folder.sled();
    let start = Instant::now();
    loop {
        // Durability is the writer's business, and memory is better spent elsewhere.
        let config = sled::Config::new().path(&path).cache_capacity(4 << 20).flush_every_ms(None);
        let folder_path = folder.path().to_owned();
        // On a thread of its own, because a stack that was unwound through sled is not trusted.
        let opened = thread::Builder::new()
            .name("purlin-state-open".into())
            .spawn(move || guarded(&folder_path, || config.open()))
            .map_err(Error::io("start a thread for", &path))?
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
fn set_stale_snapshots_aside(folder: &Folder) -> Result<(), Error> {
    let path = folder.sled();
    for entry in fs::read_dir(&path).map_err(Error::io("list", &path))? {
        let entry = entry.map_err(Error::io("list", &path))?;
        let name = entry.file_name();
        if !name.to_string_lossy().ends_with(".generating") {
            continue;
        }
        files::private_folder(&folder.stale())?;
        let to = folder.stale().join(&name);
        fs::rename(entry.path(), &to).map_err(Error::io("move away", &entry.path()))?;
        tracing::debug!(snapshot = %to.display(), "moved away what a crash left behind");
    }
    Ok(())
}
