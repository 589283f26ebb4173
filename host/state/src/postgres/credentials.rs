//! The password and the client certificate of a login, and where they come from.

use std::fmt;

use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};

use crate::Error;

/// What a login proves its user with.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The password, if the server asks for one.
    pub password: Option<SecretString>,
    /// The certificate, if the server asks for one.
    pub client: Option<ClientCertificate>,
}

/// A certificate with which the server recognises its user.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// The certificate (PEM), and those between it and its authority.
    pub chain: Vec<u8>,
    /// Its private key (PEM), without a passphrase.
    pub key: SecretString,
}

/// Where the credentials of a login come from. They are read for each login and kept no longer, because
/// they often live shorter than the process.
#[async_trait]
pub trait CredentialSource: fmt::Debug + Send + Sync {
    /// Reads the current credentials.
    ///
    /// # Errors
    /// [`Error::Credentials`] if they cannot be had. It contains no secret.
    async fn read(&self) -> Result<Credentials, Error>;

    /// Whether a later read may give others. After a rejected login they are then read once more. Once the
    /// server accepted some, Purlin repeats a rejected login while its patience lasts, because the server
    /// and the source may change at slightly different times.
    fn can_change(&self) -> bool;
}

/// Credentials that stay the same.
#[async_trait]
impl CredentialSource for Credentials {
    async fn read(&self) -> Result<Credentials, Error> {
        Ok(self.clone())
    }

    fn can_change(&self) -> bool {
        false
    }
}

impl Credentials {
    /// A password.
    pub fn password(password: impl Into<SecretString>) -> Self {
        Self { password: Some(password.into()), client: None }
    }

    /// Whether both are the same.
    pub(super) fn are(&self, other: &Self) -> bool {
        same(self.password.as_ref(), other.password.as_ref())
            && match (&self.client, &other.client) {
                (None, None) => true,
                (Some(one), Some(two)) => one.chain == two.chain && same(Some(&one.key), Some(&two.key)),
                _ => false,
            }
    }
}

fn same(one: Option<&SecretString>, two: Option<&SecretString>) -> bool {
    one.map(|secret| secret.expose_secret()) == two.map(|secret| secret.expose_secret())
}
