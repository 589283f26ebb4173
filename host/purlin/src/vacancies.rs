//! First deployments that would share what they install (SPEC §6): one after the other.
//!
//! Whoever looks for an installation of others, finds none and installs one of its own reserves that first, and then
//! looks once more. So of two who do that at the same moment the second waits, and uses what the first has made. What
//! is reserved is given back behind the lock of the environment, so that whoever waited can use it at once.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use purlin_engine::{Action, CancelToken, Plan};
use purlin_model::{Diagnostic, Existing, Said};
use purlin_requirements::{Installation, LookedFor};
use purlin_state::Vacancy;

use crate::{Documents, Error, Session};

impl Session<'_> {
    /// Reserves what a plan installs because nobody else has it, and makes sure that nobody has it by now.
    ///
    /// # Errors
    /// [`Error::Documents`] where somebody has; [`Error::State`] where somebody else installs it and is not done in
    /// time.
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
        // Always in the same order, so that no two wait for each other.
        let wanted: BTreeSet<Vacancy> =
            filling.iter().flat_map(|one| vacancies(one, &resolution.namespace)).collect();
        let store = self.purlin.store().await?;
        let mut reserved = Vec::with_capacity(wanted.len());
        for vacancy in wanted {
            if !self.has_reserved(&vacancy) {
                let told = format!("who installs {vacancy}");
                let try_it = || store.reserve(&vacancy, self.purlin.holder());
                reserved.push(self.purlin.patiently(self.purlin.patience, &told, cancel, try_it).await?);
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

    /// Whether what is about to be installed is there by now.
    async fn look_again(&self, filling: &[&Installation], documents: &Documents) -> Result<(), Error> {
        let said = &documents.loaded.said;
        // Documents that were kept go on with what they found then.
        if said.recorded.is_none() {
            return Ok(());
        }
        let (existing, users) = self.purlin.seen_from(self.environment()).await?;
        if existing == said.existing {
            return Ok(());
        }
        let said = Said { existing, users, ..said.clone() };
        let now = crate::installations::resolve_again(documents, &said).map_err(Error::Documents)?;
        let faults = filling.iter().filter_map(|one| {
            let now = now.installations.iter().find(|now| now.name == one.name)?;
            let (found, _) = &**now.uses.as_ref()?;
            Some(is_there(found).at(&one.location))
        });
        let faults: Vec<Diagnostic> = faults.collect();
        if faults.is_empty() { Ok(()) } else { Err(Error::Documents(faults)) }
    }
}

/// What an installation that nobody else has fills.
fn vacancies(one: &Installation, namespace: &Arc<str>) -> impl Iterator<Item = Vacancy> {
    let bundle = Some(Arc::clone(&one.reference.repository));
    // Whoever would take any that has an interface may be content with what another one installs for the like of it,
    // whichever bundle that is made from.
    let any = (one.looked_for == Some(LookedFor::Interface)).then_some(None);
    let namespace = Arc::clone(namespace);
    one.group.clone().into_iter().flat_map(move |group| {
        let of = |bundle| Vacancy { namespace: Arc::clone(&namespace), group: Arc::clone(&group), bundle };
        [Some(bundle.clone()), any.clone()].into_iter().flatten().map(of).collect::<Vec<_>>()
    })
}

fn is_there(found: &Existing) -> Diagnostic {
    let (namespace, name, place) = (&found.share.namespace, &found.name, &found.place);
    let message = format!("`{namespace}/{name}` of {place} is there since the plan was made, and fits");
    Diagnostic::error("deployed-meanwhile", message).help("give the same command again, to use it")
}
