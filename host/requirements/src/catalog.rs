//! The sources of bundles.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use purlin_model::{Bundle, BundleReference};

/// A query to a catalog failed. A missing entry is not an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CatalogError(pub String);

/// Bundles by repository and tag: folders, or a registry.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// The tags of a repository, in no order. None if there is no such repository.
    ///
    /// # Errors
    /// If the catalog is not available.
    async fn tags(&self, repository: &str) -> Result<Vec<Arc<str>>, CatalogError>;

    /// The bundle of a reference with a tag or a digest.
    ///
    /// # Errors
    /// If the catalog is not available, or has something else under that name.
    async fn bundle(&self, reference: &BundleReference) -> Result<Option<Arc<Bundle>>, CatalogError>;

    /// Whether its bundles have digests, by which references can name them.
    fn has_digests(&self) -> bool {
        true
    }

    /// The repositories, to suggest the intended one; none if the catalog does not list them.
    fn repositories(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// A catalog of bundles that were read from folders. Their tags are `v` and their version.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    repositories: BTreeMap<Arc<str>, Vec<Arc<Bundle>>>,
}

impl Folders {
    /// A catalog of these bundles. If two have the same name and version, the first is used; the
    /// other one is returned.
    pub fn new(bundles: impl IntoIterator<Item = Bundle>) -> (Self, Vec<(Bundle, Arc<Bundle>)>) {
        let (mut catalog, mut twins) = (Self::default(), Vec::new());
        for bundle in bundles {
            let all = catalog.repositories.entry(Arc::clone(&bundle.repository)).or_default();
            match all.iter().find(|first| first.version == bundle.version) {
                Some(first) => twins.push((bundle, Arc::clone(first))),
                None => all.push(Arc::new(bundle)),
            }
        }
        (catalog, twins)
    }
}

#[async_trait]
impl Catalog for Folders {
    async fn tags(&self, repository: &str) -> Result<Vec<Arc<str>>, CatalogError> {
        let all = self.repositories.get(repository).into_iter().flatten();
        Ok(all.map(|bundle| format!("v{}", bundle.version).into()).collect())
    }

    async fn bundle(&self, reference: &BundleReference) -> Result<Option<Arc<Bundle>>, CatalogError> {
        if reference.digest.is_some() {
            return Ok(None);
        }
        let version = reference.version();
        let mut all = self.repositories.get(&reference.repository).into_iter().flatten();
        Ok(all.find(|bundle| Some(&bundle.version) == version.as_ref()).cloned())
    }

    fn has_digests(&self) -> bool {
        false
    }

    fn repositories(&self) -> Vec<Arc<str>> {
        self.repositories.keys().cloned().collect()
    }
}
