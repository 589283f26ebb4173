//! Plans in files (SPEC §9): sealed with the state's key, and bound to the state that they were
//! made from.

use std::sync::Arc;

use purlin_engine::{Base, OperationOutline, Plan, PlanOptions, RecordDigest, Scope};
use purlin_state::{Deployment, Outcome, decode_changes, encode_changes};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::history::latest;
use crate::{ContextChanges, Documents, Error, Purlin, Session};

/// The first line of a plan file; the number is its format.
const MAGIC: &[u8] = b"purlin plan 1\n";

/// Whether bytes begin like a plan file.
pub fn begins_as_plan(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// A plan that was read from a file.
pub struct SavedPlan {
    kept: SavedFields,
}

#[derive(Serialize, Deserialize)]
struct SavedFields {
    fingerprint: [u8; 32],
    prelude: Vec<u8>,
    drawn: Vec<u8>,
    outline: Vec<OperationOutline>,
    marks: Vec<RecordDigest>,
    /// What ties effects to the forecasts in the plan, each with the name of its effect.
    tokens: Vec<(String, Vec<u8>)>,
    documents: Vec<u8>,
    deployment: String,
    full: bool,
    keep_removed: bool,
    orphan_shared: bool,
    scope: Scope,
    replace: Vec<String>,
    /// The changes to the recorded context that were confirmed when the plan was made.
    changes: ContextChanges,
}

impl Purlin {
    /// Saves a plan as the bytes of a file, sealed with the state's key, since it contains the
    /// secrets in the documents.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be sealed.
    pub async fn save(
        &self,
        plan: &Plan,
        documents: &Documents,
        options: &PlanOptions,
    ) -> Result<Vec<u8>, Error> {
        let saved = plan.save();
        let PlanOptions {
            full,
            keep_removed,
            orphan_shared,
            scope,
            replace,
            // The plan has them.
            checked_inputs: _,
            // Of commands that save no plan.
            import: _,
            import_only: _,
            left_alone: _,
            // Of the workspace, and of the command that applies it.
            offline: _,
            parallelism: _,
            rules: _,
            stores: _,
        } = options.clone();
        let kept = SavedFields {
            fingerprint: saved.fingerprint,
            prelude: encode_changes(&saved.prelude)?.to_vec(),
            drawn: encode_changes(&saved.checked_inputs)?.to_vec(),
            outline: saved.outline,
            marks: saved.record_digests,
            tokens: saved
                .tokens
                .iter()
                .map(|(effect, token)| (effect.clone(), token.as_bytes().to_vec()))
                .collect(),
            documents: documents.archive(),
            deployment: plan.context.deployment.to_string(),
            full,
            keep_removed,
            orphan_shared,
            scope,
            replace,
            changes: documents.changes,
        };
        let plain = Zeroizing::new(serde_json::to_vec(&kept).unwrap_or_default());
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.store().await?.seal(&plain).await?);
        Ok(bytes)
    }

    /// Reads the bytes of a plan file.
    ///
    /// # Errors
    /// [`Error::Archive`] if they are not a plan, [`Error::State`] if they were sealed with another
    /// key.
    pub async fn open_plan(&self, bytes: &[u8]) -> Result<SavedPlan, Error> {
        let damaged = |what: &str| Error::Archive(what.to_owned());
        let Some(sealed) = bytes.strip_prefix(MAGIC) else {
            let newer = bytes.starts_with(b"purlin plan ");
            return Err(damaged(if newer {
                "this plan was written by another version of purlin; plan again"
            } else {
                "this is not a plan; `purlin plan --out FILE` writes one"
            }));
        };
        let plain = self.store().await?.unseal(sealed).await?;
        let kept =
            serde_json::from_slice(&plain).map_err(|_| damaged("the content of the plan is invalid"))?;
        Ok(SavedPlan { kept })
    }
}

