//! The life of a role. Its id is its ARN.

use purlin_sdk::{CreateRequest, Failure, Json, Observed, Raw, State, UpdateRequest, operation};
use purlin_sdk_aws::{RequestError, policy as documents, tags};
use serde_json::json;

use crate::api::{Iam, document, gone, if_it_exists};
use crate::attached;
use crate::inputs::{IamInputs, Role};
use crate::named::{self, IamObject, Known, Named};

const KIND: Named = Named::Role;

pub(crate) fn create(request: &CreateRequest<IamInputs>, iam: &Iam, role: &Role) -> Result<State, Failure> {
    let (trust, time) = (role.assume_role_policy.to_string(), role.max_session_duration.to_string());
    let mut form = vec![
        ("RoleName", role.name()),
        ("AssumeRolePolicyDocument", &trust),
        ("Path", &role.path),
        ("MaxSessionDuration", &time),
    ];
    form.extend(role.description.as_deref().map(|text| ("Description", text)));
    let made = named::make(iam, KIND, role.name(), &request.subject.guresid, &form, &role.tags);
    let (found, new) = made.map_err(|fault| iam.aws.settle_create(refused(fault), None))?;
    operation::checkpoint(&found.arn);
    let state = found.state(KIND)?;
    let applied = if new { attach(iam, role) } else { apply(iam, role, &found) };
    applied.map_err(|failure| iam.aws.settle_create(failure, Some(state.clone())))?;
    Ok(state)
}

pub(crate) fn read(
    iam: &Iam,
    found: Option<IamObject>,
    raw: &Raw<IamInputs>,
    guresid: &str,
    known: Known,
) -> Result<Option<Observed>, Failure> {
    let Some(found) = found else { return Ok(None) };
    let name = found.text("RoleName").to_owned();
    named::whose(KIND, &name, &found, guresid, known)?;
    let trust = document(found.text("AssumeRolePolicyDocument"))?;
    let given = raw.get("/values/role/assume_role_policy");
    let same = given.filter(|given| documents::same(given, &trust));
    let mut role = raw.get("/values/role").and_then(Json::as_object).cloned().unwrap_or_default();
    if role.contains_key("attached_policies") {
        let Some(attached) = if_it_exists(attached::list(iam, KIND, &name))? else { return Ok(None) };
        role.insert("attached_policies".to_owned(), json!(attached));
    }
    let mut set = |name: &str, value: Json| role.insert(name.to_owned(), value);
    set("name", name.into());
    set("path", found.text("Path").into());
    set("tags", json!(tags::of_users(&found.tags)));
    set("assume_role_policy", same.cloned().unwrap_or_else(|| documents::canonical(&trust)));
    set("max_session_duration", session(&found).into());
    match found.text("Description") {
        "" => role.remove("description"),
        text => role.insert("description".to_owned(), text.into()),
    };
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    values.insert("role".to_owned(), Json::Object(role));
    Observed::new(found.state(KIND)?, values).map(Some)
}

pub(crate) fn update(request: &UpdateRequest<IamInputs>, iam: &Iam, role: &Role) -> Result<State, Failure> {
    let Some(found) = named::by_arn(iam, KIND, &request.state.id)? else {
        return Err(Failure::not_found(format!("the role `{}` is gone", role.name())));
    };
    let state = found.state(KIND)?;
    let done = apply(iam, role, &found).and_then(|()| given_up(request, iam, role));
    done.map_err(|failure| iam.aws.settle_update(failure, state.clone()))?;
    Ok(state)
}

/// Detaches policies that were attached and that the inputs no longer name.
fn given_up(request: &UpdateRequest<IamInputs>, iam: &Iam, role: &Role) -> Result<(), Failure> {
    let before = request.before.get("/values/role/attached_policies").and_then(Json::as_array);
    for policy in before.filter(|_| role.attached_policies.is_none()).into_iter().flatten() {
        if let Some(policy) = policy.as_str() {
            attached::detach(iam, KIND, role.name(), policy)?;
        }
    }
    Ok(())
}

fn apply(iam: &Iam, role: &Role, found: &IamObject) -> Result<(), Failure> {
    let name = ("RoleName", role.name());
    named::tag(iam, KIND, found, &role.tags, &[])?;
    let trust = document(found.text("AssumeRolePolicyDocument"))?;
    if documents::canonical(&trust) != documents::canonical(&role.assume_role_policy) {
        let text = role.assume_role_policy.to_string();
        let set =
            iam.aws.until_known(|| iam.change("UpdateAssumeRolePolicy", &[name, ("PolicyDocument", &text)]));
        set.map_err(refused)?;
    }
    let description = role.description.as_deref().unwrap_or_default();
    if found.text("Description") != description || session(found) != role.max_session_duration {
        let time = role.max_session_duration.to_string();
        iam.change("UpdateRole", &[name, ("Description", description), ("MaxSessionDuration", &time)])?;
    }
    attach(iam, role)
}

fn attach(iam: &Iam, role: &Role) -> Result<(), Failure> {
    match &role.attached_policies {
        Some(wanted) => Ok(attached::apply(iam, KIND, role.name(), wanted)?),
        None => Ok(()),
    }
}

pub(crate) fn delete(iam: &Iam, found: &IamObject, managed: bool) -> Result<(), Failure> {
    let name = found.text("RoleName");
    attached::clear(iam, KIND, name, managed)?;
    Ok(gone(iam.aws.until_free(|| iam.change("DeleteRole", &[("RoleName", name)])))?)
}

/// Seconds that a session may last.
fn session(found: &IamObject) -> u32 {
    found.text("MaxSessionDuration").parse().unwrap_or(3600)
}

fn refused(fault: RequestError) -> Failure {
    match fault {
        RequestError::Aws(error) if error.code.starts_with("MalformedPolicy") => Failure::input(
            "/values/role/assume_role_policy",
            format!("is rejected by AWS ({})", error.full_message()),
        ),
        fault => fault.into(),
    }
}
