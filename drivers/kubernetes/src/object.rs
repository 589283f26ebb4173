//! The identity of an object and the way to send it: order, secret parts, the mark.

use std::fmt;

use data_encoding::BASE64;
use purlin_sdk::{Failure, Json, Object};
use serde_json::json;

use crate::inputs::SplitManifest;

/// Kinds that hold data.
pub(crate) const VOLUMES: [&str; 2] = ["PersistentVolumeClaim", "PersistentVolume"];

/// Kinds whose deletion deletes other objects: those of a namespace, those of a kind.
pub(crate) const CONTAINERS: [&str; 2] = ["Namespace", "CustomResourceDefinition"];

/// The label that names the owner of an object; its value is the resource's `guresid`.
pub(crate) const MARK: &str = "purlin.dev/resource";

/// The annotation that tells the objects of one life of a resource from older ones, which existed
/// before it was replaced, retained or forgotten.
pub(crate) const LIFE: &str = "purlin.dev/life";

/// The identity of an object in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// None for objects without a namespace, and if the namespace is not given.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Identity {
    /// The identity of a manifest or of a live object.
    pub(crate) fn of(manifest: &Object) -> Option<Self> {
        let metadata = manifest.get("metadata")?;
        let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
        Some(Self {
            api_version: text(manifest.get("apiVersion"))?,
            kind: text(manifest.get("kind"))?,
            namespace: text(metadata.get("namespace")),
            name: text(metadata.get("name"))?,
        })
    }

    /// From `apiVersion/kind[/namespace]/name`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let first = parts.next()?;
        let api_version =
            if is_version(first) { first.to_owned() } else { format!("{first}/{}", parts.next()?) };
        let kind = parts.next()?.to_owned();
        let (namespace, name) = match (parts.next()?, parts.next()) {
            (namespace, Some(name)) => (Some(namespace.to_owned()), name.to_owned()),
            (name, None) => (None, name.to_owned()),
        };
        let all = [&kind, &name, &api_version];
        let whole = parts.next().is_none() && all.iter().all(|part| !part.is_empty());
        whole.then_some(Self { api_version, kind, namespace, name })
    }

    /// The API group, empty for the core.
    pub(crate) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether both name one object, in any version of its group.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.group(), &self.kind, &self.namespace, &self.name)
            == (other.group(), &other.kind, &other.namespace, &other.name)
    }

    /// Whether this one, which may have no namespace yet, can be that one.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        let namespace = self.namespace.clone().or_else(|| other.namespace.clone());
        Self { namespace, ..self.clone() }.is(other)
    }

    /// `Deployment web`, or `Deployment shop/web`.
    pub(crate) fn short(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/", self.api_version, self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// `v1`, `v2beta3`: the form of the first part in the core group.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        && !text.contains('.')
}

