//! The host's own use of a driver's schemas (SPEC §8): a driver is examined as it is used.

use purlin_model::Value;
use purlin_model::driver::{Impact, Inputs, TypeSchema, keywords};
use purlin_sandbox::Change;
use purlin_schema::{Describes, Schema};

/// Fills in the defaults of the schema, and marks the secret parts of a connection and an account.
pub(crate) fn fill(schema_of: &TypeSchema, inputs: &mut Inputs) {
    let Ok(schema) = Schema::of_driver(&schema_of.inputs, Describes::Inputs) else { return };
    schema.fill(&["values"], &mut inputs.values, &|_| true);
    schema_of.limit_account(inputs);
    for (name, given) in [("connection", &mut inputs.connection), ("account", &mut inputs.account_fields)] {
        if given.as_map().is_some_and(|map| !map.is_empty()) {
            schema.fill(&[name], given, &|_| true);
            *given = schema.seal_at([name], std::mem::take(given));
        }
    }
}

/// Adds the schema's effects of a change. A change of an immutable input replaces if a person
/// requests it.
pub(crate) fn add_effects(schema: &TypeSchema, change: &Change<'_>, impact: &mut Impact) {
    keywords::add_effects(&schema.inputs, change.before, change.after, impact);
    let immutable = std::mem::take(&mut impact.immutable);
    impact.replaces.extend(immutable);
}

/// Keeps outputs that only `create` returns if they are not returned again.
pub(crate) fn keep(schema: &TypeSchema, before: &Value, outputs: &mut Value) {
    keywords::keep_write_once(&schema.outputs, before, outputs);
}
