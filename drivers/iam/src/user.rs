//! The life of a user, which may have an access key. Its id is its ARN.

use purlin_sdk::{
    CreateRequest, Failure, Json, Object, Observed, Raw, ReadRequest, State, UpdateRequest, operation,
};
use purlin_sdk_aws::tags;
use serde_json::json;

use crate::api::{Iam, gone, if_it_exists};
use crate::attached;
use crate::inputs::{IamInputs, User};
use crate::keys::{self, Keys};
use crate::named::{self, IamObject, Known, Named};

const KIND: Named = Named::User;

pub(crate) fn create(request: &CreateRequest<IamInputs>, iam: &Iam, user: &User) -> Result<State, Failure> {
    let form = [("UserName", user.name()), ("Path", &user.path)];
    let made = named::make(iam, KIND, user.name(), &request.subject.guresid, &form, &user.tags);
    let (found, _) = made.map_err(|fault| iam.aws.settle_create(fault.into(), None))?;
    operation::checkpoint(&found.arn);
    let made = state(&found, Object::new())?;
    apply(iam, user, &found, None).map_err(|failure| iam.aws.settle_create(failure, Some(made)))
}

pub(crate) fn read(
    iam: &Iam,
    found: Option<IamObject>,
    request: &ReadRequest<IamInputs>,
    known: Known,
) -> Result<Option<Observed>, Failure> {
    let Some(found) = found else { return Ok(None) };
    let raw: &Raw<IamInputs> = &request.inputs;
    let name = found.text("UserName").to_owned();
    named::whose(KIND, &name, &found, &request.subject.guresid, known)?;
    let mut user = raw.get("/values/user").and_then(Json::as_object).cloned().unwrap_or_default();
    if user.contains_key("attached_policies") {
        let Some(attached) = if_it_exists(attached::list(iam, KIND, &name))? else { return Ok(None) };
        user.insert("attached_policies".to_owned(), json!(attached));
    }
    let recorded = keys::recorded(request.state.as_ref());
    let keys = Keys::of(iam, &found)?;
    let mut set = |name: &str, value: Json| user.insert(name.to_owned(), value);
    set("name", name.into());
    set("path", found.text("Path").into());
    let mut tags = tags::of_users(&found.tags);
    tags.remove(keys::TAG);
    set("tags", json!(tags));
    // A key whose secret is lost is treated as missing.
    set("access_key", (keys.opens(recorded)).into());
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    values.insert("user".to_owned(), Json::Object(user));
    let secrets = request.state.as_ref().map(|state| state.secrets.clone()).unwrap_or_default();
    Observed::new(state(&found, secrets)?, values).map(Some)
}

pub(crate) fn update(request: &UpdateRequest<IamInputs>, iam: &Iam, user: &User) -> Result<State, Failure> {
    let Some(found) = named::by_arn(iam, KIND, &request.state.id)? else {
        return Err(Failure::not_found(format!("the user `{}` is gone", user.name())));
    };
    let before = &request.state;
    let done = given_up(request, iam, user).and_then(|()| apply(iam, user, &found, Some(before)));
    done.map_err(|failure| iam.aws.settle_update(failure, before.clone()))
}

/// Detaches policies that were attached and that the inputs no longer name.
fn given_up(request: &UpdateRequest<IamInputs>, iam: &Iam, user: &User) -> Result<(), Failure> {
    let before = request.before.get("/values/user/attached_policies").and_then(Json::as_array);
    for policy in before.filter(|_| user.attached_policies.is_none()).into_iter().flatten() {
        if let Some(policy) = policy.as_str() {
            attached::detach(iam, KIND, user.name(), policy)?;
        }
    }
    Ok(())
}

/// Brings a user to the wanted state. The access key comes last, because a later failure would lose
/// it.
fn apply(iam: &Iam, user: &User, found: &IamObject, before: Option<&State>) -> Result<State, Failure> {
    named::tag(iam, KIND, found, &user.tags, &[keys::TAG])?;
    if let Some(wanted) = &user.attached_policies {
        attached::apply(iam, KIND, user.name(), wanted)?;
    }
    let recorded = keys::recorded(before);
    let keys = Keys::of(iam, found)?;
    let secrets = match (user.access_key, before) {
        (true, Some(before)) if keys.opens(recorded) => before.secrets.clone(),
        (true, _) => keys::make(iam, user.name(), &keys, recorded)?.secrets,
        (false, _) => {
            keys::delete(iam, user.name(), &keys.ours(recorded))?;
            Object::new()
        }
    };
    state(found, secrets)
}

pub(crate) fn delete(iam: &Iam, found: &IamObject, managed: bool, before: &State) -> Result<(), Failure> {
    let name = found.text("UserName");
    let recorded = keys::recorded(Some(before));
    let keys = Keys::of(iam, found)?;
    let foreign = keys.foreign(recorded);
    if !foreign.is_empty() {
        return Err(Failure::conflict(format!(
            "the user `{name}` has the access keys {}, which others created: delete them first",
            foreign.join(" and ")
        )));
    }
    attached::clear(iam, KIND, name, managed)?;
    keys::delete(iam, name, &keys.ours(recorded))?;
    Ok(gone(iam.aws.until_free(|| iam.change("DeleteUser", &[("UserName", name)])))?)
}

fn state(found: &IamObject, secrets: Object) -> Result<State, Failure> {
    found.state(KIND)?.secrets(secrets)
}
