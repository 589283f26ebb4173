//! Two hosts in one environment: the first is stopped during its command, the other one takes the
//! environment over once the lease has expired, and the first continues while the other one works.
//!
//! Each host has its own runtime, which stands still while the host is stopped, and whose clock
//! then jumps. So everything that waited on it wakes as on a real machine: all at once, and in any
//! order. Requests that were in transit when the host was stopped arrive within the time limit of
//! their calls.
//!
//! The promises: no other host gets the environment before the lease has expired by the clock of
//! the store; a host without the lease writes nothing, starts no call and reports why it ended; and
//! both hosts come to an end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use purlin_engine::Cause;
use purlin_sandbox::CallError;
use purlin_state::Error;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::drivers::LIMIT;
use crate::environment::{Ended, SimEnvironment};
use crate::life::{BrokenPromise, Life};
use crate::request::Sent;
use crate::rng::Rng;
use crate::scenario::{Step, Stop, Wakes};
use crate::sim::Shared;
use crate::store::{SimStore, named};

/// How long a host may take to end once it continues without the lease. It may be planning, and
/// calls for a plan take time without effects.
const TO_END: Duration = Duration::from_mins(10);

type Process<'a> = Pin<Box<dyn Future<Output = Result<Ended, BrokenPromise>> + 'a>>;

/// A host that works in an environment.
struct Host<'a> {
    sim: Shared,
    store: SimStore,
    runtime: Runtime,
    process: Option<Process<'a>>,
    ended: Option<Result<Ended, BrokenPromise>>,
}

impl<'a> Host<'a> {
    /// A host whose clock is fast by this many millionths, and starts at a time of the store.
    fn begin(
        place: &'a mut SimEnvironment,
        step: &'a Step,
        rate: i32,
        at: Duration,
    ) -> Result<Self, BrokenPromise> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let (sim, store) = (Arc::clone(&place.sim), place.store.clone());
        {
            let _inside = runtime.enter();
            sim.set_clock(Clock::new(rate, at));
        }
        let process = Some(Box::pin(place.process(step)) as Process<'a>);
        Ok(Self { sim, store, runtime, process, ended: None })
    }

    fn now(&self) -> Duration {
        let _inside = self.runtime.enter();
        self.sim.now()
    }

    /// Lets it work until it is stopped or ends.
    fn work(&mut self) {
        let Some(process) = &mut self.process else { return };
        let ended = self.runtime.block_on(async {
            tokio::select! {
                biased;
                ended = process => Some(ended),
                () = self.sim.stopped() => None,
            }
        });
        self.has_ended(ended);
    }

    /// The same for a host that has little left to do.
    fn work_briefly(&mut self) -> Result<(), BrokenPromise> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let ended = self.runtime.block_on(async { tokio::time::timeout(TO_END, process).await });
        match ended {
            Ok(ended) => self.has_ended(Some(ended)),
            Err(_) => return Err("a host that lost the lease goes on".into()),
        }
        Ok(())
    }

    fn has_ended(&mut self, ended: Option<Result<Ended, BrokenPromise>>) {
        if ended.is_some() {
            (self.process, self.ended) = (None, ended);
        }
    }

    /// Its clock advances to a time of the store. Tasks that waited on the host wake when it next
    /// does anything.
    fn catch_up(&self, store: Duration) {
        self.runtime.block_on(async {
            let behind = self.sim.behind(store);
            tokio::time::advance(behind).await;
        });
    }

    /// Lets a request arrive after a time of the store during which this host is alive.
    fn receives(&self, request: Arc<dyn Sent>, after: Duration) {
        let _inside = self.runtime.enter();
        let arrives = Instant::now() + self.sim.in_own(after);
        self.runtime.spawn(async move {
            tokio::time::sleep_until(arrives).await;
            request.arrive();
        });
    }

    /// Its request for the environment is rejected now, with the holder.
    fn is_refused(&self, by: u8) -> Result<(), BrokenPromise> {
        let _inside = self.runtime.enter();
        match self.store.take(0) {
            Err(Error::Locked { holder: Some(holder), .. }) if *holder == named(by) => Ok(()),
            other => Err(format!("the lease of another host has not expired, and yet: {other:?}")),
        }
    }

    /// The host is gone for good.
    fn kill(&mut self) {
        self.process = None;
        self.store.crash(0);
        self.store.forget();
        self.ended = Some(Ok(Ended { crashed: true, ..Ended::default() }));
    }

    fn end(self) -> Result<Ended, BrokenPromise> {
        self.ended.unwrap_or_else(|| Err("a host did not come to its end".into()))
    }
}

