//! The stores of secrets that definitions name (SPEC §3, `secret_refs`): the operator configures
//! them under `secret_stores` of the workspace. Data only: nothing here reads a secret.

use std::path::PathBuf;
use std::time::Duration;

use crate::{DriverRequirement, Location, Value};

/// The configuration of a secret store.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretStore {
    /// How it is read.
    pub kind: SecretStoreKind,
    /// Where it was written.
    pub location: Location,
}

/// How a store is read. The name of a secret in it is its `ref`.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretStoreKind {
    /// A folder, with one file per secret; or a YAML or JSON file, in which the name is the path of
    /// keys separated by `/`. Relative to the workspace's folder.
    File(PathBuf),
    /// Environment variables: the prefix of their names.
    Env(String),
    /// A program that prints the secret.
    Command(SecretCommand),
    /// A driver's `read` of a resource of type `secret`.
    Driver(Box<SecretDriver>),
}

/// A program that prints a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretCommand {
    /// The program.
    pub program: String,
    /// Its arguments, in which `{ref}` and `{version}` are replaced by those of the secret.
    pub arguments: Vec<String>,
    /// Its time limit; [`SecretCommand::TIME`] by default.
    pub time: Option<Duration>,
}

impl SecretCommand {
    /// The time limit by default.
    pub const TIME: Duration = Duration::from_secs(30);

    /// Whether an argument contains this placeholder, `{ref}` or `{version}`.
    pub fn takes(&self, placeholder: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(placeholder))
    }
}

/// A driver that looks up secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretDriver {
    /// The driver.
    pub driver: DriverRequirement,
    /// Its `inputs.values`, a map.
    pub values: Value,
    /// Its `inputs.secrets`, a map of secret values.
    pub secrets: Value,
}
