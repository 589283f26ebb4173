//! Secrets that a driver looks up: `read` of a resource of type `secret` whose id is the secret's
//! name. There is no separate contract for this.

use std::sync::Arc;

use purlin_engine::{Call, Drivers as _, Needed, ReadRequest, SecretFault, SecretRef};
use purlin_model::driver::{Failure, Inputs, Subject};
use purlin_model::{Class, Context, Key, Map, ResourceId, SecretDriver, TypeName, Urn, Value};
use purlin_sandbox::CallError;
use secrecy::SecretString;
use tracing::instrument::WithSubscriber as _;

use crate::drivers::Registry;

/// The resource type of a secret.
const TYPE: &str = "secret";
/// The output with the secret.
const OUTPUT: &str = "value";

/// Reads a secret from the driver.
pub(super) async fn read(
    config: &SecretDriver,
    drivers: &Registry,
    secret: &SecretRef,
    context: &Context,
) -> Result<SecretString, SecretFault> {
    let driver = drivers.find(Needed::For(&config.driver)).await.map_err(|missing| {
        let fault = SecretFault::new(missing.message);
        match missing.help {
            Some(help) => fault.help(help),
            None => fault,
        }
    })?;
    let name = driver.known_as();
    let key =
        key(&secret.store).ok_or_else(|| SecretFault::new("the name of the store is not a valid id"))?;
    if !driver.implements(&key).read {
        let fault =
            SecretFault::new(format!("its driver `{name}` cannot look anything up: it has no `read`"));
        return Err(fault.help("name a driver that serves secrets"));
    }
    let urn = Urn::new(context, &key);
    let call = Call::quiet(Subject { urn, key, context: context.clone() });
    let version = secret.version.iter().map(|version| ("version".into(), Value::String(Arc::clone(version))));
    let inputs = Inputs {
        values: config.values.clone(),
        secrets: config.secrets.clone(),
        params: Value::Map(version.collect::<Map>()),
        ..Inputs::default()
    };
    let request = ReadRequest { id: Some(&secret.name), name: "", inputs: &inputs, state: None, known: &[] };
    // The driver's logs may contain the secret, which is not known yet and could not be masked.
    let silence = tracing::subscriber::NoSubscriber::default();
    let found = driver.read(&call, request).with_subscriber(silence).await;
    let Some(found) = found.map_err(|error| failed(name, error))? else {
        let fault = SecretFault::new(format!("its driver `{name}` reports that there is no such secret"));
        return Err(fault.help("add the secret where the driver looks for it, or correct `ref`"));
    };
    match found.state.outputs.get(OUTPUT).as_ref().map(Value::exposed) {
        Some(Value::String(text)) => Ok(SecretString::from(&**text)),
        Some(other) => Err(SecretFault::new(format!(
            "its driver `{name}` returned an output `{OUTPUT}` that is {}, not text",
            other.kind()
        ))),
        None => Err(SecretFault::new(format!("its driver `{name}` answered without an output `{OUTPUT}`"))),
    }
}

fn key(store: &str) -> Option<Key> {
    let (kind, id) = (TypeName::new(TYPE).ok()?, ResourceId::new(store).ok()?);
    Some(Key::new(&kind, &Class::default_class(), &id))
}

/// Errors that the driver reports are shown, but the last output before a crash may be the secret.
fn failed(name: &str, error: CallError) -> SecretFault {
    match error {
        CallError::Failure(Failure::Partial { .. }) => {
            SecretFault::new(format!("its driver `{name}` failed with `partial`, which a read cannot"))
        }
        CallError::Failure(failure) => SecretFault::new(format!("its driver `{name}` says: {failure}")),
        CallError::Trap { .. } => SecretFault::new(format!("its driver `{name}` crashed")),
        other => SecretFault::new(other.to_string()),
    }
}
