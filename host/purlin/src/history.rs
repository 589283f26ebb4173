//! The history of deployments (SPEC §9): an entry is written before a run begins and when it ends,
//! with the documents of the deployment.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use purlin_engine::{Action, CancelToken, Event, Phase, Plan, Run, Summary};
use purlin_model::{Key, RequirementContext, Urn};
use purlin_state::{Change, Deployment, Environment, Holder, Outcome, Writer};
use sha2::{Digest, Sha256};

use crate::archive::Archive;
use crate::audited::Act;
use crate::losses::mentions_losses;
use crate::sharing::Claims;
use crate::{ContextChanges, Documents, Error, Purlin, Session};

impl Session<'_> {
    /// Executes a plan and records the result in the history, with the documents. A plan without
    /// steps leaves no entry, unless its documents may differ from the last ones in the data losses
    /// that they allow.
    ///
    /// # Errors
    /// If the plan was made offline, or the history cannot be written;
    /// [`purlin_engine::Error::DataLoss`] if it loses data without permission
    /// ([`Plan::allow_losses`]); [`Error::DeploymentExists`] if the environment already has a
    /// deployment with this id and the plan does not continue it; [`Error::Documents`] if another
    /// deployment has meanwhile created an installation that the plan would create because there
    /// was none; [`Error::State`] if another deployment is creating one now and does not finish in
    /// time ([`Builder::wait_for_others`](crate::Builder::wait_for_others)).
    pub async fn deploy(
        &self,
        plan: Plan,
        documents: Option<&Documents>,
        cancel: CancelToken,
    ) -> Result<Deploying, Error> {
        let store = self.purlin.store().await?;
        let (id, environment) = (Arc::clone(&plan.context.deployment), self.environment().clone());
        let archive = documents.map(Documents::archive);
        // Accepted missing documents, and changes to the context or to permissions, are recorded
        // even if no resource changes. Otherwise every run would ask about them again.
        let accepts = documents.is_some_and(|documents| !documents.accept_missing.is_empty());
        let said = self.marks_before().await?;
        let rollouts = self.marks_after(archive.as_deref(), &said).await?;
        let counted = !plan.is_empty()
            || rollouts != said
            || accepts
            || self.changes_context(documents).await?
            || plan.goes_on
            || self.ends_rollback(documents).await?
            || self.documents_differ(archive.as_deref()).await?;
        if documents.is_some() && !counted {
            self.accept_documents().await?;
        }
        let mut before = None;
        if counted {
            before = store.history(&environment).await?.into_iter().find(|other| other.id == id);
            if let (Some(same), false) = (&before, plan.goes_on) {
                return Err(Error::DeploymentExists { id, number: same.number, environment });
            }
        }
        let counts = plan.steps.iter().filter(|step| step.action != Action::None);
        let mut urns: BTreeMap<Key, Urn> = BTreeMap::new();
        counts.for_each(|step| {
            urns.insert(step.key.clone(), step.urn.clone());
        });
        // A resumed deployment keeps its completed steps; failed ones are tried again.
        let (since, mut steps) =
            before.map_or((None, Vec::new()), |before| (Some(before.holder.since), before.steps));
        steps.retain(|(_, _, succeeded)| *succeeded);
        let holder = Holder { since: (self.clock())(), ..self.purlin.holder() };
        let entry = Deployment {
            id,
            number: 0,
            holder: Holder { since: since.unwrap_or(holder.since), ..holder },
            ended: None,
            outcome: Outcome::Unfinished,
            steps,
            documents: archive.as_ref().map(|bytes| Sha256::digest(bytes).into()),
            rollback_of: documents.and_then(|documents| documents.rollback_of),
            rejected: None,
            rollouts,
        };
        let writer = self.lock.writer(Act::run(&plan));
        let run = self.apply_of(documents, plan, Arc::clone(&writer), cancel).await?;
        if counted {
            let change = Change::Deployed { deployment: Box::new(entry.clone()), documents: archive };
            // All writes of the run come after this one.
            drop(writer.submit(vec![change])?);
        }
        Ok(Deploying {
            run,
            claims: self.claims.clone(),
            entry: counted.then_some(entry),
            only_done: false,
            urns,
            writer,
            clock: self.clock(),
            ending: None,
            written: None,
        })
    }

    /// Records that the newest documents are right, in the entry in which a watch said that they are wrong.
    async fn accept_documents(&self) -> Result<(), Error> {
        let latest = self.purlin.history(self.environment()).await?.into_iter().next_back();
        if let Some(latest) = latest.filter(|latest| latest.rejected.is_some()) {
            let deployment = Box::new(Deployment { rejected: None, ..latest });
            let change = Change::Deployed { deployment, documents: None };
            self.lock.notes().commit(vec![change]).await?;
        }
        Ok(())
    }

    /// Executes a plan of a watch. All passes over the same documents share one `entry` of the
    /// history, which has the last step of each resource, so that a long watch does not grow the
    /// history. A pass without steps leaves the entry unchanged.
    ///
    /// # Errors
    /// As for [`Self::deploy`].
    pub(crate) async fn keep(
        &self,
        plan: Plan,
        documents: &Documents,
        cancel: CancelToken,
        entry: Option<Deployment>,
    ) -> Result<Deploying, Error> {
        let environment = self.environment().clone();
        let entry = match entry {
            Some(entry) => entry,
            None => {
                let digest = documents.archive_digest();
                let last = self.purlin.store().await?.last_from_documents(&environment).await?;
                let Some(last) = last.filter(|last| last.documents == Some(digest)) else {
                    return self.deploy(plan, Some(documents), cancel).await;
                };
                Deployment {
                    id: Arc::clone(&plan.context.deployment),
                    number: 0,
                    holder: Holder { since: (self.clock())(), ..self.purlin.holder() },
                    ended: None,
                    outcome: Outcome::Unfinished,
                    steps: Vec::new(),
                    documents: Some(digest),
                    rollback_of: None,
                    rejected: None,
                    rollouts: self.rollouts.clone().unwrap_or(last.rollouts),
                }
            }
        };
        let urns = plan.steps.iter().map(|step| (step.key.clone(), step.urn.clone())).collect();
        let writer = self.lock.writer(Act::run(&plan));
        let run = self.apply_of(Some(documents), plan, Arc::clone(&writer), cancel).await?;
        Ok(Deploying {
            run,
            claims: self.claims.clone(),
            entry: Some(entry),
            only_done: true,
            urns,
            writer,
            clock: self.clock(),
            ending: None,
            written: None,
        })
    }
}

