//! The built-in driver purlin/http: any resource of a REST API, from a declaration of its requests.

mod api;
mod attempt;
mod check;
mod inputs;
mod location;
mod look;
mod template;
mod wait;

use purlin_sdk::{
    Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, Failure, Impact, ImpactRequest, Json,
    Name, NameRequest, Object, Observed, Raw, Read, ReadRequest, RequestedCapability, State, TypeSchema,
    Update, UpdateImpact, UpdateRequest,
};

use api::{Api, Sent};
use attempt::Attempt;
use inputs::{HttpInputs, HttpOutputs, Lacking};
use look::ExistingResource;
use serde::{Deserialize, Serialize};
use wait::{MOMENT, Unmet};

/// Any resource of a REST API.
pub struct Http;

impl Driver for Http {
    const NAME: &str = "purlin/http";
    const DESCRIPTION: &str = "Any resource of a REST API, from a declaration of its requests.";
    type Inputs = HttpInputs;

    fn types() -> Vec<TypeSchema> {
        vec![TypeSchema::of::<HttpInputs, HttpOutputs>("*")]
    }

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "http".to_owned(),
            pattern: None,
            reason: "the API that the inputs name, with the methods and paths that they have".to_owned(),
        }]
    }

    fn create(request: CreateRequest<HttpInputs>) -> Result<State, Failure> {
        let inputs = &request.inputs.given;
        let api = Api::new(inputs, &request.subject, &request.name, &request.call);
        attempt::create(&api)
    }

    fn delete(request: DeleteRequest<HttpInputs>) -> Result<(), Failure> {
        let inputs = request.inputs.parse()?;
        if inputs.lacks(Lacking::Delete) {
            return Ok(());
        }
        let name = name_in(&request.state).unwrap_or_else(|| inputs.name(&request.subject.guresid));
        let mut api = Api::new(&inputs, &request.subject, &name, &request.call);
        api.scope.outputs = recorded(&request.state);
        let id = api.id_of(&request.state.id)?;
        let delete = &inputs.values.delete;
        let http_request = api.request(delete, "DELETE", &inputs.read_path(), &api.scope.with_id(&id))?;
        let http_request = match &delete.body {
            Some(body) => http_request.json(body)?,
            None => http_request,
        };
        let answer = match api.effect(delete, http_request) {
            Ok(Sent::Done(answer)) => answer,
            Ok(Sent::Doubt(message)) => {
                let is_gone =
                    !inputs.lacks(Lacking::Read) && api.read(&id).is_ok_and(|found| found.is_none());
                return if is_gone { Ok(()) } else { Err(Failure::undecided(message)) };
            }
            // The path may be wrong, so the answer alone proves nothing.
            Err(Failure::NotFound(mut problem))
                if !inputs.lacks(Lacking::Read) && api.read(&id)?.is_some() =>
            {
                problem.message.push_str("; but it still exists: is the path right?");
                return Err(Failure::Failed(problem));
            }
            Err(Failure::NotFound(_)) => return Ok(()),
            Err(failure)
                if !inputs.lacks(Lacking::Read) && api.read(&id).is_ok_and(|found| found.is_none()) =>
            {
                purlin_sdk::log::debug(format!("it no longer exists, although {failure}"));
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        if let Some((operation, url)) = api.goes_on(&answer)? {
            api.follow(operation, &url, MOMENT).map_err(|unmet| match unmet {
                Unmet::Failed(message) => Failure::failed(message),
                Unmet::NotYet { message, after } => Failure::pending(after, message),
            })?;
        }
        // No status proves that it is gone: some APIs answer 200, and delete it afterwards.
        match inputs.lacks(Lacking::Read) {
            true => Ok(()),
            false => api.until_gone(&id),
        }
    }
}

impl Check for Http {
    fn check(request: CheckRequest<HttpInputs>) -> Result<Checked, Failure> {
        match request.inputs.known()? {
            Some(inputs) => inputs.validate(&request.inputs)?,
            None => check::what_is_known(&request.inputs)?,
        }
        let unread = request.inputs.get("/values/find").is_none_or(Json::is_null)
            && request.inputs.get("/values/id/name") != Some(&Json::Bool(true));
        // The name is recorded, so that writing it in the documents changes nothing.
        let mut request = request;
        request.choose("/values/name", |subject| subject.guresid.clone().into());
        let mut checked = Checked::unchanged(request.inputs);
        if unread {
            let message = "without `find` and with an id that the server chooses, a `create` whose response \
                           is lost has to be settled manually";
            checked = checked.warning("/values", message);
        }
        Ok(checked)
    }
}

impl Name for Http {
    fn name(request: NameRequest<HttpInputs>) -> Result<String, Failure> {
        Ok(request.inputs.name(&request.subject.guresid))
    }
}

impl Read for Http {
    fn read(request: ReadRequest<HttpInputs>) -> Result<Option<Observed>, Failure> {
        // The declaration decides which answers mean "gone"; a wrong path is no evidence.
        look(request).map_err(|failure| match failure {
            Failure::NotFound(problem) => Failure::Failed(problem),
            failure => failure,
        })
    }
}

fn look(request: ReadRequest<HttpInputs>) -> Result<Option<Observed>, Failure> {
    let inputs = request.inputs.parse()?;
    // An import comes before there is a name.
    let name = match request.name.as_str() {
        "" => inputs.name(&request.subject.guresid),
        name => name.to_owned(),
    };
    let mut api = Api::new(&inputs, &request.subject, &name, &request.call);
    let recorded_state = request.state.clone().unwrap_or_default();
    api.scope.outputs = recorded(&recorded_state);
    if let Some(name) = name_in(&recorded_state) {
        api.scope.name = name;
    }
    if inputs.lacks(Lacking::Read) && request.state.is_some() {
        return Ok(request.state.map(Observed::from));
    }
    let found = match &request.id {
        // Every creation leaves a checkpoint before it starts.
        None if !inputs.can_look() => None,
        None => api.own(false)?,
        Some(id) => match Attempt::parse(id) {
            Some(attempt) => attempt.result(&api)?,
            None => Some(ExistingResource { id: api.id_of(id)?, document: Json::Null }),
        },
    };
    let Some(found) = found else { return Ok(None) };
    if inputs.lacks(Lacking::Read) {
        return Err(Failure::failed("the API cannot read it, so nothing is known about it"));
    }
    let kept = kept(&recorded_state);
    if let Some(unmet) = kept.as_ref().and_then(|kept| api.went_on(kept)).transpose()? {
        match unmet {
            Unmet::NotYet { message, after } => return Err(recorded_state.pending(after, message)),
            // What was being made may not be there.
            Unmet::Failed(message) => match api.read(&found.id)? {
                Some(_) => return Err(Failure::failed(message)),
                None => {
                    purlin_sdk::log::warn(message);
                    return Ok(None);
                }
            },
        }
    }
    let Some(found) = api.read(&found.id)? else { return Ok(None) };
    let ready = api.is_ready(&found.id, &found.document)?;
    let (mut state, missing) = api.state(&found, &recorded_state)?;
    if let Some(recorded) = &request.state {
        state.id.clone_from(&recorded.id);
    }
    match ready {
        Err(Unmet::NotYet { message, after }) => {
            let state = state.cookie(Kept::of(&found.id, &api.scope.name).waiting())?;
            return Err(state.pending(after, message));
        }
        // A run that waits for it must not take it for ready; at another time its outputs show it.
        Err(Unmet::Failed(message)) if kept.is_some_and(|kept| kept.waiting) => {
            return Err(Failure::failed(message));
        }
        Err(Unmet::Failed(message)) => purlin_sdk::log::warn(message),
        Ok(()) => {}
    }
    if let Some(missing) = missing {
        purlin_sdk::log::warn(missing);
    }
    Observed::new(state, observed(&inputs, &request.inputs, &found.document)).map(Some)
}

impl UpdateImpact for Http {
    fn update_impact(request: ImpactRequest<HttpInputs>) -> Result<Impact, Failure> {
        let mut impact = Impact::default();
        let mut places = Vec::new();
        let lists = request.after.get("/values/replaces").and_then(Json::as_array);
        places.extend(lists.into_iter().flatten().filter_map(Json::as_str));
        if request.after.get("/values/update").is_none_or(Json::is_null) {
            places.extend(["/create/body", "/vars"]);
            if request.changes("/secrets/body") {
                impact.replaces.push("/secrets/body".to_owned());
            }
        }
        let changed =
            places.iter().map(|place| format!("/values{place}")).filter(|place| request.changes(place));
        impact.replaces.extend(changed);
        impact.replaces.dedup();
        if impact.replaces.is_empty() {
            impact.replaces = location::moved_by(&request);
        }
        // Two cannot have the same name at the same time.
        let named = request.after.get("/values/find").is_some_and(|find| !find.is_null())
            || request.after.get("/values/id/name") == Some(&Json::Bool(true));
        let elsewhere = ["/values/name", "/connection/base_url"].iter().any(|place| request.changes(place));
        impact.delete_before_replace = named && !elsewhere;
        if impact.replaces.is_empty() {
            impact.keep(&request.state, ["id", "url"]);
        }
        Ok(impact)
    }
}

impl Update for Http {
    fn update(request: UpdateRequest<HttpInputs>) -> Result<State, Failure> {
        let inputs = &request.after.given;
        let name = name_in(&request.state).unwrap_or_else(|| request.name.clone());
        let mut api = Api::new(inputs, &request.subject, &name, &request.call);
        api.scope.outputs = recorded(&request.state);
        let id = match id_in(&request.state) {
            Some(id) => id,
            None => api.id_of(&request.state.id)?,
        };
        if let Some(update) = &inputs.values.update {
            let http_request = api.request(update, "PUT", &inputs.read_path(), &api.scope.with_id(&id))?;
            let body = update.body.as_ref().or(inputs.values.create.body.as_ref());
            match api.change(update, http_request, body)? {
                Sent::Done(answer) => {
                    if let Some((operation, url)) = api.goes_on(&answer)?
                        && let Err(unmet) = api.follow(operation, &url, MOMENT)
                    {
                        let kept = Kept { operation: Some(url), ..Kept::of(&id, &api.scope.name) };
                        return Err(unmet.failure(request.state.clone(), kept));
                    }
                }
                Sent::Doubt(message) => return Err(Failure::partial(request.state.clone(), message)),
            }
        } else {
            purlin_sdk::log::warn(
                "nothing was sent: there is no `update`, so what is not observed stays as it is",
            );
        }
        let mut state = attempt::finish(&api, &id, None, &request.state)?;
        state.id.clone_from(&request.state.id);
        Ok(state)
    }
}

purlin_sdk::export!(Http);

impl HttpInputs {
    fn name(&self, guresid: &str) -> String {
        self.values.name.clone().unwrap_or_else(|| guresid.to_owned())
    }
}

/// Outputs that were recorded, for `{outputs.X}`.
fn recorded(state: &State) -> Object {
    let mut outputs = state.outputs.clone();
    outputs.extend(state.secrets.clone());
    outputs
}

/// What is kept for a resource beside its outputs.
#[derive(Clone, Deserialize, Serialize)]
struct Kept {
    /// The API's id.
    id: String,
    /// The name that it was created with.
    name: String,
    /// The URL of an operation that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    /// Whether it was not ready when it was last seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    waiting: bool,
}

impl Kept {
    fn of(id: &str, name: &str) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), operation: None, waiting: false }
    }

    fn waiting(self) -> Self {
        Self { waiting: true, ..self }
    }
}

