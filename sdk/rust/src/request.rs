//! Requests to a driver, and its answers. Inputs that are to be applied have the driver's own type;
//! inputs that may have unknowns, or may come from an older version, are [`Raw`].

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::state::object;
use crate::{Failure, Finding, Inputs, Object, Raw, State, Subject};

/// Facts about one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The same for every attempt at the same effect, and for no other, also across a crash of the host.
    /// Pass it on to systems that accept one, so that a repeated attempt creates nothing twice. Empty in a
    /// function without effects, except in a `read` that recovers a lost `create`: then it is the key of
    /// that `create`.
    pub idempotency_key: String,
    /// Milliseconds since 1970 after which the host ends the call, by the host's clock.
    pub deadline: u64,
    /// Facts that may be ignored without harm, by name.
    pub hints: Object,
}

impl Call {
    /// The time until the host ends the call: [`crate::operation::time_left`], which no clock changes, or in
    /// a unit test the time until the deadline.
    pub fn time_left(&self) -> Duration {
        #[cfg(target_family = "wasm")]
        return crate::operation::time_left();
        #[cfg(not(target_family = "wasm"))]
        {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Duration::from_millis(self.deadline).saturating_sub(now).min(crate::operation::time_left())
        }
    }
}

/// Inputs to check.
pub struct CheckRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// Its inputs, perhaps with unknowns.
    pub inputs: Raw<I>,
    /// The result of `check` when the resource was last provisioned. `connection` and `account` are empty
    /// there.
    pub previous: Option<Raw<I>>,
    /// Facts about this call.
    pub call: Call,
}

impl<I> CheckRequest<I> {
    /// Fills in an input that the documents omit: an existing resource keeps the value that it has,
    /// whatever `default` is by now, and a new one gets the default. Does nothing if the map that
    /// contains the input is omitted or unknown.
    ///
    /// Use it for values that the driver chooses, such as a name made from the `guresid`: that
    /// changes when the resource is renamed, and a new default must not change or replace the
    /// resource.
    pub fn choose(&mut self, pointer: &str, default: impl FnOnce(&Subject) -> Value) {
        let Some((parent, name)) = pointer.rsplit_once('/') else { return };
        if self.inputs.is_given(pointer) {
            return;
        }
        let before = self.previous.as_ref().and_then(|previous| previous.get_known(pointer));
        let value = match before {
            Some(before) if !before.is_null() => before.clone(),
            _ => default(&self.subject),
        };
        let parent = self.inputs.document_mut().pointer_mut(parent);
        if let Some(parent) = parent.and_then(Value::as_object_mut) {
            parent.insert(name.replace("~1", "/").replace("~0", "~"), value);
        }
    }
}

/// Inputs as they will be used.
pub struct Checked {
    /// With defaults filled in and spellings normalised.
    pub values: Value,
    /// Likewise.
    pub secrets: Value,
    /// Advice that does not block.
    pub warnings: Vec<Finding>,
}

impl Checked {
    /// The inputs unchanged, with no advice.
    pub fn unchanged<I>(inputs: Raw<I>) -> Self {
        let mut document = inputs.into_document();
        let mut part = |name: &str| document.get_mut(name).map(Value::take).unwrap_or_default();
        Self { values: part("values"), secrets: part("secrets"), warnings: Vec::new() }
    }

    /// The same with a piece of advice.
    #[must_use]
    pub fn warning(mut self, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        self.warnings.push(Finding { pointer: pointer.into(), message: message.into() });
        self
    }
}

/// The resource to name.
pub struct NameRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// Its checked inputs.
    pub inputs: Inputs<I>,
    /// Facts about this call.
    pub call: Call,
}

/// The resource to create.
pub struct CreateRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// Its checked inputs.
    pub inputs: Inputs<I>,
    /// The result of `name`.
    pub name: String,
    /// The provider id of the resource that this one replaces, if it still exists.
    pub replaces: Option<String>,
    /// Facts about this call.
    pub call: Call,
}

/// The resource to read.
pub struct ReadRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// The provider id, or `None` to search by name.
    pub id: Option<String>,
    /// The result of `name`.
    pub name: String,
    /// The inputs of the last or the next provisioning.
    pub inputs: Raw<I>,
    /// The record; none in an import, and after a lost answer unless a cookie was checkpointed: then it
    /// has that id and cookie, and nothing else.
    pub state: Option<State>,
    /// Provider ids of other resources that may have this name. An object with one of them is not
    /// the result of a search by name.
    pub known: Vec<String>,
    /// Facts about this call.
    pub call: Call,
}

