//! A live resource as its driver describes it.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::described::DescribedOutputs;
use crate::{Failure, Object};

/// A manifest that the driver wants delivered with the workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestFile {
    /// The file's name, unique within the resource.
    pub name: String,
    /// Its destination, such as `namespace`, `cluster` or `volumes`.
    pub location: String,
    /// The manifest.
    pub data: Value,
}

/// A live resource. There is no `Debug`, because it holds secrets.
#[derive(Clone, Default)]
pub struct State {
    /// The driver's own name for the real object: not empty, at most 4 KiB, unique within driver
    /// and type.
    pub id: String,
    /// Outputs that others may read.
    pub outputs: Object,
    /// Outputs that are secret. They take precedence over outputs of the same name.
    pub secrets: Object,
    /// Anything that the driver needs in the next call, within the operator's limit (`limits.state`,
    /// 10 KiB by default). Stored encrypted.
    pub cookie: Vec<u8>,
    /// Manifests to deliver, often none.
    pub manifests: Vec<ManifestFile>,
    /// Places within outputs and manifests that hold secrets, as pointers into
    /// `{"outputs":…,"manifests":{NAME: data}}`, such as `/outputs/db/password`. The host encrypts
    /// and hides their values. If there is no such place, all of what is above it counts as secret.
    pub sensitive: Vec<String>,
    /// The driver's own number of the form of its cookie, outputs and inputs; 0 if it never changed one.
    /// The host returns it as it was.
    pub version: u32,
    /// Anything else for people, such as `console-url` or `health`, by name. Nothing depends on them.
    pub notes: Object,
}

impl State {
    /// A resource with an id and no outputs.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// The same with these outputs.
    ///
    /// # Errors
    /// If they do not serialise as a JSON object.
    pub fn outputs(mut self, outputs: impl Serialize) -> Result<Self, Failure> {
        self.outputs = object(outputs, "outputs")?;
        Ok(self)
    }

    /// The same with these secret outputs.
    ///
    /// # Errors
    /// If they do not serialise as a JSON object.
    pub fn secrets(mut self, secrets: impl Serialize) -> Result<Self, Failure> {
        self.secrets = object(secrets, "secret outputs")?;
        Ok(self)
    }

    /// The same with outputs that describe themselves: secret ones become secret outputs, and those
    /// that are `None` are omitted.
    ///
    /// # Errors
    /// If they do not serialise as a JSON object.
    pub fn described_outputs<O: DescribedOutputs>(mut self, outputs: &O) -> Result<Self, Failure> {
        described(outputs, &mut self.outputs, &mut self.secrets)?;
        Ok(self)
    }

    /// The same with a cookie, as JSON.
    ///
    /// # Errors
    /// If it does not serialise.
    pub fn cookie(mut self, cookie: impl Serialize) -> Result<Self, Failure> {
        self.cookie = serde_json::to_vec(&cookie)?;
        Ok(self)
    }

    /// The same with a place within outputs or manifests that holds a secret: see [`State::sensitive`].
    #[must_use]
    pub fn sensitive(mut self, pointer: impl Into<String>) -> Self {
        self.sensitive.push(pointer.into());
        self
    }

    /// The same in another form of cookie, outputs and inputs: see [`State::version`].
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// The same with a note for people: see [`State::notes`].
    #[must_use]
    pub fn note(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.notes.insert(name.into(), value.into());
        self
    }

    /// The answer of `create`, `update` and `read` for a resource that exists and is not ready yet:
    /// `Err(state.pending(Duration::from_secs(5), "its volume is attached"))`. The host records the state, and
    /// looks again after this time.
    pub fn pending(self, after: Duration, message: impl Into<String>) -> Failure {
        Failure::Pending { state: Some(Box::new(self)), after, message: message.into() }
    }

    /// The cookie from [`State::cookie`], or from a checkpoint; `None` without one.
    ///
    /// # Errors
    /// If it does not read as a `T`.
    pub fn read_cookie<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        if self.cookie.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_slice(&self.cookie)?)) }
    }
}

/// Sorts outputs that describe themselves into plain and secret ones.
pub(crate) fn described<O: DescribedOutputs>(
    outputs: &O,
    plain: &mut Object,
    secret: &mut Object,
) -> Result<(), Failure> {
    for (name, value) in object(outputs, "outputs")? {
        let all = if O::SECRETS.contains(&name.as_str()) { &mut *secret } else { &mut *plain };
        all.insert(name, value);
    }
    Ok(())
}

pub(crate) fn object(value: impl Serialize, what: &str) -> Result<Object, Failure> {
    match serde_json::to_value(value)? {
        Value::Object(object) => Ok(object),
        _ => Err(Failure::failed(format!("the {what} of this driver are not a JSON object"))),
    }
}
