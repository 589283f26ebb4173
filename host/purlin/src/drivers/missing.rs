//! The reasons why a driver is not available, and their messages. Needs no driver.

use std::path::{Path, PathBuf};

use purlin_expression::or_near;
use purlin_model::{Diagnostic, DirGrant, DriverConfig, Location};
use purlin_sandbox::LoadError;

use super::pinned::Unapproved;
use super::{is_ours, without_publisher};

/// Why a driver is not available.
#[derive(Debug)]
pub(super) enum Missing {
    /// There is no driver with this name.
    Unknown { near: Option<String> },
    /// Its source is not supported yet.
    Oci(String),
    /// The file is not a driver.
    Unusable { what: String, error: LoadError },
    /// Its folder cannot be read.
    Folder { path: PathBuf, error: std::io::Error },
    /// It has a name that is reserved for built-in drivers.
    NotTheirs { file: PathBuf, claimed: String },
    /// It is granted a folder that contains one of the operator's files.
    Kept { grant: Box<DirGrant>, kept: String },
    /// It is granted a folder through a link that a driver may have created.
    Link { grant: Box<DirGrant>, link: PathBuf },
    /// Its folder is empty.
    Empty { path: PathBuf },
    /// It exists only in other versions.
    NoVersion { versions: Vec<semver::Version>, wanted: String, skipped: Vec<PathBuf> },
    /// It is not the approved component.
    Unapproved(Box<Unapproved>),
}

impl Missing {
    /// The reason as a diagnostic: in the workspace's file if `config` names the driver, otherwise
    /// where the driver is used.
    pub(super) fn diagnostic(
        &self,
        name: &str,
        config: Option<&DriverConfig>,
        used_at: Option<&Location>,
    ) -> Box<Diagnostic> {
        let code = if matches!(self, Self::Unapproved(_)) { "driver-not-approved" } else { "driver" };
        let mut fault = Diagnostic::error(code, self.message(name));
        let own = config.map(|config| &config.location).filter(|place| **place != Location::default());
        // Whether a version fits depends on the documents.
        let own = own.filter(|_| !matches!(self, Self::NoVersion { .. }));
        if let Self::Kept { grant, .. } | Self::Link { grant, .. } = self {
            return self.explain(name, fault.at(&grant.location));
        }
        match (own, used_at) {
            (Some(own), used_at) => {
                fault = fault.at(own).spanning(name.chars().count());
                if let Some(used_at) = used_at {
                    fault = fault.related(used_at, "used here");
                }
            }
            (None, Some(used_at)) => fault = fault.at(used_at),
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

    /// The reason as a fragment.
    fn reason(&self) -> String {
        match self {
            Self::Unknown { .. } => "no driver has this name".to_owned(),
            Self::Oci(reference) => format!(
                "its source is the registry reference `{reference}`, but this version reads only files and folders"
            ),
            Self::Unusable { what, error } => error.about(what),
            Self::NotTheirs { file, claimed } => not_theirs(file, claimed),
            Self::Kept { grant, kept } => {
                format!("it may write to the folder `{}`, where it could change {kept}", grant.host.display())
            }
            Self::Link { grant, link } => format!(
                "its folder `{}` leads through the link `{}`, which is in a folder that a driver may write to",
                grant.host.display(),
                link.display()
            ),
            Self::Folder { path, error } => {
                format!("the folder `{}` cannot be read: {}", path.display(), purlin_files::reason(error))
            }
            Self::Empty { path } => format!("the folder `{}` contains no `.wasm` file", path.display()),
            Self::NoVersion { .. } => format!("no version of it fits; there is {}", self.versions()),
            Self::Unapproved(unapproved) => unapproved.reason().to_owned(),
        }
    }

    /// The complete reason on one line.
    pub(super) fn in_short(&self) -> String {
        let mut reason = self.reason();
        if let Self::Unapproved(unapproved) = self {
            for difference in unapproved.differences() {
                reason = format!("{reason}; {difference}");
            }
        }
        reason
    }

    /// The available versions.
    fn versions(&self) -> String {
        let Self::NoVersion { versions, .. } = self else { return String::new() };
        versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    fn explain(&self, name: &str, fault: Diagnostic) -> Box<Diagnostic> {
        Box::new(match self {
            Self::Unknown { .. } if is_of_terraform(name) => fault
                .fact("Purlin has no Terraform runner")
                .help("name a driver that provisions this itself (`purlin driver list` lists the drivers), or write one with `purlin driver new`"),
            Self::Unknown { near } => fault.help(near_or_add(name, near.as_deref())),
            Self::Oci(_) => fault.help("fetch the component, and name its file as `source`"),
            Self::Unusable { error: LoadError::Read { .. }, .. } | Self::Folder { .. } => {
                fault.help("`source` is a path from the folder of purlin.yaml")
            }
            Self::Unusable { error: LoadError::Grant { .. }, .. } => fault.help(
                "what is granted has to be there before the driver is called; `purlin validate --offline` needs no driver",
            ),
            Self::NotTheirs { .. } => fault.help(NAME_OF_ITS_OWN),
            Self::Link { .. } => fault.help("grant the folder that the link leads to, by its own path"),
            Self::Kept { .. } => fault.help(
                "grant a folder of its own, such as `./out`; only you may write purlin.yaml, the lock, the state and its key",
            ),
            Self::Empty { .. } => fault.help("put components into it, or name a file as `source`"),
            Self::NoVersion { versions, skipped, .. } => {
                let fault = skipped.iter().fold(fault, |fault, file| {
                    let file = file.display();
                    fault.fact(format!("skipped `{file}`: it is not approved in purlin.lock"))
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

/// The help for a component with the name of a built-in driver.
pub const NAME_OF_ITS_OWN: &str =
    "in its source and in purlin.yaml, name it after an organisation of your own, such as `acme/http`";

/// The help for a name that no driver has.
const LIST_OF_DRIVERS: &str = "`purlin driver list` lists the drivers";

/// The help for a driver of ours in a program without ours.
const NOT_BUILT_IN: &str = "this program has no built-in drivers; its crate `purlin-host` has them with the feature \
                            `builtin-drivers`";

/// The message for a component with a name that is reserved for built-in drivers.
pub(super) fn not_theirs(file: &Path, claimed: &str) -> String {
    format!(
        "`{}` is named `{claimed}`, but is not the driver that comes with Purlin under this name",
        file.display()
    )
}

/// The help for a name that no driver has, with the nearest name of a driver.
fn near_or_add(name: &str, near: Option<&str>) -> String {
    let add = format!("add it to purlin.yaml: `drivers: {{{name}: {{source: ./driver.wasm}}}}`");
    match near {
        // No other driver may have a name of ours.
        Some(near) if is_ours(name) || without_publisher(near) == name => format!("did you mean `{near}`?"),
        None if is_ours(name) && !cfg!(feature = "builtin-drivers") => NOT_BUILT_IN.to_owned(),
        None if is_ours(name) => LIST_OF_DRIVERS.to_owned(),
        near => or_near(near, &add),
    }
}

/// Whether the user is probably looking for a driver for Terraform.
fn is_of_terraform(name: &str) -> bool {
    let own = name.rsplit('/').next().unwrap_or(name);
    ["terraform", "opentofu", "tofu"].iter().any(|word| own.contains(word))
}
