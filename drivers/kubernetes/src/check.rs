//! Checks of inputs that need no cluster.

use purlin_sdk::{Failure, Faults, Json, Object as JsonObject, Raw};

use crate::inputs::{KubernetesInputs, is_called};
use crate::object::{Identity, pointer};

/// All faults of inputs, perhaps with unknowns, that show without a cluster.
pub(crate) fn validate(inputs: &Raw<KubernetesInputs>) -> Result<(), Failure> {
    let mut faults = Faults::default();
    if faults.take(inputs.known())?.is_none() {
        return faults.into_result();
    }
    let text = |place: &str| inputs.get(place).and_then(Json::as_str);
    if let Some(server) = text("/connection/server") {
        let rest = server.strip_prefix("https://").or_else(|| server.strip_prefix("http://"));
        let bad = rest.is_none_or(|rest| rest.starts_with('/') || rest.is_empty());
        if bad || server.ends_with('/') || server.contains(['?', '#', '@', ' ']) {
            faults.add(
                "/connection/server",
                "has to be the API server's URL, such as `https://k8s.internal:6443`, without user, query and `/` at \
                 its end",
            );
        }
    }
    for (place, what) in [("/values/namespace", "a namespace"), ("/values/field_manager", "a field manager")]
    {
        let bad = |name: &str| name.is_empty() || name.len() > 128 || name.contains(['/', ' ', '\n']);
        if text(place).is_some_and(bad) {
            faults.add(place, format!("is not a valid name of {what}"));
        }
    }
    credentials(inputs, &mut faults);
    manifests(inputs, &mut faults);
    for part in ["outputs", "secret_outputs"] {
        let given = inputs.get(&format!("/values/{part}")).and_then(Json::as_object);
        for name in given.into_iter().flatten().map(|(name, _)| name) {
            let place = pointer(&format!("/values/{part}"), name);
            if crate::live::OUTPUTS.contains(&name.as_str()) {
                faults.add(place, "is the name of an output that every resource has: choose another name");
            }
        }
    }
    faults.into_result()
}

fn credentials(inputs: &Raw<KubernetesInputs>, faults: &mut Faults) {
    let has = |name: &str| inputs.is_given(&format!("/connection/{name}"));
    if has("token") && (has("username") || has("password")) {
        faults.add(
            "/connection/token",
            "is given together with `username`: give a token, or a user with a password",
        );
    }
    if has("username") != has("password") {
        faults.add("/connection/username", "has to be given together with `password`");
    }
    for name in ["token", "username", "password"] {
        let place = format!("/connection/{name}");
        let text = inputs.get(&place).and_then(Json::as_str).unwrap_or_default();
        if text.trim() != text || text.contains(['\n', '\r', '\0']) {
            faults.add(
                place,
                "has leading or trailing spaces or a line break, perhaps from the file that it was read from",
            );
        }
    }
}

fn manifests(inputs: &Raw<KubernetesInputs>, faults: &mut Faults) {
    match (inputs.is_given("/values/manifest"), inputs.is_given("/values/manifests")) {
        (true, true) => {
            faults.add("/values/manifests", "is given together with `values.manifest`: give one of them")
        }
        (false, false) => faults.add("/values/manifest", "is missing, and so is `values.manifests`"),
        _ => {}
    }
    if let Some(manifest) = inputs.get("/values/manifest").filter(|manifest| !manifest.is_null()) {
        one_manifest(inputs, "/values/manifest", manifest, faults);
    }
    let list = inputs.get("/values/manifests").and_then(Json::as_array);
    let mut seen: Vec<Identity> = Vec::new();
    for (index, manifest) in list.into_iter().flatten().enumerate() {
        let place = format!("/values/manifests/{index}");
        one_manifest(inputs, &place, manifest, faults);
        let Some(identity) = manifest.as_object().and_then(Identity::of) else { continue };
        if seen.contains(&identity) {
            faults.add(format!("{place}/metadata/name"), format!("`{identity}` is in the list twice"));
        }
        seen.push(identity);
    }
    if list.is_some_and(Vec::is_empty) && !inputs.is_unknown("/values/manifests") {
        faults.add("/values/manifests", "is empty: without an object there is no resource");
    }
    if inputs.is_given("/secrets/manifest") && !inputs.is_given("/values/manifest") {
        faults.add(
            "/secrets/manifest",
            "belongs to `values.manifest`; for a list there is `secrets.manifests`",
        );
    }
    let parts = inputs.get("/secrets/manifests").and_then(Json::as_object);
    for (name, part) in parts.into_iter().flatten() {
        let place = pointer("/secrets/manifests", name);
        let known = list.into_iter().flatten().filter_map(Json::as_object);
        if !part.is_object() {
            faults.add(place, "has to be a part of a manifest");
        } else if !known.into_iter().any(|manifest| is_called(manifest, name))
            && !inputs.is_unknown("/values/manifests")
        {
            faults.add(place, "matches no manifest: write `KIND/NAME` as in `values.manifests`");
        }
    }
}

