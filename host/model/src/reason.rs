//! Why a step of a plan is taken, why a recorded resource is not as wanted, and what was found about
//! one: values that the planner decides with, the state stores and programs read (SPEC §9, §10).
//!
//! There are no sentences in here; `words.rs` has all of them. Each value has a stable code in kebab
//! case, and serialises as a map of the code and its data.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::{Departure, Key, Label, Urn};

/// Why a step of a plan is taken (SPEC §9). A step has none, one or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// It is not recorded: it does not exist yet.
    New,
    /// It is recorded as gone, and the documents ask for it.
    Gone,
    /// Inputs have other values than those it was last provisioned with.
    InputsChanged,
    /// Inputs read values that become known while the plan is carried out, and may differ then.
    InputsMayChange,
    /// The inputs differ from the recorded ones only before the driver's `check` fills in defaults.
    InputsChangedBeforeCheck,
    /// It was found to differ from what the documents say when it was adopted or read.
    FoundDifferent,
    /// Another definition provisions it.
    DefinitionChanged {
        /// Id of the definition so far.
        before: Arc<str>,
        /// Id of the definition from now on.
        now: Arc<str>,
    },
    /// Another driver provisions it.
    DriverChanged {
        /// Name of the driver so far.
        before: Arc<str>,
        /// Name of the driver from now on.
        now: Arc<str>,
    },
    /// Its driver has another version.
    DriverVersionChanged {
        /// Name of the driver.
        driver: Arc<str>,
        /// The version so far.
        before: Arc<str>,
        /// The version from now on.
        now: Arc<str>,
    },
    /// Its driver has the same version and other bytes.
    DriverRebuilt {
        /// Name of the driver.
        driver: Arc<str>,
    },
    /// Its driver reports that an input that changes cannot be changed in place.
    CannotChangeInPlace {
        /// JSON Pointer into `{values, secrets, params, account}`.
        path: Arc<str>,
    },
    /// Its driver has no `update`.
    DriverCannotUpdate {
        /// Name of the driver.
        driver: Arc<str>,
    },
    /// The documents say that a change there replaces it (`lifecycle.replace_on_changes`).
    ReplaceOnChanges {
        /// The path, as the documents write it.
        path: Arc<str>,
    },
    /// It is marked to be replaced (`purlin state taint`).
    Tainted,
    /// The caller asks to replace it (`--replace`).
    ReplaceRequested,
    /// It is replaced together with another one (`lifecycle.replace_with`).
    ReplacedWith {
        /// The other resource.
        other: Key,
    },
    /// It goes with another one (`lifecycle.deleted_with`), which is replaced or deleted.
    GoesWith {
        /// The other resource.
        other: Key,
    },
    /// The caller asks to provision every resource (`--full`).
    Full,
    /// It exists, and is to be managed from now on (`lifecycle.import`).
    Adopted {
        /// The driver's id of it.
        #[serde(serialize_with = "shown")]
        id: Label,
    },
    /// It was only observed so far, and is to be managed from now on.
    NoLongerObserved,
    /// Others manage it, and it is only observed (`lifecycle.observe`).
    Observed {
        /// The driver's id of it.
        #[serde(serialize_with = "shown")]
        id: Label,
    },
    /// It stands for an installation of another environment.
    Uses {
        /// That installation.
        other: Urn,
    },
    /// It was managed so far, and is only observed from now on.
    NoLongerManaged,
    /// The documents no longer ask for it.
    LeftDocuments {
        /// Why; none where that is not known.
        #[serde(flatten)]
        departure: Option<Box<Departure>>,
    },
    /// The caller asks to delete what is recorded (`purlin destroy`).
    Destroyed,
    /// It is an old copy: a new one took its place, and it could not be deleted then.
    Replaced,
    /// Others manage it: its record is removed, and no driver is called.
    ForgottenExternal,
    /// It is gone already: its record is removed, and no driver is called.
    ForgottenGone,
    /// It is retained (`lifecycle.retain`): its record is removed, and no driver is called.
    ForgottenRetained,
    /// Its replacement retains the old one (`lifecycle.retain`), which no record is kept of.
    OldOneRetained,
    /// What exists was to be retained (`lifecycle.retain`), and is deleted with the resource that it lives in.
    OldOneNotRetained {
        /// What it lives in.
        other: Key,
    },
    /// It is read, to record what it is like now (`purlin refresh`).
    Refreshed,
    /// A call that deletes it was interrupted, and what became of it is found out.
    InterruptedDelete,
    /// A call that creates it was interrupted, and may have succeeded.
    MayExist,
    /// A call that creates a new one in its place was interrupted, and may have succeeded.
    NewOneMayExist,
    /// A call that deletes it was interrupted, and may have succeeded.
    MayBeGone,
    /// It is paused (`lifecycle.paused`): no driver is called for it.
    Paused,
    /// It waits for a resource that cannot be provisioned now, and so is left alone (SPEC §7).
    Waits(Wait),
    /// An operation on it failed a short time ago, and it is tried again later.
    BackedOff {
        /// The failure, without secrets.
        #[serde(rename = "error")]
        message: Arc<str>,
    },
    /// It was changed outside of Purlin, and the workspace has that reported, not repaired
    /// (`reconcile.drift: report`).
    DriftReported,
    /// It is to be deleted or replaced, and nobody could be asked for consent.
    NeedsConsent {
        /// Which of the two.
        action: Arc<str>,
    },
    /// It is recorded as unfinished.
    #[serde(untagged)]
    Unfinished(Unfinished),
}

