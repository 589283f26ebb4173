//! What controllers of a cluster do: statuses that come after a while, pods, and what follows a
//! deletion. Images say how it goes: `broken` never starts, `slow` takes its time, `failing` ends
//! badly.

use std::time::Duration;

use serde_json::{Value, json};

use super::store::{Key, Store, has_finalizers};

/// Until something is ready.
const SOON: Duration = Duration::from_millis(150);
/// Until something slow is ready.
const LATE: Duration = Duration::from_millis(1500);

/// One round over all objects.
pub(super) fn step(store: &mut Store) {
    collect_garbage(store);
    let all: Vec<(Key, Value, Duration)> = store
        .objects
        .iter()
        .map(|(key, stored)| (key.clone(), stored.value.clone(), stored.changed.elapsed()))
        .collect();
    for (key, value, age) in all {
        if value["metadata"].get("deletionTimestamp").is_some() {
            continue;
        }
        if let Some(status) = status(store, &value, age) {
            store.set_status(&key, status);
        }
    }
}

fn image(value: &Value) -> String {
    let spec = if value["kind"] == "Pod" { &value["spec"] } else { &value["spec"]["template"]["spec"] };
    spec["containers"][0]["image"].as_str().unwrap_or_default().to_owned()
}

fn condition(kind: &str, is: bool, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": if is { "True" } else { "False" }, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn status(store: &mut Store, value: &Value, age: Duration) -> Option<Value> {
    let image = image(value);
    let wait = if image.contains("slow") { LATE } else { SOON };
    let (broken, done) = (image.contains("broken"), age >= wait);
    let generation = value["metadata"]["generation"].clone();
    let replicas = value["spec"]["replicas"].as_u64().unwrap_or(1);
    match value["kind"].as_str().unwrap_or_default() {
        "Deployment" | "StatefulSet" | "ReplicaSet" => {
            if age < SOON / 3 {
                return None;
            }
            pods(store, value, replicas, &image);
            let ready = if done && !broken { replicas } else { 0 };
            Some(json!({
                "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
                "readyReplicas": ready, "availableReplicas": ready,
                "conditions": [condition("Available", ready >= replicas, "MinimumReplicas", "as many as there are")],
            }))
        }
        "DaemonSet" => Some(json!({
            "observedGeneration": generation, "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "numberMisscheduled": 0,
            "updatedNumberScheduled": 1, "numberReady": u8::from(done && !broken), "numberAvailable": u8::from(done && !broken),
        })),
        "Job" if done && image.contains("failing") => Some(json!({
            "failed": 1, "conditions": [condition("Failed", true, "BackoffLimitExceeded", "it failed too often")],
        })),
        "Job" if done && !broken => {
            Some(json!({"succeeded": 1, "conditions": [condition("Complete", true, "Done", "")]}))
        }
        "Pod" => Some(pod(&image, done)),
        "PersistentVolumeClaim" if done && !waits_for_a_pod(store, value) => Some(json!({"phase": "Bound"})),
        "Service" if value["spec"]["type"] == "LoadBalancer" && done => {
            Some(json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}))
        }
        "CustomResourceDefinition" if done => Some(json!({
            "acceptedNames": value["spec"]["names"], "storedVersions": ["v1"],
            "conditions": [condition("NamesAccepted", true, "NoConflicts", ""), condition("Established", true, "InitialNamesAccepted", "")],
        })),
        // Custom resources of this kind say of themselves whether they are ready.
        "Gadget" => Some(json!({"conditions": [condition("Ready", done, "Made", "it is being made")]})),
        _ => None,
    }
}

/// There are no pods here that use claims.
fn waits_for_a_pod(store: &Store, claim: &Value) -> bool {
    let class = claim["spec"]["storageClassName"].as_str().unwrap_or_default().to_owned();
    let found = store.objects.get(&("storageclasses.storage.k8s.io".to_owned(), String::new(), class));
    found.is_some_and(|class| class.value["volumeBindingMode"] == "WaitForFirstConsumer")
}

