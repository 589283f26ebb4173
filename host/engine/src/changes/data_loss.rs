//! Whether a resource holds data, according to its driver's manifest: the keyword
//! `x-purlin-holds-data` in the schema of a type's inputs (SPEC §8).
//!
//! The keyword counts if its schema describes a part of the inputs: at the root it applies to every
//! resource of the type, at a property to resources that have the property, and below an `if` to
//! resources that match the condition. In case of doubt, a resource holds data.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::Value;
use purlin_model::driver::keywords::HOLDS_DATA;
use purlin_model::driver::{Forecast, Inputs, Part, TypeSchema};
use purlin_schema::{Schema, is_unknown_keyword};
use purlin_state::Record;
use serde_json::Value as Json;

use crate::driver::Driver;

/// The data that is lost when a resource is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostData {
    /// This data, in the driver's words.
    Named(String),
    /// Data that the driver does not describe.
    Data,
    /// Possibly data: there is no driver that could tell.
    Unknown,
}

impl LostData {
    /// The form in which a record keeps it (`Record::holds_data`).
    pub(crate) fn recorded(self) -> Option<Arc<str>> {
        match self {
            Self::Named(what) => Some(what.into()),
            Self::Data => Some("".into()),
            Self::Unknown => None,
        }
    }

    /// The data of the parts that go, in the driver's words.
    pub(crate) fn of_parts<'a>(parts: impl Iterator<Item = &'a Part>) -> Option<Self> {
        Self::of_places(parts.filter_map(|part| Some((part.loss()?, &*part.address))))
    }

    /// The data of the parts that go with a resource: of those that its driver foresees, and of those that the
    /// record has and the forecast does not name. So a driver that cannot foresee a deletion hides no loss.
    pub(crate) fn of_deleted(record: &Record, deletion: Option<&Forecast>) -> Option<Self> {
        let foreseen = || deletion.into_iter().flat_map(|deletion| &deletion.parts);
        let named: HashSet<&str> = foreseen()
            .flat_map(|part| [Some(&*part.address), part.moved_from.as_deref()])
            .flatten()
            .collect();
        let others = record.parts.iter().filter(|part| !named.contains(&*part.address));
        let others = others.filter_map(|part| Some((part.holds_data.as_deref()?, &*part.address)));
        let lost = foreseen().filter_map(|part| Some((part.loss()?, &*part.address)));
        Self::of_places(lost.chain(others))
    }

    /// The data at these addresses of parts.
    fn of_places<'a>(mut lost: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let named: Vec<String> =
            lost.by_ref().take(MOST_PARTS).map(|(what, address)| format!("{what} (`{address}`)")).collect();
        let more = lost.count();
        let more = (more > 0).then(|| format!("and of {more} more parts"));
        (!named.is_empty()).then(|| Self::Named(named.into_iter().chain(more).collect::<Vec<_>>().join(", ")))
    }

    /// The data that a recorded resource holds.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        match record.holds_data.as_deref()? {
            "" => Some(Self::Data),
            what => Some(Self::Named(what.to_owned())),
        }
    }
}

/// The data to record for a resource with these inputs of `driver`.
///
/// `before` is the record before this change. If another component now has the driver's name, it
/// might not mention data that the previous one reported. The resource then keeps the previous
/// entry until the same component has changed it twice.
pub(crate) fn data_to_record(
    driver: &dyn Driver,
    type_name: &str,
    inputs: &Inputs,
    before: Option<&Record>,
) -> Option<Arc<str>> {
    let now = driver.info().schema(type_name).and_then(|schema| DataLossReader::default().of(schema, inputs));
    let other = before.filter(|before| *before.driver.digest != *driver.digest());
    now.and_then(LostData::recorded).or_else(|| other?.holds_data.clone())
}

/// The lost parts of one resource that are named.
const MOST_PARTS: usize = 5;

/// Schemas may refer to themselves; no description of inputs is nested deeper than this.
const DEEPEST: usize = 64;

