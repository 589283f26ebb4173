//! The life of one object from its creation to its end.

use purlin_systems::kubernetes::{Kubernetes, TOKEN};
use serde_json::{Value, json};

use crate::scene::{
    deployment, destroy, give, map, one, outputs, refused, requested, unchanged, up, workspace,
};

const DEPLOYMENTS: &str = "deployments.apps";

/// The owners of an object's fields, and how they became owners.
fn managers(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries
        .map(|entry| {
            (entry["manager"].as_str().unwrap_or_default(), entry["operation"].as_str().unwrap_or_default())
        })
        .collect()
}

#[test]
fn a_deployment_is_created_changed_and_deleted() {
    let Some(k8s) = Kubernetes::start() else { return };
    let mut inputs = one(&k8s.url(), &deployment("web", "shop:1", 2));
    inputs["values"]["outputs"] = json!({"available": "/status/availableReplicas"});
    let workspace = workspace(&k8s, &inputs);
    up(&workspace);
    let made = k8s.get(DEPLOYMENTS, "default", "web").expect("made");
    assert_eq!(made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"], "500m");
    assert!(managers(&made).contains(&("purlin", "Apply")), "{made}");
    let outputs = outputs(&workspace);
    assert_eq!(
        (&outputs["kind"], &outputs["name"], &outputs["namespace"]),
        (&json!("Deployment"), &json!("web"), &json!("default"))
    );
    assert_eq!(
        (&outputs["uid"], &outputs["available"]),
        (&made["metadata"]["uid"], &json!(2)),
        "it was waited for"
    );
    unchanged(&workspace);

    // A field that left the manifest leaves the object; fields of others stay.
    k8s.edit("kubectl-annotate", DEPLOYMENTS, "default", "web", |object| {
        object["metadata"]["annotations"]["note"] = "theirs".into();
    });
    let mut next = deployment("web", "shop:2", 3);
    next["spec"]["template"]["spec"]["containers"][0]
        .as_object_mut()
        .expect("a container")
        .shift_remove("resources");
    give(&workspace, &one(&k8s.url(), &next));
    up(&workspace);
    let changed = k8s.get(DEPLOYMENTS, "default", "web").expect("there");
    let container = &changed["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["resources"]), (&json!("shop:2"), &json!({})));
    assert_eq!(changed["metadata"]["annotations"]["note"], "theirs");
    assert_eq!(changed["metadata"]["uid"], made["metadata"]["uid"], "in place");
    assert_eq!(changed["status"]["replicas"], 3, "old pods were waited for");
    unchanged(&workspace);

    // A selector is immutable: the object is replaced, the old one first.
    let mut other = deployment("web", "shop:2", 1);
    other["spec"]["selector"]["matchLabels"]["tier"] = "front".into();
    other["spec"]["template"]["metadata"]["labels"]["tier"] = "front".into();
    give(&workspace, &one(&k8s.url(), &other));
    workspace.purlin(&["plan"]).prints("/spec/selector` cannot be changed in place");
    up(&workspace);
    let replaced = k8s.get(DEPLOYMENTS, "default", "web").expect("there");
    assert_ne!(replaced["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(k8s.names("pods", "default").len(), 1, "the pods of the old one are gone");
    unchanged(&workspace);

    destroy(&workspace);
    assert_eq!(k8s.get(DEPLOYMENTS, "default", "web"), None);
    assert!(k8s.names("pods", "default").is_empty(), "its pods went before it");
}

#[test]
fn changes_by_others_are_found_and_repaired() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &deployment("web", "shop:1", 2)));
    up(&workspace);
    k8s.edit("kubectl-edit", DEPLOYMENTS, "default", "web", |object| {
        object["spec"]["replicas"] = 5.into();
        object["spec"]["template"]["spec"]["containers"][0]["image"] = "shop:evil".into();
        object["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "X", "value": "theirs"}]);
    });
    workspace.purlin(&["refresh"]).prints("values.manifest.spec.replicas");
    workspace.purlin(&["plan"]).prints("shop:evil");
    up(&workspace).prints("updated");
    let repaired = k8s.get(DEPLOYMENTS, "default", "web").expect("there");
    assert_eq!(repaired["spec"]["replicas"], 2);
    let container = &repaired["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["env"][0]["name"]), (&json!("shop:1"), &json!("X")));
    unchanged(&workspace);

    // If it is deleted manually, it is created again.
    k8s.delete(DEPLOYMENTS, "default", "web");
    workspace.purlin(&["refresh"]).prints("it no longer exists");
    up(&workspace);
    assert!(k8s.get(DEPLOYMENTS, "default", "web").is_some());
    assert_eq!(k8s.made(DEPLOYMENTS, "default", "web"), 2);
}

#[test]
fn a_renamed_resource_keeps_its_objects() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &map("a", &json!({"k": "1"}))));
    up(&workspace);
    let before = k8s.get("configmaps", "default", "a").expect("made");
    workspace.purlin(&["state", "rename", "k8s#shared.it", "k8s#shared.that"]);
    workspace.write("deployment.yaml", requested("that"));
    unchanged(&workspace);
    let mut inputs = one(&k8s.url(), &map("a", &json!({"k": "2"})));
    inputs["values"]["field_manager"] = "platform".into();
    give(&workspace, &inputs);
    up(&workspace);
    let after = k8s.get("configmaps", "default", "a").expect("there");
    assert_eq!((&after["metadata"]["uid"], &after["data"]["k"]), (&before["metadata"]["uid"], &json!("2")));
    assert_ne!(after["metadata"]["labels"], before["metadata"]["labels"], "the mark is the new name's");
    assert_eq!(managers(&after), [("platform", "Apply")], "the former manager left");
    unchanged(&workspace);
    destroy(&workspace);
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
}

#[test]
fn a_forced_replacement_deletes_the_old_one_first() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &map("a", &json!({"k": "1"}))));
    up(&workspace);
    let before = k8s.get("configmaps", "default", "a").expect("made");
    // Two objects cannot share a name, so the driver requires that the old one is deleted first.
    workspace
        .purlin(&["up", "--yes", "--replace", "k8s#shared.it"])
        .prints("its replacement was requested; the old one is deleted first");
    let after = k8s.get("configmaps", "default", "a").expect("there");
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
    unchanged(&workspace);

    // After it is forgotten, it is not treated as new; after the import, it is the same as before.
    workspace.purlin(&["state", "forget", "k8s#shared.it", "--yes"]);
    refused(&workspace).prints("created by this resource earlier");
    workspace.purlin(&["import", "--yes", "k8s#shared.it", "v1/ConfigMap/default/a"]);
    up(&workspace);
    let imported = k8s.get("configmaps", "default", "a").expect("there");
    assert_eq!(imported["metadata"]["uid"], after["metadata"]["uid"]);
    unchanged(&workspace);
    destroy(&workspace);
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
}

#[test]
fn outputs_of_other_resources_are_used() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &json!({"values": {}}));
    let text = format!(
        "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: k8s}}
spec:
  type: k8s
  driver: purlin/kubernetes
  inputs:
    connection: {{server: '{}', token: {TOKEN}}}
    values:
      manifests:
        - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: '${{resources[\"name#shared.n\"].outputs.value}}'}}, data: {{a: '1'}}}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: name}}
spec: {{type: name, driver: purlin/random, inputs: {{values: {{kind: pet}}}}, criteria: [{{}}]}}
",
        k8s.url()
    );
    workspace.write("k8s.yaml", &text);
    workspace.purlin(&["plan"]);
    up(&workspace);
    assert_eq!(k8s.names("configmaps", "default").len(), 1);
    unchanged(&workspace);
}
