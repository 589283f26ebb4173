//! What an effect would make: the request, and the answer (`purlin:preview`).

use serde::Serialize;
use serde_json::Value;

use crate::described::DescribedOutputs;
use crate::state::{described, object};
use crate::{Call, Failure, Object, Raw, State, Subject};

pub use crate::preview_bindings::purlin::preview::types::Action;

/// An effect to foresee.
pub struct PreviewRequest<I> {
    /// The resource.
    pub subject: Subject,
    /// The effect.
    pub effect: Effect<I>,
    /// The result of `name`; empty if it is not known yet, and for a deletion.
    pub name: String,
    /// Facts about this call, without an idempotency key.
    pub call: Call,
}

/// An effect that may follow.
pub enum Effect<I> {
    /// Of [`crate::Driver::create`].
    Create {
        /// The checked inputs, perhaps with unknowns.
        inputs: Raw<I>,
        /// The provider id of the resource that this one replaces, whichever of the two goes first.
        replaces: Option<String>,
    },
    /// Of [`crate::Update::update`].
    Update {
        /// The existing resource.
        state: State,
        /// The inputs of the last provisioning.
        before: Raw<I>,
        /// The new inputs, perhaps with unknowns.
        after: Raw<I>,
    },
    /// Of [`crate::Driver::delete`].
    Delete {
        /// The existing resource.
        state: State,
        /// The inputs of the last provisioning.
        inputs: Raw<I>,
        /// Whether somebody agreed that the data which the object holds is lost.
        data_loss_allowed: bool,
    },
}

impl<I> PreviewRequest<I> {
    /// The inputs of the resource that the effect leaves; `None` for a deletion.
    pub fn after(&self) -> Option<&Raw<I>> {
        match &self.effect {
            Effect::Create { inputs, .. } => Some(inputs),
            Effect::Update { after, .. } => Some(after),
            Effect::Delete { .. } => None,
        }
    }
}

/// What an effect would make. The default promises nothing.
///
/// There is no `Debug`, because it holds secrets.
#[derive(Clone, Default)]
pub struct Forecast {
    /// Outputs that are certain. Each is a promise that the host checks after the effect.
    pub outputs: Object,
    /// Secret outputs that are certain. They take precedence over outputs of the same name.
    pub secrets: Object,
    /// Places within these outputs that are not certain, as pointers into `{"outputs":…,"secrets":…}`.
    pub unknown: Vec<String>,
    /// Places within the outputs that hold secrets, as in [`State::sensitive`].
    pub sensitive: Vec<String>,
    /// The parts to which something happens, at most 10,000.
    pub parts: Vec<Part>,
    /// What ties the effect to this forecast, if all inputs are known: [`consent::token`] returns it.
    pub token: Option<Vec<u8>>,
    /// Anything else for people, by name.
    pub notes: Object,
}

impl Forecast {
    /// The same with these certain outputs.
    ///
    /// # Errors
    /// If they do not serialise as a JSON object.
    pub fn outputs(mut self, outputs: impl Serialize) -> Result<Self, Failure> {
        self.outputs = object(outputs, "outputs")?;
        Ok(self)
    }

    /// The same with these certain secret outputs.
    ///
    /// # Errors
    /// If they do not serialise as a JSON object.
    pub fn secrets(mut self, secrets: impl Serialize) -> Result<Self, Failure> {
        self.secrets = object(secrets, "secret outputs")?;
        Ok(self)
    }

    /// The same with outputs that describe themselves, all of them certain: secret ones become secret
    /// outputs, and those that are `None` are omitted.
    ///
    /// # Errors
    /// If they do not serialise as a JSON object.
    pub fn described_outputs<O: DescribedOutputs>(mut self, outputs: &O) -> Result<Self, Failure> {
        described(outputs, &mut self.outputs, &mut self.secrets)?;
        Ok(self)
    }

    /// The same with one more part.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

/// One of the objects that a resource consists of, and what happens to it.
#[derive(Clone)]
pub struct Part {
    /// Its address within the resource, the same in every forecast.
    pub address: String,
    /// Its address so far, if the effect changes that.
    pub moved_from: Option<String>,
    /// Its type, in the driver's words.
    pub type_name: String,
    /// What happens to it.
    pub action: Action,
    /// Its attributes so far.
    pub before: Option<Value>,
    /// Its attributes afterwards, `null` in unknown places.
    pub after: Option<Value>,
    /// Places that are unknown, as pointers into `{"before":…,"after":…}`.
    pub unknown: Vec<String>,
    /// Places that hold secrets, as pointers into the same object.
    pub sensitive: Vec<String>,
    /// Places that make a replacement necessary, as pointers into the same object.
    pub replaces: Vec<String>,
    /// The data that is lost if the part is deleted or replaced.
    pub holds_data: Option<String>,
    /// Anything else for people, such as `reason`, by name.
    pub notes: Object,
}

impl Part {
    /// A part without attributes.
    pub fn new(address: impl Into<String>, type_name: impl Into<String>, action: Action) -> Self {
        Self {
            address: address.into(),
            moved_from: None,
            type_name: type_name.into(),
            action,
            before: None,
            after: None,
            unknown: Vec::new(),
            sensitive: Vec::new(),
            replaces: Vec::new(),
            holds_data: None,
            notes: Object::new(),
        }
    }
}

/// What people agreed to, for the function with the effect. In unit tests, where there is no host,
/// [`crate::testing`] keeps the messages, and has the token.
pub mod consent {
    use super::Action;

    /// The token of the forecast that people agreed to; `None` if there is none, and in a function without
    /// effects. If the system has changed since, fail with [`crate::Failure::Conflict`].
    pub fn token() -> Option<Vec<u8>> {
        #[cfg(target_family = "wasm")]
        return crate::preview_bindings::purlin::preview::consent::token();
        #[cfg(not(target_family = "wasm"))]
        return crate::testing::agreed();
    }

    /// Shows people that a part is done.
    pub fn reached(address: &str, action: Action) {
        #[cfg(target_family = "wasm")]
        crate::preview_bindings::purlin::preview::consent::reached(address, action);
        #[cfg(not(target_family = "wasm"))]
        crate::testing::record(crate::testing::HostMessage::Reached(address.to_owned(), action));
    }
}
