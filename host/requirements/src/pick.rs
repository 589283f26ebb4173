//! Chooses the bundle of a requirement if no installation exists for it: steps 1, 3 and 4 of the
//! resolution (SPEC §6), and keeping the installed version. The candidates come from `choose.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use purlin_model::{Bundle, BundleReference, Diagnostic, Requirement};

use crate::catalog::{Catalog, CatalogError};
use crate::choose::{Rejection, Why, candidates, choose};
use crate::fit::{fits, offered};
use crate::resolution::{Installation, Offer};
use crate::resolve::{Parent, Resolver};

impl Resolver<'_> {
    /// The best bundle that offers the requested interface.
    pub(crate) async fn choose(
        &mut self,
        parent: Parent<'_>,
        requirement: &Requirement,
        name: &Arc<str>,
    ) -> Result<Option<Installation>, CatalogError> {
        let named = self.answers.with(name, &requirement.name);
        let (named, is_before) = (
            named.as_ref().and_then(|named| named.choice.bundle()),
            named.as_ref().is_some_and(|named| named.is_before),
        );
        let Some(requested) = named.or(requirement.reference.as_ref()) else {
            let fault = self.no_bundle_named(parent, requirement).await?;
            self.done.diagnostics.push(fault);
            return Ok(None);
        };
        let tags = self.catalog.tags(&requested.repository).await?;
        let found = candidates(requirement, named, &tags);
        let mut lost = found.lost;
        let by_reference = match &requirement.interface.reference {
            // Without a name there is nothing to look up.
            Some(reference) => self.catalog.bundle(reference).await?,
            None => None,
        };
        if let (Some(reference), None) = (&requirement.interface.reference, &by_reference) {
            let message = format!(
                "`{reference}`, which defines the outputs required of `{}`, is not in the catalog",
                requirement.name
            );
            let fault = Diagnostic::warning("unknown-bundle", message).at(&requirement.location);
            self.done.diagnostics.push(fault.help("only outputs that placeholders read are required"));
        }
        let used = parent.used.get(&requirement.name).cloned().unwrap_or_default();
        let mut chosen: Option<Installation> = None;
        for (reference, why) in found.fitting {
            if chosen.is_some() {
                // Whether the catalog has a bundle that is not needed was not checked.
                if !matches!(why, Why::NoneInRange(_)) {
                    lost.push((reference, Rejection::Lower));
                }
                continue;
            }
            let Some(bundle) = self.catalog.bundle(&reference).await? else {
                lost.push((reference, Rejection::NotFound));
                continue;
            };
            match fits(&offered(&bundle), requirement, &used, by_reference.as_deref()) {
                Ok(outputs) => {
                    let why = if is_before && why == Why::Named { Why::NamedBefore } else { why };
                    let made = Installation::new(Arc::clone(name), bundle, reference, why);
                    chosen = Some(Installation { outputs, location: requirement.location.clone(), ..made });
                }
                Err(why) => lost.push((reference, why)),
            }
        }
        match chosen {
            Some(chosen) => {
                let is_known =
                    named.is_some_and(|named| self.is_open_to(requirement, named, &chosen.reference, &tags));
                if is_known {
                    self.answers.need_not_remember(name);
                }
                let demand = BundleDemand { requirement, used: &used, by_reference: by_reference.as_deref() };
                let chosen = Installation { lost, ..chosen };
                self.keep_version(chosen, demand).await.map(Some)
            }
            None => {
                let fault = match &*tags {
                    [] => not_there(requirement, requested, self.catalog),
                    tags => none_fits(requirement, (requested, named.is_some()), tags, &lost),
                };
                self.done.diagnostics.push(fault);
                Ok(None)
            }
        }
    }

    /// A requirement with only an interface, and the bundles of the catalog that offer it.
    async fn no_bundle_named(
        &self,
        parent: Parent<'_>,
        requirement: &Requirement,
    ) -> Result<Diagnostic, CatalogError> {
        const MOST_SEARCHED: usize = 1000;
        const MOST_SHOWN: usize = 5;
        let name = &requirement.name;
        let used = parent.used.get(name).cloned().unwrap_or_default();
        let by_reference = match &requirement.interface.reference {
            Some(reference) => self.catalog.bundle(reference).await?,
            None => None,
        };
        let mut fitting: Vec<BundleReference> = Vec::new();
        for repository in self.catalog.repositories().into_iter().take(MOST_SEARCHED) {
            let reference = BundleReference { repository, tag: None, digest: None };
            let tags = self.catalog.tags(&reference.repository).await?;
            let Some((best, _)) = choose(&reference, &tags) else { continue };
            let Some(bundle) = self.catalog.bundle(&best).await? else { continue };
            if fits(&offered(&bundle), requirement, &used, by_reference.as_deref()).is_ok() {
                fitting.push(best);
            }
        }
        let message = format!("no bundle is specified for `{name}`");
        let mut fault = Diagnostic::error("no-bundle", message).at(&requirement.location);
        for one in fitting.iter().take(MOST_SHOWN) {
            fault = fault.fact(format!("`{one}` satisfies the requirement"));
        }
        if fitting.len() > MOST_SHOWN {
            fault = fault.fact(format!("and {} more do", fitting.len() - MOST_SHOWN));
        }
        let help = match fitting.first() {
            Some(one) => format!("name one of them, such as `--with {name}={one}`"),
            None => format!("name one that satisfies the requirement: `--with {name}=REPOSITORY:TAG`"),
        };
        Ok(fault.help(help))
    }

    /// Whether a requirement would have chosen a bundle without a person's choice. Then only the
    /// installed one must be remembered, and newer versions are offered.
    fn is_open_to(
        &self,
        requirement: &Requirement,
        named: &BundleReference,
        chosen: &BundleReference,
        tags: &[Arc<str>],
    ) -> bool {
        let is_of_it = |reference: &BundleReference| reference.repository == named.repository;
        let is_it = |(one, why): &(BundleReference, Why)| {
            one == chosen && matches!(why, Why::HighestInRange(_) | Why::HighestRelease)
        };
        requirement.reference.as_ref().is_some_and(is_of_it)
            && candidates(requirement, None, tags).fitting.iter().any(is_it)
    }

    /// An installed bundle stays at its version while that fits: a database must not change because
    /// a folder got a new file. Better versions are offered.
    async fn keep_version(
        &mut self,
        mut best: Installation,
        demand: BundleDemand<'_>,
    ) -> Result<Installation, CatalogError> {
        let before = self.names.installed(&best.name);
        let is_open = matches!(best.why, Why::HighestInRange(_) | Why::HighestRelease);
        let Some(before) = before.filter(|before| is_open && before.reference != best.reference) else {
            return Ok(best);
        };
        // A candidate that was no longer checked, because a better one was found, could be
        // chosen.
        let is_it =
            |(one, why): &(BundleReference, Rejection)| *one == before.reference && *why == Rejection::Lower;
        let Some(at) = best.lost.iter().position(is_it) else { return Ok(best) };
        let Some(bundle) = self.catalog.bundle(&before.reference).await? else { return Ok(best) };
        let Ok(outputs) = fits(&offered(&bundle), demand.requirement, demand.used, demand.by_reference)
        else {
            return Ok(best);
        };
        best.lost.swap_remove(at);
        best.lost.push((best.reference.clone(), Rejection::Newer));
        // Its users must accept a newer one.
        if self.unsuited(&best.name, &best).is_none() {
            let offer = Offer {
                installation: Arc::clone(&best.name),
                installed: before.reference.clone(),
                newer: best.reference.clone(),
            };
            // All who share it get the same.
            if !self.done.offers.contains(&offer) {
                self.done.offers.push(offer);
            }
        }
        Ok(Installation { bundle, reference: before.reference.clone(), why: Why::Installed, outputs, ..best })
    }
}

