//! Accounts (SPEC §8): what the operator says of the name that `driver_account` gives. The fields reach a
//! driver with each call and are recorded nowhere, so that an account is always the current one: its
//! secrets rotate without a change of any document or resource.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use purlin_expression::did_you_mean;
use purlin_model::driver::{Inputs, TypeSchema};
use purlin_model::{Account, Context, Diagnostic, Value};
use tokio::sync::OnceCell;

use super::rules::SchemaRules;
use super::secrets::{self, SecretStores, Vault};
use crate::driver::Driver;

/// Concurrent reads of secrets for one call.
const PARALLELISM: usize = 4;

/// The accounts of a workspace, with the stores of their secrets.
pub struct Accounts {
    configured: IndexMap<Arc<str>, Account>,
    stores: Arc<dyn SecretStores>,
    reads_secrets: bool,
    vault: OnceCell<Vault>,
}

/// Secrets that are written out are not shown.
impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.configured.keys()).finish()
    }
}

impl Accounts {
    /// The accounts with these names. Secrets that are not read stay unknown, which only suits calls that
    /// plan.
    pub fn new(
        configured: IndexMap<Arc<str>, Account>,
        stores: Arc<dyn SecretStores>,
        reads_secrets: bool,
    ) -> Self {
        Self { configured, stores, reads_secrets, vault: OnceCell::new() }
    }

    /// What a driver is given of an account, without reading secrets, which are unknown.
    ///
    /// # Errors
    /// If there is no such account, the driver reads nothing of it, or is not granted one of its secrets.
    fn outline(&self, name: &str, driver: &str, schema: &TypeSchema) -> Result<Value, Box<Diagnostic>> {
        let given = given(name, self.named(name)?, schema);
        let in_connection = schema.account_in_connection();
        if !in_connection.is_empty() && given.as_map().is_none_or(|fields| fields.is_empty()) {
            let message = format!("the driver `{driver}` reads nothing of the account `{name}`");
            let names: Vec<String> = in_connection.iter().map(|name| format!("`{name}`")).collect();
            let help = format!(
                "it reads {}: add what it needs to `accounts.{name}.fields` in purlin.yaml, or leave out \
                 `driver_account`",
                names.join(", ")
            );
            return Err(Box::new(
                self.placed(Diagnostic::error("missing-account", message).help(help), name),
            ));
        }
        for secret in secrets::wanted_in(&given) {
            self.stores.allows(driver, &secret.store).map_err(|fault| {
                let message = format!(
                    "the account `{name}` reads `{}` from the secret store `{}`: {}",
                    secret.name, secret.store, fault.why
                );
                let diagnostic = Diagnostic::error("secret-store", message);
                let diagnostic = fault.help.into_iter().fold(diagnostic, Diagnostic::help);
                Box::new(self.placed(diagnostic, name))
            })?;
        }
        Ok(secrets::unread(&given))
    }

    /// What a driver is given of an account, with its secrets read.
    ///
    /// # Errors
    /// As for [`Self::outline`], or if a secret cannot be read.
    pub(crate) async fn read(
        &self,
        name: &str,
        driver: &str,
        schema: &TypeSchema,
        context: &Context,
    ) -> Result<Value, Box<Diagnostic>> {
        self.outline(name, driver, schema)?;
        let account = self.named(name)?;
        let given = given(name, account, schema);
        let vault = self.vault.get_or_init(|| async {
            match self.reads_secrets {
                true => Vault::new(Arc::clone(&self.stores), context, PARALLELISM),
                false => Vault::closed(),
            }
        });
        let vault = vault.await;
        let mut wanted = secrets::wanted_in(&given);
        wanted.retain(|secret| vault.allows(driver, &secret.store));
        vault.read(wanted).await;
        let rules = SchemaRules::default();
        let read = secrets::resolve_in(given, driver, vault, &rules, ("account", &account.location));
        read.map_err(|faults| {
            let fault = faults.into_iter().next();
            Box::new(fault.unwrap_or_else(|| Diagnostic::error("secret-store", "a secret cannot be read")))
        })
    }

