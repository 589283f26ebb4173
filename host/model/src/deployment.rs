//! The developers' declarations (SPEC §2).

use std::sync::Arc;

use indexmap::IndexMap;

use crate::{
    Class, InstallationRequest, Key, Location, Manifest, NameError, Recipe, Requirement, ResourceId,
    ResourceLifecycle, Template, TypeName,
};

/// Everything to deploy to one environment. Several documents are combined into one of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deployment {
    /// The workloads, by name.
    pub workloads: Vec<Workload>,
    /// The shared resources of the deployment; a name `N` becomes the id `shared.N`.
    pub shared: Vec<ResourceRequest>,
    /// Managed resources.
    pub manifests: Vec<Manifest>,
    /// The bundles that it needs. An installation has the name of its requirement.
    pub requires: Vec<Requirement>,
    /// Installations of bundles, including their requirements.
    pub installations: Vec<InstallationRequest>,
    /// The resources whose definitions require bundles, sorted by key.
    pub requirers: Vec<Requirer>,
    /// The values of `${values.K}`.
    pub values: IndexMap<Arc<str>, Template>,
    /// Settings for replacing, deleting, adopting and renaming, each key once.
    pub lifecycle: Vec<ResourceLifecycle>,
}

impl Deployment {
    /// The recipe of a resource whose definition requires bundles.
    pub fn requirer(&self, key: &str) -> Option<&Requirer> {
        let at = self.requirers.binary_search_by(|one| one.key.as_str().cmp(key)).ok()?;
        self.requirers.get(at)
    }

    /// The keys of the workloads and of the declared resources (SPEC §2), in reading order; without
    /// those with malformed ids, which the graph reports.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        for workload in &self.workloads {
            keys.extend(Key::of_workload(&workload.name));
            keys.extend(workload.resources.iter().filter_map(|one| one.key_in(&workload.name).ok()));
        }
        keys.extend(self.shared.iter().filter_map(|one| one.shared_key().ok()));
        keys.extend(self.manifests.iter().map(Manifest::key));
        keys.extend(self.installations.iter().map(InstallationRequest::key));
        keys
    }
}

/// A resource whose definition requires bundles.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirer {
    /// The resource.
    pub key: Key,
    /// The recipe of its definition, in which a reference to an output of a requirement names the
    /// requirement's installation.
    pub recipe: Arc<Recipe>,
}

/// A workload: from a Score file or a module of a Deployment Set.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name; the resource's id is `modules.<name>`.
    pub name: Arc<str>,
    /// Profile of a Deployment Set's module.
    pub profile: Option<Arc<str>>,
    /// The source of `${metadata.K}`: a map.
    pub metadata: Template,
    /// Everything else: a map, `containers` and `service` for a Score file.
    pub spec: Template,
    /// The resources that it declares.
    pub resources: Vec<ResourceRequest>,
    /// Where it was written.
    pub location: Location,
}

/// A resource that a developer declares.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceRequest {
    /// Its name in the declaring document.
    pub name: Arc<str>,
    /// The type.
    pub type_name: TypeName,
    /// The class, `default` by default.
    pub class: Class,
    /// Id given by the developer: the resource is `shared.<id>`.
    pub id: Option<Arc<str>>,
    /// Parameters, a map.
    pub params: Option<Arc<Template>>,
    /// Where it was written.
    pub location: Location,
}

impl ResourceRequest {
    /// The key of a resource that a workload declares (SPEC §2). One of the type `workload` is the
    /// workload of its name (SPEC §5).
    ///
    /// # Errors
    /// If the names cannot be part of an id.
    pub fn key_in(&self, workload: &str) -> Result<Key, NameError> {
        let id = match &self.id {
            Some(id) => format!("shared.{id}"),
            None if &*self.type_name == TypeName::WORKLOAD => format!("modules.{}", self.name),
            None => format!("modules.{workload}.externals.{}", self.name),
        };
        Ok(Key::new(&self.type_name, &self.class, &ResourceId::new(id)?))
    }

    /// The key of a shared resource.
    ///
    /// # Errors
    /// If the name cannot be part of an id.
    pub fn shared_key(&self) -> Result<Key, NameError> {
        let id = format!("shared.{}", self.id.as_ref().unwrap_or(&self.name));
        Ok(Key::new(&self.type_name, &self.class, &ResourceId::new(id)?))
    }
}
