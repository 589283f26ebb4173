//! Waiting for objects to become ready.

use purlin_systems::kubernetes::{Kubernetes, eventually};
use purlin_systems::project::{Project, ran_with, signal};
use serde_json::{Value, json};

use crate::scene::{
    deployment, destroy, give, is_recorded, one, refused, unchanged, up, workspace, workspace_with,
};

const DEPLOYMENTS: &str = "deployments.apps";

/// Waits until a kubelet has failed to start a pod with this image.
fn pod_fails(k8s: &Kubernetes, image: &str) {
    eventually("a pod fails", || {
        let pods =
            k8s.names("pods", "default").into_iter().filter_map(|pod| k8s.get("pods", "default", &pod));
        pods.map(|pod| pod["status"]["containerStatuses"][0].clone())
            .find(|container| container["image"] == image && container["state"]["waiting"].is_object())
    });
}

#[test]
fn unready_objects_are_reported_and_recorded() {
    let Some(k8s) = Kubernetes::start() else { return };
    let with = |image: &str, timeout: &str| {
        let mut inputs = one(&k8s.url(), &deployment("web", image, 2));
        inputs["values"]["wait"] = json!({"timeout": timeout});
        inputs
    };
    let workspace = workspace(&k8s, &with("shop:broken", "700ms"));
    refused(&workspace).prints("Deployment default/web is not ready after ");
    assert!(is_recorded(&workspace));
    // A refresh shows that it is still not ready; the next run still waits.
    workspace.purlin(&["refresh"]);
    pod_fails(&k8s, "shop:broken");
    refused(&workspace)
        .prints("0 of 2 replicas are available")
        .prints("container `main`: ImagePullBackOff: Back-off pulling image \"shop:broken\"");
    give(&workspace, &with("shop:slow", "140s"));
    up(&workspace).prints("updated");
    unchanged(&workspace);
    assert_eq!(k8s.made(DEPLOYMENTS, "default", "web"), 1);
    // It breaks by itself: that is detected, and the next run waits again.
    k8s.edit("kubectl-edit", DEPLOYMENTS, "default", "web", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = "shop:broken".into();
    });
    pod_fails(&k8s, "shop:broken");
    workspace.purlin(&["refresh"]).prints("values.wait.for");
    up(&workspace);
    unchanged(&workspace);
}

#[test]
fn a_quota_that_blocks_pods_is_reported() {
    let Some(k8s) = Kubernetes::start() else { return };
    k8s.create(
        "resourcequotas",
        &json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": "default"},
            "spec": {"hard": {"pods": "1"}},
        }),
    );
    let mut inputs = one(&k8s.url(), &deployment("web", "shop:1", 2));
    inputs["values"]["wait"] = json!({"timeout": "700ms"});
    let workspace = workspace(&k8s, &inputs);
    refused(&workspace).prints("is not ready");
    eventually("the controller fails", || {
        let web = k8s.get(DEPLOYMENTS, "default", "web").expect("made");
        let mut conditions = web["status"]["conditions"].as_array().into_iter().flatten();
        conditions.find(|condition| condition["type"] == "ReplicaFailure").cloned()
    });
    refused(&workspace).prints("exceeded quota: small");
    k8s.edit("kubectl-edit", "resourcequotas", "default", "small", |quota| {
        quota["spec"]["hard"]["pods"] = "9".into();
    });
    give(&workspace, &one(&k8s.url(), &deployment("web", "shop:1", 2)));
    up(&workspace);
    unchanged(&workspace);
}

fn job(image: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate"},
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}},
        },
    })
}

#[test]
fn a_job_is_ready_when_its_work_is_done() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &job("failing")));
    refused(&workspace).prints("Job default/migrate will not become ready: it failed: BackoffLimitExceeded");
    give(&workspace, &one(&k8s.url(), &job("good")));
    up(&workspace).prints("replaced");
    unchanged(&workspace);
    destroy(&workspace);
    assert_eq!(k8s.get("jobs.batch", "default", "migrate"), None);
    assert!(k8s.names("pods", "default").is_empty(), "its pods went before it");
}

#[test]
fn a_call_ends_in_time() {
    let Some(k8s) = Kubernetes::start() else { return };
    let inputs = |name: &str, wait: &Value| {
        let mut inputs = one(&k8s.url(), &deployment(name, "shop:broken", 1));
        inputs["values"]["wait"] = wait.clone();
        inputs
    };
    let grants = json!({
        "http": [format!("{}/*", k8s.url())], "addresses": ["127.0.0.1"], "ca": ["ca.pem"],
    });
    // On a busy machine, the host may end the call before the driver does. Then another one has more
    // time.
    let tried = |seconds: u32| {
        let (name, time) = (format!("web-{seconds}"), format!("{seconds}s"));
        let workspace = workspace_with(&grants, &time, &inputs(&name, &json!({"timeout": "5m"})));
        workspace.write("ca.pem", k8s.authority());
        let done = workspace.run(&["up", "--yes"]);
        let is_in_time = done.has("the call ran out of time; raise `limits.time` of the driver");
        is_in_time.then_some((name, time, workspace, done))
    };
    let in_time = [10, 20, 40, 80, 160].into_iter().find_map(tried);
    let (name, time, workspace, done) = in_time.expect("the driver ends the call");
    done.status(1).prints(&format!("Deployment default/{name} is not ready"));
    // If a person interrupts it, it reports what it waited for, and nothing is forgotten.
    workspace.edit("purlin.yaml", &format!("\"{time}\""), "\"160s\"");
    interrupted(&k8s, &workspace, &name);
    give(&workspace, &inputs(&name, &json!({"for": "exists"})));
    up(&workspace);
    unchanged(&workspace);
    destroy(&workspace);
    assert_eq!(k8s.get(DEPLOYMENTS, "default", &name), None);
}

/// Interrupts a deployment once it waits: then it reads the Deployment repeatedly.
fn interrupted(k8s: &Kubernetes, workspace: &Project, name: &str) {
    let _ = k8s.requests();
    let child = workspace.start(&["up", "--yes"]);
    let mut looks = 0;
    eventually("it waits", || {
        let requests = k8s.requests();
        looks += requests.iter().filter(|request| request.verb == "get" && request.name == name).count();
        (looks > 4).then_some(())
    });
    signal(&child, "-INT");
    let done = ran_with(child);
    assert_ne!(done.status, 0, "{done}");
    done.prints(&format!("cancelled while waiting for Deployment default/{name}"));
}
