//! Inspects a driver before it is used: the content of its component, and its own description.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use purlin_model::driver::{DriverInfo, RequestedCapability};
use purlin_model::{Grants, Limits};
use purlin_sandbox::{Interfaces, Sandbox, read_component};

use super::missing::not_theirs;
use super::{Registry, canonical, claim, requested};
use crate::{Error, Granted, Purlin};

/// Everything known about a component without trusting it.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Its name in the workspace; `None` for a file that the workspace does not name.
    pub name: Option<String>,
    /// Its file; `None` for a built-in driver.
    pub file: Option<PathBuf>,
    /// The interfaces in the component.
    pub interfaces: Interfaces,
    /// Its description, or why it returned none; `None` if it was not asked.
    pub info: Option<Result<DriverInfo, String>>,
    /// Why it cannot be a driver, judging by the component alone.
    pub unfit: Option<String>,
    grants: Grants,
}

impl Inspection {
    /// Whether the workspace grants a request.
    pub fn granted(&self, capability: &RequestedCapability) -> Granted {
        requested::granted(capability, &self.grants)
    }

    /// Why the workspace may not use the driver under this name: it has the name of a built-in
    /// driver but is a different one. A component that was not asked for its description has no name
    /// of its own.
    pub fn not_under(&self, name: &str) -> Option<String> {
        let info = self.info.as_ref()?.as_ref().ok()?;
        let claimed = claim(name, info, &self.interfaces.digest)?;
        Some(not_theirs(self.file.as_deref()?, &claimed))
    }

    /// Why the component is not a driver.
    pub fn trouble(&self) -> Option<&str> {
        let silent = self.info.as_ref().and_then(|info| info.as_ref().err());
        self.unfit.as_ref().or(silent).map(String::as_str)
    }

    /// Why types of the driver cannot be used: a sentence for each schema that this version cannot use,
    /// because it is not valid or has a keyword of a later contract.
    pub fn unusable_schemas(&self) -> Vec<String> {
        let info = self.info.as_ref().and_then(|info| info.as_ref().ok());
        info.map(purlin_schema::unusable_schemas).unwrap_or_default()
    }

    /// Lines for `purlin.yaml` that grant the driver's requests; `None` if all its requests are
    /// granted.
    pub fn block(&self) -> Option<String> {
        let info = self.info.as_ref()?.as_ref().ok()?;
        if info.requested_capabilities.iter().all(|capability| self.granted(capability) == Granted::Yes) {
            return None;
        }
        let name = self.name.as_deref().unwrap_or(&info.name);
        let source = self.file.as_deref().filter(|_| self.name.is_none()).map(|file| {
            let file = file.to_string_lossy();
            if file.starts_with(['.', '/']) { file.into_owned() } else { format!("./{file}") }
        });
        requested::block(name, source.as_deref(), info, &self.grants)
    }

    async fn new(sandbox: &Sandbox, given: Candidate<'_>, ask: bool) -> Result<Self, Error> {
        let Candidate { name, file, bytes, grants, limits } = given;
        let what = match &file {
            Some(file) => format!("`{}`", file.display()),
            None => format!("the built-in `{}`", name.unwrap_or_default()),
        };
        let read = sandbox.interfaces(bytes.clone()).await;
        let interfaces = read.map_err(|error| Error::Component(error.about(&what)))?;
        let unfit = interfaces.verdict().err().map(|error| error.about(&what));
        let info = match ask && unfit.is_none() {
            true => {
                let known = name.unwrap_or("driver");
                let info = sandbox.ask(bytes, file.clone(), known, limits).await;
                Some(info.map_err(|error| error.about(&what)))
            }
            false => None,
        };
        Ok(Self { name: name.map(str::to_owned), file, interfaces, info, unfit, grants })
    }
}

/// A component to inspect.
struct Candidate<'a> {
    name: Option<&'a str>,
    file: Option<PathBuf>,
    bytes: Cow<'static, [u8]>,
    grants: Grants,
    limits: &'a Limits,
}

impl Registry {
    /// Inspects every component of an available driver.
    pub(super) async fn inspect(&self, name: &str, ask: bool) -> Result<Vec<Inspection>, Error> {
        let config = self.configured.get(canonical(name));
        let components = self
            .components(name)
            .await
            .map_err(|missing| Error::Documents(vec![*missing.diagnostic(name, config, None)]))?;
        let none = Limits::default();
        let mut inspections = Vec::with_capacity(components.len());
        for (file, bytes) in components {
            let given = Candidate {
                name: Some(canonical(name)),
                file,
                bytes,
                grants: config.map(|config| config.grants.clone()).unwrap_or_default(),
                limits: config.map_or(&none, |config| &config.limits),
            };
            inspections.push(Inspection::new(&self.sandbox, given, ask).await?);
        }
        Ok(inspections)
    }
}

impl Purlin {
    /// Whether a driver with this name is built in or named by the workspace.
    pub fn knows_driver(&self, name: &str) -> bool {
        let name = canonical(name);
        self.driver_names().iter().any(|known| canonical(known) == name)
    }

    /// Inspects every component of a driver that is built in or named by the workspace. With `ask`,
    /// each is asked for its description, in an instance without any access.
    ///
    /// # Errors
    /// If there is no such driver, or it is not a WebAssembly component.
    pub async fn inspect(&self, name: &str, ask: bool) -> Result<Vec<Inspection>, Error> {
        self.registry()?.inspect(name, ask).await
    }

    /// Inspects the component in a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a WebAssembly component.
    pub async fn inspect_file(&self, file: &Path, ask: bool) -> Result<Inspection, Error> {
        let read = read_component(file.to_owned()).await;
        let bytes = read.map_err(|error| Error::Component(error.about(&format!("`{}`", file.display()))))?;
        let given = Candidate {
            name: None,
            file: Some(file.to_owned()),
            bytes: bytes.into(),
            grants: Grants::default(),
            limits: &Limits::default(),
        };
        Inspection::new(&self.registry()?.sandbox, given, ask).await
    }
}
