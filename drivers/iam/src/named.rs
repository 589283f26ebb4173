//! The common part of policies, roles and users: a unique name, an ARN, tags, and their owner.

use purlin_sdk::{Failure, State};
use purlin_sdk_aws::RequestError;
use purlin_sdk_aws::tags::{Tags, is_marked, not_another_s, of_users};
use purlin_sdk_aws::xml::Element;

use crate::api::{Iam, borrowed, if_it_exists, tag_fields, tags_of};
use crate::inputs::IamOutputs;

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Policy,
    Role,
    User,
}

impl Named {
    pub(crate) const ALL: [Self; 3] = [Self::Policy, Self::Role, Self::User];

    /// IAM's word for it in actions.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Policy => "Policy",
            Self::Role => "Role",
            Self::User => "User",
        }
    }

    /// The word for people.
    pub(crate) fn people(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Role => "role",
            Self::User => "user",
        }
    }

    /// The field that names an object of this kind.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Policy => "PolicyArn",
            Self::Role => "RoleName",
            Self::User => "UserName",
        }
    }

    /// The value of that field, from an ARN.
    pub(crate) fn handle(self, arn: &str) -> &str {
        match self {
            Self::Policy => arn,
            Self::Role | Self::User => arn.rsplit('/').next().unwrap_or(arn),
        }
    }
}

/// An object as IAM describes it, with its tags.
pub(crate) struct IamObject {
    pub(crate) element: Element,
    pub(crate) arn: String,
    pub(crate) tags: Tags,
}

impl IamObject {
    pub(crate) fn text(&self, name: &str) -> &str {
        self.element.text_of(name).unwrap_or_default()
    }

    /// The state that others may read.
    pub(crate) fn state(&self, kind: Named) -> Result<State, Failure> {
        let text = |of: &str| Some(self.text(&format!("{}{of}", kind.word())).to_owned());
        let arn = Some(self.arn.clone());
        State::new(&self.arn).described_outputs(&IamOutputs {
            arn,
            name: text("Name"),
            id: text("Id"),
            ..IamOutputs::default()
        })
    }
}

/// How certain it is that the object with an id is the resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is recorded.
    Recorded,
    /// A person or a checkpoint named it.
    Named,
    /// It has the name that the resource would have.
    Not,
}

/// Looks one up by its ARN.
pub(crate) fn by_arn(iam: &Iam, kind: Named, arn: &str) -> Result<Option<IamObject>, Failure> {
    let found = by_handle(iam, kind, kind.handle(arn))?;
    // Another one with this name may live under another path.
    Ok(found.filter(|found| found.arn == arn))
}

/// Looks one up by its name.
pub(crate) fn by_name(iam: &Iam, kind: Named, name: &str) -> Result<Option<IamObject>, Failure> {
    if kind != Named::Policy {
        return by_handle(iam, kind, name);
    }
    // Only the ARN leads to a policy, and it contains the account and the path.
    let all = iam.list("ListPolicies", "Policies", &[("Scope", "Local"), ("MaxItems", "1000")])?;
    let same =
        |policy: &&Element| policy.text_of("PolicyName").is_some_and(|it| it.eq_ignore_ascii_case(name));
    match all.iter().find(same).and_then(|policy| policy.text_of("Arn")) {
        Some(arn) => by_handle(iam, kind, arn),
        None => Ok(None),
    }
}

fn by_handle(iam: &Iam, kind: Named, handle: &str) -> Result<Option<IamObject>, Failure> {
    let which = [(kind.field(), handle)];
    let Some(answer) = if_it_exists(iam.look(&format!("Get{}", kind.word()), &which))? else {
        return Ok(None);
    };
    let Some(tags) = if_it_exists(iam.list(&format!("List{}Tags", kind.word()), "Tags", &which))? else {
        return Ok(None);
    };
    let element = answer.child(kind.word()).cloned().unwrap_or_default();
    let arn = element.text_of("Arn").unwrap_or_default().to_owned();
    Ok(Some(IamObject { element, arn, tags: tags_of(&tags) }))
}

/// Creates one with its tags in one request, or finds the one of an earlier attempt.
pub(crate) fn make(
    iam: &Iam,
    kind: Named,
    name: &str,
    guresid: &str,
    form: &[(&str, &str)],
    tags: &Tags,
) -> Result<(IamObject, bool), RequestError> {
    let fields = tag_fields(tags);
    let mut form = form.to_vec();
    form.extend(borrowed(&fields));
    let action = format!("Create{}", kind.word());
    match iam.aws.until_known(|| iam.change(&action, &form)) {
        Ok(answer) => {
            let element = answer.child(kind.word()).cloned().unwrap_or_default();
            let arn = element.text_of("Arn").unwrap_or_default().to_owned();
            Ok((IamObject { element, arn, tags: tags.clone() }, true))
        }
        Err(fault) if fault.is(&["EntityAlreadyExists"]) => {
            let Some(found) = by_name(iam, kind, name)? else { return Err(fault) };
            whose(kind, name, &found, guresid, Known::Not)?;
            iam.aws.decided();
            Ok((found, false))
        }
        Err(fault) => Err(fault),
    }
}

/// Rejects an object of another owner. A mark identifies it; without one, it is ours only if its
/// name is unique to this resource, or if it is recorded or was named.
pub(crate) fn whose(
    kind: Named,
    name: &str,
    found: &IamObject,
    guresid: &str,
    known: Known,
) -> Result<(), Failure> {
    let what = format!("the {} `{name}`", kind.people());
    if known == Known::Recorded {
        return Ok(());
    }
    not_another_s(&found.tags, &[guresid], &what)?;
    if known == Known::Named || is_marked(&found.tags, guresid) || name.contains(guresid) {
        return Ok(());
    }
    Err(Failure::conflict(format!(
        "{what} already exists, without a mark of this resource; `purlin import` with the id `{}` \
         adopts it",
        found.arn
    )))
}

/// Sets tags that differ, and removes others.
pub(crate) fn tag(
    iam: &Iam,
    kind: Named,
    found: &IamObject,
    wanted: &Tags,
    keep: &[&str],
) -> Result<(), RequestError> {
    let handle = kind.handle(&found.arn);
    let mut set = wanted.clone();
    set.retain(|key, value| found.tags.get(key) != Some(value));
    let stays = |key: &String| wanted.contains_key(key) || keep.contains(&key.as_str());
    let gone: Vec<String> = of_users(&found.tags).into_keys().filter(|key| !stays(key)).collect();
    if !gone.is_empty() {
        let name = |index| format!("TagKeys.member.{}", index + 1);
        let fields: Vec<_> = gone.into_iter().enumerate().map(|(index, key)| (name(index), key)).collect();
        let mut form = vec![(kind.field(), handle)];
        form.extend(borrowed(&fields));
        iam.change(&format!("Untag{}", kind.word()), &form)?;
    }
    if !set.is_empty() {
        let fields = tag_fields(&set);
        let mut form = vec![(kind.field(), handle)];
        form.extend(borrowed(&fields));
        iam.change(&format!("Tag{}", kind.word()), &form)?;
    }
    Ok(())
}