/// A wait for something that cannot be provisioned now, and the way there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The resources on the way, beginning with the one that is depended on directly; empty where that
    /// is `what`.
    pub through: Vec<Key>,
    /// How many further resources, at the end of the way, `through` leaves out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// What there is to wait for.
    #[serde(flatten)]
    pub what: Awaited,
}

/// The longest way that a wait names whole: a chain of thousands of resources would take the square of
/// its length otherwise.
const LONGEST_WAY: usize = 32;

impl Wait {
    /// A wait without a way.
    pub fn directly(what: Awaited) -> Self {
        Self { through: Vec::new(), left_out: 0, what }
    }

    /// The same wait of a resource that depends on `key`.
    #[must_use]
    pub fn via(&self, key: &Key) -> Self {
        let kept = self.through.len().min(LONGEST_WAY - 1);
        let through = [key].into_iter().chain(self.through.iter().take(kept)).cloned().collect();
        Self { through, left_out: self.left_out + self.through.len() - kept, what: self.what.clone() }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What a resource waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "for", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Awaited {
    /// A resource that a reference field names and no document declares.
    Missing {
        /// What the field names, in words.
        target: Arc<str>,
        /// The field as it was written, such as `vpcIdRef: net`.
        field: Arc<str>,
        /// Where, as `FILE:LINE:COLUMN`.
        at: Arc<str>,
        /// A resource with a like name.
        near: Option<Key>,
    },
    /// A resource that is left alone and depends on the old one of a replacement, which has to be deleted
    /// first.
    Dependent {
        /// Which.
        key: Key,
    },
    /// A value that a reference field reads, and that the other resource has not, or has empty.
    Empty {
        /// Of which resource.
        key: Key,
        /// Where the value lies, such as `id`.
        path: Arc<str>,
        /// The reference field, as `FILE:LINE:COLUMN`.
        at: Arc<str>,
    },
    /// A resource that is paused, and does not exist or still depends on what waits.
    Paused {
        /// Which.
        key: Key,
    },
    /// A resource on which an operation failed.
    Failed {
        /// Which.
        key: Key,
        /// The failure, without secrets.
        #[serde(rename = "error")]
        message: Arc<str>,
    },
    /// A resource that takes consent to be replaced.
    NeedsConsent {
        /// Which.
        key: Key,
    },
}

/// Why a resource that exists is not known to be as the last deployment wanted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Unfinished {
    /// Others changed it.
    Drifted,
    /// The call that updates it was interrupted.
    InterruptedUpdate,
    /// The call that creates it was interrupted.
    InterruptedCreate,
    /// Its driver could not finish, or did something else than it had promised.
    Failed {
        /// What failed, without secrets.
        #[serde(rename = "error")]
        message: String,
    },
}

/// What was found about a resource while a plan was carried out, or looked at for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "finding", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// It differs from its record.
    Changed,
    /// It does not exist any more.
    Gone,
    /// It was created a moment ago, and its system does not show it yet.
    NotVisible,
    /// The interrupted call created it.
    Created,
    /// The interrupted call did not create it.
    NotCreated,
    /// Whether the interrupted call created it cannot be found out.
    MayExist,
    /// The interrupted call will be repeated, which creates it unless it exists.
    CreateRepeated,
    /// The interrupted call may have updated it, so that the plan compares it with the documents.
    MayBeUpdated,
    /// The interrupted call did not delete it.
    NotDeleted,
    /// Its record was removed, and it was not deleted.
    Forgotten,
    /// Its record was removed, and it was not deleted: another record is about the same real thing.
    ForgottenShared,
    /// A call with the recorded inputs failed, and one with those of the current documents succeeded.
    CurrentInputs,
    /// It was not recorded, and its driver found it by its name.
    FoundByName,
}

