//! The life of a policy that can be attached. Its id is its ARN.
//!
//! IAM never changes a document: a new version of it becomes the default. There can be five, so the
//! oldest version that is not the default is deleted first.

use purlin_sdk::{CreateRequest, Failure, Json, Observed, Raw, State, UpdateRequest, operation};
use purlin_sdk_aws::xml::Element;
use purlin_sdk_aws::{Effect, RequestError, policy as documents, tags};
use serde_json::json;

use crate::api::{Iam, document, gone, if_it_exists};
use crate::inputs::{IamInputs, Policy};
use crate::named::{self, IamObject, Known, Named};

const KIND: Named = Named::Policy;
/// The maximum number of versions of a policy.
const MOST: usize = 5;

pub(crate) fn create(
    request: &CreateRequest<IamInputs>,
    iam: &Iam,
    policy: &Policy,
) -> Result<State, Failure> {
    let text = policy.document.to_string();
    let mut form = vec![("PolicyName", policy.name()), ("PolicyDocument", &text), ("Path", &policy.path)];
    form.extend(policy.description.as_deref().map(|text| ("Description", text)));
    let guresid = &request.subject.guresid;
    let made = named::make(iam, KIND, policy.name(), guresid, &form, &policy.tags);
    let (found, new) = made.map_err(|fault| iam.aws.settle_create(refused(fault), None))?;
    operation::checkpoint(&found.arn);
    let state = found.state(KIND)?;
    if !new {
        let applied = apply(iam, policy, &found);
        applied.map_err(|failure| iam.aws.settle_create(failure, Some(state.clone())))?;
    }
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
    let name = found.text("PolicyName").to_owned();
    named::whose(KIND, &name, &found, guresid, known)?;
    let Some(document) = if_it_exists(current(iam, &found))? else { return Ok(None) };
    let given = raw.get("/values/policy/document");
    let same = given.filter(|given| documents::same(given, &document));
    let mut policy = raw.get("/values/policy").and_then(Json::as_object).cloned().unwrap_or_default();
    let mut set = |name: &str, value: Json| policy.insert(name.to_owned(), value);
    set("name", name.into());
    set("path", found.text("Path").into());
    set("tags", json!(tags::of_users(&found.tags)));
    set("document", same.cloned().unwrap_or_else(|| documents::canonical(&document)));
    match found.text("Description") {
        "" => policy.remove("description"),
        text => policy.insert("description".to_owned(), text.into()),
    };
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    values.insert("policy".to_owned(), Json::Object(policy));
    Observed::new(found.state(KIND)?, values).map(Some)
}

pub(crate) fn update(
    request: &UpdateRequest<IamInputs>,
    iam: &Iam,
    policy: &Policy,
) -> Result<State, Failure> {
    let Some(found) = named::by_arn(iam, KIND, &request.state.id)? else {
        return Err(Failure::not_found(format!("the policy `{}` is gone", policy.name())));
    };
    let state = found.state(KIND)?;
    apply(iam, policy, &found).map_err(|failure| iam.aws.settle_update(failure, state.clone()))?;
    Ok(state)
}

fn apply(iam: &Iam, policy: &Policy, found: &IamObject) -> Result<(), Failure> {
    named::tag(iam, KIND, found, &policy.tags, &[])?;
    let now = current(iam, found)?;
    if documents::canonical(&now) == documents::canonical(&policy.document) {
        return Ok(());
    }
    let which = [("PolicyArn", found.arn.as_str())];
    let mut versions = versions(iam, &found.arn)?;
    // The number shows the age: `v2` was created after `v1`.
    versions.sort_by_key(|(id, _)| id.trim_start_matches('v').parse::<u64>().unwrap_or(0));
    let mut spare = versions.iter().filter(|(_, counts)| !counts);
    for (id, _) in spare.by_ref().take((versions.len() + 1).saturating_sub(MOST)) {
        gone(iam.change("DeletePolicyVersion", &[which[0], ("VersionId", id)]))?;
    }
    let text = policy.document.to_string();
    let form = [which[0], ("PolicyDocument", &text), ("SetAsDefault", "true")];
    iam.ask("CreatePolicyVersion", Effect::Another, &form).map_err(refused)?;
    Ok(())
}

pub(crate) fn delete(iam: &Iam, found: &IamObject) -> Result<(), Failure> {
    let name = found.text("PolicyName");
    let which = [("PolicyArn", found.arn.as_str())];
    let users = attached_to(iam, &found.arn)?;
    if !users.is_empty() {
        return Err(Failure::conflict(format!(
            "the policy `{name}` is attached to {}: detach it there first",
            users.join(", ")
        )));
    }
    for (id, counts) in versions(iam, &found.arn)? {
        if !counts {
            gone(iam.change("DeletePolicyVersion", &[which[0], ("VersionId", &id)]))?;
        }
    }
    Ok(gone(iam.aws.until_free(|| iam.change("DeletePolicy", &which)))?)
}

/// The users and roles of a policy, for people.
fn attached_to(iam: &Iam, arn: &str) -> Result<Vec<String>, Failure> {
    let mut users = Vec::new();
    let kinds = [
        ("PolicyRoles", "RoleName", "role"),
        ("PolicyUsers", "UserName", "user"),
        ("PolicyGroups", "GroupName", "group"),
    ];
    for (list, name, kind) in kinds {
        let found = if_it_exists(iam.names("ListEntitiesForPolicy", (list, name), &[("PolicyArn", arn)]))?;
        users.extend(found.unwrap_or_default().iter().map(|name| format!("the {kind} `{name}`")));
    }
    Ok(users)
}

/// Versions by their ids, and whether each is the default.
fn versions(iam: &Iam, arn: &str) -> Result<Vec<(String, bool)>, Failure> {
    let all =
        if_it_exists(iam.list("ListPolicyVersions", "Versions", &[("PolicyArn", arn)]))?.unwrap_or_default();
    let version = |it: &Element| {
        let id = it.text_of("VersionId")?.to_owned();
        Some((id, it.text_of("IsDefaultVersion") == Some("true")))
    };
    Ok(all.iter().filter_map(version).collect())
}

/// The default document.
fn current(iam: &Iam, found: &IamObject) -> Result<Json, RequestError> {
    let form = [("PolicyArn", found.arn.as_str()), ("VersionId", found.text("DefaultVersionId"))];
    let answer = iam.look("GetPolicyVersion", &form)?;
    Ok(document(answer.text_at(&["PolicyVersion", "Document"]).unwrap_or_default())?)
}

fn refused(fault: RequestError) -> Failure {
    match fault {
        RequestError::Aws(error) if error.code.starts_with("MalformedPolicy") => Failure::input(
            "/values/policy/document",
            format!("is rejected by AWS ({})", error.full_message()),
        ),
        fault => fault.into(),
    }
}