fn kept(state: &State) -> Option<Kept> {
    state.read_cookie().ok().flatten()
}

/// The API's id, as recorded.
fn id_in(state: &State) -> Option<String> {
    kept(state).map(|kept| kept.id)
}

/// The name that it was created with, as recorded.
fn name_in(state: &State) -> Option<String> {
    kept(state).map(|kept| kept.name)
}

/// The values that can be observed, with the API's own. A value that `observe` says nothing about is left
/// out: nobody knows what the object has there.
fn observed(inputs: &HttpInputs, raw: &Raw<HttpInputs>, document: &Json) -> Object {
    let mut values = raw.get("/values").cloned().unwrap_or_default();
    for (place, there) in &inputs.values.observe {
        let pointer = format!("/values{place}");
        // Secrets stay as recorded.
        let secret = raw
            .sensitive
            .iter()
            .any(|secret| *secret == pointer || pointer.starts_with(&format!("{secret}/")));
        if let (false, Some(value)) = (secret, values.pointer_mut(place)) {
            *value = document.pointer(there).cloned().unwrap_or_default();
        }
    }
    let is_observed = |name: &str| {
        let of =
            |place: &String| place.strip_prefix('/').and_then(|rest| rest.split('/').next()) == Some(name);
        inputs.values.observe.keys().any(of)
    };
    match values {
        Json::Object(values) => values.into_iter().filter(|(name, _)| is_observed(name)).collect(),
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests;