impl Session<'_> {
    /// Whether the documents differ from the last ones in what later runs are compared with: the
    /// data losses that they allow, their files, or which requirements have which installations. They
    /// are then recorded even if there is nothing else to do: an installation goes on with a
    /// requirement that joined it, even when the one that it was created for goes.
    async fn documents_differ(&self, archive: Option<&[u8]>) -> Result<bool, Error> {
        let Some(archive) = archive else { return Ok(false) };
        let history = self.purlin.history(self.environment()).await?;
        let latest = history.iter().rev().find_map(|deployment| deployment.documents);
        let Some(latest) = latest else { return Ok(mentions_losses(archive)) };
        if latest[..] == Sha256::digest(archive)[..] {
            return Ok(false);
        }
        if mentions_losses(archive) {
            return Ok(true);
        }
        let Some(before) = self.purlin.store().await?.documents(self.environment(), &latest).await? else {
            return Ok(false);
        };
        if mentions_losses(&before) {
            return Ok(true);
        }
        let (before, now) = (Archive::read(&before)?, Archive::read(archive)?);
        let required = |archive: &Archive| {
            let RequirementContext { before, installed, .. } = archive.requirement_context();
            (before, installed)
        };
        if required(&before) != required(&now) {
            return Ok(true);
        }
        let files = |archive: Archive| -> BTreeSet<Arc<str>> {
            archive.into_texts().into_iter().filter_map(|(_, path)| path).collect()
        };
        Ok(files(before) != files(now))
    }

    /// Whether the documents are those of a rollback that has begun but not succeeded. Its success
    /// is recorded even if nothing is left to do; otherwise every following rollback would continue
    /// this one.
    async fn ends_rollback(&self, documents: Option<&Documents>) -> Result<bool, Error> {
        let Some(number) = documents.and_then(|documents| documents.rollback_of) else { return Ok(false) };
        let history = self.purlin.history(self.environment()).await?;
        Ok(latest(&history)
            .is_some_and(|latest| latest.rollback_of == Some(number) && latest.outcome != Outcome::Succeeded))
    }

    /// Whether the documents change the recorded context, as confirmed.
    async fn changes_context(&self, documents: Option<&Documents>) -> Result<bool, Error> {
        let Some(documents) = documents else { return Ok(false) };
        if documents.changes == ContextChanges::default() {
            return Ok(false);
        }
        let recorded = self.purlin.recorded_context(self.environment()).await?;
        let now = &documents.context;
        Ok(recorded.is_none_or(|then| then.env.kind != now.env.kind || then.namespace != now.namespace))
    }
}

