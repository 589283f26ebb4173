//! What the driver is given, once it is checked.

use purlin_sdk::{Failure, Faults, Json};
use purlin_sdk_aws::Connection;
use purlin_sdk_aws::tags::Tags;
use serde::Deserialize;

use crate::check;

/// The things that the driver provisions; inputs name exactly one.
pub(crate) const KINDS: [&str; 5] =
    ["/values/policy", "/values/role", "/values/user", "/values/role_policy", "/values/attachment"];

/// Where it is to be, what, and with whose rights.
#[derive(Deserialize)]
pub struct IamInputs {
    pub(crate) connection: Connection,
    values: Values,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    policy: Option<Policy>,
    role: Option<Role>,
    user: Option<User>,
    role_policy: Option<RolePolicy>,
    attachment: Option<Attachment>,
}

/// A policy that can be attached.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) document: Json,
    #[serde(default = "root")]
    pub(crate) path: String,
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) tags: Tags,
}

/// A role.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) assume_role_policy: Json,
    #[serde(default = "root")]
    pub(crate) path: String,
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) tags: Tags,
    #[serde(default = "hour")]
    pub(crate) max_session_duration: u32,
    pub(crate) attached_policies: Option<Vec<String>>,
}

/// A user.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    pub(crate) name: String,
    #[serde(default = "root")]
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) tags: Tags,
    pub(crate) attached_policies: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) access_key: bool,
}

/// A policy that is part of a role.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RolePolicy {
    pub(crate) role: String,
    pub(crate) name: String,
    pub(crate) document: Json,
}

/// A policy attached to a role or a user.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attachment {
    pub(crate) role: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) policy_arn: String,
}

/// Exactly one thing.
pub(crate) enum Thing {
    Policy(Policy),
    Role(Role),
    User(User),
    RolePolicy(RolePolicy),
    Attachment(Attachment),
}

impl IamInputs {
    /// The one thing that the inputs name, after a look at whether it can be.
    pub(crate) fn thing(&self) -> Result<Thing, Failure> {
        let mut faults = Faults::default();
        self.validate(&mut faults);
        faults.into_result()?;
        let Values { policy, role, user, role_policy, attachment } = &self.values;
        match (policy, role, user, role_policy, attachment) {
            (Some(it), None, None, None, None) => Ok(Thing::Policy(it.clone())),
            (None, Some(it), None, None, None) => Ok(Thing::Role(it.clone())),
            (None, None, Some(it), None, None) => Ok(Thing::User(it.clone())),
            (None, None, None, Some(it), None) => Ok(Thing::RolePolicy(it.clone())),
            (None, None, None, None, Some(it)) => Ok(Thing::Attachment(it.clone())),
            _ => Err(Failure::input("/values", check::ONE_OF)),
        }
    }

    /// All that can only be said once nothing is unknown.
    pub(crate) fn validate(&self, faults: &mut Faults) {
        self.connection.validate(faults);
        let Values { policy, role, user, role_policy, attachment } = &self.values;
        if let Some(it) = policy {
            check::policy(it, faults);
        }
        if let Some(it) = role {
            check::role(it, faults);
        }
        if let Some(it) = user {
            check::user(it, faults);
        }
        if let Some(it) = role_policy {
            check::role_policy(it, faults);
        }
        if let Some(it) = attachment {
            check::attachment(it, faults);
        }
    }
}

fn root() -> String {
    "/".to_owned()
}

fn hour() -> u32 {
    3600
}
