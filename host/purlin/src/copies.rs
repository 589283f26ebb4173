//! Copies environments to the state of another workspace: how a team moves to a database, or back.

use purlin_state::{
    AuditAction, Change, Environment, Error as StateError, Holder, ImportOptions, Snapshot, Store,
};

use crate::audited::Act;
use crate::{Error, Purlin};

/// The options of a copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyOptions {
    /// Replace the records of the target environment.
    pub replace: bool,
    /// Leave the original open to deployments. Two states then have the same resources, and each
    /// changes them independently, so this is only for backups.
    pub keep_open: bool,
}

/// The result of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The number of its recorded resources.
    pub resources: usize,
    /// Whether it was already there, so that nothing was copied.
    pub already: bool,
}

/// The prefix of the reason for which an environment is closed after it was copied to another
/// state.
const MOVED: &str = "moved to ";

impl Purlin {
    /// Copies everything that is recorded in an environment, including its history, to the state of
    /// another workspace, compares the two, and closes the original to deployments. The original is
    /// locked all the while. If a copy is interrupted, the next call continues: an environment that
    /// is equal in both states, or that an earlier copy closed, is not copied again.
    ///
    /// # Errors
    /// [`Error::State`] if the target has other records that must not be replaced, if the
    /// environment was moved to another state, if either environment is locked, or if either state
    /// cannot be read or written.
    pub async fn copy_environment(
        &self,
        environment: &Environment,
        to: &Self,
        options: CopyOptions,
    ) -> Result<Copied, Error> {
        let (store, other) = (self.store().await?, to.store().await?);
        let lock_holder = self.holder();
        let lock = self.audited(store.lock(environment, lock_holder.clone()).await?);
        let copy = |place: String| Act::new(AuditAction::Copy, [place]);
        let moved = format!("{MOVED}{}", to.state_place());
        let result = async {
            // Two names may mean the same state, such as two addresses of one database. The lock in
            // both is then our own.
            let is_ours = |held: &Holder| (held.pid, &held.host) == (lock_holder.pid, &lock_holder.host);
            let there_lock = match other.lock(environment, to.holder()).await {
                Err(StateError::Locked { holder: Some(holder), .. }) if is_ours(&holder) => {
                    return Err(StateError::Same);
                }
                lock => to.audited(lock?),
            };
            let (original, there) = (store.load(environment).await?, other.load(environment).await?);
            let resources = original.records.len();
            let already = Copied { resources, already: true };
            let is_there = !there.records.is_empty()
                || !there.rollouts.is_empty()
                || !other.history(environment).await?.is_empty();
            let is_equal = is_there && is_same(&*store, &*other, environment, (&original, &there)).await?;
            if is_equal && !was_moved(&original) {
                if was_moved(&there) {
                    // The environment moves back.
                    let act = copy(self.state_place());
                    there_lock.record(act, vec![Change::SetClosed(None)]).await?;
                }
                there_lock.release().await?;
                return Ok::<_, StateError>((already, true));
            }
            there_lock.release().await?;
            if was_moved(&original) {
                // The original is out of date, whichever state it was moved to.
                let is_moved_there = original.closed_by.as_ref().is_some_and(|by| by.command == moved);
                return match is_moved_there && is_there && !options.replace {
                    true => Ok((already, false)),
                    false => Err(StateError::Moved { environment: environment.clone() }),
                };
            }
            if is_there && !options.replace {
                return Err(StateError::Exists {
                    environment: environment.clone(),
                    records: there.records.len(),
                });
            }
            if to.recipient().await.is_ok_and(|recipient| recipient.is_none()) {
                // A state in a folder creates its key with the first secret.
                other.seal(&[]).await?;
            }
            let recipient = to.recipient().await.ok().flatten();
            let export = store.export(environment, recipient.as_deref()).await?;
            let import = ImportOptions { replace: options.replace, is_old: false };
            let entry = to.audit_entry(copy(self.state_place()));
            other.import(export, to.holder(), import, vec![entry]).await?;
            let there = other.load(environment).await?;
            match is_same(&*store, &*other, environment, (&original, &there)).await? {
                true => Ok((Copied { resources, already: false }, true)),
                false => Err(StateError::Damaged {
                    name: environment.to_string(),
                    detail: "its copy is not the same; the original stays as it was".into(),
                }),
            }
        };
        let result = result.await;
        if let Ok((_, true)) = result
            && !options.keep_open
        {
            let holder = Holder { command: moved, ..self.holder() };
            lock.record(copy(to.state_place()), vec![Change::SetClosed(Some(holder))]).await?;
        }
        let released = lock.release().await;
        let (copied, _) = result?;
        released?;
        Ok(copied)
    }
}

/// Whether an environment was closed because it was copied to another state.
fn was_moved(snapshot: &Snapshot) -> bool {
    snapshot.closed_by.as_ref().is_some_and(|by| by.command.starts_with(MOVED))
}

/// Whether two stores have the same records for an environment, except for the note that it is
/// closed. One of them may be stale, for example after a power failure; the next run there then
/// reads all resources.
async fn is_same(
    one: &dyn Store,
    other: &dyn Store,
    environment: &Environment,
    (first, second): (&Snapshot, &Snapshot),
) -> Result<bool, StateError> {
    let open = |snapshot: &Snapshot| Snapshot { closed_by: None, staleness: None, ..snapshot.clone() };
    let history = one.history(environment).await?;
    if open(first) != open(second) || history != other.history(environment).await? {
        return Ok(false);
    }
    for digest in history.iter().filter_map(|deployment| deployment.documents) {
        if one.documents(environment, &digest).await? != other.documents(environment, &digest).await? {
            return Ok(false);
        }
    }
    Ok(true)
}
