//! The records in sled: opening it safely, atomic batches, and what is in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Bound;
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use purlin_model::Urn;
use sled::{Batch, Db, IVec};

use super::guard::guarded;
use super::keyspace::{self, Stored};
use super::writer::Write;
use super::{Folder, files};
use crate::{Environment, Error};

/// How long sled may take to let go of a database that was closed in this very process.
const LINGER: Duration = Duration::from_secs(2);

/// The bytes of a record, and what to call it where its own name cannot be read.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The records of a store. Whoever drops it last lets go of the folder.
pub(crate) struct Index {
    // Fields are dropped in this order: sled before the lock of the folder.
    db: Db,
    /// Held for writing while a batch goes in, so that nobody reads half of one.
    gate: RwLock<()>,
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
        Ok(Self { db, gate: RwLock::new(()), file, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn guarded<T>(&self, call: impl FnOnce() -> Result<T, sled::Error>) -> Result<T, Error> {
        guarded(self.folder.path(), call)
    }

    /// The public half of the key that secrets are encrypted for.
    pub(crate) fn recipient(&self) -> Result<Option<String>, Error> {
        let value = self.guarded(|| self.db.get(keyspace::RECIPIENT))?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    /// Applies writes, all or none; later ones win. Not durable until [`Self::sync`] returns.
    pub(super) fn apply<'w>(
        &self,
        writes: impl Iterator<Item = &'w Write>,
        recipient: Option<&str>,
    ) -> Result<(), Error> {
        let last: BTreeMap<&Urn, Option<&[u8]>> = writes
            .map(|write| match write {
                Write::Put { urn, bytes } => (urn, Some(bytes.as_slice())),
                Write::Remove { urn } => (urn, None),
            })
            .collect();
        let mut batch = Batch::default();
        for (urn, record) in last {
            self.stage(&mut batch, urn, record)?;
        }
        if let Some(recipient) = recipient {
            batch.insert(keyspace::RECIPIENT, recipient);
        }
        let _gate = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        self.guarded(|| self.db.apply_batch(batch))
    }

    fn stage(&self, batch: &mut Batch, urn: &Urn, record: Option<&[u8]>) -> Result<(), Error> {
        // A URN that lies in no environment was never recorded, and the codec writes none.
        let Some(key) = keyspace::record(urn) else { return Ok(()) };
        let old = self.guarded(|| self.db.get(&key))?;
        let old_pieces = old.as_deref().and_then(Stored::from_value).map_or(0, |stored| stored.pieces());
        let mut pieces = 0;
        if let Some(record) = record {
            let stored = Stored::of(record);
            pieces = stored.pieces();
            for (number, piece) in (0..pieces).zip(record.chunks(keyspace::PIECE)) {
                batch.insert(keyspace::piece(&key, number), piece);
            }
            batch.insert(key.as_slice(), stored.to_value());
        } else if old.is_some() {
            batch.remove(key.as_slice());
        }
        for number in pieces..old_pieces {
            batch.remove(keyspace::piece(&key, number));
        }
        Ok(())
    }

    /// Makes what was applied durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.guarded(|| self.db.flush())?;
        self.file.sync_data().map_err(Error::io("make durable", self.folder.path()))
    }

    /// The bytes of every record of an environment, by what to call each, some at a time: all of
    /// them together would take as much memory as the records themselves.
    pub(crate) fn records(
        &self,
        environment: &Environment,
        at_once: usize,
        take: &mut dyn FnMut(Vec<Named>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let mut entries = self.db.scan_prefix(keyspace::environment_prefix(environment));
        let prefix = environment.urn_prefix();
        loop {
            let some: Vec<(IVec, IVec)> = self.guarded(|| entries.by_ref().take(at_once).collect())?;
            if some.is_empty() {
                return Ok(());
            }
            let assembled = some.into_iter().map(|(key, value)| {
                let rest = key.get(17..).unwrap_or_default();
                let name = format!("{prefix}{}", String::from_utf8_lossy(rest));
                let bytes = self.assemble(&key, &value, &name)?;
                Ok(Named { name, bytes })
            });
            take(assembled.collect::<Result<_, Error>>()?)?;
        }
    }

    /// The bytes of the first record of each environment.
    pub(crate) fn first_records(&self) -> Result<Vec<Named>, Error> {
        let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        let mut from = vec![keyspace::RECORDS];
        loop {
            let range = (Bound::Excluded(from.as_slice()), Bound::Excluded(&[keyspace::RECORDS + 1][..]));
            let next = self.guarded(|| self.db.range::<&[u8], _>(range).next().transpose())?;
            let Some((key, value)) = next else { return Ok(found) };
            let name = String::from_utf8_lossy(key.get(17..).unwrap_or_default()).into_owned();
            let bytes = self.assemble(&key, &value, &name)?;
            found.push(Named { name, bytes });
            from = keyspace::after_environment(&key);
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
            let piece = self.guarded(|| self.db.get(keyspace::piece(key, number)))?;
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
