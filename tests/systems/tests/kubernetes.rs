//! purlin/kubernetes against the stand-in for an API server, with `kubectl` as a second opinion.
#![allow(clippy::expect_used, clippy::panic)]

use purlin_systems::kubernetes::{Kubernetes, READER, Secured, TOKEN};
use purlin_systems::{Done, Proxy, Workspace, at_every_message, workspace};
use serde_json::{Value, json};

/// A workspace with one resource that takes its inputs from `inputs.yaml`; the driver may reach
/// these ports.
fn workspace(ports: &[u16], inputs: &Value) -> Workspace {
    let grants: Vec<String> = ports.iter().map(|port| format!("http://127.0.0.1:{port}/*")).collect();
    let workspace = Workspace::new();
    workspace.write(
        "purlin.yaml",
        &json!({
            "apiVersion": "purlin.dev/v1", "kind": "Workspace",
            "spec": {
                "defaults": {"app": "shop", "env": "dev"},
                "drivers": {"purlin/kubernetes": {
                    "source": workspace::component("kubernetes"),
                    "grants": {"http": grants},
                    "limits": {"time": "20s"},
                }},
            },
        })
        .to_string(),
    );
    workspace.write(
        "deployment.yaml",
        r#"{"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": {"it": {"type": "k8s"}}}}"#,
    );
    give(&workspace, inputs);
    workspace
}

/// Gives the resource these inputs: `values`, and `secrets` over the token.
fn give(workspace: &Workspace, inputs: &Value) {
    let mut secrets = json!({"token": TOKEN});
    for (name, secret) in inputs["secrets"].as_object().into_iter().flatten() {
        secrets[name] = secret.clone();
    }
    let definition = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Definition", "metadata": {"id": "k8s"},
        "spec": {
            "type": "k8s", "driver": "purlin/kubernetes", "criteria": [{}],
            "inputs": {"values": inputs["values"], "secrets": secrets},
        },
    });
    workspace.write("k8s.yaml", &definition.to_string());
}

fn cluster(port: u16) -> Value {
    json!({"server": format!("http://127.0.0.1:{port}")})
}

/// One object as a resource.
fn one(port: u16, manifest: &Value) -> Value {
    json!({"values": {"cluster": cluster(port), "manifest": manifest}})
}

/// Several objects as a resource.
fn several(port: u16, manifests: &[Value]) -> Value {
    json!({"values": {"cluster": cluster(port), "manifests": manifests}})
}

