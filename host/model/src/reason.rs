//! Why a step of a plan is taken, why a recorded resource is not as wanted, and findings about one:
//! values that the planner decides with, the state stores and programs read (SPEC §9, §10).
//!
//! This module has no sentences; `words.rs` has all of them. Each value has a stable code in kebab
//! case, and serialises as a map of the code and its data.
//!
//! Reasons are data so that the engine can compare them, the state can store them, and programs get a
//! code instead of a sentence. Their sentences are never stored or compared.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::driver::PartAction;
use crate::{Departure, Key, Label, Urn};

/// Why a step of a plan is taken (SPEC §9). A step has none, one or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// It is not recorded: it does not exist yet.
    New,
    /// It is recorded as gone, and the documents contain it.
    Gone,
    /// Its inputs differ from those of the last provisioning.
    InputsChanged,
    /// Inputs read values that become known during the apply, and may differ then.
    InputsMayChange,
    /// The inputs differ from the recorded ones only before the driver's `check` fills in defaults.
    InputsChangedBeforeCheck,
    /// It differed from the documents when it was adopted or read.
    FoundDifferent,
    /// Another definition provisions it.
    DefinitionChanged {
        /// Id of the previous definition.
        before: Arc<str>,
        /// Id of the new definition.
        now: Arc<str>,
    },
    /// Another driver provisions it.
    DriverChanged {
        /// Name of the previous driver.
        before: Arc<str>,
        /// Name of the new driver.
        now: Arc<str>,
    },
    /// Its driver has another version.
    DriverVersionChanged {
        /// Name of the driver.
        driver: Arc<str>,
        /// The previous version.
        before: Arc<str>,
        /// The new version.
        now: Arc<str>,
    },
    /// Its driver has the same version and a different digest.
    DriverRebuilt {
        /// Name of the driver.
        driver: Arc<str>,
    },
    /// Its driver reports that an input that changes cannot be changed in place.
    CannotChangeInPlace {
        /// JSON Pointer into `{values, secrets, params, account}`.
        path: Arc<str>,
    },
    /// An input has a value that is not known yet. If it differs, the resource is replaced.
    ReplacedIfDiffers {
        /// JSON Pointer into `{values, secrets, params, connection, account}`.
        path: Arc<str>,
    },
    /// A part of it is deleted or replaced, or loses data, of which the plan did not know.
    PartNotPlanned {
        /// The address of the part.
        part: Arc<str>,
        /// What would happen to it.
        action: PartAction,
        /// The data that would be lost, in the driver's words.
        #[serde(skip_serializing_if = "Option::is_none")]
        loses: Option<Arc<str>>,
    },
    /// Its driver has no `update`.
    DriverCannotUpdate {
        /// Name of the driver.
        driver: Arc<str>,
    },
    /// The documents require that a change there replaces it (`lifecycle.replace_on_changes`).
    ReplaceOnChanges {
        /// The path, as the documents write it.
        path: Arc<str>,
    },
    /// It is marked for replacement (`purlin state taint`).
    Tainted,
    /// The caller requests its replacement (`--replace`).
    ReplaceRequested,
    /// It is replaced together with another one (`lifecycle.replace_with`).
    ReplacedWith {
        /// The other resource.
        other: Key,
    },
    /// It is deleted with another one (`lifecycle.deleted_with`), which is replaced or deleted.
    GoesWith {
        /// The other resource.
        other: Key,
    },
    /// The caller requests provisioning of every resource (`--full`).
    Full,
    /// It exists, and is managed from now on (`lifecycle.import`).
    Adopted {
        /// The driver's id for it.
        #[serde(serialize_with = "shown")]
        id: Label,
        /// The id that it was asked for by, if that is another one.
        #[serde(skip_serializing_if = "Option::is_none")]
        named: Option<Arc<str>>,
    },
    /// It was only observed so far, and is managed from now on.
    NoLongerObserved,
    /// Others manage it, and it is only observed (`lifecycle.observe`).
    Observed {
        /// The driver's id for it.
        #[serde(serialize_with = "shown")]
        id: Label,
    },
    /// It represents an installation of another environment.
    Uses {
        /// That installation.
        other: Urn,
    },
    /// It represents an installation of another environment in place of the own one.
    UsesInstead {
        /// That installation.
        other: Urn,
    },
    /// It represented an installation of another environment, which it lets go. That one stays.
    LetsGo {
        /// That installation.
        other: Urn,
    },
    /// It was managed so far, and is only observed from now on.
    NoLongerManaged,
    /// The documents no longer contain it.
    LeftDocuments {
        /// Why; none if unknown.
        #[serde(flatten)]
        departure: Option<Box<Departure>>,
    },
    /// The caller requests its deletion (`purlin destroy`).
    Destroyed,
    /// It is an old copy: a new one replaced it, and it could not be deleted then.
    Replaced,
    /// Others manage it: its record is removed, and no driver is called.
    ForgottenExternal,
    /// It is gone already: its record is removed, and no driver is called.
    ForgottenGone,
    /// It is retained (`lifecycle.retain`): its record is removed, and no driver is called.
    ForgottenRetained,
    /// Its replacement retains the old one (`lifecycle.retain`), of which no record is kept.
    OldOneRetained,
    /// It should be retained (`lifecycle.retain`), and is deleted with the resource that contains
    /// it.
    OldOneNotRetained {
        /// The resource that contains it.
        other: Key,
    },
    /// It is read, to record its current state (`purlin refresh`).
    Refreshed,
    /// A call that deletes it was interrupted, and the outcome is found out.
    InterruptedDelete,
    /// A call that creates it was interrupted, and may have succeeded.
    MayExist,
    /// A call that creates a new one in its place was interrupted, and may have succeeded.
    NewOneMayExist,
    /// A call that deletes it was interrupted, and may have succeeded.
    MayBeGone,
    /// It is paused (`lifecycle.paused`): no driver is called for it.
    Paused,
    /// It waits for a resource that cannot be provisioned now, and so is skipped (SPEC §7).
    Waits(Wait),
    /// An operation on it failed a short time ago, and it is tried again later.
    BackedOff {
        /// The failure, without secrets.
        #[serde(rename = "error")]
        message: Arc<str>,
    },
    /// Something was found while planning that prevents every operation on it. The rest of the plan is
    /// not affected.
    Refused {
        /// What it is, without secrets.
        #[serde(rename = "error")]
        message: Arc<str>,
    },
    /// It was changed outside of Purlin, and the workspace is configured to report that instead of
    /// repairing it (`reconcile.drift: report`).
    DriftReported,
    /// Its deletion or replacement needs consent, and there was no one to ask.
    NeedsConsent {
        /// Which of the two.
        action: Arc<str>,
    },
    /// It is recorded as unfinished.
    #[serde(untagged)]
    Unfinished(Unfinished),
}

