//! Resources that could only be created in part.

use purlin_systems::kubernetes::Kubernetes;
use serde_json::json;

use crate::scene::{
    deployment, destroy, give, map, namespace, refused, several, unchanged, up, within, workspace,
};

#[test]
fn partly_created_objects_are_finished_or_deleted() {
    let Some(k8s) = Kubernetes::start() else { return };
    // The second object needs a namespace that does not exist.
    let lost = within("nowhere", map("b", &json!({})));
    let workspace = workspace(&k8s, &several(&k8s.url(), &[map("a", &json!({})), lost]));
    refused(&workspace).prints("namespaces \"nowhere\" not found").prints("not made: ConfigMap nowhere/b");
    assert!(k8s.get("configmaps", "default", "a").is_some(), "it is there and recorded");
    refused(&workspace).prints("not found");
    k8s.create("namespaces", &namespace("nowhere"));
    up(&workspace).prints("updated");
    unchanged(&workspace);
    assert_eq!(k8s.made("configmaps", "default", "a"), 1);
    destroy(&workspace);
    assert_eq!((k8s.get("configmaps", "default", "a"), k8s.get("configmaps", "nowhere", "b")), (None, None));

    // A fault that the rehearsal finds leaves nothing behind.
    let mut wrong = deployment("web", "shop:1", 1);
    wrong["spec"]["template"]["metadata"]["labels"]["app"] = "other".into();
    give(&workspace, &several(&k8s.url(), &[map("a", &json!({})), wrong]));
    refused(&workspace)
        .prints("invalid input `manifests.1.spec.template.metadata.labels`")
        .prints("does not match");
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
}
