//! Conversions between the types of the model and those of the contract.
//!
//! Results are not trusted: sizes are bounded before anything is parsed, and everything that
//! secrets touched is marked.

use std::time::Duration;

use purlin_model::driver::{
    Checked, Failure, Impact, InputFinding, Inputs, ManifestFile, Observed, Pending, Problem, ResourceState,
    Subject,
};
use purlin_model::{Label, Map, Value};
use zeroize::Zeroize;

use crate::bindings::purlin::driver::types;
use crate::error::CallError;
use crate::json::{self, Values};
use crate::observer::{CallEvent, CallObserver};
use crate::secrets::{SecretMatcher, neutralise};
use crate::sensitive;

mod forecast;
#[cfg(test)]
mod tests;

pub(crate) use forecast::action;

/// Bytes of a provider id or a name.
pub(crate) const LONGEST_ID: usize = 4 << 10;
/// Bytes of one message for people.
pub(crate) const LONGEST_MESSAGE: usize = 8 << 10;
/// Bytes of the output limit for which an answer may hold one value: text, number, list or map.
const BYTES_PER_VALUE: u64 = 40;
/// The overhead of a fault or a detail in a list of them.
const FAULT_COST: usize = 8;
/// Details of one failure that people see.
const MOST_DETAILS: usize = 16;
/// Bytes of one detail's name and value.
const LONGEST_DETAIL: usize = 1 << 10;
/// Notes of one resource.
const MOST_NOTES: usize = 64;
/// The longest wait that a driver can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn subject(subject: &Subject, labels: &[(String, String)]) -> types::Subject {
    let context = &subject.context;
    let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    types::Subject {
        urn: subject.urn.as_str().to_owned(),
        guresid: subject.urn.guresid().as_str().to_owned(),
        type_name: subject.key.type_name().to_owned(),
        class: subject.key.class().to_owned(),
        local_name: subject.key.id().to_owned(),
        context: types::Context {
            org: named(&context.org),
            app: context.app.as_ref().to_owned(),
            env: context.env.id.as_ref().to_owned(),
            env_type: context.env.kind.as_ref().to_owned(),
            namespace: named(&context.namespace),
            labels: labels.to_vec(),
        },
    }
}

/// Inputs, perhaps with unknowns.
pub(crate) fn inputs(inputs: &Inputs) -> types::Inputs {
    let (mut unknown, mut sensitive) = (Vec::new(), Vec::new());
    let mut part = |root: &str, value: &Value| {
        let secrets = root == "/secrets";
        object(value, &mut |pointer, marked| {
            let place = format!("{root}{pointer}");
            match marked {
                Value::Unknown(_) => unknown.push(place),
                // All of `secrets` is sensitive; it need not be listed.
                _ if !secrets => sensitive.push(place),
                _ => {}
            }
        })
    };
    types::Inputs {
        values: part("/values", &inputs.values),
        secrets: part("/secrets", &inputs.secrets),
        params: part("/params", &inputs.params),
        connection: part("/connection", &inputs.connection),
        account: part("/account", &inputs.account()),
        unknown,
        sensitive,
    }
}

/// Inputs of a call with effects.
pub(crate) fn known(given: &Inputs) -> Result<types::Inputs, CallError> {
    let converted = inputs(given);
    match converted.unknown.first() {
        Some(pointer) => Err(CallError::Unknown { pointer: pointer.clone() }),
        None => Ok(converted),
    }
}

/// What `check` returned before. How to reach the system is always the current one.
pub(crate) fn previous(given: &Inputs) -> types::Inputs {
    inputs(&Inputs { connection: Value::Null, account: None, account_fields: Value::Null, ..given.clone() })
}

fn object(value: &Value, mark: &mut dyn FnMut(&str, &Value)) -> String {
    match value {
        Value::Null => "{}".to_owned(),
        value => value.reveal_marked(mark).to_string(),
    }
}

