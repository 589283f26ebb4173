//! Orders first deployments that would share an installation (SPEC §6).
//!
//! A run that looks for an installation of others, finds none and creates its own reserves the
//! vacancy first, and then looks once more. Of two runs that do this at the same moment, the second
//! one waits and then uses the installation of the first. Reservations are released after the lock
//! of the environment, so that the waiting run can use the installation at once.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use purlin_engine::{Action, CancelToken, Plan};
use purlin_model::{Diagnostic, Existing, RequirementContext};
use purlin_requirements::{Installation, LookedFor};
use purlin_state::Vacancy;

use crate::{Documents, Error, Session};

impl Session<'_> {
    /// Reserves the vacancies that a plan fills, and checks that they are still vacant.
    ///
    /// # Errors
    /// [`Error::Documents`] if they are not; [`Error::State`] if another run is filling one and
    /// does not finish in time.
    pub(crate) async fn reserve(
        &self,
        plan: &Plan,
        documents: &Documents,
        cancel: &CancelToken,
    ) -> Result<(), Error> {
        let makes =
            |action| matches!(action, Action::Create | Action::Update | Action::Replace | Action::Adopt);
        let steps = plan.steps.iter().filter(|step| makes(step.action) && !step.left_out);
        let made = steps.filter(|step| step.key.type_name() == "installation");
        let made: BTreeSet<&str> = made.map(|step| step.key.id()).collect();
        let resolution = documents.resolution();
        let filling = resolution.installations.iter().filter(|one| made.contains(&*one.name));
        let filling: Vec<&Installation> = filling.filter(|one| one.looked_for.is_some()).collect();
        // Always in the same order, so that no two runs wait for each other.
        let wanted: BTreeSet<Vacancy> =
            filling.iter().flat_map(|one| vacancies(one, &resolution.context.namespace)).collect();
        let store = self.purlin.store().await?;
        let mut reserved = Vec::with_capacity(wanted.len());
        for vacancy in wanted {
            if !self.has_reserved(&vacancy) {
                let activity = format!("who installs {vacancy}");
                let try_it = || store.reserve(&vacancy, self.purlin.holder());
                reserved.push(self.purlin.patiently(self.purlin.patience, &activity, cancel, try_it).await?);
            }
        }
        if !filling.is_empty() {
            self.look_again(&filling, documents).await?;
        }
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).extend(reserved);
        Ok(())
    }

    fn has_reserved(&self, vacancy: &Vacancy) -> bool {
        let reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.iter().any(|one| one.vacancy() == vacancy)
    }

    /// Rejects the plan if the installations that it would create exist by now.
    async fn look_again(&self, filling: &[&Installation], documents: &Documents) -> Result<(), Error> {
        let requirement_context = &documents.loaded.requirement_context;
        // Archived documents continue with the installations that they found at that time.
        if requirement_context.recorded.is_none() {
            return Ok(());
        }
        let (existing, users) = self.purlin.seen_from(self.environment()).await?;
        if existing == requirement_context.existing {
            return Ok(());
        }
        let current = RequirementContext { existing, users, ..requirement_context.clone() };
        let now = crate::installations::resolve_again(documents, &current).map_err(Error::Documents)?;
        let faults = filling.iter().filter_map(|one| {
            let now = now.installations.iter().find(|now| now.name == one.name)?;
            let (found, _) = &**now.uses.as_ref()?;
            Some(is_there(found).at(&one.location))
        });
        let faults: Vec<Diagnostic> = faults.collect();
        if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
    }
}

/// The vacancies that an installation fills.
fn vacancies(one: &Installation, namespace: &Arc<str>) -> impl Iterator<Item = Vacancy> {
    let bundle = Some(Arc::clone(&one.reference.repository));
    // A requirement for any bundle with an interface may be satisfied by the installation that
    // another run creates for a similar requirement, whichever bundle that is made from.
    let any = (one.looked_for == Some(LookedFor::Interface)).then_some(None);
    let namespace = Arc::clone(namespace);
    one.group.clone().into_iter().flat_map(move |group| {
        let of = |bundle| Vacancy { namespace: Arc::clone(&namespace), group: Arc::clone(&group), bundle };
        [Some(bundle.clone()), any.clone()].into_iter().flatten().map(of).collect::<Vec<_>>()
    })
}

fn is_there(found: &Existing) -> Diagnostic {
    let (namespace, name, place) = (&found.share.namespace, &found.name, &found.place);
    let message = format!("`{namespace}/{name}` of {place} is new since the plan was made, and fits");
    Diagnostic::error("deployed-meanwhile", message).help("run the same command again to use it")
}