fn map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn deployment(name: &str, image: &str, replicas: u8) -> Value {
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

fn outputs(workspace: &Workspace) -> Value {
    let done = workspace.purlin(&["outputs", "--format", "json"]).json();
    done["resources"]["k8s.default#shared.it"].clone()
}

fn up(workspace: &Workspace) -> Done {
    workspace.purlin(&["up", "--yes"])
}

fn unchanged(workspace: &Workspace) {
    let refreshed = workspace.purlin(&["refresh"]);
    assert!(!refreshed.to_string().contains("was changed"), "{refreshed}");
    let plan = workspace.run(&["plan", "--refresh", "--detailed-exitcode"]);
    assert_eq!(plan.status, Some(0), "nothing is to be done: {plan}");
}

#[test]
fn a_deployment_lives_its_life() {
    let k8s = Kubernetes::start();
    let mut inputs = one(k8s.port(), &deployment("web", "shop:1", 2));
    inputs["values"]["outputs"] = json!({"available": "/status/availableReplicas"});
    let workspace = workspace(&[k8s.port()], &inputs);
    up(&workspace);
    let made = k8s.get("deployments", "default", "web").expect("made");
    assert_eq!(made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"], "500m");
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "purlin");
    assert_eq!(made["metadata"]["managedFields"][0]["operation"], "Apply");
    let told = outputs(&workspace);
    assert_eq!(
        (&told["kind"], &told["name"], &told["namespace"]),
        (&json!("Deployment"), &json!("web"), &json!("default"))
    );
    assert_eq!(
        (&told["uid"], &told["available"]),
        (&made["metadata"]["uid"], &json!(2)),
        "it was waited for"
    );
    unchanged(&workspace);

    // A field that left the manifest leaves the object; what others set stays.
    k8s.edit("kubectl-annotate", "deployments", "default", "web", |object| {
        object["metadata"]["annotations"]["note"] = "theirs".into();
    });
    let mut next = deployment("web", "shop:2", 3);
    next["spec"]["template"]["spec"]["containers"][0]
        .as_object_mut()
        .expect("a container")
        .shift_remove("resources");
    give(&workspace, &one(k8s.port(), &next));
    up(&workspace);
    let changed = k8s.get("deployments", "default", "web").expect("there");
    let container = &changed["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["resources"]), (&json!("shop:2"), &json!({})));
    assert_eq!(changed["metadata"]["annotations"]["note"], "theirs");
    assert_eq!(changed["metadata"]["uid"], made["metadata"]["uid"], "in place");
    unchanged(&workspace);

    // A selector never changes: it is replaced, the old one first.
    let mut other = deployment("web", "shop:2", 1);
    other["spec"]["selector"]["matchLabels"]["tier"] = "front".into();
    other["spec"]["template"]["metadata"]["labels"]["tier"] = "front".into();
    give(&workspace, &one(k8s.port(), &other));
    workspace.purlin(&["plan"]).says("/spec/selector` cannot be changed in place");
    up(&workspace);
    let replaced = k8s.get("deployments", "default", "web").expect("there");
    assert_ne!(replaced["metadata"]["uid"], made["metadata"]["uid"]);
    unchanged(&workspace);

    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("deployments", "default", "web"), None);
    assert!(k8s.names("pods", "default").is_empty(), "its pods went before it");
}

#[test]
fn what_others_changed_is_found_and_repaired() {
    let k8s = Kubernetes::start();
    let workspace = workspace(&[k8s.port()], &one(k8s.port(), &deployment("web", "shop:1", 2)));
    up(&workspace);
    k8s.edit("kubectl-edit", "deployments", "default", "web", |object| {
        object["spec"]["replicas"] = 5.into();
        object["spec"]["template"]["spec"]["containers"][0]["image"] = "shop:evil".into();
        object["spec"]["template"]["spec"]["containers"][0]["env"] =
            json!([{"name": "X", "value": "theirs"}]);
    });
    std::thread::sleep(std::time::Duration::from_millis(400));
    workspace.purlin(&["refresh"]).says("values.manifest.spec.replicas");
    workspace.purlin(&["plan"]).says("shop:evil");
    up(&workspace).says("updated");
    let repaired = k8s.get("deployments", "default", "web").expect("there");
    assert_eq!(repaired["spec"]["replicas"], 2);
    let container = &repaired["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["env"][0]["name"]), (&json!("shop:1"), &json!("X")));
    unchanged(&workspace);

    // Deleted by hand: made anew.
    k8s.delete("deployments", "default", "web");
    workspace.purlin(&["refresh"]).says("it no longer exists");
    up(&workspace);
    assert!(k8s.get("deployments", "default", "web").is_some());
    assert_eq!(k8s.made("deployments", "default", "web"), 2);
}

#[test]
fn what_nobody_has_seen_is_a_conflict() {
    let k8s = Kubernetes::start();
    let workspace = workspace(&[k8s.port()], &one(k8s.port(), &map("settings", &json!({"level": "info"}))));
    // There already, and another's.
    k8s.edit("kubectl-create", "configmaps", "default", "settings", |object| {
        object["data"] = json!({"theirs": "1"})
    });
    let done = workspace.run(&["up", "--yes"]).expect(1).says("exists already and is not this resource's");
    let id = "v1/ConfigMap/default/settings";
    assert!(done.stderr.contains(id), "{done}");
    assert_eq!(k8s.get("configmaps", "default", "settings").expect("there")["data"], json!({"theirs": "1"}));
    workspace.purlin(&["import", "--yes", "k8s#shared.it", id]).says("adopt");
    up(&workspace);
    // The documents may name it in these words, too, and go on doing so.
    let import = json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment",
        "spec": {"lifecycle": {"k8s#shared.it": {"import": id}}}});
    workspace.write("import.json", &import.to_string());
    workspace.purlin(&["up", "--yes"]);
    unchanged(&workspace);
    let taken = k8s.get("configmaps", "default", "settings").expect("there");
    assert_eq!(taken["data"], json!({"theirs": "1", "level": "info"}), "what is not ours stays");
    unchanged(&workspace);

    // Another manager takes a field that is about to change, and nobody looked.
    k8s.edit("kubectl-edit", "configmaps", "default", "settings", |object| {
        object["data"]["level"] = "debug".into()
    });
    give(&workspace, &one(k8s.port(), &map("settings", &json!({"level": "warn"}))));
    workspace
        .run(&["up", "--yes"])
        .expect(1)
        .says("`.data.level` (\"kubectl-edit\"")
        .says("force_conflicts: true");
    assert_eq!(k8s.get("configmaps", "default", "settings").expect("there")["data"]["level"], "debug");
    // A field that another one has is not taken either.
    give(&workspace, &one(k8s.port(), &map("settings", &json!({"level": "info", "theirs": "2"}))));
    workspace.run(&["up", "--yes", "--refresh"]).expect(1).says(".data.theirs");
    // Looked at, and taken knowingly.
    let mut inputs = one(k8s.port(), &map("settings", &json!({"level": "warn", "theirs": "2"})));
    inputs["values"]["force_conflicts"] = true.into();
    give(&workspace, &inputs);
    up(&workspace);
    let taken = k8s.get("configmaps", "default", "settings").expect("there");
    assert_eq!(taken["data"], json!({"level": "warn", "theirs": "2"}));
    unchanged(&workspace);

    // Another environment of Purlin wants the same object.
    let other = self::workspace(&[k8s.port()], &inputs);
    other.run(&["up", "--yes", "--env", "prod"]).expect(1).says("belongs to another resource of Purlin");
    other.run(&["import", "--yes", "k8s#shared.it", id, "--env", "prod"]).says("belongs to another resource");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("configmaps", "default", "settings"), None);
}

