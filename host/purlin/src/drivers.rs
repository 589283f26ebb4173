//! Finding drivers: the built-in ones, and those that the workspace names.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use purlin_engine::{Driver, Drivers, KnownOutputs, Needed};
use purlin_expression::nearest;
use purlin_model::{Diagnostic, DriverConfig, DriverRequirement, DriverSource, Location, Workspace};
use purlin_sandbox::{DriverSetup, LoadError, Precompiled, Sandbox, SandboxConfig, SandboxError, Source};
use purlin_state::Probe;
use tokio::sync::Mutex;

use crate::Documents;
use crate::probed::Probed;

/// Where a driver comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverOrigin {
    /// It came with Purlin.
    BuiltIn,
    /// The workspace names a file or a folder.
    Path(PathBuf),
    /// The workspace names a reference in a registry.
    Oci(String),
}

/// A driver that can be used.
#[derive(Debug)]
pub struct DriverInfo {
    /// `ORG/NAME`.
    pub name: String,
    /// Further names of it.
    pub aliases: Vec<String>,
    /// Where it comes from.
    pub origin: DriverOrigin,
    /// Version and digest of each component, or why it cannot be used.
    pub versions: Result<Vec<(String, String)>, String>,
}

/// All drivers of one program run. Each is loaded when it is first asked for.
pub(crate) struct Registry {
    sandbox: Sandbox,
    configured: BTreeMap<Arc<str>, DriverConfig>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
    loaded: Mutex<HashMap<Arc<str>, Vec<purlin_sandbox::Driver>>>,
    probe: Option<Probe>,
}

impl Registry {
    pub(crate) fn new(
        workspace: &Workspace,
        cache: &Path,
        variables: BTreeMap<String, String>,
        probe: Option<Probe>,
    ) -> Result<Self, SandboxError> {
        let config = SandboxConfig { cache: Some(cache.to_owned()), ..SandboxConfig::default() };
        Ok(Self {
            sandbox: Sandbox::new(config)?,
            configured: workspace
                .drivers
                .iter()
                .map(|(name, config)| (Arc::from(canonical(name)), config.clone()))
                .collect(),
            folder: workspace.folder.clone(),
            variables,
            loaded: Mutex::default(),
            probe,
        })
    }

    /// Output names of the drivers that the documents name, as far as the drivers are there.
    pub(crate) async fn known_outputs(&self, documents: &Documents) -> KnownOutputs {
        let mut known = KnownOutputs::new(&documents.loaded.resource_types);
        let mut seen = std::collections::HashSet::new();
        for definition in documents.catalogue.definitions() {
            let requirement = &definition.recipe.driver;
            if seen.insert((&requirement.name, requirement.range.as_ref().map(ToString::to_string)))
                && let Ok(driver) = self.find(Needed::For(requirement)).await
            {
                known.add(requirement, driver);
            }
        }
        known
    }

    /// Every driver, each loaded.
    pub(crate) async fn list(&self) -> Vec<DriverInfo> {
        let mut names: Vec<Arc<str>> = purlin_builtin::drivers().iter().map(|b| b.name.into()).collect();
        names.extend(self.configured.keys().filter(|name| built_in(name).is_none()).cloned());
        let mut infos = Vec::with_capacity(names.len());
        for name in names {
            let source = self.configured.get(&name).and_then(|config| config.source.clone());
            let origin = match source {
                None => DriverOrigin::BuiltIn,
                Some(DriverSource::Path(path)) => DriverOrigin::Path(path),
                Some(DriverSource::Oci(reference)) => DriverOrigin::Oci(reference),
            };
            let versions = self.candidates(&name).await.map(|drivers| {
                let version =
                    |d: &purlin_sandbox::Driver| (d.manifest().version.to_string(), d.digest().to_owned());
                drivers.iter().map(version).collect()
            });
            let aliases = built_in(&name).map_or(&[][..], |b| b.aliases);
            infos.push(DriverInfo {
                name: name.to_string(),
                aliases: aliases.iter().map(ToString::to_string).collect(),
                origin,
                versions: versions.map_err(|missing| missing.to_string()),
            });
        }
        infos
    }

    /// All versions of a driver, best first.
    async fn candidates(&self, name: &str) -> Result<Vec<purlin_sandbox::Driver>, Missing> {
        let name = canonical(name);
        let mut loaded = self.loaded.lock().await;
        if let Some(drivers) = loaded.get(name) {
            return Ok(drivers.clone());
        }
        let config = self.configured.get(name);
        let setup = DriverSetup {
            name: name.into(),
            grants: config.map(|c| c.grants.clone()).unwrap_or_default(),
            limits: config.map(|c| c.limits.clone()).unwrap_or_default(),
            folder: self.folder.clone(),
            env: self.variables.clone(),
        };
        let mut drivers = match config.and_then(|config| config.source.as_ref()) {
            Some(DriverSource::Path(path)) => self.load_path(&self.folder.join(path), &setup).await?,
            Some(DriverSource::Oci(reference)) => return Err(Missing::Oci(reference.clone())),
            None => vec![self.load_built_in(name, &setup).await?],
        };
        drivers.sort_by(|a, b| b.manifest().version.cmp(&a.manifest().version));
        loaded.insert(name.into(), drivers.clone());
        Ok(drivers)
    }

