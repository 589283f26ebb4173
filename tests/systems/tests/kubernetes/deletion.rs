//! What delays a deletion, and which objects go with a deleted one.

use purlin_systems::kubernetes::{Kubernetes, eventually};
use purlin_systems::project::{Project, ran_with};
use serde_json::{Value, json};

use crate::scene::{
    deployment, destroy, give, going, map, namespace, one, several, unchanged, up, within, workspace,
};

fn hold(k8s: &Kubernetes, kind: &str, namespace: &str, name: &str, finalizers: &Value) {
    k8s.edit("somebody", kind, namespace, name, |object| {
        object["metadata"]["finalizers"] = finalizers.clone();
    });
}

#[test]
fn a_finalizer_holds_up_a_deletion() {
    let Some(k8s) = Kubernetes::start() else { return };
    let mut inputs = one(&k8s.url(), &map("held", &json!({"a": "1"})));
    inputs["values"]["delete"] = json!({"propagation": "background"});
    let workspace = workspace(&k8s, &inputs);
    up(&workspace);
    hold(&k8s, "configmaps", "default", "held", &json!(["shop.example/hold"]));
    // The next run deletes it again, and still finds it.
    for _ in 0..2 {
        going(&workspace).prints("it waits for its finalizers `shop.example/hold`");
    }
    hold(&k8s, "configmaps", "default", "held", &json!([]));
    destroy(&workspace);
    // Deleted, and created by somebody else in between: it is theirs, and stays.
    up(&workspace);
    k8s.delete("configmaps", "default", "held");
    k8s.create("configmaps", &within("default", map("held", &json!({"theirs": "1"}))));
    destroy(&workspace).prints("no longer belongs to this resource, and is kept");
    assert_eq!(k8s.get("configmaps", "default", "held").expect("there")["data"], json!({"theirs": "1"}));
}

#[test]
fn objects_that_are_being_deleted_are_awaited() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &map("held", &json!({"a": "1"}))));
    let mut held = within("default", map("held", &json!({"theirs": "1"})));
    held["metadata"]["finalizers"] = json!(["shop.example/hold"]);
    let theirs = k8s.create("configmaps", &held);
    k8s.begin_deletion("configmaps", "default", "held");
    let child = workspace.start(&["up", "--yes"]);
    eventually("it waits", || k8s.requests().into_iter().find(|request| request.name == "held"));
    hold(&k8s, "configmaps", "default", "held", &json!([]));
    ran_with(child).status(0);
    let made = k8s.get("configmaps", "default", "held").expect("made");
    assert_eq!(made["data"], json!({"a": "1"}));
    assert_ne!(made["metadata"]["uid"], theirs["metadata"]["uid"]);
    unchanged(&workspace);
}

#[test]
fn a_namespace_is_deleted_after_its_contents() {
    let Some(k8s) = Kubernetes::start() else { return };
    let all = [namespace("shop"), within("shop", map("ours", &json!({})))];
    let workspace = workspace(&k8s, &several(&k8s.url(), &all));
    up(&workspace);
    // Others put an object in it, and keep it.
    let mut held = within("shop", map("theirs", &json!({})));
    held["metadata"]["finalizers"] = json!(["shop.example/hold"]);
    k8s.create("configmaps", &held);
    going(&workspace).prints("Namespace shop is not gone");
    eventually("the namespace reports why", || {
        let shop = k8s.get("namespaces", "", "shop").expect("there");
        shop["status"]["conditions"].to_string().contains("shop.example/hold").then_some(())
    });
    going(&workspace)
        .prints("it waits for its finalizers `kubernetes`")
        .prints("shop.example/hold in 1 resource instances");
    assert_eq!(k8s.names("configmaps", "shop"), ["theirs"]);
    // Nothing new can be created in it.
    let late = self::workspace(&k8s, &one(&k8s.url(), &within("shop", map("late", &json!({})))));
    late.run(&["up", "--yes"]).status(1).prints("because it is being terminated");
    hold(&k8s, "configmaps", "shop", "theirs", &json!([]));
    destroy(&workspace);
    assert_eq!(k8s.get("namespaces", "", "shop"), None);
}

