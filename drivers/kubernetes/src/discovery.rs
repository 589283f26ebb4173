//! The kinds of a cluster, and the paths of their objects.

use purlin_sdk::{Failure, Json, Object};
use purlin_sdk_http::segment;

use crate::api::{Api, Trouble};
use crate::object::Identity;

/// The kinds of one API version.
pub(crate) type ResourceKinds = Vec<ResourceKind>;

/// A kind of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceKind {
    kind: String,
    plural: String,
    pub(crate) namespaced: bool,
}

impl ResourceKind {
    /// The kinds that a manifest defines, each with its API version.
    pub(crate) fn defined_by(manifest: &Object) -> Vec<(String, Self)> {
        let is_definition = manifest.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition");
        let Some(spec) = manifest.get("spec").filter(|_| is_definition) else { return Vec::new() };
        let text = |path: &str| spec.pointer(path).and_then(Json::as_str).map(str::to_owned);
        let (Some(group), Some(kind), Some(plural)) =
            (text("/group"), text("/names/kind"), text("/names/plural"))
        else {
            return Vec::new();
        };
        let kind = Self { kind, plural, namespaced: text("/scope").as_deref() == Some("Namespaced") };
        let versions = spec["versions"].as_array().into_iter().flatten();
        let versions = versions.filter_map(|version| version["name"].as_str());
        versions.map(|version| (format!("{group}/{version}"), kind.clone())).collect()
    }

    /// Whether an object is of this kind, in any version.
    pub(crate) fn is(&self, identity: &Identity) -> bool {
        self.kind == identity.kind
    }

    /// The path of an object of this kind.
    pub(crate) fn place(&self, identity: &Identity, namespace: &str) -> ObjectLocation {
        placed(identity, self, namespace)
    }
}

/// A cluster's answer about a kind.
pub(crate) enum Look {
    /// The cluster has it.
    Known(ResourceKind),
    /// The cluster certainly has no such kind, so it has no object of it.
    Unknown(String),
}

impl Api {
    /// Looks up a kind; does not repeat requests within this call.
    pub(crate) fn kind(&self, identity: &Identity) -> Result<Look, Trouble> {
        let version = identity.api_version.as_str();
        if !self.known.borrow().contains_key(version) {
            let kinds = self.kinds(version)?;
            self.known.borrow_mut().insert(version.to_owned(), kinds);
        }
        let known = self.known.borrow();
        let Some(kinds) = known.get(version).and_then(Option::as_ref) else {
            return Ok(Look::Unknown(format!(
                "the cluster has no API `{version}`, and so no kind `{}` of it; `kubectl api-versions` lists what it \
                 has",
                identity.kind
            )));
        };
        if let Some(kind) = kinds.iter().find(|kind| kind.kind == identity.kind) {
            return Ok(Look::Known(kind.clone()));
        }
        let near = kinds.iter().find(|kind| kind.kind.eq_ignore_ascii_case(&identity.kind));
        let near =
            near.or_else(|| kinds.iter().find(|kind| kind.plural.eq_ignore_ascii_case(&identity.kind)));
        let hint = near.map(|kind| format!("; did you mean `{}`?", kind.kind)).unwrap_or_default();
        Ok(Look::Unknown(format!("the cluster has no kind `{}` of `{version}`{hint}", identity.kind)))
    }

    fn kinds(&self, version: &str) -> Result<Option<ResourceKinds>, Trouble> {
        match self.get(&root(version)) {
            Ok(Some(list)) if list["kind"] == "APIResourceList" => Ok(Some(read(&list))),
            Ok(None) => Ok(None),
            // An API that may exist must not be treated as gone.
            Ok(Some(_)) => Err(Trouble::strange(&format!(
                "the response of `{}` lists no kinds; is `connection.server` the API server?",
                root(version)
            ))),
            // Only an API server can report that there is no such API.
            Err(trouble @ Trouble::Silent { no_path: true, .. }) => match self.get("/api") {
                Ok(Some(versions)) if versions["kind"] == "APIVersions" => Ok(None),
                _ => Err(trouble),
            },
            Err(trouble) => Err(trouble),
        }
    }