    async fn load_built_in(
        &self,
        name: &str,
        setup: &DriverSetup,
    ) -> Result<purlin_sandbox::Driver, Missing> {
        let Some(built_in) = built_in(name) else {
            let known = self.configured.keys().map(|name| &**name);
            let known: Vec<&str> = known.chain(purlin_builtin::drivers().iter().map(|b| b.name)).collect();
            return Err(Missing::Unknown { near: nearest(name, known).map(str::to_owned) });
        };
        let result = match built_in.precompiled {
            Some(code) => {
                // SAFETY: embedded at build time, as the precompiler of this very build returned it.
                #[allow(unsafe_code)]
                let code = unsafe { Precompiled::trust(code) };
                self.sandbox.load_precompiled(code, built_in.wasm, setup).await
            }
            None => self.sandbox.load(Source::Bytes(built_in.wasm.into()), setup).await,
        };
        result.map_err(|error| Missing::Unusable { what: format!("the built-in `{name}`"), error })
    }

    async fn load_path(
        &self,
        path: &Path,
        setup: &DriverSetup,
    ) -> Result<Vec<purlin_sandbox::Driver>, Missing> {
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let listing =
                std::fs::read_dir(path).map_err(|error| Missing::Folder { path: path.into(), error })?;
            files = listing
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|file| file.extension().is_some_and(|ending| ending == "wasm"))
                .collect();
            files.sort();
            if files.is_empty() {
                return Err(Missing::Empty { path: path.into() });
            }
        }
        let mut drivers = Vec::with_capacity(files.len());
        for file in files {
            let what = format!("`{}`", file.display());
            let loaded = self.sandbox.load(Source::File(file), setup).await;
            drivers.push(loaded.map_err(|error| Missing::Unusable { what, error })?);
        }
        Ok(drivers)
    }
}

#[async_trait]
impl Drivers for Registry {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let (name, location) = match needed {
            Needed::For(requirement) => (&*requirement.name, Some(&requirement.location)),
            Needed::Recorded(name, _) => (name, None),
        };
        let drivers = self.candidates(name).await.map_err(|missing| missing.diagnostic(name, location))?;
        let wanted = |driver: &purlin_sandbox::Driver| {
            let version = &driver.manifest().version;
            let configured = self.configured.get(canonical(name)).and_then(|config| config.version.as_ref());
            configured.is_none_or(|range| range.matches(version))
                && match needed {
                    Needed::For(DriverRequirement { range, .. }) => {
                        range.as_ref().is_none_or(|range| range.matches(version))
                    }
                    Needed::Recorded(_, recorded) => version.to_string() == recorded,
                }
        };
        // What a driver made, a newer version of it can delete; the very version is better.
        let fallback = || drivers.first().filter(|_| matches!(needed, Needed::Recorded(..)));
        match drivers.iter().find(|driver| wanted(driver)).or_else(fallback) {
            Some(driver) => {
                let driver: Arc<dyn Driver> = Arc::new(driver.clone());
                Ok(match &self.probe {
                    Some(probe) => Arc::new(Probed { driver, probe: probe.clone() }),
                    None => driver,
                })
            }
            None => {
                let versions: Vec<String> =
                    drivers.iter().map(|d| d.manifest().version.to_string()).collect();
                let missing = Missing::NoVersion { versions: versions.join(", ") };
                Err(missing.diagnostic(name, location))
            }
        }
    }
}

/// The name that an alias stands for.
fn canonical(name: &str) -> &str {
    purlin_builtin::drivers().iter().find(|b| b.aliases.contains(&name)).map_or(name, |b| b.name)
}

fn built_in(name: &str) -> Option<&'static purlin_builtin::Builtin> {
    purlin_builtin::drivers().iter().find(|b| b.name == name)
}

/// Why a driver cannot be had.
#[derive(Debug, thiserror::Error)]
enum Missing {
    #[error("nobody has it")]
    Unknown { near: Option<String> },
    #[error("it is to come from the registry reference `{0}`, and this version reads files and folders only")]
    Oci(String),
    #[error("{what} is {error}")]
    Unusable { what: String, error: LoadError },
    #[error("the folder `{}` cannot be read: {error}", path.display())]
    Folder { path: PathBuf, error: std::io::Error },
    #[error("the folder `{}` holds no `.wasm` file", path.display())]
    Empty { path: PathBuf },
    #[error("no version of it fits; there is {versions}")]
    NoVersion { versions: String },
}

impl Missing {
    fn diagnostic(&self, name: &str, location: Option<&Location>) -> Box<Diagnostic> {
        let mut diagnostic = Diagnostic::error("driver", format!("no driver `{name}`: {self}"));
        if let Some(location) = location {
            diagnostic = diagnostic.at(location);
        }
        Box::new(match self {
            Self::Unknown { near: Some(near) } => diagnostic.help(format!(
                "did you mean `{near}`? Otherwise add it to purlin.yaml: `drivers: {{{name}: {{source: ./driver.wasm}}}}`"
            )),
            Self::Unknown { near: None } | Self::Oci(_) => diagnostic
                .help(format!("add it to purlin.yaml: `drivers: {{{name}: {{source: ./driver.wasm}}}}`")),
            _ => diagnostic,
        })
    }
}
