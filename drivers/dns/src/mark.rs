//! Ownership: the guresid of a resource is in an account, of the zone itself or of a comment.
//! People use other accounts.

use purlin_sdk::Failure;

use crate::DnsOperation;
use crate::server::{Rrset, Zone};

/// Who owns an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// This resource's.
    Ours,
    /// Another resource's.
    Anothers,
    /// No resource's: created by people or by other programs.
    Nobodys,
}

pub(crate) fn zone(zone: &Zone, guresid: &str) -> Whose {
    whose(std::iter::once(zone.account.as_str()), guresid)
}

pub(crate) fn set(set: &Rrset, guresid: &str) -> Whose {
    whose(set.accounts(), guresid)
}

fn whose<'a>(mut accounts: impl Iterator<Item = &'a str>, guresid: &str) -> Whose {
    let mut whose = Whose::Nobodys;
    while let (Some(account), true) = (accounts.next(), whose != Whose::Ours) {
        if account == guresid {
            whose = Whose::Ours;
        } else if is_guresid(account) {
            whose = Whose::Anothers;
        }
    }
    whose
}

fn is_guresid(account: &str) -> bool {
    account.len() == 40 && account.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

impl DnsOperation<'_> {
    /// Rejects an object that now belongs to another resource. Objects that people created may have
    /// been imported.
    pub(crate) fn not_anothers(&self, what: &str, whose: Whose) -> Result<(), Failure> {
        match whose {
            Whose::Ours | Whose::Nobodys => Ok(()),
            Whose::Anothers => Err(Failure::conflict(format!("`{what}` is marked as another resource's"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_identifies_the_owner() {
        let (ours, anothers) = ("a".repeat(40), "0".repeat(40));
        let all = |accounts: &[&str]| whose(accounts.iter().copied(), &ours);
        assert_eq!(all(&[]), Whose::Nobodys);
        assert_eq!(all(&["", "ops"]), Whose::Nobodys);
        assert_eq!(all(&[&anothers, "ops"]), Whose::Anothers);
        assert_eq!(all(&["ops", &anothers, &ours]), Whose::Ours);
        assert_eq!(all(&["A".repeat(40).as_str()]), Whose::Nobodys);
    }
}