/// The existing resource as its driver described it: outputs that are secret as a whole are
/// separate.
///
/// # Errors
/// If the cookie is still in the state: without it, the driver would take the resource for another one.
pub(crate) fn state(state: &ResourceState, driver: &str) -> Result<types::State, CallError> {
    let cookie = state.cookie.bytes().ok_or_else(|| CallError::Cookie {
        driver: driver.to_owned(),
        message: "it was not read from the state".to_owned(),
    })?;
    let ignore: &mut dyn FnMut(&str, &Value) = &mut |_, _| {};
    let all_secret = matches!(state.outputs, Value::Secret(_));
    let mut sensitive = Vec::new();
    let (mut outputs, mut secrets) = (Map::default(), Map::default());
    for (name, value) in state.outputs.as_map().into_iter().flatten() {
        let secret = all_secret || matches!(value, Value::Secret(_));
        let side = if secret { &mut secrets } else { &mut outputs };
        side.insert(name.clone(), value.clone());
    }
    let mut part = |root: &str, value: &Value| {
        object(value, &mut |pointer, _| sensitive.push(format!("{root}{pointer}")))
    };
    let outputs = part("/outputs", &Value::Map(outputs));
    let file = |file: &ManifestFile| types::ManifestFile {
        name: file.name.expose().to_owned(),
        location: file.location.expose().to_owned(),
        data: file
            .data
            .reveal_marked(&mut |pointer, _| {
                sensitive.push(format!("/manifests/{}{pointer}", escaped(file.name.expose())));
            })
            .to_string(),
    };
    let manifests = state.manifests.iter().map(file).collect();
    let note = |(name, value): (&std::sync::Arc<str>, &Value)| {
        (name.as_ref().to_owned(), value.reveal_marked(&mut |_, _| {}).to_string())
    };
    Ok(types::State {
        id: state.id.expose().to_owned(),
        outputs,
        secrets: object(&Value::Map(secrets), ignore),
        cookie: cookie.to_vec(),
        manifests,
        sensitive,
        version: state.version,
        notes: state.notes.iter().map(note).collect(),
    })
}

/// A name as a segment of a JSON Pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Reads the results of a driver.
pub(crate) struct Reader<'a> {
    driver: &'a str,
    limit: u64,
    largest_cookie: usize,
    matcher: &'a SecretMatcher,
    observer: Option<&'a dyn CallObserver>,
    values: Values,
}

impl<'a> Reader<'a> {
    /// A reader for one answer of at most this many bytes, with a cookie of at most this many.
    pub(crate) fn new(
        driver: &'a str,
        (limit, largest_cookie): (u64, usize),
        matcher: &'a SecretMatcher,
        observer: Option<&'a dyn CallObserver>,
    ) -> Self {
        Self {
            driver,
            limit,
            largest_cookie,
            matcher,
            observer,
            values: Values::new(limit / BYTES_PER_VALUE),
        }
    }

    pub(crate) fn junk(&self, what: impl Into<String>) -> CallError {
        CallError::Junk { driver: self.driver.to_owned(), what: what.into() }
    }

    /// Reports a part of the answer to the observer.
    fn observe(&self, part: &'static str, text: &str) {
        if let Some(observer) = self.observer {
            observer.observe(CallEvent::Answer { part, text });
        }
    }

    fn fits(&self, sizes: impl IntoIterator<Item = usize>) -> Result<(), CallError> {
        let total = sizes.into_iter().fold(0u64, |sum, size| sum.saturating_add(size as u64));
        if total <= self.limit {
            Ok(())
        } else {
            Err(CallError::OutputLimit { driver: self.driver.to_owned(), limit: self.limit })
        }
    }

    fn json(&self, what: &str, text: &str) -> Result<Value, CallError> {
        json::parse(text, &self.values).map_err(|error| {
            self.junk(match error.classify() {
                serde_json::error::Category::Data => format!("its {what} cannot be used: {error}"),
                _ => format!("its {what} cannot be read as JSON: {error}"),
            })
        })
    }

