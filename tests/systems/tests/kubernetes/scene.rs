//! Workspaces with one resource of the driver, and its objects.

use purlin_systems::kubernetes::{Kubernetes, TOKEN};
use purlin_systems::{Project, Ran, tools};
use serde_json::{Value, json};

/// A workspace for a cluster, with one resource that takes its inputs from `k8s.yaml`.
pub(crate) fn workspace(k8s: &Kubernetes, inputs: &Value) -> Project {
    workspace_at(&[k8s.url()], &k8s.authority(), inputs)
}

/// A workspace whose driver may send requests to these URLs, of servers of these authorities.
pub(crate) fn workspace_at(urls: &[String], authorities: &str, inputs: &Value) -> Project {
    let grants: Vec<String> = urls.iter().map(|url| format!("GET,PATCH,DELETE {url}/*")).collect();
    let grants = json!({"http": grants, "addresses": ["127.0.0.1"], "ca": ["ca.pem"]});
    let workspace = workspace_with(&grants, "160s", inputs);
    workspace.write("ca.pem", authorities);
    workspace
}

/// A workspace whose driver has these grants, and this time limit for a call.
pub(crate) fn workspace_with(grants: &Value, time: &str, inputs: &Value) -> Project {
    let workspace = Project::empty();
    workspace.write(
        "purlin.yaml",
        json!({
            "apiVersion": "purlin.dev/v1", "kind": "Workspace",
            "spec": {
                "defaults": {"app": "shop", "env": "dev"},
                "drivers": {"purlin/kubernetes": {
                    "source": tools::component("kubernetes"),
                    "grants": grants,
                    "limits": {"time": time},
                }},
            },
        })
        .to_string(),
    );
    workspace.write("deployment.yaml", requested("it"));
    give(&workspace, inputs);
    workspace
}

/// Documents that declare one resource with this name.
pub(crate) fn requested(name: &str) -> String {
    let shared = json!({name: {"type": "k8s"}});
    json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": shared}}).to_string()
}

/// Gives the resource these inputs: `values`, and `secrets` over the token.
pub(crate) fn give(workspace: &Project, inputs: &Value) {
    let mut inputs = inputs.clone();
    let token = &mut inputs["connection"]["token"];
    if token.is_null() {
        *token = TOKEN.into();
    }
    let definition = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "k8s"},
        "spec": {
            "type": "k8s", "driver": "purlin/kubernetes", "criteria": [{}],
            "inputs": inputs,
        },
    });
    workspace.write("k8s.yaml", definition.to_string());
}

/// One object as a resource.
pub(crate) fn one(url: &str, manifest: &Value) -> Value {
    let mut inputs = inputs(url);
    inputs["values"]["manifest"] = manifest.clone();
    inputs
}

/// Several objects as a resource.
pub(crate) fn several(url: &str, manifests: &[Value]) -> Value {
    let mut inputs = inputs(url);
    inputs["values"]["manifests"] = manifests.into();
    inputs
}

fn inputs(url: &str) -> Value {
    json!({"connection": {"server": url}, "values": {}})
}

pub(crate) fn map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// An object in a namespace.
pub(crate) fn within(namespace: &str, mut object: Value) -> Value {
    object["metadata"]["namespace"] = namespace.into();
    object
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn deployment(name: &str, image: &str, replicas: u8) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "main", "image": image,
                    "ports": [{"containerPort": 8080}],
                    "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}},
                }]},
            },
        },
    })
}

pub(crate) fn outputs(workspace: &Project) -> Value {
    let done = workspace.purlin(&["outputs", "--format", "json"]).json();
    done["resources"]["k8s.default#shared.it"].clone()
}

#[track_caller]
pub(crate) fn up(workspace: &Project) -> Ran {
    workspace.purlin(&["up", "--yes"])
}

#[track_caller]
pub(crate) fn refused(workspace: &Project) -> Ran {
    workspace.run(&["up", "--yes"]).status(1)
}

#[track_caller]
pub(crate) fn destroy(workspace: &Project) -> Ran {
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"])
}

#[track_caller]
pub(crate) fn undestroyed(workspace: &Project) -> Ran {
    workspace.run(&["destroy", "--yes", "--allow-data-loss"]).status(1)
}

/// Deploys without waiting longer than a call does: the rest is left to the next run.
#[track_caller]
pub(crate) fn unready(workspace: &Project) -> Ran {
    workspace.run(&["up", "--yes", "--no-wait"]).status(1).prints("it is in progress: ")
}

/// The same for a deletion.
#[track_caller]
pub(crate) fn going(workspace: &Project) -> Ran {
    let done = workspace.run(&["destroy", "--yes", "--allow-data-loss", "--no-wait"]);
    done.status(1).prints("its deletion is in progress: ")
}

/// Nothing is to be done, by the record and after a read.
#[track_caller]
pub(crate) fn unchanged(workspace: &Project) {
    let refreshed = workspace.purlin(&["refresh"]);
    assert!(!refreshed.to_string().contains("was changed"), "{refreshed}");
    let plan = workspace.run(&["plan", "--refresh", "--detailed-exitcode"]);
    assert_eq!(plan.status, 0, "nothing is to be done: {plan}");
}

/// Whether the resource is recorded.
#[track_caller]
pub(crate) fn is_recorded(workspace: &Project) -> bool {
    let listed = workspace.purlin(&["state", "list", "--format", "json"]);
    let _ = listed.json();
    listed.out.contains("k8s.default#shared.it")
}
