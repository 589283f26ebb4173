//! Inputs and outputs that describe themselves. The derive macros implement these traits, and schemars
//! makes the schemas.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Object, TypeSchema};

#[doc(hidden)]
pub use {schemars, serde};

/// The inputs of a driver with their schema: [`derive@crate::Inputs`].
pub trait DescribedInputs: DeserializeOwned + JsonSchema {}

/// The outputs of a driver with their schema: [`derive@crate::Outputs`].
pub trait DescribedOutputs: Serialize + JsonSchema {
    /// The names of secret outputs.
    const SECRETS: &'static [&'static str];
}

/// Outputs of any names and shapes.
impl DescribedOutputs for Object {
    const SECRETS: &'static [&'static str] = &[];
}

impl TypeSchema {
    /// The schemas of types that describe themselves. `type_name` is a resource type, or `*` for any.
    pub fn of<I: DescribedInputs, O: DescribedOutputs>(type_name: impl Into<String>) -> Self {
        let mut inputs = schema::<I>(SchemaSettings::draft2020_12().for_deserialize());
        leave_optional_groups_out(&mut inputs);
        let outputs = schema::<O>(SchemaSettings::draft2020_12().for_serialize());
        Self { type_name: type_name.into(), inputs, outputs }
    }
}

/// The schema of a type as one document, without what says nothing about it.
fn schema<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    tidy(&mut schema);
    schema.to_value()
}

/// Leaves out names of Rust's number types, and defaults that are nothing.
fn tidy(schema: &mut Schema) {
    transform_subschemas(&mut tidy, schema);
    let is_of_numbers = |format: &str| {
        matches!(format, "float" | "double") || format.trim_start_matches('u').starts_with("int")
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_of_numbers) {
        schema.remove("format");
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

/// A group of which nothing is required may be left out.
fn leave_optional_groups_out(inputs: &mut Value) {
    let is_needed = |group: &Value| {
        let required = group.as_str().map(|name| format!("/properties/{name}/required"));
        required.is_some_and(|pointer| inputs.pointer(&pointer).is_some())
    };
    let groups = inputs.get("required").and_then(Value::as_array);
    let needed: Vec<Value> = groups.into_iter().flatten().filter(|group| is_needed(group)).cloned().collect();
    if let Some(inputs) = inputs.as_object_mut() {
        match needed.is_empty() {
            true => drop(inputs.shift_remove("required")),
            false => drop(inputs.insert("required".to_owned(), needed.into())),
        }
    }
}

/// A default that a schema can say. For the derive macros.
#[doc(hidden)]
pub fn writable<T: Serialize>(default: T) -> T {
    default
}
