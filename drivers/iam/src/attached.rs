//! Policies attached to roles and users.

use purlin_sdk::Failure;
use purlin_sdk_aws::RequestError;

use crate::api::{Iam, gone};
use crate::named::Named;

/// ARNs of the attached policies, sorted.
pub(crate) fn list(iam: &Iam, kind: Named, name: &str) -> Result<Vec<String>, RequestError> {
    let action = format!("ListAttached{}Policies", kind.word());
    iam.names(&action, ("AttachedPolicies", "PolicyArn"), &[(kind.field(), name)])
}

/// Attaches missing policies and detaches unwanted ones.
pub(crate) fn apply(iam: &Iam, kind: Named, name: &str, wanted: &[String]) -> Result<(), RequestError> {
    let found = list(iam, kind, name)?;
    for policy in wanted.iter().filter(|policy| !found.contains(policy)) {
        attach(iam, kind, name, policy)?;
    }
    for policy in found.iter().filter(|policy| !wanted.contains(policy)) {
        detach(iam, kind, name, policy)?;
    }
    Ok(())
}

pub(crate) fn attach(iam: &Iam, kind: Named, name: &str, policy: &str) -> Result<(), RequestError> {
    let action = format!("Attach{}Policy", kind.word());
    let form = [(kind.field(), name), ("PolicyArn", policy)];
    // Not every server of AWS knows a policy that was created a moment ago.
    iam.aws.until_known(|| iam.change(&action, &form)).map(drop)
}

pub(crate) fn detach(iam: &Iam, kind: Named, name: &str, policy: &str) -> Result<(), RequestError> {
    let action = format!("Detach{}Policy", kind.word());
    gone(iam.change(&action, &[(kind.field(), name), ("PolicyArn", policy)]))
}

/// Prepares a role or a user for deletion: removes what is ours to remove, and fails before any
/// change if there is more. `managed` is whether all attached policies are ours.
pub(crate) fn clear(iam: &Iam, kind: Named, name: &str, managed: bool) -> Result<(), Failure> {
    let which = [(kind.field(), name)];
    let attached = list(iam, kind, name)?;
    let inline = iam.names(&format!("List{}Policies", kind.word()), ("PolicyNames", ""), &which)?;
    let mut rest: Vec<String> = inline.iter().map(|it| format!("the inline policy `{it}`")).collect();
    if !managed {
        rest.extend(attached.iter().map(|it| format!("the attached policy `{it}`")));
    }
    let more = match kind {
        Named::Role => {
            ("ListInstanceProfilesForRole", ("InstanceProfiles", "InstanceProfileName"), "instance profile")
        }
        _ => ("ListGroupsForUser", ("Groups", "GroupName"), "group"),
    };
    let (action, list, people) = more;
    rest.extend(iam.names(action, list, &which)?.iter().map(|it| format!("the {people} `{it}`")));
    if !rest.is_empty() {
        return Err(Failure::conflict(format!(
            "the {} `{name}` cannot be deleted because of {}, which others added: remove them first",
            kind.people(),
            rest.join(", ")
        )));
    }
    for policy in attached {
        detach(iam, kind, name, &policy)?;
    }
    Ok(())
}
