//! Which changes of inputs replace the resource.

use purlin_sdk::{Impact, ImpactRequest, Json};

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
        let mut places = vec!["/values/manifest/kind", "/values/manifest/metadata/name"];
        let places_of_it = ["/values/manifest/metadata/namespace", "/values/namespace"];
        if request.after.get(places_of_it[0]).is_some() || request.before.get(places_of_it[0]).is_some() {
            places.push(places_of_it[0]);
        } else {
            places.push(places_of_it[1]);
        }
        let group = |document: &Json| {
            let version = document.pointer("/values/manifest/apiVersion").and_then(Json::as_str);
            version.map(|version| version.split_once('/').map_or("", |(group, _)| group).to_owned())
        };
        let mut moved: Vec<String> =
            places.into_iter().filter(|place| request.changes(place)).map(str::to_owned).collect();
        if group(request.before.document()) != group(request.after.document()) {
            moved.push("/values/manifest/apiVersion".to_owned());
        }
        if !moved.is_empty() {
            impact.replaces = moved;
            return impact;
        }
        impact.stable_outputs = ["kind", "name", "namespace"].map(str::to_owned).to_vec();
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

/// Manifests, each with its place.
fn manifests(document: &Json) -> Vec<(String, &Json)> {
    let single = document.pointer("/values/manifest").filter(|manifest| manifest.is_object());
    let list = document.pointer("/values/manifests").and_then(Json::as_array);
    let single = single.map(|manifest| ("/values/manifest".to_owned(), manifest));
    let list = list.into_iter().flatten().enumerate();
    single.into_iter().chain(list.map(|(n, manifest)| (format!("/values/manifests/{n}"), manifest))).collect()
}
