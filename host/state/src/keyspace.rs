//! The keys of the entries. Code that stores entries needs to know nothing else about them.
//!
//! ```text
//! m │ key                                               the data key, sealed: a copy, in case its file is lost
//! n │ name                                              the environment of an exported file
//! r │ environment, 16 bytes │ rest of the URN [│ copy]   a record
//! i │ environment │ the same                             an intent
//! k │ environment │ the same                             the id that a driver reported during a call
//! u │ environment │ the same                             the obstacle of a resource
//! v │ environment │ the same                             objects of a resource that are gone and may be shown
//! h │ environment │ number, 8 │ id, 16 [│ documents, 32]  a deployment
//! d │ digest, 32 bytes │ environment                     documents
//! p │ environment │ id, 16 bytes                         a cookie that is stored apart
//! o │ environment │ number, 8                            a roll-out, in the fleet
//! t │ environment │ number, 8 │ time, 8 │ digest before, 32 │ digest, 32  an entry of the audit
//! l │ environment                                        who closed it
//! q │ environment                                        why the records may be older than the real state
//! ```

use sha2::{Digest, Sha256};

use crate::change::{CLOSED_NOTE, STALENESS_NOTE};
use crate::{Environment, RecordId};

/// The data key.
pub(crate) const DATA_KEY: &[u8] = b"mkey";
/// The name of the environment in an exported file.
pub(crate) const NAME_OF_EXPORT: &[u8] = b"nname";

/// The maximum length of a name, which is a URN without its environment, that is part of a key
/// unchanged.
const NAME: usize = 160;
/// The length of the part of a longer name that is kept.
const NAME_START: usize = 112;
/// Marks a long name. Text cannot contain this byte, so no short name resembles a long one.
const LONG: u8 = 0xff;
/// Marks the number of an old copy. Text cannot contain this byte either.
const COPY: u8 = 0xfe;

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EntryKind {
    Record = b'r',
    Intent = b'i',
    Checkpoint = b'k',
    ObstacleRecord = b'u',
    Vanished = b'v',
    Deployment = b'h',
    Documents = b'd',
    Cookie = b'p',
    Rollout = b'o',
    Audit = b't',
    Closed = b'l',
    Staleness = b'q',
}

/// A digest of an environment, as keys contain it.
pub(crate) type EnvironmentDigest = [u8; 16];

/// The environment in the form used in keys.
pub(crate) fn place(environment: &Environment) -> EnvironmentDigest {
    shortened(environment.urn_prefix().as_bytes())
}

/// A digest of 16 bytes.
pub(crate) fn shortened(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&Sha256::digest(bytes)[..16]);
    short
}

/// The prefix of the keys of a kind in an environment. Documents have no such prefix.
pub(crate) fn prefix(kind: EntryKind, place: &EnvironmentDigest) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + 16 + NAME);
    key.push(kind as u8);
    key.extend_from_slice(place);
    key
}

/// The prefix of all keys of a kind.
pub(crate) fn all(kind: EntryKind) -> [u8; 1] {
    [kind as u8]
}

/// The environment of a key; `None` if it belongs to no environment.
pub(crate) fn place_of(key: &[u8]) -> Option<&[u8]> {
    match key.first()? {
        b'd' => key.get(33..49),
        b'm' => None,
        _ => key.get(1..17),
    }
}

/// The part of a record's key behind the environment, which must be the prefix of its URN.
pub(crate) fn name(environment: &str, id: &RecordId) -> Option<Vec<u8>> {
    let name = id.urn.as_str().strip_prefix(environment)?.as_bytes();
    let mut key = Vec::with_capacity(NAME);
    if name.len() <= NAME {
        key.extend_from_slice(name);
    } else {
        key.extend_from_slice(name.get(..NAME_START)?);
        key.push(LONG);
        key.extend_from_slice(id.urn.guresid().as_str().as_bytes());
    }
    if let Some(copy) = id.superseded {
        key.push(COPY);
        key.extend_from_slice(&copy.to_be_bytes());
    }
    Some(key)
}

/// Whether the key of a record contains only the beginning of its name.
pub(crate) fn is_shortened(key: &[u8]) -> bool {
    key.get(17 + NAME_START) == Some(&LONG)
}

/// The key of an entry of a record; `None` for a URN without an environment.
pub(crate) fn of(kind: EntryKind, id: &RecordId) -> Option<Vec<u8>> {
    let environment = Environment::of_urn(&id.urn)?;
    let mut key = prefix(kind, &place(&environment));
    key.extend_from_slice(&name(&environment.urn_prefix(), id)?);
    Some(key)
}

