//! The traits of a driver: one for a driver of one type, or one for each type and one for the driver that has
//! them; and one more for each optional function.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    CheckRequest, Checked, CreateRequest, DeleteRequest, Failure, Forecast, Impact, ImpactRequest,
    NameRequest, Object, Observed, PreviewRequest, ReadRequest, RequestedCapability, State, UpdateRequest,
};

/// A driver's description of one resource type.
#[derive(Clone, Debug)]
pub struct TypeSchema {
    /// Resource type, or `*` for any.
    pub type_name: String,
    /// JSON Schema (2020-12) of `{"values":…,"secrets":…,"params":…,"connection":…}`.
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

/// A driver whose resources are all of one kind. To support further functions, implement [`Check`],
/// [`Name`], [`Read`], [`UpdateImpact`] and [`Update`]; [`crate::export!`] finds out which of them
/// exist and tells the host, which uses the stated default for the others. [`Preview`] is named there, as
/// it is an export of its own.
///
/// A driver of several types has a [`DriverInfo`] instead, and a [`ResourceType`] for each type.
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
    /// The type of `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`,
    /// [`crate::Anything`] to accept everything.
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

    /// Anything else for people, such as `homepage` or `license`, by name; nothing by default.
    fn notes() -> Object {
        Object::new()
    }

    /// Creates the resource. It is transactional: any failure but [`Failure::Pending`],
    /// [`Failure::Partial`] and [`Failure::Undecided`] means that nothing was created. Checkpoint the id
    /// as soon as it is known. A resource that exists and is not ready yet is [`Failure::Pending`]: the
    /// host looks again later, so that the call need not wait.
    ///
    /// # Errors
    /// Any.
    fn create(request: CreateRequest<Self::Inputs>) -> Result<State, Failure>;

    /// Deletes the resource. A missing resource is a success; one whose deletion was only accepted, or
    /// that is still shown, is [`Failure::Pending`].
    ///
    /// # Errors
    /// Any but [`Failure::NotFound`] and [`Failure::Partial`]; the host then assumes that it still
    /// exists.
    fn delete(request: DeleteRequest<Self::Inputs>) -> Result<(), Failure>;
}

/// What is said once about a driver of several types, each of which is a [`ResourceType`]:
/// `purlin_sdk::export!(Messaging: Queue, Topic);`.
pub trait DriverInfo: Sized {
    /// `ORG/NAME`, such as `purlin/echo`.
    const NAME: &'static str;
    /// What it provisions, in one sentence.
    const DESCRIPTION: &'static str;

    /// The capabilities that it requests; none by default.
    fn requested_capabilities() -> Vec<RequestedCapability> {
        Vec::new()
    }

    /// Anything else for people, such as `homepage` or `license`, by name; nothing by default.
    fn notes() -> Object {
        Object::new()
    }
}

/// One type of a driver of several types, with its own inputs, outputs and optional functions. Every
/// [`Driver`] is one, too.
pub trait ResourceType: Sized {
    /// As [`Driver::REPEAT_CREATE`].
    const REPEAT_CREATE: bool = false;
    /// As [`Driver::Inputs`].
    type Inputs: DeserializeOwned;

    /// The type, or several that share everything. A `*` stands for every type that no other
    /// `ResourceType` of the driver has.
    fn types() -> Vec<TypeSchema>;

    /// Creates the resource, as [`Driver::create`] does.
    ///
    /// # Errors
    /// Any.
    fn create(request: CreateRequest<Self::Inputs>) -> Result<State, Failure>;

    /// Deletes the resource, as [`Driver::delete`] does.
    ///
    /// # Errors
    /// Any but [`Failure::NotFound`] and [`Failure::Partial`].
    fn delete(request: DeleteRequest<Self::Inputs>) -> Result<(), Failure>;
}

impl<D: Driver> DriverInfo for D {
    const NAME: &'static str = <D as Driver>::NAME;
    const DESCRIPTION: &'static str = <D as Driver>::DESCRIPTION;

    fn requested_capabilities() -> Vec<RequestedCapability> {
        <D as Driver>::requested_capabilities()
    }

    fn notes() -> Object {
        <D as Driver>::notes()
    }
}

impl<D: Driver> ResourceType for D {
    const REPEAT_CREATE: bool = <D as Driver>::REPEAT_CREATE;
    type Inputs = <D as Driver>::Inputs;

    fn types() -> Vec<TypeSchema> {
        <D as Driver>::types()
    }

    fn create(request: CreateRequest<Self::Inputs>) -> Result<State, Failure> {
        <D as Driver>::create(request)
    }

    fn delete(request: DeleteRequest<Self::Inputs>) -> Result<(), Failure> {
        <D as Driver>::delete(request)
    }
}

/// Validates inputs, fills in defaults and normalises them. Without it inputs are used unchanged,
/// and faults show when the resource is created.
pub trait Check: ResourceType {
    /// The inputs as they will be used. No effects; checking the result again returns it unchanged.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with every fault, not only the first.
    fn check(request: CheckRequest<Self::Inputs>) -> Result<Checked, Failure>;
}

/// Names the real object. Without it the name is the `guresid`.
pub trait Name: ResourceType {
    /// The friendly name. The same request gives the same name; no effects.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`].
    fn name(request: NameRequest<Self::Inputs>) -> Result<String, Failure>;
}

/// Reads the resource. Without it the host assumes that reality equals the record: drift is not
/// detected, nothing can be imported, and the outcome after a lost answer cannot be found.
pub trait Read: ResourceType {
    /// The existing resource; `None` if the system does not show it. The host believes that only once
    /// the grace of the driver has passed since the creation, and may then call `create`. A driver
    /// that cannot look fails instead. By name, only this resource's own object: another one with the
    /// name is [`Failure::Conflict`]. One that exists and is not ready is [`Failure::Pending`]. No
    /// effects.
    ///
    /// # Errors
    /// Any but [`Failure::Partial`] and [`Failure::Undecided`].
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
pub trait Update: ResourceType {
    /// Brings the resource to the wanted state. Its id may not change. If that takes its time, the answer
    /// is [`Failure::Pending`].
    ///
    /// # Errors
    /// Any; all but [`Failure::Pending`], [`Failure::Partial`] and [`Failure::Undecided`] mean that
    /// nothing was changed.
    fn update(request: UpdateRequest<Self::Inputs>) -> Result<State, Failure>;
}

/// Says what an effect would make (`purlin:preview`): which outputs are certain before it, and which parts it
/// creates, changes or deletes. Without it a plan treats all outputs of a new resource as unknown. A driver
/// that has it says so: `export!(Bucket with preview)`.
pub trait Preview: ResourceType {
    /// The forecast, from inputs that may have unknowns. The host calls it for the resources that a plan
    /// creates, updates or replaces. No effects; each certain output is what the effect returns.
    ///
    /// # Errors
    /// Any but [`Failure::Pending`], [`Failure::Partial`], [`Failure::Undecided`] and
    /// [`Failure::NeedsDeleteBefore`]; [`Failure::InvalidInputs`] are faults of the documents, as those of
    /// [`Check`] are.
    fn preview(request: PreviewRequest<Self::Inputs>) -> Result<Forecast, Failure>;
}
