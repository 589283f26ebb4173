//! The host's observations while it served a call: the last problem with a server, and missing
//! grants. They are the same for drivers in every language, and do not depend on the driver's own
//! messages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purlin_model::grants::Need;
use purlin_model::trouble::Trouble;

/// Facts about a call, or about several calls of one operation. Clones share the facts.
#[derive(Clone, Debug, Default)]
pub struct Facts(Arc<Mutex<Observations>>);

#[derive(Debug, Default)]
struct Observations {
    trouble: Option<Trouble>,
    refused: Vec<Need>,
}

/// The number of different denials that are kept.
const MOST_REFUSED: usize = 100;

impl Facts {
    /// Records that a server could not be reached, or replied with an error.
    pub fn trouble(&self, trouble: Trouble) {
        self.seen().trouble = Some(trouble);
    }

    /// Records that communication with a server succeeded: the earlier problem is over.
    pub fn served(&self) {
        self.seen().trouble = None;
    }

    /// Records a missing grant.
    pub fn refused(&self, need: Need) {
        let mut seen = self.seen();
        if seen.refused.len() < MOST_REFUSED && !seen.refused.contains(&need) {
            seen.refused.push(need);
        }
    }

    /// The last problem with a server, if the last attempt had one.
    pub fn last_trouble(&self) -> Option<Trouble> {
        self.seen().trouble.clone()
    }

    /// The missing grants, each once.
    pub fn all_refused(&self) -> Vec<Need> {
        self.seen().refused.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Observations> {
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
