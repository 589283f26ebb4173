//! Whether an object works, according to its status. Sends no requests.

use purlin_sdk::Json;

/// The progress of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Ready,
    /// Not yet, and why.
    Waiting(String),
    /// It will not become ready by itself, and why.
    Stuck(String),
}

use Progress::{Ready, Stuck, Waiting};

/// Judges a live object.
pub(crate) fn judge(live: &Json) -> Progress {
    let text = |path: &str| live.pointer(path).and_then(Json::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    if let Some(waiting) = unobserved(live) {
        return waiting;
    }
    match (group, text("/kind")) {
        ("apps", "Deployment") => held_up(deployment(live), live),
        ("apps", "StatefulSet") => stateful_set(live),
        ("apps", "DaemonSet") => daemon_set(live),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => {
            let wanted = number(live, "/spec/replicas").unwrap_or(1);
            held_up(counts(wanted, live, &["readyReplicas", "availableReplicas"]), live)
        }
        ("batch", "Job") => job(live),
        ("", "Pod") => pod(live),
        ("", "PersistentVolumeClaim") => match text("/status/phase") {
            "Bound" => Ready,
            "Lost" => Stuck("its volume is lost".to_owned()),
            // Some claims are bound by the first pod that uses them, and the driver does not wait
            // for that.
            phase => Waiting(format!("it is {}, not bound to a volume", or(phase, "new"))),
        },
        ("", "Service") if text("/spec/type") == "LoadBalancer" => {
            let ingress = live.pointer("/status/loadBalancer/ingress").and_then(Json::as_array);
            match ingress.is_some_and(|ingress| !ingress.is_empty()) {
                true => Ready,
                false => Waiting("no load balancer has assigned an address".to_owned()),
            }
        }
        ("", "Namespace") => match text("/status/phase") {
            "Active" => Ready,
            phase => Waiting(format!("it is {}", or(phase, "new"))),
        },
        ("apiextensions.k8s.io", "CustomResourceDefinition") => match condition(live, "NamesAccepted") {
            Some(("False", message)) => Stuck(format!("its names are not accepted: {message}")),
            _ => must(live, "Established"),
        },
        ("apiregistration.k8s.io", "APIService") => must(live, "Available"),
        _ => generic(live),
    }
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

fn number(live: &Json, path: &str) -> Option<i64> {
    live.pointer(path).and_then(Json::as_i64)
}

/// A status of an older generation says nothing.
fn unobserved(live: &Json) -> Option<Progress> {
    let seen = number(live, "/status/observedGeneration")?;
    (number(live, "/metadata/generation")? > seen)
        .then(|| Waiting("its controller has not processed it yet".to_owned()))
}

/// The status and message of a condition.
fn condition<'a>(live: &'a Json, name: &str) -> Option<(&'a str, String)> {
    let all = live.pointer("/status/conditions").and_then(Json::as_array)?;
    let found = all.iter().find(|condition| condition["type"] == name)?;
    let text = |name: &str| found[name].as_str().unwrap_or_default();
    let message = match (text("reason"), text("message")) {
        ("", message) | (message, "") => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    Some((text("status"), message))
}

fn must(live: &Json, name: &str) -> Progress {
    match condition(live, name) {
        Some(("True", _)) => Ready,
        Some((status, message)) if !message.is_empty() => Waiting(format!("{name} is {status}: {message}")),
        Some((status, _)) => Waiting(format!("{name} is {status}")),
        None => Waiting(format!("its controller has not said that it is {name}")),
    }
}

/// The usual conditions of custom resources. An object without conditions is ready once it exists.
fn generic(live: &Json) -> Progress {
    if let Some(("True", message)) = condition(live, "Stalled") {
        return Stuck(message);
    }
    if let Some(("True", message)) = condition(live, "Reconciling") {
        return Waiting(message);
    }
    for name in ["Ready", "Available"] {
        if condition(live, name).is_some() {
            return must(live, name);
        }
    }
    Ready
}

/// Whether each of these counters has reached the wanted number.
fn counts(wanted: i64, live: &Json, names: &[&str]) -> Progress {
    for name in names {
        let there = number(live, &format!("/status/{name}")).unwrap_or(0);
        if there < wanted {
            return Waiting(format!("{there} of {wanted} replicas are {}", adjective(name)));
        }
    }
    Ready
}

/// Adds why pods cannot be created, such as a quota.
fn held_up(progress: Progress, live: &Json) -> Progress {
    match (progress, condition(live, "ReplicaFailure")) {
        (Waiting(why), Some(("True", message))) => Waiting(format!("{why}; {message}")),
        (progress, _) => progress,
    }
}

fn adjective(counter: &str) -> &'static str {
    match counter {
        "updatedReplicas" | "updatedNumberScheduled" => "up to date",
        "readyReplicas" => "ready",
        "replicas" => "there",
        _ => "available",
    }
}

fn deployment(live: &Json) -> Progress {
    if live.pointer("/status/observedGeneration").is_none() {
        return Waiting("its controller has not processed it yet".to_owned());
    }
    if let Some(("False", message)) = condition(live, "Progressing")
        && message.starts_with("ProgressDeadlineExceeded")
    {
        return Stuck(message);
    }
    let wanted = number(live, "/spec/replicas").unwrap_or(1);
    match counts(wanted, live, &["updatedReplicas", "availableReplicas"]) {
        Ready => {}
        waiting => return waiting,
    }
    let (all, updated) = (number(live, "/status/replicas"), number(live, "/status/updatedReplicas"));
    match all.unwrap_or(0) - updated.unwrap_or(0) {
        1 => Waiting("1 old replica still exists".to_owned()),
        old @ 2.. => Waiting(format!("{old} old replicas still exist")),
        _ => Ready,
    }
}

fn stateful_set(live: &Json) -> Progress {
    if live.pointer("/status/observedGeneration").is_none() {
        return Waiting("its controller has not processed it yet".to_owned());
    }
    let wanted = number(live, "/spec/replicas").unwrap_or(1);
    match counts(wanted, live, &["readyReplicas"]) {
        Ready => {}
        waiting => return waiting,
    }
    let on_delete = live.pointer("/spec/updateStrategy/type").is_some_and(|kind| kind == "OnDelete");
    let partition = number(live, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
    if on_delete {
        return Ready;
    }
    counts((wanted - partition).max(0), live, &["updatedReplicas"])
}

fn daemon_set(live: &Json) -> Progress {
    if live.pointer("/status/observedGeneration").is_none() {
        return Waiting("its controller has not processed it yet".to_owned());
    }
    let wanted = number(live, "/status/desiredNumberScheduled").unwrap_or(0);
    if live.pointer("/spec/updateStrategy/type").is_some_and(|kind| kind == "OnDelete") {
        return counts(wanted, live, &["numberAvailable"]);
    }
    counts(wanted, live, &["updatedNumberScheduled", "numberAvailable"])
}

/// A job is ready when its work is done.
fn job(live: &Json) -> Progress {
    if let Some(("True", message)) = condition(live, "Failed") {
        return Stuck(format!("it failed: {message}"));
    }
    if live.pointer("/spec/suspend") == Some(&Json::Bool(true)) {
        return Ready;
    }
    match condition(live, "Complete") {
        Some(("True", _)) => Ready,
        _ => {
            let done = number(live, "/status/succeeded").unwrap_or(0);
            let wanted = number(live, "/spec/completions").unwrap_or(1);
            Waiting(format!("{done} of {wanted} completions are done"))
        }
    }
}

fn pod(live: &Json) -> Progress {
    let phase = live.pointer("/status/phase").and_then(Json::as_str).unwrap_or_default();
    let trouble = pod_trouble(live);
    match (phase, condition(live, "Ready")) {
        ("Succeeded", _) | (_, Some(("True", _))) => Ready,
        ("Failed", _) => Stuck(trouble.unwrap_or_else(|| "it failed".to_owned())),
        _ => Waiting(trouble.unwrap_or_else(|| format!("it is {}", or(phase, "new")))),
    }
}

/// The problem of a pod, such as an image that does not exist.
pub(crate) fn pod_trouble(pod: &Json) -> Option<String> {
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let containers = lists.iter().filter_map(|path| pod.pointer(path)?.as_array()).flatten();
    for container in containers {
        for state in ["waiting", "terminated"] {
            let Some(why) = container.pointer(&format!("/state/{state}")) else { continue };
            let text = |name: &str| why[name].as_str().unwrap_or_default();
            let reason = text("reason");
            if matches!(reason, "" | "ContainerCreating" | "PodInitializing" | "Completed") {
                continue;
            }
            let name = container["name"].as_str().unwrap_or_default();
            let mark = if text("message").is_empty() { "" } else { ": " };
            return Some(format!("container `{name}`: {reason}{mark}{}", text("message")));
        }
    }
    match condition(pod, "PodScheduled") {
        Some(("False", message)) => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_deployment_is_ready_with_all_replicas() {
        let at = |generation: i64, status: &Json| {
            judge(&json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": generation},
                "spec": {"replicas": 2}, "status": status,
            }))
        };
        let full =
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
        assert_eq!(at(1, &full), Ready);
        assert!(matches!(at(2, &full), Waiting(why) if why.contains("not processed")));
        assert!(matches!(at(1, &json!({})), Waiting(_)), "no controller has processed it");
        let mut old = full.clone();
        old["replicas"] = 3.into();
        assert!(matches!(at(1, &old), Waiting(why) if why.contains("1 old")));
        let short = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "conditions": [
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"},
        ]});
        let expected = "1 of 2 replicas are up to date; FailedCreate: exceeded quota";
        assert_eq!(at(1, &short), Waiting(expected.to_owned()));
        let stuck = json!({"observedGeneration": 1, "conditions": [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow"},
        ]});
        assert_eq!(at(1, &stuck), Stuck("ProgressDeadlineExceeded: too slow".to_owned()));
    }

    #[test]
    fn other_kinds_say_it_in_their_own_ways() {
        let cases = [
            (json!({"apiVersion": "v1", "kind": "ConfigMap"}), true),
            (json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer"}}), false),
            (json!({"apiVersion": "v1", "kind": "Service", "spec": {}}), true),
            (json!({"apiVersion": "v1", "kind": "Namespace", "status": {"phase": "Terminating"}}), false),
            (
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Bound"}}),
                true,
            ),
            (json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {}}), false),
            (
                json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [{"type": "Complete", "status": "True"}]}}),
                true,
            ),
            (json!({"apiVersion": "x/v1", "kind": "Thing"}), true),
            (
                json!({"apiVersion": "x/v1", "kind": "Thing", "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}),
                false,
            ),
            (json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}), false),
            (
                json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "status": {"observedGeneration": 1, "readyReplicas": 1, "updatedReplicas": 1}}),
                true,
            ),
            (
                json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "status": {"observedGeneration": 1, "desiredNumberScheduled": 1}}),
                false,
            ),
        ];
        for (live, ready) in cases {
            assert_eq!(judge(&live) == Ready, ready, "{live}: {:?}", judge(&live));
        }
    }

    #[test]
    fn a_pod_shows_why_it_is_blocked() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending", "containerStatuses": [
            {"name": "web", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}},
        ]}});
        assert_eq!(judge(&pod), Waiting("container `web`: ImagePullBackOff: no such image".to_owned()));
    }
}