fn shop() -> Vec<Value> {
    vec![
        deployment("web", "shop:1", 1),
        map("settings", &json!({"a": "1"})),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {
            "type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}],
        }}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "see"}, "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        ]}),
    ]
}

/// Several objects in the namespace that is one of them, with a secret part.
fn shop_inputs(port: u16, manifests: &[Value]) -> Value {
    let mut inputs = several(port, manifests);
    inputs["values"]["cluster"]["namespace"] = "shop".into();
    inputs["secrets"] = json!({"manifests": {"Secret/db": {"stringData": {"password": "hush-hush"}}}});
    inputs
}

#[test]
fn several_objects_are_one_resource() {
    let k8s = Kubernetes::start();
    let mut inputs = shop_inputs(k8s.port(), &shop());
    inputs["values"]["outputs"] = json!({"ip": "/2/status/loadBalancer/ingress/0/ip"});
    inputs["values"]["secret_outputs"] = json!({"password": "/4/data/password"});
    let workspace = workspace(&[k8s.port()], &inputs);
    let done = up(&workspace);
    assert!(!done.to_string().contains("hush"), "{done}");
    let told = outputs(&workspace);
    assert_eq!((&told["ip"], &told["password"]), (&json!("192.0.2.7"), &json!("[secret]")));
    assert_eq!(told["objects"].as_array().map(Vec::len), Some(6));
    let secret = k8s.get("secrets", "shop", "db").expect("made");
    assert_eq!(secret["data"]["password"], "aHVzaC1odXNo");
    let log = k8s.requests();
    let applied: Vec<&str> = log
        .iter()
        .filter(|line| line.starts_with("PATCH") && line.ends_with("201"))
        .filter_map(|line| line.split(' ').nth(1)?.rsplit('/').nth(1))
        .collect();
    let last = &applied[applied.len() - 6..];
    assert_eq!(last, ["namespaces", "roles", "configmaps", "secrets", "services", "deployments"]);
    unchanged(&workspace);

    // A secret that somebody changed is found by its digest, repaired, and never shown.
    k8s.edit("kubectl-edit", "secrets", "shop", "db", |object| {
        object["data"]["password"] = "c3RvbGVu".into()
    });
    let seen = workspace.purlin(&["refresh"]).says("digest");
    assert!(!seen.to_string().contains("stolen") && !seen.to_string().contains("c3RvbGVu"), "{seen}");
    up(&workspace);
    assert_eq!(k8s.get("secrets", "shop", "db").expect("there")["data"]["password"], "aHVzaC1odXNo");
    unchanged(&workspace);

    // One leaves, one comes, one is deleted by hand.
    k8s.delete("services", "shop", "web");
    let mut next = shop();
    next.remove(1);
    next.push(map("more", &json!({"b": "2"})));
    give(&workspace, &shop_inputs(k8s.port(), &next));
    up(&workspace);
    assert_eq!(k8s.names("configmaps", "shop"), ["more"]);
    assert!(k8s.get("services", "shop", "web").is_some());
    unchanged(&workspace);

    // What is not pruned stays, and is left alone from then on.
    next.pop();
    let mut kept = shop_inputs(k8s.port(), &next);
    kept["values"]["prune"] = false.into();
    give(&workspace, &kept);
    up(&workspace).says("ConfigMap shop/more stay in the cluster");
    assert_eq!(k8s.names("configmaps", "shop"), ["more"]);

    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("namespaces", "", "shop"), None, "with all that was in it");
    assert_eq!(k8s.get("configmaps", "shop", "more"), None);
}

#[test]
fn a_kind_and_its_objects_come_and_go_together() {
    let k8s = Kubernetes::start();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.shop.example"},
        "spec": {
            "group": "shop.example", "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            }}}],
        },
    });
    let gadget = |size: Value| {
        json!({
            "apiVersion": "shop.example/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": size},
        })
    };
    let workspace = workspace(&[k8s.port()], &several(k8s.port(), &[gadget(json!(3)), definition.clone()]));
    up(&workspace);
    assert_eq!(
        k8s.get("gadgets", "default", "g").expect("made")["status"]["conditions"][0]["status"],
        "True"
    );
    unchanged(&workspace);
    give(&workspace, &several(k8s.port(), &[gadget(json!("three")), definition]));
    workspace.run(&["up", "--yes"]).expect(1).says("values.manifests.0").says(".spec.size: expected numeric");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("customresourcedefinitions", "", "gadgets.shop.example"), None);

    give(&workspace, &one(k8s.port(), &gadget(json!(3))));
    workspace.run(&["up", "--yes"]).expect(1).says("the cluster has no API `shop.example/v1`");
    let mut wrong = deployment("web", "shop:1", 1);
    wrong["kind"] = "deployment".into();
    give(&workspace, &one(k8s.port(), &wrong));
    workspace.run(&["up", "--yes"]).expect(1).says("did you mean `Deployment`?");
    wrong = deployment("web", "shop:1", 1);
    wrong["spec"]["replica"] = 3.into();
    give(&workspace, &one(k8s.port(), &wrong));
    workspace.run(&["up", "--yes"]).expect(1).says(".spec.replica: field not declared in schema");
    assert!(k8s.names("deployments", "default").is_empty());
}