    fn map(&self, what: &str, text: &str) -> Result<Map, CallError> {
        match self.json(what, text)? {
            Value::Map(map) => Ok(map),
            other => Err(self.junk(format!("its {what} are {}, not a JSON object", other.kind()))),
        }
    }

    /// A driver's name for something. Rejecting a secret in it would lose a created object.
    fn label(&self, text: String) -> Label {
        self.matcher.label(text)
    }

    /// Text for people.
    fn printable(&self, text: &str) -> String {
        self.observe("message", text);
        printable(self.matcher, text)
    }

    pub(crate) fn state(&self, mut state: types::State) -> Result<ResourceState, CallError> {
        self.fits(
            [state.id.len(), state.outputs.len(), state.secrets.len(), state.cookie.len()]
                .into_iter()
                .chain(state.manifests.iter().map(|f| f.name.len() + f.location.len() + f.data.len()))
                .chain(state.sensitive.iter().map(String::len))
                .chain(state.notes.iter().map(|(name, value)| name.len() + value.len())),
        )?;
        self.observe("id", &state.id);
        self.observe("outputs", &state.outputs);
        if state.id.is_empty() || state.id.len() > LONGEST_ID {
            return Err(self.junk("the id of a resource has 1 to 4096 bytes"));
        }
        if state.cookie.len() > self.largest_cookie {
            return Err(self.junk(format!(
                "its cookie has {} bytes, and {} are allowed; `drivers.{}.limits.state` in purlin.yaml raises it",
                state.cookie.len(),
                self.largest_cookie,
                self.driver
            )));
        }
        let mut outputs = self.map("outputs", &state.outputs)?;
        let secrets = self.map("secrets", &state.secrets)?;
        for (name, value) in secrets {
            if outputs.insert(name.clone(), value.into_secret()).is_some() {
                return Err(self.junk(format!("`{}` is in both outputs and secrets", self.printable(&name))));
            }
        }
        let mut manifests: Vec<ManifestFile> = Vec::with_capacity(state.manifests.len());
        let mut names = std::collections::HashSet::new();
        for file in &state.manifests {
            if file.name.is_empty() || !names.insert(file.name.as_str()) {
                return Err(self.junk(format!(
                    "the manifest `{}` has no name, or that of another one",
                    self.printable(&file.name)
                )));
            }
            self.observe("manifest", &file.name);
            manifests.push(ManifestFile {
                name: self.label(file.name.clone()),
                location: self.label(file.location.clone()),
                data: self.matcher.taint(self.json("manifest", &file.data)?),
            });
        }
        let mut outputs = self.matcher.taint(Value::Map(outputs));
        sensitive::hide(&state.sensitive, &mut outputs, &mut manifests);
        Ok(ResourceState {
            id: self.label(std::mem::take(&mut state.id)),
            outputs,
            cookie: std::mem::take(&mut state.cookie).into(),
            manifests,
            version: state.version,
            notes: self.notes(&state.notes)?,
        })
    }

    /// Facts for people. A name that a secret is in is dropped with its value, as it cannot be shown.
    fn notes(&self, notes: &[(String, String)]) -> Result<Map, CallError> {
        if notes.len() > MOST_NOTES {
            return Err(self.junk(format!("it has {} notes, and {MOST_NOTES} are allowed", notes.len())));
        }
        let mut all = Map::default();
        for (name, value) in notes {
            self.observe("note", name);
            let value = self.matcher.taint(self.json("note", value)?);
            if self.printable(name) == *name && !name.is_empty() {
                all.insert(name.as_str().into(), value);
            }
        }
        Ok(all)
    }

