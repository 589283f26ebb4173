//! What the API server makes of an object before it keeps it: defaults, one spelling of quantities,
//! and what it refuses.

use serde_json::{Map, Value, json};

use super::kinds::Kind;
use super::schema::Node;
use super::status::{Cause, Refused, invalid};

/// Fills in what was left out.
pub(super) fn default(kind: &str, object: &mut Value, number: u64) {
    let fill = |value: &mut Value, defaults: Value| under(value, &defaults);
    match kind {
        "Deployment" => {
            fill(
                object,
                json!({"spec": {
                    "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                    "strategy": {"type": "RollingUpdate"},
                }}),
            );
            if object["spec"]["strategy"]["type"] == "RollingUpdate" {
                fill(
                    object,
                    json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}}}),
                );
            }
        }
        "StatefulSet" => fill(
            object,
            json!({"spec": {
                "replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            }}),
        ),
        "DaemonSet" => fill(
            object,
            json!({"spec": {"revisionHistoryLimit": 10, "updateStrategy": {"type": "RollingUpdate"}}}),
        ),
        "Job" => {
            let uid = object["metadata"]["uid"].clone();
            fill(
                object,
                json!({"spec": {
                    "parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false,
                    "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
                    "template": {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": uid}}},
                }}),
            );
        }
        "Service" => {
            let address = format!("10.96.{}.{}", number / 250 % 250, number % 250 + 1);
            fill(
                object,
                json!({"spec": {
                    "type": "ClusterIP", "clusterIP": address, "sessionAffinity": "None",
                    "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
                }}),
            );
            let address = object["spec"]["clusterIP"].clone();
            fill(object, json!({"spec": {"clusterIPs": [address]}}));
            for port in object["spec"]["ports"].as_array_mut().into_iter().flatten() {
                let target = port["port"].clone();
                under(port, &json!({"protocol": "TCP", "targetPort": target}));
            }
        }
        "Secret" => fill(object, json!({"type": "Opaque"})),
        "Namespace" => {
            let name = object["metadata"]["name"].clone();
            fill(object, json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}));
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
        }
        "PersistentVolumeClaim" => {
            fill(object, json!({"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}))
        }
        "Pod" => fill(object, json!({"status": {"phase": "Pending"}})),
        _ => {}
    }
    if kind == "Secret" {
        let texts = object.as_object_mut().and_then(|members| members.shift_remove("stringData"));
        for (name, text) in texts.as_ref().and_then(Value::as_object).into_iter().flatten() {
            let encoded = data_encoding::BASE64.encode(text.as_str().unwrap_or_default().as_bytes());
            object["data"][name.as_str()] = encoded.into();
        }
    }
    let template =
        if kind == "Pod" { object.get_mut("spec") } else { object.pointer_mut("/spec/template/spec") };
    if let Some(spec) = template.filter(|spec| spec.is_object() && kind != "CustomResourceDefinition") {
        let restart = if kind == "Job" { "Never" } else { "Always" };
        under(
            spec,
            &json!({
                "restartPolicy": restart, "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
                "schedulerName": "default-scheduler", "securityContext": {},
            }),
        );
        for container in spec["containers"].as_array_mut().into_iter().flatten() {
            under(
                container,
                &json!({
                    "imagePullPolicy": "IfNotPresent", "resources": {},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                }),
            );
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                under(port, &json!({"protocol": "TCP"}));
            }
        }
    }
}

/// Defaults stand under what was said.
fn under(value: &mut Value, defaults: &Value) {
    match (value, defaults) {
        (Value::Object(members), Value::Object(defaults)) => {
            for (name, default) in defaults {
                under(members.entry(name.as_str()).or_insert(Value::Null), default);
            }
        }
        (value @ Value::Null, default) => *value = default.clone(),
        _ => {}
    }
}

/// Quantities in their one spelling: `0.5` is `500m`, `1024Mi` is `1Gi`.
pub(super) fn canonical(node: &Node, value: &mut Value) {
    if node.is_quantity() {
        if let Some(text) = quantity(value) {
            *value = text.into();
        }
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                canonical(&node.member(name), member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| canonical(&node.item(), item)),
        _ => {}
    }
}

fn quantity(value: &Value) -> Option<String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    if unit.is_empty() && number.fract() != 0.0 {
        return Some(format!("{}m", (number * 1000.0).round()));
    }
    let units = ["Ki", "Mi", "Gi", "Ti"];
    let place = units.iter().position(|known| *known == unit);
    let (mut number, Some(mut place)) = (number, place) else { return Some(text) };
    while number >= 1024.0 && number % 1024.0 == 0.0 && place + 1 < units.len() {
        (number, place) = (number / 1024.0, place + 1);
    }
    Some(format!("{number}{}", units.get(place)?))
}

/// What cannot be kept: missing fields, bad names, changes of what never changes.
pub(super) fn validate(kind: &Kind, old: Option<&Value>, new: &Value) -> Result<(), Refused> {
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let mut causes: Vec<Cause> = Vec::new();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let rbac = kind.group == "rbac.authorization.k8s.io";
    if name.is_empty() || (!rbac && !name.chars().all(is_plain)) {
        let message = format!(
            "Invalid value: \"{name}\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
        );
        causes.push(("FieldValueInvalid", message, "metadata.name".to_owned()));
    }
    for field in kind.node.missing(new) {
        causes.push(("FieldValueRequired", "Required value".to_owned(), field));
    }
    for (label, value) in new["metadata"]["labels"].as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        if text.len() > 63 || text.contains([' ', '/', ':']) {
            let message = format!("Invalid value: \"{text}\": a valid label must be alphanumeric ({label})");
            causes.push(("FieldValueInvalid", message, "metadata.labels".to_owned()));
        }
    }
    let wanted = new.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    if kind.group == "apps"
        && let Some(wanted) = wanted
    {
        let labels = new.pointer("/spec/template/metadata/labels");
        if wanted.iter().any(|(label, value)| labels.and_then(|labels| labels.get(label)) != Some(value)) {
            let message = "Invalid value: `selector` does not match template `labels`".to_owned();
            causes.push(("FieldValueInvalid", message, "spec.template.metadata.labels".to_owned()));
        }
    }
    if new.pointer("/spec/replicas").and_then(Value::as_i64).is_some_and(|replicas| replicas < 0) {
        let message = "Invalid value: -1: must be greater than or equal to 0".to_owned();
        causes.push(("FieldValueInvalid", message, "spec.replicas".to_owned()));
    }
    if let Some(old) = old {
        for path in immutable(&kind.kind, old) {
            if old.pointer(&path) != new.pointer(&path) {
                let field = path.trim_start_matches('/').replace('/', ".");
                causes.push(("FieldValueInvalid", "Invalid value: field is immutable".to_owned(), field));
            }
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(invalid(&kind.kind, name, &causes)) }
}

fn immutable(kind: &str, old: &Value) -> Vec<String> {
    let members = |path: &str, except: &[&str]| -> Vec<String> {
        let members = old.pointer(path).and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        let names = members.keys().filter(|name| !except.contains(&name.as_str()));
        names.map(|name| format!("{path}/{name}")).collect()
    };
    let plain = |paths: &[&str]| -> Vec<String> { paths.iter().map(|path| (*path).to_owned()).collect() };
    match kind {
        "Deployment" | "DaemonSet" | "ReplicaSet" => plain(&["/spec/selector"]),
        "StatefulSet" => members(
            "/spec",
            &["replicas", "template", "updateStrategy", "minReadySeconds", "revisionHistoryLimit"],
        ),
        "Job" => plain(&["/spec/template", "/spec/selector", "/spec/completionMode"]),
        "Service" => plain(&["/spec/clusterIP"]),
        "PersistentVolumeClaim" => members("/spec", &["resources", "volumeName"]),
        "RoleBinding" | "ClusterRoleBinding" => plain(&["/roleRef"]),
        "Secret" if old["immutable"] == true => plain(&["/data", "/immutable", "/type"]),
        "Secret" => plain(&["/type"]),
        "ConfigMap" if old["immutable"] == true => plain(&["/data", "/binaryData", "/immutable"]),
        "CustomResourceDefinition" => plain(&["/spec/group", "/spec/scope", "/spec/names/kind"]),
        _ => Vec::new(),
    }
}