/// The name of an entry whose content cannot be read.
pub(crate) fn describe(key: &[u8], environment: Option<&Environment>) -> String {
    let rest = key.get(17..).unwrap_or_default();
    let prefix = environment.map(Environment::urn_prefix).unwrap_or_default();
    let of = environment.map(|environment| format!(" of {environment}")).unwrap_or_default();
    match key.first() {
        Some(b'r' | b'i' | b'k' | b'u' | b'v') => format!("{prefix}{}", String::from_utf8_lossy(rest)),
        Some(b'h') => match deployment_number(key) {
            Some(number) => format!("deployment {number}{of}"),
            None => format!("a deployment{of}"),
        },
        Some(b'd') => format!("the documents of a deployment{of}"),
        Some(b'p') => format!("the private state of a driver{of}"),
        Some(b'o') => match rest.try_into() {
            Ok(number) => format!("roll-out {}", u64::from_be_bytes(number)),
            Err(_) => "a roll-out".into(),
        },
        Some(b't') => match AuditKey::parse(key) {
            Some(AuditKey { number, .. }) => format!("entry {number} of the audit{of}"),
            None => format!("an entry of the audit{of}"),
        },
        Some(b'l') => format!("{CLOSED_NOTE}{of}"),
        Some(b'q') => format!("{STALENESS_NOTE}{of}"),
        _ => "the state's own notes".into(),
    }
}

/// The data in a deployment's key, which allows the history to be maintained without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeploymentKey {
    pub(crate) number: u64,
    /// The digest of its id.
    pub(crate) id: [u8; 16],
    /// The digest of its documents.
    pub(crate) documents: Option<[u8; 32]>,
}

impl DeploymentKey {
    /// The digest of an id.
    pub(crate) fn id(id: &str) -> [u8; 16] {
        shortened(id.as_bytes())
    }

    pub(crate) fn to_key(self, place: &EnvironmentDigest) -> Vec<u8> {
        let mut key = prefix(EntryKind::Deployment, place);
        key.extend_from_slice(&self.number.to_be_bytes());
        key.extend_from_slice(&self.id);
        key.extend_from_slice(self.documents.as_ref().map_or(&[], |digest| digest.as_slice()));
        key
    }

    pub(crate) fn parse(key: &[u8]) -> Option<Self> {
        let (number, rest) = key.get(17..)?.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let documents = if rest.is_empty() { None } else { Some(rest.try_into().ok()?) };
        Some(Self { number: u64::from_be_bytes(*number), id: *id, documents })
    }
}

/// The number of a deployment, from its key.
pub(crate) fn deployment_number(key: &[u8]) -> Option<u64> {
    DeploymentKey::parse(key).map(|key| key.number)
}

/// The data in the key of an entry of the audit, which allows the chain to be continued and trimmed without
/// decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AuditKey {
    pub(crate) number: u64,
    /// In milliseconds since 1970.
    pub(crate) time: u64,
    /// The digest of the entry before it; zeros for the first.
    pub(crate) before: [u8; 32],
    pub(crate) digest: [u8; 32],
}

impl AuditKey {
    /// The key of the entry after `last`, whose content has this digest.
    pub(crate) fn after(last: Option<Self>, time: u64, content: &[u8; 32]) -> Self {
        let number = last.map_or(1, |last| last.number.saturating_add(1));
        let before = last.map_or([0; 32], |last| last.digest);
        Self { number, time, before, digest: Self::digest(number, time, &before, content) }
    }

    /// The digest of an entry.
    fn digest(number: u64, time: u64, before: &[u8; 32], content: &[u8; 32]) -> [u8; 32] {
        let numbers = [number.to_be_bytes(), time.to_be_bytes()].concat();
        Sha256::new().chain_update(numbers).chain_update(before).chain_update(content).finalize().into()
    }

    /// Whether it is that of an entry whose content has this digest.
    pub(crate) fn is_of(&self, content: &[u8; 32]) -> bool {
        self.digest == Self::digest(self.number, self.time, &self.before, content)
    }

    pub(crate) fn to_key(self, place: &EnvironmentDigest) -> Vec<u8> {
        let mut key = prefix(EntryKind::Audit, place);
        key.extend_from_slice(&self.number.to_be_bytes());
        key.extend_from_slice(&self.time.to_be_bytes());
        key.extend_from_slice(&self.before);
        key.extend_from_slice(&self.digest);
        key
    }

