//! Requests in transit from a driver to the system that it manages. A stopped host cannot take them
//! back: they arrive at any time within the limit of the driver's call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

type Effect<T> = Box<dyn FnOnce() -> T + Send>;

/// A request, with its effect in the system.
pub(crate) struct Request<T> {
    /// When the call began, by the clock of its host.
    begun: Instant,
    /// Until when it may arrive after its process was killed, by the clock of the store; `None` if it may not.
    lasts_until: Option<u64>,
    state: Mutex<State<T>>,
}

enum State<T> {
    /// Still on its host.
    Here(Effect<T>),
    /// In transit, whatever its host does.
    Sent(Effect<T>),
    Answered(T),
    Lost,
}

/// A request as the network sees it.
pub(crate) trait Sent: Send + Sync {
    fn begun(&self) -> Instant;
    /// Until when it may arrive after its process was killed, by the clock of the store; `None` if it may not.
    fn lasts_until(&self) -> Option<u64>;
    /// Sends it: from now on, the system alone determines when it arrives.
    fn send(&self);
    /// The system carries it out if it was sent and did not arrive before.
    fn arrive(&self);
    /// It never arrives.
    fn lose(&self);
}

impl<T: Send> Request<T> {
    /// With `lasts_until`, it may arrive after its process was killed, until then.
    pub(crate) fn new(lasts_until: Option<u64>, effect: impl FnOnce() -> T + Send + 'static) -> Arc<Self> {
        let state = Mutex::new(State::Here(Box::new(effect)));
        Arc::new(Self { begun: Instant::now(), lasts_until, state })
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The response; a request that is still on the host is carried out now. `None` if it is in
    /// transit or lost.
    pub(crate) fn answer(&self) -> Option<T> {
        let before = std::mem::replace(&mut *self.state(), State::Lost);
        match before {
            State::Here(effect) => Some(effect()),
            State::Answered(answer) => Some(answer),
            State::Sent(effect) => {
                *self.state() = State::Sent(effect);
                None
            }
            State::Lost => None,
        }
    }
}

impl<T: Send> Sent for Request<T> {
    fn begun(&self) -> Instant {
        self.begun
    }

    fn lasts_until(&self) -> Option<u64> {
        self.lasts_until
    }

    fn send(&self) {
        let mut state = self.state();
        *state = match std::mem::replace(&mut *state, State::Lost) {
            State::Here(effect) => State::Sent(effect),
            other => other,
        };
    }

    fn arrive(&self) {
        let mut state = self.state();
        *state = match std::mem::replace(&mut *state, State::Lost) {
            State::Sent(effect) => State::Answered(effect()),
            other => other,
        };
    }

    fn lose(&self) {
        *self.state() = State::Lost;
    }
}
