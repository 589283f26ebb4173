//! `kubectl` beside the driver: an independent client that changes the same objects.

use purlin_systems::kubernetes::{Kubernetes, TOKEN};
use purlin_systems::project::{Project, Ran, ran};
use purlin_systems::tools;
use serde_json::json;

use crate::scene::{deployment, give, map, one, refused, unchanged, up, workspace};

/// Runs `kubectl` in a workspace that has the authority of the cluster.
pub(crate) fn kubectl(k8s: &Kubernetes, folder: &Project, arguments: &[&str]) -> Ran {
    let program = tools::need("kubectl").expect("the cluster needs it, too");
    let mut kubectl = std::process::Command::new(program);
    kubectl
        .args(["--cache-dir".as_ref(), folder.path().join("cache").as_os_str()])
        .args(["--server", &k8s.url(), "--token", TOKEN])
        .args(["--certificate-authority".as_ref(), folder.path().join("ca.pem").as_os_str()]);
    let mut kubectl = folder.in_place(kubectl, arguments);
    kubectl.env("HOME", folder.path()).env("KUBECONFIG", folder.path().join("none"));
    ran(kubectl)
}

#[test]
fn kubectl_and_purlin_see_the_same_cluster() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &deployment("web", "shop:1", 2)));
    up(&workspace);
    let run = |arguments: &[&str]| kubectl(&k8s, &workspace, arguments);
    let replicas =
        || k8s.get("deployments.apps", "default", "web").expect("there")["spec"]["replicas"].clone();
    let seen = run(&["get", "deployment", "web", "-o", "json"]).status(0);
    assert_eq!(seen.json()["spec"]["replicas"], 2);
    run(&["rollout", "status", "deployment", "web"]).status(0).prints("successfully rolled out");

    // It applies by the same rules: the field is ours, and a conflict until it is forced. The file
    // for kubectl is in a hidden folder: any other manifest would be a resource of ours.
    workspace.write(".kubectl/other.json", deployment("web", "shop:1", 4).to_string());
    let apply = ["apply", "--server-side", "-f", ".kubectl/other.json"];
    run(&apply).status(1).prints("with \"purlin\"").prints(".spec.replicas");
    run(&["apply", "--server-side", "--force-conflicts", "-f", ".kubectl/other.json"])
        .status(0)
        .prints("serverside-applied");
    assert_eq!(replicas(), 4);
    // If it was not read, it is a conflict for us; if it was, it is drift, and repaired.
    give(&workspace, &one(&k8s.url(), &deployment("web", "shop:1", 3)));
    refused(&workspace).prints("`.spec.replicas` (\"kubectl\"");
    workspace.purlin(&["up", "--yes", "--refresh"]);
    assert_eq!(replicas(), 3);

    // A merge patch, a scale, and a deletion.
    run(&["patch", "deployment", "web", "--type=merge", "-p", r#"{"spec": {"replicas": 1}}"#])
        .status(0)
        .prints("patched");
    workspace.purlin(&["plan", "--refresh"]).prints("values.manifest.spec.replicas: 1 → 3");
    workspace.purlin(&["up", "--yes", "--refresh"]);
    unchanged(&workspace);
    run(&["scale", "deployment", "web", "--replicas=5"]).status(0).prints("scaled");
    workspace.purlin(&["plan", "--refresh"]).prints("values.manifest.spec.replicas: 5 → 3");
    workspace.purlin(&["up", "--yes", "--refresh"]);
    unchanged(&workspace);
    run(&["delete", "deployment", "web"]).status(0).prints("deleted");
    workspace.purlin(&["refresh"]).prints("it no longer exists");
    run(&["get", "deployment", "web"]).status(1).prints("NotFound");
    workspace.write(".kubectl/theirs.json", map("theirs", &json!({"a": "b"})).to_string());
    run(&["create", "-f", ".kubectl/theirs.json"]).status(0).prints("created");
    assert_eq!(k8s.get("configmaps", "default", "theirs").expect("there")["data"]["a"], "b");
}

/// Without `--server-side`, kubectl computes changes on the client side.
#[test]
fn objects_applied_by_kubectl_are_taken_over() {
    let Some(k8s) = Kubernetes::start() else { return };
    let workspace = workspace(&k8s, &one(&k8s.url(), &map("settings", &json!({"level": "info"}))));
    let run = |arguments: &[&str]| kubectl(&k8s, &workspace, arguments).status(0);
    let apply = ["apply", "-f", ".kubectl/settings.json"];
    workspace.write(".kubectl/settings.json", map("settings", &json!({"level": "debug"})).to_string());
    run(&apply).prints("created");
    workspace.purlin(&["import", "--yes", "k8s#shared.it", "v1/ConfigMap/default/settings"]);
    up(&workspace);
    let level = || k8s.get("configmaps", "default", "settings").expect("there")["data"]["level"].clone();
    assert_eq!(level(), "info");
    unchanged(&workspace);
    // It continues to apply: its change is detected, and repaired.
    workspace.write(".kubectl/settings.json", map("settings", &json!({"level": "trace"})).to_string());
    run(&apply).prints("configured");
    workspace.purlin(&["refresh"]).prints("values.manifest.data.level");
    up(&workspace);
    assert_eq!(level(), "info");
    unchanged(&workspace);
}
