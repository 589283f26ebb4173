//! The driver's inputs and outputs.

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Outputs};
use purlin_sdk_aws::Credentials;
use purlin_sdk_aws::tags::Tags;

use crate::check;

/// The things that the driver provisions; inputs name exactly one.
pub(crate) const KINDS: [&str; 5] =
    ["/values/policy", "/values/role", "/values/user", "/values/role_policy", "/values/attachment"];

/// Where it is to be, what, and with whose rights.
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
    /// A policy attached to a role or a user. Others are left alone.
    attachment: Option<Attachment>,
}

/// Where requests go, and who signs them.
#[derive(Input)]
pub(crate) struct Connection {
    /// Where requests go; AWS itself by default.
    endpoint: Option<Endpoint>,
    /// The access key that signs requests. It can be rotated at any time: Purlin uses the connection that the
    /// documents have now.
    #[input(secret)]
    access_key_id: String,
    /// Its secret.
    #[input(secret)]
    secret_access_key: String,
    /// With temporary credentials only.
    #[input(secret)]
    session_token: Option<String>,
}

#[derive(Input)]
struct Endpoint {
    /// The region. It says which partition of AWS it is.
    #[input(default = purlin_sdk_aws::Endpoint::REGION.to_owned())]
    region: String,
    /// Another server than AWS's own, such as `http://127.0.0.1:9000`, without `/` at its end.
    #[input(replaces, reaches = "http")]
    url: Option<String>,
}

impl Connection {
    /// The same for requests.
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
    /// Its name. By default `purlin-` and the resource's `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// The policy document, as JSON or as a text with JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) document: Json,
    /// A path before the name, such as `/teams/blue/`.
    #[input(default = "/", replaces)]
    pub(crate) path: String,
    /// What it is for.
    #[input(replaces, max_length = 1000)]
    pub(crate) description: Option<String>,
    /// Tags. Others than these are taken away.
    #[input(default)]
    pub(crate) tags: Tags,
}

/// A role.
#[derive(Clone, Input)]
pub(crate) struct Role {
    /// Its name. By default `purlin-` and the resource's `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// Who may take on the role: its trust policy, as JSON or as a text with JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) assume_role_policy: Json,
    /// A path before the name, such as `/teams/blue/`.
    #[input(default = "/", replaces)]
    pub(crate) path: String,
    /// What it is for.
    #[input(max_length = 1000)]
    pub(crate) description: Option<String>,
    /// Tags. Others than these are taken away.
    #[input(default)]
    pub(crate) tags: Tags,
    /// Seconds that a session may last.
    #[input(default = 3600, min = 3600, max = 43200)]
    pub(crate) max_session_duration: u32,
    /// ARNs of the policies that are attached, all of them: others are detached. Left alone when left out.
    pub(crate) attached_policies: Option<Vec<String>>,
}

/// A user.
#[derive(Clone, Input)]
pub(crate) struct User {
    /// Its name. By default `purlin-` and the resource's `guresid`.
    #[input(replaces)]
    name: Option<String>,
    /// A path before the name, such as `/teams/blue/`.
    #[input(default = "/", replaces)]
    pub(crate) path: String,
    /// Tags. Others than these are taken away.
    #[input(default)]
    pub(crate) tags: Tags,
    /// ARNs of the policies that are attached, all of them: others are detached. Left alone when left out.
    pub(crate) attached_policies: Option<Vec<String>>,
    /// Whether it gets an access key, told in the secret outputs.
    #[input(default)]
    pub(crate) access_key: bool,
}

/// A policy that is part of a role.
#[derive(Clone, Input)]
pub(crate) struct RolePolicy {
    /// The role's name.
    #[input(replaces)]
    pub(crate) role: String,
    /// Its name within the role.
    #[input(replaces)]
    pub(crate) name: String,
    /// The policy document, as JSON or as a text with JSON.
    #[schemars(extend("type" = ["object", "string"]))]
    pub(crate) document: Json,
}

/// A policy attached to a role or a user.
#[derive(Clone, Input)]
pub(crate) struct Attachment {
    /// The role's name. Either this or `user` is required.
    #[input(replaces)]
    pub(crate) role: Option<String>,
    /// The user's name.
    #[input(replaces)]
    pub(crate) user: Option<String>,
    /// The policy's ARN.
    #[input(replaces)]
    pub(crate) policy_arn: String,
}

/// What others may read.
#[derive(Default, Outputs)]
pub(crate) struct IamOutputs {
    /// ARN of a policy, role or user.
    pub(crate) arn: Option<String>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// The id that AWS gave a policy, role or user, which no later one of that name has.
    pub(crate) id: Option<String>,
    /// The role that a policy is part of, or is attached to.
    pub(crate) role: Option<String>,
    /// The user that a policy is attached to.
    pub(crate) user: Option<String>,
    /// ARN of the attached policy.
    pub(crate) policy_arn: Option<String>,
    /// Of a user with an access key: the key's id.
    #[output(secret)]
    pub(crate) access_key_id: Option<String>,
    /// Of a user with an access key: its secret.
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
        match (policy, role, user, role_policy, attachment) {
            (Some(it), None, None, None, None) => Ok(Thing::Policy(it.clone())),
            (None, Some(it), None, None, None) => Ok(Thing::Role(it.clone())),
            (None, None, Some(it), None, None) => Ok(Thing::User(it.clone())),
            (None, None, None, Some(it), None) => Ok(Thing::RolePolicy(it.clone())),
            (None, None, None, None, Some(it)) => Ok(Thing::Attachment(it.clone())),
            _ => Err(Failure::input("/values", check::ONE_OF)),
        }
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
