//! The embedded store: a folder without a server (SPEC §10).

mod claim;
mod repair;
mod rotate;
mod saved;
mod transfer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::Urn;
use purlin_model::driver::{Cookie, StoredCookie};
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use self::claim::EmbeddedClaim;
use crate::disk::journal::{Position, Reading};
use crate::disk::{Claimed, EnvironmentFolder, Filling, Root, Writing, index};
use crate::keys::Keyring;
use crate::probe::Probed;
use crate::table::Table;
use crate::{
    AuditTrail, Change, Deployment, Environment, EnvironmentSummary, Error, Export, Holder, ImportOptions,
    KeyProvider, Listing, Lock, Probe, Record, Reserved, Snapshot, Staleness, Store, Vacancy, Writer as _,
    codec, snapshot,
};

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The source of the key.
    pub key: KeyProvider,
    /// The name that others see while the whole store is locked.
    pub holder: Holder,
    /// How long to wait for another process; zero does not wait.
    pub wait: Duration,
    /// Is called at places where a crash is worth a test.
    pub probe: Option<Probe>,
}

/// The store in a folder: a journal and a lock for each environment. Neither opening nor reading
/// takes a lock.
#[derive(Clone)]
pub struct EmbeddedStore(Arc<Inner>);

struct Inner {
    root: Root,
    keys: Arc<Keyring>,
    wait: Duration,
    holder: Holder,
    probe: Probed,
    open: Mutex<Option<Open>>,
}

/// The part of an environment to read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EnvironmentPart {
    All,
    /// Everything except the records.
    NoRecords,
}

/// The source to read an environment from.
enum Source<'a> {
    /// The table that this process writes.
    Claimed(&'a Table),
    /// The journal, for the duration of this read.
    Journal(&'a mut Reading),
}

/// The open parts of the store.
#[derive(Default)]
struct Open {
    /// The environments that this process has locked.
    claims: HashMap<Environment, Weak<EmbeddedClaim>>,
    /// The environment that was read last, unless it is locked, so that reading it again costs only
    /// the new frames.
    read: Option<(Environment, Reading)>,
}

impl EmbeddedStore {
    /// Opens the store in a folder. Creates nothing if there is none. Blocks.
    ///
    /// # Errors
    /// [`Error::Newer`] if a newer version wrote it; [`Error::WrongKey`] and related errors if the
    /// key does not fit; [`Error::Corrupt`] or [`Error::Io`] if it cannot be read.
    pub fn open(folder: &Path, options: OpenOptions) -> Result<Self, Error> {
        let OpenOptions { key, holder, wait, probe } = options;
        let (root, probe) = (Root::at(folder), Probed(probe));
        root.format()?;
        let keys = Arc::new(Keyring::open(&key, &root.vault())?);
        let open = Mutex::new(Some(Open::default()));
        Ok(Self(Arc::new(Inner { root, keys, wait, holder, probe, open })))
    }

    /// The public half of the key that secrets are sealed for (`age1…`); `None` if there is no key
    /// yet.
    pub fn public_recipient(&self) -> Option<String> {
        self.0.keys.recipient()
    }

    /// The file of a key that was created since the store was opened, so that the caller can show
    /// it once, with advice to back it up.
    pub fn generated_key(&self) -> Option<PathBuf> {
        self.0.keys.made()
    }

    /// Runs code that reads an environment without its records, on a separate thread. Returns the
    /// default if nothing was recorded.
    async fn read<T: Default + Send + 'static>(
        &self,
        environment: &Environment,
        call: impl Fn(&Table, &Keyring, bool) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (inner, environment) = (Arc::clone(&self.0), environment.clone());
        blocking("purlin-state-read", move || inner.read(&environment, EnvironmentPart::NoRecords, call))
            .await?
    }
}

