//! Secrets by reference (SPEC §3, `secret_refs`): leaves `{value}`, and leaves `{store, ref,
//! version}` that are read from the operator's stores when they are first needed.
//!
//! The implementation of [`SecretStores`] decides what a store is and who may read it. A plan is a
//! function of the stores' answers, as it is of the drivers' answers.

mod check;
mod tree;
mod vault;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use purlin_model::Context;
use secrecy::SecretString;

pub use check::check as check_secrets;
pub(crate) use check::outline;
pub(crate) use tree::{is_reference, pair, references, resolve, resolve_in, unread, wanted, wanted_in};
pub(crate) use vault::Vault;

/// The name of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecretRef {
    /// The store's name.
    pub store: Arc<str>,
    /// `ref`: the secret's name in the store.
    pub name: Arc<str>,
    /// `version`, if one is given.
    pub version: Option<Arc<str>>,
}

/// Why a secret is not available. Never contains the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFault {
    /// A fragment that follows `NAME from the secret store STORE:`.
    pub why: String,
    /// The correction, if it is known.
    pub help: Option<String>,
}

impl SecretFault {
    /// A fault without help.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), help: None }
    }

    /// Adds the correction. An empty text is none.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        let help: String = help.into();
        self.help = (!help.is_empty()).then_some(help);
        self
    }
}

/// The stores that secrets are read from.
#[async_trait]
pub trait SecretStores: fmt::Debug + Send + Sync {
    /// Whether a driver may have secrets of a store. Reads nothing.
    ///
    /// # Errors
    /// If there is no such store, or the driver is not granted its secrets. The help says how to
    /// change that.
    fn allows(&self, driver: &str, store: &str) -> Result<(), SecretFault>;

    /// Whether there is a driver with this name. [`check_secrets`] reports no missing grants of a
    /// driver that does not exist.
    fn knows_driver(&self, _driver: &str) -> bool {
        true
    }

    /// Reads a secret. Called once for each secret during a plan and its run, and concurrently for
    /// several. `context` is where the secret is used.
    ///
    /// # Errors
    /// If there is no such secret, or the store cannot be read.
    async fn get(&self, secret: &SecretRef, context: &Context) -> Result<SecretString, SecretFault>;
}

/// No stores.
#[derive(Debug)]
pub(crate) struct NoStores;

#[async_trait]
impl SecretStores for NoStores {
    fn allows(&self, _: &str, _: &str) -> Result<(), SecretFault> {
        let fault = SecretFault::new("no such store is configured");
        Err(fault.help("configure the store, or give the secret as `{value: …}` or under `secrets`"))
    }

    async fn get(&self, secret: &SecretRef, _: &Context) -> Result<SecretString, SecretFault> {
        self.allows("", &secret.store).and(Err(SecretFault::new("there is nothing to read")))
    }
}
