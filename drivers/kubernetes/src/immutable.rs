//! Fields that the API server never changes in place: changing one replaces the resource.

use purlin_sdk::Json;

use crate::object::Identity;

/// The immutable places of a kind. A place that ends in `/` means everything below it except the
/// names that follow.
fn rules(identity: &Identity) -> &'static [(&'static str, &'static [&'static str])] {
    match (identity.group(), identity.kind.as_str()) {
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => &[("/spec/selector", &[])],
        ("apps", "StatefulSet") => &[(
            "/spec/",
            &[
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ],
        )],
        ("batch", "Job") => &[
            ("/spec/selector", &[]),
            ("/spec/template", &[]),
            ("/spec/completionMode", &[]),
            ("/spec/podFailurePolicy", &[]),
            ("/spec/backoffLimitPerIndex", &[]),
            ("/spec/managedBy", &[]),
        ],
        ("", "Service") => &[("/spec/clusterIP", &[])],
        ("", "PersistentVolumeClaim") => &[("/spec/", &["resources", "volumeAttributesClassName"])],
        ("", "Pod") => &[(
            "/spec/",
            &[
                "activeDeadlineSeconds",
                "terminationGracePeriodSeconds",
                "tolerations",
                "containers",
                "initContainers",
            ],
        )],
        ("", "Secret") => &[("/type", &[])],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => &[("/roleRef", &[])],
        ("storage.k8s.io", "StorageClass") => &[
            ("/provisioner", &[]),
            ("/parameters", &[]),
            ("/reclaimPolicy", &[]),
            ("/volumeBindingMode", &[]),
        ],
        ("scheduling.k8s.io", "PriorityClass") => &[("/value", &[])],
        ("node.k8s.io", "RuntimeClass") => &[("/handler", &[])],
        ("networking.k8s.io", "IngressClass") => &[("/spec/controller", &[])],
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &[
            ("/spec/group", &[]),
            ("/spec/scope", &[]),
            ("/spec/names/kind", &[]),
            ("/spec/names/plural", &[]),
        ],
        _ => &[],
    }
}

/// The immutable places of a manifest that a change affects. `unknown` returns whether the new
/// value of a place is still unknown.
pub(crate) fn broken(
    identity: &Identity,
    before: &Json,
    after: &Json,
    unknown: impl Fn(&str) -> bool,
) -> Vec<String> {
    let changes = |place: &str| before.pointer(place) != after.pointer(place) || unknown(place);
    let mut places = Vec::new();
    for (place, except) in rules(identity) {
        let Some(above) = place.strip_suffix('/') else {
            if changes(place) {
                places.push((*place).to_owned());
            }
            continue;
        };
        let names = |manifest: &Json| -> Vec<String> {
            let members = manifest.pointer(above).and_then(Json::as_object);
            members.into_iter().flat_map(|members| members.keys().cloned()).collect()
        };
        let mut all = names(before);
        all.extend(
            names(after)
                .into_iter()
                .filter(|name| before.pointer(&crate::object::pointer(above, name)).is_none()),
        );
        let below = all.into_iter().filter(|name| !except.contains(&name.as_str()));
        places.extend(below.map(|name| crate::object::pointer(above, &name)).filter(|place| changes(place)));
    }
    if identity.group().is_empty() && identity.kind == "Pod" {
        places.extend(
            ["/spec/containers", "/spec/initContainers"]
                .into_iter()
                .filter(|place| {
                    unknown(place)
                        || without_images(before.pointer(place)) != without_images(after.pointer(place))
                })
                .map(str::to_owned),
        );
    }
    if before["immutable"] == true && matches!(identity.kind.as_str(), "ConfigMap" | "Secret") {
        let contents = ["/data", "/stringData", "/binaryData", "/immutable"];
        places.extend(contents.into_iter().filter(|place| changes(place)).map(str::to_owned));
    }
    places
}

/// Only images may change in the containers of a pod.
fn without_images(containers: Option<&Json>) -> Option<Json> {
    let mut containers = containers?.clone();
    for container in containers.as_array_mut().into_iter().flatten() {
        if let Some(members) = container.as_object_mut() {
            members.shift_remove("image");
        }
    }
    Some(containers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn immutable_fields_are_named() {
        let broken = |id: &str, before: Json, after: Json| {
            Identity::parse(id)
                .map(|identity| broken(&identity, &before, &after, |_| false))
                .unwrap_or_default()
        };
        let selector =
            |app: &str, replicas: u8| json!({"spec": {"replicas": replicas, "selector": {"app": app}}});
        assert!(broken("apps/v1/Deployment/a", selector("x", 1), selector("x", 2)).is_empty());
        assert_eq!(broken("apps/v1/Deployment/a", selector("x", 1), selector("y", 1)), ["/spec/selector"]);
        let set = |service: &str| json!({"spec": {"serviceName": service, "replicas": 1}});
        assert_eq!(broken("apps/v1/StatefulSet/a", set("a"), set("b")), ["/spec/serviceName"]);
        assert_eq!(broken("apps/v1/StatefulSet/a", set("a"), json!({"spec": {}})), ["/spec/serviceName"]);
        let pod = |image: &str, port: u16| json!({"spec": {"containers": [{"image": image, "port": port}]}});
        assert!(broken("v1/Pod/a", pod("x", 1), pod("y", 1)).is_empty());
        assert_eq!(broken("v1/Pod/a", pod("x", 1), pod("x", 2)), ["/spec/containers"]);
        let map = |value: &str| json!({"immutable": true, "data": {"a": value}});
        assert_eq!(broken("v1/ConfigMap/a", map("1"), map("2")), ["/data"]);
    }
}
