//! Creates a resource so that no crash and no lost answer creates it twice or loses it.
//!
//! Before the driver sends anything, a checkpoint records that an attempt begins, and how to find
//! the result. Once the API's id is known, it becomes the checkpoint. So `read` without a
//! checkpoint means that nothing was sent.

use std::time::Duration;

use purlin_sdk::{Failure, Json, Object, Problem, State, operation};
use purlin_sdk_http::Response;

use crate::Kept;
use crate::api::{Api, Sent, document};
use crate::inputs::{HttpOutputs, Lacking};
use crate::look::{ExistingResource, as_text};
use crate::wait::{MOMENT, Unmet, WHOLE_CALL};

/// When to look again for what is not shown yet.
const AGAIN: Duration = Duration::from_secs(2);

/// The content of a checkpoint while no id is known. No URL and no id of an API begins like these.
pub(crate) enum Attempt {
    /// No resource had this name when the attempt began.
    Making(String),
    /// The API works on it, and reports its progress here.
    Operation(String),
}

const MAKING: &str = "making:";
const OPERATION: &str = "operation:";

impl Attempt {
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let making = || id.strip_prefix(MAKING).map(|name| Self::Making(name.to_owned()));
        making().or_else(|| id.strip_prefix(OPERATION).map(|url| Self::Operation(url.to_owned())))
    }

    fn note(&self) {
        operation::checkpoint(&match self {
            Self::Making(name) => format!("{MAKING}{name}"),
            Self::Operation(url) => format!("{OPERATION}{url}"),
        });
    }

    /// The outcome of the attempt.
    pub(crate) fn result(self, api: &Api<'_>) -> Result<Option<ExistingResource>, Failure> {
        match self {
            Self::Making(_) if api.can_look() => api.own(true),
            Self::Making(name) => Err(Failure::failed(format!(
                "it is unknown whether `{name}` was created, because the response was lost and there is no `find`: \
                 check, then import it, or forget it if it does not exist"
            ))),
            Self::Operation(url) => {
                let Some(operation) = &api.inputs.values.operation else {
                    return Err(Failure::failed("the declaration no longer has an `operation`"));
                };
                let url = api.linked(&url)?;
                match api.follow(operation, &url, MOMENT) {
                    Ok(document) => {
                        let id = operated_id(api, &document)?;
                        Ok(Some(ExistingResource { id, document }))
                    }
                    Err(Unmet::Failed(message)) if api.can_look() => {
                        let found = api.own(true)?;
                        if found.is_none() {
                            purlin_sdk::log::warn(&message);
                        }
                        Ok(found)
                    }
                    Err(Unmet::Failed(message)) => Err(Failure::failed(message)),
                    Err(Unmet::NotYet { message, after }) => Err(Failure::pending(after, message)),
                }
            }
        }
    }
}

impl Api<'_> {
    pub(crate) fn can_look(&self) -> bool {
        self.inputs.can_look()
    }

    /// The record of a resource, with the outputs that are unknown. Values that the API does not
    /// repeat are kept from before.
    pub(crate) fn state(
        &self,
        found: &ExistingResource,
        before: &State,
    ) -> Result<(State, Option<String>), Failure> {
        let url = self.resource_url(&found.id)?;
        let values = &self.inputs.values;
        let mut missing = Vec::new();
        let mut pick = |wanted: &std::collections::BTreeMap<String, String>, kept: &Object| {
            let mut picked = Object::new();
            for (name, place) in wanted {
                match found.document.pointer(place).or_else(|| kept.get(name)) {
                    Some(value) => {
                        picked.insert(name.clone(), value.clone());
                    }
                    None => missing.push(format!("`{name}` (nothing at `{place}`)")),
                }
            }
            picked
        };
        let mut state = State::new(&url).described_outputs(&HttpOutputs { id: found.id.clone(), url })?;
        state.outputs.extend(pick(&values.outputs, &before.outputs));
        state.secrets = pick(&values.secret_outputs, &before.secrets);
        let state = state.cookie(Kept::of(&found.id, &self.scope.name))?;
        if missing.is_empty() {
            return Ok((state, None));
        }
        let missing = format!("it exists, but the API does not return the outputs {}", missing.join(", "));
        Ok((state, Some(missing)))
    }
}

/// Creates the resource.
pub(crate) fn create(api: &Api<'_>) -> Result<State, Failure> {
    let create = &api.inputs.values.create;
    if api.can_look() {
        api.is_free()?;
    }
    let method = if api.inputs.values.id.name { "PUT" } else { "POST" };
    let request = api.request(create, method, "", &api.scope)?;
    Attempt::Making(api.scope.name.clone()).note();
    let (id, returned) = match api.change(create, request, create.body.as_ref())? {
        Sent::Done(answer) => (made(api, &answer)?, document(&answer)),
        // A list may show late what a request made that ended with an error.
        Sent::Doubt(message) => (found_again(api, &message, false)?, None),
    };
    operation::checkpoint(&api.resource_url(&id)?);
    finish(api, &id, returned, &State::default())
}

