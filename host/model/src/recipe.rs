//! How a resource is provisioned: what a definition and a bundle have in common (SPEC §1, recipe).

use std::sync::Arc;

use crate::{Descriptor, Lifecycle, Location, Requirement, Template};

/// A driver by name, and the versions that will do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DriverRequirement {
    /// `ORG/NAME`, such as `purlin/echo`.
    pub name: Arc<str>,
    /// The range of versions behind `@`; any version if there is none.
    pub range: Option<purlin_range::Range>,
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
    /// `inputs.connection`, a map: how to reach the system that the resource is in. Leaves `{store, ref,
    /// version}` are secrets of a store.
    pub connection: Option<Template>,
    /// Outputs that are made from those of other resources, a map, beside the outputs of the driver: what a bundle
    /// promotes from its requirements.
    pub promoted: Option<Template>,
    /// Resources to add whenever this recipe is used.
    pub provision: Vec<Provision>,
    /// The bundles that each resource needs which this recipe provisions. Its templates read their outputs as
    /// [`Reference::Named`](crate::Reference::Named), until a [`Requirer`](crate::Requirer) fills them in. Empty where
    /// a bundle was compiled: its requirements are installations already.
    pub requires: Vec<Requirement>,
    /// Wishes about replacing, deleting and the like.
    pub lifecycle: Lifecycle,
    /// Where the recipe was written.
    pub location: Location,
}

impl Recipe {
    /// Everything that may hold placeholders of this recipe, but for the params of what it provisions.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let Self { account, values, secrets, secret_refs, connection, promoted, .. } = self;
        account.iter().chain([values, secrets]).chain(secret_refs).chain(connection).chain(promoted)
    }
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
