//! Waits for other deployments up to a time limit, and reports who they are.
//!
//! A run takes its locks in one order: its own environment, then vacancies, then the environments of
//! installations that it begins to use; several of one kind are sorted. Two runs that use each other's
//! installations may still wait for each other, so the last kind is waited for only for seconds.

use std::time::Duration;

use purlin_engine::CancelToken;
use purlin_state::Error as StateError;
use tokio::time::{Instant, sleep};

use crate::{Error, Purlin};

/// The interval between attempts.
const PAUSE: Duration = Duration::from_millis(50);

impl Purlin {
    /// Tries to take something until it is free, and reports the holder that it waits for. `activity`
    /// describes what the holder does.
    ///
    /// # Errors
    /// [`Error::State`] with the holder, after the time limit or if the run is cancelled.
    pub(crate) async fn patiently<T, F: Future<Output = Result<T, StateError>>>(
        &self,
        most: Duration,
        activity: &str,
        cancel: &CancelToken,
        try_it: impl Fn() -> F,
    ) -> Result<T, Error> {
        let (begun, mut last) = (Instant::now(), None);
        loop {
            let error = match try_it().await {
                Ok(taken) => return Ok(taken),
                Err(error) => error,
            };
            let (StateError::Reserved { holder, .. } | StateError::Locked { holder, .. }) = &error else {
                return Err(error.into());
            };
            if cancel.is_requested() || begun.elapsed() >= most {
                return Err(error.into());
            }
            if let (Some(holder), Some(tell)) = (holder, &self.tell)
                && last.as_ref() != Some(holder)
            {
                tell(&format!("waiting for {holder}, {activity}"));
                last = Some(holder.clone());
            }
            sleep(PAUSE).await;
        }
    }
}
