//! The driver's inputs and outputs.

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Outputs, only_one};
use purlin_sdk_aws::Credentials;
use purlin_sdk_aws::tags::Tags;

use crate::check;

/// The things that the driver provisions; inputs name exactly one.
pub(crate) const KINDS: [&str; 5] =
    ["/values/policy", "/values/role", "/values/user", "/values/role_policy", "/values/attachment"];

/// The place, the resource, and the credentials.
#[derive(Inputs)]
pub struct IamInputs {
    pub(crate) connection: Connection,
    values: Values,
}

/// Exactly one of `policy`, `role`, `user`, `role_policy` and `attachment`.
#[derive(Input)]
struct Values {
    /// A policy that can be attached.
    policy: Option<Policy>,
    /// A role.
    role: Option<Role>,
    /// A user.
    user: Option<User>,
    /// A policy that is part of a role.
    role_policy: Option<RolePolicy>,
    /// A policy attached to a role or a user. Other attachments are not changed.
    attachment: Option<Attachment>,
}

/// The endpoint, and the keys that sign requests.
#[derive(Input)]
pub(crate) struct Connection {
    /// The endpoint of requests; AWS by default.
    endpoint: Option<Endpoint>,
    /// The access key that signs requests. It can be rotated at any time, since Purlin always uses
    /// the current connection.
    #[input(secret)]
    access_key_id: String,
    /// The secret of the access key.
    #[input(secret)]
    secret_access_key: String,
    /// The session token, for temporary credentials.
    #[input(secret)]
    session_token: Option<String>,
}

#[derive(Input)]
struct Endpoint {
    /// The region. It determines the partition of AWS.
    #[input(default = purlin_sdk_aws::Endpoint::REGION.to_owned())]
    region: String,
    /// A server other than AWS, such as `http://127.0.0.1:9000`, without a trailing `/`.
    #[input(replaces, reaches = "http")]
    url: Option<String>,
}

impl Connection {
    /// The connection in the form that the AWS client takes.
    pub(crate) fn aws(&self) -> purlin_sdk_aws::Connection {
        purlin_sdk_aws::Connection {
            endpoint: self.endpoint.as_ref().map_or_else(Default::default, |endpoint| {
                purlin_sdk_aws::Endpoint {
                    region: endpoint.region.clone(),
                    url: endpoint.url.clone(),
                    path_style: None,
                }
            }),
            credentials: Credentials {
                access_key_id: self.access_key_id.clone(),
                secret_access_key: self.secret_access_key.clone(),
                session_token: self.session_token.clone(),
            },
        }
    }
}

/// A policy that can be attached.
#[derive(Clone, Input)]
pub(crate) struct Policy {
    /// The name. By default `purlin-` and the resource's `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// The policy document, as JSON or as a text that contains JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) document: Json,
    /// The path before the name, such as `/teams/blue/`.
    #[input(default = "/", replaces)]
    pub(crate) path: String,
    /// The description.
    #[input(replaces, max_length = 1000)]
    pub(crate) description: Option<String>,
    /// Tags. All other tags are removed.
    #[input(default)]
    pub(crate) tags: Tags,
}

/// A role.
#[derive(Clone, Input)]
pub(crate) struct Role {
    /// The name. By default `purlin-` and the resource's `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// The trust policy, which says who may assume the role, as JSON or as a text that contains
    /// JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) assume_role_policy: Json,
    /// The path before the name, such as `/teams/blue/`.
    #[input(default = "/", replaces)]
    pub(crate) path: String,
    /// The description.
    #[input(max_length = 1000)]
    pub(crate) description: Option<String>,
    /// Tags. All other tags are removed.
    #[input(default)]
    pub(crate) tags: Tags,
    /// The maximum duration of a session in seconds.
    #[input(default = 3600, min = 3600, max = 43200)]
    pub(crate) max_session_duration: u32,
    /// The ARNs of all attached policies; others are detached. Not changed if omitted.
    pub(crate) attached_policies: Option<Vec<String>>,
}

/// A user.
#[derive(Clone, Input)]
pub(crate) struct User {
    /// The name. By default `purlin-` and the resource's `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// The path before the name, such as `/teams/blue/`.
    #[input(default = "/", replaces)]
    pub(crate) path: String,
    /// Tags. All other tags are removed.
    #[input(default)]
    pub(crate) tags: Tags,
    /// The ARNs of all attached policies; others are detached. Not changed if omitted.
    pub(crate) attached_policies: Option<Vec<String>>,
    /// Whether the user gets an access key, which is returned in the secret outputs.
    #[input(default)]
    pub(crate) access_key: bool,
}

/// A policy that is part of a role.
#[derive(Clone, Input)]
pub(crate) struct RolePolicy {
    /// The name of the role.
    #[input(replaces)]
    pub(crate) role: String,
    /// The name of the policy within the role.
    #[input(replaces)]
    pub(crate) name: String,
    /// The policy document, as JSON or as a text that contains JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) document: Json,
}

/// A policy attached to a role or a user.
#[derive(Clone, Input)]
pub(crate) struct Attachment {
    /// The name of the role. Either this or `user` is required.
    #[input(replaces)]
    pub(crate) role: Option<String>,
    /// The name of the user.
    #[input(replaces)]
    pub(crate) user: Option<String>,
    /// The ARN of the policy.
    #[input(replaces)]
    pub(crate) policy_arn: String,
}

/// The outputs.
#[derive(Default, Outputs)]
pub(crate) struct IamOutputs {
    /// The ARN of a policy, role or user.
    pub(crate) arn: Option<String>,
    /// The name.
    pub(crate) name: Option<String>,
    /// The id that AWS gave a policy, role or user. A later one with the same name gets another id.
    pub(crate) id: Option<String>,
    /// The role that contains a policy, or that a policy is attached to.
    pub(crate) role: Option<String>,
    /// The user that a policy is attached to.
    pub(crate) user: Option<String>,
    /// The ARN of the attached policy.
    pub(crate) policy_arn: Option<String>,
    /// For a user with an access key: the id of the key.
    #[output(secret)]
    pub(crate) access_key_id: Option<String>,
    /// For a user with an access key: the secret of the key.
    #[output(secret, write_once)]
    pub(crate) secret_access_key: Option<String>,
}

impl Policy {
    /// Its name, which `check` fills in.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

impl Role {
    /// Its name, which `check` fills in.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

impl User {
    /// Its name, which `check` fills in.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
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
    /// The one thing that the inputs name, after a check.
    pub(crate) fn thing(&self) -> Result<Thing, Failure> {
        let mut faults = Faults::default();
        self.validate(&mut faults);
        faults.into_result()?;
        let Values { policy, role, user, role_policy, attachment } = &self.values;
        let kinds = [
            policy.clone().map(Thing::Policy),
            role.clone().map(Thing::Role),
            user.clone().map(Thing::User),
            role_policy.clone().map(Thing::RolePolicy),
            attachment.clone().map(Thing::Attachment),
        ];
        only_one(kinds, check::ONE_OF)
    }

    /// Checks that need every value to be known.
    pub(crate) fn validate(&self, faults: &mut Faults) {
        self.connection.aws().validate(faults);
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
