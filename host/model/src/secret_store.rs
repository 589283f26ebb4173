//! Where secrets are kept that definitions only name (SPEC §3, `secret_refs`): the operator's to
//! configure, under `secret_stores` of the workspace. Data only: nothing here reads a secret.

use std::path::PathBuf;
use std::time::Duration;

use crate::{DriverRequirement, Location, Value};

/// A store of secrets as it is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretStore {
    /// How it is read.
    pub kind: SecretStoreKind,
    /// Where it was written.
    pub location: Location,
}

/// How a store is read. A secret's name in it is its `ref`.
#[derive(Clone, Debug, PartialEq)]
pub enum SecretStoreKind {
    /// A folder, with a file for each secret; or a YAML or JSON file, in which the name is the path
    /// of keys with `/` between. From the workspace's folder.
    File(PathBuf),
    /// Environment variables: the text before the name of each.
    Env(String),
    /// A program that prints the secret.
    Command(SecretCommand),
    /// A driver's `read` of a resource of type `secret`.
    Driver(Box<SecretDriver>),
}

/// A program that prints a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretCommand {
    /// What is run.
    pub program: String,
    /// Its arguments, in which `{ref}` and `{version}` stand for those of the secret.
    pub arguments: Vec<String>,
    /// How long it may take; 30 seconds where nothing is written.
    pub time: Option<Duration>,
}

impl SecretCommand {
    /// Whether an argument holds this placeholder, `{ref}` or `{version}`.
    pub fn takes(&self, placeholder: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(placeholder))
    }
}

/// A driver that looks up secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretDriver {
    /// Which.
    pub driver: DriverRequirement,
    /// Its `inputs.values`, a map.
    pub values: Value,
    /// Its `inputs.secrets`, a map of secret values.
    pub secrets: Value,
}