fn pod(image: &str, done: bool) -> Value {
    if image.contains("broken") {
        let waiting =
            json!({"reason": "ImagePullBackOff", "message": format!("Back-off pulling image \"{image}\"")});
        return json!({"phase": "Pending", "containerStatuses": [{
            "name": "main", "image": image, "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": waiting},
        }]});
    }
    let phase = if done { "Running" } else { "Pending" };
    json!({"phase": phase, "podIP": "10.1.0.7", "conditions": [condition("Ready", done, "", "")]})
}

/// The pods of a workload, which it owns itself: there is no ReplicaSet between.
fn pods(store: &mut Store, owner: &Value, replicas: u64, image: &str) {
    let (name, namespace) = (&owner["metadata"]["name"], &owner["metadata"]["namespace"]);
    let (Some(name), Some(namespace)) = (name.as_str(), namespace.as_str()) else { return };
    let Some(kind) = store.find("", "v1", "pods") else { return };
    let asking = super::store::Asking { manager: "kube-controller-manager".to_owned(), ..Default::default() };
    for number in 0..replicas.min(3) {
        let pod_name = format!("{name}-{number}");
        if store
            .get(&kind, namespace, &pod_name)
            .is_ok_and(|pod| pod["spec"]["containers"][0]["image"] == image)
        {
            continue;
        }
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "spec": owner["spec"]["template"]["spec"],
            "metadata": {
                "name": pod_name, "namespace": namespace, "labels": owner["spec"]["template"]["metadata"]["labels"],
                "ownerReferences": [{
                    "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "uid": owner["metadata"]["uid"],
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
        });
        // Refused in a namespace that ends.
        let _ = store.put(&kind, namespace, &pod_name, pod, &asking);
    }
}

/// What an owner leaves goes, and an owner in the foreground goes after it; a namespace takes along
/// what is in it.
fn collect_garbage(store: &mut Store) {
    let uids: Vec<Value> = store
        .objects
        .values()
        .filter(|stored| stored.value["metadata"].get("deletionTimestamp").is_none())
        .map(|stored| stored.value["metadata"]["uid"].clone())
        .collect();
    let ending: Vec<String> = store
        .objects
        .values()
        .filter(|stored| {
            stored.kind.kind == "Namespace" && stored.value["metadata"].get("deletionTimestamp").is_some()
        })
        .filter_map(|stored| stored.value["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    let owners = |value: &Value| {
        value.pointer("/metadata/ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let orphans: Vec<Key> = store
        .objects
        .iter()
        .filter(|((_, namespace, _), stored)| {
            let owners = owners(&stored.value);
            let left = !owners.is_empty() && owners.iter().all(|owner| !uids.contains(&owner["uid"]));
            left || ending.contains(namespace)
        })
        .filter(|(_, stored)| stored.value["metadata"].get("deletionTimestamp").is_none())
        .map(|(key, _)| key.clone())
        .collect();
    for key in orphans {
        let Some(kind) = store.objects.get(&key).map(|stored| stored.kind.clone()) else { continue };
        let _ = store.delete(&kind, &key.1, &key.2, &json!({}), false);
    }
    let owned: Vec<Value> = store
        .objects
        .values()
        .flat_map(|stored| owners(&stored.value))
        .map(|owner| owner["uid"].clone())
        .collect();
    let filled: Vec<String> = store.objects.keys().map(|(_, namespace, _)| namespace.clone()).collect();
    for stored in store.objects.values_mut() {
        if stored.value["metadata"].get("deletionTimestamp").is_none() {
            continue;
        }
        if !owned.contains(&stored.value["metadata"]["uid"])
            && let Some(all) = stored.value.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut)
        {
            all.retain(|finalizer| finalizer != "foregroundDeletion");
        }
        let name = stored.value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if stored.kind.kind == "Namespace" && !filled.contains(&name) {
            stored.value["spec"]["finalizers"] = json!([]);
        }
    }
    // A definition takes its objects along.
    let kinds = store.kinds();
    store.objects.retain(|_, stored| {
        let going =
            stored.value["metadata"].get("deletionTimestamp").is_some() && !has_finalizers(&stored.value);
        let known = kinds.iter().any(|kind| kind.resource() == stored.kind.resource());
        !going && known
    });
}
