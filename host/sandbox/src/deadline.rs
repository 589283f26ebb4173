//! The moment when a call ends. Nothing of the call may begin after it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use purlin_files::Moment;
use tokio::time::Instant;
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn_blocking};

/// Why an operation was not begun. The call is over, so that no user sees this text.
pub(crate) const PASSED: &str = "the time of the call has passed";
/// The longest time until a deadline: longer ones would exceed the range of the clocks.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
/// How often a call that waits looks at the clock that includes suspension: no timer does.
const LOOK: Duration = Duration::from_secs(1);

/// The moment when a call ends.
///
/// After a suspended host wakes, other hosts may use the environment, and an awaited answer may arrive before
/// any timer. So everything that could begin something more checks the time itself: the guest before it is
/// resumed and whenever it calls the host, each task of its requests before it is resumed, and each thread
/// before it changes a file.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    timer: Instant,
    /// The timer stops while the machine is suspended.
    moment: Moment,
}

impl Deadline {
    /// The deadline of a call that begins now and may take `time`.
    pub(crate) fn after(time: Duration) -> Self {
        let time = time.min(LONGEST);
        Self { timer: Instant::now() + time, moment: Moment::now() + time }
    }

    /// The time until then.
    pub(crate) fn left(self) -> Duration {
        self.timer.saturating_duration_since(Instant::now()).min(self.moment.left())
    }

    pub(crate) fn has_passed(self) -> bool {
        self.timer <= Instant::now() || self.moment <= Moment::now()
    }

    /// Runs work, which is not resumed after the deadline. Returns `None` if it takes longer.
    pub(crate) async fn limit<T>(self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let work = poll_fn(|context| match self.has_passed() {
            true => Poll::Ready(None),
            // Work that noticed the deadline may have skipped something, so that its result is false.
            false => work.as_mut().poll(context).map(|done| (!self.has_passed()).then_some(done)),
        });
        tokio::select! {
            biased;
            done = work => done,
            () = self.passed() => None,
        }
    }

    async fn passed(self) {
        while !self.has_passed() {
            tokio::time::sleep_until(self.timer.min(Instant::now() + LOOK)).await;
        }
    }

    /// Runs work that blocks, on another thread. Returns `None` if the thread starts after the deadline: it
    /// then does nothing.
    pub(crate) fn block<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> AbortOnDropJoinHandle<Option<T>> {
        spawn_blocking(move || if self.has_passed() { None } else { Some(work()) })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::sync::oneshot;

    use super::*;

    /// Only the timer obeys the test: the other clock goes on, and must not get there first.
    const HOUR: Duration = Duration::from_secs(60 * 60);

    #[tokio::test(start_paused = true)]
    async fn work_that_wakes_after_the_deadline_does_nothing_more() {
        assert_eq!(Deadline::after(HOUR).limit(async { 1 }).await, Some(1));
        let (answer, answered) = oneshot::channel();
        let requests = Cell::new(0);
        let mut work = pin!(Deadline::after(HOUR).limit(async {
            drop(answered.await);
            requests.set(requests.get() + 1);
        }));
        assert!(futures::poll!(&mut work).is_pending());
        tokio::time::advance(HOUR * 2).await;
        answer.send(()).expect("it waits");
        assert_eq!((work.await, requests.get()), (None, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_thread_that_starts_after_the_deadline_does_nothing() {
        let deadline = Deadline::after(HOUR);
        assert_eq!(deadline.block(|| 1).await, Some(1));
        tokio::time::advance(HOUR * 2).await;
        assert_eq!(deadline.block(|| 1).await, None);
    }

    #[tokio::test]
    async fn the_longest_time_has_a_deadline() {
        assert_eq!(Deadline::after(Duration::MAX).limit(async { 1 }).await, Some(1));
    }
}