#[test]
fn what_does_not_become_ready_is_told_and_not_forgotten() {
    let k8s = Kubernetes::start();
    let with = |image: &str, timeout: &str| {
        let mut inputs = one(k8s.port(), &deployment("web", image, 2));
        inputs["values"]["wait"] = json!({"timeout": timeout});
        inputs
    };
    let workspace = workspace(&[k8s.port()], &with("shop:broken", "700ms"));
    workspace
        .run(&["up", "--yes"])
        .expect(1)
        .says("Deployment default/web is not ready after 1 s: 0 of 2 replicas are available")
        .says("pod web-0: container `main`: ImagePullBackOff: Back-off pulling image \"shop:broken\"");
    assert_eq!(
        workspace.purlin(&["state", "list", "--format", "json"]).json()["resources"].as_array().map(Vec::len),
        Some(2)
    );
    // Looked at, it is still not ready; asked again, it is still waited for.
    workspace.purlin(&["refresh"]);
    workspace.run(&["up", "--yes"]).expect(1).says("is not ready");
    give(&workspace, &with("shop:slow", "10s"));
    up(&workspace).says("updated");
    unchanged(&workspace);
    assert_eq!(k8s.made("deployments", "default", "web"), 1);
    // It breaks by itself: that shows, and is waited for again.
    k8s.edit("kubectl-edit", "deployments", "default", "web", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = "shop:broken".into();
    });
    std::thread::sleep(std::time::Duration::from_millis(400));
    workspace.purlin(&["refresh"]).says("values.wait.for");
    up(&workspace);
    unchanged(&workspace);

    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "failing"}]}}},
    });
    let workspace = self::workspace(&[k8s.port()], &one(k8s.port(), &job));
    workspace
        .run(&["up", "--yes"])
        .expect(1)
        .says("Job default/migrate will not become ready: it failed: BackoffLimitExceeded");
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "good".into();
    give(&workspace, &one(k8s.port(), &job));
    up(&workspace).says("replaced");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("jobs", "default", "migrate"), None);
}

#[test]
fn what_is_made_in_part_is_finished_or_deleted() {
    let k8s = Kubernetes::start();
    // The second object needs a namespace that nobody makes; that is known before anything is made.
    let lost =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "nowhere"}});
    let workspace = workspace(&[k8s.port()], &several(k8s.port(), &[map("a", &json!({})), lost]));
    workspace
        .run(&["up", "--yes"])
        .expect(1)
        .says("namespaces \"nowhere\" not found")
        .says("not made: ConfigMap nowhere/b");
    assert!(k8s.get("configmaps", "default", "a").is_some(), "it is there and recorded");
    workspace.run(&["up", "--yes"]).expect(1).says("not found");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nowhere"}});
    k8s.edit("kubectl-create", "namespaces", "", "nowhere", |object| *object = namespace);
    up(&workspace).says("updated");
    unchanged(&workspace);
    assert_eq!(k8s.made("configmaps", "default", "a"), 1);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!((k8s.get("configmaps", "default", "a"), k8s.get("configmaps", "nowhere", "b")), (None, None));

    // What the rehearsal finds leaves nothing behind.
    let mut wrong = deployment("web", "shop:1", 1);
    wrong["spec"]["template"]["metadata"]["labels"]["app"] = "other".into();
    give(&workspace, &several(k8s.port(), &[map("a", &json!({})), wrong]));
    workspace
        .run(&["up", "--yes"])
        .expect(1)
        .says("invalid input `manifests.1.spec.template.metadata.labels`")
        .says("does not match");
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
}

#[test]
fn a_finalizer_holds_up_a_deletion() {
    let k8s = Kubernetes::start();
    let mut inputs = one(k8s.port(), &map("held", &json!({"a": "1"})));
    inputs["values"]["delete"] = json!({"timeout": "300ms", "propagation": "background"});
    let workspace = workspace(&[k8s.port()], &inputs);
    up(&workspace);
    k8s.edit("somebody", "configmaps", "default", "held", |object| {
        object["metadata"]["finalizers"] = json!(["shop.example/hold"]);
    });
    workspace
        .run(&["destroy", "--yes", "--allow-data-loss"])
        .expect(1)
        .says("it waits for its finalizers `shop.example/hold`");
    k8s.edit("somebody", "configmaps", "default", "held", |object| {
        object["metadata"]["finalizers"] = json!([])
    });
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    // Deleted and made by somebody else in between: it is theirs, and stays.
    up(&workspace);
    k8s.delete("configmaps", "default", "held");
    k8s.edit("kubectl-create", "configmaps", "default", "held", |object| {
        object["data"] = json!({"theirs": "1"})
    });
    workspace
        .purlin(&["destroy", "--yes", "--allow-data-loss"])
        .says("is not this resource's any more, and stays");
    assert_eq!(k8s.get("configmaps", "default", "held").expect("there")["data"], json!({"theirs": "1"}));
}

