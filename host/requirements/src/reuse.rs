//! Satisfies a requirement with an existing installation: steps 1 and 2 of the resolution (SPEC
//! §6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purlin_model::{Bundle, Diagnostic, Existing, Requirement, RequirementChoice, Table, Urn, User};
use semver::Version;

use crate::catalog::CatalogError;
use crate::choose::{Rejection, Why};
use crate::existing::{Rejected, id, needs, outputs_fit, suits};
use crate::fit::Wanted;
use crate::resolution::Installation;
use crate::resolve::{DEEPEST, Parent, Resolver};

/// The help for the name of an installation that does not exist.
pub const LIST_OF_INSTALLATIONS: &str = "`purlin installations list` lists the installations";

/// The result of the search for an existing installation.
pub(crate) enum ExistingMatch {
    /// An installation that it uses.
    Uses(Box<Installation>),
    /// Nothing fits. Includes the skipped ones; none if no search took place.
    Nothing(Option<Rejected>),
    /// A named installation cannot be used; that is reported.
    Wrong,
}

impl ExistingMatch {
    fn uses(
        name: &Arc<str>,
        requirement: &Requirement,
        one: &Existing,
        (outputs, by_hand): (BTreeMap<Arc<str>, Arc<str>>, bool),
    ) -> Self {
        let bundle = Bundle {
            repository: Arc::clone(&one.reference.repository),
            version: one.reference.version().unwrap_or_else(|| Version::new(0, 0, 0)),
            location: requirement.location.clone(),
            ..Bundle::requiring(Vec::new())
        };
        let needs = needs(one, requirement, by_hand, &outputs);
        let why = if by_hand { Why::Named } else { Why::Existing(id(one)) };
        let made = Installation::new(Arc::clone(name), Arc::new(bundle), one.reference.clone(), why);
        Self::Uses(Box::new(Installation { uses: Some(Box::new((one.clone(), needs))), outputs, ..made }))
    }
}

impl<'a> Resolver<'a> {
    /// An existing installation, if one fits or a person named it (SPEC §6, steps 1 and 2).
    pub(crate) async fn existing_match(
        &mut self,
        parent: Parent<'_>,
        requirement: &Requirement,
        (name, group): (&Arc<str>, Option<&str>),
        is_named: bool,
    ) -> Result<ExistingMatch, CatalogError> {
        let used = parent.used.get(&requirement.name).cloned().unwrap_or_default();
        let by_reference = self.by_reference(requirement).await?;
        let wanted =
            Wanted { requirement, parent: parent.bundle, used: &used, by_reference: by_reference.as_deref() };
        let named = self.answers.with(name, &requirement.name);
        if let Some(named) = &named {
            let one = match self.named(&named.choice, requirement) {
                Ok(Some(one)) => one,
                Ok(None) => return Ok(ExistingMatch::Nothing(None)),
                Err(fault) => {
                    self.done.diagnostics.push(*fault);
                    return Ok(ExistingMatch::Wrong);
                }
            };
            let fit = match one.share.group {
                Some(_) => outputs_fit(one, wanted),
                None => Err(Rejection::NotShared),
            };
            return Ok(match fit {
                Ok(outputs) => ExistingMatch::uses(name, requirement, one, (outputs, true)),
                Err(why) => {
                    let message =
                        format!("`{}` cannot be used for `{}`: {why}", named.choice, requirement.name);
                    let fault = Diagnostic::error("no-installation", message).at(&requirement.location);
                    let help = format!(
                        "name another one, or a bundle: `--with {}=REPOSITORY:TAG`",
                        requirement.name
                    );
                    self.done.diagnostics.push(fault.help(help));
                    ExistingMatch::Wrong
                }
            });
        }
        // Created installations stay, and failed ones are searched again. If the records were not
        // read, the result of the last run is used.
        let before: Option<&Option<Urn>> = match self.recorded {
            Some(recorded) => recorded.get(name),
            None => self.names.installed(name).map(|installed| &installed.uses),
        };
        let is_made = before.is_some_and(Option::is_none);
        let (Some(group), false) = (group, is_made || (is_named && self.answers.makes())) else {
            return Ok(ExistingMatch::Nothing(None));
        };
        let mut rejected = Vec::new();
        if !self.answers.takes_back(name, &requirement.name) {
            match self.seen.used_before(before.and_then(Option::as_ref), wanted) {
                Ok(Some((one, outputs))) => {
                    return Ok(ExistingMatch::uses(name, requirement, one, (outputs, false)));
                }
                Ok(None) => {}
                Err(lost) => rejected.push(lost),
            }
        }
        // An unknown interface cannot be compared.
        let is_unknown = requirement.interface.reference.is_some() && by_reference.is_none();
        if is_unknown || self.is_begun(name) {
            return Ok(ExistingMatch::Nothing(Some(rejected)));
        }
        let (found, lost) = self.seen.fitting(group, wanted);
        rejected.extend(lost);
        Ok(match found {
            Some((one, outputs)) => match ExistingMatch::uses(name, requirement, one, (outputs, false)) {
                ExistingMatch::Uses(chosen) => {
                    ExistingMatch::Uses(Box::new(Installation { rejected, ..*chosen }))
                }
                other => other,
            },
            None => ExistingMatch::Nothing(Some(rejected)),
        })
    }

