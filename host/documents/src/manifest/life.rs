//! The lifecycle settings of a manifest: `deletionPolicy`, `managementPolicies` and annotations
//! (SPEC §7, §9).

use std::sync::Arc;
use std::time::Duration;

use purlin_expression::did_you_mean;
use purlin_model::{Diagnostic, InputPath, LifecycleOptions, Location, Severity};

use super::depends;
use super::head::{Body, Head, OWN};
use crate::near::slip;
use crate::quantity;
use crate::reader::Reader;
use crate::yaml::{Entry, NodeKind, Span};

const PAUSED: &str = "crossplane.io/paused";
const OWN_PAUSED: &str = "purlin.dev/paused";
const PROTECT: &str = "purlin.dev/protect";
const EXTERNAL_NAME: &str = "crossplane.io/external-name";
const ANNOTATIONS: [&str; 9] = [
    depends::ANNOTATION,
    PAUSED,
    OWN_PAUSED,
    PROTECT,
    EXTERNAL_NAME,
    POLL_INTERVAL[0],
    POLL_INTERVAL[1],
    REQUESTED[0],
    REQUESTED[1],
];

const POLL_INTERVAL: [&str; 2] = ["crossplane.io/poll-interval", "purlin.dev/poll-interval"];
const REQUESTED: [&str; 2] = ["crossplane.io/reconcile-requested-at", "purlin.dev/reconcile-requested-at"];

/// Fields beside `forProvider` that have no counterpart.
const NO_WORD: [(&str, &str); 3] = [
    (
        "initProvider",
        "write its values into `forProvider`, and add those that may differ to `lifecycle.ignore_changes` of a Deployment",
    ),
    (
        "publishConnectionDetailsTo",
        "Purlin keeps secret outputs in its state; other resources read them from there",
    ),
    (
        "writeConnectionSecretToRef",
        "Purlin keeps secret outputs in its state; other resources read them from there",
    ),
];

/// Reads the settings; `None` if the manifest has none.
pub(super) fn read(reader: &mut Reader<'_>, body: &Body<'_, '_>, head: &Head) -> Option<LifecycleOptions> {
    let mut options = LifecycleOptions::default();
    let notes = annotations(reader, body);
    options.protect = notes.protect;
    options.paused = notes.paused;
    options.poll_interval = notes.poll_interval;
    options.reconcile_requested = notes.requested;
    for (name, help) in NO_WORD {
        if let Some(entry) = body.beside(name) {
            warn(reader, &entry.key_span, format!("`{name}` has no effect in Purlin"), help);
        }
    }
    match &body.beside {
        Some(_) => policies(reader, body, head, notes.external_name, &mut options),
        None => {
            without_provider(reader, body);
            if let Some((_, place)) = notes.external_name {
                external_name_unused(reader, &place);
            }
        }
    }
    (options != LifecycleOptions::default()).then_some(options)
}

fn warn(reader: &mut Reader<'_>, span: &Span, message: String, help: &str) {
    let fault = reader.about(span, "no-effect", message).help(help);
    reader.report(Diagnostic { severity: Severity::Warning, ..fault });
}

#[derive(Default)]
struct Annotations {
    protect: Option<bool>,
    paused: Option<bool>,
    external_name: Option<(Arc<str>, Span)>,
    poll_interval: Option<Duration>,
    requested: Option<Arc<str>>,
}

