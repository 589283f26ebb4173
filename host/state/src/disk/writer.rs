//! The one thread that writes. Commits that wait at the same time become one batch and share one
//! sync; each is told when it is safe.
//!
//! A commit arrives as writes of finished bytes. Whatever has to hold them before the index does
//! can take them from here, in order.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use purlin_model::Urn;
use tokio::sync::oneshot;

use super::Index;
use crate::Error;

/// The most bytes that are gathered into one batch.
const BATCH: usize = 8 << 20;

/// One step of a commit.
pub(crate) enum Write {
    /// A record's bytes, in place of what is there.
    Put { urn: Urn, bytes: Vec<u8> },
    /// No record any more.
    Remove { urn: Urn },
}

impl Write {
    fn len(&self) -> usize {
        match self {
            Self::Put { bytes, .. } => bytes.len(),
            Self::Remove { .. } => 0,
        }
    }
}

/// A commit.
pub(crate) struct Job {
    pub(crate) writes: Vec<Write>,
    /// The public half of the key that something in it was sealed with.
    pub(crate) recipient: Option<String>,
    /// Told once the commit is durable, or failed.
    pub(crate) done: oneshot::Sender<Result<(), Error>>,
}

/// The thread. It ends, once everything sent before is written, when this is dropped.
pub(crate) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(index: Arc<Index>, recipient: Option<String>) -> Result<Self, Error> {
        let (jobs, receiver) = mpsc::channel();
        let path = index.folder().to_owned();
        let thread = thread::Builder::new()
            .name("purlin-state".into())
            .spawn(move || Writing { index, recipient, failed: None }.run(&receiver))
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
    index: Arc<Index>,
    /// The public half that is recorded.
    recipient: Option<String>,
    /// Why nothing is written any more: after a failed write nobody knows what the disk has.
    failed: Option<String>,
}

impl Writing {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut size = size(&first);
            let mut group = vec![first];
            while size < BATCH
                && let Ok(next) = jobs.try_recv()
            {
                size += self::size(&next);
                group.push(next);
            }
            let result = self.write(&group);
            for job in group {
                // Nobody listens any more when a commit was given up; it is written all the same.
                let _ = job.done.send(result.as_ref().copied().map_err(|detail| Error::Write {
                    folder: self.index.folder().to_owned(),
                    detail: detail.clone(),
                }));
            }
        }
    }

    fn write(&mut self, group: &[Job]) -> Result<(), String> {
        if let Some(failed) = &self.failed {
            return Err(format!("an earlier write failed: {failed}"));
        }
        let new =
            if self.recipient.is_none() { group.iter().find_map(|job| job.recipient.clone()) } else { None };
        let writes = group.iter().flat_map(|job| &job.writes);
        let result = self.index.apply(writes, new.as_deref()).and_then(|()| self.index.sync());
        match result {
            Ok(()) => {
                self.recipient = self.recipient.take().or(new);
                Ok(())
            }
            Err(error) => {
                let detail = with_cause(&error);
                self.failed = Some(detail.clone());
                Err(detail)
            }
        }
    }
}

fn size(job: &Job) -> usize {
    job.writes.iter().map(Write::len).sum()
}

fn with_cause(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
