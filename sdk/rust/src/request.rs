//! What a driver is asked, and what it answers. Inputs that are to be applied come as the driver's
//! own type; inputs that may have holes, or may stem from an older version, come as [`Raw`].

use serde::Serialize;
use serde_json::Value;

use crate::state::object;
use crate::{Call, Failure, Inputs, InvalidInput, Object, Raw, Resource, State};

/// Inputs to look at.
pub struct CheckRequest<I> {
    /// The resource.
    pub resource: Resource,
    /// Its inputs, perhaps with unknowns.
    pub inputs: Raw<I>,
    /// What `check` returned when the resource was last provisioned.
    pub previous: Option<Raw<I>>,
}

/// Inputs as they will be used.
pub struct Checked {
    /// With defaults filled in and spellings normalised.
    pub values: Value,
    /// Likewise.
    pub secrets: Value,
    /// Advice that does not stand in the way.
    pub warnings: Vec<InvalidInput>,
}

impl Checked {
    /// The inputs as they stand, with no advice.
    pub fn unchanged<I>(inputs: Raw<I>) -> Self {
        let mut document = inputs.into_document();
        let mut part = |name: &str| document.get_mut(name).map(Value::take).unwrap_or_default();
        Self { values: part("values"), secrets: part("secrets"), warnings: Vec::new() }
    }

    /// The same with a piece of advice.
    #[must_use]
    pub fn warning(mut self, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        self.warnings.push(InvalidInput { pointer: pointer.into(), message: message.into() });
        self
    }
}

/// What a name is wanted for.
pub struct NameRequest<I> {
    /// The resource.
    pub resource: Resource,
    /// Its checked inputs.
    pub inputs: Inputs<I>,
}

/// What to make.
pub struct CreateRequest<I> {
    /// The resource.
    pub resource: Resource,
    /// Its checked inputs.
    pub inputs: Inputs<I>,
    /// What `name` returned.
    pub name: String,
    /// The provider id of the resource that this one replaces, where that exists still.
    pub replaces: Option<String>,
    /// Facts about this call.
    pub call: Call,
}

/// What to look at.
pub struct ReadRequest<I> {
    /// The resource.
    pub resource: Resource,
    /// The provider id, or `None` to look for it by name.
    pub id: Option<String>,
    /// What `name` returned.
    pub name: String,
    /// The inputs it was last provisioned with, or is to be provisioned with.
    pub inputs: Raw<I>,
    /// What is recorded; nothing in an import and after a lost answer.
    pub state: Option<State>,
    /// Provider ids of other resources that may have this name. What has one of them is not the one that
    /// is looked for by name.
    pub known: Vec<String>,
    /// Facts about this call.
    pub call: Call,
}

/// What there is. A bare [`State`] turns into one that says nothing about inputs.
#[derive(Clone)]
pub struct Observed {
    /// The resource, with the id that was asked for.
    pub state: State,
    /// `values` as reality has them, in the shape that `check` returns; without what cannot be
    /// told, and without anything from `secrets`. What differs from the record is drift.
    pub values: Option<Object>,
}

impl Observed {
    /// What exists, with the inputs that reality has.
    ///
    /// # Errors
    /// When they do not serialise as a JSON object.
    pub fn new(state: State, values: impl Serialize) -> Result<Self, Failure> {
        Ok(Self { state, values: Some(object(values, "observed values")?) })
    }
}

impl From<State> for Observed {
    fn from(state: State) -> Self {
        Self { state, values: None }
    }
}

/// A change to judge.
pub struct ImpactRequest<I> {
    /// The resource.
    pub resource: Resource,
    /// What exists.
    pub state: State,
    /// The inputs it was made with.
    pub before: Raw<I>,
    /// The inputs it is to have, perhaps with unknowns.
    pub after: Raw<I>,
    /// What `name` returned.
    pub name: String,
    /// Facts about this call.
    pub call: Call,
}

impl<I> ImpactRequest<I> {
    /// Whether what stands at a pointer changes. What is not known yet counts as changed.
    pub fn changes(&self, pointer: &str) -> bool {
        self.after.is_unknown(pointer) || self.before.get(pointer) != self.after.get(pointer)
    }

    /// Those of the pointers at which something stands either before or after, and not both. What is not
    /// known yet counts as something. A resource that is one of several kinds becomes another kind there.
    pub fn switches(&self, pointers: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
        let is_given = |inputs: &Raw<I>, pointer: &str| {
            inputs.is_unknown(pointer) || inputs.get(pointer).is_some_and(|value| !value.is_null())
        };
        let pointers = pointers.into_iter().map(Into::into);
        pointers.filter(|it| is_given(&self.before, it) != is_given(&self.after, it)).collect()
    }
}

/// What a change would do. The default is an update in place that may change every output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Pointers to what forces a replacement; none means an update in place.
    pub replaces: Vec<String>,
    /// Whether the old one has to go before the new one can be made.
    pub delete_before_replace: bool,
    /// Outputs that keep their value for certain.
    pub stable_outputs: Vec<String>,
}

/// What is to become of what.
pub struct UpdateRequest<I> {
    /// The resource.
    pub resource: Resource,
    /// What exists.
    pub state: State,
    /// The inputs it was made with.
    pub before: Raw<I>,
    /// The inputs it is to have.
    pub after: Inputs<I>,
    /// What `name` returned.
    pub name: String,
    /// Facts about this call.
    pub call: Call,
}

/// What to delete.
pub struct DeleteRequest<I> {
    /// The resource.
    pub resource: Resource,
    /// What exists.
    pub state: State,
    /// The inputs it was last provisioned with.
    pub inputs: Raw<I>,
    /// Facts about this call.
    pub call: Call,
}
