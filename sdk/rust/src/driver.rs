//! The traits of a driver: one for every driver, and one more for each optional function.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    CheckRequest, Checked, CreateRequest, DeleteRequest, Failure, Impact, ImpactRequest, NameRequest,
    Observed, ReadRequest, RequestedCapability, State, UpdateRequest,
};

/// A driver's description of one resource type.
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

/// A driver. To support further functions, implement [`Check`], [`Name`], [`Read`],
/// [`UpdateImpact`] and [`Update`]; [`crate::export!`] finds out which of them exist and tells the
/// host, which uses the stated default for the others.
pub trait Driver: Sized {
    /// `ORG/NAME`, such as `purlin/echo`.
    const NAME: &'static str;
    /// What it provisions, in one sentence.
    const DESCRIPTION: &'static str;
    /// Whether `create`, called again with the idempotency key of an earlier attempt, finds and
    /// returns the object of that attempt, or creates nothing outside itself. After a crash the
    /// host then calls it again; otherwise it may have to ask a person for the outcome of the
    /// attempt.
    const REPEAT_CREATE: bool = false;
    /// The type of `{"values":…,"secrets":…,"params":…}`, [`crate::Anything`] to accept everything.
    /// Inputs that do not fit are rejected before the driver is called.
    type Inputs: DeserializeOwned;

    /// The types that it provisions, at least one; any by default.
    fn types() -> Vec<TypeSchema> {
        let object = || json!({"type": "object"});
        vec![TypeSchema::any(object(), object())]
    }

    /// The capabilities that it requests; none by default.
    fn requested_capabilities() -> Vec<RequestedCapability> {
        Vec::new()
    }

    /// Creates the resource. It is transactional: any failure but [`Failure::Partial`] means that
    /// nothing was created. Checkpoint the id as soon as it is known.
    ///
    /// # Errors
    /// Any.
    fn create(request: CreateRequest<Self::Inputs>) -> Result<State, Failure>;

    /// Deletes the resource. A missing resource is a success.
    ///
    /// # Errors
    /// Any but [`Failure::NotFound`] and [`Failure::Partial`]; the host then assumes that it still
    /// exists.
    fn delete(request: DeleteRequest<Self::Inputs>) -> Result<(), Failure>;
}

/// Validates inputs, fills in defaults and normalises them. Without it inputs are used unchanged,
/// and faults show when the resource is created.
pub trait Check: Driver {
    /// The inputs as they will be used. No effects; checking the result again returns it unchanged.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with every fault, not only the first.
    fn check(request: CheckRequest<Self::Inputs>) -> Result<Checked, Failure>;
}

/// Names the real object. Without it the name is the `guresid`.
pub trait Name: Driver {
    /// The friendly name. The same request gives the same name; no effects.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    fn name(request: NameRequest<Self::Inputs>) -> Result<String, Failure>;
}

/// Reads the resource. Without it the host assumes that reality equals the record: drift is not
/// detected, nothing can be imported, and the outcome after a lost answer cannot be found.
pub trait Read: Driver {
    /// The existing resource; `None` if the system does not show it. The host believes that only once
    /// the grace of the driver has passed since the creation, and may then call `create`. A driver
    /// that cannot look fails instead. By name, only this resource's own object: another one with the
    /// name is [`Failure::Conflict`]. No effects.
    ///
    /// # Errors
    /// Any but [`Failure::Partial`]; [`Failure::NotFound`] means `None`.
    fn read(request: ReadRequest<Self::Inputs>) -> Result<Option<Observed>, Failure>;
}

/// Decides which changes replace. Without it every change is an update in place.
pub trait UpdateImpact: Update {
    /// The effect of a change. No effects; agrees with what `update` accepts.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    fn update_impact(request: ImpactRequest<Self::Inputs>) -> Result<Impact, Failure>;
}

/// Changes the resource in place. Without it every change is a replacement.
pub trait Update: Driver {
    /// Brings the resource to the wanted state. Its id may not change.
    ///
    /// # Errors
    /// Any; all but [`Failure::Partial`] mean that nothing was changed.
    fn update(request: UpdateRequest<Self::Inputs>) -> Result<State, Failure>;
}
