//! Plans from the records alone, to look ahead over many environments: no driver is called and no
//! store is read.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use purlin_graph::Graph;
use purlin_model::driver::{Checked, Failure, Impact, Implements, Inputs, Manifest, Observed, ResourceState};
use purlin_model::{Context, Diagnostic, Label, Urn, Value};
use purlin_sandbox::{CallError, Change};
use secrecy::{ExposeSecret as _, SecretString};

use crate::current::AsRecorded;
use crate::driver::{About, Call, Driver, Drivers, Look, Needed};
use crate::planner::Base;
use crate::secrets::{self, SecretFault, SecretRef, SecretStores};

/// Drivers reduced to their manifests: the schemas say what a change does, and the records stand
/// for the real objects.
pub struct ByManifest<'a>(pub &'a dyn Drivers);

#[async_trait]
impl Drivers for ByManifest<'_> {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let driver = self.0.find(needed).await?;
        let manifest = driver.manifest();
        let implements = Implements { check: false, update_impact: false, ..manifest.implements };
        Ok(Arc::new(Silent { manifest: Manifest { implements, ..manifest.clone() }, driver }))
    }
}

struct Silent {
    manifest: Manifest,
    driver: Arc<dyn Driver>,
}

impl Silent {
    fn refuse<T>(&self, what: &str) -> Result<T, CallError> {
        let message = format!("only a call of the driver `{}` can {what}", self.driver.known_as());
        Err(CallError::Failure(Failure::Failed(message)))
    }
}

#[async_trait]
impl Driver for Silent {
    fn about(&self) -> About<'_> {
        About { manifest: &self.manifest, ..self.driver.about() }
    }

    async fn check(&self, _: &Call, inputs: &Inputs, _: Option<&Inputs>) -> Result<Checked, CallError> {
        let Inputs { values, secrets, .. } = inputs.clone();
        Ok(Checked { values, secrets, warnings: Vec::new() })
    }

    async fn name(&self, _: &Call, _: &Inputs) -> Result<Label, CallError> {
        self.refuse("name the resource")
    }

    async fn create(
        &self,
        _: &Call,
        _: &Inputs,
        _: &str,
        _: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        self.refuse("create the resource")
    }

    async fn read(&self, _: &Call, look: Look<'_>) -> Result<Option<Observed>, CallError> {
        match look.state {
            Some(state) => Ok(Some(Observed { state: state.clone(), values: None })),
            None => self.refuse("read the resource"),
        }
    }

    async fn update_impact(&self, _: &Call, _: Change<'_>) -> Result<Impact, CallError> {
        Ok(Impact::default())
    }

    async fn update(&self, _: &Call, _: Change<'_>) -> Result<ResourceState, CallError> {
        self.refuse("update the resource")
    }

    async fn delete(&self, _: &Call, _: &ResourceState, _: &Inputs) -> Result<(), CallError> {
        self.refuse("delete the resource")
    }
}

/// Stores that return the secrets with which resources were last provisioned. A secret that is not
/// recorded gets a unique text, which equals no other secret.
#[derive(Debug)]
pub struct RecordedSecrets {
    known: HashMap<SecretRef, SecretString>,
    stores: Arc<dyn SecretStores>,
}

impl RecordedSecrets {
    /// The secrets of an environment: `graph` says which store secret each resource was provisioned
    /// with. `stores` decides which driver may have one.
    pub fn new(graph: &Graph, base: &Base, stores: Arc<dyn SecretStores>) -> Self {
        let mut known = HashMap::new();
        let read = AsRecorded { graph, recorded: &base.recorded };
        for node in graph.nodes() {
            let recipe = node.recipe;
            if recipe.secret_refs.is_none() && recipe.connection.is_none() {
                continue;
            }
            let Some(record) = base.current(&Urn::new(graph.context(), node.key)) else { continue };
            let Ok(resolved) = graph.evaluate(node.id, &read) else { continue };
            let Inputs { secrets, connection, .. } = &record.inputs;
            let refs = resolved.secret_refs.unwrap_or_default();
            for (written, recorded) in [(&refs, secrets), (&resolved.connection, connection)] {
                secrets::pair(written, recorded, &mut |secret, value| {
                    if let Value::String(text) = value.exposed() {
                        known.insert(secret, SecretString::from(text.to_string()));
                    }
                });
            }
        }
        Self { known, stores }
    }
}

#[async_trait]
impl SecretStores for RecordedSecrets {
    fn allows(&self, driver: &str, store: &str) -> Result<(), SecretFault> {
        self.stores.allows(driver, store)
    }

    fn knows_driver(&self, driver: &str) -> bool {
        self.stores.knows_driver(driver)
    }

    async fn get(&self, secret: &SecretRef, _: &Context) -> Result<SecretString, SecretFault> {
        if let Some(known) = self.known.get(secret) {
            return Ok(SecretString::from(known.expose_secret().to_owned()));
        }
        let SecretRef { store, name, version } = secret;
        let version = version.as_deref().unwrap_or_default();
        Ok(SecretString::from(format!("not read: `{name}` of `{store}` {version}")))
    }
}
