//! Finds drivers: the built-in ones, and those that the workspace names.

mod approve;
mod built_in;
mod examine;
mod inspect;
mod missing;
mod pinned;
mod protected_files;
mod requested;
mod single;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use indexmap::IndexMap;
use purlin_engine::{Driver, Drivers, KnownOutputs, Needed};
use purlin_expression::nearest;
use purlin_model::driver::DriverInfo;
use purlin_model::{Diagnostic, DriverConfig, DriverRequirement, DriverSource, Lock, Workspace};
use purlin_sandbox::{
    DriverSetup, Precompiled, Sandbox, SandboxConfig, SandboxError, Source, read_component,
};
use purlin_state::Probe;
use tokio::sync::Mutex;

use crate::Documents;
use crate::crash_points::ProbedDriver;

pub use approve::{Approval, ApprovalChange};
pub(crate) use built_in::{Given, canonical, names as built_in_names};
pub use examine::Examined;
pub use inspect::Inspection;
pub use missing::NAME_OF_ITS_OWN;
pub(crate) use protected_files::ProtectedFile;
pub use requested::Granted;

use built_in::BuiltIn;
use missing::Missing;

/// The origin of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverOrigin {
    /// It is part of the program: it comes with Purlin, or the program gave it to the builder.
    BuiltIn,
    /// The workspace names a file or a folder.
    Path(PathBuf),
    /// The workspace names a reference in a registry.
    Oci(String),
}

/// An available driver.
#[derive(Debug)]
pub struct ListedDriver {
    /// `ORG/NAME`.
    pub name: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Its origin.
    pub origin: DriverOrigin,
    /// The version and digest of each component, or why the driver cannot be used.
    pub versions: Result<Vec<(String, String)>, String>,
    /// Whether its components are approved in the lock; `None` for a built-in driver.
    pub pinned: Option<bool>,
    /// Components that are skipped because they are not approved while others in the folder are.
    pub skipped: Vec<PathBuf>,
}

/// All drivers of one program run. Each is loaded when it is first needed.
pub(crate) struct Registry {
    sandbox: Sandbox,
    built_in: IndexMap<Arc<str>, BuiltIn>,
    configured: BTreeMap<Arc<str>, DriverConfig>,
    folder: PathBuf,
    /// The files that no driver may write to.
    kept: Vec<ProtectedFile>,
    variables: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    lock: Option<Lock>,
    loaded: Mutex<HashMap<Arc<str>, Candidates>>,
    probe: Option<Probe>,
}

/// The versions of a driver.
#[derive(Clone, Default)]
struct Candidates {
    /// The best version first.
    drivers: Vec<purlin_sandbox::Driver>,
    /// Components that exist but are not approved.
    skipped: Vec<PathBuf>,
}

impl Registry {
    pub(crate) fn new(
        workspace: &Workspace,
        given: Given,
        sandbox: SandboxConfig,
        variables: BTreeMap<String, String>,
        kept: Vec<ProtectedFile>,
        probe: Option<Probe>,
    ) -> Result<Self, SandboxError> {
        Ok(Self {
            sandbox: Sandbox::new(sandbox)?,
            built_in: built_in::all(given),
            configured: workspace
                .drivers
                .iter()
                .map(|(name, config)| (Arc::from(canonical(name)), config.clone()))
                .collect(),
            folder: workspace.folder.clone(),
            kept,
            variables,
            labels: workspace
                .labels
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            lock: workspace.lock.clone(),
            loaded: Mutex::default(),
            probe,
        })
    }

    /// The output names of the drivers that the documents name, as far as these drivers exist.
    pub(crate) async fn known_outputs(&self, documents: &Documents) -> KnownOutputs {
        let mut known = KnownOutputs::new(&documents.loaded.resource_types);
        let mut seen = std::collections::HashSet::new();
        for definition in documents.definition_index.definitions() {
            let requirement = &definition.recipe.driver;
            if seen.insert((&requirement.name, requirement.range.as_ref().map(ToString::to_string)))
                && let Ok(driver) = self.find(Needed::For(requirement)).await
            {
                known.add(requirement, driver);
            }
        }
        known
    }