fn one_manifest(inputs: &Raw<KubernetesInputs>, place: &str, manifest: &Json, faults: &mut Faults) {
    if inputs.unknown.iter().any(|unknown| unknown == place) {
        return;
    }
    let mut text = |path: &str, what: &str| {
        let at = format!("{place}{path}");
        match manifest.pointer(path) {
            Some(Json::String(text)) if !text.is_empty() => Some(text.as_str()),
            _ if inputs.is_unknown(&at) => None,
            _ => {
                faults.add(at, what);
                None
            }
        }
    };
    let version = text("/apiVersion", "is missing; it is a text such as `apps/v1`");
    let kind = text("/kind", "is missing; it is a text such as `Deployment`");
    let name = text("/metadata/name", "is missing; a name that the cluster generates cannot be found again");
    if version.is_some_and(|version| version.split('/').count() > 2 || version.contains([' ', '?', '#', '%']))
    {
        faults.add(format!("{place}/apiVersion"), "is not an API version such as `v1` or `apps/v1`");
    }
    if kind == Some("List") {
        faults.add(format!("{place}/kind"), "is a list: give its items in `values.manifests`");
    }
    let names = [("/metadata/name", name), ("/metadata/namespace", manifest_name(manifest))];
    for (path, name) in names {
        let bad = |name: &str| {
            name.is_empty()
                || name.len() > 253
                || name.contains(['/', '%', ' ', '@', ','])
                || name.starts_with("..")
        };
        if name.is_some_and(|name| bad(name) || name == ".") {
            faults.add(format!("{place}{path}"), "is not a valid name of an object");
        }
    }
    for (part, mark) in [("labels", crate::object::MARK), ("annotations", crate::object::LIFE)] {
        let mark = pointer(&format!("/metadata/{part}"), mark);
        if manifest.pointer(&mark).is_some() {
            faults.add(format!("{place}{mark}"), "is set by Purlin: leave it out");
        }
    }
    for path in ["/status", "/metadata/uid", "/metadata/resourceVersion", "/metadata/managedFields"] {
        if manifest.pointer(path).is_some() {
            faults.add(format!("{place}{path}"), "is written by the cluster: leave it out");
        }
    }
}

fn manifest_name(manifest: &Json) -> Option<&str> {
    manifest.pointer("/metadata/namespace").and_then(Json::as_str)
}

/// The places of the TTLs after which the cluster deletes jobs by itself.
pub(crate) fn fleeting(inputs: &Raw<KubernetesInputs>) -> Vec<String> {
    let single = inputs.get("/values/manifest").map(|manifest| ("/values/manifest".to_owned(), manifest));
    let list = inputs.get("/values/manifests").and_then(Json::as_array).into_iter().flatten().enumerate();
    let list = list.map(|(index, manifest)| (format!("/values/manifests/{index}"), manifest));
    let place = "/spec/ttlSecondsAfterFinished";
    let jobs = single.into_iter().chain(list).filter(|(_, manifest)| manifest["kind"] == "Job");
    jobs.filter(|(_, job)| job.pointer(place).is_some()).map(|(at, _)| format!("{at}{place}")).collect()
}

/// Inputs without the unused way of giving manifests. `null` within a manifest stays.
pub(crate) fn normalise(inputs: &mut Raw<KubernetesInputs>) {
    let unused: Vec<&str> = ["manifest", "manifests"]
        .into_iter()
        .filter(|name| !inputs.is_unknown(&format!("/values/{name}")))
        .filter(|name| inputs.get(&format!("/values/{name}")).is_some_and(Json::is_null))
        .collect();
    if let Some(values) = inputs.document_mut().pointer_mut("/values").and_then(Json::as_object_mut) {
        values.retain(|name, _| !unused.contains(&name.as_str()));
    }
}

/// Adds labels to each manifest that does not have them; returns those that Kubernetes does not accept.
pub(crate) fn label(inputs: &mut Raw<KubernetesInputs>, labels: &[(String, String)]) -> Vec<String> {
    let (fit, unfit): (Vec<_>, Vec<_>) = labels.iter().partition(|(name, value)| is_label(name, value));
    let unknown = inputs.unknown.clone();
    let count = inputs.get("/values/manifests").and_then(Json::as_array).map_or(0, Vec::len);
    let places = (0..count).map(|index| format!("/values/manifests/{index}"));
    for place in places.chain(["/values/manifest".to_owned()]) {
        let metadata = format!("{place}/metadata");
        let is_known = |inner: &str| !unknown.iter().any(|unknown| *unknown == format!("{metadata}{inner}"));
        let found = inputs.document_mut().pointer_mut(&metadata).and_then(Json::as_object_mut);
        let Some(found) = found.filter(|_| !fit.is_empty() && is_known("/labels")) else { continue };
        let own = found.entry("labels").or_insert(Json::Null);
        if own.is_null() {
            *own = Json::Object(JsonObject::new());
        }
        let Some(own) = own.as_object_mut() else { continue };
        for (name, value) in &fit {
            own.entry(name.as_str()).or_insert_with(|| value.as_str().into());
        }
    }
    unfit.into_iter().map(|(name, _)| name.clone()).collect()
}

/// Whether Kubernetes accepts a label. The mark is Purlin's own.
fn is_label(name: &str, value: &str) -> bool {
    let is_plain = |text: &str| {
        let (first, last) = (text.bytes().next(), text.bytes().last());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let ends = [first, last].into_iter().flatten().all(|byte| byte.is_ascii_alphanumeric());
        text.len() <= 63 && text.bytes().all(plain) && ends
    };
    let (prefix, short) = name.split_once('/').unwrap_or(("none", name));
    let is_domain = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        !text.is_empty() && text.len() <= 253 && text.bytes().all(plain)
    };
    name != crate::object::MARK
        && !short.is_empty()
        && is_plain(short)
        && is_domain(prefix)
        && is_plain(value)
}