    pub(crate) fn parse(key: &[u8]) -> Option<Self> {
        let (number, rest) = key.get(17..)?.split_first_chunk()?;
        let (time, rest) = rest.split_first_chunk()?;
        let (before, rest) = rest.split_first_chunk()?;
        let (number, time) = (u64::from_be_bytes(*number), u64::from_be_bytes(*time));
        Some(Self { number, time, before: *before, digest: rest.try_into().ok()? })
    }
}

/// The first key behind all keys with a prefix, which begins with a letter.
pub(crate) fn behind(prefix: &[u8]) -> Vec<u8> {
    let mut behind = prefix.to_vec();
    while let Some(last) = behind.pop() {
        if let Some(next) = last.checked_add(1) {
            behind.push(next);
            break;
        }
    }
    behind
}

/// The key of documents in an environment.
pub(crate) fn documents(digest: &[u8; 32], place: &EnvironmentDigest) -> Vec<u8> {
    let mut key = all_documents(digest);
    key.extend_from_slice(place);
    key
}

/// The key of a roll-out.
pub(crate) fn rollout(number: u64, place: &EnvironmentDigest) -> Vec<u8> {
    let mut key = prefix(EntryKind::Rollout, place);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// The key of a cookie that is stored apart.
pub(crate) fn cookie(id: &[u8; 16], place: &EnvironmentDigest) -> Vec<u8> {
    let mut key = prefix(EntryKind::Cookie, place);
    key.extend_from_slice(id);
    key
}

/// The prefix of the keys of documents with a digest.
pub(crate) fn all_documents(digest: &[u8; 32]) -> Vec<u8> {
    [&all(EntryKind::Documents)[..], digest].concat()
}

#[cfg(test)]
mod tests {
    use purlin_model::Urn;

    use super::*;

    fn record(id: &str, copy: Option<u32>) -> RecordId {
        let urn = Urn::parse(&format!("urn:purlin:dev/o::a::shared::dns.default::{id}")).expect("a URN");
        RecordId { urn, superseded: copy }
    }

    #[test]
    fn keys_are_short_and_distinguish_long_names() {
        let long = "é".repeat(500);
        let key = |id: &str, copy| of(EntryKind::Record, &record(id, copy)).expect("a key");
        let (one, other) = (key(&format!("{long}1"), None), key(&format!("{long}2"), None));
        assert_ne!(one, other);
        assert!(one.len() <= 1 + 16 + NAME);
        let short = key("shared.api", None);
        assert!(short.ends_with(b"shared::dns.default::shared.api"));
        let environment = Environment { org: "o".into(), app: "a".into(), env: "dev".into() };
        let prefix = prefix(EntryKind::Record, &place(&environment));
        assert!(short.starts_with(&prefix) && one.starts_with(&prefix));
        assert_ne!(key("shared.api", Some(0)), short);
        assert!(key("shared.api", Some(1)) < key("shared.api", Some(256)));
        assert_eq!(describe(&short, Some(&environment)), record("shared.api", None).urn.as_str());
    }

    #[test]
    fn keys_of_the_audit_read_back_and_depend_on_the_one_before() {
        let first = AuditKey::after(None, 5, &[1; 32]);
        let second = AuditKey::after(Some(first), 6, &[2; 32]);
        assert_eq!((first.number, second.number, second.before), (1, 2, first.digest));
        for key in [first, second] {
            assert_eq!(AuditKey::parse(&key.to_key(&[9; 16])), Some(key));
        }
        assert!(second.is_of(&[2; 32]) && !second.is_of(&[1; 32]));
        for changed in [
            AuditKey { number: 3, ..second },
            AuditKey { time: 7, ..second },
            AuditKey { before: [0; 32], ..second },
        ] {
            assert!(!changed.is_of(&[2; 32]));
        }
        assert_eq!(AuditKey::parse(&[b't'; 90]), None);
    }

    #[test]
    fn what_is_behind_a_prefix_has_it_not() {
        assert_eq!(behind(&[b't', 1, 0xff]), [b't', 2]);
        assert_eq!(behind(&[b't', 0xff, 0xff]), [b'u']);
    }

    #[test]
    fn keys_of_deployments_read_back() {
        for documents in [None, Some([7; 32])] {
            let key = DeploymentKey { number: 300, id: DeploymentKey::id("x"), documents };
            assert_eq!(DeploymentKey::parse(&key.to_key(&[9; 16])), Some(key));
        }
        assert_eq!(DeploymentKey::parse(b"h"), None);
        assert_eq!(deployment_number(&[b'h'; 30]), None);
    }
}
