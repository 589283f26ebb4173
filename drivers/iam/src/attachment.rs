//! The life of an attachment: one policy, attached to one role or user. Its id is `role/NAME/ARN` or
//! `user/NAME/ARN`.
//!
//! Attaching an attached policy again changes nothing, so its owner cannot be determined, and need
//! not be.

use purlin_sdk::{Failure, Json, Observed, Raw, State, operation};
use serde_json::json;

use crate::api::{Iam, if_it_exists};
use crate::attached;
use crate::inputs::{Attachment, IamInputs, IamOutputs};
use crate::named::Named;

/// The role or user, and the policy.
pub(crate) struct Pair<'a> {
    pub(crate) kind: Named,
    pub(crate) name: &'a str,
    pub(crate) policy: &'a str,
}

impl<'a> Pair<'a> {
    pub(crate) fn wanted(attachment: &'a Attachment) -> Self {
        let policy = &attachment.policy_arn;
        match (&attachment.role, &attachment.user) {
            (Some(role), _) => Self { kind: Named::Role, name: role, policy },
            (None, user) => Self { kind: Named::User, name: user.as_deref().unwrap_or_default(), policy },
        }
    }

    pub(crate) fn of(id: &'a str) -> Option<Self> {
        let (kind, rest) = id.split_once('/')?;
        let (name, policy) = rest.split_once('/')?;
        let kind = match kind {
            "role" => Named::Role,
            "user" => Named::User,
            _ => return None,
        };
        Some(Self { kind, name, policy })
    }

    pub(crate) fn id(&self) -> String {
        format!("{}/{}/{}", self.kind.people(), self.name, self.policy)
    }

    fn state(&self) -> Result<State, Failure> {
        State::new(self.id()).described_outputs(&self.outputs())
    }

    /// The outputs, all of which follow from the inputs.
    pub(crate) fn outputs(&self) -> IamOutputs {
        let name = |kind| (self.kind == kind).then(|| self.name.to_owned());
        IamOutputs {
            role: name(Named::Role),
            user: name(Named::User),
            policy_arn: Some(self.policy.to_owned()),
            ..IamOutputs::default()
        }
    }
}

pub(crate) fn create(iam: &Iam, pair: &Pair<'_>) -> Result<State, Failure> {
    operation::checkpoint(&pair.id());
    match attached::attach(iam, pair.kind, pair.name, pair.policy) {
        Err(fault) if fault.is(&["NoSuchEntity"]) => Err(Failure::not_found(format!(
            "there is no {} `{}`, or no policy `{}`",
            pair.kind.people(),
            pair.name,
            pair.policy
        ))),
        Err(fault) => Err(iam.aws.settle_create(fault.into(), None)),
        Ok(()) => pair.state(),
    }
}

pub(crate) fn read(iam: &Iam, pair: &Pair<'_>, raw: &Raw<IamInputs>) -> Result<Option<Observed>, Failure> {
    let attached = if_it_exists(attached::list(iam, pair.kind, pair.name))?.unwrap_or_default();
    if !attached.iter().any(|policy| policy == pair.policy) {
        return Ok(None);
    }
    let mut values = raw.get("/values").and_then(Json::as_object).cloned().unwrap_or_default();
    let attachment = json!({pair.kind.people(): pair.name, "policy_arn": pair.policy});
    values.insert("attachment".to_owned(), attachment);
    Observed::new(pair.state()?, values).map(Some)
}

pub(crate) fn delete(iam: &Iam, pair: &Pair<'_>) -> Result<(), Failure> {
    Ok(attached::detach(iam, pair.kind, pair.name, pair.policy)?)
}