fn annotations(reader: &mut Reader<'_>, body: &Body<'_, '_>) -> Annotations {
    let mut found = Annotations::default();
    for entry in body.annotations {
        match &*entry.key {
            PAUSED | OWN_PAUSED => {
                // If there are two, the one that pauses is used.
                let paused = flag(reader, entry);
                found.paused =
                    paused.map_or(found.paused, |paused| Some(paused || found.paused == Some(true)));
            }
            PROTECT => found.protect = flag(reader, entry),
            EXTERNAL_NAME => {
                found.external_name = reader
                    .text(&entry.value, &format!("`{EXTERNAL_NAME}`"))
                    .map(|text| (text.into(), entry.value.span));
            }
            key if POLL_INTERVAL.contains(&key) => found.poll_interval = poll_interval(reader, entry),
            key if REQUESTED.contains(&key) => {
                found.requested = reader.text(&entry.value, &format!("`{key}`")).map(Into::into);
            }
            depends::ANNOTATION => {}
            key => {
                if key.starts_with(OWN) {
                    let message = format!("there is no annotation `{key}`");
                    let fault = reader.about(&entry.key_span, "unknown-field", message);
                    reader.report(fault.help(did_you_mean(
                        key,
                        "ones",
                        [OWN_PAUSED, PROTECT, POLL_INTERVAL[1], REQUESTED[1], depends::ANNOTATION],
                    )));
                } else if let Some(near) = slip(key, ANNOTATIONS) {
                    let message = format!("the annotation `{key}` has no effect");
                    warn(reader, &entry.key_span, message, &format!("did you mean `{near}`?"));
                }
            }
        }
    }
    found
}

