//! A store with a slow disk: submitted changes are durable only once they are synced, in order, perhaps
//! several at once. A crash keeps some of the others, again in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use purlin_model::driver::Cookie;
use purlin_state::{
    Change, Durable, Environment, Error, Holder, Intent, Lock, Operation, Record, Snapshot, Staleness, Store,
    Writer, usable_lease,
};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::disk::Disk;
use crate::lease::{LEASE, Lease};
use crate::sim::Shared;

/// The store of one environment, as one host uses it. Clones are the same host.
#[derive(Clone)]
pub(crate) struct SimStore(Arc<Inner>);

struct Inner {
    sim: Shared,
    common: Arc<Common>,
    /// The host's view of its lease, if it has one.
    own: Mutex<Option<Own>>,
    /// The lease is lost.
    lost: Notify,
    queue: Mutex<Queue>,
}

/// The state that all hosts share.
struct Common {
    /// The durable state of all environments.
    disk: Arc<Disk>,
    environment: Environment,
    lock: Mutex<Option<Lock>>,
    lease: Arc<Mutex<Lease>>,
    /// All commits, in order, if the scenario may restore a copy.
    log: Option<Mutex<Vec<Vec<Change>>>>,
    doubt: Mutex<Option<Staleness>>,
    /// The durable state, if it was read since the last write and there is no other writer: decoding the same
    /// records over and over took a quarter of the time.
    read: Mutex<Option<Snapshot>>,
    /// The time: a number that grows each time it is read.
    time: Arc<AtomicU64>,
    /// Whether the store has a clock for it. Otherwise only the hosts have clocks, which may be wrong.
    has_clock: bool,
}

/// A host's view of its lease.
struct Own {
    fence: u64,
    /// When it stops relying on the lease, by its own clock.
    until: Instant,
    is_lost: bool,
    /// Whether it cut off calls whose requests may still be in transit.
    is_cut_off: bool,
    renewal: AbortHandle,
}

/// The time at the start of a simulation, so that clocks can be hours behind.
const BEGINNING: u64 = 1_000_000_000_000;

/// Submitted changes, and the caller that waits for them.
struct Submission {
    changes: Vec<Change>,
    /// It was written, but the host does not know that yet.
    is_written: bool,
    reply: oneshot::Sender<Result<(), Error>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Submission>,
    is_syncing: bool,
    /// The task that makes it durable.
    sync: Option<AbortHandle>,
    writes: u32,
    fails_at: Option<(u32, bool)>,
    has_failed: bool,
    kept: u8,
}

fn disk_full() -> Error {
    Error::Write { folder: "simulated".into(), detail: "no space left on device".into() }
}

