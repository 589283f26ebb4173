//! Kinds that are defined later, missing kinds, and kinds with several versions.

use purlin_systems::kubernetes::Kubernetes;
use serde_json::{Value, json};

use crate::scene::{deployment, destroy, give, one, refused, several, unchanged, up, workspace};

const GADGETS: &str = "gadgets.shop.example";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": GADGETS},
        "spec": {
            "group": "shop.example", "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}

fn gadget(size: &Value) -> Value {
    json!({
        "apiVersion": "shop.example/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": size},
    })
}

#[test]
fn a_kind_and_its_objects_come_and_go_together() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &several(&k8s.url(), &[gadget(&json!(3)), definition()]));
    up(&workspace);
    assert_eq!(k8s.get(GADGETS, "default", "g").expect("made")["spec"]["size"], 3);
    unchanged(&workspace);
    // From then on, its controller's status is decisive.
    let ready = |status: &str| json!({"conditions": [{"type": "Ready", "status": status, "reason": "Worn"}]});
    k8s.set_status(GADGETS, "default", "g", &ready("False"));
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["state", "list"]).prints("in-progress");
    k8s.set_status(GADGETS, "default", "g", &ready("True"));
    up(&workspace);
    unchanged(&workspace);

    give(&workspace, &several(&k8s.url(), &[gadget(&json!("three")), definition()]));
    refused(&workspace).prints("values.manifests.0").prints(".spec.size: expected numeric");
    assert_eq!(k8s.get(GADGETS, "default", "g").expect("there")["spec"]["size"], 3);
    destroy(&workspace);
    assert_eq!(k8s.get("customresourcedefinitions.apiextensions.k8s.io", "", GADGETS), None);
    assert_eq!(k8s.get(GADGETS, "default", "g"), None);
}

#[test]
fn unknown_kinds_are_reported() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &gadget(&json!(3))));
    refused(&workspace).prints("the cluster has no API `shop.example/v1`");
    let mut wrong = deployment("web", "shop:1", 1);
    wrong["kind"] = "deployment".into();
    give(&workspace, &one(&k8s.url(), &wrong));
    refused(&workspace).prints("did you mean `Deployment`?");
    wrong = deployment("web", "shop:1", 1);
    wrong["spec"]["replica"] = 3.into();
    give(&workspace, &one(&k8s.url(), &wrong));
    refused(&workspace).prints(".spec.replica: field not declared in schema");
    assert!(k8s.names("deployments.apps", "default").is_empty());
}

#[test]
fn another_version_of_a_kind_is_the_same_object() {
    let Some(k8s) = Kubernetes::start() else { return };
    let autoscaler = |version: &str, spec: &Value| {
        let mut all = json!({
            "minReplicas": 1, "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        });
        all.as_object_mut().expect("an object").extend(spec.as_object().expect("an object").clone());
        json!({
            "apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": all,
        })
    };
    let old = autoscaler("autoscaling/v1", &json!({"targetCPUUtilizationPercentage": 50}));
    let workspace = workspace(&k8s, &one(&k8s.url(), &old));
    up(&workspace);
    unchanged(&workspace);
    let uid = || {
        let made = k8s.get("horizontalpodautoscalers.autoscaling", "default", "web").expect("there");
        made["metadata"]["uid"].clone()
    };
    let before = uid();
    let metrics = |percent: u8| {
        json!({"metrics": [{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent},
        }}]})
    };
    give(&workspace, &one(&k8s.url(), &autoscaler("autoscaling/v2beta2", &metrics(60))));
    up(&workspace).prints("updated");
    unchanged(&workspace);
    assert_eq!(uid(), before, "in place");
    let now = k8s.get("horizontalpodautoscalers.autoscaling", "default", "web").expect("there");
    assert_eq!(now["spec"]["targetCPUUtilizationPercentage"], 60);
    destroy(&workspace);
    assert_eq!(k8s.get("horizontalpodautoscalers.autoscaling", "default", "web"), None);
}
