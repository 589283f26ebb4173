//! Copies of environments in the state of another workspace: how a team moves to a database, or back.

use purlin_state::{Change, Environment, Error as StateError, Holder, ImportOptions, Snapshot, Store};

use crate::{Error, Purlin};

/// How environments are copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyOptions {
    /// Replace what is recorded in the environment that is copied to.
    pub replace: bool,
    /// Leave the original open to deployments. Then two states know the same resources, and each changes them without
    /// the other: for backups only.
    pub keep_open: bool,
}

/// An environment that is in the other state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// How many resources are recorded in it.
    pub resources: usize,
    /// Whether it was there already, so that nothing was copied.
    pub already: bool,
}

/// What the reason of environments begins with that were copied to another state.
const MOVED: &str = "moved to ";

impl Purlin {
    /// Copies all that is recorded in an environment, its history included, to the state of another workspace,
    /// compares both, and closes the original to deployments, which it has locked all the while. Whenever it is interrupted, the
    /// next call continues: an environment that is equal in both states, or was closed by an earlier copy, is not
    /// copied again.
    ///
    /// # Errors
    /// [`Error::State`] when something else is recorded there and is not to be replaced, when the environment was moved
    /// to another state, when either environment is
    /// locked, and when either state cannot be read or written.
    pub async fn copy_environment(
        &self,
        environment: &Environment,
        to: &Self,
        options: CopyOptions,
    ) -> Result<Copied, Error> {
        let (store, other) = (self.store().await?, to.store().await?);
        let lock_holder = self.holder();
        let lock = store.lock(environment, lock_holder.clone()).await?;
        let moved = format!("{MOVED}{}", to.state_place());
        let result = async {
            // Two names may mean one state, such as two addresses of one database: then our own lock is in both.
            let is_ours = |held: &Holder| (held.pid, &held.host) == (lock_holder.pid, &lock_holder.host);
            let there_lock = match other.lock(environment, to.holder()).await {
                Err(StateError::Locked { holder: Some(holder), .. }) if is_ours(&holder) => {
                    return Err(StateError::Same);
                }
                lock => lock?,
            };
            let (original, there) = (store.load(environment).await?, other.load(environment).await?);
            let resources = original.records.len();
            let already = Copied { resources, already: true };
            let is_there = !there.records.is_empty() || !other.history(environment).await?.is_empty();
            let is_equal = is_there && is_same(&*store, &*other, environment, (&original, &there)).await?;
            if is_equal && !was_moved(&original) {
                if was_moved(&there) {
                    // It comes back.
                    there_lock.writer().commit(vec![Change::Hold(None)]).await?;
                }
                there_lock.release().await?;
                return Ok::<_, StateError>((already, true));
            }
            there_lock.release().await?;
            if was_moved(&original) {
                // It is out of date wherever it was moved to.
                let is_moved_there = original.held.as_ref().is_some_and(|held| held.command == moved);
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
                // A state in a folder makes its key with the first secret.
                other.seal(&[]).await?;
            }
            let recipient = to.recipient().await.ok().flatten();
            let export = store.export(environment, recipient.as_deref()).await?;
            let import = ImportOptions { replace: options.replace, is_old: false };
            other.import(export, to.holder(), import).await?;
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
            lock.writer().commit(vec![Change::Hold(Some(holder))]).await?;
        }
        let released = lock.release().await;
        let (copied, _) = result?;
        released?;
        Ok(copied)
    }
}

/// Whether an environment was closed because it was copied to another state.
fn was_moved(snapshot: &Snapshot) -> bool {
    snapshot.held.as_ref().is_some_and(|held| held.command.starts_with(MOVED))
}

/// Whether two stores have the same recorded in an environment, except for who closed it. One of them may be in doubt
/// whether it is up to date, as after a power cut: then the next run there reads all resources.
async fn is_same(
    one: &dyn Store,
    other: &dyn Store,
    environment: &Environment,
    (first, second): (&Snapshot, &Snapshot),
) -> Result<bool, StateError> {
    let open = |snapshot: &Snapshot| Snapshot { held: None, doubt: None, ..snapshot.clone() };
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
