//! The time limit of a call. It must not know what the call does.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

/// Runs work for at most `time`. Returns `None` if it takes longer.
///
/// Work is not resumed once its time has passed. After a suspended host wakes, the awaited answer may
/// arrive before any timer, and the guest would send a request while others use the environment.
pub(crate) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let ends = Instant::now().checked_add(time);
    let mut work = pin!(work);
    let work = poll_fn(|context| match ends.is_some_and(|ends| ends <= Instant::now()) {
        true => Poll::Ready(None),
        false => work.as_mut().poll(context).map(Some),
    });
    tokio::select! {
        biased;
        done = work => done,
        () = tokio::time::sleep(time) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_wakes_after_its_time_does_nothing_more() {
        let second = Duration::from_secs(1);
        assert_eq!(within(second, async { 1 }).await, Some(1));
        let (answer, answered) = oneshot::channel();
        let requests = Cell::new(0);
        let mut work = pin!(within(second, async {
            drop(answered.await);
            requests.set(requests.get() + 1);
        }));
        assert!(futures::poll!(&mut work).is_pending());
        tokio::time::advance(second * 2).await;
        answer.send(()).expect("it waits");
        assert_eq!((work.await, requests.get()), (None, 0));
    }
}
