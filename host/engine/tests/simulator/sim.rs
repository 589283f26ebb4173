//! What store, drivers and commands of a simulation share: points at which it may end, and faults.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use purlin_engine::CancelToken;
use tokio::sync::Notify;

use crate::rng::Rng;
use crate::scenario::{Fault, Step};
use crate::world::World;

/// What all environments of a life share.
pub(crate) type Worlds = Arc<Mutex<World>>;

/// The world, and the process that runs in one environment.
pub(crate) struct Sim {
    world: Worlds,
    /// The environment, where there are several.
    name: Option<String>,
    process: Mutex<Process>,
    /// The process is gone.
    pub(crate) gone: Notify,
    cut: Notify,
    /// Another host has the lease.
    lost: Notify,
}

/// A process: what is to happen to it, and how far it is.
struct Process {
    points: u32,
    calls: u32,
    crash: Option<u32>,
    lost: Option<u32>,
    cancel: Option<(u32, Option<u32>)>,
    token: CancelToken,
    is_cut: bool,
    is_gone: bool,
    is_lost: bool,
    faults: BTreeMap<u32, Fault>,
    rng: Rng,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            points: 0,
            calls: 0,
            crash: None,
            lost: None,
            cancel: None,
            token: CancelToken::default(),
            is_cut: false,
            is_gone: false,
            is_lost: false,
            faults: BTreeMap::new(),
            rng: Rng::new(0),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Sim {
    pub(crate) fn new(world: &Worlds, name: &str, several: bool) -> Self {
        Self {
            world: Arc::clone(world),
            name: several.then(|| name.to_owned()),
            process: Mutex::default(),
            gone: Notify::new(),
            cut: Notify::new(),
            lost: Notify::new(),
        }
    }

    /// Notes what happens in this process.
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

    /// A new process begins.
    pub(crate) fn begin(&self, step: &Step) -> CancelToken {
        let token = CancelToken::default();
        *locked(&self.process) = Process {
            crash: step.crash.map(|(at, _)| at),
            lost: step.lost.map(|(at, _)| at),
            cancel: step.cancel,
            token: token.clone(),
            faults: step.faults.iter().copied().collect(),
            rng: Rng::new(step.timing),
            ..Process::default()
        };
        token
    }

    /// How many points and calls there were.
    pub(crate) fn reached(&self) -> (u32, u32) {
        let process = locked(&self.process);
        (process.points, process.calls)
    }

    /// Counts a point; says whether the process still lives.
    pub(crate) fn passes(&self) -> bool {
        let mut process = locked(&self.process);
        if process.is_gone {
            return false;
        }
        process.points += 1;
        let now = process.points;
        if process.crash == Some(now) {
            process.is_gone = true;
            drop(process);
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

    /// Counts a call, and says what goes wrong with it.
    pub(crate) fn call(&self) -> (u32, Option<Fault>) {
        let mut process = locked(&self.process);
        process.calls += 1;
        let number = process.calls;
        (number, process.faults.get(&number).copied())
    }

    pub(crate) fn draw(&self, bound: u32) -> u32 {
        locked(&self.process).rng.below(bound)
    }

    /// Waits; says whether calls were cut off meanwhile.
    pub(crate) async fn wait(&self, ms: u64) -> bool {
        let cut = self.cut.notified();
        tokio::pin!(cut);
        cut.as_mut().enable();
        if locked(&self.process).is_cut {
            return true;
        }
        tokio::select! {
            biased;
            () = cut => true,
            () = tokio::time::sleep(Duration::from_millis(ms)) => false,
        }
    }
}

pub(crate) type Shared = Arc<Sim>;
