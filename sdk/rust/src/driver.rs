//! What a driver is: one trait, and one more for each further thing that it can do.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    CheckRequest, Checked, CreateRequest, DeleteRequest, Failure, Impact, ImpactRequest, NameRequest,
    Observed, ReadRequest, State, UpdateRequest, Wish,
};

/// What a driver says about one resource type.
#[derive(Clone, Debug)]
pub struct TypeSchema {
    /// Resource type, or `*` for any.
    pub type_name: String,
    /// JSON Schema (2020-12) of `{"values":…,"secrets":…,"params":…}`.
    pub inputs: Value,
    /// JSON Schema of the outputs, secret ones with `"writeOnly": true`.
    pub outputs: Value,
}

impl TypeSchema {
    /// A schema for resources of any type.
    pub fn any(inputs: Value, outputs: Value) -> Self {
        Self { type_name: "*".to_owned(), inputs, outputs }
    }
}

/// A driver. What it can do besides is said by implementing [`Check`], [`Name`], [`Read`],
/// [`UpdateImpact`] and [`Update`]; [`crate::export!`] finds out which of them there are and tells
/// the host, which takes the stated default in the place of the others.
pub trait Driver: Sized {
    /// `ORG/NAME`, such as `purlin/echo`.
    const NAME: &'static str;
    /// What it provisions, in a sentence.
    const DESCRIPTION: &'static str;
    /// Whether `create`, called again with the idempotency key of an earlier attempt, finds what
    /// that made and returns it, or makes nothing outside itself. After a crash the host then
    /// calls it again; else it may have to ask a person what became of the attempt.
    const REPEAT_CREATE: bool = false;
    /// What `{"values":…,"secrets":…,"params":…}` is read as, [`crate::Anything`] for whatever
    /// comes. What does not fit is refused before the driver is asked.
    type Inputs: DeserializeOwned;

    /// The types that it provisions, at least one; any by default.
    fn types() -> Vec<TypeSchema> {
        let object = || json!({"type": "object"});
        vec![TypeSchema::any(object(), object())]
    }

    /// The capabilities that it would like; none by default.
    fn wishes() -> Vec<Wish> {
        Vec::new()
    }

    /// Makes the resource. It is transactional: any failure but [`Failure::Partial`] means that
    /// nothing was made. Checkpoint the id as soon as it is known.
    ///
    /// # Errors
    /// Any.
    fn create(request: CreateRequest<Self::Inputs>) -> Result<State, Failure>;

    /// Deletes the resource. What is gone already is a success.
    ///
    /// # Errors
    /// Any but [`Failure::NotFound`] and [`Failure::Partial`]; then it is taken to exist still.
    fn delete(request: DeleteRequest<Self::Inputs>) -> Result<(), Failure>;
}

/// Validates inputs, fills in defaults and normalises them. Without it inputs are taken as they
/// are, and faults show when the resource is made.
pub trait Check: Driver {
    /// The inputs as they will be used. No effects; checking the answer again returns it unchanged.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with every fault, not only the first.
    fn check(request: CheckRequest<Self::Inputs>) -> Result<Checked, Failure>;
}

/// Names the real thing. Without it the name is the `guresid`.
pub trait Name: Driver {
    /// The friendly name. The same request gives the same name; no effects.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    fn name(request: NameRequest<Self::Inputs>) -> Result<String, Failure>;
}

/// Looks at the resource as it is. Without it reality is taken to be what was recorded: nobody
/// sees drift, nothing can be imported, and a lost answer cannot be found again.
pub trait Read: Driver {
    /// What exists; `None` only when it is certain that it is gone, for `create` may follow. By
    /// name, only what is this resource's own: another that has the name is
    /// [`Failure::Conflict`]. No effects.
    ///
    /// # Errors
    /// Any but [`Failure::Partial`]; [`Failure::NotFound`] counts as `None`.
    fn read(request: ReadRequest<Self::Inputs>) -> Result<Option<Observed>, Failure>;
}

/// Says which changes replace. Without it every change is an update in place.
pub trait UpdateImpact: Update {
    /// What a change would do. No effects; agrees with what `update` accepts.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    fn update_impact(request: ImpactRequest<Self::Inputs>) -> Result<Impact, Failure>;
}

/// Changes the resource in place. Without it every change is a replacement.
pub trait Update: Driver {
    /// The resource as it is to be. Its id may not change.
    ///
    /// # Errors
    /// Any; all but [`Failure::Partial`] mean that nothing was changed.
    fn update(request: UpdateRequest<Self::Inputs>) -> Result<State, Failure>;
}
