//! Satisfies a requirement with an existing installation: steps 1 and 2 of the resolution (SPEC
//! §6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purlin_model::{
    Bundle, BundleReference, Diagnostic, Existing, Requirement, RequirementChoice, Setting, Table, User,
};
use semver::Version;

use crate::answers::Ids;
use crate::candidates::{Rejection, Why};
use crate::catalog::CatalogError;
use crate::existing::{
    Given, OwnSettings, Rejected, Sought, UsedBefore, id, needs, outputs_fit, suits, values_fit,
};
use crate::identity;
use crate::interface::{Wanted, own_settings, sets_by_id};
use crate::resolution::Installation;
use crate::resolve::{Resolver, Values, left_out};

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

impl<'a> Resolver<'a> {
    /// An existing installation, if one fits or a person named it (SPEC §6, steps 1 and 2).
    pub(crate) async fn existing_match(
        &mut self,
        values: Values<'_>,
        ids: &Ids<'_>,
        group: Option<&str>,
    ) -> Result<ExistingMatch, CatalogError> {
        let Values { parent, requirement, siblings } = values;
        let used = parent.used.get(&requirement.name).cloned().unwrap_or_default();
        let by_reference = self.by_reference(requirement).await?;
        let meanings = identity::meanings(requirement, parent, siblings, self.around);
        let asked = Table::of_interface(&requirement.interface, by_reference.as_deref());
        let mut given = Given::new(&meanings, &asked);
        self.answers.given(ids, &mut given);
        let wanted =
            Wanted { requirement, parent: parent.table, used: &used, by_reference: by_reference.as_deref() };
        // Created installations stay, and failed ones are searched again. If the records were not
        // read, the result of the last run is used.
        let name = ids.name;
        let before: Option<Option<UsedBefore<'_>>> = match self.recorded {
            Some(recorded) => recorded.get(name).map(|uses| uses.as_ref().map(UsedBefore::from)),
            None => {
                let installed = self.names.installed(name);
                installed.map(|one| one.uses.as_ref().map(|urn| UsedBefore { urn, given: None }))
            }
        };
        let mut own_names = OwnSettings::new();
        if sets_by_id(wanted) {
            for reference in self.seen.references(group, before.flatten().map(|used| used.urn)) {
                if let Some(bundle) = self.catalog.bundle(reference).await? {
                    own_names.insert(reference.clone(), own_settings(&bundle, wanted));
                }
            }
        }
        let sought = Sought { wanted, given: &given, own_names: &own_names };
        if let Some(named) = self.answers.with(ids, &requirement.name) {
            return Ok(self.named_match(&named.choice, ids, sought));
        }
        let is_made = before.as_ref().is_some_and(Option::is_none);
        let (Some(group), false) = (group, is_made || (ids.is_own && self.answers.makes())) else {
            return Ok(ExistingMatch::Nothing(None));
        };
        let mut rejected = Vec::new();
        if !self.answers.takes_back(ids, &requirement.name) {
            match self.seen.used_before(before.flatten(), sought) {
                Ok(Some((one, outputs))) => return Ok(self.uses(ids, sought, one, (outputs, false))),
                Ok(None) => {}
                Err((one, why)) => {
                    self.no_longer_fits(sought, &one, &why);
                    rejected.push((one, why));
                }
            }
        }
        // An unknown interface cannot be compared.
        let is_unknown = requirement.interface.reference.is_some() && by_reference.is_none();
        if is_unknown || self.is_begun(name) {
            return Ok(ExistingMatch::Nothing(Some(rejected)));
        }
        let (found, lost) = self.seen.fitting(group, sought);
        if found.is_none() {
            self.decided_by_values(sought, &lost);
        }
        rejected.extend(lost);
        Ok(match found {
            Some((one, outputs)) => match self.uses(ids, sought, one, (outputs, false)) {
                ExistingMatch::Uses(chosen) => {
                    ExistingMatch::Uses(Box::new(Installation { rejected, ..*chosen }))
                }
                other => other,
            },
            None => ExistingMatch::Nothing(Some(rejected)),
        })
    }

    /// The use of the installation that a person named.
    fn named_match(
        &mut self,
        choice: &RequirementChoice,
        ids: &Ids<'_>,
        sought: Sought<'_>,
    ) -> ExistingMatch {
        let requirement = sought.wanted.requirement;
        let one = match self.named(choice, requirement) {
            Ok(Some(one)) => one,
            Ok(None) => return ExistingMatch::Nothing(None),
            Err(fault) => {
                self.done.diagnostics.push(*fault);
                return ExistingMatch::Wrong;
            }
        };
        let fit = match one.share.group {
            Some(_) => outputs_fit(one, sought.wanted),
            None => Err(Rejection::NotShared),
        };
        match fit {
            Ok(outputs) => {
                if let Err(Rejection::OtherValue(part, name)) = values_fit(one, sought) {
                    let message = format!(
                        "`{}` is used for `{}`, but its {part} `{name}` differs",
                        id(one),
                        requirement.name
                    );
                    let fault = Diagnostic::warning("other-value", message).at(&requirement.location);
                    self.done.diagnostics.push(fault.help(format!("remove the {part}: its owner sets it")));
                }
                self.uses(ids, sought, one, (outputs, true))
            }
            Err(why) => {
                let message = format!("`{choice}` cannot be used for `{}`: {why}", requirement.name);
                let fault = Diagnostic::error("no-installation", message).at(&requirement.location);
                let help =
                    format!("name another one, or a bundle: `--with {}=REPOSITORY:TAG`", requirement.name);
                self.done.diagnostics.push(fault.help(help));
                ExistingMatch::Wrong
            }
        }
    }

    /// The use of an existing installation. What the requirement gives and the installation has no
    /// declaration for does not count, which is reported.
    fn uses(
        &mut self,
        ids: &Ids<'_>,
        sought: Sought<'_>,
        one: &Existing,
        (outputs, by_hand): (BTreeMap<Arc<str>, Arc<str>>, bool),
    ) -> ExistingMatch {
        let requirement = sought.wanted.requirement;
        let bundle = Bundle {
            repository: Arc::clone(&one.reference.repository),
            version: one.reference.version().unwrap_or_else(|| Version::new(0, 0, 0)),
            location: requirement.location.clone(),
            ..Bundle::requiring(Vec::new())
        };
        let parts =
            [(Setting::Parameter, &requirement.parameters), (Setting::Credential, &requirement.credentials)];
        // The settings are unknown where the records were not read.
        let has = |part: Setting, name: &str| sought.recorded(one, &(part, Arc::from(name))).is_some();
        for (part, bindings) in parts.into_iter().filter(|_| self.recorded.is_some()) {
            for binding in bindings.iter().filter(|binding| !has(part, &binding.name)) {
                self.done.diagnostics.push(left_out(part, binding, &id(one), &[]));
            }
        }
        self.answers.count_given(ids, has);
        let needs = needs(one, sought, by_hand, &outputs);
        let why = if by_hand { Why::Named } else { Why::Existing(id(one)) };
        let made = Installation::new(Arc::clone(ids.name), Arc::new(bundle), one.reference.clone(), why);
        ExistingMatch::Uses(Box::new(Installation {
            uses: Some(Box::new((one.clone(), needs))),
            outputs,
            ..made
        }))
    }

    /// Says why a requirement does not keep the installation that it used.
    fn no_longer_fits(&mut self, sought: Sought<'_>, one: &str, why: &Rejection) {
        let requirement = sought.wanted.requirement;
        let message = format!("`{one}` no longer fits `{}`: {why}", requirement.name);
        let fault = Diagnostic::warning("no-longer-fits", message).at(&requirement.location);
        let help = format!("to use it in any case, write `--with {}={one}`", requirement.name);
        self.done.diagnostics.push(fault.help(help));
    }

    /// Says which values decided that a new installation is created.
    fn decided_by_values(&mut self, sought: Sought<'_>, lost: &Rejected) {
        let requirement = sought.wanted.requirement;
        for (one, why) in lost {
            let Rejection::OtherValue(..) = why else { continue };
            let message = format!("`{one}` is not used for `{}`: {why}", requirement.name);
            let fault = Diagnostic::warning("other-value", message).at(&requirement.location);
            let help = format!("to use it in any case, write `--with {}={one}`", requirement.name);
            self.done.diagnostics.push(fault.help(help));
        }
    }

    /// Whether other environments use a dependency of the installation with a name. A run that was
    /// interrupted, or that failed, may have created the dependencies only. An installation of others
    /// in its place would then require their deletion, which is rejected (SPEC §6).
    fn is_begun(&self, name: &str) -> bool {
        let mut kept = self.users.keys().filter(|used| !self.handed_over.contains(*used));
        kept.any(|used| self.is_dependency(used, name))
    }

    /// Whether an installation satisfies a requirement of another one, directly or not.
    fn is_dependency(&self, inner: &str, outer: &str) -> bool {
        let mut open: Vec<String> = vec![inner.to_owned()];
        let mut seen: BTreeSet<String> = BTreeSet::new();
        while let Some(inner) = open.pop() {
            let claims = self.names.installed(&inner).map(|one| &*one.claims).unwrap_or_default();
            let made_for: Vec<&str> = match claims {
                [] => vec![&*inner],
                claims => claims.iter().map(|claim| &*claim.made_for).collect(),
            };
            // The requirements of a resource have no installation above them.
            let parents = made_for.into_iter().filter_map(|one| Some(one.rsplit_once('/')?.0));
            for parent in parents.filter(|parent| !parent.contains('#')) {
                if parent == outer {
                    return true;
                }
                if seen.insert(parent.to_owned()) {
                    open.push(parent.to_owned());
                }
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
            let one = self.seen.of_urn(&urn);
            return one
                .map(Some)
                .ok_or_else(|| Box::new(self.no_installation(("", urn.as_str()), requirement)));
        }
        let Some(id) = choice.installation() else { return Ok(None) };
        match &*self.seen.named(id) {
            [one] => Ok(Some(*one)),
            [] if choice.bundle().is_some() && !self.names_installation(choice, id.0) => Ok(None),
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

    /// Whether a text that may mean either means an installation: there are some in a namespace of
    /// this name, and no bundle has this one.
    fn names_installation(&self, choice: &RequirementChoice, namespace: &str) -> bool {
        let is_it = |bundle: &BundleReference| self.catalog.repositories().contains(&bundle.repository);
        self.seen.has_namespace(namespace) && !choice.bundle().is_some_and(is_it)
    }

    fn no_installation(&self, id: (&str, &str), requirement: &Requirement) -> Diagnostic {
        let written = match id {
            ("", urn) if urn.starts_with("urn:") => urn.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        let message = format!("there is no installation `{written}` for `{}`", requirement.name);
        let fault = Diagnostic::error("no-installation", message).at(&requirement.location);
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
        let provided = chosen.bundle.provides.as_ref();
        users.iter().find_map(|user| Some((user, suits(user, &chosen.reference, provided, &offered).err()?)))
    }
}
