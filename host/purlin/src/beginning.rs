//! Takes the lock of an environment, and waits for the calls that its previous holder left.

use std::sync::PoisonError;
use std::time::Duration;

use purlin_engine::CancelToken;
use purlin_sandbox::clock;
use purlin_state::Environment;

use crate::{Error, Purlin, Session};

impl Purlin {
    /// Takes the lock of an environment.
    ///
    /// # Errors
    /// [`Error::State`], which names the holder if another process has the lock.
    pub async fn begin(&self, environment: &Environment) -> Result<Session<'_>, Error> {
        self.begin_within(environment, self.lock_timeout, &CancelToken::default()).await
    }

    /// The same, but waits for another deployment up to `wait`, or until the run is cancelled.
    pub(crate) async fn begin_within(
        &self,
        environment: &Environment,
        wait: Duration,
        cancel: &CancelToken,
    ) -> Result<Session<'_>, Error> {
        let session = self.take(environment, wait, cancel).await?;
        let snapshot = session.snapshot().await?;
        if let Some(holder) = &snapshot.closed_by {
            return Err(Error::closed(environment, holder));
        }
        *session.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        Ok(session)
    }

    /// Takes the lock of an environment, even if it is closed to deployments.
    ///
    /// # Errors
    /// [`Error::State`], which names the holder if another process has the lock; [`Error::Clock`]
    /// if the system's clock is implausible.
    pub async fn begin_held(&self, environment: &Environment) -> Result<Session<'_>, Error> {
        self.take(environment, self.lock_timeout, &CancelToken::default()).await
    }

    async fn take(
        &self,
        environment: &Environment,
        wait: Duration,
        cancel: &CancelToken,
    ) -> Result<Session<'_>, Error> {
        if self.is_system_clock {
            clock::now()?;
        }
        let store = self.store().await?;
        let activity = format!("which has the lock of {environment}");
        let lock = self.patiently(wait, &activity, cancel, || store.lock(environment, self.holder())).await?;
        let (read, current, claims, reserved) = Default::default();
        let (ends_with_progress, rollouts) = (self.ends_with_progress(), None);
        let lock = self.audited(lock);
        let session =
            Session { purlin: self, lock, read, current, claims, reserved, rollouts, ends_with_progress };
        if let Some(lapsed) = session.lock.lapsed() {
            self.outwait(&session, lapsed, cancel).await?;
        }
        Ok(session)
    }

    /// Waits until the calls of a previous holder have ended, which it left some time ago.
    async fn outwait(
        &self,
        session: &Session<'_>,
        lapsed: Duration,
        cancel: &CancelToken,
    ) -> Result<(), Error> {
        let longest = purlin_engine::last_attempts(&session.snapshot().await?.pending);
        let longest = longest.saturating_sub(lapsed);
        if !longest.is_zero() {
            if let Some(tell) = &self.tell {
                tell(&format!(
                    "the previous deployment was cut off; waiting {} s for its last calls to end",
                    longest.as_secs_f64().ceil()
                ));
            }
            let until = tokio::time::Instant::now() + longest;
            tokio::select! {
                () = cancel.requested() => {
                    let left = until.saturating_duration_since(tokio::time::Instant::now());
                    return Err(Error::Unfinished { environment: session.environment().clone(), left });
                }
                () = tokio::time::sleep_until(until) => {}
            }
        }
        Ok(())
    }
}