impl SavedPlan {
    /// The documents that the plan was made from.
    ///
    /// # Errors
    /// [`Error::Documents`] if the documents are no longer valid.
    pub fn documents(&self) -> Result<Documents, Error> {
        let documents = Documents::from_archive(&self.kept.documents, &self.kept.deployment)?;
        Ok(Documents { changes: self.kept.changes, ..documents })
    }

    /// The id of the deployment that carries it out.
    pub(crate) fn deployment(&self) -> Arc<str> {
        self.kept.deployment.as_str().into()
    }

    fn options(&self) -> Result<PlanOptions, Error> {
        let SavedFields {
            drawn,
            full,
            keep_removed,
            orphan_shared,
            scope,
            replace,
            // What the plan is compared with.
            fingerprint: _,
            prelude: _,
            outline: _,
            marks: _,
            tokens: _,
            documents: _,
            deployment: _,
            changes: _,
        } = &self.kept;
        let checked_inputs = decode_changes(drawn)?;
        Ok(PlanOptions {
            full: *full,
            keep_removed: *keep_removed,
            orphan_shared: *orphan_shared,
            scope: scope.clone(),
            replace: replace.clone(),
            checked_inputs: purlin_engine::checked_inputs(checked_inputs),
            ..PlanOptions::default()
        })
    }
}

impl Session<'_> {
    /// The unsuccessful deployment that began to execute a saved plan, if nothing else has changed
    /// the state since. The caller must find out the outcome of its calls before continuing it
    /// ([`Self::plan_recovery`]). `None` for a plan that was not begun.
    ///
    /// # Errors
    /// [`Error::Stale`] if the state changed in any other way since the plan was made.
    pub(crate) async fn begun(&self, saved: &SavedPlan) -> Result<Option<Deployment>, Error> {
        let kept = &saved.kept;
        let mut history = self.purlin.history(self.environment()).await?;
        let place = latest(&history).filter(|latest| *latest.id == *kept.deployment);
        let number = place.filter(|latest| latest.outcome != Outcome::Succeeded).map(|latest| latest.number);
        let begun = history.iter().position(|entry| Some(entry.number) == number);
        let begun = begun.map(|place| history.swap_remove(place));
        let base: Base = self.base().await?;
        if base.fingerprint() == kept.fingerprint {
            return Ok(begun);
        }
        match begun.is_some() && purlin_engine::is_left_by_run(&kept.marks, &kept.outline, &base) {
            true => Ok(begun),
            false => Err(Error::Stale),
        }
    }

    /// A saved plan, ready to be executed; for a plan that was begun ([`Self::begun`]), the
    /// remaining part. `documents` are those that it was made from, or newer ones, which must then
    /// lead to the same plan.
    ///
    /// # Errors
    /// [`Error::Stale`] if the state changed since; [`Error::Deviates`] if the plan would now
    /// differ from the saved one.
    pub(crate) async fn replan(&self, saved: &SavedPlan, documents: &Documents) -> Result<Plan, Error> {
        let kept = &saved.kept;
        let begun = self.begun(saved).await?.is_some();
        let mut base: Base = self.base().await?;
        let is_as_then = base.fingerprint() == kept.fingerprint;
        if is_as_then {
            base = base.with(decode_changes(&kept.prelude)?)?;
        }
        let changes = documents.changes.or(kept.changes);
        let mut plan = self.purlin.plan_with(documents, changes, base, saved.options()?, false).await?;
        plan.goes_on = begun;
        plan.agree_to(
            kept.tokens.iter().map(|(effect, token)| (effect.clone(), token.clone().into())).collect(),
        );
        let deviations = match is_as_then {
            true => purlin_engine::deviations(&kept.outline, &plan.outline()),
            false => purlin_engine::deviations_of_rest(&kept.outline, &plan),
        };
        if deviations.is_empty() { Ok(plan) } else { Err(Error::Deviates(deviations)) }
    }
}