/// A wait for something that cannot be provisioned now, and the path to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The resources on the path, beginning with the direct dependency; empty if that is `what`.
    pub through: Vec<Key>,
    /// How many further resources, at the end of the path, `through` omits.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// The target of the wait.
    #[serde(flatten)]
    pub what: Awaited,
}

/// The longest path that a wait lists completely: otherwise a chain of thousands of resources would
/// take the square of its length.
const LONGEST_WAY: usize = 32;

impl Wait {
    /// A wait without a path.
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
    /// The target of a reference field that no document declares.
    Missing {
        /// The target of the field, in words.
        target: Arc<str>,
        /// The field as written, such as `vpcIdRef: net`.
        field: Arc<str>,
        /// Where, as `FILE:LINE:COLUMN`.
        at: Arc<str>,
        /// A resource with a similar name.
        near: Option<Key>,
    },
    /// The target of a reference field that can mean several resources.
    Ambiguous {
        /// The field as written, such as `vpcIdRef: net`.
        field: Arc<str>,
        /// Where, as `FILE:LINE:COLUMN`.
        at: Arc<str>,
        /// Those resources.
        candidates: Vec<Key>,
    },
    /// A skipped resource that depends on the old one of a replacement, which has to be deleted
    /// first.
    Dependent {
        /// Which.
        key: Key,
    },
    /// A value that a reference field reads, but that is missing in the other resource, or
    /// empty.
    Empty {
        /// Of which resource.
        key: Key,
        /// The path of the value, such as `id`.
        path: Arc<str>,
        /// The reference field, as `FILE:LINE:COLUMN`.
        at: Arc<str>,
    },
    /// A paused resource that does not exist or still depends on the waiting one.
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
    /// A resource whose replacement needs consent.
    NeedsConsent {
        /// Which.
        key: Key,
    },
}

/// Why an existing resource is not known to match the last deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Unfinished {
    /// Others changed it.
    Drifted,
    /// The call that updates it was interrupted.
    InterruptedUpdate,
    /// The call that creates it was interrupted.
    InterruptedCreate,
    /// It was adopted, and its driver did not report all of its inputs. Those of the documents are
    /// recorded, but the object may have others: a driver never reports secrets.
    Unconfirmed,
    /// Its driver called it pending: it exists, or is going away, and is not done yet. Nothing failed.
    InProgress {
        /// What it waits for, without secrets.
        #[serde(rename = "waits_for")]
        message: String,
        /// Whether it is going away.
        deletes: bool,
        /// Whether an earlier call, whose outcome is unknown or which failed half-way, may have left more to
        /// do than to wait: an update follows.
        #[serde(skip)]
        in_doubt: bool,
    },
    /// Its driver could not finish, or broke its promise.
    Failed {
        /// What failed, without secrets.
        #[serde(rename = "error")]
        message: String,
    },
}

/// A finding about a resource during an apply, or while a plan was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[serde(tag = "finding", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// It differs from its record.
    Changed,
    /// It no longer exists.
    Gone,
    /// It was created a moment ago, and its system does not show it yet.
    NotVisible {
        /// The seconds after which it counts as gone if it is still not found.
        seconds: u64,
    },
    /// The interrupted call created it.
    Created,
    /// The interrupted call did not create it.
    NotCreated,
    /// It cannot be determined whether the interrupted call created it.
    MayExist,
    /// The interrupted call was made a moment ago. It may have created the resource, and its system
    /// does not show it yet.
    MayAppear {
        /// The seconds after which it was not created if it is still not found.
        seconds: u64,
    },
    /// The interrupted call will be repeated, which creates it unless it exists.
    CreateRepeated,
    /// The interrupted call may have updated it, so that the plan compares it with the documents.
    MayBeUpdated,
    /// The interrupted call did not delete it.
    NotDeleted,
    /// The interrupted call was made a moment ago. It may have deleted the resource, and its system
    /// still shows it.
    MayDisappear {
        /// The seconds after which it was not deleted if it is still found.
        seconds: u64,
    },
    /// Its record was removed, and it was not deleted.
    Forgotten,
    /// Its record was removed, and it was not deleted: another record is about the same real
    /// object.
    ForgottenShared,
    /// A call with the recorded inputs failed, and one with the current inputs succeeded.
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
            Self::Unfinished(unfinished) => unfinished.code(),
            other => other.into(),
        }
    }
}

impl Unfinished {
    /// A stable short name, for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

impl Finding {
    /// A stable short name, for programs.
    pub fn code(self) -> &'static str {
        self.into()
    }
}

/// A driver's id, masked if it is secret.
fn shown<S: Serializer>(id: &Label, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
