//! Waiting for objects to become ready.

use purlin_systems::kubernetes::{Kubernetes, eventually};
use purlin_systems::project::{Project, ran_with, signal};
use serde_json::{Value, json};

use crate::scene::{
    deployment, destroy, give, is_recorded, one, refused, unchanged, unready, up, workspace, workspace_with,
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
    let with = |image: &str| one(&k8s.url(), &deployment("web", image, 2));
    let workspace = workspace(&k8s, &with("shop:broken"));
    unready(&workspace).prints("Deployment default/web is not ready: ");
    assert!(is_recorded(&workspace));
    // A refresh shows that it is still not ready; the next run still waits.
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["state", "list"]).prints("in-progress");
    pod_fails(&k8s, "shop:broken");
    unready(&workspace)
        .prints("0 of 2 replicas are available")
        .prints("container `main`: ImagePullBackOff: Back-off pulling image \"shop:broken\"");
    // Other inputs are applied at once.
    give(&workspace, &with("shop:slow"));
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
    let workspace = workspace(&k8s, &one(&k8s.url(), &deployment("web", "shop:1", 2)));
    unready(&workspace).prints("is not ready");
    eventually("the controller fails", || {
        let web = k8s.get(DEPLOYMENTS, "default", "web").expect("made");
        let mut conditions = web["status"]["conditions"].as_array().into_iter().flatten();
        conditions.find(|condition| condition["type"] == "ReplicaFailure").cloned()
    });
    unready(&workspace).prints("exceeded quota: small");
    k8s.edit("kubectl-edit", "resourcequotas", "default", "small", |quota| {
        quota["spec"]["hard"]["pods"] = "9".into();
    });
    // The next run waits until the controller tries again.
    up(&workspace);
    unchanged(&workspace);
    assert_eq!(k8s.made(DEPLOYMENTS, "default", "web"), 1);
}

#[test]
fn a_run_that_does_not_wait_leaves_the_rest_to_the_next_one() {
    let Some(k8s) = Kubernetes::start() else { return };
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "protocol": "TCP"}]},
    });
    let workspace = workspace(&k8s, &one(&k8s.url(), &service));
    for _ in 0..2 {
        unready(&workspace).prints("no load balancer has assigned an address").prints("warning[in-progress]");
        workspace.purlin(&["state", "list"]).prints("in-progress");
    }
    let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}});
    k8s.set_status("services", "default", "web", &address);
    workspace.purlin(&["up", "--yes", "--no-wait"]);
    unchanged(&workspace);
    let applied = k8s.requests().into_iter().filter(|request| request.verb == "patch" && !request.rehearsal);
    assert_eq!(applied.filter(|request| request.name == "web").count(), 1, "the other runs only looked");
    assert_eq!(k8s.made("services", "default", "web"), 1);
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
    let inputs = |name: &str| one(&k8s.url(), &deployment(name, "shop:broken", 1));
    let grants = json!({
        "http": [format!("{}/*", k8s.url())], "addresses": ["127.0.0.1"], "ca": ["ca.pem"],
    });
    // On a busy machine, the host may end the call before the driver does. Then another one has more
    // time.
    let tried = |seconds: u32| {
        let (name, time) = (format!("web-{seconds}"), format!("{seconds}s"));
        let workspace = workspace_with(&grants, &time, &inputs(&name));
        workspace.write("ca.pem", k8s.authority());
        let done = workspace.run(&["up", "--yes", "--no-wait"]);
        let is_in_time = done.has("it is in progress: ");
        is_in_time.then_some((name, time, workspace, done))
    };
    let in_time = [3, 6, 12, 24, 48, 96, 160].into_iter().find_map(tried);
    let (name, time, workspace, done) = in_time.expect("the driver ends the call");
    done.status(1).prints(&format!("Deployment default/{name} is not ready"));
    // If a person interrupts it, it reports what it waited for, and nothing is forgotten.
    workspace.edit("purlin.yaml", &format!("\"{time}\""), "\"160s\"");
    interrupted(&k8s, &workspace, &name);
    let mut given = inputs(&name);
    given["values"]["wait"] = json!({"for": "exists"});
    give(&workspace, &given);
    up(&workspace);
    unchanged(&workspace);
    destroy(&workspace);
    assert_eq!(k8s.get(DEPLOYMENTS, "default", &name), None);
}

/// Interrupts a run once it waits: then it reads the Deployment repeatedly.
fn interrupted(k8s: &Kubernetes, workspace: &Project, name: &str) {
    let _ = k8s.requests();
    let child = workspace.start(&["up", "--yes"]);
    let mut looks = 0;
    eventually("it waits", || {
        let requests = k8s.requests();
        looks += requests.iter().filter(|request| request.verb == "get" && request.name == name).count();
        (looks > 2).then_some(())
    });
    signal(&child, "-INT");
    let done = ran_with(child);
    done.status(1).prints(&format!("it is in progress: Deployment default/{name} is not ready"));
}
