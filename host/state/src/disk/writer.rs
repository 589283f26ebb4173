//! The one thread that writes. Commits that wait at the same time become one batch and share one
//! sync; each is told when it is safe.
//!
//! A commit arrives as writes of finished bytes. Whatever has to hold them before the index does
//! can take them from here, in order.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::Index;
use crate::encode::Writes;
use crate::table::Table;
use crate::{Error, codec, keyspace};

/// The most bytes that are gathered into one batch.
const BATCH: usize = 8 << 20;

/// A commit.
pub(crate) struct Job {
    pub(crate) writes: Writes,
    /// Told once the commit is durable, or failed.
    pub(crate) done: oneshot::Sender<Result<(), Error>>,
}

/// The thread. It ends, once everything sent before is written, when this is dropped.
pub(crate) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(index: Index, table: Arc<RwLock<Table>>, key_stored: bool) -> Result<Self, Error> {
        let (jobs, receiver) = mpsc::channel();
        let path = index.folder().to_owned();
        let thread = thread::Builder::new()
            .name("purlin-state".into())
            .spawn(move || Writing { index, table, key_stored, failed: None }.run(&receiver))
            .map_err(Error::io("start a thread for", &path))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands a commit over.
    pub(crate) fn send(&self, job: Job) -> Result<(), Error> {
        let jobs = self.jobs.as_ref().ok_or(Error::Closed)?;
        jobs.send(job).map_err(|_| Error::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Writing {
    index: Index,
    table: Arc<RwLock<Table>>,
    /// Whether the data key is recorded.
    key_stored: bool,
    /// Why nothing is written any more: after a failed write nobody knows what the disk has.
    failed: Option<String>,
}

impl Writing {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut size = first.writes.size();
            let mut group = vec![first];
            while size < BATCH
                && let Ok(next) = jobs.try_recv()
            {
                size += next.writes.size();
                group.push(next);
            }
            let (commits, waiting): (Vec<_>, Vec<_>) =
                group.into_iter().map(|job| (job.writes, job.done)).unzip();
            let result = self.write(commits);
            for done in waiting {
                // Nobody listens any more when a commit was given up; it is written all the same.
                let _ = done.send(result.as_ref().copied().map_err(|detail| Error::Write {
                    folder: self.index.folder().to_owned(),
                    detail: detail.clone(),
                }));
            }
        }
    }

    fn write(&mut self, commits: Vec<Writes>) -> Result<(), String> {
        if let Some(failed) = &self.failed {
            return Err(format!("an earlier write failed: {failed}"));
        }
        let mut entries = Vec::new();
        {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            for commit in commits {
                if let Some(key) = commit.key.filter(|_| !self.key_stored) {
                    entries.push((keyspace::DATA_KEY.to_vec(), Some(codec::encode_key(&key.stored))));
                    self.key_stored = true;
                }
                table.resolve(commit.writes, &mut entries);
            }
        }
        if let Err(error) = self.index.apply(&entries).and_then(|()| self.index.sync()) {
            let detail = with_cause(&error);
            self.failed = Some(detail.clone());
            return Err(detail);
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in entries {
            table.apply(key, value);
        }
        Ok(())
    }
}

fn with_cause(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