impl Purlin {
    /// The deployments of an environment, the oldest first.
    ///
    /// # Errors
    /// [`Error::State`] if the store cannot be read.
    pub async fn history(&self, environment: &Environment) -> Result<Vec<Deployment>, Error> {
        if self.is_untouched() {
            return Ok(Vec::new());
        }
        Ok(self.store().await?.history(environment).await?)
    }

    /// The deployment that a rollback returns to if none is named, given a history with the oldest
    /// entry first. A rollback that has begun but not succeeded is continued. Otherwise it is the
    /// last successful deployment or, if the latest one succeeded, the last successful one before
    /// it with different documents, since deploying the same ones again changes nothing. `None` if
    /// there is none.
    pub fn rollback_target(history: &[Deployment]) -> Option<&Deployment> {
        let latest = latest(history)?;
        let has_succeeded = latest.outcome == Outcome::Succeeded;
        if let (Some(number), false) = (latest.rollback_of, has_succeeded) {
            let target = history.iter().find(|deployment| deployment.number == number);
            return Some(target.unwrap_or(latest));
        }
        history.iter().rfind(|deployment| {
            deployment.outcome == Outcome::Succeeded
                && deployment.documents.is_some()
                && !(has_succeeded && deployment.documents == latest.documents)
        })
    }

    /// The documents of an earlier deployment, in its context, for a new deployment.
    ///
    /// # Errors
    /// [`Error::Archive`] if they are no longer kept or cannot be read; [`Error::Documents`] if
    /// they are no longer valid.
    pub async fn documents_of(
        &self,
        environment: &Environment,
        deployment: &Deployment,
        deployment_id: &str,
    ) -> Result<Documents, Error> {
        let bytes = self.kept_documents(environment, deployment).await?;
        let documents = Documents::from_archive(&bytes, deployment_id)?;
        Ok(Documents { rollback_of: Some(deployment.number), ..documents })
    }

    /// The same, to go back to one of the deployments of a history. No plan is made of the documents
    /// once others have deployed after that history was read.
    ///
    /// # Errors
    /// As for [`Self::documents_of`].
    pub async fn rollback_documents(
        &self,
        environment: &Environment,
        history: &[Deployment],
        deployment: &Deployment,
        deployment_id: &str,
    ) -> Result<Documents, Error> {
        let documents = self.documents_of(environment, deployment, deployment_id).await?;
        Ok(Documents { rollback_after: latest(history).map(|latest| latest.number), ..documents })
    }