    /// A fault, at the place where an account was written.
    pub(crate) fn placed(&self, fault: Diagnostic, name: &str) -> Diagnostic {
        match self.configured.get(name) {
            Some(account) => fault.at(&account.location),
            None => fault,
        }
    }

    fn named(&self, name: &str) -> Result<&Account, Box<Diagnostic>> {
        self.configured.get(name).ok_or_else(|| {
            let message = format!("there is no account `{name}`");
            let help = match self.configured.is_empty() {
                true => {
                    format!("add it to purlin.yaml: `accounts: {{{name}: {{type: TYPE, fields: {{}}}}}}`")
                }
                false => {
                    did_you_mean(name, "accounts of purlin.yaml", self.configured.keys().map(|name| &**name))
                }
            };
            Box::new(Diagnostic::error("missing-account", message).help(help))
        })
    }
}

/// What a driver is given of an account, a map with references in place of secrets.
fn given(name: &str, account: &Account, schema: &TypeSchema) -> Value {
    let mut whole = account.fields.as_map().cloned().unwrap_or_default();
    whole.insert("name".into(), name.into());
    whole.insert("type".into(), Value::String(Arc::clone(&account.kind)));
    Value::Map(schema.part_of_account(&whole))
}

/// The inputs of a resource with its account as its driver's schema sees it, with unknown secrets.
///
/// # Errors
/// If the driver reads accounts, and this one is not available to it, or has a field of the connection that
/// the definition has, too.
pub(crate) fn known<'a>(
    driver: &dyn Driver,
    type_name: &str,
    inputs: &'a Inputs,
) -> Result<Cow<'a, Inputs>, Box<Diagnostic>> {
    let schema = driver.info().schema(type_name).filter(|schema| schema.reads_account());
    let (Some(name), Some(schema)) = (inputs.account.as_deref(), schema) else {
        return Ok(Cow::Borrowed(inputs));
    };
    let mut filled = inputs.clone();
    let account = match driver.about().accounts {
        Some(accounts) => accounts.outline(name, driver.known_as(), schema)?,
        None => inputs.account(),
    };
    let account = account.as_map().cloned().unwrap_or_default();
    let twice = schema.account_in_connection().into_iter().find(|field| {
        let written = inputs.connection.get(field);
        let is_default = || written == schema.default_in_connection(field);
        account.contains_key(*field) && written.is_some() && !is_default()
    });
    if let Some(field) = twice {
        let message = format!("`connection.{field}` is also a field of the account `{name}`");
        let help =
            format!("remove it from `inputs.connection`, or from `accounts.{name}.fields` in purlin.yaml");
        return Err(Box::new(Diagnostic::error("invalid-inputs", message).help(help)));
    }
    schema.give_account(&mut filled, &account);
    Ok(Cow::Owned(filled))
}

/// A fault in the fields of an account, at the place where they are written, with the advice that fits.
pub(crate) fn advised(fault: Diagnostic, driver: &dyn Driver, inputs: &Inputs) -> Diagnostic {
    match (&inputs.account, driver.about().accounts) {
        (None, _) => fault.help("give the definition a `driver_account: NAME`, an account of purlin.yaml"),
        (Some(name), Some(accounts)) => accounts.placed(fault, name).help(format!(
            "correct `accounts.{name}.fields` in purlin.yaml, or name another `driver_account`"
        )),
        (Some(_), None) => fault,
    }
}

/// Why the account of a resource is not available to its driver, if so, with its secrets read. `inputs` may
/// be recorded.
pub(crate) async fn fault(
    driver: &dyn Driver,
    type_name: &str,
    inputs: &Inputs,
    context: &Context,
) -> Option<Box<Diagnostic>> {
    let schema = driver.info().schema(type_name).filter(|schema| schema.reads_account())?;
    let (name, accounts) = (inputs.account.as_deref()?, driver.about().accounts?);
    accounts.read(name, driver.known_as(), schema, context).await.err()
}
