//! The names of outputs that are certain before provisioning, so that a placeholder that reads
//! another name is rejected early (SPEC §4).

use std::collections::HashMap;
use std::sync::Arc;

use purlin_model::driver::keywords;
use purlin_model::{Recipe, ResourceType, Template, Value};

use crate::driver::Driver;
use crate::driver::requirement_name;

/// The outputs that resource types and driver manifests declare.
#[derive(Default)]
pub struct KnownOutputs {
    types: HashMap<Arc<str>, Vec<String>>,
    drivers: HashMap<Arc<str>, Arc<dyn Driver>>,
}

impl KnownOutputs {
    /// Takes the resource types of the documents.
    pub fn new(types: &[ResourceType]) -> Self {
        let named = |t: &ResourceType| Some((t.type_name.as_str().into(), closed(t.outputs.as_ref()?)?));
        Self { types: types.iter().filter_map(named).collect(), drivers: HashMap::new() }
    }

    /// Adds the driver that a recipe with this requirement uses.
    pub fn add(&mut self, requirement: &purlin_model::DriverRequirement, driver: Arc<dyn Driver>) {
        self.drivers.insert(requirement_name(requirement), driver);
    }
}

impl purlin_graph::OutputNames for KnownOutputs {
    fn outputs(&self, type_name: &str, recipe: &Recipe) -> Option<Vec<String>> {
        if let Some(names) = self.types.get(type_name) {
            return Some(names.clone());
        }
        let driver = self.drivers.get(&requirement_name(&recipe.driver))?;
        let schema = &driver.info().schema(type_name)?.outputs;
        if schema[keywords::OUTPUTS] == "inputs" {
            let mut names = keys(&recipe.values)?;
            names.extend(keys(recipe.secret_refs.as_ref().unwrap_or(&recipe.secrets))?);
            return Some(names);
        }
        closed(schema)
    }
}

/// The properties of a schema that allows no others.
fn closed(schema: &serde_json::Value) -> Option<Vec<String>> {
    let closed = schema["additionalProperties"] == false || schema["unevaluatedProperties"] == false;
    // Names that match a pattern or come from other schemas cannot be listed.
    let open = ["patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];
    if !closed || open.iter().any(|keyword| !schema[*keyword].is_null()) {
        return None;
    }
    Some(schema["properties"].as_object()?.keys().cloned().collect())
}

fn keys(template: &Template) -> Option<Vec<String>> {
    match template {
        Template::Map(map) => Some(map.keys().map(ToString::to_string).collect()),
        Template::Constant(Value::Map(map)) => Some(map.keys().map(ToString::to_string).collect()),
        Template::Constant(Value::Null) => Some(Vec::new()),
        _ => None,
    }
}
