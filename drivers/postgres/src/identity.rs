//! Ownership. Databases and roles have a mark in their comment; a database that is being created
//! has a name that is a mark itself.

use purlin_sdk::{Failure, Subject};
use serde::{Deserialize, Serialize};

/// The beginning of every mark.
const MARK: &str = "purlin:";
/// The beginning of the name of a database that is being created.
const UNFINISHED: &str = "purlin_";

/// Whether a name is reserved for databases that are being created.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.strip_prefix(UNFINISHED).is_some_and(is_guresid)
}

fn is_guresid(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A resource as the server knows it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// `database`, `role` or `grant`.
    pub(crate) kind: &'static str,
    pub(crate) guresid: String,
    pub(crate) urn: String,
    /// The name with which a person imported it.
    pub(crate) named: Option<String>,
    /// The server on which it was created.
    pub(crate) system: Option<String>,
}

impl Identity {
    /// The identity of a new resource.
    pub(crate) fn new(kind: &'static str, subject: &Subject) -> Self {
        let (guresid, urn) = (subject.guresid.clone(), subject.urn.clone());
        Self { kind, guresid, urn, named: None, system: None }
    }

    /// From its id: one of ours, `KIND/GURESID@SERVER`, or a name that a person gave. A resource
    /// whose URN has changed keeps its original mark.
    pub(crate) fn of(kind: &'static str, subject: &Subject, id: Option<&str>) -> Self {
        let mut identity = Self::new(kind, subject);
        let Some(id) = id else { return identity };
        let ours = id
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix('/')?.split_once('@'))
            .filter(|(guresid, _)| is_guresid(guresid));
        match ours {
            Some((guresid, system)) => {
                identity.guresid = guresid.to_owned();
                identity.system = Some(system.to_owned()).filter(|system| system != UNKNOWN);
            }
            None => identity.named = Some(id.to_owned()),
        }
        identity
    }

    /// The provider id of an object on this server.
    pub(crate) fn id(&self, system: Option<&str>) -> String {
        format!("{}/{}@{}", self.kind, self.guresid, system.unwrap_or(UNKNOWN))
    }

    /// The comment. The text after the mark is for people.
    pub(crate) fn comment(&self) -> String {
        format!("{}; {} is managed by Purlin", self.mark(), self.urn)
    }

    /// The beginning of its comment.
    pub(crate) fn mark(&self) -> String {
        format!("{MARK}{}", self.guresid)
    }

    /// The name of a database until it is finished.
    pub(crate) fn unfinished(&self) -> String {
        format!("{UNFINISHED}{}", self.guresid)
    }

    /// Whether a candidate is certainly this resource.
    pub(crate) fn is(&self, candidate: &impl Candidate) -> bool {
        self.is_mine(candidate.comment()) || self.named.as_deref() == Some(candidate.name())
    }

    fn is_mine(&self, comment: Option<&str>) -> bool {
        comment.and_then(|comment| comment.strip_prefix(MARK)).and_then(|rest| rest.get(..40))
            == Some(self.guresid.as_str())
    }
}

/// Replaces, in an id, the server that does not report its identity.
const UNKNOWN: &str = "?";

/// The content of the cookie.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Kept {
    /// The server's number for it; none while it is unknown whether it was created.
    pub(crate) oid: Option<u32>,
}

/// An object that may be the resource.
pub(crate) trait Candidate {
    fn oid(&self) -> u32;
    fn name(&self) -> &str;
    fn comment(&self) -> Option<&str>;
}

/// The result of the search for a resource.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Located {
    /// At this place among the candidates.
    There(usize),
    /// The same, not finished.
    Unfinished(usize),
    Nowhere,
}

/// The candidate that is the resource: the one with its mark, with the server's number, or with the
/// name that a person gave, if it does not have another owner's mark.
pub(crate) fn locate<C: Candidate>(
    identity: &Identity,
    candidates: &[C],
    recorded: Option<u32>,
) -> Result<Located, Failure> {
    let position = |test: &dyn Fn(&C) -> bool| candidates.iter().position(test);
    let marked: Vec<usize> = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| {
            identity.is_mine(candidate.comment()) && candidate.name() != identity.unfinished()
        })
        .map(|(index, _)| index)
        .collect();
    let numbered =
        |index: &&usize| recorded.is_some() && candidates.get(**index).map(Candidate::oid) == recorded;
    if let (Some(named), None, [index]) = (&identity.named, recorded, marked.as_slice())
        && let Some(marked) = candidates.get(*index).filter(|candidate| candidate.name() != named)
    {
        return Err(another(identity, named, marked));
    }
    match marked.as_slice() {
        [] => {}
        [index] => return Ok(Located::There(*index)),
        [..] => {
            return match marked.iter().find(numbered) {
                Some(index) => Ok(Located::There(*index)),
                None => Err(Failure::conflict(format!(
                    "there are {} of them with the mark `{}` in their comment; remove the mark from the wrong ones",
                    marked.len(),
                    identity.mark(),
                ))),
            };
        }
    }
    if let Some(index) = position(&|candidate| candidate.name() == identity.unfinished()) {
        return Ok(Located::Unfinished(index));
    }
    let number = position(&|candidate| Some(candidate.oid()) == recorded);
    let name = position(&|candidate| Some(candidate.name()) == identity.named.as_deref());
    match number.or(name).map(|index| (index, candidates.get(index))) {
        Some((_, Some(candidate)))
            if candidate.comment().is_some_and(|comment| comment.starts_with(MARK)) =>
        {
            Err(taken(identity, candidate))
        }
        Some((index, _)) => Ok(Located::There(index)),
        None => Ok(Located::Nowhere),
    }
}