    /// Faults of the workspace: drivers that do not exist, or not in the required version.
    pub(crate) async fn missing_driver_faults(&self) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        for (name, config) in &self.configured {
            let is_there = config.source.is_some() || self.built_in.contains_key(name);
            let missing = match (&config.version, is_there) {
                (_, false) => self.unknown(name),
                (Some(range), true) => match self.candidates(name).await {
                    Ok(found) if !found.drivers.iter().any(|d| range.matches(&d.info().version)) => {
                        let versions = found.drivers.iter().map(|d| d.info().version.clone()).collect();
                        let (wanted, skipped) = (format!("`{range}`"), found.skipped);
                        Missing::NoVersion { versions, wanted, skipped }
                    }
                    // A driver that cannot be used is reported where it is used.
                    _ => continue,
                },
                (None, true) => continue,
            };
            faults.push(*missing.diagnostic(name, None, Some(&config.location)));
        }
        faults
    }

    /// Loads and lists every driver.
    pub(crate) async fn list(&self) -> Vec<ListedDriver> {
        let mut names: Vec<Arc<str>> = self.built_in.keys().cloned().collect();
        names.extend(self.configured.keys().filter(|name| !self.built_in.contains_key(*name)).cloned());
        let mut infos = Vec::with_capacity(names.len());
        for name in names {
            let source = self.configured.get(&name).and_then(|config| config.source.clone());
            let origin = match source {
                None => DriverOrigin::BuiltIn,
                Some(DriverSource::Path(path)) => DriverOrigin::Path(path),
                Some(DriverSource::Oci(reference)) => DriverOrigin::Oci(reference),
            };
            let candidates = self.candidates(&name).await;
            let own = origin != DriverOrigin::BuiltIn;
            let pinned = own.then(|| self.lock.is_some() && candidates.is_ok());
            let aliases = self.built_in.get(&name).map_or(&[][..], |built_in| built_in.aliases);
            let skipped = candidates.as_ref().map(|c| c.skipped.clone()).unwrap_or_default();
            infos.push(ListedDriver {
                name: name.to_string(),
                aliases: aliases.iter().map(ToString::to_string).collect(),
                origin,
                versions: candidates.map(|found| found.versions()).map_err(|missing| missing.in_short()),
                pinned,
                skipped,
            });
        }
        infos
    }

    /// All usable versions of a driver.
    async fn candidates(&self, name: &str) -> Result<Candidates, Missing> {
        let name = canonical(name);
        let mut loaded = self.loaded.lock().await;
        if let Some(found) = loaded.get(name) {
            return Ok(found.clone());
        }
        let config = self.configured.get(name);
        for grant in config.iter().flat_map(|config| &config.grants.dirs) {
            if let Some(kept) = ProtectedFile::within(&self.kept, grant, &self.folder) {
                return Err(Missing::Kept { grant: Box::new(grant.clone()), kept: kept.to_owned() });
            }
            let others = self.configured.values().map(|config| &config.grants);
            if let Some(link) = protected_files::link_of_a_driver(grant, others, &self.folder) {
                return Err(Missing::Link { grant: Box::new(grant.clone()), link });
            }
        }
        let setup = self.setup(name);
        let mut found = match config.and_then(|config| config.source.as_ref()) {
            Some(DriverSource::Path(path)) => self.load_path(&self.place(path), &setup).await?,
            Some(DriverSource::Oci(reference)) => return Err(Missing::Oci(reference.clone())),
            None => {
                Candidates { drivers: vec![self.load_built_in(name, &setup).await?], skipped: Vec::new() }
            }
        };
        found.drivers.sort_by(|a, b| b.info().version.cmp(&a.info().version));
        loaded.insert(name.into(), found.clone());
        Ok(found)
    }

    async fn load_built_in(
        &self,
        name: &str,
        setup: &DriverSetup,
    ) -> Result<purlin_sandbox::Driver, Missing> {
        let Some(built_in) = self.built_in.get(name) else { return Err(self.unknown(name)) };
        let result = match built_in.precompiled {
            Some((code, wasm)) => {
                // SAFETY: embedded at build time, exactly as the precompiler of this build returned
                // it.
                #[allow(unsafe_code)]
                let code = unsafe { Precompiled::trust(code) };
                self.sandbox.load_precompiled(code, wasm, setup).await
            }
            None => self.sandbox.load(Source::Bytes(built_in.wasm.clone()), setup).await,
        };
        result.map_err(|error| Missing::Unusable { what: format!("the built-in `{name}`"), error })
    }

    /// A path of the workspace, without redundant dots.
    fn place(&self, path: &Path) -> PathBuf {
        self.folder.join(path).components().collect()
    }

    fn unknown(&self, name: &str) -> Missing {
        // A driver that only has grants cannot be used.
        let known = self.configured.iter().filter(|(_, config)| config.source.is_some());
        let known = known.map(|(name, _)| &**name).filter(|known| *known != name);
        let known: Vec<&str> = known.chain(self.built_in.keys().map(|name| &**name)).collect();
        let near = match name.contains('/') {
            true => nearest(name, known),
            // Perhaps only the publisher is missing.
            false => {
                let own = |name: &str| known.iter().copied().find(|known| without_publisher(known) == name);
                let near = || nearest(name, known.iter().copied().map(without_publisher));
                own(name).or_else(|| own(near()?))
            }
        };
        Missing::Unknown { near: near.map(str::to_owned) }
    }

    /// Whether there is a driver with this name, usable or not.
    pub(crate) fn knows(&self, name: &str) -> bool {
        let name = canonical(name);
        let has_source = |config: &DriverConfig| config.source.is_some();
        self.built_in.contains_key(name) || self.configured.get(name).is_some_and(has_source)
    }

    /// Loads the components of a file or a folder. With a lock, only approved components are
    /// compiled and called.
    async fn load_path(&self, path: &Path, setup: &DriverSetup) -> Result<Candidates, Missing> {
        let mut found = Candidates::default();
        let mut refused = Vec::new();
        for file in files(path)? {
            let unusable = |error| Missing::Unusable { what: format!("`{}`", file.display()), error };
            let Some(lock) = &self.lock else {
                let driver = self.sandbox.load(Source::File(file.clone()), setup).await.map_err(unusable)?;
                check_claim(&file, &setup.name, driver.info(), driver.digest())?;
                found.drivers.push(driver);
                continue;
            };
            let bytes = read_component(file.clone()).await.map_err(unusable)?;
            let approved =
                pinned::approved(lock, &self.sandbox, &setup.name, &file, &bytes, &setup.grants).await;
            let pin = match approved {
                Ok(pin) => pin,
                Err(unapproved) => {
                    refused.push(unapproved);
                    found.skipped.push(file);
                    continue;
                }
            };
            // These are the same bytes that were compared, since the file may change meanwhile.
            let driver = self.sandbox.load(Source::Bytes(bytes.into()), setup).await.map_err(unusable)?;
            check_claim(&file, &setup.name, driver.info(), driver.digest())?;
            match pinned::confirmed(pin, &file, &driver) {
                Ok(()) => found.drivers.push(driver),
                Err(unapproved) => {
                    refused.push(unapproved);
                    found.skipped.push(file);
                }
            }
        }
        if found.drivers.is_empty() {
            let others = refused.len().saturating_sub(1);
            if let Some(mut first) = refused.into_iter().next() {
                first.others = others;
                return Err(Missing::Unapproved(first));
            }
        }
        Ok(found)
    }

    /// The components of a driver without loading them: their files and bytes.
    async fn components(&self, name: &str) -> Result<Vec<(Option<PathBuf>, Cow<'static, [u8]>)>, Missing> {
        let name = canonical(name);
        match self.configured.get(name).and_then(|config| config.source.as_ref()) {
            Some(DriverSource::Path(path)) => {
                let mut components = Vec::new();
                for file in files(&self.place(path))? {
                    let bytes = read_component(file.clone()).await.map_err(|error| Missing::Unusable {
                        what: format!("`{}`", file.display()),
                        error,
                    })?;
                    components.push((Some(file), bytes.into()));
                }
                Ok(components)
            }
            Some(DriverSource::Oci(reference)) => Err(Missing::Oci(reference.clone())),
            None => match self.built_in.get(name) {
                Some(built_in) => Ok(vec![(None, built_in.wasm.clone())]),
                None => Err(self.unknown(name)),
            },
        }
    }
}