/// The demands of a requirement on a bundle.
#[derive(Clone, Copy)]
struct BundleDemand<'a> {
    requirement: &'a Requirement,
    used: &'a BTreeSet<Arc<str>>,
    by_reference: Option<&'a Bundle>,
}

/// A repository that does not exist.
fn not_there(requirement: &Requirement, requested: &BundleReference, catalog: &dyn Catalog) -> Diagnostic {
    let message = format!("there is no bundle `{requested}` for `{}`", requirement.name);
    let known = catalog.repositories();
    let near = purlin_expression::nearest(&requested.repository, known.iter().map(|name| &**name));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "no bundle with this name was read: name the file or folder that contains it".to_owned(),
    };
    Diagnostic::error("no-bundle", message).at(&requirement.location).help(help)
}

fn none_fits(
    requirement: &Requirement,
    (requested, is_named): (&BundleReference, bool),
    tags: &[Arc<str>],
    lost: &[(BundleReference, Rejection)],
) -> Diagnostic {
    const MOST_SHOWN: usize = 5;
    let message = match &requirement.version {
        Some(range) if !is_named => {
            format!("no version of `{}` in `{range}` fits `{}`", requested.repository, requirement.name)
        }
        _ => format!("`{requested}` does not fit `{}`", requirement.name),
    };
    let mut fault = Diagnostic::error("no-bundle", message).at(&requirement.location);
    for (one, why) in lost.iter().take(MOST_SHOWN) {
        fault = fault.fact(format!("`{one}`: {why}"));
    }
    if lost.len() > MOST_SHOWN {
        fault = fault.fact(format!("and {} more", lost.len() - MOST_SHOWN));
    }
    let are_known = !tags.is_empty() && lost.iter().all(|(_, why)| *why == Rejection::NotFound);
    if are_known {
        let tags: Vec<String> = tags.iter().map(|tag| format!("`{tag}`")).collect();
        fault = fault.fact(format!("the catalog has {} of it", tags.join(", ")));
    }
    fault.help(format!("name another one: `--with {}=REPOSITORY:TAG`", requirement.name))
}
