//! Claims of volumes, which the controller manager binds.

use purlin_systems::kubernetes::Kubernetes;
use serde_json::{Value, json};

use crate::scene::{give, refused, several, unchanged, unready, up, workspace};

/// A class of volumes that nothing provisions, and a volume of it for each size.
fn class(k8s: &Kubernetes, name: &str, mode: &str) {
    k8s.create(
        "storageclasses.storage.k8s.io",
        &json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": "shop.example/by-hand", "volumeBindingMode": mode, "allowVolumeExpansion": true,
        }),
    );
    k8s.create(
        "persistentvolumes",
        &json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "storageClassName": name, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "4Gi"},
                "hostPath": {"path": "/nowhere"},
            },
        }),
    );
}

fn claim(name: &str, size: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {
            "storageClassName": name, "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    })
}

#[test]
fn a_claim_that_waits_for_a_pod_is_not_waited_for() {
    let Some(k8s) = Kubernetes::start() else { return };
    class(&k8s, "later", "WaitForFirstConsumer");
    class(&k8s, "now", "Immediate");
    let claims = |later: &str, now: &str| several(&k8s.url(), &[claim("later", later), claim("now", now)]);
    let workspace = workspace(&k8s, &claims("1Gi", "2048Mi"));
    up(&workspace);
    unchanged(&workspace);
    let get = |name: &str| k8s.get("persistentvolumeclaims", "default", name).expect("made");
    assert_eq!(get("now")["status"]["phase"], "Bound", "it was waited for");
    assert_eq!(get("later")["status"]["phase"], "Pending");
    // A bound claim grows, and another one does not.
    give(&workspace, &claims("1Gi", "3Gi"));
    up(&workspace).prints("updated");
    assert_eq!(get("now")["spec"]["resources"]["requests"]["storage"], "3Gi");
    give(&workspace, &claims("2Gi", "3Gi"));
    refused(&workspace).prints("resources.requests for bound claims");
    let mut other = claim("later", "1Gi");
    other["spec"]["storageClassName"] = "now".into();
    give(&workspace, &several(&k8s.url(), &[other, claim("now", "3Gi")]));
    workspace
        .purlin(&["plan"])
        .prints("/values/manifests/0/spec/storageClassName` cannot be changed in place");
}

#[test]
fn a_class_that_does_not_exist_is_named() {
    let Some(k8s) = Kubernetes::start() else { return };
    class(&k8s, "now", "Immediate");
    let done = unready(&workspace(&k8s, &several(&k8s.url(), &[claim("data", "1Gi")])));
    let done = done.prints("there is no StorageClass `data`: the cluster has `now`");
    // The server and the path are right.
    assert!(!done.has("does the path exist"), "{done}");
}
