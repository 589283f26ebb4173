//! The only thread that writes to an environment. Commits that wait at the same time become one
//! batch of the journal and share one sync; each learns when it is durable.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::head::Head;
use super::index;
use super::journal::{self, Journal, Position};
use super::queue::{Job, Queue, Submitted};
use super::shared::Shared;
use super::{Claimed, head};
use crate::encode::Writes;
use crate::keys::Keyring;
use crate::probe::Probed;
use crate::table::Table;
use crate::{Error, Staleness, codec, keyspace, snapshot};

/// The number of obsolete bytes that the journal may have when it is closed, and while it is open.
const SLACK: (u64, u64) = (128 << 10, 16 << 20);

/// The thread. It ends when this is closed or dropped, after writing everything that was submitted
/// before.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<Result<(), Error>>>>,
}

impl Writer {
    pub(crate) fn start(writing: Writing) -> Result<Self, Error> {
        let queue = Arc::new(Queue::default());
        let path = writing.claimed.folder().to_owned();
        let thread = thread::Builder::new()
            .name("purlin-state".into())
            .spawn({
                let queue = queue.clone();
                move || writing.run(&queue)
            })
            .map_err(Error::io("start a thread for", &path))?;
        Ok(Self { queue, thread: Mutex::new(Some(thread)) })
    }

    /// Submits a commit.
    pub(crate) fn submit(&self, writes: Writes) -> Result<Submitted, Error> {
        self.queue.submit(writes)
    }

