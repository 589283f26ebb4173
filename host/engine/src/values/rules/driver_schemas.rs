//! The schemas of drivers: each is compiled once, and what follows from it is decided once.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use purlin_graph::Node;
use purlin_schema::{Describes, Schema};

use super::SchemaRules;
use crate::driver::Driver;

/// A compiled schema, or why it cannot be used.
pub(super) type Usable = Result<Arc<Schema>, String>;

/// What is known of the schemas of a driver, by type.
#[derive(Debug, Default)]
pub(super) struct DriverSchemas {
    inputs: HashMap<String, Usable>,
    outputs: HashMap<String, Usable>,
    reads_params: HashMap<String, bool>,
}

impl SchemaRules {
    /// Whether the params of a resource are inputs of their own, besides what placeholders read from
    /// them: its driver's schema names `params` or describes no inputs at all, or Purlin itself reads
    /// them, for the document of a workload or for the users of an installation.
    pub(crate) fn reads_params(&self, driver: &dyn Driver, node: Node<'_>) -> bool {
        let type_name = node.key.type_name();
        node.installation.is_some()
            || type_name == purlin_model::TypeName::WORKLOAD
            || self.gives_params(driver, type_name)
    }

    /// Whether params are inputs for a driver: its schema names them or describes no inputs at all.
    pub(crate) fn gives_params(&self, driver: &dyn Driver, type_name: &str) -> bool {
        if let Some(known) = self.of(driver, |known| known.reads_params.get(type_name).copied()) {
            return known;
        }
        let reads = match self.of_driver(driver, type_name) {
            Some(Ok(schema)) => {
                let describes = |part| schema.has_place([part]) == Some(true);
                describes("params") || !["values", "secrets", "connection"].into_iter().any(describes)
            }
            _ => true,
        };
        self.of(driver, |known| known.reads_params.insert(type_name.to_owned(), reads));
        reads
    }

    pub(super) fn of_driver(&self, driver: &dyn Driver, type_name: &str) -> Option<Usable> {
        let schema = driver.info().schema(type_name)?;
        Some(self.made(driver, Describes::Inputs, &schema.type_name, &schema.inputs))
    }

    pub(super) fn outputs_of_driver(&self, driver: &dyn Driver, type_name: &str) -> Option<Usable> {
        let schema = driver.info().schema(type_name)?;
        Some(self.made(driver, Describes::Outputs, &schema.type_name, &schema.outputs))
    }

    /// A schema of a driver, compiled once.
    fn made(
        &self,
        driver: &dyn Driver,
        describes: Describes,
        type_name: &str,
        schema: &serde_json::Value,
    ) -> Usable {
        self.of(driver, |known| {
            let made = match describes {
                Describes::Inputs => &mut known.inputs,
                Describes::Outputs => &mut known.outputs,
            };
            if let Some(made) = made.get(type_name) {
                return made.clone();
            }
            let new = Schema::of_driver(schema, describes).map(Arc::new).map_err(|error| error.placed());
            made.insert(type_name.to_owned(), new.clone());
            new
        })
    }

    /// What is known of a driver. Each resource asks, so that looking it up must copy nothing.
    fn of<T>(&self, driver: &dyn Driver, look: impl FnOnce(&mut DriverSchemas) -> T) -> T {
        let mut drivers = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = drivers.get_mut(driver.digest()) {
            return look(known);
        }
        look(drivers.entry(driver.digest().to_owned()).or_default())
    }
}