impl Inner {
    fn open(&self) -> Result<MutexGuard<'_, Option<Open>>, Error> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() { Err(Error::Closed) } else { Ok(open) }
    }

    fn with<T>(&self, call: impl FnOnce(&mut Open) -> T) -> Result<T, Error> {
        let mut open = self.open()?;
        open.as_mut().map(call).ok_or(Error::Closed)
    }

    /// Reads an environment. Tells the closure whether the files are copies.
    fn read<T: Default>(
        &self,
        environment: &Environment,
        part: EnvironmentPart,
        call: impl Fn(&Table, &Keyring, bool) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.read_from(environment, part, |source, keys| match source {
            Source::Claimed(table) => call(table, keys, false),
            Source::Journal(reading) => call(&reading.table, keys, !reading.original),
        })
    }

    /// Reads an environment from its current source.
    fn read_from<T: Default>(
        &self,
        environment: &Environment,
        part: EnvironmentPart,
        call: impl Fn(Source<'_>, &Keyring) -> Result<T, Error>,
    ) -> Result<T, Error> {
        // A lock that was released may still be referenced.
        let claim = self.with(|open| open.claims.get(environment).and_then(Weak::upgrade))?;
        if let Some(claim) = claim.filter(|claim| !claim.is_lost()) {
            return call(Source::Claimed(&claim.shared().read().table), &self.keys);
        }
        let Some(mut reading) = self.reading(environment, part)? else { return Ok(T::default()) };
        let mut result = call(Source::Journal(&mut reading), &self.keys);
        // Another process may have changed the key since this one read it.
        if matches!(result, Err(Error::Damaged { .. })) && self.keys.refresh()? {
            let place = self.root.place(environment);
            let Some(again) = Reading::open(&place.folder)? else { return Ok(T::default()) };
            reading = again;
            result = call(Source::Journal(&mut reading), &self.keys);
        }
        if part == EnvironmentPart::All {
            // The records are seldom read twice, and they take the most memory.
            drop(reading.take_records());
        }
        self.with(|open| open.read = Some((environment.clone(), reading)))?;
        result
    }

    /// The journal of an environment in its current state.
    fn reading(&self, environment: &Environment, part: EnvironmentPart) -> Result<Option<Reading>, Error> {
        let place = self.root.place(environment);
        let last = self.with(|open| open.read.take())?;
        if let Some((_, mut last)) = last.filter(|(last, _)| last == environment)
            && (last.has_records || part == EnvironmentPart::NoRecords)
            && last.go_on(&place.folder)?
        {
            return Ok(Some(last));
        }
        Reading::open(&place.folder)
    }

    fn lock(self: &Arc<Self>, environment: &Environment, holder: &Holder) -> Result<Lock, Error> {
        self.with(|open| open.read = None)?;
        self.settle_rotation()?;
        let claimed = Claimed::take(&self.root, environment, holder, self.wait, &self.probe)?;
        // Other processes may have changed the key before, but cannot while the environment is
        // locked.
        self.keys.refresh()?;
        self.keys.confirm()?;
        let writing = Writing::open(claimed, self.keys.clone(), self.probe.clone())?;
        let claim = Arc::new(EmbeddedClaim::new(writing, environment.clone(), self.keys.clone())?);
        self.with(|open| {
            open.claims.retain(|_, claim| claim.strong_count() > 0);
            open.claims.insert(environment.clone(), Arc::downgrade(&claim));
        })?;
        Ok(Lock::new(environment.clone(), claim))
    }

    /// Every environment with a folder, sorted by URN prefix.
    fn places(&self) -> Result<Vec<EnvironmentFolder>, Error> {
        let mut places = Vec::new();
        for folder in self.root.folders()? {
            // Before its name, which is written first: another process may be creating both.
            let is_recorded = crate::disk::journal::newest(&folder)?.is_some();
            match EnvironmentFolder::read(&self.root, &folder) {
                Some(place) if place.is_there() => places.push(place),
                // Another process has just locked it and recorded nothing yet.
                Some(_) => {}
                None if !is_recorded => {}
                None => {
                    let detail = "its environment is unknown; see `purlin state repair`";
                    return Err(Error::Corrupt { folder, detail: detail.into() });
                }
            }
        }
        places.sort_by_cached_key(|place| place.environment.urn_prefix());
        Ok(places)
    }

    fn environments(
        &self,
        after: Option<&Environment>,
        most: usize,
    ) -> Result<Vec<EnvironmentSummary>, Error> {
        let after = after.map(Environment::urn_prefix);
        let places = self.places()?;
        let behind = places
            .iter()
            .filter(|place| after.as_ref().is_none_or(|after| place.environment.urn_prefix() > *after));
        let indexed = index::all(&self.root).unwrap_or_default();
        let mut found = Vec::new();
        for place in behind {
            if found.len() == most {
                break;
            }
            found.extend(self.known(place, &indexed)?);
        }
        Ok(found)
    }

    /// An environment and its holder. `None` if nothing of it is left.
    fn known(
        &self,
        place: &EnvironmentFolder,
        indexed: &index::Summaries,
    ) -> Result<Option<EnvironmentSummary>, Error> {
        let known = self.summary(place, indexed)?;
        Ok(known.map(|known| EnvironmentSummary { holder: place.holder().map(|holder| *holder), ..known }))
    }

    /// The summary of an environment: from the index if that is current, otherwise from the
    /// journal.
    fn summary(
        &self,
        place: &EnvironmentFolder,
        indexed: &index::Summaries,
    ) -> Result<Option<EnvironmentSummary>, Error> {
        if let Some((_, known)) = self.noted(place, indexed) {
            return Ok(Some(known).filter(|known| known.records > 0 || known.last.is_some()));
        }
        let environment = place.environment.clone();
        self.read(&place.environment, EnvironmentPart::All, move |table, keys, _| {
            match snapshot::is_known(table, &environment) {
                true => snapshot::known(table, &environment, keys).map(Some),
                false => Ok(None),
            }
        })
    }

    /// The summary and its position in the index, if they are current.
    fn noted(
        &self,
        place: &EnvironmentFolder,
        indexed: &index::Summaries,
    ) -> Option<(Position, EnvironmentSummary)> {
        let noted = crate::disk::head::read(&place.folder).map(|noted| noted.position)?;
        let (position, summary) = indexed.get(crate::keyspace::place(&place.environment).as_slice())?;
        // Frames that a killed process wrote without noting them count too.
        let is_last = noted == *position && crate::disk::journal::is_closed_at(&place.folder, &noted);
        let known = is_last.then(|| codec::decode_known(summary, &self.keys).ok())??;
        Some((*position, known))
    }

    /// The installations of all environments. Reads the journal of an environment only if the index
    /// is outdated.
    fn listings(&self) -> Result<Vec<Listing>, Error> {
        let (indexed, listed) = index::listed(&self.root).unwrap_or_default();
        let mut all = Vec::new();
        for place in self.places()? {
            let noted = self.noted(&place, &indexed);
            let known = noted.and_then(|(position, known)| {
                if known.installations == 0 {
                    return Some(None);
                }
                let (of, bytes) = listed.get(crate::keyspace::place(&place.environment).as_slice())?;
                let listing = codec::decode_listing(bytes, &self.keys).ok();
                listing
                    .filter(|listing| *of == position && listing.environment == place.environment)
                    .map(Some)
            });
            let listing = match known {
                Some(listing) => listing,
                None => {
                    let of = place.environment.clone();
                    let read =
                        move |table: &Table, keys: &Keyring, _| snapshot::listing(table, &of, keys).map(Some);
                    self.read(&place.environment, EnvironmentPart::All, read)?
                }
            };
            all.extend(listing.filter(|listing| !listing.is_empty()));
        }
        Ok(all)
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn load(&self, environment: &Environment) -> Result<Snapshot, Error> {
        let (inner, of) = (Arc::clone(&self.0), environment.clone());
        let load = move || {
            inner.read_from(&of, EnvironmentPart::All, |source, keys| match source {
                Source::Claimed(table) => snapshot::snapshot(table, &of, keys),
                Source::Journal(reading) => {
                    let stored = reading.take_records();
                    let mut snapshot = snapshot::snapshot_of(stored, &reading.table, &of, keys)?;
                    snapshot.staleness = Staleness::stronger(
                        snapshot.staleness,
                        (!reading.original).then_some(Staleness::Copied),
                    );
                    Ok(snapshot)
                }
            })
        };
        blocking("purlin-state-read", load).await?
    }

    async fn find(&self, urn: &Urn) -> Result<Option<Arc<Record>>, Error> {
        let Some(environment) = Environment::of_urn(urn) else { return Ok(None) };
        let (inner, urn) = (Arc::clone(&self.0), urn.clone());
        let find = move || {
            inner.read(&environment, EnvironmentPart::All, |table, keys, _| snapshot::find(table, &urn, keys))
        };
        blocking("purlin-state-read", find).await?
    }

    async fn environments(
        &self,
        after: Option<&Environment>,
        most: usize,
    ) -> Result<Vec<EnvironmentSummary>, Error> {
        let (inner, after) = (Arc::clone(&self.0), after.cloned());
        blocking("purlin-state-read", move || inner.environments(after.as_ref(), most)).await?
    }

    async fn listings(&self) -> Result<Vec<Listing>, Error> {
        let inner = Arc::clone(&self.0);
        blocking("purlin-state-read", move || inner.listings()).await?
    }

    async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        let of = environment.clone();
        self.read(environment, move |table, keys, _| snapshot::history(table, &of, keys)).await
    }

    async fn audit(&self, environment: &Environment) -> Result<AuditTrail, Error> {
        let (inner, of) = (Arc::clone(&self.0), environment.clone());
        let audit = move || {
            let read = || {
                inner
                    .read(&of, EnvironmentPart::NoRecords, |table, keys, _| snapshot::audit(table, &of, keys))
            };
            let trail = read()?;
            // Another process may have changed the key since this one read it.
            if trail.faults.is_empty() || !inner.keys.refresh()? { Ok(trail) } else { read() }
        };
        blocking("purlin-state-read", audit).await?
    }

    async fn last_from_documents(&self, environment: &Environment) -> Result<Option<Deployment>, Error> {
        let of = environment.clone();
        self.read(environment, move |table, keys, _| snapshot::last_from_documents(table, &of, keys)).await
    }

    async fn documents(
        &self,
        environment: &Environment,
        digest: &[u8; 32],
    ) -> Result<Option<Vec<u8>>, Error> {
        let digest = *digest;
        self.read(environment, move |table, keys, _| snapshot::documents(table, &digest, keys)).await
    }

    async fn cookie(
        &self,
        environment: &Environment,
        stored: &StoredCookie,
    ) -> Result<Option<Cookie>, Error> {
        let (of, stored) = (environment.clone(), *stored);
        self.read(environment, move |table, keys, _| snapshot::cookie(table, &of, &stored, keys)).await
    }

    async fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let (inner, plain) = (Arc::clone(&self.0), Zeroizing::new(plain.to_vec()));
        let seal = move || {
            inner.with(|_| ())?;
            // No process changes the key meanwhile.
            let _shared = inner.root.share(inner.wait)?;
            inner.root.establish(&inner.probe)?;
            inner.keys.refresh()?;
            codec::encode_blob(&plain, &inner.keys)
        };
        blocking("purlin-state-seal", seal).await?
    }

    async fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.0.with(|_| ())?;
        match codec::decode_blob(sealed, &self.0.keys) {
            Err(Error::Damaged { .. }) if self.0.keys.refresh()? => codec::decode_blob(sealed, &self.0.keys),
            result => result,
        }
    }

    async fn export(&self, environment: &Environment, recipient: Option<&str>) -> Result<Export, Error> {
        let (inner, environment) = (Arc::clone(&self.0), environment.clone());
        let recipient = recipient.map(str::to_owned);
        let export = move || inner.export(&environment, recipient.as_deref());
        blocking("purlin-state-export", export).await?
    }

    async fn import(
        &self,
        export: Export,
        holder: Holder,
        options: ImportOptions,
        also: Vec<Change>,
    ) -> Result<(), Error> {
        let inner = Arc::clone(&self.0);
        blocking("purlin-state-import", move || inner.import(&export, &holder, options, &also)).await?
    }

    async fn holder(&self, environment: &Environment) -> Result<Option<crate::HeldLock>, Error> {
        let (inner, environment) = (Arc::clone(&self.0), environment.clone());
        let holder = blocking("purlin-state-read", move || inner.root.place(&environment).holder()).await?;
        Ok(holder.map(|holder| crate::HeldLock { holder: *holder, lease: None }))
    }

    async fn lock(&self, environment: &Environment, holder: Holder) -> Result<Lock, Error> {
        let (inner, environment) = (Arc::clone(&self.0), environment.clone());
        blocking("purlin-state-lock", move || inner.lock(&environment, &holder)).await?
    }

    async fn reserve(&self, vacancy: &Vacancy, holder: Holder) -> Result<Reserved, Error> {
        let (inner, vacancy) = (Arc::clone(&self.0), vacancy.clone());
        let reserve = move || {
            inner.with(|_| ())?;
            let filling = Filling::take(&inner.root, &vacancy, &holder)?;
            Ok(Reserved::new(vacancy, filling))
        };
        blocking("purlin-state-reserve", reserve).await?
    }

    async fn close(&self) -> Result<(), Error> {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}

/// Runs blocking code on a separate thread, since the caller's runtime, if any, is unknown.
async fn blocking<T: Send + 'static>(
    name: &str,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let (done, answer) = oneshot::channel();
    thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            let _ = done.send(call());
        })
        .map_err(Error::io("start a thread for", Path::new(name)))?;
    answer.await.map_err(|_| Error::Closed)
}