/// The existing resource. A bare [`State`] converts to one without inputs.
#[derive(Clone)]
pub struct Observed {
    /// The resource, with the requested id.
    pub state: State,
    /// `values` as reality has them, in the shape that `check` returns; without values that the
    /// driver cannot determine, and without anything from `secrets`. A difference from the record
    /// is drift.
    pub values: Option<Object>,
}

impl Observed {
    /// The existing resource, with its actual inputs.
    ///
    /// # Errors
    /// If they do not serialise as a JSON object.
    pub fn new(state: State, values: impl Serialize) -> Result<Self, Failure> {
        Ok(Self { state, values: Some(object(values, "observed values")?) })
    }
}

impl From<State> for Observed {
    fn from(state: State) -> Self {
        Self { state, values: None }
    }
}

/// A change to assess.
pub struct ImpactRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// The existing resource.
    pub state: State,
    /// The inputs that it was created with.
    pub before: Raw<I>,
    /// The new inputs, perhaps with unknowns.
    pub after: Raw<I>,
    /// The result of `name`.
    pub name: String,
    /// Facts about this call.
    pub call: Call,
}

impl<I> ImpactRequest<I> {
    /// Whether the value at a pointer changes. An unknown value is treated as changed.
    pub fn changes(&self, pointer: &str) -> bool {
        self.after.is_unknown(pointer) || self.before.get(pointer) != self.after.get(pointer)
    }

    /// The pointers that have a value either before or after, and not both. An unknown value is
    /// treated as a value. At such a pointer, a resource that is one of several kinds becomes
    /// another kind.
    pub fn switches(&self, pointers: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
        let pointers = pointers.into_iter().map(Into::into);
        pointers.filter(|it| self.before.is_given(it) != self.after.is_given(it)).collect()
    }
}

/// The effect of a change. The default is an update in place that may change every output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Pointers to the inputs that force a replacement; none means an update in place.
    pub replaces: Vec<String>,
    /// Whether the old one must be deleted before the new one can be created.
    pub delete_before_replace: bool,
    /// Outputs that certainly keep their value ([`Impact::keep`]), as pointers into `{"outputs":…,"secrets":…}`, such as
    /// `/outputs/host`, or `/outputs` for all.
    pub stable_outputs: Vec<String>,
}

impl Impact {
    /// Adds outputs, secret or not, that certainly keep the value which they have in the state.
    pub fn keep<N: AsRef<str>>(&mut self, state: &State, names: impl IntoIterator<Item = N>) {
        for name in names {
            let name = name.as_ref();
            let groups = [("outputs", &state.outputs), ("secrets", &state.secrets)];
            if let Some((group, _)) = groups.into_iter().find(|(_, group)| group.contains_key(name)) {
                let name = name.replace('~', "~0").replace('/', "~1");
                self.stable_outputs.push(format!("/{group}/{name}"));
            }
        }
    }
}

/// The change to make.
pub struct UpdateRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// The existing resource.
    pub state: State,
    /// The inputs that it was created with.
    pub before: Raw<I>,
    /// The new inputs.
    pub after: Inputs<I>,
    /// The result of `name`.
    pub name: String,
    /// Facts about this call.
    pub call: Call,
}

/// The resource to delete.
pub struct DeleteRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// The existing resource.
    pub state: State,
    /// The inputs it was last provisioned with.
    pub inputs: Raw<I>,
    /// Whether somebody agreed that the data which the object holds is lost. A driver whose system asks for
    /// that, such as by a flag or a last snapshot, answers accordingly.
    pub data_loss_allowed: bool,
    /// Facts about this call.
    pub call: Call,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn outputs_that_stay_are_pointed_at_where_they_are() {
        let state = State::new("a").outputs(json!({"host": "h", "a/b~c": 1})).expect("a state");
        let state = state.secrets(json!({"token": "t"})).expect("a state");
        let mut impact = Impact::default();
        impact.keep(&state, ["host", "token", "a/b~c", "missing"]);
        assert_eq!(impact.stable_outputs, ["/outputs/host", "/secrets/token", "/outputs/a~1b~0c"]);
    }
}
