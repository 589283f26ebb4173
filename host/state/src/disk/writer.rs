//! The one thread that writes to an environment. Commits that wait at the same time become one batch of
//! the journal and share one sync; each is told when it is safe.

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
use crate::{Doubt, Error, codec, keyspace, snapshot};

/// So much of the journal may be about what is no more when it is closed, and while it is open.
const SLACK: (u64, u64) = (128 << 10, 16 << 20);

/// The thread. It ends, once everything sent before is written, when this is closed or dropped.
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

    /// Hands a commit over.
    pub(crate) fn submit(&self, writes: Writes) -> Result<Submitted, Error> {
        self.queue.submit(writes)
    }

    /// Whether nothing more is taken.
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// Finishes what was handed over and lets go of the environment. Blocks.
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

/// What the thread works with.
pub(crate) struct Writing {
    /// None until something is recorded.
    journal: Option<Journal>,
    head: Option<Head>,
    shared: Arc<Shared>,
    keys: Arc<Keyring>,
    /// Whether there is a copy of the data key in the journal.
    key_noted: bool,
    /// Where the journal ended at the start.
    known: Option<Position>,
    /// Whether the journal goes on whatever its length, because it could not begin anew.
    stay: bool,
    /// Why nothing is written any more: after a failed sync nobody knows what the disk has.
    failed: Option<String>,
    probe: Probed,
    claimed: Claimed,
}

impl Writing {
    /// Reads what is in an environment, whatever a crash left.
    pub(crate) fn open(claimed: Claimed, keys: Arc<Keyring>, probe: Probed) -> Result<Self, Error> {
        let folder = claimed.folder();
        let mut table = Table::default();
        let noted = head::read(folder);
        let (journal, head) = match journal::find(folder)? {
            Some((_, path)) => {
                let journal = Journal::open(folder, path.clone(), &mut table, probe.clone())?;
                if let Some(noted) = noted {
                    journal::reached(folder, &path, noted.position, journal.position())?;
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
        if copied && table.get(&doubt_key(&claimed)).is_none() {
            // The file that tells is written anew with the first commit, so this has to last.
            table.apply(doubt_key(&claimed), Some(codec::encode_doubt(Doubt::Copied, &keys)?));
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
            // Nobody listens any more when a commit was given up; it is written all the same.
            let _ = done.send(result.as_ref().copied().map_err(|(detail, refused)| {
                let (folder, detail) = (self.claimed.folder().to_owned(), detail.clone());
                if *refused { Error::Refused { folder, detail } } else { Error::Write { folder, detail } }
            }));
        }
        if result.is_ok() {
            self.tidy(SLACK.1);
        }
    }

    /// Writes commits; else says why not, and whether nothing of them was recorded and the next may be.
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
            let (detail, refused) = (error.with_cause(), matches!(error, Error::Refused { .. }));
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
            // The process that made the key may have been killed before the key's name was durable.
            self.claimed.root().settle_names()?;
            entries.push((keyspace::DATA_KEY.to_vec(), Some(codec::encode_key(key))));
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

    /// Notes how far the journal went. Without the note less is found out later, and nothing is lost.
    fn note(&self, position: Position) {
        if let Some(Err(error)) = self.head.as_ref().map(|head| head.note(position)) {
            tracing::warn!(error = error.with_cause(), "the end of the state's journal could not be noted");
        }
    }

    /// Begins the journal anew when most of it is about what is no more.
    fn tidy(&mut self, slack: u64) {
        let live = self.shared.read().table.tally().bytes;
        if self.stay || !self.journal.as_ref().is_some_and(|journal| journal.has_grown(live, slack)) {
            return;
        }
        let Err(error) = self.renew() else { return };
        let next = self.journal.as_ref().map(|journal| journal.next(self.claimed.folder()));
        if next.is_some_and(|next| next.exists()) {
            // Which of the two counts is found out when it is opened again.
            self.failed = Some(error.with_cause());
        } else {
            tracing::warn!(error = error.with_cause(), "the state's journal cannot begin anew, and goes on");
            self.stay = true;
        }
    }

    fn renew(&mut self) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        // Nobody else changes the table.
        let renewed = journal.renew(self.claimed.folder(), &self.shared.read().table);
        let position = journal.position();
        self.shared.write().position = Some(position);
        self.note(position);
        renewed
    }

    /// Puts a table in place of what is there, in one step that a crash cannot tear.
    pub(crate) fn replace(&mut self, table: Table) -> Result<(), Error> {
        self.claimed.root().settle_names()?;
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

    /// Ends in good order, and gives the environment back.
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
        self.probe.at("close: before the index is told");
        if written {
            self.publish();
        }
        self.probe.at("close: after the index is told");
        Ok(())
    }

    /// Tells the index. What it does not know is found in the journal.
    fn publish(&self) {
        let Some(position) = self.journal.as_ref().map(Journal::position) else { return };
        let environment = &self.claimed.place.environment;
        let told = (|| {
            let known = snapshot::known(&self.shared.read().table, environment, &self.keys)?;
            let listing = match known.installations {
                0 => None,
                _ => Some(snapshot::listing(&self.shared.read().table, environment, &self.keys)?),
            };
            let listing = listing.map(|listing| codec::encode_listing(&listing, &self.keys)).transpose()?;
            let known = codec::encode_known(&known, &self.keys)?;
            let told = (&*known, listing.as_deref());
            index::publish(self.claimed.root(), &self.claimed.place, position, told)
        })();
        if let Err(error) = told {
            tracing::debug!(error = error.with_cause(), "the index of the state could not be told");
        }
    }
}

/// Where it is noted that the state may be older than what is real.
fn doubt_key(claimed: &Claimed) -> Vec<u8> {
    keyspace::prefix(keyspace::Kind::Doubt, &keyspace::place(&claimed.place.environment))
}
