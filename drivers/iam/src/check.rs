//! Writes inputs in the only spelling that reality can be compared with, and rejects invalid ones.

use purlin_sdk::{CheckRequest, Checked, Failure, Faults, Json, Raw, Subject};
use purlin_sdk_aws::inputs;
use purlin_sdk_aws::policy::{self as documents, PolicyKind};
use purlin_sdk_aws::tags::{self, Tags};

use crate::inputs::{Attachment, IamInputs, KINDS, Policy, Role, RolePolicy, User};

pub(crate) const ONE_OF: &str =
    "has to contain exactly one of `policy`, `role`, `user`, `role_policy` and `attachment`";

/// The places of documents, and what they are attached to.
const DOCUMENTS: [(&str, PolicyKind); 3] = [
    ("/values/policy/document", PolicyKind::Identity),
    ("/values/role/assume_role_policy", PolicyKind::Trust),
    ("/values/role_policy/document", PolicyKind::Identity),
];

pub(crate) fn check(request: CheckRequest<IamInputs>) -> Result<Checked, Failure> {
    let named = ["/values/policy", "/values/role", "/values/user"];
    inputs::check(request, &KINDS, &named, ONE_OF, normalise, IamInputs::validate, known_parts)
}

fn known_parts(inputs: &Raw<IamInputs>, faults: &mut Faults) {
    for (place, longest) in
        [("/values/policy/name", 128), ("/values/role/name", 64), ("/values/user/name", 64)]
    {
        if let Some(text) = inputs.get_known(place).and_then(Json::as_str) {
            name(text, place, longest, faults);
        }
    }
    for (place, kind) in DOCUMENTS {
        if let Some(document) = inputs.get_known(place) {
            documents::validate(document, kind, place, faults);
        }
    }
}

/// Fills in the defaults that a schema cannot express, and removes members without effect.
fn normalise(inputs: &mut Raw<IamInputs>, subject: &Subject, faults: &mut Faults) {
    let document = inputs.document_mut();
    let Some(values) = document.get_mut("values").and_then(Json::as_object_mut) else { return };
    for kind in ["policy", "role", "user"] {
        let Some(thing) = values.get_mut(kind).and_then(Json::as_object_mut) else { continue };
        inputs::own(thing, subject, &format!("/values/{kind}"), faults);
        if thing.get("description").and_then(Json::as_str) == Some("") {
            thing.remove("description");
        }
        if let Some(attached) = thing.get_mut("attached_policies").and_then(Json::as_array_mut)
            && attached.iter().all(Json::is_string)
        {
            attached.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            attached.dedup();
        }
    }
    for (place, _) in DOCUMENTS {
        if let Some(policy) = document.pointer_mut(place) {
            *policy = documents::canonical(policy);
        }
    }
}

/// Rejects an invalid IAM name.
fn name(name: &str, place: &str, longest: usize, faults: &mut Faults) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_+=,.@-".contains(&byte);
    if name.is_empty() || name.len() > longest || !name.bytes().all(plain) {
        faults.add(
            place,
            format!("is not a valid name: IAM allows 1 to {longest} letters, digits and `_+=,.@-`"),
        );
    }
}

fn path(path: &str, place: &str, faults: &mut Faults) {
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic());
    if !path.starts_with('/') || !path.ends_with('/') || path.len() > 512 || !plain || path.contains("//") {
        faults.add(place, "has to begin and end with `/`, such as `/teams/blue/`");
    }
}

fn arn(arn: &str, place: &str, faults: &mut Faults) {
    if !arn.starts_with("arn:") || arn.split(':').count() < 6 {
        faults.add(place, "has to be the ARN of a policy, such as `arn:aws:iam::aws:policy/ReadOnlyAccess`");
    }
}

fn attached(attached: Option<&Vec<String>>, place: &str, faults: &mut Faults) {
    for (index, policy) in attached.into_iter().flatten().enumerate() {
        arn(policy, &format!("{place}/{index}"), faults);
    }
}

fn user_tags(all: &Tags, place: &str, faults: &mut Faults) {
    tags::validate(all, place, faults);
    if all.contains_key(crate::keys::TAG) {
        faults.add(
            format!("{place}/{}", crate::keys::TAG),
            "is set by Purlin, to recognise its own access keys",
        );
    }
}

pub(crate) fn policy(policy: &Policy, faults: &mut Faults) {
    name(policy.name(), "/values/policy/name", 128, faults);
    path(&policy.path, "/values/policy/path", faults);
    user_tags(&policy.tags, "/values/policy/tags", faults);
    documents::validate(&policy.document, PolicyKind::Identity, "/values/policy/document", faults);
    let size = policy.document.to_string().len();
    if size > 6144 {
        faults.add("/values/policy/document", format!("has {size} characters; AWS takes 6144"));
    }
}

pub(crate) fn role(role: &Role, faults: &mut Faults) {
    name(role.name(), "/values/role/name", 64, faults);
    path(&role.path, "/values/role/path", faults);
    user_tags(&role.tags, "/values/role/tags", faults);
    documents::validate(
        &role.assume_role_policy,
        PolicyKind::Trust,
        "/values/role/assume_role_policy",
        faults,
    );
    attached(role.attached_policies.as_ref(), "/values/role/attached_policies", faults);
}

pub(crate) fn user(user: &User, faults: &mut Faults) {
    name(user.name(), "/values/user/name", 64, faults);
    path(&user.path, "/values/user/path", faults);
    user_tags(&user.tags, "/values/user/tags", faults);
    attached(user.attached_policies.as_ref(), "/values/user/attached_policies", faults);
}

pub(crate) fn role_policy(policy: &RolePolicy, faults: &mut Faults) {
    name(&policy.role, "/values/role_policy/role", 64, faults);
    name(&policy.name, "/values/role_policy/name", 128, faults);
    documents::validate(&policy.document, PolicyKind::Identity, "/values/role_policy/document", faults);
}

pub(crate) fn attachment(attachment: &Attachment, faults: &mut Faults) {
    match (&attachment.role, &attachment.user) {
        (Some(role), None) => name(role, "/values/attachment/role", 64, faults),
        (None, Some(user)) => name(user, "/values/attachment/user", 64, faults),
        _ => faults.add("/values/attachment", "has to contain exactly one of `role` and `user`"),
    }
    arn(&attachment.policy_arn, "/values/attachment/policy_arn", faults);
}