    /// Whether no more commits are accepted.
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// Writes the submitted commits and releases the environment. Blocks.
    pub(crate) fn close(&self) -> Result<(), Error> {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread.map_or(Ok(()), |thread| thread.join().unwrap_or(Err(Error::Closed)))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// The state of the thread.
pub(crate) struct Writing {
    /// `None` until something is recorded.
    journal: Option<Journal>,
    head: Option<Head>,
    shared: Arc<Shared>,
    keys: Arc<Keyring>,
    /// Whether the journal has a copy of the data key.
    key_noted: bool,
    /// The end of the journal at the start.
    known: Option<Position>,
    /// Whether the journal continues regardless of its length, because it could not be rewritten.
    stay: bool,
    /// Why nothing more is written: after a failed sync, the content of the disk is unknown.
    failed: Option<String>,
    probe: Probed,
    claimed: Claimed,
}

impl Writing {
    /// Reads the content of an environment, also after a crash.
    pub(crate) fn open(claimed: Claimed, keys: Arc<Keyring>, probe: Probed) -> Result<Self, Error> {
        let folder = claimed.folder();
        let mut table = Table::default();
        let noted = head::read(folder);
        let (journal, head) = match journal::find(folder)? {
            Some((_, path)) => {
                let journal = Journal::open(folder, path.clone(), &mut table, probe.clone())?;
                if let Some(noted) = noted {
                    journal::check_reaches(folder, &path, noted.position, journal.position())?;
                }
                (Some(journal), Some(Head::open(folder)?))
            }
            None => {
                if noted.is_some() {
                    return Err(journal::missing(folder));
                }
                (None, None)
            }
        };
        let known = journal.as_ref().map(Journal::position);
        let copied = noted.is_some_and(|noted| !noted.original);
        if copied {
            // The next commit overwrites the file that reveals the copy, so the staleness must be
            // recorded.
            let recorded = snapshot::staleness(&table, &claimed.place.environment, &keys)?;
            let staleness = Staleness::stronger(recorded, Some(Staleness::Copied));
            let staleness = staleness.map(|staleness| codec::encode_staleness(staleness, &keys));
            table.apply(staleness_key(&claimed), staleness.transpose()?);
        }
        let key_noted = table.get(keyspace::DATA_KEY).is_some();
        let shared = Arc::new(Shared::new(table, known));
        let (stay, failed) = (false, None);
        let mut this = Self { journal, head, shared, keys, key_noted, known, stay, failed, probe, claimed };
        if copied {
            this.renew()?;
        }
        Ok(this)
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    pub(crate) fn claimed(&self) -> &Claimed {
        &self.claimed
    }

    fn run(mut self, queue: &Queue) -> Result<(), Error> {
        while let Some(group) = queue.next() {
            self.commit(group);
        }
        self.finish()
    }

    fn commit(&mut self, group: Vec<Job>) {
        let (commits, waiting): (Vec<_>, Vec<_>) =
            group.into_iter().map(|job| (job.writes, job.done)).unzip();
        let result = self.write(commits);
        for done in waiting {
            // A commit that is no longer awaited is written all the same.
            let _ = done.send(result.as_ref().copied().map_err(|(detail, refused)| {
                let (folder, detail) = (self.claimed.folder().to_owned(), detail.clone());
                if *refused { Error::Refused { folder, detail } } else { Error::Write { folder, detail } }
            }));
        }
        if result.is_ok() {
            self.tidy(SLACK.1);
        }
    }

    /// Writes commits. The error says why they failed, and whether nothing of them was recorded so
    /// that later commits may succeed.
    fn write(&mut self, commits: Vec<Writes>) -> Result<(), (String, bool)> {
        if let Some(failed) = &self.failed {
            return Err((format!("an earlier write failed: {failed}"), false));
        }
        let result = if self.claimed.is_lost() {
            Err(Error::Lost { environment: self.claimed.place.environment.clone() })
        } else {
            self.try_write(commits)
        };
        result.map_err(|error| {
            let (detail, refused) =
                (purlin_files::with_causes(&error), matches!(error, Error::Refused { .. }));
            if !refused {
                self.failed = Some(detail.clone());
            }
            (detail, refused)
        })
    }

    fn try_write(&mut self, commits: Vec<Writes>) -> Result<(), Error> {
        let mut entries = Vec::new();
        {
            let state = self.shared.read();
            for commit in commits {
                state.table.resolve(commit.0, &mut entries);
            }
        }
        if entries.is_empty() {
            return Ok(());
        }
        if !self.key_noted
            && let Some(key) = self.keys.stored().first()
        {
            // The process that created the key may have been killed before the name of its file was
            // durable.
            self.claimed.root().sync_names()?;
            entries.push((keyspace::DATA_KEY.to_vec(), Some(key.encode())));
            self.key_noted = true;
        }
        let position = match &mut self.journal {
            Some(journal) => {
                journal.append(&entries)?;
                journal.position()
            }
            None => {
                self.claimed.place.describe()?;
                let mut table = Table::default();
                entries.iter().cloned().for_each(|(key, value)| table.apply(key, value));
                let folder = self.claimed.folder();
                let journal = Journal::write(folder, 1, &table, self.probe.clone())?;
                self.claimed.settle_folder()?;
                self.head = Some(Head::open(folder)?);
                self.journal.insert(journal).position()
            }
        };
        self.shared.write().apply(entries, position);
        self.note(position);
        Ok(())
    }

    /// Notes the end of the journal. Without the note, less damage is detected later, but nothing
    /// is lost.
    fn note(&self, position: Position) {
        if let Some(Err(error)) = self.head.as_ref().map(|head| head.note(position)) {
            tracing::warn!(
                error = purlin_files::with_causes(&error),
                "the end of the state's journal could not be noted"
            );
        }
    }

    /// Rewrites the journal when most of it is obsolete.
    fn tidy(&mut self, slack: u64) {
        let live = self.shared.read().table.tally().bytes;
        if self.stay || !self.journal.as_ref().is_some_and(|journal| journal.has_grown(live, slack)) {
            return;
        }
        let Err(error) = self.renew() else { return };
        let next = self.journal.as_ref().map(|journal| journal.next(self.claimed.folder()));
        if next.is_some_and(|next| next.exists()) {
            // The next opening decides which of the two counts.
            self.failed = Some(purlin_files::with_causes(&error));
        } else {
            tracing::warn!(
                error = purlin_files::with_causes(&error),
                "the state's journal could not be rewritten, and is continued"
            );
            self.stay = true;
        }
    }

    fn renew(&mut self) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        // No other thread changes the table.
        let renewed = journal.renew(self.claimed.folder(), &self.shared.read().table);
        let position = journal.position();
        self.shared.write().position = Some(position);
        self.note(position);
        renewed
    }

    /// Replaces the content with a table, atomically even in a crash.
    pub(crate) fn replace(&mut self, table: Table) -> Result<(), Error> {
        self.claimed.root().sync_names()?;
        self.shared.write().table = table;
        if self.journal.is_some() {
            return self.renew();
        }
        self.claimed.place.describe()?;
        let folder = self.claimed.folder();
        let journal = Journal::write(folder, 1, &self.shared.read().table, self.probe.clone())?;
        self.claimed.settle_folder()?;
        self.head = Some(Head::open(folder)?);
        let position = journal.position();
        self.journal = Some(journal);
        self.shared.write().position = Some(position);
        self.note(position);
        Ok(())
    }

    /// Ends properly and releases the environment.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let written = self.journal.as_ref().map(Journal::position) != self.known;
        if self.failed.is_some() || self.claimed.is_lost() {
            return Ok(());
        }
        self.tidy(SLACK.0);
        if self.failed.is_none()
            && let Some(journal) = &mut self.journal
            && (written || !journal.was_closed())
        {
            journal.close()?;
            let position = journal.position();
            self.note(position);
        }
        self.probe.at("close: before the index is updated");
        if written {
            self.publish();
        }
        self.probe.at("close: after the index is updated");
        Ok(())
    }

    /// Updates the index. Whatever it lacks is found in the journal.
    fn publish(&self) {
        let Some(position) = self.journal.as_ref().map(Journal::position) else { return };
        let environment = &self.claimed.place.environment;
        let published = (|| {
            let known = snapshot::known(&self.shared.read().table, environment, &self.keys)?;
            let listing = match known.installations {
                0 => None,
                _ => Some(snapshot::listing(&self.shared.read().table, environment, &self.keys)?),
            };
            let listing = listing.map(|listing| codec::encode_listing(&listing, &self.keys)).transpose()?;
            let known = codec::encode_known(&known, &self.keys)?;
            let entry = (&*known, listing.as_deref());
            index::publish(self.claimed.root(), &self.claimed.place, position, entry)
        })();
        if let Err(error) = published {
            tracing::debug!(
                error = purlin_files::with_causes(&error),
                "the index of the state could not be updated"
            );
        }
    }
}

/// The key of the note that the records may be older than the real state.
fn staleness_key(claimed: &Claimed) -> Vec<u8> {
    keyspace::prefix(keyspace::EntryKind::Staleness, &keyspace::place(&claimed.place.environment))
}
