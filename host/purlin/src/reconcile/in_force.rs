//! Which documents a watch keeps to while newer ones are wrong, and how the state says so (SPEC §7).

use std::sync::Arc;

use purlin_model::Diagnostic;
use purlin_state::{Change, Deployment, Outcome, RejectedDocuments, RolloutMark};

use crate::{Documents, Error, Session};

/// The documents to keep to, and why newer ones are rejected.
#[derive(Default)]
pub(super) struct InForce {
    /// Whether there is anything to keep to: a single pass ends with the error.
    watches: bool,
    /// Whether the current documents are the ones in force.
    is_accepted: bool,
    /// The archive of the last documents that were accepted. Until then, those of the last deployment
    /// are in force.
    archive: Option<Vec<u8>>,
    /// The same, as read.
    documents: Option<Arc<Documents>>,
    /// Why the current documents are rejected.
    rejected: Option<Rejection>,
    /// Why the newest ones cannot be read.
    unreadable: Option<Rejection>,
    /// Since when they are, or cannot be read.
    since: Option<u64>,
    /// What the state says, as long as that is known.
    noted: Option<Said>,
}

/// Which newer documents the state says are rejected, and what it says of roll-outs, if a turn decides that,
/// and the number of the last deployment.
type Said = (Option<Rejection>, Option<Arc<[RolloutMark]>>, Option<u64>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rejection {
    why: Arc<str>,
    faults: u64,
}

impl Rejection {
    fn new(faults: &[Diagnostic]) -> Self {
        let first = faults.iter().find(|fault| fault.is_error()).or(faults.first());
        let why = first.map_or_else(String::new, |fault| match &fault.location {
            Some(location) => format!("{location}: {} ({})", fault.message, fault.code),
            None => format!("{} ({})", fault.message, fault.code),
        });
        let faults = faults.iter().filter(|fault| fault.is_error()).count();
        Self { why: why.into(), faults: faults.max(1) as u64 }
    }
}

impl InForce {
    pub(super) fn of_watch() -> Self {
        Self { watches: true, ..Self::default() }
    }

    /// The documents were read again.
    pub(super) fn changed(&mut self) {
        (self.is_accepted, self.unreadable) = (false, None);
    }

    /// Others have deployed: what is in force is in the state.
    pub(super) fn forget(&mut self) {
        (self.archive, self.documents, self.noted) = (None, None, None);
    }

    /// The history has changed, so that it is not known what it says.
    pub(super) fn is_unknown(&mut self) {
        self.noted = None;
    }

    pub(super) fn unreadable(&mut self, faults: &[Diagnostic]) {
        self.unreadable = Some(Rejection::new(faults));
    }

    /// A pass was made with the current documents.
    pub(super) fn accept(&mut self, documents: &Documents) {
        self.rejected = None;
        if self.watches && !self.is_accepted {
            self.is_accepted = true;
            (self.archive, self.documents) = (Some(documents.archive()), None);
        }
    }

    /// Returns why the documents are rejected, for people.
    pub(super) fn reject(&mut self, error: &Error) -> Arc<str> {
        self.is_accepted = false;
        let rejection = match error {
            Error::Documents(faults) => Rejection::new(faults),
            error => Rejection { why: error.to_string().into(), faults: 1 },
        };
        Arc::clone(&self.rejected.insert(rejection).why)
    }

    /// Whether the last pass was made with other documents than the current ones.
    pub(super) fn is_rejecting(&self) -> bool {
        self.rejected.is_some()
    }

    /// The documents in force instead of the current ones; `None` if there are no others.
    pub(super) async fn earlier(&mut self, session: &Session<'_>) -> Result<Option<Arc<Documents>>, Error> {
        // What is in force is wrong itself by now: there is nothing else.
        if !self.watches || self.is_accepted {
            return Ok(None);
        }
        if self.documents.is_none() {
            let id = session.purlin.deployment_id()?;
            let documents = match &self.archive {
                Some(archive) => Documents::from_archive(archive, &id)?,
                None => match session.purlin.last_deployed(session.environment()).await? {
                    Some(last) => last.documents(&id)?,
                    None => return Ok(None),
                },
            };
            self.documents = Some(Arc::new(documents));
        }
        Ok(self.documents.clone())
    }

    /// Records in the latest entry of the history since when documents are rejected, and why, or that they
    /// no longer are.
    ///
    /// `entry` is the one that the next pass writes again. `found` is the number of the last deployment, and whether
    /// everything matches: a deployment whose host was killed has then ended.
    pub(super) async fn note(
        &mut self,
        session: &Session<'_>,
        entry: Option<&mut Deployment>,
        (last, is_in_sync): (Option<u64>, bool),
    ) -> Result<(), Error> {
        // The newest ones count.
        let now = self.unreadable.clone().or_else(|| self.rejected.clone());
        let said = (now.clone(), session.rollouts.clone(), last);
        if !self.watches || self.noted.as_ref() == Some(&said) {
            return Ok(());
        }
        let history = session.purlin.history(session.environment()).await?;
        if let Some(latest) = history.into_iter().next_back() {
            let before = self.since.or(latest.rejected.as_deref().map(|before| before.since));
            let since = before.unwrap_or_else(|| (session.clock())());
            self.since = now.is_some().then_some(since);
            let rejected = now.as_ref().map(|Rejection { why, faults }| {
                Box::new(RejectedDocuments { since, why: Arc::clone(why), faults: *faults })
            });
            let rollouts = session.rollouts.clone().unwrap_or_else(|| Arc::clone(&latest.rollouts));
            if let Some(entry) = entry.filter(|entry| entry.id == latest.id) {
                entry.rejected.clone_from(&rejected);
                entry.rollouts.clone_from(&rollouts);
            }
            let has_ended = latest.outcome == Outcome::Unfinished && is_in_sync;
            if rejected != latest.rejected || rollouts != latest.rollouts || has_ended {
                let (outcome, ended) = match has_ended {
                    true => (Outcome::Succeeded, Some((session.clock())())),
                    false => (latest.outcome, latest.ended),
                };
                let entry = Box::new(Deployment { rejected, rollouts, outcome, ended, ..latest });
                session
                    .lock
                    .notes()
                    .commit(vec![Change::Deployed { deployment: entry, documents: None }])
                    .await?;
            }
        }
        self.noted = Some(said);
        Ok(())
    }
}