    /// Others may have deployed since the deployment to go back to was chosen.
    ///
    /// # Errors
    /// [`Error::DeployedMeanwhile`] if they have.
    pub(crate) async fn check_rollback(&self, documents: &Documents) -> Result<(), Error> {
        let Some(after) = documents.rollback_after else { return Ok(()) };
        let environment = documents.environment();
        let history = self.history(&environment).await?;
        match latest(&history).is_some_and(|latest| latest.number == after) {
            true => Ok(()),
            false => Err(Error::DeployedMeanwhile { environment }),
        }
    }

    /// The archive of an earlier deployment.
    pub(crate) async fn archive_of(
        &self,
        environment: &Environment,
        deployment: &Deployment,
    ) -> Result<Archive, Error> {
        Archive::read(&self.kept_documents(environment, deployment).await?)
    }

    async fn kept_documents(
        &self,
        environment: &Environment,
        deployment: &Deployment,
    ) -> Result<Vec<u8>, Error> {
        let missing = |why: &str| Error::Archive(format!("deployment {} {why}", deployment.number));
        let digest = deployment.documents.as_ref().ok_or_else(|| missing("was made from no documents"))?;
        let bytes = self.store().await?.documents(environment, digest).await?;
        bytes.ok_or_else(|| missing("is too old: its documents are no longer kept"))
    }
}

/// The latest deployment of a history with the oldest entry first. A run that only read resources
/// does not count.
pub(crate) fn latest(history: &[Deployment]) -> Option<&Deployment> {
    let read = Action::Read.as_str();
    let only_read = |deployment: &Deployment| {
        let mut steps = deployment.steps.iter();
        deployment.documents.is_none()
            && !deployment.steps.is_empty()
            && steps.all(|(_, action, _)| **action == *read)
    };
    history.iter().rfind(|deployment| !only_read(deployment))
}

/// A running deployment: a stream of events that ends with the summary. Once the summary was sent,
/// the history is written.
pub struct Deploying {
    run: Run,
    claims: Claims,
    entry: Option<Deployment>,
    /// Whether the entry is written only if something was done.
    only_done: bool,
    urns: BTreeMap<Key, Urn>,
    writer: Arc<dyn Writer>,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    ending: Option<Ending>,
    /// The entry as it was written.
    written: Option<Deployment>,
}

type Ending = (Pin<Box<dyn Future<Output = Result<(), purlin_state::Error>> + Send>>, Option<Summary>);

impl Deploying {
    /// The history entry of the completed deployment.
    pub(crate) fn into_entry(self) -> Option<Deployment> {
        self.written
    }

    fn note(&mut self, event: &Event) {
        let (Some(entry), Event::Resource { key, action, phase }) = (&mut self.entry, event) else { return };
        let (action, done) = match phase {
            Phase::Succeeded { done, .. } => (done, true),
            Phase::Failed { .. } => (action, false),
            _ => return,
        };
        if let (Some(urn), true) = (self.urns.get(key), *action != Action::None) {
            if self.only_done {
                if !done {
                    return;
                }
                entry.steps.retain(|(known, ..)| known != urn);
                entry.ended = None;
            }
            entry.steps.push((urn.clone(), action.as_str().into(), done));
        }
    }

    fn end(&mut self, summary: Summary) {
        let Some(mut entry) = self.entry.take() else {
            self.ending = Some((Box::pin(std::future::ready(Ok(()))), Some(summary)));
            return;
        };
        // Any action of this pass has cleared the end of the entry.
        if self.only_done && (entry.steps.is_empty() || entry.ended.is_some()) {
            self.written = Some(entry);
            self.ending = Some((Box::pin(std::future::ready(Ok(()))), Some(summary)));
            return;
        }
        entry.ended = Some((self.clock)());
        entry.outcome = if summary.cancelled {
            Outcome::Cancelled
        } else if summary.is_success() {
            Outcome::Succeeded
        } else {
            Outcome::Failed
        };
        self.written = Some(entry.clone());
        let change = Change::Deployed { deployment: Box::new(entry), documents: None };
        let written = match self.writer.submit(vec![change]) {
            Ok(durable) => durable,
            Err(error) => Box::pin(std::future::ready(Err(error))),
        };
        self.ending = Some((written, Some(summary)));
    }
}

