//! The queue of commits for the writing thread.
//!
//! Commits are written as soon as one of them is awaited, or after a short time. The result of one
//! call and the intent of the next, submitted one after the other, therefore share a sync.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::Error;
use crate::encode::Writes;

/// The maximum size of a batch, in bytes.
const BATCH: usize = 8 << 20;
/// How long a commit waits if it is not awaited.
const MOMENT: Duration = Duration::from_millis(1);

/// A commit.
pub(super) struct Job {
    pub(super) writes: Writes,
    /// Receives the result once the commit is durable or has failed.
    pub(super) done: oneshot::Sender<Result<(), Error>>,
}

#[derive(Default)]
struct Waiting {
    items: VecDeque<Job>,
    /// The number of commits that were ever taken out.
    taken: u64,
    bytes: usize,
    /// Whether one of the commits is awaited.
    urgent: bool,
    closed: bool,
}

/// The queue.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a commit. It is written even if the result is not awaited.
    pub(super) fn submit(self: &Arc<Self>, writes: Writes) -> Result<Submitted, Error> {
        let (done, answer) = oneshot::channel();
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(Error::Closed);
        }
        waiting.bytes += writes.size();
        waiting.items.push_back(Job { writes, done });
        let first = waiting.items.len() == 1;
        let number = waiting.taken + waiting.items.len() as u64;
        drop(waiting);
        if first {
            self.changed.notify_one();
        }
        Ok(Submitted { queue: Some(self.clone()), number, answer })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.waiting().closed
    }

    /// Rejects further commits.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.changed.notify_one();
    }

    fn urge(&self, number: u64) {
        let mut waiting = self.waiting();
        if number > waiting.taken && !waiting.urgent {
            waiting.urgent = true;
            drop(waiting);
            self.changed.notify_one();
        }
    }

    /// Waits for commits to write together; `None` once the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Vec<Job>> {
        let mut waiting = self.waiting();
        loop {
            if waiting.items.is_empty() {
                if waiting.closed {
                    return None;
                }
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if waiting.urgent || waiting.closed || waiting.bytes >= BATCH {
                break;
            }
            let (again, result) =
                self.changed.wait_timeout(waiting, MOMENT).unwrap_or_else(PoisonError::into_inner);
            waiting = again;
            if result.timed_out() {
                break;
            }
        }
        Some(waiting.take())
    }
}

impl Waiting {
    fn take(&mut self) -> Vec<Job> {
        let (mut commits, mut size) = (Vec::new(), 0);
        while let Some(job) = self.items.pop_front() {
            if !commits.is_empty() && size + job.writes.size() > BATCH {
                self.items.push_front(job);
                break;
            }
            self.taken += 1;
            size += job.writes.size();
            commits.push(job);
        }
        self.bytes = self.bytes.saturating_sub(size);
        self.urgent = self.urgent && !self.items.is_empty();
        commits
    }
}

/// Resolves once a commit is durable or has failed.
pub(crate) struct Submitted {
    /// Taken once the queue knows that the commit is awaited.
    queue: Option<Arc<Queue>>,
    number: u64,
    answer: oneshot::Receiver<Result<(), Error>>,
}

impl Future for Submitted {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(queue) = self.queue.take() {
            queue.urge(self.number);
        }
        let answer = std::task::ready!(Pin::new(&mut self.answer).poll(context));
        Poll::Ready(answer.unwrap_or(Err(Error::Closed)))
    }
}
