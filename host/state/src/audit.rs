//! The audit of an environment: who changed its state, from where and why.
//!
//! An entry is part of the commit of the change that it is about. Each one carries the digest of the one
//! before it, so that a missing or changed entry shows.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::Holder;

/// What was done to the state.
///
/// It serialises in the published, versioned form: `action` of `audit` in `docs/src/reference/json.md`. The
/// state records it as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum AuditAction {
    /// A plan was executed, whichever command or watch made it.
    Run,
    /// Resources were forgotten.
    Forget,
    /// The outcome of an interrupted call was recorded.
    Settle,
    /// Resources were protected.
    Protect,
    /// The protection of resources ended.
    Unprotect,
    /// Resources were marked for replacement.
    Taint,
    /// The mark for replacement was removed.
    Untaint,
    /// Resources got other names.
    Rename,
    /// Resources moved to or from another environment.
    Move,
    /// Installations were shared.
    Share,
    /// Installations are no longer shared.
    Unshare,
    /// The environment was closed to deployments.
    Lock,
    /// The environment was opened to deployments.
    Unlock,
    /// The environment was copied to another state, or back.
    Copy,
    /// Everything that is recorded in the environment was replaced by an export.
    Import,
    /// Damage was repaired.
    Repair,
    /// The key of the state was replaced.
    RotateKey,
    /// A roll-out was started.
    StartRollout,
    /// A roll-out was paused.
    PauseRollout,
    /// A roll-out was resumed.
    ResumeRollout,
    /// A roll-out was undone.
    UndoRollout,
    /// A roll-out reached its next wave or its end, or stopped.
    AdvanceRollout,
}

impl AuditAction {
    /// The word, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What a database says of the connection that made a change. The client cannot choose it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatabaseUser {
    /// The role that logged in.
    pub role: String,
    /// The address of the client as the server sees it; `None` for a connection on the server's machine that
    /// uses a socket file.
    pub address: Option<String>,
}

/// One change of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number within the environment, from 1. The store assigns it.
    pub number: u64,
    /// Who made the change according to the client, with which command, and when.
    pub by: Holder,
    /// Who made it according to the database. The store fills it in; `None` if the state is in a folder.
    pub database_user: Option<DatabaseUser>,
    /// What was done.
    pub action: AuditAction,
    /// To what: URNs, environments, or the number of a roll-out. Empty for a run.
    pub subjects: Vec<Arc<str>>,
    /// The id of the deployment that a run belongs to.
    pub deployment: Option<Arc<str>>,
    /// For a run, the number of resources that its plan changes.
    pub resources: u64,
    /// Why, if somebody said.
    pub reason: Option<Arc<str>>,
    /// The digest of the entry before it; zeros for the first. The store assigns it.
    pub before: [u8; 32],
    /// The digest of this entry, SHA-256. The store assigns it.
    pub digest: [u8; 32],
}

impl AuditEntry {
    /// An entry without subjects and a reason, whose number and digests the store assigns.
    pub fn new(by: Holder, action: AuditAction) -> Self {
        let (before, digest) = ([0; 32], [0; 32]);
        let (database_user, subjects, deployment, reason) = (None, Vec::new(), None, None);
        Self {
            number: 0,
            by,
            database_user,
            action,
            subjects,
            deployment,
            resources: 0,
            reason,
            before,
            digest,
        }
    }
}

/// The audit of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditTrail {
    /// The entries that are kept and can be read, the oldest first.
    pub entries: Vec<AuditEntry>,
    /// Where the chain of entries is broken.
    pub faults: Vec<AuditFault>,
}

/// A place where the chain of an audit is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditFault {
    /// Entries are missing, from the first to the last of these numbers.
    Missing(u64, u64),
    /// The entry with this number is not what was written.
    Changed(u64),
    /// The entry with this number was not written after the one that is before it now.
    Unlinked(u64),
}

impl fmt::Display for AuditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(first, last) if first == last => write!(f, "entry {first} is missing"),
            Self::Missing(first, last) => write!(f, "entries {first} to {last} are missing"),
            Self::Changed(number) => write!(f, "entry {number} was changed"),
            Self::Unlinked(number) => write!(f, "entry {number} does not follow the one before it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;
    use crate::encode::Writes;
    use crate::keys::Keyring;
    use crate::keyspace::{self, EntryKind};
    use crate::table::Table;
    use crate::{Change, Environment, snapshot};

    #[test]
    fn a_missing_or_changed_entry_is_found() {
        let (keys, environment) = (Keyring::in_memory(), Environment::fleet());
        let mut table = Table::default();
        for time in 1..=6 {
            let by = Holder { user: "a".into(), host: "b".into(), pid: 1, command: "c".into(), since: time };
            let entry = Box::new(AuditEntry::new(by, AuditAction::Taint));
            let change = Change::Audited { entry, kept_since: 0 };
            let writes = Writes::of(&[change], &environment, &keys).expect("encoded");
            let mut entries = Vec::new();
            table.resolve(writes.0, &mut entries);
            entries.into_iter().for_each(|(key, value)| table.apply(key, value));
        }
        let faults = |table: &Table| snapshot::audit(table, &environment, &keys).expect("reads").faults;
        assert_eq!(faults(&table), []);
        let all: Vec<(Vec<u8>, Vec<u8>)> =
            table.range(&keyspace::all(EntryKind::Audit)).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        assert_eq!(all.len(), 6);
        let mut change = |at: usize, value: Option<Vec<u8>>| {
            table.apply(all[at].0.clone(), value);
            let found = faults(&table);
            table.apply(all[at].0.clone(), Some(all[at].1.clone()));
            found
        };
        assert_eq!(change(2, None), [AuditFault::Missing(3, 3)]);
        // Another entry in its place, and one that cannot be read.
        assert_eq!(change(2, Some(all[4].1.clone())), [AuditFault::Changed(3)]);
        assert_eq!(change(2, Some(b"nothing".to_vec())), [AuditFault::Changed(3)]);
        // The oldest ones are removed after some time.
        assert_eq!(change(0, None), []);
        // A chain that somebody wrote anew from the third entry on.
        let mut forged = all[2].0.clone();
        forged[33] ^= 1;
        table.apply(all[2].0.clone(), None);
        table.apply(forged, Some(all[2].1.clone()));
        assert_eq!(faults(&table), [AuditFault::Unlinked(3), AuditFault::Changed(3)]);
    }

    #[test]
    fn an_action_serialises_as_its_word() {
        for action in AuditAction::VARIANTS {
            assert_eq!(serde_json::to_value(action).expect("JSON"), action.as_str());
        }
    }

    #[test]
    fn faults_read_like_sentences() {
        let faults = [
            AuditFault::Missing(3, 3),
            AuditFault::Missing(3, 5),
            AuditFault::Changed(2),
            AuditFault::Unlinked(7),
        ];
        assert_eq!(
            faults.map(|fault| fault.to_string()),
            [
                "entry 3 is missing",
                "entries 3 to 5 are missing",
                "entry 2 was changed",
                "entry 7 does not follow the one before it"
            ]
        );
    }
}
