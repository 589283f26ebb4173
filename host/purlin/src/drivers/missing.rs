//! Why a driver cannot be had, and the words for it. Nothing of a driver is needed to say so.

use std::path::{Path, PathBuf};

use purlin_model::{Diagnostic, DirGrant, DriverConfig, Location};
use purlin_sandbox::{CallError, LoadError};

use super::pinned::Unapproved;

/// Why a driver cannot be had.
#[derive(Debug)]
pub(super) enum Missing {
    /// Nobody has one of this name.
    Unknown { near: Option<String> },
    /// It lies where nothing can be fetched from yet.
    Oci(String),
    /// It is there, and it is no driver.
    Unusable { what: String, error: LoadError },
    /// The folder of it cannot be read.
    Folder { path: PathBuf, error: std::io::Error },
    /// It bears a name that is kept for what comes with Purlin.
    NotTheirs { file: PathBuf, claimed: String },
    /// It is granted a folder with something of the operator's.
    Kept { grant: Box<DirGrant>, kept: String },
    /// It is granted a folder by way of a link that a driver may have made.
    Link { grant: Box<DirGrant>, link: PathBuf },
    /// There is nothing in its folder.
    Empty { path: PathBuf },
    /// It is there in other versions.
    NoVersion { versions: Vec<semver::Version>, wanted: String, passed_over: Vec<PathBuf> },
    /// It is not what was approved.
    Unapproved(Box<Unapproved>),
}

impl Missing {
    /// The same as a fault: in the workspace's file where `config` names the driver, else where it
    /// is asked for.
    pub(super) fn diagnostic(
        &self,
        name: &str,
        config: Option<&DriverConfig>,
        asked: Option<&Location>,
    ) -> Box<Diagnostic> {
        let code = if matches!(self, Self::Unapproved(_)) { "driver-not-approved" } else { "driver" };
        let mut fault = Diagnostic::error(code, self.message(name));
        let own = config.map(|config| &config.location).filter(|place| **place != Location::default());
        // That no version fits depends on who asks.
        let own = own.filter(|_| !matches!(self, Self::NoVersion { .. }));
        if let Self::Kept { grant, .. } | Self::Link { grant, .. } = self {
            return self.explain(name, fault.at(&grant.location));
        }
        match (own, asked) {
            (Some(own), asked) => {
                fault = fault.at(own).spanning(name.chars().count());
                if let Some(asked) = asked {
                    fault = fault.related(asked, "used here");
                }
            }
            (None, Some(asked)) => fault = fault.at(asked),
            (None, None) => {}
        }
        self.explain(name, fault)
    }

    fn message(&self, name: &str) -> String {
        let what = match self {
            Self::Unusable { .. } | Self::NotTheirs { .. } | Self::Kept { .. } | Self::Link { .. } => {
                format!("the driver `{name}` cannot be used")
            }
            Self::Unapproved(_) => format!("the driver `{name}` is not used"),
            Self::Unknown { .. } => return format!("there is no driver `{name}`"),
            Self::NoVersion { wanted, .. } if !wanted.is_empty() => {
                return format!("no version of `{name}` fits {wanted}; there is {}", self.versions());
            }
            _ => format!("no driver `{name}`"),
        };
        format!("{what}: {}", self.reason())
    }

    /// Why, in half a sentence.
    fn reason(&self) -> String {
        match self {
            Self::Unknown { .. } => "no driver has this name".to_owned(),
            Self::Oci(reference) => format!(
                "it is to come from the registry reference `{reference}`, and this version reads files and folders only"
            ),
            Self::Unusable { what, error } => phrase(what, error),
            Self::NotTheirs { file, claimed } => not_theirs(file, claimed),
            Self::Kept { grant, kept } => {
                format!("it may write to the folder `{}`, where it could change {kept}", grant.host.display())
            }
            Self::Link { grant, link } => format!(
                "its folder `{}` leads through the link `{}`, which lies where a driver may write",
                grant.host.display(),
                link.display()
            ),
            Self::Folder { path, error } => {
                format!("the folder `{}` cannot be read: {error}", path.display())
            }
            Self::Empty { path } => format!("the folder `{}` holds no `.wasm` file", path.display()),
            Self::NoVersion { .. } => format!("no version of it fits; there is {}", self.versions()),
            Self::Unapproved(unapproved) => unapproved.reason().to_owned(),
        }
    }