/// The failure for an import of an object whose resource already has another one, by its mark.
fn another<C: Candidate>(identity: &Identity, named: &str, marked: &C) -> Failure {
    let (kind, marked) = (identity.kind, marked.name());
    Failure::conflict(format!(
        "the {kind} `{marked}` has the mark of this resource in its comment, and not the {kind} `{named}`; import \
         `{marked}`, or remove the mark from its comment"
    ))
}

/// The failure for an object that has the name and another owner.
pub(crate) fn taken<C: Candidate>(identity: &Identity, candidate: &C) -> Failure {
    let (kind, name) = (identity.kind, candidate.name());
    Failure::conflict(match candidate.comment() {
        _ if identity.is_mine(candidate.comment()) => format!(
            "the {kind} `{name}` was created by this resource earlier, according to its comment; import it, \
             or delete it"
        ),
        Some(comment) => {
            format!(
                "the {kind} `{name}` already exists, and belongs to another resource; its comment is `{comment}`"
            )
        }
        None => format!(
            "the {kind} `{name}` already exists, without a mark of this resource; import it to adopt it"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct There(u32, &'static str, Option<String>);

    impl Candidate for There {
        fn oid(&self) -> u32 {
            self.0
        }

        fn name(&self) -> &str {
            self.1
        }

        fn comment(&self) -> Option<&str> {
            self.2.as_deref()
        }
    }

    fn ours(id: Option<&str>) -> Identity {
        Identity::of("database", &purlin_sdk::testing::subject(), id)
    }

    fn found(identity: &Identity, there: &[There], recorded: Option<u32>) -> Result<Located, String> {
        locate(identity, there, recorded).map_err(|failure| failure.to_string())
    }

    #[test]
    fn an_id_is_the_drivers_or_a_name_from_a_user() {
        let made = ours(None).id(Some("7"));
        assert_eq!(made, "database/0123456789abcdef0123456789abcdef01234567@7");
        let read = ours(Some(&made));
        assert_eq!((read.named.as_deref(), read.system.as_deref()), (None, Some("7")));
        assert_eq!(ours(Some("database/x@7")).named.as_deref(), Some("database/x@7"));
        assert_eq!(ours(Some(&ours(None).id(None))).system, None);
    }

    #[test]
    fn the_mark_decides_before_number_and_name() {
        let identity = ours(None);
        let (mine, hers) = (Some(identity.comment()), Some(format!("{MARK}{}", "f".repeat(40))));
        let there = [There(1, "a", None), There(2, "b", mine.clone()), There(3, "c", hers.clone())];
        assert_eq!(found(&identity, &there, Some(1)), Ok(Located::There(1)));
        let there = [There(1, "a", None), There(3, "c", hers)];
        assert_eq!(found(&identity, &there, None), Ok(Located::Nowhere));
        assert_eq!(found(&identity, &there, Some(1)), Ok(Located::There(0)));
        assert!(
            found(&identity, &there, Some(3)).is_err_and(|text| text.contains("belongs to another resource"))
        );
        assert_eq!(found(&ours(Some("a")), &there, None), Ok(Located::There(0)));
        assert!(found(&ours(Some("c")), &there, None).is_err());
        // An import names one object, and the mark is on another one.
        let named = ours(Some("a"));
        let text = found(&named, &[There(1, "a", None), There(2, "b", mine.clone())], None);
        assert!(text.is_err_and(|text| text.contains("import `b`")));
        // Once recorded, the resource may have been renamed.
        assert_eq!(found(&named, &[There(2, "b", mine.clone())], Some(2)), Ok(Located::There(0)));
        // A copy has the same comment: the number identifies the original.
        let there = [There(1, "a", mine.clone()), There(2, "b", mine)];
        assert_eq!(found(&identity, &there, Some(2)), Ok(Located::There(1)));
        assert!(found(&identity, &there, None).is_err_and(|text| text.contains("2 of them")));
    }

    #[test]
    fn unfinished_databases_have_a_mark_in_their_name() {
        let identity = ours(None);
        let unfinished: &'static str = "purlin_0123456789abcdef0123456789abcdef01234567";
        assert!(is_reserved(unfinished) && identity.unfinished() == unfinished && unfinished.len() < 64);
        let there = [There(1, unfinished, None)];
        assert_eq!(found(&identity, &there, None), Ok(Located::Unfinished(0)));
    }
}