#[test]
fn a_renamed_resource_keeps_its_objects() {
    let k8s = Kubernetes::start();
    let workspace = workspace(&[k8s.port()], &one(k8s.port(), &map("a", &json!({"k": "1"}))));
    up(&workspace);
    let before = k8s.get("configmaps", "default", "a").expect("made");
    workspace.purlin(&["state", "rename", "k8s#shared.it", "k8s#shared.that"]);
    workspace.write(
        "deployment.yaml",
        r#"{"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"shared": {"that": {"type": "k8s"}}}}"#,
    );
    unchanged(&workspace);
    let mut inputs = one(k8s.port(), &map("a", &json!({"k": "2"})));
    inputs["values"]["cluster"]["field_manager"] = "platform".into();
    give(&workspace, &inputs);
    up(&workspace);
    let after = k8s.get("configmaps", "default", "a").expect("there");
    assert_eq!((&after["metadata"]["uid"], &after["data"]["k"]), (&before["metadata"]["uid"], &json!("2")));
    assert_ne!(after["metadata"]["labels"], before["metadata"]["labels"], "the mark is the new name's");
    let managers: Vec<&Value> = after["metadata"]["managedFields"].as_array().into_iter().flatten().collect();
    assert_eq!(managers.len(), 1, "the former manager left: {managers:?}");
    assert_eq!(managers[0]["manager"], "platform");
    unchanged(&workspace);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
}

#[test]
fn a_forced_replacement_deletes_the_old_one_first() {
    let k8s = Kubernetes::start();
    let inputs = one(k8s.port(), &map("a", &json!({"k": "1"})));
    let workspace = workspace(&[k8s.port()], &inputs);
    up(&workspace);
    let before = k8s.get("configmaps", "default", "a").expect("made");
    // Two objects cannot have one name, so the driver demands that the old one goes first.
    workspace
        .run(&["up", "--yes", "--replace", "k8s#shared.it"])
        .expect(0)
        .says("its replacement was requested; the old one is deleted first");
    let after = k8s.get("configmaps", "default", "a").expect("there");
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
    unchanged(&workspace);

    // Forgotten, it is not taken for new; taken over, it is what it was.
    workspace.purlin(&["state", "forget", "k8s#shared.it", "--yes"]);
    workspace.run(&["up", "--yes"]).expect(1).says("from an earlier life");
    workspace.purlin(&["import", "--yes", "k8s#shared.it", "v1/ConfigMap/default/a"]);
    up(&workspace);
    assert_eq!(
        k8s.get("configmaps", "default", "a").expect("there")["metadata"]["uid"],
        after["metadata"]["uid"]
    );
    unchanged(&workspace);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
}

#[test]
fn another_name_of_a_cluster_is_not_another_cluster() {
    let (k8s, other) = (Kubernetes::start(), Kubernetes::start());
    let alias = Proxy::to(k8s.port());
    let at = |port: u16, id: &str, value: &str| {
        let mut inputs = one(port, &map("a", &json!({"k": value})));
        inputs["values"]["cluster"]["id"] = id.into();
        inputs
    };
    let workspace = workspace(&[k8s.port(), alias.port(), other.port()], &at(k8s.port(), "here", "1"));
    up(&workspace);
    let before = k8s.get("configmaps", "default", "a").expect("made");
    give(&workspace, &at(alias.port(), "here", "2"));
    up(&workspace).says("updated");
    let after = k8s.get("configmaps", "default", "a").expect("there");
    assert_eq!((&after["metadata"]["uid"], &after["data"]["k"]), (&before["metadata"]["uid"], &json!("2")));
    // What is called the same and is not leaves nothing behind anywhere.
    give(&workspace, &at(other.port(), "here", "3"));
    workspace.run(&["up", "--yes"]).expect(1).says("none of the objects is there");
    assert_eq!(other.get("configmaps", "default", "a"), None);
    // The same cluster under another id: the new one would be the old one.
    give(&workspace, &at(k8s.port(), "elsewhere", "3"));
    workspace.run(&["up", "--yes"]).expect(1).says("from an earlier life of this resource");
    assert_eq!(k8s.get("configmaps", "default", "a").expect("there")["data"]["k"], "2");
    // Another one is another: it moves.
    give(&workspace, &at(other.port(), "there", "3"));
    workspace.purlin(&["plan"]).says("`/values/cluster/server` cannot be changed in place");
    up(&workspace).says("replaced");
    assert_eq!(k8s.get("configmaps", "default", "a"), None);
    assert!(other.get("configmaps", "default", "a").is_some());
    unchanged(&workspace);
}

