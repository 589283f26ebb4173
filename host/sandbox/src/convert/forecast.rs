//! Reads what a driver says that an effect would make.

use std::collections::HashSet;

use purlin_model::driver::{Forecast, MOST_PARTS, Part, PartAction};
use purlin_model::{Map, Value};
use zeroize::Zeroize as _;

use super::{LONGEST_ID, Reader};
use crate::bindings::preview::exports::purlin::preview::preview as wit;
use crate::bindings::preview::purlin::preview::types;
use crate::bindings::purlin::driver::types::Failure;
use crate::error::CallError;
use crate::sensitive;

impl Reader<'_> {
    pub(crate) fn forecast(&self, mut forecast: wit::Forecast) -> Result<Forecast, CallError> {
        if forecast.parts.len() > MOST_PARTS {
            let count = forecast.parts.len();
            return Err(self.junk(format!("it foresees {count} parts, and {MOST_PARTS} are allowed")));
        }
        self.fits(
            [forecast.outputs.len(), forecast.secrets.len(), forecast.token.as_ref().map_or(0, Vec::len)]
                .into_iter()
                .chain(forecast.unknown.iter().chain(&forecast.sensitive).map(String::len))
                .chain(forecast.notes.iter().map(|(name, value)| name.len() + value.len()))
                .chain(forecast.parts.iter().map(size)),
        )?;
        self.observe("outputs", &forecast.outputs);
        let (mut addresses, mut moved) = (HashSet::new(), HashSet::new());
        let mut parts: Vec<Part> = Vec::with_capacity(forecast.parts.len());
        for part in &forecast.parts {
            let part = self.part(part)?;
            // Where a secret is hidden, two addresses may have become the same.
            if !addresses.insert(part.address.clone()) {
                return Err(self.junk(format!("two parts have the address `{}`", part.address)));
            }
            if let Some(before) = &part.moved_from
                && (*before == part.address || !moved.insert(before.clone()))
            {
                return Err(self.junk(format!("a part cannot move from `{before}` to `{}`", part.address)));
            }
            parts.push(part);
        }
        Ok(Forecast {
            outputs: self.certain(&forecast)?,
            parts,
            token: std::mem::take(&mut forecast.token).map(Into::into),
            notes: self.notes(&forecast.notes)?,
        })
    }

    /// The outputs, with their secret and unknown places.
    fn certain(&self, forecast: &wit::Forecast) -> Result<Value, CallError> {
        let outputs = Value::Map(self.map("outputs", &forecast.outputs)?);
        let secrets = Value::Map(self.map("secrets", &forecast.secrets)?);
        let mut all = Value::Map(Map::from_iter([("outputs".into(), outputs), ("secrets".into(), secrets)]));
        self.mark_unknown(&forecast.unknown, &["outputs", "secrets"], &mut all)?;
        let Value::Map(mut all) = all else { return Ok(Value::map()) };
        // Of a group that is unknown as a whole, nothing is certain.
        let mut group = |name: &str| match all.remove(name) {
            Some(Value::Map(group)) => group,
            _ => Map::default(),
        };
        let (mut outputs, secrets) = (group("outputs"), group("secrets"));
        for (name, value) in secrets {
            if outputs.insert(name.clone(), value.into_secret()).is_some() {
                return Err(self.junk(format!("`{}` is in both outputs and secrets", self.printable(&name))));
            }
        }
        let mut outputs = self.matcher.taint(Value::Map(outputs));
        sensitive::hide(&forecast.sensitive, &mut outputs, &mut []);
        Ok(outputs)
    }

    fn part(&self, part: &types::Part) -> Result<Part, CallError> {
        let addresses = [&part.address].into_iter().chain(&part.moved_from);
        if addresses.into_iter().any(|address| address.trim().is_empty() || address.len() > LONGEST_ID) {
            return Err(self.junk("the address of a part has 1 to 4096 bytes, not only spaces"));
        }
        if part.holds_data.as_ref().is_some_and(|data| data.trim().is_empty()) {
            return Err(self.junk("the data of a part has no name"));
        }
        self.observe("address", &part.address);
        let mut document = Map::default();
        for (name, text) in [("before", &part.before), ("after", &part.after)] {
            if let Some(text) = text {
                self.observe("attributes", text);
                document.insert(name.into(), self.json("attributes of a part", text)?);
            }
        }
        let mut document = Value::Map(document);
        self.mark_unknown(&part.unknown, &["before", "after"], &mut document)?;
        let mut document = self.matcher.taint(document);
        sensitive::mark(&part.sensitive, &mut document, |value| *value = std::mem::take(value).into_secret());
        let side = |name: &str| match &document {
            Value::Secret(all) => {
                all.expose().as_map().and_then(|map| map.get(name)).map(|value| value.clone().into_secret())
            }
            document => document.as_map().and_then(|map| map.get(name)).cloned(),
        };
        Ok(Part {
            address: self.printable(&part.address),
            moved_from: part.moved_from.as_deref().map(|address| self.printable(address)),
            type_name: self.printable(&part.type_name),
            action: action(part.action),
            before: side("before"),
            after: side("after"),
            replaces: part.replaces.iter().map(|pointer| self.printable(pointer)).collect(),
            holds_data: part.holds_data.as_deref().map(|data| self.printable(data)),
            notes: self.notes(&part.notes)?,
        })
    }

    /// Marks the unknown places of a document of these groups.
    fn mark_unknown(
        &self,
        places: &[String],
        groups: &[&str],
        document: &mut Value,
    ) -> Result<(), CallError> {
        let is_place = |place: &String| {
            let mut rests = groups.iter().filter_map(|group| place.strip_prefix('/')?.strip_prefix(group));
            rests.any(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(place) = places.iter().find(|place| !is_place(place)) {
            let groups: Vec<String> = groups.iter().map(|group| format!("\"{group}\":…")).collect();
            return Err(self.junk(format!(
                "its unknown place `{}` is no place in {{{}}}",
                self.printable(place),
                groups.join(",")
            )));
        }
        sensitive::mark(places, document, |value| *value = Value::unknown());
        Ok(())
    }

    /// The failure of a function that foresees, and does nothing.
    pub(crate) fn failed_forecast(&self, failure: Failure) -> CallError {
        let effect = match &failure {
            Failure::Pending(_) => "pending",
            Failure::Partial(_) => "partial",
            Failure::Undecided(_) => "undecided",
            Failure::NeedsDeleteBefore(_) => "needs-delete-before",
            _ => return self.failure(failure),
        };
        self.junk(format!("`preview` has no effects, and cannot fail with `{effect}`"))
    }
}

/// The bytes of a part.
fn size(part: &types::Part) -> usize {
    let texts = [&part.address, &part.type_name].into_iter();
    let texts = texts.chain(&part.moved_from).chain(&part.before).chain(&part.after).chain(&part.holds_data);
    let places = part.unknown.iter().chain(&part.sensitive).chain(&part.replaces);
    let notes = part.notes.iter().map(|(name, value)| name.len() + value.len());
    texts.chain(places).map(String::len).chain(notes).sum()
}

/// What happens to a part.
pub(crate) fn action(action: types::Action) -> PartAction {
    match action {
        types::Action::None => PartAction::None,
        types::Action::Create => PartAction::Create,
        types::Action::Read => PartAction::Read,
        types::Action::Update => PartAction::Update,
        types::Action::CreateThenDelete => PartAction::CreateThenDelete,
        types::Action::DeleteThenCreate => PartAction::DeleteThenCreate,
        types::Action::Delete => PartAction::Delete,
        types::Action::Adopt => PartAction::Adopt,
        types::Action::Forget => PartAction::Forget,
    }
}

impl Drop for wit::Forecast {
    fn drop(&mut self) {
        self.secrets.zeroize();
        self.token.zeroize();
    }
}
