//! Where the inputs of a resource were written, and which of them resource types declare secret.

use std::fmt;
use std::sync::Arc;

use purlin_model::{DocumentPart, Path, ReferenceField, Value};

use crate::docs::{Docs, Source};
use crate::graph::Graph;
use crate::node::NodeId;

/// Knows which params are secret whatever their value, from the schemas of resource types.
pub trait SecretParams: fmt::Debug + Send + Sync {
    /// The value at a path of the params of a resource of this type, with its secret parts marked.
    fn seal(&self, type_name: &str, path: &Path, value: Value) -> Value;
}

impl Graph {
    /// The same graph, in which some params are secret from the moment they are read.
    #[must_use]
    pub fn with_secret_params(mut self, secrets: Arc<dyn SecretParams>) -> Self {
        self.secret_params = Some(secrets);
        self
    }

    /// Marks the secret parts of a value at a path of the params of a resource.
    pub(crate) fn seal_params(&self, node: NodeId, path: &Path, value: Value) -> Value {
        if let Some(installation) = self.docs().installation_of(&self.nodes, node) {
            return installation.seal(path, value);
        }
        match (&self.secret_params, self.nodes.key(node)) {
            (Some(secrets), Some(key)) => secrets.seal(key.type_name(), path, value),
            _ => value,
        }
    }

    /// The fields that Purlin took out of the manifest of a resource, and what it fills instead.
    pub fn reference_fields(&self, node: NodeId) -> Arc<[ReferenceField]> {
        self.docs()
            .manifest_of(&self.nodes, node)
            .map(|manifest| manifest.references.clone())
            .unwrap_or_default()
    }

    /// The params that a developer gives a resource and that no placeholder reads, by name. Its driver
    /// may read them.
    pub fn params_not_named(&self, node: NodeId) -> &[Arc<str>] {
        let found = self.params_not_named.binary_search_by_key(&node, |(other, _)| *other).ok();
        found.and_then(|index| self.params_not_named.get(index)).map_or(&[], |(_, names)| names)
    }

    /// Where the params of a resource were written, or would be; none if only references name it.
    pub fn params_written(&self, node: NodeId) -> Option<DocumentPart<'_>> {
        let (_, data) = self.nodes.get(node)?;
        let docs: Docs<'_> = self.docs();
        let from = self.sources.partition_point(|(other, _)| *other < node);
        let first = self.sources.get(from).filter(|(other, _)| *other == node).map(|(_, source)| *source);
        let source = data.params.or(first)?;
        let location = docs.location(&self.nodes, source)?;
        Some(match source {
            Source::Workload(_) => DocumentPart::Workload(location),
            Source::Manifest(_) => DocumentPart::Manifest(location),
            _ => DocumentPart::Params(location),
        })
    }
}
