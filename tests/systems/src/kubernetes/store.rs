//! The objects of the cluster, and what requests do to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use super::fields::{self, Path, Step};
use super::kinds::{self, Kind};
use super::rules;
use super::status::{Refused, not_found, refused, with_causes};

/// Which object: plural with group, namespace, name.
pub(super) type Key = (String, String, String);

/// Who owns which fields.
#[derive(Clone, Debug, PartialEq)]
struct Manager {
    name: String,
    /// `Apply` or `Update`.
    operation: &'static str,
    paths: BTreeSet<Path>,
}

/// An object that is kept.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Without managed fields.
    pub(super) value: Value,
    managers: Vec<Manager>,
    /// Its kind.
    pub(super) kind: Kind,
    /// Since when it is there.
    pub(super) born: Instant,
    /// Since when its spec is what it is.
    pub(super) changed: Instant,
}

/// Who asks, and how.
#[derive(Clone, Debug, Default)]
pub(super) struct Asking {
    /// Field manager.
    pub(super) manager: String,
    /// Takes fields of others.
    pub(super) force: bool,
    /// Keeps nothing.
    pub(super) dry: bool,
}

/// All objects.
#[derive(Debug)]
pub(super) struct Store {
    /// Them.
    pub(super) objects: BTreeMap<Key, Stored>,
    kinds: Vec<Kind>,
    version: u64,
    /// No two clusters give the same uid.
    salt: u32,
    /// How often an object was made, by name.
    pub(super) made: BTreeMap<Key, usize>,
}

impl Default for Store {
    fn default() -> Self {
        let mut store = Self {
            objects: BTreeMap::new(),
            kinds: kinds::built_in(),
            version: 100,
            salt: {
                static CLUSTERS: AtomicU32 = AtomicU32::new(1);
                CLUSTERS.fetch_add(1, Ordering::SeqCst)
            },
            made: BTreeMap::new(),
        };
        for name in ["default", "kube-system"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            if let Some(kind) = store.find("", "v1", "namespaces") {
                let asking = Asking { manager: "kube-apiserver".to_owned(), ..Asking::default() };
                store.put(&kind, "", name, namespace, &asking).expect("a namespace");
            }
        }
        store
    }
}

impl Store {
    /// A kind by where its objects are.
    pub(super) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Kind> {
        self.kinds()
            .into_iter()
            .find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    }

