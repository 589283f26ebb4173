//! Which changes of inputs replace the resource.

use purlin_sdk::{Impact, ImpactRequest, Json, Raw};

use crate::immutable;
use crate::inputs::KubernetesInputs;
use crate::object::Identity;

/// Another cluster means another resource; so does another object, if there is only one. A list may
/// change in place: Purlin applies new objects and prunes removed ones.
pub(crate) fn of(request: &ImpactRequest<KubernetesInputs>) -> Impact {
    let mut impact = Impact::default();
    // In different clusters, both can exist.
    if request.changes("/connection/server") {
        return impact;
    }
    let single = |document: &Json| document.pointer("/values/manifest").is_some_and(Json::is_object);
    if single(request.before.document()) && single(request.after.document()) {
        let places = ["/values/manifest/kind", "/values/manifest/metadata/name"];
        let group = |document: &Json| {
            let version = document.pointer("/values/manifest/apiVersion").and_then(Json::as_str);
            version.map(|version| version.split_once('/').map_or("", |(group, _)| group).to_owned())
        };
        let mut moved: Vec<String> =
            places.into_iter().filter(|place| request.changes(place)).map(str::to_owned).collect();
        moved.extend(other_namespace(request).map(str::to_owned));
        if group(request.before.document()) != group(request.after.document()) {
            moved.push("/values/manifest/apiVersion".to_owned());
        }
        if !moved.is_empty() {
            impact.replaces = moved;
            return impact;
        }
        impact.keep(&request.state, ["kind", "name", "namespace"]);
    }
    let before = manifests(request.before.document());
    for (place, after) in manifests(request.after.document()) {
        let Some(identity) = after.as_object().and_then(Identity::of) else { continue };
        let same =
            |before: &Json| before.as_object().and_then(Identity::of).is_some_and(|it| it.is(&identity));
        let Some((_, before)) = before.iter().find(|(_, before)| same(before)) else { continue };
        let unknown = |inner: &str| request.after.is_unknown(&format!("{place}{inner}"));
        let broken = immutable::broken(&identity, before, after, unknown);
        impact.replaces.extend(broken.into_iter().map(|inner| format!("{place}{inner}")));
        if before["immutable"] == true && place == "/values/manifest" && request.changes("/secrets/manifest")
        {
            impact.replaces.push("/secrets/manifest".to_owned());
        }
    }
    // It keeps its name, and two objects cannot share one, whatever the cause of the replacement.
    impact.delete_before_replace = true;
    impact
}

/// The input that puts a single object in another namespace. It does not matter where the same
/// namespace is written, nor to an object without a namespace.
fn other_namespace(request: &ImpactRequest<KubernetesInputs>) -> Option<&'static str> {
    let outputs = &request.state.outputs;
    if outputs.contains_key("kind") && outputs.get("namespace").is_none_or(Json::is_null) {
        return None;
    }
    let (own, of_all) = ("/values/manifest/metadata/namespace", "/values/namespace");
    let place = |inputs: &Raw<KubernetesInputs>| if inputs.is_given(own) { own } else { of_all };
    let (before, after) = (place(&request.before), place(&request.after));
    if request.after.is_unknown(after) || request.before.get(before) != request.after.get(after) {
        return Some(if request.changes(after) { after } else { before });
    }
    None
}

/// Manifests, each with its place.
fn manifests(document: &Json) -> Vec<(String, &Json)> {
    let single = document.pointer("/values/manifest").filter(|manifest| manifest.is_object());
    let list = document.pointer("/values/manifests").and_then(Json::as_array);
    let single = single.map(|manifest| ("/values/manifest".to_owned(), manifest));
    let list = list.into_iter().flatten().enumerate();
    single.into_iter().chain(list.map(|(n, manifest)| (format!("/values/manifests/{n}"), manifest))).collect()
}
