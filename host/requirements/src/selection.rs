//! Chooses the bundle of a requirement if no installation exists for it: steps 1, 3 and 4 of the
//! resolution (SPEC §6), and keeping the installed version. The candidates come from `candidates.rs`.

use std::sync::Arc;

use purlin_model::{Bundle, BundleReference, Diagnostic, Requirement};

use crate::answers::Ids;
use crate::candidates::{Rejection, Why, candidates, choose};
use crate::catalog::{Catalog, CatalogError};
use crate::interface::{OwnNames, Wanted, bundle_fits};
use crate::resolution::{Installation, Offer};
use crate::resolve::{Parent, Resolver};

impl Resolver<'_> {
    /// The best bundle that offers the requested interface.
    pub(crate) async fn choose(
        &mut self,
        parent: Parent<'_>,
        requirement: &Requirement,
        ids: &Ids<'_>,
        way: &[(BundleReference, Arc<str>)],
    ) -> Result<Option<Installation>, CatalogError> {
        let name = ids.name;
        let named = self.answers.with(ids, &requirement.name);
        let (named, is_before) = (
            named.as_ref().and_then(|named| named.choice.bundle()),
            named.as_ref().is_some_and(|named| named.is_before),
        );
        let Some(requested) = named.or(requirement.reference.as_ref()) else {
            let fault = self.no_bundle_named(parent, requirement, way).await?;
            self.done.diagnostics.push(fault);
            return Ok(None);
        };
        let tags = self.catalog.tags(&requested.repository).await?;
        let found = candidates(requirement, named, &tags);
        let mut lost = found.lost;
        let by_reference = self.by_reference(requirement).await?;
        if let (Some(reference), None) = (&requirement.interface.reference, &by_reference) {
            let message = format!(
                "`{reference}`, which defines the outputs required of `{}`, is not in the catalog",
                requirement.name
            );
            let fault = Diagnostic::warning("unknown-bundle", message).at(&requirement.location);
            self.done.diagnostics.push(fault.help("only outputs that placeholders read are required"));
        }
        let used = parent.used.get(&requirement.name).cloned().unwrap_or_default();
        let by_reference = by_reference.as_deref();
        let wanted = Wanted { requirement, parent: parent.table, used: &used, by_reference };
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
                let is_unknown = reference.digest.is_some() && !self.catalog.has_digests();
                lost.push((reference, if is_unknown { Rejection::NoDigest } else { Rejection::NotFound }));
                continue;
            };
            match bundle_fits(&bundle, wanted) {
                Ok(own) => {
                    let why = if is_before && why == Why::Named { Why::NamedBefore } else { why };
                    let made = Installation::new(Arc::clone(name), bundle, reference, why);
                    let location = requirement.location.clone();
                    let OwnNames { outputs, settings } = own;
                    chosen = Some(Installation { outputs, settings, location, ..made });
                }
                Err(why) => lost.push((reference, why)),
            }
        }
        match chosen {
            Some(chosen) => {
                let is_known =
                    named.is_some_and(|named| self.is_open_to(requirement, named, &chosen.reference, &tags));
                if is_known {
                    self.answers.need_not_remember(ids.own);
                }
                let chosen = Installation { lost, ..chosen };
                self.keep_version(chosen, wanted).await.map(Some)
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

    /// The bundle of `interface.reference`, if the catalog has it.
    pub(crate) async fn by_reference(
        &self,
        requirement: &Requirement,
    ) -> Result<Option<Arc<Bundle>>, CatalogError> {
        let Some(reference) = &requirement.interface.reference else { return Ok(None) };
        let tags = match reference.is_open() {
            true => self.catalog.tags(&reference.repository).await?,
            false => Vec::new(),
        };
        match choose(reference, &tags) {
            Some((reference, _)) => self.catalog.bundle(&reference).await,
            None => Ok(None),
        }
    }

    /// A requirement with only an interface, and the bundles of the catalog that offer it. Those
    /// that lead to it would require themselves.
    async fn no_bundle_named(
        &self,
        parent: Parent<'_>,
        requirement: &Requirement,
        way: &[(BundleReference, Arc<str>)],
    ) -> Result<Diagnostic, CatalogError> {
        const MOST_SEARCHED: usize = 1000;
        const MOST_VERSIONS: usize = 20;
        const MOST_SHOWN: usize = 5;
        let name = &requirement.name;
        let used = parent.used.get(name).cloned().unwrap_or_default();
        let by_reference = self.by_reference(requirement).await?;
        let by_reference = by_reference.as_deref();
        let wanted = Wanted { requirement, parent: parent.table, used: &used, by_reference };
        let mut fitting: Vec<BundleReference> = Vec::new();
        for repository in self.catalog.repositories().into_iter().take(MOST_SEARCHED) {
            if way.iter().any(|(above, _)| above.repository == repository) {
                continue;
            }
            let reference = BundleReference { repository, tag: None, digest: None };
            let tags = self.catalog.tags(&reference.repository).await?;
            // What would be chosen if a person named the repository.
            let versions = candidates(requirement, Some(&reference), &tags).fitting;
            for (version, _) in versions.into_iter().take(MOST_VERSIONS) {
                let Some(bundle) = self.catalog.bundle(&version).await? else { continue };
                if bundle_fits(&bundle, wanted).is_ok() {
                    fitting.push(version);
                    break;
                }
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
        wanted: Wanted<'_>,
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
        let Ok(OwnNames { outputs, settings }) = bundle_fits(&bundle, wanted) else { return Ok(best) };
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
        let (reference, why) = (before.reference.clone(), Why::Installed);
        Ok(Installation { bundle, reference, why, outputs, settings, ..best })
    }
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
