//! The one thread that writes. Commits that wait at the same time become one batch of the journal
//! and share one sync; each is told when it is safe. The index follows by itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::Folder;
use super::follower::{Follower, Note, Start};
use super::index::{self, Index};
use super::journal::{Journal, Position};
use super::queue::{Job, Queue, Submitted, Work};
use super::shared::Shared;
use crate::encode::Writes;
use crate::probe::Probed;
use crate::table::Table;
use crate::{Error, codec, keyspace};

/// So much of the journal may be about what is no more when the store is closed, and while it is
/// open.
const SLACK: (u64, u64) = (128 << 10, 16 << 20);

/// The thread. It ends, once everything sent before is written, when this is dropped.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(writing: Writing) -> Result<Self, Error> {
        let queue = Arc::new(Queue::default());
        let path = writing.folder.path().to_owned();
        let thread = thread::Builder::new()
            .name("purlin-state".into())
            .spawn({
                let queue = queue.clone();
                move || writing.run(&queue)
            })
            .map_err(Error::io("start a thread for", &path))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Hands a commit over.
    pub(crate) fn submit(&self, writes: Writes) -> Result<Submitted, Error> {
        self.queue.submit(writes)
    }

    /// Where something can be handed over that is not a commit.
    pub(crate) fn line(&self) -> Arc<Queue> {
        self.queue.clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
pub(crate) struct Writing {
    // Dropped in this order: the index lets go of its files before the folder is free.
    follower: Option<Follower>,
    /// None until something is recorded.
    journal: Option<Journal>,
    shared: Arc<Shared>,
    /// The index, where it had to be opened before.
    index: Option<Index>,
    /// Where the journal ended at the start.
    known: Option<Position>,
    /// Whether the data key is recorded.
    key_stored: bool,
    /// Whether the journal goes on whatever its length, because it could not begin anew.
    stay: bool,
    /// Why nothing is written any more: after a failed write nobody knows what the disk has.
    failed: Option<String>,
    note: Note,
    probe: Probed,
    folder: Folder,
}

impl Writing {
    pub(super) fn new(
        folder: Folder,
        journal: Option<Journal>,
        shared: Arc<Shared>,
        index: Option<Index>,
        note: Note,
        probe: Probed,
    ) -> Self {
        let known = journal.as_ref().map(Journal::position);
        let key_stored = shared.read().table.get(keyspace::DATA_KEY).is_some();
        Self {
            follower: None,
            journal,
            shared,
            index,
            known,
            key_stored,
            stay: false,
            failed: None,
            note,
            probe,
            folder,
        }
    }

    fn run(mut self, queue: &Queue) {
        while let Some(work) = queue.next() {
            match work {
                Work::Commits(group) => self.commit(group),
                Work::Alone(call) => call(&mut self),
            }
        }
        if let Err(error) = self.finish() {
            tracing::warn!(
                error = with_cause(&error),
                "the state is safe, but its journal could not be tidied"
            );
        }
    }

    fn commit(&mut self, group: Vec<Job>) {
        let (commits, waiting): (Vec<_>, Vec<_>) =
            group.into_iter().map(|job| (job.writes, job.done)).unzip();
        let result = self.write(commits);
        for done in waiting {
            // Nobody listens any more when a commit was given up; it is written all the same.
            let _ = done.send(result.as_ref().copied().map_err(|detail| Error::Write {
                folder: self.folder.path().to_owned(),
                detail: detail.clone(),
            }));
        }
        if result.is_ok() {
            self.follow();
            self.tidy(SLACK.1);
        }
    }

    /// Whether something can still be written.
    fn check(&self) -> Result<(), String> {
        match &self.failed {
            Some(failed) => Err(format!("an earlier write failed: {failed}")),
            None => Ok(()),
        }
    }

    fn write(&mut self, commits: Vec<Writes>) -> Result<(), String> {
        self.check()?;
        let result = self.try_write(commits);
        result.map_err(|error| {
            let detail = with_cause(&error);
            self.failed = Some(detail.clone());
            detail
        })
    }

    fn try_write(&mut self, commits: Vec<Writes>) -> Result<(), Error> {
        let mut entries = Vec::new();
        {
            let state = self.shared.read();
            for commit in commits {
                if let Some(key) = commit.key.filter(|_| !self.key_stored) {
                    entries.push((keyspace::DATA_KEY.to_vec(), Some(codec::encode_key(&key.stored))));
                    self.key_stored = true;
                }
                state.table.resolve(commit.writes, &mut entries);
            }
        }
        if entries.is_empty() {
            return Ok(());
        }
        match &mut self.journal {
            Some(journal) => {
                journal.append(&entries)?;
                self.shared.write().apply(entries, journal.position());
            }
            None => {
                let mut table = Table::default();
                entries.iter().cloned().for_each(|(key, value)| table.apply(key, value));
                let journal = Journal::write(self.folder.path(), 1, &table, self.probe.clone())?;
                self.folder.establish(&self.probe)?;
                self.shared.write().apply(entries, journal.position());
                self.journal = Some(journal);
            }
        }
        Ok(())
    }

    fn follow(&mut self) {
        if self.follower.is_none() {
            // Nothing was recorded, and a fresh folder stays as it is.
            if self.shared.read().dirty.is_empty() {
                return;
            }
            let start = Start {
                folder: self.folder.path().to_owned(),
                shared: self.shared.clone(),
                index: self.index.take(),
                known: self.known,
                note: self.note.clone(),
                probe: self.probe.clone(),
            };
            match Follower::start(start) {
                Ok(follower) => self.follower = Some(follower),
                Err(error) => tracing::warn!(%error, "the index of the state cannot follow"),
            }
        }
        if let Some(follower) = &self.follower {
            follower.wake(self.shared.read().lasting);
        }
    }

    /// Begins the journal anew when most of it is about what is no more.
    fn tidy(&mut self, slack: u64) {
        let live = self.shared.read().table.tally().bytes;
        if self.stay || !self.journal.as_ref().is_some_and(|journal| journal.has_grown(live, slack)) {
            return;
        }
        let Err(error) = self.renew() else { return };
        let next = self.journal.as_ref().map(|journal| journal.next(self.folder.path()));
        if next.is_some_and(|next| next.exists()) {
            // Which of the two counts is found out when it is opened again.
            self.failed = Some(with_cause(&error));
        } else {
            tracing::warn!(error = with_cause(&error), "the state's journal cannot begin anew, and goes on");
            self.stay = true;
        }
    }

    fn renew(&mut self) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        // Nobody else changes the table.
        let renewed = journal.renew(self.folder.path(), &self.shared.read().table);
        self.shared.write().position = Some(journal.position());
        renewed
    }

    /// Puts a table in place of what is there, in one step that a crash cannot tear.
    pub(crate) fn replace(&mut self, table: Table) -> Result<(), Error> {
        self.check().map_err(|detail| Error::Write { folder: self.folder.path().to_owned(), detail })?;
        let path = self.folder.path();
        let renewed = match &mut self.journal {
            Some(journal) => journal.renew(path, &table),
            None => Journal::write(path, 1, &table, self.probe.clone()).and_then(|journal| {
                self.journal = Some(journal);
                self.folder.establish(&self.probe)
            }),
        };
        if let Err(error) = renewed {
            // Which of the two counts is found out when it is opened again.
            self.failed = Some(with_cause(&error));
            return Err(error);
        }
        {
            let mut state = self.shared.write();
            let keys = state.table.iter().chain(table.iter()).map(|(key, _)| key.to_vec());
            let dirty: BTreeSet<_> = keys.collect();
            state.lasting = dirty.len();
            state.dirty = dirty;
            state.table = table;
            state.position = self.journal.as_ref().map(Journal::position);
        }
        self.key_stored = self.shared.read().table.get(keyspace::DATA_KEY).is_some();
        // The log of the old index remembers what the table held before.
        (self.follower, self.index, self.known) = (None, None, None);
        let old = index::folder_in(self.folder.path());
        if let Err(error) = std::fs::remove_dir_all(&old)
            && old.exists()
        {
            tracing::warn!(%error, "the old index of the state could not be removed");
        }
        self.probe.at("index: after the old one is removed");
        self.follow();
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn finish(&mut self) -> Result<(), Error> {
        let written = self.journal.as_ref().map(Journal::position) != self.known;
        if self.failed.is_none() {
            self.tidy(SLACK.0);
        }
        if let Some(journal) = &mut self.journal
            && self.failed.is_none()
        {
            if written || !journal.was_closed() {
                journal.close()?;
            }
            self.shared.write().position = Some(journal.position());
        }
        self.probe.at("close: before the index is told to finish");
        self.follower = None;
        self.probe.at("close: after the index is done");
        Ok(())
    }
}

fn with_cause(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