    /// Whether other environments use a dependency of the installation with a name. A run that was
    /// interrupted, or that failed, may have created the dependencies only. An installation of others
    /// in its place would then require their deletion, which is rejected (SPEC §6).
    fn is_begun(&self, name: &str) -> bool {
        let mut kept = self.users.keys().filter(|used| !self.handed_over.contains(*used));
        kept.any(|used| self.is_dependency(used, name))
    }

    /// Whether an installation was created for a requirement of another one, directly or not.
    fn is_dependency(&self, inner: &str, outer: &str) -> bool {
        let mut inner = inner;
        for _ in 0..DEEPEST {
            let made_for: &str = match self.names.installed(inner) {
                Some(installed) => &installed.made_for,
                None => inner,
            };
            match made_for.rsplit_once('/') {
                Some((parent, _)) if parent == outer => return true,
                // The requirements of a resource have no installation above them.
                Some((parent, _)) if !parent.contains('#') => inner = parent,
                _ => return false,
            }
        }
        false
    }

    /// The installation that a person named; none if the text means a bundle.
    fn named(
        &self,
        choice: &RequirementChoice,
        requirement: &Requirement,
    ) -> Result<Option<&'a Existing>, Box<Diagnostic>> {
        if let Some(urn) = choice.urn() {
            let id = ("", urn.as_str());
            let one = self.seen.of_urn(&urn);
            return one.map(Some).ok_or_else(|| Box::new(self.no_installation(id, requirement)));
        }
        let Some(id) = choice.installation() else { return Ok(None) };
        match &*self.seen.named(id) {
            [one] => Ok(Some(*one)),
            [] if choice.bundle().is_some() => Ok(None),
            [] => Err(Box::new(self.no_installation(id, requirement))),
            several => {
                let message = format!("`{choice}` is the name of {} installations", several.len());
                let fault = Diagnostic::error("no-installation", message).at(&requirement.location);
                let with_urn = |fault: Diagnostic, one: &&Existing| fault.fact(format!("`{}`", one.urn));
                let help = format!("name one of them by its URN: `--with {}=URN`", requirement.name);
                Err(Box::new(several.iter().take(5).fold(fault, with_urn).help(help)))
            }
        }
    }

    fn no_installation(&self, id: (&str, &str), requirement: &Requirement) -> Diagnostic {
        let written = match id {
            ("", urn) if urn.starts_with("urn:") => urn.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        let message = format!("there is no installation `{written}` for `{}`", requirement.name);
        let fault = Diagnostic::error("no-installation", message).at(&requirement.location);
        if self.seen.hidden(id) {
            let help = "it is in another namespace, and only those of the same and of the global namespace are visible";
            return fault.help(help);
        }
        let ids: Vec<String> = self.seen.ids().collect();
        match purlin_expression::nearest(&written, ids.iter().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help(LIST_OF_INSTALLATIONS),
        }
    }

    /// The first user of the installation with a name who does not accept a bundle, and why.
    pub(crate) fn unsuited(&self, name: &str, chosen: &Installation) -> Option<(&User, Rejection)> {
        let users = self.users.get(name)?;
        let offered: BTreeSet<Arc<str>> =
            Table::of(&chosen.bundle).outputs().into_iter().map(|one| one.name).collect();
        let version = chosen.reference.version();
        users.iter().find_map(|user| Some((user, suits(user, version.as_ref(), &offered).err()?)))
    }

    /// Whether all users of the installation with a name accept the new bundle.
    pub(crate) fn suits_all(&mut self, name: &str, chosen: &Installation, requirement: &Requirement) -> bool {
        let Some((user, why)) = self.unsuited(name, chosen) else { return true };
        let range = user.needs.version.as_deref().unwrap_or_default();
        let message =
            format!("`{}` would no longer suit `{}`, which uses `{name}`", chosen.reference, user.urn);
        let fault = Diagnostic::error("breaks-user", message).at(&requirement.location);
        let fault = match &why {
            Rejection::OutOfRange => fault.fact(format!("that needs a version in `{range}`")),
            why => fault.fact(why.to_string()),
        };
        let fault = match self.names.installed(name) {
            Some(installed) => fault.help(format!(
                "stay with `--with {}={}`, or have that use another one first",
                requirement.name, installed.reference
            )),
            None => fault.help("have that use another one first"),
        };
        self.done.diagnostics.push(fault);
        false
    }
}
