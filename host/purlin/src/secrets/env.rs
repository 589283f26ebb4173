//! Secrets in environment variables: those that the builder was given, since this crate does not
//! read the environment.

use std::collections::BTreeMap;

use purlin_engine::{SecretFault, SecretRef};
use secrecy::SecretString;

/// The variable with the prefix and this name.
pub(super) fn read(
    prefix: &str,
    variables: &BTreeMap<String, String>,
    secret: &SecretRef,
) -> Result<SecretString, SecretFault> {
    super::no_version(secret, "an environment variable")?;
    let name = format!("{prefix}{}", secret.name);
    match variables.get(&name) {
        Some(value) => Ok(SecretString::from(value.as_str())),
        None => Err(SecretFault::new(format!("the environment variable `{name}` is not set to any text"))),
    }
}
