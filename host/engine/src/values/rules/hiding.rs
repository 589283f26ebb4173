//! Faults that do not show the secrets of the texts that they quote.

use std::borrow::Cow;
use std::sync::Arc;

use purlin_model::driver::Inputs;
use purlin_model::{Diagnostic, DocumentPart, Location, SecretText, Value};
use purlin_schema::Schema;

use super::{SchemaRules, document, place_of};
use crate::driver::Driver;
use crate::values::accounts;

/// A resource whose values are checked.
pub(super) struct Checked<'a> {
    pub(super) type_name: &'a str,
    /// Its params, and where they are written.
    pub(super) params: Option<(DocumentPart<'a>, &'a Value)>,
    /// Its inputs, and its definition.
    pub(super) inputs: Option<(&'a dyn Driver, &'a Inputs, &'a Location)>,
}

/// The places of the values that a schema declares secret, for each document that has some.
fn places_of<'d>(
    schema: &Schema,
    value: &Value,
    place: impl for<'p> Fn(&'p str) -> (DocumentPart<'d>, &'p str),
) -> Vec<(DocumentPart<'d>, Vec<String>)> {
    let mut all: Vec<(DocumentPart<'d>, Vec<String>)> = Vec::new();
    for pointer in schema.secret_places(value) {
        let (within, pointer) = place(&pointer);
        // A resource has two documents at most: its own and its definition's.
        match all.iter_mut().find(|(known, _)| *known == within) {
            Some((_, pointers)) => pointers.push(pointer.to_owned()),
            None => all.push((within, vec![pointer.to_owned()])),
        }
    }
    all
}

/// The faults, which do not show these secrets.
pub(super) fn hiding(
    mut faults: Vec<Diagnostic>,
    secrets: impl FnOnce() -> Arc<[SecretText]>,
) -> Vec<Diagnostic> {
    if !faults.is_empty() {
        let secrets = secrets();
        faults.iter_mut().for_each(|fault| fault.secrets = Arc::clone(&secrets));
    }
    faults
}

impl SchemaRules {
    /// The texts that must not be shown with a fault of a resource: those of its params that its type
    /// declares secret, and those of its inputs that its driver does.
    pub(super) fn secret_texts(&self, of: &Checked<'_>) -> Arc<[SecretText]> {
        let Some(places) = &self.places else { return Arc::default() };
        let mut all = Vec::new();
        let of_type = self.types.get(of.type_name).and_then(|one| one.params.as_ref());
        if let (Some(schema), Some((written, params))) = (of_type, of.params) {
            all.extend(places_of(schema, params, |pointer| (written, pointer)));
        }
        if let Some((driver, inputs, definition)) = of.inputs
            && let Some(Ok(schema)) = self.of_driver(driver, of.type_name)
        {
            let written = of.params.map(|(written, _)| written);
            let filled = accounts::known(driver, of.type_name, inputs).unwrap_or(Cow::Borrowed(inputs));
            let document = document(driver, of.type_name, &filled);
            all.extend(places_of(&schema, &document, |pointer| place_of(pointer, definition, written)));
        }
        all.into_iter().flat_map(|(within, pointers)| places.texts_of(within, &pointers)).collect()
    }
}
