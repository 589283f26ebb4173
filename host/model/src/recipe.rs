//! How a resource is provisioned: what a definition and a bundle have in common (SPEC §1, recipe).

use std::sync::Arc;

use crate::{Descriptor, Location, Template};

/// A driver by name, and the versions that will do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DriverRequirement {
    /// `ORG/NAME`, such as `purlin/echo`.
    pub name: Arc<str>,
    /// The semver range behind `@`, any version when there is none.
    pub range: Option<semver::VersionReq>,
    /// Where it was written.
    pub location: Location,
}

/// Driver, inputs, and what they bring along.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Name of the definition or bundle that it was compiled from; `None` for the built-in echo
    /// that `workload` and `base-env` fall back to.
    pub name: Option<Arc<str>>,
    /// The driver.
    pub driver: DriverRequirement,
    /// `driver_account`: constant text, or text with placeholders.
    pub account: Option<Template>,
    /// `inputs.values`, a map.
    pub values: Template,
    /// `inputs.secrets`, a map; secret whatever it is made from.
    pub secrets: Template,
    /// `inputs.secret_refs`: a tree with leaves `{store, ref, version}` or `{value}`. Never
    /// together with `secrets`.
    pub secret_refs: Option<Template>,
    /// Resources to add whenever this recipe is used.
    pub provision: Vec<Provision>,
    /// Wishes about replacing and deleting.
    pub lifecycle: Lifecycle,
    /// Where the recipe was written.
    pub location: Location,
}

/// One entry of `provision`: co-provisioning [G].
#[derive(Clone, Debug, PartialEq)]
pub struct Provision {
    /// What to add; class and id left out are those of the co-provisioner.
    pub descriptor: Descriptor,
    /// Adds an edge from the new resource to its co-provisioner.
    pub is_dependent: bool,
    /// Gives every dependent of the co-provisioner an edge to the new resource.
    pub match_dependents: bool,
    /// Parameters of the new resource; placeholders are those of the co-provisioner.
    pub params: Option<Arc<Template>>,
    /// Where it was written.
    pub location: Location,
}

/// Wishes about replacing and deleting (SPEC §9).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lifecycle {
    /// Deleting or replacing it is refused.
    pub protect: bool,
    /// It is forgotten where it would be deleted.
    pub retain: bool,
    /// The old one goes before the new one is made.
    pub delete_before_replace: bool,
    /// Input paths whose changes do not count.
    pub ignore_changes: Vec<Arc<str>>,
    /// Input paths whose changes replace.
    pub replace_on_changes: Vec<Arc<str>>,
    /// Further resources that it waits for, each with its place.
    pub depends_on: Vec<(Descriptor, Location)>,
}