/// A JSON pointer to a member of the value at another pointer.
pub(crate) fn pointer(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The position in which objects are applied; deletion uses the reverse order.
pub(crate) fn rank(kind: &str) -> u8 {
    match kind {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        "StorageClass" | "PriorityClass" | "IngressClass" | "RuntimeClass" => 2,
        "ResourceQuota" | "LimitRange" | "NetworkPolicy" | "PodSecurityPolicy" => 3,
        "ServiceAccount" => 4,
        "ClusterRole" | "Role" => 5,
        "ClusterRoleBinding" | "RoleBinding" => 6,
        "Secret" | "ConfigMap" => 7,
        "PersistentVolume" => 8,
        "PersistentVolumeClaim" => 9,
        "Service" | "Endpoints" | "EndpointSlice" => 10,
        "Pod" | "ReplicaSet" | "Deployment" | "StatefulSet" | "DaemonSet" | "Job" | "CronJob" => 12,
        "HorizontalPodAutoscaler" | "PodDisruptionBudget" => 13,
        "Ingress" | "APIService" => 14,
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => 15,
        // Custom resources come after the objects that they may need, and before workloads that
        // read them.
        _ => 11,
    }
}

/// The object to send for a manifest: with its secret part, its namespace and the mark.
pub(crate) fn wire(
    given: &SplitManifest<'_>,
    namespace: Option<&str>,
    guresid: &str,
    life: Option<&str>,
) -> Json {
    let mut object = Json::Object(given.manifest.clone());
    if let Some(secret) = given.secret {
        merge(&mut object, &Json::Object(secret.clone()));
    }
    drop_nulls(&mut object);
    encode_texts(&mut object);
    let mut metadata = json!({"labels": {MARK: guresid}});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    if let Some(life) = life {
        metadata["annotations"] = json!({LIFE: life});
    }
    merge(&mut object, &json!({"metadata": metadata}));
    object
}

/// Merges one document over another. Lists are replaced as a whole, except lists whose items have a
/// `name`, which are merged by it.
pub(crate) fn merge(under: &mut Json, over: &Json) {
    match (under, over) {
        (Json::Object(under), Json::Object(over)) => {
            for (name, value) in over {
                merge(under.entry(name.as_str()).or_insert(Json::Null), value);
            }
        }
        (Json::Array(under), Json::Array(over)) if named(under) && named(over) => {
            for item in over {
                match under.iter_mut().find(|known| known["name"] == item["name"]) {
                    Some(known) => merge(known, item),
                    None => under.push(item.clone()),
                }
            }
        }
        (under, over) => *under = over.clone(),
    }
}

fn named(items: &[Json]) -> bool {
    items.iter().all(|item| item.get("name").is_some_and(Json::is_string))
}

fn drop_nulls(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Json::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// `stringData` is never read back and confuses field ownership, so it is sent as `data`.
fn encode_texts(object: &mut Json) {
    if !is_secret(object) {
        return;
    }
    let Some(members) = object.as_object_mut() else { return };
    let Some(Json::Object(texts)) = members.shift_remove("stringData") else { return };
    let data = members.entry("data").or_insert_with(|| json!({}));
    for (name, text) in texts {
        // A value that is not text is sent unchanged, and the server rejects it.
        let value = text.as_str().map_or(text.clone(), |text| BASE64.encode(text.as_bytes()).into());
        if let Some(data) = data.as_object_mut() {
            data.insert(name, value);
        }
    }
}

/// Whether it is a Secret of the core.
pub(crate) fn is_secret(object: &Json) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

/// The owner that an object names.
pub(crate) fn mark(live: &Json) -> Option<&str> {
    live.get("metadata")?.get("labels")?.get(MARK)?.as_str()
}

/// The life of a resource to which an object belongs.
pub(crate) fn life(live: &Json) -> Option<&str> {
    live.get("metadata")?.get("annotations")?.get(LIFE)?.as_str()
}

pub(crate) fn uid(live: &Json) -> &str {
    live.pointer("/metadata/uid").and_then(Json::as_str).unwrap_or_default()
}

/// Whether it is being deleted.
pub(crate) fn is_terminating(live: &Json) -> bool {
    live.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// The id of a resource that consists of these objects. Its end distinguishes ids that this driver
/// gave from ids that a person names for an import.
pub(crate) fn resource_id<'a>(
    objects: impl Iterator<Item = &'a Identity>,
    guresid: &str,
    life: Option<&str>,
) -> String {
    let mut list: Vec<String> = objects.map(ToString::to_string).collect();
    let short = |text: &str| text.get(..8).unwrap_or(text).to_owned();
    // Two lives of one resource may exist at once, in two clusters.
    let short = life.map_or_else(|| short(guresid), |life| format!("{}-{}", short(guresid), short(life)));
    let total = list.len();
    let mut id = format!("{}@{short}", list.join(","));
    while id.len() > 4096 && list.pop().is_some() {
        id = format!("{},+{}@{short}", list.join(","), total - list.len());
    }
    id
}

/// The content of an id: objects, and whether this driver gave it to the resource. None for the
/// objects if there were too many to name.
pub(crate) fn read_id(id: &str) -> Result<(Option<Vec<Identity>>, Option<&str>), Failure> {
    let (list, owner) = id.split_once('@').map_or((id, None), |(list, owner)| (list, Some(owner)));
    if owner.is_some() && list.rsplit(',').next().is_some_and(|last| last.starts_with('+')) {
        return Ok((None, owner));
    }
    let objects: Option<Vec<Identity>> = list.split(',').map(|text| Identity::parse(text.trim())).collect();
    match objects {
        Some(objects) => Ok((Some(objects), owner)),
        None => Err(Failure::failed(format!(
            "`{id}` names no objects: write `apiVersion/kind/namespace/name`, such as `apps/v1/Deployment/shop/web`, \
             and several with `,` between them"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for text in [
            "v1/ConfigMap/shop/a",
            "apps/v1/Deployment/shop/web",
            "v1/Namespace/shop",
            "x.example/v1/Thing/t",
        ] {
            let identity = Identity::parse(text).expect(text);
            assert_eq!(identity.to_string(), text);
        }
        for wrong in ["", "v1", "v1/ConfigMap", "apps/v1", "v1/ConfigMap//", "v1/a/b/c/d", "//"] {
            assert!(Identity::parse(wrong).is_none(), "{wrong}");
        }
        let objects = [Identity::parse("v1/Namespace/shop"), Identity::parse("apps/v1/Deployment/shop/web")];
        let objects: Vec<Identity> = objects.into_iter().flatten().collect();
        let id = resource_id(objects.iter(), "0123456789abcdef", None);
        assert_eq!(id, "v1/Namespace/shop,apps/v1/Deployment/shop/web@01234567");
        let (read, owner) = read_id(&id).expect("an id");
        assert_eq!((read, owner), (Some(objects), Some("01234567")));
    }

    #[test]
    fn an_id_of_many_objects_is_short_enough() {
        let many: Vec<Identity> = (0..200)
            .filter_map(|n| Identity::parse(&format!("apps/v1/Deployment/shop/web-{n:0>30}")))
            .collect();
        let id = resource_id(many.iter(), "0123456789abcdef", None);
        assert!(id.len() <= 4096, "{}", id.len());
        assert!(matches!(read_id(&id), Ok((None, Some("01234567")))));
    }

    #[test]
    fn secret_texts_are_sent_as_data_with_the_mark() {
        let manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "x": null});
        let secret = json!({"stringData": {"password": "hush"}});
        let (Some(manifest), Some(secret)) = (manifest.as_object(), secret.as_object()) else {
            panic!("objects")
        };
        let given = SplitManifest { pointer: String::new(), manifest, secret: Some(secret) };
        let wanted = json!({
            "apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVzaA=="},
            "metadata": {"name": "s", "labels": {MARK: "abc"}, "namespace": "shop"},
        });
        assert_eq!(wire(&given, Some("shop"), "abc", None), wanted);
    }
}
