//! How a resource is provisioned: the common part of a definition and a bundle (SPEC §1, recipe).

use std::sync::Arc;

use crate::{Descriptor, Lifecycle, Location, Requirement, Template};

/// A driver by name, and the accepted versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DriverRequirement {
    /// `ORG/NAME`, such as `purlin/echo`.
    pub name: Arc<str>,
    /// The range of versions after `@`; any version if there is none.
    pub range: Option<purlin_range::Range>,
    /// Where it was written.
    pub location: Location,
}

/// Driver, inputs, and co-provisioned resources.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Name of the definition or bundle that it was compiled from; `None` for the built-in echo,
    /// the fallback of `workload` and `base-env`.
    pub name: Option<Arc<str>>,
    /// The driver.
    pub driver: DriverRequirement,
    /// `driver_account`: constant text, or text with placeholders.
    pub account: Option<Template>,
    /// `inputs.values`, a map.
    pub values: Template,
    /// `inputs.secrets`, a map; secret whatever its values.
    pub secrets: Template,
    /// `inputs.secret_refs`: a tree with leaves `{store, ref, version}` or `{value}`. Never
    /// together with `secrets`.
    pub secret_refs: Option<Template>,
    /// `inputs.connection`, a map: how to reach the system that the resource is in. Leaves `{store, ref,
    /// version}` are secrets of a store.
    pub connection: Option<Template>,
    /// Outputs that are made from those of other resources, a map, in addition to the driver's:
    /// those that a bundle promotes from its requirements.
    pub promoted: Option<Template>,
    /// Resources to add whenever this recipe is used.
    pub provision: Vec<Provision>,
    /// The bundles that each resource with this recipe requires. Its templates read their outputs
    /// as [`Reference::Named`](crate::Reference::Named), until a [`Requirer`](crate::Requirer)
    /// fills them in. Empty for a compiled bundle: its requirements are already installations.
    pub requires: Vec<Requirement>,
    /// Settings for replacing, deleting and so on.
    pub lifecycle: Lifecycle,
    /// Where the recipe was written.
    pub location: Location,
}

impl Recipe {
    /// Everything that may hold placeholders of this recipe, except the params of co-provisioned
    /// resources.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let Self { account, values, secrets, secret_refs, connection, promoted, .. } = self;
        account.iter().chain([values, secrets]).chain(secret_refs).chain(connection).chain(promoted)
    }
}

/// One entry of `provision`: co-provisioning [G].
#[derive(Clone, Debug, PartialEq)]
pub struct Provision {
    /// The resource to add; omitted class and id are those of the co-provisioner.
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