/// A Deployment that is deleted in this way, with its one ReplicaSet and its pods.
fn deployed(k8s: &Kubernetes, delete: &Value) -> (Project, String) {
    let mut inputs = one(&k8s.url(), &deployment("web", "shop:1", 2));
    inputs["values"]["delete"] = delete.clone();
    let workspace = workspace(k8s, &inputs);
    up(&workspace);
    let sets = k8s.names("replicasets.apps", "default");
    assert_eq!((sets.len(), k8s.names("pods", "default").len()), (1, 2));
    (workspace, sets.into_iter().next().expect("one"))
}

#[test]
fn owned_objects_are_deleted_before_or_after_or_kept() {
    let Some(k8s) = Kubernetes::start() else { return };
    // First: the Deployment stays while somebody keeps its ReplicaSet.
    let (workspace, set) = deployed(&k8s, &json!({}));
    hold(&k8s, "replicasets.apps", "default", &set, &json!(["shop.example/hold"]));
    going(&workspace).prints("it waits for its finalizers `foregroundDeletion`");
    assert!(k8s.get("deployments.apps", "default", "web").is_some());
    k8s.edit("somebody", "replicasets.apps", "default", &set, |object| {
        let finalizers = object["metadata"]["finalizers"].as_array_mut().expect("finalizers");
        finalizers.retain(|finalizer| finalizer != "shop.example/hold");
    });
    eventually("it is gone", || k8s.get("deployments.apps", "default", "web").is_none().then_some(()));
    destroy(&workspace);
    assert!(k8s.names("replicasets.apps", "default").is_empty() && k8s.names("pods", "default").is_empty());

    // Afterwards: the Deployment is gone at once, and the garbage collector deletes the rest.
    let (workspace, set) = deployed(&k8s, &json!({"propagation": "background"}));
    hold(&k8s, "replicasets.apps", "default", &set, &json!(["shop.example/hold"]));
    destroy(&workspace);
    assert_eq!(k8s.get("deployments.apps", "default", "web"), None);
    eventually("the ReplicaSet is deleted", || {
        let set = k8s.get("replicasets.apps", "default", &set).expect("it is held");
        set["metadata"]["deletionTimestamp"].as_str().map(str::to_owned)
    });
    hold(&k8s, "replicasets.apps", "default", &set, &json!([]));
    eventually("pods go with it", || k8s.names("pods", "default").is_empty().then_some(()));

    // It stays, and has no owner.
    let (workspace, set) = deployed(&k8s, &json!({"propagation": "orphan"}));
    destroy(&workspace);
    assert_eq!(k8s.get("deployments.apps", "default", "web"), None);
    let left = k8s.get("replicasets.apps", "default", &set).expect("it stays");
    assert_eq!(left["metadata"].get("ownerReferences"), None, "{left}");
    assert_eq!(k8s.names("pods", "default").len(), 2);
}

#[test]
fn owned_objects_are_deleted_with_their_owner() {
    let Some(k8s) = Kubernetes::start() else { return };
    let owner = k8s.create("configmaps", &within("default", map("owner", &json!({}))));
    let mut owned = map("owned", &json!({"a": "1"}));
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    let workspace = workspace(&k8s, &one(&k8s.url(), &owned));
    up(&workspace);
    unchanged(&workspace);
    k8s.delete("configmaps", "default", "owner");
    eventually("it goes", || k8s.get("configmaps", "default", "owned").is_none().then_some(()));
    workspace.purlin(&["refresh"]).prints("it no longer exists");
    // Without an owner it stays.
    give(&workspace, &one(&k8s.url(), &map("owned", &json!({"a": "1"}))));
    up(&workspace);
    unchanged(&workspace);
}
