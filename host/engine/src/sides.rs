//! Whether things are made or deleted through a driver right now: never both at once.
//!
//! Nobody knows before a call ends which real thing it made; it may be the very one that another
//! resource is about to delete, where two resources change places or one takes the name of another.
//! Apart from each other, either the deletion comes first, and the thing is made anew, or it finds
//! recorded that another resource is the same thing, and leaves it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// What is done to things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Making,
    Deleting,
}

/// Each driver through which things are made or deleted now, and how many.
#[derive(Default)]
pub(crate) struct Sides {
    now: Mutex<HashMap<Arc<str>, (Side, usize)>>,
    changed: Notify,
}

/// The right to be on a side, as long as it lives.
pub(crate) struct OnSide<'a> {
    sides: &'a Sides,
    driver: Arc<str>,
}

impl Sides {
    /// Waits until nobody is on the other side of a driver.
    pub(crate) async fn enter(&self, driver: &str, side: Side) -> OnSide<'_> {
        let driver: Arc<str> = driver.into();
        loop {
            // Whoever leaves between the look and the wait is noticed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.try_enter(&driver, side) {
                return OnSide { sides: self, driver };
            }
            changed.await;
        }
    }

    fn try_enter(&self, driver: &Arc<str>, side: Side) -> bool {
        let mut now = self.now();
        let (held, count) = now.entry(Arc::clone(driver)).or_insert((side, 0));
        if *held != side {
            return false;
        }
        *count += 1;
        true
    }

    fn now(&self) -> MutexGuard<'_, HashMap<Arc<str>, (Side, usize)>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OnSide<'_> {
    fn drop(&mut self) {
        let mut now = self.sides.now();
        let Some((_, count)) = now.get_mut(&self.driver) else { return };
        *count -= 1;
        if *count == 0 {
            now.remove(&self.driver);
            drop(now);
            self.sides.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(done) => Some(done),
            std::task::Poll::Pending => None,
        }
    }

    #[test]
    fn only_one_side_of_a_driver_at_a_time() {
        let sides = Sides::default();
        let one = now(sides.enter("a/b", Side::Making)).expect("nobody is there");
        let other = now(sides.enter("a/b", Side::Making)).expect("on the same side");
        assert!(now(sides.enter("a/b", Side::Deleting)).is_none());
        let elsewhere = now(sides.enter("a/c", Side::Deleting)).expect("another driver");
        drop(one);
        assert!(now(sides.enter("a/b", Side::Deleting)).is_none());
        drop(other);
        let after = now(sides.enter("a/b", Side::Deleting)).expect("they left");
        assert!(now(sides.enter("a/b", Side::Making)).is_none());
        drop((after, elsewhere));
        assert!(sides.now().is_empty());
    }
}
