//! Plans in files (SPEC §9): sealed with the state's key, bound to the state they were made from.

use purlin_engine::{Base, Line, Plan, PlanOptions, Scope};
use purlin_state::{decode_changes, encode_changes};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{ContextChanges, Documents, Error, Purlin, Session};

/// How a plan file begins; the number is its format.
const MAGIC: &[u8] = b"purlin plan 1\n";

/// Whether bytes begin as those of a plan's file do.
pub fn begins_as_plan(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// A plan that was read from a file.
pub struct SavedPlan {
    kept: Kept,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    fingerprint: [u8; 32],
    prelude: Vec<u8>,
    drawn: Vec<u8>,
    outline: Vec<Line>,
    /// None for a plan to delete everything.
    documents: Option<Vec<u8>>,
    deployment: String,
    full: bool,
    keep_removed: bool,
    targets: Vec<String>,
    exclude: Vec<String>,
    dependents: bool,
    replace: Vec<String>,
    /// Changes of the recorded context that were meant when the plan was made.
    #[serde(default)]
    changes: ContextChanges,
}

impl Purlin {
    /// A plan as the bytes of a file, sealed with the state's key: it holds what secrets the
    /// documents hold.
    ///
    /// # Errors
    /// [`Error::State`] when it cannot be sealed.
    pub async fn save(
        &self,
        plan: &Plan,
        documents: &Documents,
        options: &PlanOptions,
    ) -> Result<Vec<u8>, Error> {
        let saved = plan.save();
        let kept = Kept {
            fingerprint: saved.fingerprint,
            prelude: encode_changes(&saved.prelude)?.to_vec(),
            drawn: encode_changes(&saved.drawn)?.to_vec(),
            outline: saved.outline,
            documents: Some(documents.archive()),
            deployment: plan.context.deployment.to_string(),
            full: options.full,
            keep_removed: options.keep_removed,
            targets: options.scope.targets.clone(),
            exclude: options.scope.exclude.clone(),
            dependents: options.scope.dependents,
            replace: options.replace.clone(),
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
    /// [`Error::Archive`] when they are none, [`Error::State`] when they were sealed with another
    /// key.
    pub async fn open_plan(&self, bytes: &[u8]) -> Result<SavedPlan, Error> {
        let damaged = |what: &str| Error::Archive(what.to_owned());
        let Some(sealed) = bytes.strip_prefix(MAGIC) else {
            let newer = bytes.starts_with(b"purlin plan ");
            return Err(damaged(if newer {
                "this plan was written by another version of purlin; plan again"
            } else {
                "this is no plan; `purlin plan --out FILE` writes one"
            }));
        };
        let plain = self.store().await?.unseal(sealed).await?;
        let kept = serde_json::from_slice(&plain).map_err(|_| damaged("the plan does not read as one"))?;
        Ok(SavedPlan { kept })
    }
}

impl SavedPlan {
    /// The documents that it was made from.
    ///
    /// # Errors
    /// [`Error::Documents`] when what was right then is wrong now.
    pub fn documents(&self) -> Result<Documents, Error> {
        let bytes = self.kept.documents.as_deref().unwrap_or_default();
        let documents = Documents::from_archive(bytes, &self.kept.deployment)?;
        Ok(Documents { changes: self.kept.changes, ..documents })
    }

    fn options(&self) -> Result<PlanOptions, Error> {
        let kept = &self.kept;
        let drawn = decode_changes(&kept.drawn)?;
        Ok(PlanOptions {
            full: kept.full,
            keep_removed: kept.keep_removed,
            scope: Scope {
                targets: kept.targets.clone(),
                exclude: kept.exclude.clone(),
                dependents: kept.dependents,
            },
            replace: kept.replace.clone(),
            drawn: purlin_engine::drawn(drawn),
            ..PlanOptions::default()
        })
    }
}

impl Session<'_> {
    /// The plan of a file, ready to be carried out. `documents` are those that it was made from, or
    /// newer ones, which then may ask for nothing else.
    ///
    /// # Errors
    /// [`Error::Stale`] when the state changed since; [`Error::Deviates`] when something would be
    /// done that the plan does not say, or the other way round.
    pub async fn replan(&self, saved: &SavedPlan, documents: &Documents) -> Result<Plan, Error> {
        let base: Base = self.base().await?;
        if base.fingerprint() != saved.kept.fingerprint {
            return Err(Error::Stale);
        }
        let base = base.with(decode_changes(&saved.kept.prelude)?)?;
        let changes = documents.changes.or(saved.kept.changes);
        let plan = self.purlin.plan_with(documents, changes, base, saved.options()?, false).await?;
        let deviations = purlin_engine::deviations(&saved.kept.outline, &plan.outline());
        if deviations.is_empty() { Ok(plan) } else { Err(Error::Deviates(deviations)) }
    }
}
