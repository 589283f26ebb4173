//! The result of a resolution: which installations there are, why, and what is missing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use purlin_model::{
    Binding, Bundle, BundleReference, Choices, Claim, Context, Diagnostic, Existing, InstallationUse,
    Installed, Key, Location, Recipe, Setting, Table,
};
use serde::Serialize;

use crate::candidates::{Rejection, Why};

/// The bundle to install.
#[derive(Clone, Debug)]
pub struct Root {
    /// The bundle.
    pub bundle: Arc<Bundle>,
    /// The name of its installation.
    pub name: Arc<str>,
    /// Where it is deployed.
    pub context: Arc<Context>,
}

/// An installation that will be created.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Its name: the name of the root, or `PARENT/REQUIREMENT` of the first that required it.
    pub name: Arc<str>,
    /// The name of its root: an installation, or the key of a resource whose definition requires
    /// it.
    pub(crate) root: Arc<str>,
    /// The requirement whose values it gets, as `PARENT/REQUIREMENT`.
    pub(crate) made_for: Arc<str>,
    /// The requirements that it satisfies, each with the name that its installation would have if
    /// it were the only one.
    pub(crate) claims: BTreeMap<Claim, Arc<str>>,
    /// Identifies it among the siblings that its requirement has.
    pub(crate) outcome: Arc<str>,
    /// What it is made from.
    pub bundle: Arc<Bundle>,
    /// The reference under which the bundle was found.
    pub reference: BundleReference,
    /// Why that bundle.
    pub why: Why,
    /// The other candidates, and why each of them was not taken.
    pub lost: Vec<(BundleReference, Rejection)>,
    /// Existing installations that were not used, by namespace and name, and why.
    pub rejected: Vec<(Arc<str>, Rejection)>,
    /// The properties that an installation of others must have to be used in its place; none if no
    /// search took place.
    pub looked_for: Option<LookedFor>,
    /// The installation of another environment that it represents, and the parts of that that are
    /// needed.
    pub uses: Option<Box<(Existing, InstallationUse)>>,
    /// The group that shares it; none if it may not be shared.
    pub group: Option<Arc<str>>,
    /// The values of its parameters and credentials.
    pub given: Vec<PassedValue>,
    /// Its requirements: the name, and the index of the installation in
    /// [`Resolution::installations`].
    pub requires: Vec<(Arc<str>, usize)>,
    /// For each requested output, its own name for it.
    pub outputs: BTreeMap<Arc<str>, Arc<str>>,
    /// For each parameter and credential that its requirement sets, its own name for it.
    pub(crate) settings: BTreeMap<(Setting, Arc<str>), Arc<str>>,
    /// The place of the requirement.
    pub location: Location,
}

impl Installation {
    /// A remark if several requirements of the deployment itself are this installation: a person who
    /// writes two names may expect two.
    fn has_two_names(&self) -> Option<Diagnostic> {
        let names =
            self.claims.keys().map(|claim| &*claim.made_for).filter(|name| !name.contains(['/', '#']));
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let (last, others) = names.split_last().filter(|(_, others)| !others.is_empty())?;
        let message =
            format!("{} and {last} are one installation, because they come to the same", others.join(", "));
        let help = "remove all but one; or, for an installation each, write `sharing: {mode: none}`";
        Some(Diagnostic::warning("one-installation", message).at(&self.location).help(help))
    }
}

/// The target of the search among installations of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookedFor {
    /// An installation of the same bundle.
    Bundle,
    /// Any installation with the interface.
    Interface,
}

/// A value that an installation gets from its parent.
#[derive(Clone, Debug)]
pub struct PassedValue {
    /// Whether it is a parameter or a credential.
    pub part: Setting,
    /// The value, as the parent wrote it.
    pub binding: Binding,
}

/// A resource whose definition requires bundles.
#[derive(Clone, Debug)]
pub struct Requirer {
    /// The resource.
    pub key: Key,
    /// The recipe of its definition.
    pub recipe: Arc<Recipe>,
    /// Its requirements, in the form of an installation.
    pub(crate) own: Installation,
}

impl Requirer {
    /// Its requirements: the name, and the index of the installation in
    /// [`Resolution::installations`].
    pub fn requires(&self) -> &[(Arc<str>, usize)] {
        &self.own.requires
    }
}

