//! The guards of plans: one list that every verb passes. A plan of documents passes those before it, and
//! every plan those after it; so the guards of a verb cannot differ from those of another. What may have
//! changed between plan and run (uses, loops, drivers) is looked at again when the run begins
//! (`Session::apply_of`).
//!
//! | Guard | Consent |
//! |---|---|
//! | requirements without an answer | the answer |
//! | another context than the recorded one | `ContextChanges` |
//! | a rollback to what was deployed since | none: choose again |
//! | documents that vanished | `Documents::accept_missing` |
//! | a loop over environments | none |
//! | protected resources, resources in use, dependents that stay | the engine's options |
//! | an installation that would no longer fit its users | none: they use another one first |
//! | names like those that vanished | `Documents::accept_missing` |
//! | losses of data | `Plan::allow_losses`, asked by the follower |
//!
//! `impact` runs nothing, and its plans of changed documents pass the same guards. Losses of data are
//! effects that it shows.

use std::collections::{BTreeSet, HashMap, HashSet};

use purlin_engine::{Base, Plan};
use purlin_graph::Graph;
use purlin_model::{
    BundleReference, Diagnostic, InstallationRequest, InstallationShare, Key, Location, Urn, User,
};
use purlin_state::{Environment, Record};

use crate::missing_documents::similar;
use crate::sharing::is_installation;
use crate::{ContextChanges, Documents, Error, Purlin};

impl Purlin {
    /// The guards before a plan of documents. A plan that was made before (`is_new` is false) was
    /// already held against the last deployment.
    ///
    /// # Errors
    /// [`Error::Documents`] and others, each with what would be right.
    pub(crate) async fn guard_documents(
        &self,
        documents: &Documents,
        changes: ContextChanges,
        base: &Base,
        is_new: bool,
    ) -> Result<(), Error> {
        crate::installations::check_answered(documents.resolution())?;
        self.check_context_at(documents, changes, base).await?;
        if is_new {
            self.check_rollback(documents).await?;
            self.reject_missing_documents(documents, base).await?;
        }
        Ok(())
    }

    /// The guards after a plan. `gone` are the recorded resources that a new plan's documents no longer
    /// contain.
    ///
    /// # Errors
    /// As for [`Self::guard_documents`].
    pub(crate) async fn guard_plan(
        &self,
        mut plan: Plan,
        documents: Option<&Documents>,
        gone: &[Key],
        environment: &Environment,
    ) -> Result<Plan, Error> {
        let unsuited = self.unsuited_users(&plan).await?;
        if !unsuited.is_empty() {
            return Err(Error::Documents(unsuited));
        }
        if let Some(documents) = documents {
            let similar = similar::similar(documents, gone, &plan);
            if !similar.is_empty() {
                return Err(Error::Documents(similar));
            }
            self.explain_departures(&mut plan, documents).await?;
        }
        self.warn_of_last_uses(&mut plan).await?;
        self.allow_as_recorded(plan, environment).await
    }

    /// Finds the users in other environments whose installation would no longer fit them (SPEC §6).
    pub(crate) async fn unsuited_users(&self, plan: &Plan) -> Result<Vec<Diagnostic>, Error> {
        let Some(graph) = plan.graph() else { return Ok(Vec::new()) };
        let left_out: HashSet<&Key> =
            plan.steps.iter().filter(|step| step.left_out).map(|step| &step.key).collect();
        let changed: HashMap<Urn, Change<'_>> = graph
            .nodes()
            .filter(|node| !left_out.contains(node.key))
            .filter_map(|node| Some((graph.urn(node.id)?, node)))
            .filter_map(|(urn, node)| Change::of(plan, &urn, node.installation?).map(|change| (urn, change)))
            .collect();
        // Other environments are read only if that matters.
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let mut faults = Vec::new();
        for one in self.installations().await? {
            let Some(change) = changed.get(&one.listed.urn) else { continue };
            let unsuited = one.users.iter().find_map(|user| change.rejected_by(user));
            faults.extend(unsuited);
        }
        Ok(faults)
    }
}

/// A changed bundle of an installation.
struct Change<'a> {
    name: Key,
    before: Option<BundleReference>,
    now: BundleReference,
    share: &'a InstallationShare,
    location: &'a Location,
}

impl<'a> Change<'a> {
    /// `None` if a plan leaves the bundle of an installation as it is.
    fn of(plan: &Plan, urn: &Urn, request: &'a InstallationRequest) -> Option<Self> {
        let record: &Record = plan.recorded(urn).filter(|record| is_installation(record))?;
        let share = &*request.share;
        let known = record.share.as_deref()?;
        let is_as_before = record.definition == request.recipe.name
            && known.provides == share.provides
            && known.offers == share.offers;
        if is_as_before || share.uses.is_some() {
            return None;
        }
        Some(Self {
            name: urn.key()?,
            before: record.definition.as_deref().and_then(|name| name.parse().ok()),
            now: request.recipe.name.as_deref()?.parse().ok()?,
            share,
            location: &request.location,
        })
    }

    /// The fault if a user does not accept it.
    fn rejected_by(&self, user: &User) -> Option<Diagnostic> {
        let offered: BTreeSet<_> = self.share.offers.iter().map(|one| one.name.clone()).collect();
        let why =
            purlin_requirements::suits(user, &self.now, self.share.provides.as_ref(), &offered).err()?;
        let (id, now) = (self.name.id(), &self.now);
        let message = format!("`{now}` would no longer suit `{}`, which uses `{id}`", user.urn);
        let fault = Diagnostic::error("breaks-user", message).at(self.location);
        let fault = match (&user.needs.version, &why) {
            (Some(range), purlin_requirements::Rejection::OutOfRange) => {
                fault.fact(format!("that needs a version in `{range}`"))
            }
            (_, why) => fault.fact(why.to_string()),
        };
        if self.before.as_ref() == Some(now) {
            // The same version has other content.
            return Some(fault.help("undo the change of the bundle, or have that use another one first"));
        }
        Some(match (&self.before, id.rsplit_once('/')) {
            (Some(before), Some((_, requirement))) => fault.help(format!(
                "stay with `--with {requirement}={before}`, or have that use another one first"
            )),
            (Some(before), None) => {
                fault.help(format!("stay with `{before}`, or have that use another one first"))
            }
            (None, _) => fault.help("have that use another one first"),
        })
    }
}

/// The recorded resources that new documents no longer contain.
pub(crate) fn gone(documents: &Documents, base: &Base, graph: &Graph, is_new: bool) -> Vec<Key> {
    match is_new && documents.rollback_of.is_none() {
        true => similar::gone(base, graph),
        false => Vec::new(),
    }
}
