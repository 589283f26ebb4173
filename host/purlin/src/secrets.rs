//! The secret stores of a workspace: who may read them, and how each kind is read, with one file
//! for each kind. Nothing here keeps a secret or shows it in a message.

mod command;
mod driver;
mod env;
mod file;
mod keys;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use indexmap::IndexMap;
use purlin_engine::{SecretFault, SecretRef, SecretStores};
use purlin_expression::did_you_mean;
use purlin_model::{Context, SecretStore, SecretStoreKind, Workspace};
use secrecy::SecretString;
use zeroize::Zeroizing;

use crate::drivers::{Registry, canonical};

/// The maximum size of a secret, in bytes.
const LARGEST: usize = 1 << 20;

/// The stores of a workspace.
pub(crate) struct Stores {
    configured: IndexMap<Arc<str>, SecretStore>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
    /// The stores that each driver is granted.
    grants: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Finds the drivers of stores.
    drivers: Arc<Registry>,
}

impl Stores {
    pub(crate) fn new(
        workspace: &Workspace,
        variables: &BTreeMap<String, String>,
        drivers: Arc<Registry>,
    ) -> Self {
        let grants = workspace.drivers.iter();
        let grants = grants.map(|(name, driver)| (canonical(name).into(), driver.grants.secrets.clone()));
        let is_here = workspace.folder.as_os_str().is_empty();
        Self {
            configured: workspace.secret_stores.clone(),
            folder: if is_here { ".".into() } else { workspace.folder.clone() },
            variables: variables.clone(),
            grants: grants.collect(),
            drivers,
        }
    }

    fn store(&self, name: &str) -> Result<&SecretStore, SecretFault> {
        self.configured.get(name).ok_or_else(|| {
            let fault = SecretFault::new("there is no such store");
            match self.configured.is_empty() {
                true => fault.help(format!(
                    "configure it in purlin.yaml: `secret_stores: {{{name}: {{file: ./secrets}}}}`"
                )),
                false => {
                    let names = self.configured.keys().map(|name| &**name);
                    fault.help(did_you_mean(name, "secret stores of purlin.yaml", names))
                }
            }
        })
    }
}

/// Variables are not shown, since they may contain secrets.
impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").field("configured", &self.configured).finish_non_exhaustive()
    }
}

#[async_trait]
impl SecretStores for Stores {
    fn allows(&self, driver: &str, store: &str) -> Result<(), SecretFault> {
        self.store(store)?;
        let granted = self.grants.get(canonical(driver));
        if granted.is_some_and(|stores| stores.iter().any(|granted| **granted == *store)) {
            return Ok(());
        }
        let fault = SecretFault::new(format!("the driver `{driver}` is not granted its secrets"));
        Err(fault.help(format!(
            "grant them in purlin.yaml: `drivers: {{{driver}: {{grants: {{secrets: [{store}]}}}}}}`"
        )))
    }

    fn knows_driver(&self, driver: &str) -> bool {
        self.drivers.knows(driver)
    }

    async fn get(&self, secret: &SecretRef, context: &Context) -> Result<SecretString, SecretFault> {
        match &self.store(&secret.store)?.kind {
            SecretStoreKind::File(path) => {
                let (path, secret) = (plain(&self.folder.join(path)), secret.clone());
                blocking(move || file::read(&path, &secret)).await
            }
            SecretStoreKind::Env(prefix) => env::read(prefix, &self.variables, secret),
            SecretStoreKind::Command(command) => {
                let prepared = command::prepare(command, &self.folder, &self.variables, secret)?;
                blocking(move || prepared.run()).await
            }
            SecretStoreKind::Driver(config) => driver::read(config, &self.drivers, secret, context).await,
        }
    }
}

/// The same path without `.`.
fn plain(path: &Path) -> PathBuf {
    let plain: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    if plain.as_os_str().is_empty() { ".".into() } else { plain }
}

/// Runs code that waits for files and programs on a separate thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SecretFault> + Send + 'static,
) -> Result<T, SecretFault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(SecretFault::new("it was cut off")),
    }
}

/// Rejects a version for a store that has none.
fn no_version(secret: &SecretRef, what: &str) -> Result<(), SecretFault> {
    match secret.version {
        None => Ok(()),
        Some(_) => {
            let fault = SecretFault::new(format!("{what} has no versions"));
            Err(fault.help("leave `version` out, or read from a command or a driver"))
        }
    }
}

/// The text of bytes, without its last line ending, which users and programs often add.
fn text(bytes: &Zeroizing<Vec<u8>>) -> Result<SecretString, SecretFault> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(SecretFault::new("it is not text in UTF-8"));
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    Ok(SecretString::from(text))
}

fn too_large() -> SecretFault {
    SecretFault::new("it is larger than 1 MiB, and no secret may be")
}
