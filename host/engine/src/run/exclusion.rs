//! Ensures that a driver never creates and deletes objects at the same time.
//!
//! Until a call ends, it is unknown which object it created. It may be the same one that another
//! resource is about to delete, if two resources swap places or one takes the name of another. With
//! creations and deletions kept apart, either the deletion comes first and the object is created
//! again, or the deletion finds in the records that another resource has the same object, and
//! leaves it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Making,
    Deleting,
}

/// For each driver, the kind of its current calls, and their number.
#[derive(Default)]
pub(crate) struct Sides {
    now: Mutex<HashMap<Arc<str>, (Side, usize)>>,
    changed: Notify,
}

/// The permission to be on a side, valid until it is dropped.
pub(crate) struct OnSide<'a> {
    sides: &'a Sides,
    driver: Arc<str>,
}

impl Sides {
    /// Waits until the driver has no call on the other side.
    pub(crate) async fn enter(&self, driver: &str, side: Side) -> OnSide<'_> {
        let driver: Arc<str> = driver.into();
        loop {
            // Notices calls that end between the check and the wait.
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
    fn only_one_side_of_a_driver_works_at_a_time() {
        let sides = Sides::default();
        let one = now(sides.enter("a/b", Side::Making)).expect("the connection was refused");
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
