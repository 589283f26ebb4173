//! What the host saw while it served a call: the last trouble with a server, and what no grant
//! covered. It is the same for drivers in every language, and does not depend on what they say.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purlin_model::grants::Need;
use purlin_model::trouble::Trouble;

/// Facts about a call, or about several that are one effort. Clones are the same facts.
#[derive(Clone, Debug, Default)]
pub struct Facts(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    trouble: Option<Trouble>,
    refused: Vec<Need>,
}

/// Different refusals that are kept.
const MOST_REFUSED: usize = 100;

impl Facts {
    /// A server could not be talked to, or replied with an error.
    pub fn trouble(&self, trouble: Trouble) {
        self.seen().trouble = Some(trouble);
    }

    /// A server was talked to as it should be: what was in the way before is not any more.
    pub fn served(&self) {
        self.seen().trouble = None;
    }

    /// No grant covers what was asked for.
    pub fn refused(&self, need: Need) {
        let mut seen = self.seen();
        if seen.refused.len() < MOST_REFUSED && !seen.refused.contains(&need) {
            seen.refused.push(need);
        }
    }

    /// The last trouble with a server, if the last time was one.
    pub fn last_trouble(&self) -> Option<Trouble> {
        self.seen().trouble.clone()
    }

    /// What no grant covered, each once.
    pub fn all_refused(&self) -> Vec<Need> {
        self.seen().refused.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_model::trouble::Problem;

    #[test]
    fn only_the_last_trouble_counts_and_refusals_are_kept_once() {
        let facts = Facts::default();
        let trouble = Trouble { server: "a:1".into(), request: None, problem: Problem::Refused };
        facts.trouble(trouble.clone());
        assert_eq!(facts.last_trouble(), Some(trouble));
        facts.served();
        assert_eq!(facts.last_trouble(), None);
        for _ in 0..3 {
            facts.clone().refused(Need::new("tcp", "a:1"));
        }
        assert_eq!(facts.all_refused(), [Need::new("tcp", "a:1")]);
    }
}