/// A missing value that a person must give.
///
/// It serialises in the published, versioned form: one of the values `unmapped` of `bundle explain`
/// in `docs/src/reference/cli.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmapped {
    /// The installation that needs it.
    pub installation: Arc<str>,
    /// Whether it is a parameter or a credential.
    pub part: Setting,
    /// Its name.
    pub name: Arc<str>,
    /// Its purpose.
    pub description: Option<Arc<str>>,
    /// Whether it is secret.
    #[serde(rename = "sensitive")]
    pub is_secret: bool,
    /// The JSON Schema of its values.
    #[serde(skip)]
    pub schema: serde_json::Map<String, serde_json::Value>,
}

/// A newer version of an installed bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The installation.
    pub installation: Arc<str>,
    /// The bundle that it is made from.
    pub installed: BundleReference,
    /// The bundle that it could be made from.
    pub newer: BundleReference,
}

/// Everything that must exist for a bundle.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// The installations, in an order in which they can be created: requirements come first, and
    /// the root last.
    pub installations: Vec<Installation>,
    /// The resources whose definitions require some of them, in the given order.
    pub requirers: Vec<Requirer>,
    /// The missing values, in the order of the installations.
    pub unmapped: Vec<Unmapped>,
    /// Where they are deployed.
    pub context: Arc<Context>,
    /// Newer versions that would fit. They replace nothing unless a person requests it.
    pub offers: Vec<Offer>,
    /// A person's choices in effect, by full names, for later runs.
    pub choices: Choices,
    /// A fault for each choice that refers to nothing. They are reported once all requirers are
    /// known.
    pub(crate) unused: Vec<Diagnostic>,
    /// Faults and notes. If one of them is an error, the rest is incomplete.
    pub diagnostics: Vec<Diagnostic>,
}

impl Installation {
    /// A root, which requires others and is required by none.
    pub(crate) fn root(name: Arc<str>, bundle: Arc<Bundle>) -> Self {
        let reference = bundle.reference();
        Self::new(name, bundle, reference, Why::Root)
    }

    /// An installation of a bundle, without any choices yet.
    pub(crate) fn new(name: Arc<str>, bundle: Arc<Bundle>, reference: BundleReference, why: Why) -> Self {
        Self {
            made_for: Arc::clone(&name),
            root: Arc::clone(&name),
            claims: BTreeMap::new(),
            outcome: Arc::clone(&name),
            name,
            reference,
            location: bundle.location.clone(),
            bundle,
            why,
            lost: Vec::new(),
            rejected: Vec::new(),
            looked_for: None,
            uses: None,
            group: None,
            given: Vec::new(),
            requires: Vec::new(),
            outputs: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }

    /// Its outputs, parameters and credentials.
    pub fn table(&self) -> Table {
        match &self.uses {
            Some(uses) => Table::of_existing(&uses.0.share.offers),
            None => Table::of(&self.bundle),
        }
    }

    /// The values that its parent or a person sets, by name.
    pub(crate) fn given_by_name(&self) -> HashMap<(Setting, &str), &PassedValue> {
        let mut by_name = HashMap::with_capacity(self.given.len());
        for given in &self.given {
            by_name.entry((given.part, &*given.binding.name)).or_insert(given);
        }
        by_name
    }

    /// The last part of its name: that of its requirement.
    pub fn own_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }
}

impl Resolution {
    /// The information for the next run.
    pub fn installed(&self) -> Vec<Installed> {
        let one = |one: &Installation| Installed {
            name: Arc::clone(&one.name),
            root: Arc::clone(&one.root),
            claims: one.claims.keys().cloned().collect(),
            reference: one.reference.clone(),
            uses: one.uses.as_ref().map(|uses| uses.0.urn.clone()),
        };
        self.installations.iter().map(one).collect()
    }

    /// The requested installation, if it was resolved.
    pub fn root(&self) -> Option<&Installation> {
        self.installations.last()
    }

    /// The same, once nothing else requires anything: choices that refer to nothing become faults,
    /// and names of a deployment that mean the same installation are reported.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.diagnostics.append(&mut self.unused);
        self.diagnostics.extend(self.installations.iter().filter_map(Installation::has_two_names));
        self
    }

    /// Whether there are errors, so that nothing may be created.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}
