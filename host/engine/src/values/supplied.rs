//! What a driver is given with each call although its record does not contain it: the fields of the account,
//! and a cookie that is stored apart.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use purlin_model::driver::{Cookie, Inputs, ResourceState, StoredCookie, TypeSchema};
use purlin_model::{Diagnostic, Map, Urn};
use purlin_sandbox::CallError;
use purlin_state::{Environment, Store};

use super::accounts::Accounts;
use super::rules::SchemaRules;
use crate::driver::{About, Call, Driver, Drivers, Needed, Request, Response, returned_state};

/// Drivers for one plan and its run, in which a secret of an account is read once.
pub struct SuppliedDrivers {
    /// The drivers themselves.
    pub drivers: Arc<dyn Drivers>,
    /// The accounts.
    pub accounts: Arc<Accounts>,
    /// The state with the cookies; `None` where no record is used.
    pub store: Option<Arc<dyn Store>>,
}

#[async_trait]
impl Drivers for SuppliedDrivers {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let driver = self.drivers.find(needed).await?;
        let accounts = match driver.info().types.iter().any(TypeSchema::reads_account) {
            true => Some(Arc::clone(&self.accounts)),
            false => None,
        };
        if accounts.is_none() && self.store.is_none() {
            return Ok(driver);
        }
        let store = self.store.clone();
        Ok(Arc::new(SuppliedDriver { driver, accounts, store, rules: Arc::default() }))
    }
}

struct SuppliedDriver {
    driver: Arc<dyn Driver>,
    accounts: Option<Arc<Accounts>>,
    store: Option<Arc<dyn Store>>,
    rules: Arc<SchemaRules>,
}

impl SuppliedDriver {
    /// The inputs with the fields of their account.
    async fn with_account<'a>(&self, call: &Call, inputs: &'a Inputs) -> Result<Cow<'a, Inputs>, CallError> {
        let (Some(name), Some(accounts)) = (&inputs.account, &self.accounts) else {
            return Ok(Cow::Borrowed(inputs));
        };
        let type_name = call.subject.key.type_name();
        let Some(schema) = self.info().schema(type_name).filter(|schema| schema.reads_account()) else {
            return Ok(Cow::Borrowed(inputs));
        };
        let read = accounts.read(name, self.known_as(), schema, &call.subject.context).await;
        let account = read.map_err(|fault| CallError::Account {
            driver: self.known_as().to_owned(),
            account: name.to_string(),
            message: fault.help.iter().fold(fault.message.clone(), |all, help| format!("{all}; {help}")),
        })?;
        let mut inputs = inputs.clone();
        schema.give_account(&mut inputs, account.as_map().unwrap_or(&Map::default()));
        self.rules.connect(&*self.driver, type_name, &mut inputs);
        Ok(Cow::Owned(inputs))
    }

    /// The state of a resource with a cookie that is stored apart.
    async fn with_cookie(
        &self,
        urn: &Urn,
        state: &ResourceState,
        stored: &StoredCookie,
    ) -> Result<ResourceState, CallError> {
        let failed = |message| CallError::Cookie { driver: self.known_as().to_owned(), message };
        let (Some(store), Some(environment)) = (&self.store, Environment::of_urn(urn)) else {
            return Err(failed("there is no state".to_owned()));
        };
        match store.cookie(&environment, stored).await {
            Ok(Some(cookie)) => Ok(ResourceState { cookie, ..state.clone() }),
            Ok(None) => Err(failed("the state does not contain it any more".to_owned())),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

#[async_trait]
impl Driver for SuppliedDriver {
    fn about(&self) -> About<'_> {
        About { accounts: self.accounts.as_deref(), ..self.driver.about() }
    }

    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError> {
        let (mut given, mut filled) = (request, Vec::new());
        for inputs in given.inputs_mut() {
            filled.push(self.with_account(call, inputs).await?);
        }
        let before = given.state_mut().map(|state| *state);
        let stored = before.and_then(|state| Some((state, state.cookie.stored()?)));
        let supplied = match stored {
            Some((state, stored)) => Some(self.with_cookie(&call.subject.urn, state, stored).await?),
            None => None,
        };
        let mut request = request;
        for (inputs, filled) in request.inputs_mut().into_iter().zip(&filled) {
            *inputs = filled;
        }
        if let (Some(state), Some(supplied)) = (request.state_mut(), &supplied) {
            *state = supplied;
        }
        let mut result = self.driver.call(call, request).await;
        if let (Some(state), Some((before, _))) = (returned_state(&mut result), stored) {
            stay(&mut state.cookie, &before.cookie);
        }
        result
    }
}

/// Leaves a cookie that did not change where it is.
fn stay(cookie: &mut Cookie, before: &Cookie) {
    if cookie == before {
        *cookie = before.clone();
    }
}
