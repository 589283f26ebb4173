//! Secrets in environment variables: those that the builder was given, since this crate does not
//! read the environment.

use std::collections::BTreeMap;

use purlin_engine::{SecretFault, SecretRef};
use purlin_expression::{nearest, or_near};
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
        None => {
            let fault = SecretFault::new(format!("the environment variable `{name}` is not set to any text"));
            let near = near(prefix, variables, &secret.name);
            Err(fault.help(or_near(near, &format!("set `{name}` to the secret"))))
        }
    }
}

/// The `ref` of a variable that is probably meant.
fn near<'a>(prefix: &str, variables: &'a BTreeMap<String, String>, name: &'a str) -> Option<&'a str> {
    // `ref` may repeat the prefix.
    let own = name.strip_prefix(prefix).filter(|_| variables.contains_key(name));
    own.or_else(|| nearest(name, variables.keys().filter_map(|known| known.strip_prefix(prefix))))
}
