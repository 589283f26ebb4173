//! The parts of a simulation that store, drivers and commands share: points at which it may end,
//! and faults.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use purlin_engine::CancelToken;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::lease::Lease;
use crate::request::Sent;
use crate::rng::Rng;
use crate::scenario::{CallFault, Step};
use crate::world::World;

/// Shared by all environments of a life.
pub(crate) type Worlds = Arc<Mutex<World>>;

/// The world, and the process that runs in one environment.
pub(crate) struct Sim {
    world: Worlds,
    /// The environment, if there are several.
    name: Option<String>,
    process: Mutex<Process>,
    /// The process has died.
    pub(crate) gone: Notify,
    cut: Notify,
    /// Another host has the lease.
    lost: Notify,
    /// The host stops, as by SIGSTOP.
    stopped: Notify,
    resumed: Notify,
    clock: Mutex<Clock>,
    /// The lease by which the host has the environment, if several share it.
    lease: Mutex<Option<(Arc<Mutex<Lease>>, u64)>>,
    /// Requests of calls in flight.
    requests: Mutex<Vec<Arc<dyn Sent>>>,
    /// Requests of killed processes that are still in transit.
    late: Arc<Mutex<Vec<Arc<dyn Sent>>>>,
    /// The clock of the store.
    time: Mutex<Arc<AtomicU64>>,
}

/// Removes a request from those in flight when it is dropped.
pub(crate) struct UnderWay<'a>(&'a Sim, Arc<dyn Sent>);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        locked(&self.0.requests).retain(|other| !Arc::ptr_eq(other, &self.1));
    }
}

