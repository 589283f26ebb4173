//! The access key of a user. IAM returns its secret only once, at creation: if that answer is lost,
//! the key is useless and must be deleted.
//!
//! So before the driver creates a key, a tag records that, and which keys exist already; afterwards
//! the tag names the new one. A key that the tag names and that is not recorded is one whose answer
//! was lost. All others are somebody else's.

use purlin_sdk::{Failure, State, log};
use purlin_sdk_aws::xml::Element;
use purlin_sdk_aws::{Effect, RequestError};

use crate::api::{Iam, gone};
use crate::inputs::IamOutputs;
use crate::named::IamObject;

/// The tag about the key.
pub(crate) const TAG: &str = "purlin:access-key";

/// The content of the tag.
enum KeyTag {
    /// No key was ever created.
    Nothing,
    /// A key was being created while these others existed.
    Making(Vec<String>),
    /// This key was created.
    Made(String),
}

/// Keys of a user.
pub(crate) struct Keys {
    /// Ids, and whether each is active.
    all: Vec<(String, bool)>,
    tag: KeyTag,
}

impl Keys {
    pub(crate) fn of(iam: &Iam, found: &IamObject) -> Result<Self, Failure> {
        let user = [("UserName", found.text("UserName"))];
        let members = iam.list("ListAccessKeys", "AccessKeyMetadata", &user)?;
        let key = |it: &Element| {
            let id = it.text_of("AccessKeyId")?.to_owned();
            Some((id, it.text_of("Status") == Some("Active")))
        };
        let tag = match found.tags.get(TAG).and_then(|text| text.split_once(':')) {
            Some(("making", others)) => KeyTag::Making(others.split(' ').map(str::to_owned).collect()),
            Some(("made", id)) => KeyTag::Made(id.to_owned()),
            _ => KeyTag::Nothing,
        };
        Ok(Self { all: members.iter().filter_map(key).collect(), tag })
    }

    /// Whether a recorded key is still usable.
    pub(crate) fn opens(&self, recorded: Option<&str>) -> bool {
        self.all.iter().any(|(id, active)| *active && recorded == Some(id.as_str()))
    }

    /// Keys that this driver created: the recorded one, and one whose answer was lost.
    pub(crate) fn ours(&self, recorded: Option<&str>) -> Vec<&str> {
        let is_there = self.all.iter().any(|(id, _)| recorded == Some(id.as_str()));
        let lost = |id: &str| match &self.tag {
            KeyTag::Nothing => false,
            KeyTag::Made(made) => made == id,
            // The recorded one was deleted before another was created.
            KeyTag::Making(others) => !is_there && !others.iter().any(|other| other == id),
        };
        let ids = self.all.iter().map(|(id, _)| id.as_str());
        ids.filter(|id| recorded == Some(*id) || lost(id)).collect()
    }

    /// Keys that others created.
    pub(crate) fn foreign(&self, recorded: Option<&str>) -> Vec<&str> {
        let ours = self.ours(recorded);
        self.all.iter().map(|(id, _)| id.as_str()).filter(|id| !ours.contains(id)).collect()
    }
}

/// The id of the recorded key.
pub(crate) fn recorded(state: Option<&State>) -> Option<&str> {
    state.and_then(|state| state.secrets.get("access_key_id")).and_then(|it| it.as_str())
}

/// Deletes keys of ours.
pub(crate) fn delete(iam: &Iam, user: &str, ids: &[&str]) -> Result<(), Failure> {
    for id in ids {
        gone(iam.change("DeleteAccessKey", &[("UserName", user), ("AccessKeyId", id)]))?;
    }
    Ok(())
}

/// Creates a key, after deleting the useless ones.
pub(crate) fn make(iam: &Iam, user: &str, keys: &Keys, recorded: Option<&str>) -> Result<State, Failure> {
    delete(iam, user, &keys.ours(recorded))?;
    let foreign = keys.foreign(recorded);
    if foreign.len() > 1 {
        return Err(Failure::conflict(format!(
            "the user `{user}` has the access keys {}, which others created, and AWS allows two: delete one",
            foreign.join(" and ")
        )));
    }
    write_tag(iam, user, &format!("making:{}", foreign.join(" ")))?;
    let answer = iam.ask("CreateAccessKey", Effect::Another, &[("UserName", user)])?;
    let text = |name| answer.text_at(&["AccessKey", name]).filter(|it| !it.is_empty());
    let (Some(id), Some(secret)) = (text("AccessKeyId"), text("SecretAccessKey")) else {
        return Err(Failure::failed("IAM created an access key, but did not return it"));
    };
    if write_tag(iam, user, &format!("made:{id}")).is_err() {
        log::warn(format!("the tag `{TAG}` of the user `{user}` does not name its access key"));
    }
    State::default().described_outputs(&IamOutputs {
        access_key_id: Some(id.to_owned()),
        secret_access_key: Some(secret.to_owned()),
        ..IamOutputs::default()
    })
}

fn write_tag(iam: &Iam, user: &str, text: &str) -> Result<(), RequestError> {
    let tag = [("UserName", user), ("Tags.member.1.Key", TAG), ("Tags.member.1.Value", text)];
    iam.change("TagUser", &tag).map(drop)
}