#[test]
fn a_claim_that_waits_for_a_pod_is_not_waited_for() {
    let k8s = Kubernetes::start();
    let class = |name: &str, mode: &str| {
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": "x", "volumeBindingMode": mode,
        });
        k8s.edit("kubectl-create", "storageclasses", "", name, |object| *object = class);
    };
    class("later", "WaitForFirstConsumer");
    class("now", "Immediate");
    let claim = |name: &str, size: &str| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {
                "storageClassName": name, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
            },
        })
    };
    let workspace =
        workspace(&[k8s.port()], &several(k8s.port(), &[claim("later", "1Gi"), claim("now", "2048Mi")]));
    up(&workspace);
    unchanged(&workspace);
    assert_eq!(
        k8s.get("persistentvolumeclaims", "default", "now").expect("there")["status"]["phase"],
        "Bound"
    );
    give(&workspace, &several(k8s.port(), &[claim("later", "2Gi"), claim("now", "2Gi")]));
    up(&workspace).says("updated");
    let mut other = claim("later", "2Gi");
    other["spec"]["storageClassName"] = "now".into();
    give(&workspace, &several(k8s.port(), &[other, claim("now", "2Gi")]));
    workspace.purlin(&["plan"]).says("/values/manifests/0/spec/storageClassName` cannot be changed in place");
}

#[test]
fn a_call_ends_in_time() {
    let k8s = Kubernetes::start();
    let mut inputs = one(k8s.port(), &deployment("web", "shop:broken", 1));
    inputs["values"]["wait"] = json!({"timeout": "5m"});
    let workspace = workspace(&[k8s.port()], &inputs);
    let config = std::fs::read_to_string(workspace.path("purlin.yaml")).expect("written");
    workspace.write("purlin.yaml", &config.replace("20s", "3s"));
    workspace
        .run(&["up", "--yes"])
        .expect(1)
        .says("is not ready")
        .says("`limits.time` of the driver gives more");
    // Interrupted by a person, it is told what was waited for, and nothing is forgotten.
    workspace.write("purlin.yaml", &config);
    let child = workspace.start(&["up", "--yes"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.expect("kill runs").success());
    let done = workspace.finish(child, &["up", "--yes"]);
    assert_ne!(done.status, Some(0), "{done}");
    done.says("cancelled while waiting for Deployment default/web");
    inputs["values"]["wait"] = json!({"for": "exists"});
    give(&workspace, &inputs);
    up(&workspace);
    unchanged(&workspace);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(k8s.get("deployments", "default", "web"), None);
}

#[test]
fn what_another_resource_makes_goes_in() {
    let k8s = Kubernetes::start();
    let workspace = workspace(&[k8s.port()], &json!({"values": {}}));
    let text = format!(
        "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: k8s}}
spec:
  type: k8s
  driver: purlin/kubernetes
  inputs:
    values:
      cluster: {{server: 'http://127.0.0.1:{}'}}
      manifests:
        - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: '${{resources[\"name#shared.n\"].outputs.value}}'}}, data: {{a: '1'}}}}
    secrets: {{token: {TOKEN}}}
  criteria: [{{}}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: name}}
spec: {{type: name, driver: purlin/random, inputs: {{values: {{kind: pet}}}}, criteria: [{{}}]}}
",
        k8s.port()
    )
    .replace("\\\"", "\"");
    workspace.write("k8s.yaml", &text);
    workspace.purlin(&["plan"]);
    up(&workspace);
    assert_eq!(k8s.names("configmaps", "default").len(), 1);
    unchanged(&workspace);
}

#[test]
fn who_may_not_is_told_why() {
    let k8s = Kubernetes::start();
    let inputs = one(k8s.port(), &map("a", &json!({"k": "1"})));
    let denied = workspace(&[], &inputs);
    denied
        .run(&["up", "--yes"])
        .expect(2)
        .says("`purlin/kubernetes` is not granted requests to")
        .says(&format!("http://127.0.0.1:{}", k8s.port()));
    let workspace = workspace(&[k8s.port()], &inputs);
    let mut wrong = inputs.clone();
    wrong["secrets"] = json!({"token": "wrong-token-of-nobody"});
    give(&workspace, &wrong);
    let done =
        workspace.run(&["up", "--yes"]).expect(1).says("does not know who asks (401").says("`secrets.token`");
    assert!(!done.to_string().contains("wrong-token-of-nobody"), "{done}");
    wrong["secrets"] = json!({"token": READER});
    give(&workspace, &wrong);
    workspace.run(&["up", "--yes"]).expect(1).says("User \"reader\" cannot patch this");
    give(&workspace, &inputs);
    k8s.be_busy(2);
    up(&workspace);
    // Who may only look sees drift, and repairs none.
    k8s.edit("kubectl-edit", "configmaps", "default", "a", |object| object["data"]["k"] = "2".into());
    give(&workspace, &wrong);
    workspace.run(&["up", "--yes", "--refresh"]).expect(1).says("cannot patch");
    give(&workspace, &inputs);
    up(&workspace);
    assert_eq!(k8s.get("configmaps", "default", "a").expect("there")["data"]["k"], "1");
}

