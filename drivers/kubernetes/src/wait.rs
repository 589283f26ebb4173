//! Waits for objects to become ready, within the call's time.

use std::time::{Duration, Instant};

use purlin_sdk::{Failure, Json, operation};

use crate::api::Api;
use crate::discovery::ObjectLocation;
use crate::ready::{self, Progress};

/// The first pause between two checks; later ones are longer.
const FIRST: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(3);

/// Checks each object until it works. Keeps the last result.
pub(crate) fn until_ready(
    api: &Api,
    objects: Vec<(&ObjectLocation, &mut Option<Json>)>,
    patience: Duration,
) -> Result<(), Failure> {
    let (begun, total) = (Instant::now(), objects.len());
    for (index, (place, live)) in objects.into_iter().enumerate() {
        let percent = u8::try_from(index * 100 / total.max(1)).ok();
        one(api, place, live, begun, patience, percent)?;
    }
    Ok(())
}

fn one(
    api: &Api,
    place: &ObjectLocation,
    live: &mut Option<Json>,
    begun: Instant,
    patience: Duration,
    percent: Option<u8>,
) -> Result<(), Failure> {
    let what = place.identity.short();
    let (mut pause, mut reported) = (FIRST, String::new());
    loop {
        let why = match live.as_ref().map(ready::judge) {
            Some(Progress::Ready) => return Ok(()),
            Some(Progress::Waiting(why)) => match live.as_ref().map(|live| class_of(api, live)) {
                Some(Class::BoundLater) => return Ok(()),
                Some(Class::Missing(message)) => format!("{why}; {message}"),
                Some(Class::Other) | None => why,
            },
            Some(Progress::Stuck(why)) => {
                let pods = troubles(api, live.as_ref());
                return Err(Failure::failed(format!("{what} will not become ready: {why}{pods}")));
            }
            None => return Err(Failure::failed(format!("{what} was deleted before it became ready"))),
        };
        if why != reported {
            operation::progress(&format!("{what}: {why}"), percent);
            reported.clone_from(&why);
        }
        if operation::cancelled() {
            return Err(Failure::failed(format!("cancelled while waiting for {what}: {why}")));
        }
        // Keeps a moment for reading pods.
        let left = api.client.remaining().saturating_sub(Duration::from_secs(1));
        if begun.elapsed() >= patience || pause >= left {
            let hint = if begun.elapsed() >= patience {
                String::new()
            } else {
                "; the call ran out of time; raise `limits.time` of the driver".to_owned()
            };
            let pods = troubles(api, live.as_ref());
            let time = begun.elapsed().as_secs_f64();
            return Err(Failure::failed(format!("{what} is not ready after {time:.0} s: {why}{pods}{hint}")));
        }
        // The next round reports a cancellation.
        let _ = api.client.pause(pause.min(patience.saturating_sub(begun.elapsed())));
        pause = (pause * 3 / 2).min(LONGEST);
        match api.get(&place.path) {
            Ok(found) => *live = found,
            // It exists; a server that is busy for a while does not matter.
            Err(trouble) => {
                let failure = trouble.failure(&what, "");
                if !matches!(failure, Failure::RetryAfter { .. }) {
                    return Err(failure);
                }
            }
        }
    }
}

/// What the class of a claim says about waiting for the claim.
enum Class {
    /// The claim waits for the first pod that uses it, so that waiting for the claim is pointless.
    BoundLater,
    /// There is no such class.
    Missing(String),
    /// It is bound as soon as possible, is not a claim, or the driver may not read classes.
    Other,
}

/// Whether a claim waits for the first pod that uses it.
pub(crate) fn is_bound_later(api: &Api, live: &Json) -> bool {
    matches!(class_of(api, live), Class::BoundLater)
}

fn class_of(api: &Api, live: &Json) -> Class {
    let class = live.pointer("/spec/storageClassName").and_then(Json::as_str);
    let Some(class) = class.filter(|_| live["kind"] == "PersistentVolumeClaim") else { return Class::Other };
    // A volume that somebody made by hand needs no class of the cluster, and none has the name "".
    let Some(classes) = api.storage_classes().filter(|_| !class.is_empty()) else { return Class::Other };
    let name = |class: &Json| class.pointer("/metadata/name").and_then(Json::as_str).map(str::to_owned);
    match classes.iter().find(|found| name(found).as_deref() == Some(class)) {
        Some(found) if found["volumeBindingMode"] == "WaitForFirstConsumer" => Class::BoundLater,
        Some(_) => Class::Other,
        None => {
            let names: Vec<String> =
                classes.iter().filter_map(name).map(|name| format!("`{name}`")).collect();
            let those = match names.is_empty() {
                true => "the cluster has none".to_owned(),
                false => format!("the cluster has {}", names.join(", ")),
            };
            Class::Missing(format!("there is no StorageClass `{class}`: {those}"))
        }
    }
}

/// The problems of an object's pods, each once.
fn troubles(api: &Api, live: Option<&Json>) -> String {
    let Some(live) = live else { return String::new() };
    let labels = live.pointer("/spec/selector/matchLabels").and_then(Json::as_object);
    let namespace = live.pointer("/metadata/namespace").and_then(Json::as_str);
    let (Some(labels), Some(namespace)) = (labels, namespace) else { return String::new() };
    let labels = labels.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
    let selector = labels.collect::<Vec<_>>().join(",");
    let mut seen: Vec<String> = Vec::new();
    for pod in api.pods(namespace, &selector) {
        let Some(trouble) = ready::pod_trouble(&pod) else { continue };
        let name = pod.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default();
        if !seen.iter().any(|known| known.ends_with(&trouble)) && seen.len() < 3 {
            seen.push(format!("pod {name}: {trouble}"));
        }
    }
    if seen.is_empty() { String::new() } else { format!("; {}", seen.join("; ")) }
}

/// The finalizers that delay the deletion of an object, as the end of a sentence.
pub(crate) fn finalizers(live: &Json) -> String {
    let texts = |path: &str| -> Vec<String> {
        let all = live.pointer(path).and_then(Json::as_array).into_iter().flatten();
        all.filter_map(Json::as_str).map(|name| format!("`{name}`")).collect()
    };
    let mut why = String::new();
    let mut names = texts("/metadata/finalizers");
    names.extend(texts("/spec/finalizers"));
    if !names.is_empty() {
        why = format!("; it waits for its finalizers {}", names.join(", "));
    }
    let conditions = live.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
    let namespace = live["kind"] == "Namespace";
    for condition in conditions.filter(|condition| namespace && condition["status"] == "True") {
        why.push_str("; ");
        why.push_str(condition["message"].as_str().unwrap_or_default());
    }
    why
}
