//! A store whose disk takes its time: what was submitted counts only once it is synced, in order,
//! perhaps several at once. A crash keeps some of the rest, again in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use purlin_state::{Change, Doubt, Durable, Environment, Error, Lock, Snapshot, Writer};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::disk::Disk;
use crate::sim::Shared;

/// The store of one environment. Clones are the same store.
#[derive(Clone)]
pub(crate) struct SimStore(Arc<Inner>);

struct Inner {
    sim: Shared,
    /// What is durable, of all environments.
    disk: Arc<Disk>,
    environment: Environment,
    lock: Mutex<Option<Lock>>,
    /// All that was ever committed, in order, where a copy may be put back.
    log: Option<Mutex<Vec<Vec<Change>>>>,
    doubt: Mutex<Option<Doubt>>,
    /// What is durable, where it was read since it was last written and only this writes it: to decode the same
    /// records again and again took a quarter of the time.
    read: Mutex<Option<Snapshot>>,
    queue: Mutex<Queue>,
}

/// What was submitted, and who waits for it.
type Submission = (Vec<Change>, oneshot::Sender<Result<(), Error>>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Submission>,
    is_syncing: bool,
    /// What makes it durable.
    sync: Option<AbortHandle>,
    writes: u32,
    fails_at: Option<(u32, bool)>,
    has_failed: bool,
    kept: u8,
}

