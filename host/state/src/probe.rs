//! Crash points: places where tests kill the program.

use std::fmt;
use std::sync::Arc;

/// Called at each crash point: before and after each write, sync and
/// rename. For tests.
#[derive(Clone)]
pub struct Probe(Arc<dyn Fn(&'static str) + Send + Sync>);

impl Probe {
    /// A probe that calls `call` with the name of the place.
    pub fn new(call: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    /// Reports a place.
    pub fn at(&self, place: &'static str) {
        (self.0)(place);
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

/// An optional probe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probed(pub(crate) Option<Probe>);

impl Probed {
    /// Reports the current place of the store.
    pub(crate) fn at(&self, place: &'static str) {
        if let Some(Probe(call)) = &self.0 {
            call(place);
        }
    }
}
