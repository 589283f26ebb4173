//! Waiting for others: for as long as that may take, with a word on whom, and no longer.

use std::time::Duration;

use purlin_engine::CancelToken;
use purlin_state::Error as StateError;
use tokio::time::{Instant, sleep};

use crate::{Error, Purlin};

/// How often to look whether somebody else is done.
const PAUSE: Duration = Duration::from_millis(50);

impl Purlin {
    /// Tries to take something until nobody else has it, and says whom that waits for; `told` is what that one does.
    ///
    /// # Errors
    /// [`Error::State`] with who still has it after that time or when the run is cancelled.
    pub(crate) async fn patiently<T, F: Future<Output = Result<T, StateError>>>(
        &self,
        most: Duration,
        told: &str,
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
                tell(&format!("waiting for {holder}, {told}"));
                last = Some(holder.clone());
            }
            sleep(PAUSE).await;
        }
    }
}