    /// The result of `read`. Values are secret if the inputs have a secret in the same place, and
    /// if they contain a secret of the call.
    pub(crate) fn observed(&self, observed: types::Observed, given: &Inputs) -> Result<Observed, CallError> {
        self.fits(observed.values.iter().map(String::len))?;
        let state = self.state(observed.state)?;
        let values = match &observed.values {
            Some(text) => {
                self.observe("values", text);
                let values = remark(Value::Map(self.map("observed values", text)?), &given.values);
                Some(self.matcher.taint_beside(values, &given.values))
            }
            None => None,
        };
        Ok(Observed { state, values, pending: None })
    }

    pub(crate) fn name(&self, name: String) -> Result<Label, CallError> {
        if name.is_empty() || name.len() > LONGEST_ID {
            return Err(self.junk("the name of a resource has 1 to 4096 bytes"));
        }
        self.observe("name", &name);
        Ok(self.label(name))
    }

    pub(crate) fn checked(&self, mut checked: types::Checked, given: &Inputs) -> Result<Checked, CallError> {
        let warnings = checked.warnings.iter().map(|w| w.pointer.len() + w.message.len()).sum();
        self.fits([checked.values.len(), checked.secrets.len(), warnings])?;
        self.observe("checked values", &checked.values);
        let values = remark(Value::Map(self.map("values", &checked.values)?), &given.values);
        let secrets = remark(Value::Map(self.map("secrets", &checked.secrets)?), &given.secrets);
        // Values of secrets are secret anyway; their names are shown, unless one contains a secret.
        let named = self.matcher.is_in_a_name(&secrets);
        Ok(Checked {
            values: self.matcher.taint_beside(values, &given.values),
            secrets: if named { secrets.into_secret() } else { secret_leaves(secrets) },
            warnings: self.findings(std::mem::take(&mut checked.warnings)),
        })
    }

