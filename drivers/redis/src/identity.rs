//! Whose a user is. Redis keeps no comments, so the mark is a password that nobody has: where the
//! server keeps digests of passwords there is one that is the digest of nothing, and has the
//! resource's digits in it.

use purlin_sdk::Resource;

/// Begins the mark: `purlin` in hexadecimal, and zeros up to the length that is missing.
const MARK: &str = "7075726c696e000000000000";

/// A resource as the server knows it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) guresid: String,
    /// The name that the user has, where its id or a person says so.
    pub(crate) name: Option<String>,
    /// Whether a person said it: then the user may be without a mark.
    pub(crate) is_named: bool,
}

impl Identity {
    /// By its id: one of ours, `user/GURESID/NAME`, or a name that a person said. A resource that has
    /// another URN by now keeps the mark that it was made with.
    pub(crate) fn of(resource: &Resource, id: Option<&str>) -> Self {
        let guresid = resource.guresid.clone();
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

/// Whether a digest of a password is a mark, be it this resource's or another's.
pub(crate) fn is_mark(digest: &str) -> bool {
    digest.len() == 64 && digest.starts_with(MARK)
}