impl Stream for Deploying {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = &mut *self;
        loop {
            if let Some((written, summary)) = &mut this.ending {
                if summary.is_none() {
                    return Poll::Ready(None);
                }
                let result = match written.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(result) => result,
                };
                let Some(mut summary) = summary.take() else { return Poll::Ready(None) };
                if let (Err(error), None) = (result, &summary.halted) {
                    summary.halted = Some(error.into());
                }
                return Poll::Ready(Some(Event::Summary(summary)));
            }
            match Pin::new(&mut this.run).poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Event::Summary(summary))) => this.end(summary),
                Poll::Ready(Some(event)) => {
                    this.claims.note(&event);
                    this.note(&event);
                    return Poll::Ready(Some(event));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Cancelled, Failed, Succeeded, Unfinished};

    type Entry = (Outcome, Option<u8>, Option<u64>);

    fn target(entries: &[Entry]) -> Option<u64> {
        let entry = |(number, (outcome, documents, rollback_of)): (usize, &Entry)| Deployment {
            id: number.to_string().into(),
            number: number as u64 + 1,
            holder: Holder { user: "a".into(), host: "b".into(), pid: 1, command: "c".into(), since: 0 },
            ended: Some(1),
            outcome: *outcome,
            steps: vec![],
            documents: documents.map(|byte| [byte; 32]),
            rollback_of: *rollback_of,
            rejected: None,
            rollouts: Arc::default(),
        };
        let history: Vec<Deployment> = entries.iter().enumerate().map(entry).collect();
        Purlin::rollback_target(&history).map(|deployment| deployment.number)
    }

    #[test]
    fn a_rollback_goes_to_the_last_success_before_the_latest() {
        let up = |outcome, documents| (outcome, Some(documents), None);
        assert_eq!(target(&[]), None);
        assert_eq!(target(&[up(Succeeded, 1)]), None);
        assert_eq!(target(&[up(Succeeded, 1), up(Failed, 2)]), Some(1));
        assert_eq!(target(&[up(Succeeded, 1), up(Failed, 3), up(Unfinished, 2)]), Some(1));
        // Deploying the same documents again is not a rollback, but after a failure it is.
        assert_eq!(target(&[up(Succeeded, 1), up(Succeeded, 2), up(Succeeded, 2)]), Some(1));
        assert_eq!(target(&[up(Succeeded, 1), up(Succeeded, 2), up(Failed, 3), up(Failed, 2)]), Some(2));
        // After everything was destroyed, the deployment before that.
        assert_eq!(target(&[up(Succeeded, 1), up(Succeeded, 2), (Succeeded, None, None)]), Some(2));
    }

    #[test]
    fn an_unsuccessful_rollback_is_continued() {
        let up = |outcome, documents| (outcome, Some(documents), None);
        let begun = [up(Succeeded, 1), up(Succeeded, 2), up(Succeeded, 3)];
        for outcome in [Failed, Unfinished, Cancelled] {
            let mut entries = begun.to_vec();
            entries.push((outcome, Some(2), Some(2)));
            assert_eq!(target(&entries), Some(2));
            entries.push((outcome, Some(2), Some(2)));
            assert_eq!(target(&entries), Some(2));
            // Another deployment has happened since.
            entries.push(up(Failed, 4));
            assert_eq!(target(&entries), Some(3));
        }
        let mut entries = begun.to_vec();
        entries.push((Succeeded, Some(2), Some(2)));
        assert_eq!(target(&entries), Some(3));
    }
}
