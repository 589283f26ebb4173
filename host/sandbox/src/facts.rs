//! The host's observations while it served a call: the last problem with a server, and missing
//! grants. They are the same for drivers in every language, and do not depend on the driver's own
//! messages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purlin_model::grants::Need;
use purlin_model::server_problem::ServerProblem;

/// Facts about a call, or about several calls of one operation. Clones share the facts.
#[derive(Clone, Debug, Default)]
pub struct Facts(Arc<Mutex<Observations>>);

#[derive(Debug, Default)]
struct Observations {
    server_problem: Option<ServerProblem>,
    refused: Vec<Need>,
}

/// The number of different denials that are kept.
const MOST_REFUSED: usize = 100;

impl Facts {
    /// Records that a server could not be reached, or replied with an error.
    pub fn server_problem(&self, problem: ServerProblem) {
        self.seen().server_problem = Some(problem);
    }

    /// Records that communication with a server succeeded: the earlier problem is over.
    pub fn served(&self) {
        self.seen().server_problem = None;
    }

    /// Records a missing grant.
    pub fn refused(&self, need: Need) {
        let mut seen = self.seen();
        if seen.refused.len() < MOST_REFUSED && !seen.refused.contains(&need) {
            seen.refused.push(need);
        }
    }

    /// The last problem with a server, if the last attempt had one.
    pub fn last_server_problem(&self) -> Option<ServerProblem> {
        self.seen().server_problem.clone()
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
    use purlin_model::grants::Capability;
    use purlin_model::server_problem::ProblemKind;

    #[test]
    fn only_the_last_problem_counts_and_refusals_are_kept_once() {
        let facts = Facts::default();
        let problem = ServerProblem { server: "a:1".into(), request: None, kind: ProblemKind::Refused };
        facts.server_problem(problem.clone());
        assert_eq!(facts.last_server_problem(), Some(problem));
        facts.served();
        assert_eq!(facts.last_server_problem(), None);
        for _ in 0..3 {
            facts.clone().refused(Need::new(Capability::Tcp, "a:1"));
        }
        assert_eq!(facts.all_refused(), [Need::new(Capability::Tcp, "a:1")]);
    }
}