/// Reads manifests and compiles each condition in them once.
#[derive(Default)]
pub(crate) struct DataLossReader {
    /// Conditions by their text; `None` for an unusable schema.
    conditions: HashMap<String, Option<Schema>>,
}

impl DataLossReader {
    /// The data that is lost when a resource of this type with these inputs is deleted.
    pub(crate) fn of(&mut self, schema: &TypeSchema, inputs: &Inputs) -> Option<LostData> {
        let root = &schema.inputs;
        if !mentions(root) {
            return None;
        }
        let mut found = None;
        let parts = [("values", &inputs.values), ("secrets", &inputs.secrets), ("params", &inputs.params)];
        let inputs = Value::Map(parts.map(|(name, part)| (name.into(), part.clone())).into_iter().collect());
        self.walk(root, root, &inputs, DEEPEST, &mut found);
        found
    }

    fn walk(&mut self, root: &Json, schema: &Json, value: &Value, left: usize, found: &mut Option<LostData>) {
        let (Some(fields), Some(left)) = (schema.as_object(), left.checked_sub(1)) else { return };
        match fields.get(HOLDS_DATA) {
            None | Some(Json::Bool(false)) => {}
            // The first description is as good as any other, and better than no description.
            Some(Json::String(what)) if !what.trim().is_empty() => match found {
                Some(LostData::Named(_)) => {}
                _ => *found = Some(LostData::Named(what.trim().to_owned())),
            },
            Some(_) => {
                found.get_or_insert(LostData::Data);
            }
        }
        // What this version does not know may say that there is data.
        if fields.keys().any(|keyword| is_unknown_keyword(keyword)) {
            found.get_or_insert(LostData::Data);
        }
        let local =
            fields.get("$ref").and_then(Json::as_str).and_then(|reference| reference.strip_prefix('#'));
        if let Some(target) = local.and_then(|pointer| root.pointer(pointer)) {
            self.walk(root, target, value, left, found);
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            for part in fields.get(name).and_then(Json::as_array).into_iter().flatten() {
                self.walk(root, part, value, left, found);
            }
        }
        if let Some(condition) = fields.get("if") {
            let branches: &[&str] = match self.fits(condition, value) {
                Some(true) => &["then"],
                Some(false) => &["else"],
                None => &["then", "else"],
            };
            for branch in branches.iter().filter_map(|branch| fields.get(*branch)) {
                self.walk(root, branch, value, left, found);
            }
        }
        let named = fields.get("properties").and_then(Json::as_object);
        let (map, list) = match value.exposed() {
            Value::Map(map) => (Some(map), None),
            Value::List(list) => (None, Some(list)),
            _ => return,
        };
        for (name, value) in map.into_iter().flatten().filter(|(_, value)| !matches!(value, Value::Null)) {
            let name: &str = name;
            let own = named.and_then(|named| named.get(name)).or_else(|| fields.get("additionalProperties"));
            let patterns = fields.get("patternProperties").and_then(Json::as_object);
            for schema in own.into_iter().chain(patterns.into_iter().flat_map(|all| all.values())) {
                self.walk(root, schema, value, left, found);
            }
        }
        let first = fields.get("prefixItems").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        for (index, value) in list.into_iter().flatten().enumerate() {
            if let Some(schema) = first.get(index).or_else(|| fields.get("items")) {
                self.walk(root, schema, value, left, found);
            }
        }
    }

    /// Whether a condition is true; `None` if it is unusable, or depends on a value that is unknown.
    fn fits(&mut self, condition: &Json, value: &Value) -> Option<bool> {
        let compiled = self.conditions.entry(condition.to_string());
        compiled.or_insert_with(|| Schema::new(condition).ok()).as_ref()?.fits(value).ok()?
    }
}

fn mentions(schema: &Json) -> bool {
    match schema {
        Json::Object(fields) => fields
            .iter()
            .any(|(name, schema)| name == HOLDS_DATA || is_unknown_keyword(name) || mentions(schema)),
        Json::Array(items) => items.iter().any(mentions),
        _ => false,
    }
}

#[cfg(test)]
#[path = "data_loss/tests.rs"]
mod tests;