impl Candidates {
    fn versions(&self) -> Vec<(String, String)> {
        self.drivers.iter().map(|d| (d.info().version.to_string(), d.digest().to_owned())).collect()
    }
}

/// Publishers whose drivers are built in. No other component may use their names.
const OURS: [&str; 2] = ["purlin/", "humanitec/"];

/// `NAME` of `ORG/NAME`.
fn without_publisher(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, own)| own)
}

/// Whether a name belongs to a publisher of built-in drivers.
fn is_ours(name: &str) -> bool {
    OURS.iter().any(|ours| name.to_lowercase().starts_with(ours))
}

/// Checks that neither the component's name in the workspace nor the one in its description belongs to
/// a publisher of built-in drivers, unless it is that very component.
///
/// # Errors
/// [`Missing::NotTheirs`] with the name.
fn check_claim(file: &Path, name: &str, info: &DriverInfo, digest: &str) -> Result<(), Missing> {
    match claim(name, info, digest) {
        None => Ok(()),
        Some(claimed) => Err(Missing::NotTheirs { file: file.to_owned(), claimed }),
    }
}

/// The reserved name that a component uses although it is not built in.
fn claim(name: &str, info: &DriverInfo, digest: &str) -> Option<String> {
    let claimed = [&*info.name, name].into_iter().find(|name| is_ours(name))?;
    (!built_in::comes_with_us(digest)).then(|| claimed.to_owned())
}

