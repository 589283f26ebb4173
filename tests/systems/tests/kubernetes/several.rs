//! Several objects that are one resource.

use purlin_systems::kubernetes::{Kubernetes, eventually};
use purlin_systems::project::{Project, Ran, ran_with};
use serde_json::{Value, json};

use crate::scene::{
    deployment, destroy, give, map, namespace, outputs, refused, several, unchanged, up, workspace,
};

fn shop() -> Vec<Value> {
    vec![
        deployment("web", "shop:1", 1),
        map("settings", &json!({"a": "1"})),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {
            "type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}],
        }}),
        namespace("shop"),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "see"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        ]}),
    ]
}

/// Several objects in a namespace that is one of them, with a secret part.
fn shop_inputs(k8s: &Kubernetes, manifests: &[Value]) -> Value {
    let mut inputs = several(&k8s.url(), manifests);
    inputs["values"]["namespace"] = "shop".into();
    inputs["secrets"] = json!({"manifests": {"Secret/db": {"stringData": {"password": "hush-hush"}}}});
    inputs
}

/// Deploys while the cloud gives the new service an address.
#[track_caller]
fn up_with_address(k8s: &Kubernetes, workspace: &Project) -> Ran {
    let mut child = workspace.start(&["up", "--yes"]);
    let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}});
    eventually("the service is made, or the program ends", || {
        let service = k8s.get("services", "shop", "web");
        if service.is_some() {
            k8s.set_status("services", "shop", "web", &address);
        }
        (service.is_some() || child.try_wait().expect("a status").is_some()).then_some(())
    });
    ran_with(child).status(0)
}

#[test]
fn several_objects_are_one_resource() {
    let Some(k8s) = Kubernetes::start() else { return };
    let mut inputs = shop_inputs(&k8s, &shop());
    inputs["values"]["outputs"] = json!({"ip": "/2/status/loadBalancer/ingress/0/ip"});
    inputs["values"]["secret_outputs"] = json!({"password": "/4/data/password"});
    let workspace = workspace(&k8s, &inputs);
    let done = up_with_address(&k8s, &workspace);
    assert!(!done.to_string().contains("hush"), "{done}");
    let outputs = outputs(&workspace);
    assert_eq!((&outputs["ip"], &outputs["password"]), (&json!("192.0.2.7"), &json!("[secret]")));
    assert_eq!(outputs["objects"].as_array().map(Vec::len), Some(6));
    let secret = k8s.get("secrets", "shop", "db").expect("made");
    assert_eq!(secret["data"]["password"], "aHVzaC1odXNo");
    let requests = k8s.requests();
    let applied: Vec<&str> = requests
        .iter()
        .filter(|request| request.verb == "patch" && request.status == 201 && !request.rehearsal)
        .map(|request| request.kind.as_str())
        .collect();
    assert_eq!(applied, ["namespaces", "roles", "configmaps", "secrets", "services", "deployments"]);
    unchanged(&workspace);

    // A secret that somebody changed is found by its digest, repaired, and never shown.
    k8s.edit("kubectl-edit", "secrets", "shop", "db", |object| {
        object["data"]["password"] = "c3RvbGVu".into();
    });
    let seen = workspace.purlin(&["refresh"]).prints("digest");
    assert!(!seen.to_string().contains("stolen") && !seen.to_string().contains("c3RvbGVu"), "{seen}");
    up(&workspace);
    assert_eq!(k8s.get("secrets", "shop", "db").expect("there")["data"]["password"], "aHVzaC1odXNo");
    unchanged(&workspace);

    // One is removed, one added, one deleted manually.
    k8s.delete("services", "shop", "web");
    let mut next = shop();
    next.remove(1);
    next.push(map("more", &json!({"b": "2"})));
    give(&workspace, &shop_inputs(&k8s, &next));
    up_with_address(&k8s, &workspace);
    assert_eq!(k8s.names("configmaps", "shop"), ["more"]);
    assert!(k8s.get("services", "shop", "web").is_some());
    unchanged(&workspace);

    // An object that is not pruned stays, and is left alone from then on.
    next.pop();
    let mut kept = shop_inputs(&k8s, &next);
    kept["values"]["prune"] = false.into();
    give(&workspace, &kept);
    up(&workspace).prints("ConfigMap shop/more remain in the cluster");
    assert_eq!(k8s.names("configmaps", "shop"), ["more"]);

    destroy(&workspace);
    assert_eq!(k8s.get("namespaces", "", "shop"), None, "with all that was in it");
    assert_eq!(k8s.get("configmaps", "shop", "more"), None);
}

#[test]
fn objects_with_data_are_not_pruned_by_default() {
    let Some(k8s) = Kubernetes::start() else { return };
    let all = [map("a", &json!({})), namespace("shop")];
    let workspace = workspace(&k8s, &several(&k8s.url(), &all));
    up(&workspace);
    let mut fewer = several(&k8s.url(), &all[..1]);
    give(&workspace, &fewer);
    refused(&workspace)
        .prints("Namespace shop is no longer in `manifests`, and would be deleted with all data");
    assert!(k8s.get("namespaces", "", "shop").is_some());
    fewer["values"]["force_destroy"] = true.into();
    give(&workspace, &fewer);
    up(&workspace);
    assert_eq!(k8s.get("namespaces", "", "shop"), None);
    unchanged(&workspace);
}