    /// All kinds. A custom one is there once its definition is established.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let established = |stored: &&Stored| {
            let conditions = stored.value.pointer("/status/conditions").and_then(Value::as_array);
            conditions.into_iter().flatten().any(|it| it["type"] == "Established" && it["status"] == "True")
        };
        let definitions =
            self.objects.values().filter(|stored| stored.kind.kind == "CustomResourceDefinition");
        let custom = definitions.filter(established).flat_map(|stored| Kind::defined_by(&stored.value));
        self.kinds.iter().cloned().chain(custom).collect()
    }

    /// An object as requests see it.
    pub(super) fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Result<Value, Refused> {
        let stored = self.objects.get(&key(kind, namespace, name));
        stored.map(Stored::shown).ok_or_else(|| not_found(&kind.resource(), name))
    }

    /// Server-side apply.
    pub(super) fn apply(
        &mut self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        config: &Value,
        asking: &Asking,
    ) -> Result<Value, Refused> {
        let what = format!("{namespace}/{name}; {}, Kind={}", kind.api_version(), kind.kind);
        if config.pointer("/metadata/managedFields").is_some() {
            return Err(refused(400, "BadRequest", "metadata.managedFields must be nil"));
        }
        if let Some(fault) = kind.node.fault(config) {
            return Err(refused(500, "", format!("failed to create typed patch object ({what}): {fault}")));
        }
        let key = key(kind, namespace, name);
        let old = self.objects.get(&key).cloned();
        let mut managers = old.as_ref().map(|old| old.managers.clone()).unwrap_or_default();
        let live = old.as_ref().map_or_else(|| json!({}), |old| old.value.clone());
        let wanted: BTreeSet<Path> = owned(kind, config).into_keys().collect();
        let mut merged = fields::merge(&kind.node, &live, config);
        rules::canonical(&kind.node, &mut merged);
        // Fields of others that would get another value.
        let (before, after) = (owned(kind, &live), owned(kind, &merged));
        let changes: BTreeSet<&Path> = after
            .iter()
            .filter(|(path, value)| before.get(*path) != Some(value))
            .map(|(path, _)| path)
            .collect();
        let mut causes = Vec::new();
        for manager in managers
            .iter_mut()
            .filter(|manager| manager.name != asking.manager || manager.operation != "Apply")
        {
            let contested: Vec<Path> = manager
                .paths
                .iter()
                .filter(|path| wanted.contains(*path) && changes.contains(path))
                .cloned()
                .collect();
            for path in contested {
                if asking.force {
                    manager.paths.remove(&path);
                } else {
                    let by = if manager.operation == "Apply" {
                        String::new()
                    } else {
                        format!(" using {}", kind.api_version())
                    };
                    let message = format!("conflict with \"{}\"{by}", manager.name);
                    causes.push(("FieldManagerConflict", message, fields::shown(&path)));
                }
            }
        }
        if !causes.is_empty() {
            let many = if causes.len() == 1 { "" } else { "s" };
            let all: Vec<String> = causes
                .iter()
                .map(|(_, message, field): &(_, String, String)| format!("{message}: {field}"))
                .collect();
            let message = format!("Apply failed with {} conflict{many}: {}", causes.len(), all.join("\n"));
            return Err(with_causes(refused(409, "Conflict", message), &causes));
        }
        // What this manager applied before and does not any more, and nobody else has.
        let own = managers
            .iter()
            .position(|manager| manager.name == asking.manager && manager.operation == "Apply");
        let last = own.map(|own| managers.remove(own).paths).unwrap_or_default();
        let others: BTreeSet<&Path> = managers.iter().flat_map(|manager| &manager.paths).collect();
        let mut gone: Vec<&Path> = last
            .iter()
            .filter(|path| !wanted.contains(*path) && !others.contains(path))
            .filter(|path| {
                !wanted
                    .iter()
                    .chain(others.iter().copied())
                    .any(|kept| kept.len() > path.len() && kept.starts_with(path))
            })
            .collect();
        gone.sort_by_key(|path| std::cmp::Reverse(path.len()));
        for path in gone {
            fields::remove(&kind.node, &mut merged, path);
        }
        managers.push(Manager { name: asking.manager.clone(), operation: "Apply", paths: wanted });
        managers.retain(|manager| !manager.paths.is_empty());
        self.keep(kind, namespace, name, merged, managers, asking.dry)
    }

    /// Creates or replaces an object, as clients do that know nothing of apply.
    pub(super) fn put(
        &mut self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        mut new: Value,
        asking: &Asking,
    ) -> Result<Value, Refused> {
        if let Some(fault) = kind.node.fault(&new) {
            return Err(refused(400, "BadRequest", format!("strict decoding error: {fault}")));
        }
        if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
        }
        rules::canonical(&kind.node, &mut new);
        let old = self.objects.get(&key(kind, namespace, name)).cloned();
        let live = old.as_ref().map_or_else(|| json!({}), |old| old.value.clone());
        let mut managers = old.map(|old| old.managers).unwrap_or_default();
        let (before, after) = (owned(kind, &live), owned(kind, &new));
        let changed: BTreeSet<Path> = after
            .iter()
            .filter(|(path, value)| before.get(*path) != Some(value))
            .map(|(path, _)| path.clone())
            .collect();
        for manager in &mut managers {
            manager.paths.retain(|path| after.contains_key(path) && !changed.contains(path));
        }
        if !changed.is_empty() {
            match managers
                .iter_mut()
                .find(|manager| manager.name == asking.manager && manager.operation == "Update")
            {
                Some(manager) => manager.paths.extend(changed),
                None => managers.push(Manager {
                    name: asking.manager.clone(),
                    operation: "Update",
                    paths: changed,
                }),
            }
        }
        managers.retain(|manager| !manager.paths.is_empty());
        self.keep(kind, namespace, name, new, managers, asking.dry)
    }

    fn keep(
        &mut self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        mut new: Value,
        managers: Vec<Manager>,
        dry: bool,
    ) -> Result<Value, Refused> {
        let key = key(kind, namespace, name);
        let old = self.objects.get(&key).cloned();
        if old.is_none() && kind.namespaced {
            self.admits(namespace, kind, name)?;
        }
        new["apiVersion"] = kind.api_version().into();
        new["kind"] = kind.kind.as_str().into();
        new["metadata"]["name"] = name.into();
        if kind.namespaced {
            new["metadata"]["namespace"] = namespace.into();
        }
        for name in ["uid", "creationTimestamp", "resourceVersion", "generation", "deletionTimestamp"] {
            let kept = old.as_ref().map(|old| old.value["metadata"][name].clone()).unwrap_or_default();
            match new["metadata"].as_object_mut() {
                Some(metadata) if kept.is_null() => drop(metadata.shift_remove(name)),
                _ => new["metadata"][name] = kept,
            }
        }
        self.version += 1;
        if old.is_none() {
            new["metadata"]["uid"] = format!("{:08x}-0000-4000-8000-{:012x}", self.salt, self.version).into();
            new["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
            if kind.counted {
                new["metadata"]["generation"] = 1.into();
            }
        } else if let Some(old) = &old {
            match old.value.get("status") {
                Some(status) => new["status"] = status.clone(),
                None => drop(new.as_object_mut().and_then(|members| members.shift_remove("status"))),
            }
        }
        rules::default(&kind.kind, &mut new, self.version);
        rules::canonical(&kind.node, &mut new);
        rules::validate(kind, old.as_ref().map(|old| &old.value), &new)?;
        let spec_changed = old.as_ref().is_none_or(|old| body(&old.value) != body(&new));
        if let Some(old) = &old {
            if spec_changed && kind.counted {
                new["metadata"]["generation"] =
                    (old.value["metadata"]["generation"].as_u64().unwrap_or(0) + 1).into();
            }
            let same = new == old.value && managers == old.managers;
            new["metadata"]["resourceVersion"] = old.value["metadata"]["resourceVersion"].clone();
            if !same {
                new["metadata"]["resourceVersion"] = self.version.to_string().into();
            }
        } else {
            new["metadata"]["resourceVersion"] = self.version.to_string().into();
        }
        let now = Instant::now();
        let stored = Stored {
            value: new,
            managers,
            kind: kind.clone(),
            born: old.as_ref().map_or(now, |old| old.born),
            changed: old.as_ref().filter(|_| !spec_changed).map_or(now, |old| old.changed),
        };
        let shown = stored.shown();
        if !dry {
            if old.is_none() {
                *self.made.entry(key.clone()).or_default() += 1;
            }
            let is_done =
                stored.value["metadata"].get("deletionTimestamp").is_some() && !has_finalizers(&stored.value);
            if is_done {
                self.objects.remove(&key);
            } else {
                self.objects.insert(key, stored);
            }
        }
        Ok(shown)
    }

    /// Whether a namespace takes new objects.
    fn admits(&self, namespace: &str, kind: &Kind, name: &str) -> Result<(), Refused> {
        let found = self.objects.get(&("namespaces".to_owned(), String::new(), namespace.to_owned()));
        let Some(found) = found else { return Err(not_found("namespaces", namespace)) };
        if found.value["metadata"].get("deletionTimestamp").is_none() {
            return Ok(());
        }
        let message = format!(
            "{} \"{name}\" is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
            kind.resource()
        );
        let cause = (
            "NamespaceTerminating",
            format!("namespace {namespace} is being terminated"),
            "metadata.namespace".to_owned(),
        );
        Err(with_causes(refused(403, "Forbidden", message), &[cause]))
    }

    /// Deletes an object, or has it wait for its finalizers.
    pub(super) fn delete(
        &mut self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        options: &Value,
        dry: bool,
    ) -> Result<Value, Refused> {
        let key = key(kind, namespace, name);
        let Some(stored) = self.objects.get_mut(&key) else { return Err(not_found(&kind.resource(), name)) };
        let uid = options.pointer("/preconditions/uid").and_then(Value::as_str);
        let own = stored.value["metadata"]["uid"].as_str().unwrap_or_default();
        if let Some(uid) = uid.filter(|uid| *uid != own) {
            let message =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {own}");
            return Err(refused(409, "Conflict", message));
        }
        if dry {
            return Ok(stored.shown());
        }
        self.version += 1;
        let policy = options["propagationPolicy"].as_str().unwrap_or("Background");
        if policy == "Foreground" {
            let finalizers = &mut stored.value["metadata"]["finalizers"];
            let mut all = finalizers.as_array().cloned().unwrap_or_default();
            if !all.contains(&json!("foregroundDeletion")) {
                all.push("foregroundDeletion".into());
            }
            *finalizers = all.into();
        }
        if has_finalizers(&stored.value) {
            stored.value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z".into();
            stored.value["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            stored.value["metadata"]["resourceVersion"] = self.version.to_string().into();
            if kind.kind == "Namespace" {
                stored.value["status"]["phase"] = "Terminating".into();
            }
            return Ok(stored.shown());
        }
        self.objects.remove(&key);
        Ok(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"name": name, "kind": kind.plural, "uid": uid},
        }))
    }

    /// Sets the status, which belongs to controllers and to no manager here.
    pub(super) fn set_status(&mut self, key: &Key, status: Value) {
        if let Some(stored) = self.objects.get_mut(key)
            && stored.value.get("status") != Some(&status)
        {
            self.version += 1;
            stored.value["status"] = status;
            stored.value["metadata"]["resourceVersion"] = self.version.to_string().into();
        }
    }
}