/// A host, as the holder that other hosts see.
pub(crate) fn named(host: u8) -> Holder {
    let name = format!("host {host}");
    Holder { user: "s".into(), host: name, pid: 1, command: "life".into(), since: 0 }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimStore {
    pub(crate) fn new(
        sim: Shared,
        disk: &Arc<Disk>,
        environment: &Environment,
        (copies, has_clock): (bool, bool),
    ) -> Self {
        let common = Common {
            disk: Arc::clone(disk),
            environment: environment.clone(),
            lock: Mutex::default(),
            lease: Arc::default(),
            log: copies.then(Mutex::default),
            doubt: Mutex::default(),
            read: Mutex::default(),
            // In a folder, a late time would change the size of the files.
            time: Arc::new(AtomicU64::new(if disk.is_in_folder() { 1 } else { BEGINNING })),
            has_clock,
        };
        let this = Self::of(sim, Arc::new(common));
        this.lock().expect("free");
        this
    }

    fn of(sim: Shared, common: Arc<Common>) -> Self {
        sim.has_time(&common.time);
        let (own, lost, queue) = Default::default();
        Self(Arc::new(Inner { sim, common, own, lost, queue }))
    }

    /// The same store on another host.
    pub(crate) fn beside(&self, sim: Shared) -> Self {
        Self::of(sim, Arc::clone(&self.0.common))
    }

    /// Takes the lock of the environment.
    pub(crate) fn lock(&self) -> Result<(), Error> {
        *self.held() = Some(self.0.common.disk.lock(&self.0.common.environment)?);
        Ok(())
    }

    /// Releases it.
    pub(crate) fn unlock(&self) {
        *self.held() = None;
    }

    /// Whether a record was committed at some time. What its driver keeps privately may have been lost since.
    pub(crate) fn was_recorded(&self, record: &Record) -> bool {
        let is_it = |other: &Record| {
            let mut other = other.clone();
            if record.state.cookie.is_empty() {
                other.state.cookie = Cookie::default();
            }
            other == *record
        };
        let is_put = |change: &Change| matches!(change, Change::Put(other) if is_it(other));
        self.0.common.log.as_ref().is_none_or(|log| locked(log).iter().flatten().any(is_put))
    }

    /// Whether an intent was committed at some time. Its checkpoint may have been added since, and what its
    /// driver keeps privately may have been lost.
    pub(crate) fn was_intended(&self, intent: &Intent) -> bool {
        let plain = |intent: &Intent| {
            let mut intent = Intent { checkpoint: None, ..intent.clone() };
            if let Operation::Create(record) | Operation::Update(record) = &mut intent.operation {
                record.state.cookie = Cookie::default();
            }
            intent
        };
        let wanted = plain(intent);
        let is_it = |change: &Change| matches!(change, Change::Intend(other) if plain(other) == wanted);
        self.0.common.log.as_ref().is_none_or(|log| locked(log).iter().flatten().any(is_it))
    }

    fn held(&self) -> MutexGuard<'_, Option<Lock>> {
        locked(&self.0.common.lock)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        locked(&self.0.queue)
    }

    /// A new process opens it. If it loses its lease, `kept` of the waiting submissions still reach the
    /// database.
    pub(crate) fn open(&self, fails_at: Option<(u32, bool)>, kept: u8) {
        *self.queue() = Queue { fails_at, kept, ..Queue::default() };
    }

    /// The current time.
    pub(crate) fn time(&self) -> u64 {
        self.0.common.time.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes the lease of the environment. Returns the time since a holder left calls that may still be in
    /// transit.
    pub(crate) fn take(&self, host: u8) -> Result<Option<Duration>, Error> {
        let begun = Instant::now();
        let Common { environment, lease, .. } = &*self.0.common;
        let taken = locked(lease).take(host, self.0.sim.now());
        let (fence, lapsed) = taken.map_err(|other| Error::Locked {
            environment: environment.clone(),
            holder: Some(Box::new(named(other))),
        })?;
        let renewal = tokio::spawn(self.clone().renew()).abort_handle();
        let until = begun + usable_lease(LEASE);
        *locked(&self.0.own) = Some(Own { fence, until, is_lost: false, is_cut_off: false, renewal });
        self.0.sim.has_lease(Some((Arc::clone(lease), fence)));
        Ok(lapsed)
    }

    /// Releases it.
    pub(crate) fn release(&self) {
        if let Some(own) = locked(&self.0.own).take() {
            own.renewal.abort();
            locked(&self.0.common.lease).release(own.fence, own.is_cut_off, self.0.sim.now());
        }
        self.0.sim.has_lease(None);
    }

    /// The host is gone, and no longer renews its lease.
    pub(crate) fn forget(&self) {
        if let Some(own) = locked(&self.0.own).take() {
            own.renewal.abort();
        }
        self.0.sim.has_lease(None);
    }

    /// When the lease expires, by the clock of the store.
    pub(crate) fn expires(&self) -> Option<Duration> {
        locked(&self.0.common.lease).until()
    }

    async fn renew(self) {
        loop {
            tokio::time::sleep(LEASE / 3).await;
            let begun = Instant::now();
            let fence = match &*locked(&self.0.own) {
                Some(own) if !own.is_lost && begun < own.until => own.fence,
                _ => break,
            };
            if self.0.sim.is_gone() || !locked(&self.0.common.lease).renew(fence, self.0.sim.now()) {
                break;
            }
            if let Some(own) = &mut *locked(&self.0.own) {
                own.until = begun + usable_lease(LEASE);
            }
        }
        self.found_lost();
    }

    fn found_lost(&self) {
        if let Some(own) = &mut *locked(&self.0.own) {
            own.is_lost = true;
        }
        self.0.lost.notify_waiters();
    }

    pub(crate) fn lost(&self) -> Error {
        Error::Lost { environment: self.0.common.environment.clone() }
    }

    /// Another host has the lease: some waiting submissions were written, but the answers were lost.
    fn lose(&self) {
        let (waiting, kept) = {
            let mut queue = self.queue();
            (std::mem::take(&mut queue.waiting), usize::from(std::mem::take(&mut queue.kept)))
        };
        let kept = kept % (waiting.len() + 1);
        for (number, submission) in waiting.into_iter().enumerate() {
            if number < kept {
                let _ = self.carry_out(&submission);
            }
            let _ = submission.reply.send(Err(self.lost()));
        }
    }

    /// `kept` of the waiting submissions reach the database. The host does not read the answers while it is
    /// stopped.
    pub(crate) fn reach(&self, kept: u8) {
        let mut queue = self.queue();
        let kept = usize::from(kept) % (queue.waiting.len() + 1);
        for submission in queue.waiting.iter_mut().take(kept) {
            submission.is_written = self.carry_out(submission).is_ok();
        }
    }

    /// Writes a submission, unless it was written before.
    fn carry_out(&self, submission: &Submission) -> Result<(), Error> {
        if submission.is_written { Ok(()) } else { self.write(submission.changes.clone()) }
    }

    /// The process is gone. `kept` of the waiting submissions had reached the disk.
    pub(crate) fn crash(&self, kept: u8) {
        let waiting = {
            let mut queue = self.queue();
            if let Some(sync) = queue.sync.take() {
                sync.abort();
            }
            std::mem::take(&mut queue.waiting)
        };
        let kept = usize::from(kept) % (waiting.len() + 1);
        for submission in waiting.iter().take(kept) {
            let _ = self.carry_out(submission);
        }
    }

    /// Whether a submission never became durable although the process succeeded.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.queue().waiting.is_empty()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.queue().has_failed
    }

    /// The durable state.
    pub(crate) fn durable(&self) -> Result<Snapshot, Error> {
        let mut read = locked(&self.0.common.read);
        let mut snapshot = match &*read {
            Some(snapshot) => snapshot.clone(),
            None => self.0.common.disk.load(&self.0.common.environment)?,
        };
        if !self.0.common.disk.is_in_folder() {
            *read = Some(snapshot.clone());
        }
        snapshot.staleness = snapshot.staleness.or(*locked(&self.0.common.doubt));
        Ok(snapshot)
    }

    /// The store itself, to read from.
    pub(crate) fn whole(&self) -> Arc<dyn Store> {
        self.0.common.disk.whole()
    }

    /// Writes at once, as a person's command does.
    pub(crate) fn write(&self, changes: Vec<Change>) -> Result<(), Error> {
        if !self.0.sim.may_call() {
            return Err(self.lost());
        }
        if let Some(log) = &self.0.common.log {
            locked(log).push(changes.clone());
        }
        if changes.contains(&Change::SetStaleness(None)) {
            *locked(&self.0.common.doubt) = None;
        }
        self.commit(changes)
    }

    fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        *locked(&self.0.common.read) = None;
        match &*self.held() {
            Some(lock) => self.0.common.disk.commit(lock, changes),
            None => Err(Error::Closed),
        }
    }

    /// Restores a copy from `back` commits ago, as a person restores a backup. Returns whether it is an older
    /// one.
    pub(crate) fn restore(&self, back: u8) -> Result<bool, Error> {
        let Some(log) = &self.0.common.log else { return Ok(false) };
        let mut log = locked(log);
        // There is no copy from before the first commit.
        let kept = log.len().saturating_sub(usize::from(back)).max(1);
        if kept >= log.len() {
            return Ok(false);
        }
        log.truncate(kept);
        let now = self.durable()?;
        let mut changes: Vec<Change> = now.pending.iter().map(|intent| Change::Settle(intent.id())).collect();
        changes.extend(now.records.iter().map(|record| Change::Remove(record.id())));
        changes.extend(
            now.obstacles.into_iter().map(|obstacle| Change::Obstruct { urn: obstacle.urn, obstacle: None }),
        );
        let vanished = now.vanished.into_keys();
        changes.extend(vanished.map(|urn| Change::Vanish { urn, objects: Box::default() }));
        self.commit(changes)?;
        log.iter().try_for_each(|changes| self.commit(changes.clone()))?;
        *locked(&self.0.common.doubt) = Some(Staleness::Copied);
        Ok(true)
    }

    async fn sync(self) {
        let sim = Arc::clone(&self.0.sim);
        loop {
            let delay = u64::from(sim.draw(6));
            tokio::time::sleep(Duration::from_millis(delay)).await;
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
                for submission in batch {
                    if reached {
                        let _ = self.carry_out(&submission);
                    }
                    let _ = submission.reply.send(Err(disk_full()));
                }
                for submission in rest {
                    let _ = submission.reply.send(Err(Error::Closed));
                }
                return;
            }
            let mut acknowledged = Vec::with_capacity(batch.len());
            for submission in batch {
                acknowledged.push((self.carry_out(&submission), submission.reply));
            }
            let is_lost = acknowledged.iter().any(|(result, _)| matches!(result, Err(Error::Lost { .. })));
            sim.point().await;
            if is_lost {
                self.found_lost();
            }
            for (result, reply) in acknowledged {
                let _ = reply.send(result);
            }
            if is_lost {
                return self.lose();
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
        if self.is_lost() {
            return Err(self.lost());
        }
        let mut queue = self.queue();
        if queue.has_failed {
            return Err(Error::Closed);
        }
        // Submissions of a host that lost the lease without knowing it have no effect.
        if self.0.sim.may_call() {
            self.0.sim.world().submitted(&changes);
        }
        let (reply, confirmation) = oneshot::channel();
        queue.waiting.push_back(Submission { changes, is_written: false, reply });
        if !std::mem::replace(&mut queue.is_syncing, true) {
            queue.sync = Some(tokio::spawn(self.clone().sync()).abort_handle());
        }
        Ok(Box::pin(async move { confirmation.await.unwrap_or(Err(Error::Closed)) }))
    }

    async fn lost(&self) -> Error {
        loop {
            let lost = self.0.lost.notified();
            tokio::pin!(lost);
            lost.as_mut().enable();
            let Some(until) = locked(&self.0.own).as_ref().map(|own| own.until) else {
                self.0.sim.lost().await;
                return self.lost();
            };
            if self.is_lost() {
                return self.lost();
            }
            tokio::select! {
                biased;
                () = self.0.sim.lost() => {}
                () = lost => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    fn is_lost(&self) -> bool {
        let own = locked(&self.0.own);
        self.0.sim.is_lost() || own.as_ref().is_some_and(|own| own.is_lost || Instant::now() >= own.until)
    }

    fn cut_off(&self) {
        if let Some(own) = &mut *locked(&self.0.own) {
            own.is_cut_off = true;
        }
    }

    fn now(&self) -> Option<u64> {
        self.0.common.has_clock.then(|| self.time())
    }
}