fn disk_full() -> Error {
    Error::Write { folder: "simulated".into(), detail: "no space left on device".into() }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimStore {
    pub(crate) fn new(sim: Shared, disk: &Arc<Disk>, environment: &Environment, copies: bool) -> Self {
        let (disk, environment) = (Arc::clone(disk), environment.clone());
        let this = Self(Arc::new(Inner {
            sim,
            disk,
            environment,
            lock: Mutex::default(),
            log: copies.then(Mutex::default),
            doubt: Mutex::default(),
            read: Mutex::default(),
            queue: Mutex::default(),
        }));
        this.lock().expect("free");
        this
    }

    /// Takes the lock of the environment.
    pub(crate) fn lock(&self) -> Result<(), Error> {
        *self.held() = Some(self.0.disk.lock(&self.0.environment)?);
        Ok(())
    }

    /// Gives it up.
    pub(crate) fn unlock(&self) {
        *self.held() = None;
    }

    /// Whether a change was committed at some time.
    pub(crate) fn was_written(&self, change: &Change) -> bool {
        self.0.log.as_ref().is_none_or(|log| locked(log).iter().flatten().any(|other| other == change))
    }

    fn held(&self) -> MutexGuard<'_, Option<Lock>> {
        locked(&self.0.lock)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        locked(&self.0.queue)
    }

    /// A new process opens it. Where it loses its lease, `kept` of what waits then reaches the database all the same.
    pub(crate) fn open(&self, fails_at: Option<(u32, bool)>, kept: u8) {
        *self.queue() = Queue { fails_at, kept, ..Queue::default() };
    }

    fn lost(&self) -> Error {
        Error::Lost { environment: self.0.environment.clone() }
    }

    /// Another host has the lease: some of what waits was carried out, whose answer was lost.
    fn lose(&self) {
        let (waiting, kept) = {
            let mut queue = self.queue();
            (std::mem::take(&mut queue.waiting), usize::from(std::mem::take(&mut queue.kept)))
        };
        let kept = kept % (waiting.len() + 1);
        for (number, (changes, told)) in waiting.into_iter().enumerate() {
            if number < kept {
                let _ = self.write(changes);
            }
            let _ = told.send(Err(self.lost()));
        }
    }

    /// The process is gone. `kept` of what waits had reached the disk.
    pub(crate) fn crash(&self, kept: u8) {
        let waiting = {
            let mut queue = self.queue();
            if let Some(sync) = queue.sync.take() {
                sync.abort();
            }
            std::mem::take(&mut queue.waiting)
        };
        let kept = usize::from(kept) % (waiting.len() + 1);
        for (changes, _) in waiting.into_iter().take(kept) {
            let _ = self.write(changes);
        }
    }

    /// Whether something was never made durable though the process ended well.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.queue().waiting.is_empty()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.queue().has_failed
    }

    /// What is durable.
    pub(crate) fn durable(&self) -> Result<Snapshot, Error> {
        let mut read = locked(&self.0.read);
        let mut snapshot = match &*read {
            Some(snapshot) => snapshot.clone(),
            None => self.0.disk.load(&self.0.environment)?,
        };
        if !self.0.disk.is_in_folder() {
            *read = Some(snapshot.clone());
        }
        snapshot.doubt = snapshot.doubt.or(*locked(&self.0.doubt));
        Ok(snapshot)
    }

    /// Writes at once, as a person does with a command.
    pub(crate) fn write(&self, changes: Vec<Change>) -> Result<(), Error> {
        if let Some(log) = &self.0.log {
            locked(log).push(changes.clone());
        }
        if changes.contains(&Change::Trust) {
            *locked(&self.0.doubt) = None;
        }
        self.commit(changes)
    }

    fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        *locked(&self.0.read) = None;
        match &*self.held() {
            Some(lock) => self.0.disk.commit(lock, changes),
            None => Err(Error::Closed),
        }
    }

    /// Puts back a copy of what was recorded so many commits ago, as a person does with a backup. Says
    /// whether it is an older one.
    pub(crate) fn restore(&self, back: u8) -> Result<bool, Error> {
        let Some(log) = &self.0.log else { return Ok(false) };
        let mut log = locked(log);
        // Of what never was anything there is no copy.
        let kept = log.len().saturating_sub(usize::from(back)).max(1);
        if kept >= log.len() {
            return Ok(false);
        }
        log.truncate(kept);
        let now = self.durable()?;
        let mut changes: Vec<Change> = now.pending.iter().map(|intent| Change::Settle(intent.id())).collect();
        changes.extend(now.records.iter().map(|record| Change::Remove(record.id())));
        changes.extend(now.unmet.into_iter().map(|unmet| Change::Obstruct { urn: unmet.urn, unmet: None }));
        self.commit(changes)?;
        log.iter().try_for_each(|changes| self.commit(changes.clone()))?;
        *locked(&self.0.doubt) = Some(Doubt::Copied);
        Ok(true)
    }

    async fn sync(self) {
        let sim = Arc::clone(&self.0.sim);
        loop {
            let delay = u64::from(sim.draw(6));
            tokio::time::sleep(std::time::Duration::from_millis(delay)).await;
            sim.point().await;
            if sim.is_lost() {
                return self.lose();
            }
            let (batch, failing) = {
                let mut queue = self.queue();
                queue.writes += 1;
                let many = 1 + sim.draw(queue.waiting.len() as u32) as usize;
                let many = many.min(queue.waiting.len());
                let batch: Vec<_> = queue.waiting.drain(..many).collect();
                let failing = queue.fails_at.filter(|(at, _)| *at == queue.writes);
                queue.has_failed |= failing.is_some();
                (batch, failing)
            };
            if let Some((_, reached)) = failing {
                sim.say("  -- the disk fails".into());
                let rest = std::mem::take(&mut self.queue().waiting);
                for (changes, told) in batch {
                    if reached {
                        let _ = self.write(changes);
                    }
                    let _ = told.send(Err(disk_full()));
                }
                for (_, told) in rest {
                    let _ = told.send(Err(Error::Closed));
                }
                return;
            }
            let mut acknowledged = Vec::with_capacity(batch.len());
            for (changes, told) in batch {
                acknowledged.push((self.write(changes), told));
            }
            sim.point().await;
            for (result, told) in acknowledged {
                let _ = told.send(result);
            }
            let mut queue = self.queue();
            if queue.waiting.is_empty() {
                queue.is_syncing = false;
                return;
            }
        }
    }
}

#[async_trait]
impl Writer for SimStore {
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        if !self.0.sim.passes() {
            return Ok(Box::pin(std::future::pending()));
        }
        if self.0.sim.is_lost() {
            return Err(self.lost());
        }
        let mut queue = self.queue();
        if queue.has_failed {
            return Err(Error::Closed);
        }
        self.0.sim.world().submitted(&changes);
        let (told, heard) = oneshot::channel();
        queue.waiting.push_back((changes, told));
        if !std::mem::replace(&mut queue.is_syncing, true) {
            queue.sync = Some(tokio::spawn(self.clone().sync()).abort_handle());
        }
        Ok(Box::pin(async move { heard.await.unwrap_or(Err(Error::Closed)) }))
    }

    async fn lost(&self) {
        self.0.sim.lost().await;
    }
}