impl Stored {
    /// With its managed fields.
    pub(super) fn shown(&self) -> Value {
        let mut shown = self.value.clone();
        let managed: Vec<Value> = self
            .managers
            .iter()
            .map(|manager| {
                json!({
                    "manager": manager.name, "operation": manager.operation, "apiVersion": self.kind.api_version(),
                    "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields::to_json(manager.paths.iter()),
                })
            })
            .collect();
        if !managed.is_empty() {
            shown["metadata"]["managedFields"] = managed.into();
        }
        shown
    }
}

/// Where an object is.
pub(super) fn key(kind: &Kind, namespace: &str, name: &str) -> Key {
    (kind.resource(), namespace.to_owned(), name.to_owned())
}

/// Whether something has to happen before it goes.
pub(super) fn has_finalizers(value: &Value) -> bool {
    let some = |path: &str| value.pointer(path).and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    some("/metadata/finalizers") || (value["kind"] == "Namespace" && some("/spec/finalizers"))
}

/// All that a generation counts.
fn body(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.shift_remove("metadata");
        members.shift_remove("status");
    }
    value
}

/// The fields that somebody can own.
fn owned(kind: &Kind, value: &Value) -> fields::Fields {
    let nobodys = [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "resourceVersion",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    ];
    let mut fields = fields::flatten(&kind.node, value);
    fields.retain(|path, _| match path.as_slice() {
        [Step::Field(only)] if only == "metadata" => false,
        [Step::Field(first), ..] if ["apiVersion", "kind", "status"].contains(&first.as_str()) => false,
        [Step::Field(first), Step::Field(second), ..] if first == "metadata" => {
            !nobodys.contains(&second.as_str())
        }
        [] => false,
        _ => true,
    });
    fields
}