    /// Forgets an API version, because one of its kinds came or went.
    pub(crate) fn forget(&self, version: &str) {
        self.known.borrow_mut().remove(version);
    }

    /// The identity of an object, with the namespace that it gets if it names none, and its path.
    /// None if the cluster does not know the kind.
    pub(crate) fn place(
        &self,
        identity: &Identity,
        namespace: &str,
    ) -> Result<Option<ObjectLocation>, Trouble> {
        match self.kind(identity)? {
            Look::Known(kind) => Ok(Some(placed(identity, &kind, namespace))),
            Look::Unknown(_) => Ok(None),
        }
    }

    /// The same, if the kind must exist.
    pub(crate) fn must_place(
        &self,
        identity: &Identity,
        namespace: &str,
        at: &str,
    ) -> Result<ObjectLocation, Failure> {
        match self.kind(identity).map_err(|trouble| trouble.failure(&identity.short(), at))? {
            Look::Known(kind) if !kind.namespaced && identity.namespace.is_some() => Err(Failure::input(
                format!("{at}/metadata/namespace"),
                format!("objects of kind `{}` have no namespace: leave it out", identity.kind),
            )),
            Look::Known(kind) => Ok(placed(identity, &kind, namespace)),
            Look::Unknown(message) => Err(Failure::failed(format!("{message} ({at})"))),
        }
    }
}

/// An object and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectLocation {
    pub(crate) identity: Identity,
    pub(crate) path: String,
}

fn placed(identity: &Identity, kind: &ResourceKind, namespace: &str) -> ObjectLocation {
    let mut identity = identity.clone();
    let root = root(&identity.api_version);
    let (plural, name) = (segment(&kind.plural), segment(&identity.name));
    let path = if kind.namespaced {
        let namespace = identity.namespace.get_or_insert_with(|| namespace.to_owned());
        format!("{root}/namespaces/{}/{plural}/{name}", segment(namespace))
    } else {
        identity.namespace = None;
        format!("{root}/{plural}/{name}")
    };
    ObjectLocation { identity, path }
}

fn root(version: &str) -> String {
    match version.split_once('/') {
        Some((group, version)) => format!("/apis/{}/{}", segment(group), segment(version)),
        None => format!("/api/{}", segment(version)),
    }
}

/// Subresources, such as `deployments/scale`, are not kinds.
fn read(list: &Json) -> ResourceKinds {
    let resources = list["resources"].as_array().into_iter().flatten();
    let kinds = resources.filter_map(|resource| {
        let plural = resource["name"].as_str().filter(|name| !name.contains('/'))?;
        Some(ResourceKind {
            kind: resource["kind"].as_str()?.to_owned(),
            plural: plural.to_owned(),
            namespaced: resource["namespaced"].as_bool()?,
        })
    });
    kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn object_paths_follow_discovery() {
        let kinds = read(&json!({"resources": [
            {"name": "deployments", "kind": "Deployment", "namespaced": true},
            {"name": "deployments/scale", "kind": "Scale", "namespaced": true},
            {"name": "things", "kind": "Thing", "namespaced": false},
        ]}));
        assert_eq!(kinds.len(), 2);
        let place = |text: &str, kind: &ResourceKind| {
            Identity::parse(text).map(|identity| placed(&identity, kind, "shop").path).unwrap_or_default()
        };
        let [deployment, thing] = kinds.as_slice() else { panic!("two kinds") };
        assert_eq!(
            place("apps/v1/Deployment/web", deployment),
            "/apis/apps/v1/namespaces/shop/deployments/web"
        );
        assert_eq!(
            place("apps/v1/Deployment/x/..", deployment),
            "/apis/apps/v1/namespaces/x/deployments/%2E%2E"
        );
        assert_eq!(place("x.example/v1/Thing/a:b", thing), "/apis/x.example/v1/things/a%3Ab");
    }
}
