//! The kinds that the cluster has, built in and custom.

use serde_json::{Value, json};

use super::schema::Node;

/// A kind.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// API group, empty for the core.
    pub(super) group: String,
    /// Version in the group.
    pub(super) version: String,
    /// Such as `Deployment`.
    pub(super) kind: String,
    /// Such as `deployments`.
    pub(super) plural: String,
    /// Whether its objects lie in namespaces.
    pub(super) namespaced: bool,
    /// Whether its objects count generations.
    pub(super) counted: bool,
    /// Its type.
    pub(super) node: Node,
}

impl Kind {
    /// `apps/v1`, or `v1`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `deployments.apps`, or `pods`.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// As discovery lists it.
    pub(super) fn listed(&self) -> Value {
        json!({
            "name": self.plural, "singularName": self.kind.to_lowercase(), "namespaced": self.namespaced,
            "kind": self.kind, "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
        })
    }

    /// The kind that a definition defines.
    pub(super) fn defined_by(definition: &Value) -> Vec<Self> {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let versions = spec["versions"].as_array().into_iter().flatten();
        let versions = versions.filter(|version| version["served"] == true);
        versions
            .map(|version| Self {
                group: text(&spec["group"]),
                version: text(&version["name"]),
                kind: text(&spec["names"]["kind"]),
                plural: text(&spec["names"]["plural"]),
                namespaced: spec["scope"] == "Namespaced",
                counted: true,
                node: Node::custom(&version["schema"]["openAPIV3Schema"]),
            })
            .collect()
    }
}

/// The kinds that are always there.
pub(super) fn built_in() -> Vec<Kind> {
    let all: [(&str, &str, &str, &str, bool, bool); 23] = [
        ("", "v1", "Namespace", "namespaces", false, false),
        ("", "v1", "ConfigMap", "configmaps", true, false),
        ("", "v1", "Secret", "secrets", true, false),
        ("", "v1", "Service", "services", true, false),
        ("", "v1", "ServiceAccount", "serviceaccounts", true, false),
        ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true, false),
        ("", "v1", "Pod", "pods", true, true),
        ("apps", "v1", "Deployment", "deployments", true, true),
        ("apps", "v1", "StatefulSet", "statefulsets", true, true),
        ("apps", "v1", "DaemonSet", "daemonsets", true, true),
        ("apps", "v1", "ReplicaSet", "replicasets", true, true),
        ("batch", "v1", "Job", "jobs", true, true),
        ("batch", "v1", "CronJob", "cronjobs", true, true),
        ("rbac.authorization.k8s.io", "v1", "Role", "roles", true, false),
        ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true, false),
        ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false, false),
        ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false, false),
        ("networking.k8s.io", "v1", "Ingress", "ingresses", true, true),
        ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", true, true),
        ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true, true),
        ("storage.k8s.io", "v1", "StorageClass", "storageclasses", false, false),
        ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true, false),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false, true),
    ];
    all.into_iter()
        .map(|(group, version, kind, plural, namespaced, counted)| Kind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
            counted,
            node: Node::named(kind),
        })
        .collect()
}