/// The id of a resource that was certainly created.
fn made(api: &Api<'_>, answer: &Response) -> Result<String, Failure> {
    let without_id = |failure: Failure| {
        let message = format!("it was created, but its id is unknown: {failure}");
        found_again(api, &message, false)
    };
    match api.goes_on(answer) {
        Ok(Some((operation, url))) => {
            if let (None, Ok(id)) = (&operation.id, api.made_id(answer)) {
                operation::checkpoint(&api.resource_url(&id)?);
                let Err(unmet) = api.follow(operation, &url, MOMENT) else { return Ok(id) };
                let exists = exists(api, &id, document(answer).as_ref(), &State::default())?;
                let kept = Kept { operation: Some(url), ..Kept::of(&id, &api.scope.name) };
                return Err(unmet.failure(exists, kept));
            }
            Attempt::Operation(url.clone()).note();
            // Without its id it cannot be recorded, so nothing else can wait for it.
            match api.follow(operation, &url, WHOLE_CALL) {
                Ok(document) => operated_id(api, &document).or_else(without_id),
                Err(Unmet::Failed(message)) => found_again(api, &message, true),
                Err(Unmet::NotYet { message, .. }) => {
                    Err(Failure::undecided(format!("{message}; the next run continues from there")))
                }
            }
        }
        Ok(None) => api.made_id(answer).or_else(without_id),
        Err(failure) => without_id(failure),
    }
}

fn operated_id(api: &Api<'_>, document: &Json) -> Result<String, Failure> {
    let place = api.inputs.values.operation.as_ref().and_then(|operation| operation.id.as_deref());
    match place {
        None if api.inputs.values.id.name => Ok(api.scope.name.clone()),
        None => api.own(true)?.map(|found| found.id).ok_or_else(|| Failure::failed("it cannot be found")),
        Some(place) => document
            .pointer(place)
            .and_then(as_text)
            .ok_or_else(|| Failure::failed(format!("the operation has no id at `{place}`"))),
    }
}

/// Looks for a resource that was perhaps created; reports that it was not only if that is certain.
fn found_again(api: &Api<'_>, message: &str, over: bool) -> Result<String, Failure> {
    if !api.can_look() {
        if over {
            return Err(Failure::failed(message));
        }
        return Err(Failure::undecided(format!("{message}; there is no `find` to look for it")));
    }
    match api.own(true) {
        Ok(Some(found)) => Ok(found.id),
        Ok(None) if over => Err(Failure::failed(message)),
        Ok(None) => {
            Err(Failure::undecided(format!("{message}; it cannot be found yet, and may still be created")))
        }
        Err(failure) => Err(Failure::undecided(format!("{message}; looking for it failed: {failure}"))),
    }
}

/// The record of a resource that exists and was not read yet. Values that the API returns only once, such
/// as a token, are in what it `returned` at the creation.
fn exists(api: &Api<'_>, id: &str, returned: Option<&Json>, before: &State) -> Result<State, Failure> {
    let url = api.resource_url(id)?;
    let outputs = HttpOutputs { id: id.to_owned(), url: url.clone() };
    let mut exists = State::new(url).described_outputs(&outputs)?.cookie(Kept::of(id, &api.scope.name))?;
    exists.outputs.extend(before.outputs.clone());
    exists.secrets = before.secrets.clone();
    if !before.id.is_empty() {
        exists.id.clone_from(&before.id);
    }
    let Some(returned) = returned else { return Ok(exists) };
    let values = &api.inputs.values;
    for (wanted, to) in
        [(&values.secret_outputs, &mut exists.secrets), (&values.outputs, &mut exists.outputs)]
    {
        for (name, place) in wanted {
            if let Some(value) = returned.pointer(place) {
                to.insert(name.clone(), value.clone());
            }
        }
    }
    Ok(exists)
}

/// Waits a moment until it is ready, and returns its state. From here on it exists, and every failure
/// says so.
pub(crate) fn finish(
    api: &Api<'_>,
    id: &str,
    returned: Option<Json>,
    before: &State,
) -> Result<State, Failure> {
    let exists = exists(api, id, returned.as_ref(), before)?;
    let kept = Kept::of(id, &api.scope.name);
    if let Some(wait) = &api.inputs.values.wait
        && let Err(unmet) = api.ready(wait, id)
    {
        return Err(unmet.failure(exists, kept));
    }
    let later = |message: String, after| Unmet::NotYet { message, after };
    let found = match api.inputs.lacks(Lacking::Read) {
        true => ExistingResource { id: id.to_owned(), document: returned.unwrap_or(Json::Null) },
        false => match api.read(id) {
            Ok(Some(found)) => found,
            Ok(None) => {
                let message = "the API accepted it, and does not show it yet".to_owned();
                return Err(later(message, AGAIN).failure(exists, kept));
            }
            Err(Failure::RetryAfter { after, message }) => {
                let message = format!("it exists, but cannot be read: {message}");
                return Err(later(message, after).failure(exists, kept));
            }
            Err(failure) => {
                let mut problem = Problem::from(failure);
                problem.message = format!("it exists, but cannot be read: {}", problem.message);
                return Err(Failure::partial(exists, problem));
            }
        },
    };
    match api.state(&found, &exists)? {
        (state, None) => Ok(state),
        (state, Some(message)) => Err(Failure::partial(state, message)),
    }
}
