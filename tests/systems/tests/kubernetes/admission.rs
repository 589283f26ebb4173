//! Objects that the cluster rejects, because of a quota or a webhook.

use purlin_systems::kubernetes::{Kubernetes, Webhook, eventually};
use serde_json::{Value, json};

use crate::scene::{
    deployment, destroy, give, is_recorded, map, one, refused, several, unchanged, up, workspace,
};

#[test]
fn a_quota_rejects_excess() {
    let Some(k8s) = Kubernetes::start() else { return };
    k8s.create(
        "resourcequotas",
        &json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": "default"},
            "spec": {"hard": {"count/deployments.apps": "1"}},
        }),
    );
    eventually("the quota counts", || {
        let quota = k8s.get("resourcequotas", "default", "small").expect("made");
        quota["status"]["used"].is_object().then_some(())
    });
    let (web, other) = (deployment("web", "shop:1", 1), deployment("other", "shop:1", 1));
    let workspace = workspace(&k8s, &several(&k8s.url(), &[web.clone(), map("a", &json!({}))]));
    up(&workspace);
    give(&workspace, &several(&k8s.url(), &[web.clone(), map("a", &json!({"k": "1"})), other.clone()]));
    let done = refused(&workspace).prints("exceeded quota: small");
    assert!(!done.to_string().contains("lacks this right"), "{done}");
    assert_eq!(k8s.get("configmaps", "default", "a").expect("there").get("data"), None, "checked beforehand");
    assert_eq!(k8s.names("deployments.apps", "default"), ["web"]);
    k8s.edit("kubectl-edit", "resourcequotas", "default", "small", |quota| {
        quota["spec"]["hard"]["count/deployments.apps"] = "2".into();
    });
    eventually("there is room", || (workspace.run(&["up", "--yes"]).status == 0).then_some(()));
    unchanged(&workspace);
    destroy(&workspace);
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"code": code, "reason": reason, "message": message})
}

#[test]
fn a_webhook_can_reject_objects() {
    let Some(k8s) = Kubernetes::start() else { return };
    let Some(webhook) = Webhook::start() else { return };
    webhook.decide_for(&k8s);
    let inputs = one(&k8s.url(), &map("a", &json!({"k": "1"})));
    let workspace = workspace(&k8s, &inputs);
    // A rejection is reported in the webhook's words, and is not attributed to missing rights.
    webhook.refuse(&[status(403, "Forbidden", "maps need an owner")]);
    let done = refused(&workspace)
        .prints("admission webhook \"policy.shop.example\" denied the request: maps need an owner");
    assert!(!done.to_string().contains("lacks this right"), "{done}");
    assert_eq!((webhook.left(), is_recorded(&workspace)), (0, false));
    webhook.refuse(&[status(422, "Invalid", "maps need an owner")]);
    refused(&workspace).prints("invalid input `manifest`").prints("maps need an owner");
    // A request that is rejected because the server is busy is repeated.
    let mut busy = status(429, "TooManyRequests", "busy");
    busy["details"] = json!({"retryAfterSeconds": 1});
    webhook.refuse(&[busy.clone(), busy]);
    up(&workspace);
    assert_eq!(webhook.left(), 0);
    assert_eq!(k8s.made("configmaps", "default", "a"), 1);
    unchanged(&workspace);

    // Several objects are rehearsed before any of them changes.
    let all = [map("a", &json!({"k": "2"})), map("b", &json!({}))];
    give(&workspace, &several(&k8s.url(), &all));
    webhook.refuse(&[status(403, "Forbidden", "not on Fridays")]);
    refused(&workspace).prints("not on Fridays");
    assert_eq!(k8s.get("configmaps", "default", "a").expect("there")["data"]["k"], "1");
    up(&workspace);
    unchanged(&workspace);
    destroy(&workspace);
    assert!(k8s.names("configmaps", "default").is_empty());
}

#[test]
fn a_webhook_that_is_gone_or_cannot_rehearse_harms_nothing() {
    let Some(k8s) = Kubernetes::start() else { return };
    let Some(webhook) = Webhook::start() else { return };
    webhook.decide_for(&k8s);
    let all = [map("a", &json!({"k": "1"})), map("b", &json!({}))];
    let configurations = "validatingwebhookconfigurations.admissionregistration.k8s.io";
    let workspace = workspace(&k8s, &several(&k8s.url(), &all));
    webhook.has_effects(&k8s);
    up(&workspace);
    assert_eq!(k8s.names("configmaps", "default"), ["a", "b"]);
    // The webhook does not answer: nothing changes, and a later run continues.
    drop(webhook);
    give(&workspace, &several(&k8s.url(), &[map("a", &json!({"k": "2"})), map("b", &json!({}))]));
    refused(&workspace).prints("failed calling webhook");
    assert_eq!(k8s.get("configmaps", "default", "a").expect("there")["data"]["k"], "1");
    k8s.delete(configurations, "", "policy");
    eventually("the cluster calls nobody", || (workspace.run(&["up", "--yes"]).status == 0).then_some(()));
    unchanged(&workspace);
    destroy(&workspace);
}
