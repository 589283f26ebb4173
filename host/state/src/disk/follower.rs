//! The thread that keeps the index behind the journal, and replaces it where it is broken.
//!
//! It starts with the first commit: whoever only reads never waits for sled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::files;
use super::index::{self, Index};
use super::journal::Position;
use super::shared::Shared;
use crate::Error;
use crate::keyspace::{self, Kind, is_passing};
use crate::probe::Probed;
use crate::table::{Entry, Table, Tally};

/// So many entries go in at once. Fewer cost more each; what is done and undone in between never
/// gets there at all.
const SOME: usize = 1000;

/// What a caller should learn about repairs that nobody asked for.
pub(crate) type Note = Arc<Mutex<Option<String>>>;

/// The thread. It ends, once the index has everything, when this is dropped.
pub(super) struct Follower {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread starts from.
pub(super) struct Start {
    pub(super) folder: PathBuf,
    pub(super) shared: Arc<Shared>,
    /// The index, where somebody had to open it before.
    pub(super) index: Option<Index>,
    /// Up to where nothing was said about what changed.
    pub(super) known: Option<Position>,
    pub(super) note: Note,
    pub(super) probe: Probed,
}

impl Follower {
    pub(super) fn start(start: Start) -> Result<Self, Error> {
        let (wake, woken) = mpsc::sync_channel(1);
        let folder = start.folder.clone();
        let thread = thread::Builder::new()
            .name("purlin-state-index".into())
            .spawn(move || Following::run(start, &woken))
            .map_err(Error::io("start a thread for", &folder))?;
        Ok(Self { wake: Some(wake), thread: Some(thread) })
    }

    /// Says that there is something new.
    pub(super) fn wake(&self, changed: usize) {
        if let Some(wake) = self.wake.as_ref().filter(|_| changed >= SOME) {
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Following {
    index: Index,
    /// Keys of what comes and goes that are in the index.
    passing: BTreeMap<Vec<u8>, ()>,
}

impl Following {
    fn run(start: Start, woken: &Receiver<()>) {
        let Start { folder, shared, index, known, note, probe } = start;
        let first = match index {
            Some(index) => Ok(index),
            None => Index::open(&folder, probe.clone()),
        };
        let first = first.and_then(|index| Self::catch_up(index, &shared, known));
        let followed = first.and_then(|mut this| this.follow(&shared, woken));
        let Err(error) = followed else { return };
        // Of the files that are wrong only a copy is lost: the journal has everything.
        let again = set_aside(&folder).and_then(|stale| {
            let text = format!(
                "the index of the state could not be used ({error}); it was moved to `{}` and made again from the journal",
                stale.display()
            );
            tracing::warn!("{text}");
            *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            Self::catch_up(Index::open(&folder, probe)?, &shared, None)?.follow(&shared, woken)
        });
        if let Err(error) = again {
            tracing::warn!(%error, "the state is safe in its journal, but its index cannot be written");
        }
    }

    /// Makes the index what the table is.
    fn catch_up(index: Index, shared: &Shared, known: Option<Position>) -> Result<Self, Error> {
        let position = index.position()?.map(|(position, _)| position);
        let mut this = Self { index, passing: BTreeMap::new() };
        if position.is_none() || position != known {
            let found = this.index.fingerprints()?;
            let (changes, position) = {
                let mut state = shared.write();
                state.lasting = 0;
                state.dirty.clear();
                (differences(&found, &state.table), state.position.map(|at| (at, state.table.tally())))
            };
            if let Some(position) = position {
                this.index.reconcile(changes, position)?;
            }
        }
        let state = shared.read();
        // Whatever is in the index and passing is in the table, or dirty.
        for kind in [Kind::Intent, Kind::Checkpoint] {
            let all = keyspace::all(kind);
            let keys = state.table.range(&all).map(|(key, _)| key.to_vec());
            this.passing.extend(keys.map(|key| (key, ())));
        }
        let dirty = state.dirty.iter().filter(|key| is_passing(key));
        this.passing.extend(dirty.map(|key| (key.clone(), ())));
        Ok(this)
    }

    fn follow(&mut self, shared: &Shared, woken: &Receiver<()>) -> Result<(), Error> {
        while woken.recv().is_ok() {
            if shared.read().lasting >= SOME {
                self.step(shared)?;
            }
        }
        self.step(shared)?;
        self.index.flush()
    }

    fn step(&mut self, shared: &Shared) -> Result<(), Error> {
        let (changes, position): (Vec<Entry>, _) = {
            let mut state = shared.write();
            let Some(position) = state.position else { return Ok(()) };
            state.lasting = 0;
            let dirty = std::mem::take(&mut state.dirty);
            let value = |key: Vec<u8>| {
                let value = state.table.get(&key).map(<[u8]>::to_vec);
                (key, value)
            };
            (dirty.into_iter().map(value).collect(), (position, state.table.tally()))
        };
        let mut wanted = Vec::with_capacity(changes.len());
        for (key, value) in &changes {
            if is_passing(key) {
                let was = if value.is_some() {
                    self.passing.insert(key.clone(), ()).is_some()
                } else {
                    self.passing.remove(key).is_some()
                };
                if !was && value.is_none() {
                    continue;
                }
            }
            wanted.push((key.as_slice(), value.as_deref()));
        }
        self.index.apply(wanted.into_iter(), Some(position))
    }
}

/// What has to change in the index.
fn differences(found: &BTreeMap<Vec<u8>, u64>, table: &Table) -> Vec<Entry> {
    let mut changes: Vec<Entry> = Vec::new();
    for (key, value) in table.iter() {
        if found.get(key) != Some(&Tally::of(key, value).digest) {
            changes.push((key.to_vec(), Some(value.to_vec())));
        }
    }
    let gone = found.keys().filter(|key| table.get(key).is_none());
    changes.extend(gone.map(|key| (key.clone(), None)));
    changes
}

/// Moves the index out of the way.
fn set_aside(folder: &Path) -> Result<PathBuf, Error> {
    files::set_aside(folder, &index::folder_in(folder))
}