#[test]
fn killed_at_any_message_it_makes_nothing_twice() {
    let k8s = Kubernetes::start();
    let proxy = Proxy::to(k8s.port());
    let manifests = |attempt: usize, image: &str, more: bool| {
        let name = format!("web-{attempt}");
        let mut all = vec![deployment(&name, image, 1), map(&name, &json!({"image": image}))];
        if more {
            all.push(map(&format!("more-{attempt}"), &json!({})));
        }
        several(proxy.port(), &all)
    };
    let whole = |attempt: usize, workspace: &Workspace| {
        let name = format!("web-{attempt}");
        for (plural, name) in [("deployments", &name), ("configmaps", &name)] {
            assert_eq!(k8s.made(plural, "default", name), 1, "{plural} {name}");
            assert!(k8s.get(plural, "default", name).is_some(), "{plural} {name}");
        }
        unchanged(workspace);
    };
    let kills = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| workspace(&[proxy.port()], &manifests(attempt, "shop:1", false)),
        whole,
    );
    assert!(kills > 10, "{kills}");
    // An update that prunes.
    let kills = at_every_message(
        &proxy,
        &["up", "--yes"],
        |attempt| {
            let workspace = workspace(&[proxy.port()], &manifests(attempt + 1000, "shop:1", true));
            up(&workspace);
            give(&workspace, &manifests(attempt + 1000, "shop:2", false));
            workspace
        },
        |attempt, workspace| {
            whole(attempt + 1000, workspace);
            let settings = k8s.get("configmaps", "default", &format!("web-{}", attempt + 1000));
            assert_eq!(settings.expect("there")["data"]["image"], "shop:2");
            assert_eq!(k8s.get("configmaps", "default", &format!("more-{}", attempt + 1000)), None, "pruned");
        },
    );
    assert!(kills > 10, "{kills}");
    let kills = at_every_message(
        &proxy,
        &["destroy", "--yes", "--allow-data-loss"],
        |attempt| {
            let workspace = workspace(&[proxy.port()], &manifests(attempt + 2000, "shop:1", false));
            up(&workspace);
            workspace
        },
        |attempt, workspace| {
            let name = format!("web-{}", attempt + 2000);
            assert_eq!(k8s.get("deployments", "default", &name), None);
            assert_eq!(k8s.get("configmaps", "default", &name), None);
            let left = workspace.purlin(&["state", "list", "--format", "json"]).json();
            assert_eq!(left["resources"], json!([]), "nothing is recorded");
        },
    );
    assert!(kills > 5, "{kills}");
}

/// `kubectl`, where it is installed: it was written by others, and knows what an API server says.
fn kubectl(k8s: &Kubernetes, folder: &Workspace, arguments: &[&str]) -> Option<Done> {
    let server = format!("http://127.0.0.1:{}", k8s.open_port());
    kubectl_with(folder, &[&["--server", &server], arguments].concat())
}

fn kubectl_with(folder: &Workspace, arguments: &[&str]) -> Option<Done> {
    let program = purlin_systems::tools::need("kubectl")?;
    let done = std::process::Command::new(program)
        .args(["--cache-dir".as_ref(), folder.path("cache").as_os_str()])
        .args(arguments)
        .env("HOME", folder.folder())
        .env("KUBECONFIG", folder.path("none"))
        .current_dir(folder.folder())
        .output()
        .expect("kubectl runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Done {
        command: format!("kubectl {}", arguments.join(" ")),
        status: done.status.code(),
        stdout: text(&done.stdout),
        stderr: text(&done.stderr),
    })
}

