//! Ownership of a user. Redis stores no comments, so the mark is a password that nobody has: among
//! the digests of passwords that the server stores, one is the digest of nothing and contains the
//! resource's digits.

use purlin_sdk::Subject;

/// The beginning of the mark: `purlin` in hexadecimal, and zeros up to the missing length.
const MARK: &str = "7075726c696e000000000000";

/// A resource as the server knows it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) guresid: String,
    /// The name of the user, if its id or a person gives it.
    pub(crate) name: Option<String>,
    /// Whether a person gave it: then the user may have no mark.
    pub(crate) is_named: bool,
}

impl Identity {
    /// From its id: one of ours, `user/GURESID/NAME`, or a name that a person gave. A resource
    /// whose URN has changed keeps its original mark.
    pub(crate) fn of(subject: &Subject, id: Option<&str>) -> Self {
        let guresid = subject.guresid.clone();
        let ours = id.and_then(|id| id.strip_prefix("user/")?.split_once('/')).filter(|(guresid, _)| {
            guresid.len() == 40 && guresid.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        match (ours, id) {
            (Some((guresid, name)), _) => {
                Self { guresid: guresid.to_owned(), name: Some(name.to_owned()), is_named: false }
            }
            (None, Some(name)) => Self { guresid, name: Some(name.to_owned()), is_named: true },
            (None, None) => Self { guresid, name: None, is_named: false },
        }
    }

    /// The provider id of a user with this name.
    pub(crate) fn id(&self, name: &str) -> String {
        format!("user/{}/{name}", self.guresid)
    }

    /// The mark, as a digest of a password.
    pub(crate) fn mark(&self) -> String {
        format!("{MARK}{}", self.guresid)
    }
}

/// Whether a digest of a password is a mark, this resource's or another's.
pub(crate) fn is_mark(digest: &str) -> bool {
    digest.len() == 64 && digest.starts_with(MARK)
}
