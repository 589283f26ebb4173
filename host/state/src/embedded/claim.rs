//! An environment that this process has locked.

use std::sync::Arc;

use async_trait::async_trait;

use super::blocking;
use crate::disk::{LockFile, Shared, Writer as Thread, Writing};
use crate::encode::Writes;
use crate::keys::Keyring;
use crate::{Change, Claim, Durable, Environment, Error, Writer};

/// The environment, and the thread that writes to it.
pub(super) struct EmbeddedClaim {
    environment: Environment,
    keys: Arc<Keyring>,
    shared: Arc<Shared>,
    fence: u64,
    writer: Arc<Thread>,
    lock: LockFile,
}

impl EmbeddedClaim {
    pub(super) fn new(writing: Writing, environment: Environment, keys: Arc<Keyring>) -> Result<Self, Error> {
        let (shared, fence) = (writing.shared(), writing.claimed().fence());
        let lock = writing.claimed().file();
        let writer = Arc::new(Thread::start(writing)?);
        Ok(Self { environment, keys, shared, fence, writer, lock })
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

#[async_trait]
impl Writer for EmbeddedClaim {
    fn submit(&self, changes: Vec<Change>) -> Result<Durable, Error> {
        // Encoded here, so that concurrent commits are encoded and sealed on as many threads.
        let writes = Writes::of(&changes, &self.environment, &self.keys)?;
        match self.writer.submit(writes) {
            Err(Error::Closed) => Err(Error::Lost { environment: self.environment.clone() }),
            submitted => Ok(Box::pin(submitted?)),
        }
    }

    fn is_lost(&self) -> bool {
        self.writer.is_closed() || !self.lock.is_there()
    }
}

#[async_trait]
impl Claim for EmbeddedClaim {
    fn fence(&self) -> u64 {
        self.fence
    }

    async fn release(&self) -> Result<(), Error> {
        let writer = Arc::clone(&self.writer);
        blocking("purlin-state-close", move || writer.close()).await?
    }

    fn abandon(&self) {
        if let Err(error) = self.writer.close() {
            tracing::warn!(
                error = purlin_files::with_causes(&error),
                "the state is safe, but its journal could not be tidied"
            );
        }
    }
}
