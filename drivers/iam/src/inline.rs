//! The life of a policy that is part of a role. Its id is `ROLE:NAME`.
//!
//! It has no place for a mark: one that equals the inputs is treated as left by an interrupted
//! call, any other as somebody else's.

use purlin_sdk::{Failure, Json, Observed, Raw, State, operation};
use purlin_sdk_aws::{RequestError, policy as documents};
use serde_json::json;

use crate::api::{Iam, document, gone, if_it_exists};
use crate::inputs::{IamInputs, IamOutputs, RolePolicy};

pub(crate) fn id(role: &str, name: &str) -> String {
    format!("{role}:{name}")
}

pub(crate) fn create(iam: &Iam, wanted: &RolePolicy) -> Result<State, Failure> {
    let id = id(&wanted.role, &wanted.name);
    let found = look(iam, &wanted.role, &wanted.name)?;
    if found.as_ref().is_some_and(|found| !documents::same(found, &wanted.document)) {
        return Err(another_s(&id));
    }
    operation::checkpoint(&id);
    if found.is_none() {
        set(iam, wanted).map_err(|failure| iam.aws.settle_create(failure, Some(State::new(&id))))?;
    }
    state(&wanted.role, &wanted.name)
}

pub(crate) fn read(
    iam: &Iam,
    (role, name): (&str, &str),
    raw: &Raw<IamInputs>,
    ask_whose: bool,
) -> Result<Option<Observed>, Failure> {
    let Some(found) = look(iam, role, name)? else { return Ok(None) };
    let given = raw.get("/values/role_policy/document");
    let same = given.is_some_and(|given| documents::same(given, &found));
    if ask_whose && !same {
        return Err(another_s(&id(role, name)));
    }
    let document = given.filter(|_| same).cloned().unwrap_or_else(|| documents::canonical(&found));
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    values.insert("role_policy".to_owned(), json!({"role": role, "name": name, "document": document}));
    Observed::new(state(role, name)?, values).map(Some)
}

pub(crate) fn update(iam: &Iam, wanted: &RolePolicy) -> Result<State, Failure> {
    let state = state(&wanted.role, &wanted.name)?;
    set(iam, wanted).map_err(|failure| iam.aws.settle_update(failure, state.clone()))?;
    Ok(state)
}

pub(crate) fn delete(iam: &Iam, role: &str, name: &str) -> Result<(), Failure> {
    Ok(gone(iam.change("DeleteRolePolicy", &[("RoleName", role), ("PolicyName", name)]))?)
}

fn look(iam: &Iam, role: &str, name: &str) -> Result<Option<Json>, Failure> {
    let answer = if_it_exists(iam.look("GetRolePolicy", &[("RoleName", role), ("PolicyName", name)]))?;
    answer.map(|answer| document(answer.text_of("PolicyDocument").unwrap_or_default())).transpose()
}

fn set(iam: &Iam, wanted: &RolePolicy) -> Result<(), Failure> {
    let text = wanted.document.to_string();
    let form = [("RoleName", wanted.role.as_str()), ("PolicyName", &wanted.name), ("PolicyDocument", &text)];
    match iam.aws.until_known(|| iam.change("PutRolePolicy", &form)) {
        Err(fault) if fault.is(&["NoSuchEntity"]) => {
            Err(Failure::not_found(format!("there is no role `{}` for the policy", wanted.role)))
        }
        Err(RequestError::Aws(error)) if error.code.starts_with("MalformedPolicy") => Err(Failure::input(
            "/values/role_policy/document",
            format!("is rejected by AWS ({})", error.full_message()),
        )),
        result => Ok(result.map(drop)?),
    }
}

fn another_s(id: &str) -> Failure {
    Failure::conflict(format!(
        "there is another policy of this name already; `purlin import` with the id `{id}` adopts it"
    ))
}

fn state(role: &str, name: &str) -> Result<State, Failure> {
    State::new(id(role, name)).described_outputs(&outputs(role, name))
}

/// The outputs, all of which follow from the inputs.
pub(crate) fn outputs(role: &str, name: &str) -> IamOutputs {
    IamOutputs { role: Some(role.to_owned()), name: Some(name.to_owned()), ..IamOutputs::default() }
}
