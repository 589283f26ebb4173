//! Whether objects are ready. A call waits for that only for a moment: the driver then answers that they
//! are pending, and the host looks again.

use std::time::{Duration, Instant};

use purlin_sdk::{Failure, Json, operation};

use crate::api::Api;
use crate::discovery::ObjectLocation;
use crate::object;
use crate::ready::{self, Progress};

/// The longest wait in a call that can answer that the rest is pending.
pub(crate) const MOMENT: Duration = Duration::from_secs(5);
/// When to look again at what is pending.
pub(crate) const AGAIN: Duration = Duration::from_secs(3);
/// The first pause between two checks; later ones are longer.
const FIRST: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(3);

/// Checks each object until it works, for a moment. Keeps the last result. Returns why one does not work
/// yet.
pub(crate) fn until_ready(
    api: &Api,
    objects: Vec<(&ObjectLocation, &mut Option<Json>)>,
) -> Result<Option<String>, Failure> {
    let (begun, total) = (Instant::now(), objects.len());
    for (index, (place, live)) in objects.into_iter().enumerate() {
        let percent = u8::try_from(index * 100 / total.max(1)).ok();
        if let Some(why) = one(api, place, live, begun, percent)? {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

fn one(
    api: &Api,
    place: &ObjectLocation,
    live: &mut Option<Json>,
    begun: Instant,
    percent: Option<u8>,
) -> Result<Option<String>, Failure> {
    let what = place.identity.short();
    let (mut pause, mut reported) = (FIRST, String::new());
    loop {
        let Some(found) = live else {
            return Err(Failure::failed(format!("{what} was deleted before it became ready")));
        };
        let why = match judge(api, found) {
            Progress::Ready => return Ok(None),
            Progress::Waiting(why) => why,
            Progress::Stuck(why) => return Err(Failure::failed(stuck(api, &what, &why, found))),
        };
        if why != reported {
            operation::progress(&format!("{what}: {why}"), percent);
            reported.clone_from(&why);
        }
        if begun.elapsed() >= MOMENT || api.client.pause(pause).is_err() {
            return Ok(Some(not_ready(api, &what, &why, found)));
        }
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

/// The progress of several live objects: that of the first which is stuck, or else which is not ready.
pub(crate) fn progress<'a>(
    api: &Api,
    objects: impl Iterator<Item = (&'a ObjectLocation, &'a Json)>,
) -> Progress {
    let mut waiting = None;
    for (place, live) in objects {
        let what = place.identity.short();
        match judge(api, live) {
            Progress::Ready => {}
            Progress::Waiting(why) => waiting = waiting.or(Some((what, why, live))),
            Progress::Stuck(why) => return Progress::Stuck(stuck(api, &what, &why, live)),
        }
    }
    match waiting {
        Some((what, why, live)) => Progress::Waiting(not_ready(api, &what, &why, live)),
        None => Progress::Ready,
    }
}

/// The progress of a live object, with what the classes of volumes say about it.
fn judge(api: &Api, live: &Json) -> Progress {
    if object::is_terminating(live) {
        return Progress::Waiting(format!("it is being deleted{}", finalizers(live)));
    }
    match ready::judge(live) {
        Progress::Waiting(why) => match class_of(api, live) {
            Class::BoundLater => Progress::Ready,
            Class::Missing(message) => Progress::Waiting(format!("{why}; {message}")),
            Class::Other => Progress::Waiting(why),
        },
        other => other,
    }
}

fn not_ready(api: &Api, what: &str, why: &str, live: &Json) -> String {
    format!("{what} is not ready: {why}{}", troubles(api, live))
}

fn stuck(api: &Api, what: &str, why: &str, live: &Json) -> String {
    format!("{what} will not become ready: {why}{}", troubles(api, live))
}

/// That an object which is being deleted is still there, and why.
pub(crate) fn not_gone(what: &str, live: &Json) -> String {
    format!("{what} is not gone{}", finalizers(live))
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
fn troubles(api: &Api, live: &Json) -> String {
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