impl Life {
    /// Runs two steps of one environment on two hosts.
    pub(crate) fn take_over(
        &mut self,
        number: usize,
        stop: &Stop,
        (first, second): (&Step, &Step),
    ) -> Result<Vec<Ended>, BrokenPromise> {
        let place = &mut self.places[number];
        let mut other = place.beside();
        (place.host, other.host) = (Some(1), Some(2));
        // A process that was killed here left a lease.
        let begins = self.now.max(place.store.expires().unwrap_or_default()) + Duration::from_millis(1);
        let waking = match stop.wakes {
            Wakes::At(at) => Some(Stop { at, ..stop.clone() }),
            Wakes::Early(_) | Wakes::Never => None,
        };
        let second = Step { stop: waking, ..second.clone() };
        let mut requests = Vec::new();
        let ended = {
            let mut rng = Rng::new(stop.chance);
            let mut a = Host::begin(place, first, stop.rates[0], begins)?;
            a.work();
            let mut b = Host::begin(&mut other, &second, stop.rates[1], a.now())?;
            if a.process.is_some() {
                a.store.reach(stop.kept);
                let sent = a.sends(&mut rng);
                requests.extend(sent.iter().map(|(request, _)| Arc::clone(request)));
                let expires = a.store.expires().unwrap_or_default();
                b.is_refused(1)?;
                if let Wakes::Early(part) = stop.wakes {
                    let left = expires.saturating_sub(a.now());
                    let wakes = a.now() + left * u32::from(part) / 256;
                    b.catch_up(wakes);
                    b.is_refused(1)?;
                    let due: Vec<_> =
                        sent.iter().map(|(request, after)| (Arc::clone(request), a.now() + *after)).collect();
                    sent.into_iter().for_each(|(request, after)| a.receives(request, after));
                    a.catch_up(wakes);
                    a.sim.resume();
                    a.work();
                    // Also what a person cut off may still arrive.
                    for (request, due) in due {
                        b.receives(request, due.saturating_sub(b.now()));
                    }
                } else {
                    let begun = a.now();
                    b.catch_up(expires - Duration::from_millis(1));
                    b.is_refused(1)?;
                    b.catch_up(expires + Duration::from_millis(1 + u64::from(rng.below(200))));
                    for (request, after) in sent {
                        b.receives(request, (begun + after).saturating_sub(b.now()));
                    }
                }
            }
            if a.process.is_none() {
                // A killed process leaves its lease.
                let free = a.store.expires().unwrap_or_default() + Duration::from_millis(1);
                b.catch_up(a.now().max(free));
            }
            b.work();
            if a.process.is_some() {
                match stop.wakes {
                    Wakes::Never => a.kill(),
                    _ => a.wakes_without_lease(b.now(), &mut rng)?,
                }
            }
            // The first one no longer had effects, so the second one need not know how long it
            // took.
            b.sim.resume();
            b.work();
            self.now = a.now().max(b.now());
            [a.end()?, b.end()?]
        };
        // Requests in transit when the second host was killed while waiting arrive before any other
        // host starts.
        requests.iter().for_each(|request| request.arrive());
        let place = &mut self.places[number];
        place.host = None;
        place.goes_on_as(other);
        Ok(ended.into())
    }
}

impl Host<'_> {
    /// Decides which of its requests are in transit when it stops, and how long each still takes.
    /// The others are still on the host, or lost.
    fn sends(&self, rng: &mut Rng) -> Vec<(Arc<dyn Sent>, Duration)> {
        let _inside = self.runtime.enter();
        let mut sent = Vec::new();
        for request in self.sim.requests() {
            let left = self.sim.time_left(request.begun(), LIMIT).saturating_sub(Duration::from_millis(1));
            match rng.below(5) {
                0 => {}
                1 => request.lose(),
                chance => {
                    request.send();
                    let after = if chance == 2 { left } else { left * rng.below(1_000) / 1_000 };
                    sent.push((request, after));
                }
            }
        }
        sent
    }

    fn wakes_without_lease(&mut self, now: Duration, rng: &mut Rng) -> Result<(), BrokenPromise> {
        let before = self.store.durable().map_err(|error| error.to_string())?.revision;
        if rng.chance(50) {
            self.catch_up(now);
            self.sim.resume();
        } else {
            self.sim.resume();
            self.catch_up(now);
        }
        self.work_briefly()?;
        let after = self.store.durable().map_err(|error| error.to_string())?.revision;
        if before != after {
            return Err("a host without the lease wrote to the state".into());
        }
        if let Some(Ok(ended)) = &self.ended
            && !ended.reports_lost_lease()
        {
            return Err(format!("a host that lost the lease does not say so: {ended:?}"));
        }
        Ok(())
    }
}

impl Ended {
    /// Whether a command whose host lost the lease reports that, unless everything that it did was
    /// recorded before.
    fn reports_lost_lease(&self) -> bool {
        let is_lost =
            |cause: &Cause| matches!(cause, Cause::State(error) if matches!(**error, Error::Lost { .. }));
        let is_cut = |cause: &Cause| matches!(cause, Cause::Call(failed) if matches!(failed.error, CallError::Cancelled));
        let Some(last) = self.summaries.last().filter(|_| self.is_lost) else { return true };
        let is_ours = |cause: &Cause| is_lost(cause) || is_cut(cause) && !self.is_cancelled;
        let was_recorded =
            (!last.cancelled || self.is_cancelled) && !last.failed.iter().any(|(_, cause)| is_ours(cause));
        was_recorded || last.halted.as_ref().is_some_and(is_lost)
    }
}
