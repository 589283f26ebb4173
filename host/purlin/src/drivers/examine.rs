//! Tests a driver against the contract, with the grants that it has in the workspace.
//!
//! The lock does not apply: it restricts the drivers that deployments use, while the user names the
//! component to test, for example its author after each build.

use std::path::{Path, PathBuf};

use purlin_conformance::{ConformanceReport, Examination, Patience, Rule, examine};
use purlin_model::{Diagnostic, DriverCases, DriverConfig, DriverSource};
use purlin_sandbox::{CancelToken, DriverSetup, read_component};

use super::{Registry, canonical};
use crate::{Error, Purlin};

/// The component to test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examined {
    /// The component in a file.
    File(PathBuf),
    /// A driver of the workspace, or a built-in one.
    Name(String),
}

impl Registry {
    /// The workspace's configuration of a component, by its file.
    fn configured_file(&self, file: &Path) -> Option<(&str, &DriverConfig)> {
        let file = std::fs::canonicalize(file).ok()?;
        self.configured.iter().find_map(|(name, config)| {
            let Some(DriverSource::Path(path)) = &config.source else { return None };
            let source = std::fs::canonicalize(self.folder.join(path)).ok()?;
            (source == file || file.parent() == Some(source.as_path())).then_some((&**name, config))
        })
    }
}

impl Purlin {
    /// The file of the named component; `None` for a built-in one.
    ///
    /// # Errors
    /// If there is no such driver, or it has several components.
    pub async fn examined_file(&self, examined: &Examined) -> Result<Option<PathBuf>, Error> {
        match examined {
            Examined::File(file) => Ok(Some(file.clone())),
            Examined::Name(name) => Ok(self.the_component(name).await?.0),
        }
    }

    async fn the_component(
        &self,
        name: &str,
    ) -> Result<(Option<PathBuf>, std::borrow::Cow<'static, [u8]>), Error> {
        let registry = self.registry()?;
        let config = registry.configured.get(canonical(name));
        let mut components = registry
            .components(name)
            .await
            .map_err(|missing| Error::Documents(vec![*missing.diagnostic(name, config, None)]))?;
        match (components.len(), components.pop()) {
            (1, Some(component)) => Ok(component),
            (count, _) => Err(Error::Component(format!(
                "`{name}` has {count} components; name the file of one of them"
            ))),
        }
    }

    /// Tests a driver, by name or by file, against the contract, with the grants and limits that
    /// the workspace has for it. Resources are really created, and deleted again.
    ///
    /// `stop` ends the test early; created resources are deleted then too.
    ///
    /// # Errors
    /// If it is not a driver, if the cases do not fit it, or if there are no cases and none can be
    /// generated.
    pub async fn examine(
        &self,
        examined: &Examined,
        cases: Option<DriverCases>,
        only: Option<&'static Rule>,
        stop: CancelToken,
        patience: Patience,
    ) -> Result<ConformanceReport, Error> {
        let registry = self.registry()?;
        let (what, name, config, bytes) = match examined {
            Examined::File(file) => {
                let what = format!("`{}`", file.display());
                let read = read_component(file.clone()).await;
                let bytes = read.map_err(|error| Error::Component(error.about(&what)))?;
                let found = registry.configured_file(file);
                (
                    what,
                    found.map_or("driver", |(name, _)| name),
                    found.map(|(_, config)| config),
                    bytes.into(),
                )
            }
            Examined::Name(name) => {
                let (file, bytes) = self.the_component(name).await?;
                let what = match file {
                    Some(file) => format!("`{}`", file.display()),
                    None => format!("the built-in `{name}`"),
                };
                (what, canonical(name), registry.configured.get(canonical(name)), bytes)
            }
        };
        let setup = DriverSetup {
            name: name.into(),
            grants: config.map(|config| config.grants.clone()).unwrap_or_default(),
            limits: config.map(|config| config.limits.clone()).unwrap_or_default(),
            folder: registry.folder.clone(),
            env: registry.variables.clone(),
            labels: registry.labels.clone(),
        };
        let examination = Examination { component: bytes, setup, cases, only, stop, patience };
        examine(&registry.sandbox, &examination).await.map_err(|error| match error {
            purlin_conformance::Error::Load(error) => Error::Component(error.about(&what)),
            purlin_conformance::Error::NoCases(error) => Error::NoCases(error),
            purlin_conformance::Error::Case { message, help, location } => {
                Error::Documents(vec![Diagnostic::error("wrong-case", message).at(&location).help(help)])
            }
        })
    }
}
