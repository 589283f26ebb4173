//! Where a deployment takes place (SPEC §1, context).

use std::sync::Arc;

/// An environment and its type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EnvironmentId {
    /// The id, such as `dev`.
    pub id: Arc<str>,
    /// The type, such as `development`.
    pub kind: Arc<str>,
}

/// Organisation, application, environment, namespace and deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// Organisation; `default` by default.
    pub org: Arc<str>,
    /// Application.
    pub app: Arc<str>,
    /// Environment.
    pub env: EnvironmentId,
    /// Namespace: by default the environment's id; the empty one is global.
    pub namespace: Arc<str>,
    /// Id of this deployment, different at each run.
    pub deployment: Arc<str>,
}

/// A field of `${context.…}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextField {
    /// `context.org.id`
    OrgId,
    /// `context.app.id`
    AppId,
    /// `context.env.id`
    EnvId,
    /// `context.env.type`
    EnvType,
    /// `context.namespace`
    Namespace,
    /// `context.deploy.id`
    DeployId,
    /// `context.res.id`
    ResId,
    /// `context.res.type`
    ResType,
    /// `context.res.class`
    ResClass,
    /// `context.res.guresid`
    ResGuresid,
}

impl ContextField {
    /// Every field, with the path that names it.
    pub const ALL: [(&'static str, Self); 10] = [
        ("org.id", Self::OrgId),
        ("app.id", Self::AppId),
        ("env.id", Self::EnvId),
        ("env.type", Self::EnvType),
        ("namespace", Self::Namespace),
        ("deploy.id", Self::DeployId),
        ("res.id", Self::ResId),
        ("res.type", Self::ResType),
        ("res.class", Self::ResClass),
        ("res.guresid", Self::ResGuresid),
    ];

    /// The field's path after `context.`.
    pub fn path(self) -> &'static str {
        Self::ALL.iter().find(|(_, field)| *field == self).map_or("", |(path, _)| path)
    }
}
