//! Systems that show new objects late. As a run does, the examination believes an empty answer of `read`
//! about an object that it created only once the grace of the driver has passed
//! ([`purlin_model::Limits::grace`]).

use std::time::{Duration, Instant};

use purlin_model::Label;

/// The first pause before another look; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The objects that exist, and how long they may not be shown.
#[derive(Debug)]
pub(crate) struct Lag {
    grace: Duration,
    created: Vec<Created>,
    /// Whether an object was not shown for the whole grace. The driver or its system is at fault, and
    /// further examples are not worth the wait.
    is_exceeded: bool,
}

#[derive(Debug)]
struct Created {
    id: Label,
    name: String,
    /// The end of the call that created it.
    since: Instant,
    /// How long to wait before the next look.
    pause: Duration,
}

impl Lag {
    pub(crate) fn new(grace: Duration) -> Self {
        Self { grace, created: Vec::new(), is_exceeded: false }
    }

    /// An object was created. What is created again is as old as it was.
    pub(crate) fn created(&mut self, id: &Label, name: &str) {
        if !self.created.iter().any(|known| known.id.expose() == id.expose()) {
            let (id, name) = (id.clone(), name.to_owned());
            self.created.push(Created { id, name, since: Instant::now(), pause: FIRST_PAUSE });
        }
    }

    /// An object was deleted.
    pub(crate) fn deleted(&mut self, id: &Label) {
        self.created.retain(|known| known.id.expose() != id.expose());
    }

    /// How long to wait before looking again for what a look that began at `looked` did not show, by its
    /// id or else by its name. `None` if the answer is certain.
    pub(crate) fn pause(&mut self, id: Option<&str>, name: &str, looked: Instant) -> Option<Duration> {
        if self.is_exceeded {
            return None;
        }
        let is_it = |known: &&mut Created| match id {
            Some(id) => known.id.expose() == id,
            None => known.name == name,
        };
        let known = self.created.iter_mut().rev().find(is_it)?;
        let left = self.grace.checked_sub(looked.saturating_duration_since(known.since));
        let Some(left) = left.filter(|left| !left.is_zero()) else {
            self.is_exceeded = true;
            return None;
        };
        let pause = known.pause.min(left);
        known.pause = (known.pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lag(grace: u64) -> (Lag, Instant) {
        let mut lag = Lag::new(Duration::from_secs(grace));
        lag.created(&Label::from("id-1"), "name");
        let since = lag.created[0].since;
        (lag, since)
    }

    #[test]
    fn what_was_created_is_looked_for_within_the_grace() {
        let (mut lag, since) = lag(30);
        let after = |seconds| since + Duration::from_secs(seconds);
        assert_eq!(lag.pause(Some("id-1"), "", after(0)), Some(FIRST_PAUSE));
        assert_eq!(lag.pause(None, "name", after(0)), Some(FIRST_PAUSE * 2));
        for _ in 0..20 {
            assert!(lag.pause(Some("id-1"), "", after(1)).is_some_and(|pause| pause <= LONGEST_PAUSE));
        }
        let half = Duration::from_millis(500);
        assert_eq!(lag.pause(Some("id-1"), "", after(30) - half), Some(half));
        assert_eq!(lag.pause(Some("id-1"), "", after(30)), None);
        assert_eq!(lag.pause(Some("id-1"), "", after(0)), None, "it had its time");
    }

    #[test]
    fn what_was_not_created_or_is_deleted_is_not_looked_for() {
        let (mut lag, since) = lag(30);
        assert_eq!(lag.pause(Some("id-2"), "name", since), None);
        assert_eq!(lag.pause(None, "another", since), None);
        lag.deleted(&Label::from("id-1"));
        assert_eq!(lag.pause(Some("id-1"), "name", since), None);
        let (mut none, since) = self::lag(0);
        assert_eq!(none.pause(Some("id-1"), "name", since), None);
    }
}