/// The file, or the components in the folder in lexical order.
fn files(path: &Path) -> Result<Vec<PathBuf>, Missing> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error| Missing::Folder { path: path.into(), error };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|ending| ending == "wasm") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() { Err(Missing::Empty { path: path.into() }) } else { Ok(files) }
}

#[async_trait]
impl Drivers for Registry {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let (name, location) = match needed {
            Needed::For(requirement) => (&*requirement.name, Some(&requirement.location)),
            Needed::Recorded(name, _) => (name, None),
        };
        let config = self.configured.get(canonical(name));
        let fault = |missing: Missing| missing.diagnostic(name, config, location);
        let Candidates { drivers, skipped } = self.candidates(name).await.map_err(fault)?;
        let wanted = |driver: &purlin_sandbox::Driver| {
            let version = &driver.info().version;
            config.and_then(|config| config.version.as_ref()).is_none_or(|range| range.matches(version))
                && match needed {
                    Needed::For(DriverRequirement { range, .. }) => {
                        range.as_ref().is_none_or(|range| range.matches(version))
                    }
                    Needed::Recorded(_, recorded) => version.to_string() == recorded,
                }
        };
        // A newer version of a driver can delete the resources of an older one, but the same
        // version is better.
        let fallback = || drivers.first().filter(|_| matches!(needed, Needed::Recorded(..)));
        match drivers.iter().find(|driver| wanted(driver)).or_else(fallback) {
            Some(driver) => {
                let driver: Arc<dyn Driver> = Arc::new(driver.clone());
                Ok(match &self.probe {
                    Some(probe) => Arc::new(ProbedDriver { driver, probe: probe.clone() }),
                    None => driver,
                })
            }
            None => {
                let versions = drivers.iter().map(|d| d.info().version.clone()).collect();
                let own = config.and_then(|config| config.version.as_ref());
                let required = match needed {
                    Needed::For(DriverRequirement { range, .. }) => range.as_ref(),
                    Needed::Recorded(..) => None,
                };
                let wanted: Vec<String> =
                    own.into_iter().chain(required).map(|range| format!("`{range}`")).collect();
                Err(fault(Missing::NoVersion { versions, wanted: wanted.join(" and "), skipped }))
            }
        }
    }
}
