//! A single driver, for direct calls.

use std::path::Path;
use std::time::Duration;

use purlin_model::{DriverSource, Limits};
use purlin_sandbox::{Driver, DriverSetup, Source};

use super::missing::Missing;
use super::{Registry, canonical};
use crate::{Error, Purlin};

/// The built-in drivers whose systems show a new resource to every read at once. They have no grace
/// unless the operator sets one.
const SHOWN_AT_ONCE: [&str; 5] =
    ["purlin/dns", "purlin/file", "purlin/kubernetes", "purlin/postgres", "purlin/redis"];

impl Registry {
    /// The name under which the workspace configures this file as a driver.
    pub(crate) fn named(&self, file: &Path) -> Option<&str> {
        let real = |path: &Path| path.canonicalize().ok();
        let file = real(file)?;
        let named = self.configured.iter().find(|(_, config)| match &config.source {
            Some(DriverSource::Path(path)) => real(&self.place(path)).is_some_and(|path| path == file),
            _ => false,
        });
        named.map(|(name, _)| &**name)
    }

    /// The workspace's configuration of a driver with this name: grants, limits, its folder,
    /// variables.
    pub(crate) fn setup(&self, name: &str) -> DriverSetup {
        let config = self.configured.get(name);
        DriverSetup {
            name: name.into(),
            grants: config.map(|c| c.grants.clone()).unwrap_or_default(),
            limits: self.limits(name),
            folder: self.folder.clone(),
            env: self.variables.clone(),
            labels: self.labels.clone(),
        }
    }

    /// The limits of a driver, with the grace that its system needs.
    fn limits(&self, name: &str) -> Limits {
        let mut limits = self.configured.get(name).map(|config| config.limits.clone()).unwrap_or_default();
        if SHOWN_AT_ONCE.contains(&name) {
            limits.grace.get_or_insert(Duration::ZERO);
        }
        limits
    }

    async fn single(&self, name: &str) -> Result<Driver, Error> {
        let missing = |missing: Missing| match missing {
            Missing::Unknown { .. } => Error::Documents(vec![*missing.diagnostic(name, None, None)]),
            _ => Error::Component(format!("no driver `{name}`: {}", missing.in_short())),
        };
        let mut found = self.candidates(name).await.map_err(missing)?.drivers.into_iter();
        found.next().ok_or_else(|| Error::Component(format!("no driver `{name}`")))
    }

    async fn file(&self, file: &Path) -> Result<Driver, Error> {
        // Under its configured name, it has its grants, and the lock applies.
        if let Some(name) = self.named(file) {
            return self.single(name).await;
        }
        let what = format!("`{}`", file.display());
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let loaded = self.sandbox.load(Source::File(file.to_owned()), &self.setup(&name)).await;
        loaded.map_err(|error| Error::Component(error.about(&what)))
    }
}

impl Purlin {
    /// A driver that is built in or named by the workspace, in its best version.
    ///
    /// # Errors
    /// If there is no such driver, it cannot be used, or the lock does not approve it.
    pub async fn driver(&self, name: &str) -> Result<Driver, Error> {
        self.registry()?.single(canonical(name)).await
    }

    /// The driver in a file: with its grants if the workspace names the file, otherwise without
    /// grants.
    ///
    /// # Errors
    /// As for [`Purlin::driver`].
    pub async fn driver_file(&self, file: &Path) -> Result<Driver, Error> {
        self.registry()?.file(file).await
    }
}