    pub(crate) fn impact(&self, impact: types::Impact) -> Result<Impact, CallError> {
        self.fits(impact.replaces.iter().chain(&impact.stable_outputs).map(String::len))?;
        let is_place = |place: &str| {
            let rest = place.strip_prefix("/outputs").or_else(|| place.strip_prefix("/secrets"));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(place) = impact.stable_outputs.iter().find(|place| !is_place(place)) {
            return Err(self.junk(format!(
                "its stable output `{}` is no place in {{\"outputs\":…,\"secrets\":…}}, such as `/outputs/host`",
                self.printable(place)
            )));
        }
        Ok(Impact {
            // They are the reasons in a plan. The places of outputs are not shown.
            replaces: impact.replaces.iter().map(|pointer| self.printable(pointer)).collect(),
            delete_before_replace: impact.delete_before_replace,
            stable_outputs: impact.stable_outputs,
            immutable: Vec::new(),
        })
    }

    /// The faults of inputs. People see as many as they can read; the rest is counted.
    fn findings(&self, faults: Vec<types::Finding>) -> Vec<InputFinding> {
        let (count, mut length) = (faults.len(), 0);
        let mut shown: Vec<InputFinding> = Vec::new();
        for fault in faults {
            let (pointer, message) = (self.printable(&fault.pointer), self.printable(&fault.message));
            length += pointer.len() + message.len() + FAULT_COST;
            if !shown.is_empty() && length > LONGEST_MESSAGE {
                let message = format!("and {} more", count - shown.len());
                shown.push(InputFinding { pointer: String::new(), message });
                break;
            }
            shown.push(InputFinding { pointer, message });
        }
        shown
    }

    pub(crate) fn failure(&self, failure: types::Failure) -> CallError {
        CallError::Failure(match failure {
            types::Failure::InvalidInputs(faults) => Failure::InvalidInputs(self.findings(faults)),
            types::Failure::Denied(denial) => Failure::Denied {
                capability: self.printable(&denial.capability),
                target: self.printable(&denial.target),
                message: self.printable(&denial.message),
            },
            types::Failure::NotFound(problem) => Failure::NotFound(self.problem(problem)),
            types::Failure::Conflict(problem) => Failure::Conflict(self.problem(problem)),
            types::Failure::RetryAfter(retry) => Failure::RetryAfter {
                after: Duration::from_millis(retry.after_ms).min(LONGEST_WAIT),
                message: self.printable(&retry.message),
            },
            types::Failure::Pending(pending) => {
                let state = match pending.state.map(|state| self.state(state)).transpose() {
                    Ok(state) => state.map(Box::new),
                    Err(error) => return error,
                };
                let pending = Pending {
                    after: Duration::from_millis(pending.after_ms).min(LONGEST_WAIT),
                    message: self.printable(&pending.message),
                };
                Failure::Pending { state, pending }
            }
            types::Failure::Partial(partial) => match self.state(partial.state) {
                Ok(state) => {
                    Failure::Partial { state: Box::new(state), problem: self.problem(partial.problem) }
                }
                Err(error) => return error,
            },
            types::Failure::Failed(problem) => Failure::Failed(self.problem(problem)),
            types::Failure::Undecided(problem) => Failure::Undecided(self.problem(problem)),
            types::Failure::NeedsDeleteBefore(problem) => Failure::NeedsDeleteBefore(self.problem(problem)),
        })
    }

    /// A fault with its facts, as many as people can read.
    fn problem(&self, problem: types::Problem) -> Problem {
        let short = |text: &str| {
            let mut text = self.printable(text);
            if text.len() > LONGEST_DETAIL {
                text.truncate(text.floor_char_boundary(LONGEST_DETAIL));
                text.push('…');
            }
            text
        };
        let details = problem.details.iter().take(MOST_DETAILS);
        Problem {
            message: self.printable(&problem.message),
            details: details.map(|(name, value)| (short(name), short(value))).collect(),
        }
    }
}

// Data that goes to a driver or comes from it in plain text is wiped when the call is over.

impl Drop for types::Inputs {
    fn drop(&mut self) {
        self.secrets.zeroize();
        self.connection.zeroize();
        self.account.zeroize();
    }
}

impl Drop for types::State {
    fn drop(&mut self) {
        self.secrets.zeroize();
    }
}

impl Drop for types::Checked {
    fn drop(&mut self) {
        self.secrets.zeroize();
    }
}

/// Text from a driver, for people: without secrets, and without effects on a terminal.
pub(crate) fn printable(matcher: &SecretMatcher, text: &str) -> String {
    let masked = matcher.mask(text);
    let end = masked.floor_char_boundary(LONGEST_MESSAGE);
    let cut = masked.get(..end).unwrap_or_default();
    let mut clean = neutralise(cut).into_owned();
    // The visible form of a control character is longer.
    let whole = cut.len() == masked.len() && clean.len() <= LONGEST_MESSAGE;
    if !whole {
        clean.truncate(clean.floor_char_boundary(LONGEST_MESSAGE));
        clean.push('…');
    }
    clean
}

/// Marks the places that the inputs had marked: a driver returns `null` for unknown values, and
/// secrets in plain text.
fn remark(value: Value, given: &Value) -> Value {
    match (value, given) {
        (value, Value::Secret(inner)) => remark(value, inner.expose()).into_secret(),
        (Value::Null, Value::Unknown(unknown)) => Value::Unknown(*unknown),
        (value, Value::Unknown(unknown)) if unknown.secret => value.into_secret(),
        (Value::Map(map), Value::Map(given)) => Value::Map(
            map.into_iter()
                .map(|(key, value)| match given.get(&key) {
                    Some(given) => (key, remark(value, given)),
                    None => (key, value),
                })
                .collect(),
        ),
        (Value::List(items), Value::List(given)) => {
            let mut given = given.iter();
            let remarked = items.into_iter().map(|item| match given.next() {
                Some(given) => remark(item, given),
                None => item,
            });
            Value::List(remarked.collect())
        }
        (value, _) => value,
    }
}

fn secret_leaves(value: Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(secret_leaves).collect()),
        Value::Map(map) => Value::Map(map.into_iter().map(|(k, v)| (k, secret_leaves(v))).collect()),
        leaf => leaf.into_secret(),
    }
}