impl From<Unfinished> for Reason {
    fn from(unfinished: Unfinished) -> Self {
        Self::Unfinished(unfinished)
    }
}

impl Reason {
    /// A stable short name, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::InputsChanged => "inputs-changed",
            Self::InputsMayChange => "inputs-may-change",
            Self::InputsChangedBeforeCheck => "inputs-changed-before-check",
            Self::FoundDifferent => "found-different",
            Self::DefinitionChanged { .. } => "definition-changed",
            Self::DriverChanged { .. } => "driver-changed",
            Self::DriverVersionChanged { .. } => "driver-version-changed",
            Self::DriverRebuilt { .. } => "driver-rebuilt",
            Self::CannotChangeInPlace { .. } => "cannot-change-in-place",
            Self::DriverCannotUpdate { .. } => "driver-cannot-update",
            Self::ReplaceOnChanges { .. } => "replace-on-changes",
            Self::Tainted => "tainted",
            Self::ReplaceRequested => "replace-requested",
            Self::ReplacedWith { .. } => "replaced-with",
            Self::GoesWith { .. } => "goes-with",
            Self::Full => "full",
            Self::Unfinished(unfinished) => unfinished.code(),
            Self::Adopted { .. } => "adopted",
            Self::NoLongerObserved => "no-longer-observed",
            Self::Observed { .. } => "observed",
            Self::Uses { .. } => "uses",
            Self::NoLongerManaged => "no-longer-managed",
            Self::LeftDocuments { .. } => "left-documents",
            Self::Destroyed => "destroyed",
            Self::Replaced => "replaced",
            Self::ForgottenExternal => "forgotten-external",
            Self::ForgottenGone => "forgotten-gone",
            Self::ForgottenRetained => "forgotten-retained",
            Self::OldOneRetained => "old-one-retained",
            Self::OldOneNotRetained { .. } => "old-one-not-retained",
            Self::Refreshed => "refreshed",
            Self::InterruptedDelete => "interrupted-delete",
            Self::MayExist => "may-exist",
            Self::NewOneMayExist => "new-one-may-exist",
            Self::MayBeGone => "may-be-gone",
            Self::Paused => "paused",
            Self::Waits(_) => "waits",
            Self::BackedOff { .. } => "backed-off",
            Self::DriftReported => "drift-reported",
            Self::NeedsConsent { .. } => "needs-consent",
        }
    }
}

impl Unfinished {
    /// A stable short name, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Drifted => "drifted",
            Self::InterruptedUpdate => "interrupted-update",
            Self::InterruptedCreate => "interrupted-create",
            Self::Failed { .. } => "failed",
        }
    }
}

impl Finding {
    /// A stable short name, for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::NotVisible => "not-visible",
            Self::Created => "created",
            Self::NotCreated => "not-created",
            Self::MayExist => "may-exist",
            Self::CreateRepeated => "create-repeated",
            Self::MayBeUpdated => "may-be-updated",
            Self::NotDeleted => "not-deleted",
            Self::Forgotten => "forgotten",
            Self::ForgottenShared => "forgotten-shared",
            Self::CurrentInputs => "current-inputs",
            Self::FoundByName => "found-by-name",
        }
    }
}

/// A driver's id, masked where it is secret.
fn shown<S: Serializer>(id: &Label, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