    /// Why, with everything there is to say about it, on one line.
    pub(super) fn in_short(&self) -> String {
        let mut reason = self.reason();
        if let Self::Unapproved(unapproved) = self {
            for difference in unapproved.differences() {
                reason = format!("{reason}; {difference}");
            }
        }
        reason
    }

    /// The versions that there are.
    fn versions(&self) -> String {
        let Self::NoVersion { versions, .. } = self else { return String::new() };
        versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    fn explain(&self, name: &str, fault: Diagnostic) -> Box<Diagnostic> {
        let add = format!("dd it to purlin.yaml: `drivers: {{{name}: {{source: ./driver.wasm}}}}`");
        Box::new(match self {
            Self::Unknown { .. } if is_of_terraform(name) => fault
                .fact("Purlin has no Terraform runner")
                .help("name a driver that provisions this itself (`purlin driver list` shows those that there are), or write one with `purlin driver new`"),
            Self::Unknown { near: Some(near) } => {
                fault.help(format!("did you mean `{near}`? Otherwise a{add}"))
            }
            Self::Unknown { near: None } => fault.help(format!("a{add}")),
            Self::Oci(_) => fault.help("fetch the component, and name its file as `source`"),
            Self::Unusable { error: LoadError::Read { .. }, .. } | Self::Folder { .. } => {
                fault.help("`source` is a path from the folder of purlin.yaml")
            }
            Self::NotTheirs { .. } => fault.help(NAME_OF_ITS_OWN),
            Self::Link { .. } => fault.help("grant the folder that the link leads to, by its own path"),
            Self::Kept { .. } => fault.help(
                "grant a folder of its own, such as `./out`; only you may write purlin.yaml, the lock, the state and its key",
            ),
            Self::Empty { .. } => fault.help("put components into it, or name a file as `source`"),
            Self::NoVersion { versions, passed_over, .. } => {
                let fault = passed_over.iter().fold(fault, |fault, file| {
                    let file = file.display();
                    fault.fact(format!("`{file}` was passed over: it is not approved in purlin.lock"))
                });
                match versions.first() {
                    Some(newest) => fault.help(format!(
                        "write `{name}@^{newest}`, or leave the version out to use any"
                    )),
                    None => fault,
                }
            }
            Self::Unapproved(unapproved) => unapproved.explain(name, fault),
            Self::Unusable { .. } => fault,
        })
    }
}

/// What helps a component that bears the name of a driver that comes with Purlin.
pub const NAME_OF_ITS_OWN: &str =
    "in its source and in purlin.yaml, name it after an organisation of your own, such as `acme/http`";

/// That a component bears a name that is kept for what comes with Purlin.
pub(super) fn not_theirs(file: &Path, claimed: &str) -> String {
    format!(
        "`{}` bears the name `{claimed}` and is not the component that comes with Purlin under this name",
        file.display()
    )
}

/// Whether people look for something that runs Terraform.
fn is_of_terraform(name: &str) -> bool {
    let own = name.rsplit('/').next().unwrap_or(name);
    ["terraform", "opentofu", "tofu"].iter().any(|word| own.contains(word))
}

/// What is wrong with a component, as half a sentence about it.
pub(super) fn phrase(what: &str, error: &LoadError) -> String {
    match error {
        LoadError::Read { source, .. } => format!("{what} cannot be read: {source}"),
        LoadError::UnknownImport { .. } | LoadError::Manifest { .. } => format!("{what} {error}"),
        LoadError::Describe(source) => match &**source {
            CallError::Trap { message, .. } => format!("{what} does not say what it is: {message}"),
            other => format!("{what} does not say what it is: {other}"),
        },
        LoadError::Grant { message } => message.clone(),
        other => format!("{what} is {other}"),
    }
}
