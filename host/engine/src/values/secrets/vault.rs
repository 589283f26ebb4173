//! The secrets that were read from stores for one plan and its run, each read once.
//!
//! The secrets are overwritten in memory when the plan is dropped.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use futures::future::BoxFuture;
use purlin_model::{Context, Value};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::OnceCell;

use super::{NoStores, SecretFault, SecretRef, SecretStores};

/// A secret that is being read, was read, or could not be read.
type Slot = Arc<OnceCell<Result<SecretString, SecretFault>>>;

/// The secrets of one plan.
pub(crate) struct Vault {
    stores: Arc<dyn SecretStores>,
    /// Where the secrets are used; `None` if no secrets are read.
    context: Option<Context>,
    /// The maximum number of concurrent reads.
    parallelism: usize,
    slots: Mutex<HashMap<SecretRef, Slot>>,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("stores", &self.stores).finish_non_exhaustive()
    }
}

impl Default for Vault {
    fn default() -> Self {
        Self { stores: Arc::new(NoStores), context: None, parallelism: 1, slots: Mutex::default() }
    }
}

impl Vault {
    /// A vault that reads from these stores, at most `parallelism` at a time.
    pub(crate) fn new(stores: Arc<dyn SecretStores>, context: &Context, parallelism: usize) -> Self {
        Self { stores, context: Some(context.clone()), parallelism: parallelism.max(1), ..Self::default() }
    }

    /// A vault that reads nothing, in which every secret is unknown.
    pub(crate) fn closed() -> Self {
        Self::default()
    }

    /// Reads the secrets that were not read before. [`Self::secret`] reports those that cannot be
    /// read.
    pub(crate) async fn read(&self, wanted: Vec<SecretRef>) {
        let reads: Vec<BoxFuture<'_, ()>> =
            wanted.into_iter().map(|secret| Box::pin(self.read_one(secret)) as BoxFuture<'_, ()>).collect();
        futures::stream::iter(reads).buffer_unordered(self.parallelism).collect::<()>().await;
    }

    async fn read_one(&self, secret: SecretRef) {
        let Some(context) = &self.context else { return };
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(secret.clone()).or_default())
        };
        slot.get_or_init(|| async {
            let text = self.stores.get(&secret, context).await?;
            match text.expose_secret() {
                "" => {
                    Err(SecretFault::new("it is empty")
                        .help("an empty secret can be given as `{value: \"\"}`"))
                }
                nul if nul.contains('\0') => Err(SecretFault::new("it contains a NUL character")),
                _ => Ok(text),
            }
        })
        .await;
    }

    /// A secret that was read, for a driver that is granted it; unknown if it was not read.
    pub(crate) fn secret(&self, secret: &SecretRef, driver: &str) -> Result<Value, SecretFault> {
        if self.context.is_none() {
            return Ok(Value::unknown().into_secret());
        }
        self.stores.allows(driver, &secret.store)?;
        let slot = self.slots.lock().unwrap_or_else(PoisonError::into_inner).get(secret).cloned();
        match slot.as_deref().and_then(OnceCell::get) {
            Some(Ok(text)) => Ok(Value::from(text.expose_secret()).into_secret()),
            Some(Err(fault)) => Err(fault.clone()),
            None => Ok(Value::unknown().into_secret()),
        }
    }

    /// Whether a driver may have secrets of a store, so that reading them is useful.
    pub(crate) fn allows(&self, driver: &str, store: &str) -> bool {
        self.context.is_some() && self.stores.allows(driver, store).is_ok()
    }
}