/// A process: its planned faults, and its progress.
struct Process {
    points: u32,
    calls: u32,
    crash: Option<u32>,
    lost: Option<u32>,
    stop: Option<u32>,
    cancel: Option<(u32, Option<u32>)>,
    token: CancelToken,
    is_cut: bool,
    is_gone: bool,
    is_lost: bool,
    is_stopped: bool,
    faults: BTreeMap<u32, CallFault>,
    rng: Rng,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            points: 0,
            calls: 0,
            crash: None,
            lost: None,
            stop: None,
            cancel: None,
            token: CancelToken::default(),
            is_cut: false,
            is_gone: false,
            is_lost: false,
            is_stopped: false,
            faults: BTreeMap::new(),
            rng: Rng::new(0),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Sim {
    pub(crate) fn new(world: &Worlds, name: Option<String>) -> Self {
        Self {
            world: Arc::clone(world),
            name,
            process: Mutex::default(),
            gone: Notify::new(),
            cut: Notify::new(),
            lost: Notify::new(),
            stopped: Notify::new(),
            resumed: Notify::new(),
            clock: Mutex::default(),
            lease: Mutex::default(),
            requests: Mutex::default(),
            late: Arc::default(),
            time: Mutex::default(),
        }
    }

    /// The same world, for another host.
    pub(crate) fn beside(&self, host: &str) -> Self {
        let name = self.name.as_ref().map_or_else(|| host.to_owned(), |name| format!("{name}, {host}"));
        Self { late: Arc::clone(&self.late), ..Self::new(&self.world, Some(name)) }
    }

    /// Records an event of this process.
    pub(crate) fn say(&self, line: String) {
        let line = match &self.name {
            Some(name) => format!("[{name}] {line}"),
            None => line,
        };
        self.world().say(line);
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        locked(&self.world)
    }

    /// A new process starts.
    pub(crate) fn begin(&self, step: &Step, stops: bool) -> CancelToken {
        let token = CancelToken::default();
        *locked(&self.process) = Process {
            crash: step.crash.map(|(at, _)| at),
            lost: step.lost.map(|(at, _)| at),
            stop: step.stop.as_ref().filter(|_| stops).map(|stop| stop.at),
            cancel: step.cancel,
            token: token.clone(),
            faults: step.faults.iter().copied().collect(),
            rng: Rng::new(step.timing),
            ..Process::default()
        };
        token
    }

    /// The numbers of points and calls so far.
    pub(crate) fn reached(&self) -> (u32, u32) {
        let process = locked(&self.process);
        (process.points, process.calls)
    }

    /// Counts a point. Returns whether the process is still alive.
    pub(crate) fn passes(&self) -> bool {
        let mut process = locked(&self.process);
        if process.is_gone {
            return false;
        }
        process.points += 1;
        let now = process.points;
        if process.crash == Some(now) {
            process.is_gone = true;
            let mut late = locked(&self.requests).clone();
            late.retain(|request| request.lasts_until().is_some() && process.rng.below(2) == 0);
            drop(process);
            late.iter().for_each(|request| request.send());
            locked(&self.late).extend(late);
            self.say("  -- the process is killed".into());
            self.gone.notify_one();
            return false;
        }
        if process.lost == Some(now) {
            process.is_lost = true;
            drop(process);
            self.say("  -- another host gets the lease".into());
            self.lost.notify_waiters();
            return true;
        }
        if process.stop == Some(now) {
            process.is_stopped = true;
            drop(process);
            self.say("  -- the host is stopped".into());
            self.stopped.notify_one();
            return true;
        }
        match process.cancel {
            Some((first, _)) if first == now => {
                process.token.request();
                drop(process);
                self.say("  -- an end is asked for".into());
            }
            Some((_, Some(second))) if second == now && process.token.is_requested() => {
                process.token.cut();
                process.is_cut = true;
                drop(process);
                self.say("  -- calls are cut off".into());
                self.cut.notify_waiters();
            }
            _ => {}
        }
        true
    }

    /// A point at which the process may end.
    pub(crate) async fn point(&self) {
        if !self.passes() {
            std::future::pending::<()>().await;
        }
        let resumed = self.resumed.notified();
        tokio::pin!(resumed);
        resumed.as_mut().enable();
        if locked(&self.process).is_stopped {
            resumed.await;
        }
    }

    /// Waits until the host is stopped. An earlier process may have ended at the moment at which it was.
    pub(crate) async fn stopped(&self) {
        while !locked(&self.process).is_stopped {
            self.stopped.notified().await;
        }
    }

    /// The host continues.
    pub(crate) fn resume(&self) {
        let was_stopped = std::mem::take(&mut locked(&self.process).is_stopped);
        if was_stopped {
            self.say("  -- the host goes on".into());
        }
        self.resumed.notify_waiters();
    }

    /// Requests of killed processes arrive.
    pub(crate) fn late_requests_arrive(&self) {
        let late = std::mem::take(&mut *locked(&self.late));
        late.iter().for_each(|request| request.arrive());
    }

    /// Those arrive that cannot take longer: Purlin relies on the grace of the driver.
    pub(crate) fn due_requests_arrive(&self) {
        let now = self.ticks();
        let is_due = |request: &Arc<dyn Sent>| request.lasts_until().is_some_and(|until| until <= now);
        let (due, rest) = std::mem::take(&mut *locked(&self.late)).into_iter().partition(is_due);
        *locked(&self.late) = rest;
        let due: Vec<Arc<dyn Sent>> = due;
        due.iter().for_each(|request| request.arrive());
    }

    /// Uses the clock of a store.
    pub(crate) fn has_time(&self, time: &Arc<AtomicU64>) {
        *locked(&self.time) = Arc::clone(time);
    }

    /// The time by the clock of the store, in milliseconds, without letting it pass.
    pub(crate) fn ticks(&self) -> u64 {
        locked(&self.time).load(Ordering::Relaxed)
    }

    /// Lets time pass by the clock of the store.
    pub(crate) fn pass(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        locked(&self.time).fetch_add(ms, Ordering::Relaxed);
    }

    /// The time of the store.
    pub(crate) fn now(&self) -> Duration {
        locked(&self.clock).store()
    }

    /// Whether several hosts share the environment, so that this one has it by a lease.
    pub(crate) fn is_leased(&self) -> bool {
        locked(&self.lease).is_some()
    }

    /// Whether a person asked for the end of the process.
    pub(crate) fn is_cancelled(&self) -> bool {
        let process = locked(&self.process);
        process.cancel.is_some_and(|(first, _)| first <= process.points)
    }

    /// Whether this host may begin calls, by the clock of the store.
    pub(crate) fn may_call(&self) -> bool {
        let lease = locked(&self.lease).clone();
        lease.is_none_or(|(lease, fence)| locked(&lease).holds(fence, self.now()))
    }

    /// The host takes a lease, with a fence, or releases it.
    pub(crate) fn has_lease(&self, lease: Option<(Arc<Mutex<Lease>>, u64)>) {
        *locked(&self.lease) = lease;
    }

    pub(crate) fn set_clock(&self, clock: Clock) {
        *locked(&self.clock) = clock;
    }

    /// How far the clock of this host is behind a time of the store.
    pub(crate) fn behind(&self, store: Duration) -> Duration {
        locked(&self.clock).behind(store)
    }

    /// The duration by this host's clock for a duration by the store's.
    pub(crate) fn in_own(&self, time: Duration) -> Duration {
        locked(&self.clock).in_own(time)
    }

    /// The remaining time, by the clock of the store, of an operation that started here with this
    /// limit.
    pub(crate) fn time_left(&self, begun: Instant, limit: Duration) -> Duration {
        locked(&self.clock).left(begun, limit)
    }

    /// Registers a request of a call in flight.
    pub(crate) fn under_way(&self, request: Arc<dyn Sent>) -> UnderWay<'_> {
        locked(&self.requests).push(Arc::clone(&request));
        UnderWay(self, request)
    }

    pub(crate) fn requests(&self) -> Vec<Arc<dyn Sent>> {
        locked(&self.requests).clone()
    }

    pub(crate) fn is_gone(&self) -> bool {
        locked(&self.process).is_gone
    }

    /// Whether another host has the lease.
    pub(crate) fn is_lost(&self) -> bool {
        locked(&self.process).is_lost
    }

    /// Waits until another host has the lease.
    pub(crate) async fn lost(&self) {
        let lost = self.lost.notified();
        tokio::pin!(lost);
        lost.as_mut().enable();
        if !self.is_lost() {
            lost.await;
        }
    }

    /// Counts a call, and returns its fault.
    pub(crate) fn call(&self) -> (u32, Option<CallFault>) {
        let mut process = locked(&self.process);
        process.calls += 1;
        let number = process.calls;
        (number, process.faults.get(&number).copied())
    }

    pub(crate) fn draw(&self, bound: u32) -> u32 {
        locked(&self.process).rng.below(bound)
    }

    /// Waits. Returns whether calls were cut off meanwhile.
    pub(crate) async fn wait(&self, time: Duration, cancel: &CancelToken) -> bool {
        let cut = self.cut.notified();
        tokio::pin!(cut);
        cut.as_mut().enable();
        if locked(&self.process).is_cut {
            return true;
        }
        tokio::select! {
            biased;
            () = cut => true,
            () = cancel.cut_off() => true,
            () = tokio::time::sleep(time) => false,
        }
    }
}

pub(crate) type Shared = Arc<Sim>;