/// How often to read a resource. Elsewhere a wrong value is ignored, so that it is a warning here.
fn poll_interval(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Duration> {
    let interval = entry.value.as_str().and_then(quantity::duration);
    if interval.is_none() {
        let message = format!("`{}` is not a duration", entry.key);
        let help = "write a number and a unit, such as \"1m\"; without it, the workspace's interval applies";
        warn(reader, &entry.value.span, message, help);
    }
    interval
}

/// An annotation that is on or off. Kubernetes takes strings only.
fn flag(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<bool> {
    match &entry.value.kind {
        NodeKind::Bool(value) => return Some(*value),
        NodeKind::String(text, _) if text == "true" => return Some(true),
        NodeKind::String(text, _) if text == "false" => return Some(false),
        _ => {}
    }
    let message = format!("`{}` takes \"true\" or \"false\"", entry.key);
    reader.wrong_value(&entry.value.span, message, "write \"true\", or remove the annotation");
    None
}

/// The allowed actions on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Actions {
    create: bool,
    update: bool,
    delete: bool,
}

const ALL: Actions = Actions { create: true, update: true, delete: true };
const ACTIONS: [&str; 6] = ["*", "Observe", "Create", "Update", "LateInitialize", "Delete"];

fn policies(
    reader: &mut Reader<'_>,
    body: &Body<'_, '_>,
    head: &Head,
    external_name: Option<(Arc<str>, Span)>,
    options: &mut LifecycleOptions,
) {
    let orphan = body.beside("deletionPolicy").and_then(|entry| deletion_policy(reader, entry));
    let management = body.beside("managementPolicies");
    let chosen = management.and_then(|entry| management_policies(reader, entry));
    let place = |reader: &Reader<'_>| management.map(|entry| reader.at(&entry.key_span));
    let actions = match chosen {
        Some(Chosen::Paused) => {
            options.paused = Some(true);
            if let Some((_, span)) = external_name {
                external_name_unused(reader, &span);
            }
            return;
        }
        Some(Chosen::Only(actions)) => {
            // The explicit setting overrides the older field.
            if let (Some((true, span)), true) = (orphan, actions.delete) {
                let message =
                    "`deletionPolicy: Orphan` has no effect beside `managementPolicies` with `Delete`";
                warn(reader, &span, message.to_owned(), "leave `Delete` out of `managementPolicies`");
            }
            actions
        }
        Some(Chosen::All) | None => Actions { delete: !matches!(orphan, Some((true, _))), ..ALL },
    };
    // `Delete` is the default, and does not override a definition that retains.
    if !actions.delete {
        options.retain = Some(true);
    }
    if !actions.update && (actions.create || actions.delete) {
        options.ignore_changes = everything(&place(reader).unwrap_or_default());
    }
    if actions.create {
        if let Some((_, span)) = external_name {
            external_name_unused(reader, &span);
        }
        return;
    }
    let (id, location) = match external_name {
        Some((id, span)) => (id, Some(reader.at(&span))),
        None => (head.name.clone(), place(reader)),
    };
    options.id_location = location.or_else(|| Some(head.location.clone()));
    match actions.update || actions.delete {
        true => options.import = Some(id),
        false => {
            options.observe = Some(id);
            // A resource that is only read is never deleted.
            options.retain = None;
        }
    }
}

fn deletion_policy(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<(bool, Span)> {
    if entry.value.is_null() {
        return None;
    }
    let text = reader.string(&entry.value, "`deletionPolicy`")?;
    if !["Delete", "Orphan"].contains(&text) {
        let message = format!("`deletionPolicy` has no value `{text}`");
        reader.wrong_value(&entry.value.span, message, did_you_mean(text, "values", ["Delete", "Orphan"]));
        return None;
    }
    Some((text == "Orphan", entry.key_span))
}

/// The content of `managementPolicies`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen {
    /// `["*"]`
    All,
    /// `[]`
    Paused,
    Only(Actions),
}

fn management_policies(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<Chosen> {
    if entry.value.is_null() {
        return None;
    }
    let before = reader.faults.len();
    let words = reader.strings(&entry.value, "`managementPolicies`")?;
    for (word, span) in &words {
        if !ACTIONS.contains(word) {
            let message = format!("`managementPolicies` has no value `{word}`");
            reader.wrong_value(span, message, did_you_mean(word, "values", ACTIONS));
        }
    }
    if reader.faults.len() > before {
        return None;
    }
    let has = |name: &str| words.iter().any(|(word, _)| *word == name);
    if words.is_empty() {
        return Some(Chosen::Paused);
    }
    if words.iter().all(|(word, _)| *word == "*") {
        return Some(Chosen::All);
    }
    let alone = words.iter().all(|(word, _)| *word == "Delete");
    if has("*") || !(has("Observe") || alone) {
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!("`managementPolicies: [{}]` is not a supported combination", list.join(", "));
        let help = match has("*") {
            true => "write `[\"*\"]` alone, or each action by name",
            false => "add `Observe`: a resource that is not read cannot be managed",
        };
        reader.wrong_value(&entry.key_span, message, help);
        return None;
    }
    let actions = Actions { create: has("Create"), update: has("Update"), delete: has("Delete") };
    Some(Chosen::Only(actions))
}

/// Paths to all inputs.
fn everything(place: &Location) -> Vec<InputPath> {
    let path = |root: &str| InputPath {
        text: root.into(),
        pointer: format!("/{root}").into(),
        location: place.clone(),
    };
    InputPath::ROOTS.into_iter().map(path).collect()
}

/// Warns about the external name of an object to be created: its name comes from the inputs.
fn external_name_unused(reader: &mut Reader<'_>, span: &Span) {
    let message = format!("`{EXTERNAL_NAME}` has no effect on a resource that may be created");
    let help = "to adopt an existing object, write `import` into `lifecycle` of a Deployment; to name a new one, write the name into the params";
    warn(reader, span, message, help);
}

/// Settings in a `spec` without `forProvider` are ordinary params.
fn without_provider(reader: &mut Reader<'_>, body: &Body<'_, '_>) {
    for entry in &body.params {
        let meant = match (&*entry.key, &entry.value.kind) {
            ("deletionPolicy", NodeKind::String(text, _)) => text == "Orphan",
            ("managementPolicies", NodeKind::List(items)) => {
                items.iter().all(|item| item.as_str().is_some_and(|word| ACTIONS.contains(&word)))
            }
            _ => false,
        };
        if meant {
            let message = format!("`{}` is one of the params, as `spec` has no `forProvider`", entry.key);
            let help = "move the params into `forProvider`, or write `lifecycle` in a Deployment";
            warn(reader, &entry.key_span, message, help);
        }
    }
}