#[test]
fn kubectl_and_purlin_see_the_same_cluster() {
    let k8s = Kubernetes::start();
    let workspace = workspace(&[k8s.port()], &one(k8s.port(), &deployment("web", "shop:1", 2)));
    up(&workspace);
    let Some(seen) = kubectl(&k8s, &workspace, &["get", "deployment", "web", "-o", "json"]) else { return };
    assert_eq!(seen.expect(0).json()["spec"]["replicas"], 2);

    // It applies by the same rules: the field is ours, and a conflict until it is forced. What
    // kubectl applies lies in a hidden folder: any other manifest would be a resource of ours.
    workspace.write(".kubectl/other.json", &deployment("web", "shop:1", 4).to_string());
    let apply = ["apply", "--server-side", "--validate=false", "-f", ".kubectl/other.json"];
    let run = |arguments: &[&str]| kubectl(&k8s, &workspace, arguments).expect("kubectl is there");
    run(&apply).expect(1).says("conflict with \"purlin\"").says(".spec.replicas");
    run(&["apply", "--server-side", "--validate=false", "--force-conflicts", "-f", ".kubectl/other.json"])
        .expect(0)
        .says("serverside-applied");
    assert_eq!(k8s.get("deployments", "default", "web").expect("there")["spec"]["replicas"], 4);
    // Not seen, it is a conflict for us; seen, it is drift, and repaired.
    give(&workspace, &one(k8s.port(), &deployment("web", "shop:1", 3)));
    workspace.run(&["up", "--yes"]).expect(1).says("`.spec.replicas` (\"kubectl\")");
    workspace.purlin(&["up", "--yes", "--refresh"]);
    assert_eq!(k8s.get("deployments", "default", "web").expect("there")["spec"]["replicas"], 3);

    // A merge patch, a label, and what it deletes.
    run(&["patch", "deployment", "web", "--type=merge", "-p", r#"{"spec": {"replicas": 1}}"#])
        .expect(0)
        .says("patched");
    workspace.purlin(&["plan", "--refresh"]).says("values.manifest.spec.replicas: 1 → 3");
    workspace.purlin(&["up", "--yes", "--refresh"]);
    unchanged(&workspace);
    run(&["delete", "deployment", "web", "--wait=false"]).expect(0).says("deleted");
    workspace.purlin(&["refresh"]).says("it no longer exists");
    run(&["get", "deployment", "web"]).expect(1).says("NotFound");
    workspace.write(".kubectl/theirs.json", &map("theirs", &json!({"a": "b"})).to_string());
    run(&["create", "--validate=false", "-f", ".kubectl/theirs.json"]).expect(0).says("created");
    assert_eq!(k8s.get("configmaps", "default", "theirs").expect("there")["data"]["a"], "b");
}

#[test]
fn it_keeps_the_contract() {
    let k8s = Kubernetes::start();
    let workspace = workspace(&[k8s.port()], &json!({"values": {}}));
    let root = purlin_systems::tools::root();
    let cases = std::fs::read_to_string(root.join("drivers/kubernetes/check.yaml")).expect("the cases");
    workspace.write("cases.yaml", &cases.replace(":8001", &format!(":{}", k8s.port())));
    workspace.purlin(&["driver", "check", "purlin/kubernetes", "--cases", "cases.yaml"]);
    assert!(k8s.names("configmaps", "default").is_empty() && k8s.names("deployments", "default").is_empty());
}

#[test]
fn the_cluster_has_to_prove_who_it_is() {
    let k8s = Kubernetes::start();
    let Some(secured) = Secured::start(&k8s) else { return };
    let manifest = map("a", &json!({"k": "1"}));
    let workspace =
        workspace(&[], &json!({"values": {"cluster": {"server": secured.url()}, "manifest": manifest}}));
    workspace.write("ca.pem", &secured.authority());
    let config = std::fs::read_to_string(workspace.path("purlin.yaml")).expect("written");
    let granted = |more: &str| {
        let grants =
            format!(r#"{{"http":["GET,PATCH,DELETE {}/*"],"addresses":["127.0.0.1"]{more}}}"#, secured.url());
        workspace.write("purlin.yaml", &config.replace(r#"{"http":[]}"#, &grants));
    };
    granted("");
    let done = workspace.run(&["up", "--yes"]).expect(1);
    assert!(done.stderr.contains("certificate"), "{done}");
    assert_eq!(k8s.requests(), [""; 0], "no token went to a stranger");
    granted(r#","ca":["ca.pem"]"#);
    up(&workspace);
    unchanged(&workspace);
    // The same way, for somebody else.
    let ca = format!("--certificate-authority={}", workspace.path("ca.pem").display());
    let arguments =
        ["--server", &secured.url(), "--token", TOKEN, &ca, "get", "configmap", "a", "-o", "json"];
    if let Some(seen) = kubectl_with(&workspace, &arguments) {
        assert_eq!(seen.expect(0).json()["data"]["k"], "1");
    }
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert!(k8s.names("configmaps", "default").is_empty());
}

/// Somebody who answers everything in the same way.
fn stranger(answer: &'static str) -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn who_is_no_api_server_is_not_an_empty_cluster() {
    let manifest = map("a", &json!({"k": "1"}));
    let cases = [
        (
            "HTTP/1.1 404 Not Found\r\ncontent-length: 12\r\nconnection: close\r\n\r\n<html></html",
            "is `cluster.server` the API server?",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 12\r\nconnection: close\r\n\r\n<html></html",
            "the answer is not the JSON expected",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnull",
            "lists no kinds; is `cluster.server` the API server?",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]",
            "lists no kinds; is `cluster.server` the API server?",
        ),
        ("HTTP/1.1 401 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno", "are the credentials right?"),
        (
            "HTTP/1.1 301 Moved\r\nlocation: /x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "status 301",
        ),
    ];
    for (answer, said) in cases {
        let port = stranger(answer);
        let workspace = workspace(&[port], &one(port, &manifest));
        let done = workspace.run(&["up", "--yes"]).expect(1).says(said);
        assert!(!done.to_string().contains("crashed"), "{done}");
        let listed = workspace.purlin(&["state", "list", "--format", "json"]).json();
        assert!(!listed.to_string().contains("k8s.default"), "nothing is recorded: {listed}");
    }
}
