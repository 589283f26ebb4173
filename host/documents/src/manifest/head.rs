//! The name of a manifest, and the place of its params.

use std::collections::BTreeMap;
use std::sync::Arc;

use purlin_model::{Diagnostic, Location, ManifestKind, Map, ParamsPosition, ResourceId, Severity, Value};
use serde_json::{Value as Json, json};

use crate::declare::{Form, form};
use crate::kinds::{Anything, Object, OrNull, Text, kind, matching};
use crate::lifecycle::OfResource;
use crate::near::slip;
use crate::reader::Reader;
use crate::recognise::fault_of_version;
use crate::template::constant;
use crate::yaml::{Entry, Node, NodeKind, Span};

/// The head of a manifest.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) api_version: Arc<str>,
    pub(super) kind: ManifestKind,
    pub(super) namespace: Option<Arc<str>>,
    pub(super) name: Arc<str>,
    pub(super) id: ResourceId,
    pub(super) labels: BTreeMap<Arc<str>, Arc<str>>,
    /// The place of its name.
    pub(super) location: Location,
    /// The place of its kind.
    pub(super) kind_location: Location,
}

/// Fields of `metadata` besides the name and the namespace.
const METADATA: [&str; 5] = ["annotations", "finalizers", "generateName", "labels", "ownerReferences"];

/// Fields of `metadata` that Kubernetes itself maintains: exports contain them, and nobody writes
/// them.
const MAINTAINED: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

form! {
    /// A managed resource. In some groups, and where a ResourceType says so, fields of its params that
    /// end with `Ref`, `Refs` or `Selector` refer to other manifests.
    pub(crate) struct Document {
        /// Group and version. A version alone means the core group.
        API_VERSION: Text = "apiVersion" matching "^(?!(purlin\\.dev|score\\.dev|(entity|core\\.api)\\.humanitec\\.io)/)";
        /// Kind.
        KIND: Text = "kind" matching "^[A-Za-z0-9][A-Za-z0-9_/-]*$";
        /// The identity of the document.
        METADATA: Metadata = "metadata", "{name: NAME}";
        /// The params, or a map with the params in `forProvider`.
        SPEC: Spec = "spec";
        /// What a system reported, which has no effect.
        STATUS: Anything = "status";
        /// Dependencies, where a ResourceType describes this field.
        DEPENDS_ON: Anything = "dependsOn";
    }

    /// The schema is open: without a `spec`, the params are here.
    fn constrain(schema: &mut Json) {
        schema["title"] = "Manifest of a managed resource".into();
        schema["required"] = json!(["apiVersion", "kind", "metadata"]);
        open(schema, &["status", DEPENDS_ON]);
    }
}

/// Lets a schema have any other fields, and leaves some out of it.
fn open(schema: &mut Json, others: &[&str]) {
    if let Some(fields) = schema.as_object_mut() {
        fields.shift_remove("additionalProperties");
    }
    if let Some(properties) = schema["properties"].as_object_mut() {
        others.iter().for_each(|name| drop(properties.shift_remove(*name)));
    }
}

form! {
    /// The identity of the document.
    pub(crate) struct Metadata {
        /// Name; with the namespace, the id of the resource.
        NAME: PartOfId = needed "name", "NAME";
        /// Namespace.
        NAMESPACE: OrNull<PartOfId> = "namespace";
        /// Labels for `matchLabels` of other manifests.
        LABELS: Labels = "labels", "{NAME: VALUE}";
        /// Annotations, including those of Crossplane.
        ANNOTATIONS: Annotations = "annotations", "{NAME: \"value\"}";
    }

    const OPEN: bool = true;
}

form! {
    /// A map with the params in `forProvider`.
    pub(crate) struct ManagedSpec {
        /// The params.
        FOR_PROVIDER: OrNull<Object> = "forProvider", "{NAME: VALUE}";
        /// `Orphan`: the resource is not deleted.
        DELETION_POLICY: DeletionPolicy = "deletionPolicy";
        /// Allowed actions. If empty, the resource is paused.
        MANAGEMENT_POLICIES: ManagementPolicies = "managementPolicies", "[\"*\"]";
        /// The configuration of the provider: an optional dependency.
        PROVIDER_CONFIG_REF: ProviderConfigRef = "providerConfigRef", "{name: default}";
        /// The same under an older name.
        PROVIDER_REF: Anything = "providerRef";
        /// Dependencies, where a ResourceType describes this field.
        DEPENDS_ON: Anything = "dependsOn";
        /// Values for the creation alone, which have no effect.
        INIT_PROVIDER: Anything = "initProvider";
        /// Where others publish outputs, which has no effect.
        PUBLISH: Anything = "publishConnectionDetailsTo";
        /// Where others write outputs, which has no effect.
        WRITE: Anything = "writeConnectionSecretToRef";
    }

    fn constrain(schema: &mut Json) {
        let beside = ["providerRef", DEPENDS_ON, "initProvider", "publishConnectionDetailsTo", "writeConnectionSecretToRef"];
        open(schema, &beside);
    }
}

kind! {
    /// A name or a namespace, which become parts of ids.
    pub(crate) struct PartOfId: matching("^[^\\s\\p{Cc}#<>'\"`()\\[\\]{}/]+$")
}
kind! {
    /// Labels, which may be left empty.
    pub(crate) struct Labels: json!({"type": ["object", "null"], "additionalProperties": {"type": "string"}})
}
kind! {
    /// The params, or a map with the params in `forProvider`.
    pub(crate) struct Spec: json!({
        "type": ["object", "null"],
        "if": {"required": ["forProvider"]},
        "then": {"properties": ManagedSpec::schema()["properties"]},
    })
}
kind! {
    /// What happens to the object with the resource.
    pub(crate) struct DeletionPolicy: json!({"enum": ["Delete", "Orphan", null]})
}
kind! {
    /// Allowed actions.
    pub(crate) struct ManagementPolicies: json!({
        "anyOf": [
            {"type": "null"},
            {"type": "array", "items": {"const": "*"}},
            {"type": "array", "items": {"const": "Delete"}},
            {"type": "array", "contains": {"const": "Observe"}, "items": {"enum": ["Observe", "Create", "Update", "LateInitialize", "Delete"]}},
        ],
    })
}
kind! {
    /// The configuration of a provider, which may be left empty.
    pub(crate) struct ProviderConfigRef: {
        let mut schema = OrNull::<super::depends::ProviderConfig>::schema();
        open(&mut schema, &[]);
        schema
    }
}
kind! {
    /// Annotations: those of Purlin and of Crossplane, and any others.
    pub(crate) struct Annotations: {
        let flag = |about: &str| json!({"description": about, "enum": ["true", "false", true, false]});
        let text = |about: &str| json!({"description": about, "type": "string", "pattern": "\\S"});
        let about = |name: &str| OfResource::about(name);
        let depends_on = "Manifests that this one depends on: a YAML list of maps with `name` and, where needed, `kind`, `apiVersion`, `namespace`, `blocking` and `optional`.";
        json!({
            "type": ["object", "null"],
            "additionalProperties": true,
            "properties": {
                "purlin.dev/paused": flag(about("paused")),
                "purlin.dev/protect": flag(about("protect")),
                "purlin.dev/depends-on": text(depends_on),
                "crossplane.io/paused": flag("The same as `purlin.dev/paused`."),
                "crossplane.io/external-name": text("The provider id of the object to observe or adopt."),
            },
            "propertyNames": {"not": {"pattern": "^purlin\\.dev/(?!(paused|protect|depends-on|poll-interval|reconcile-requested-at)$)"}},
        })
    }
}

/// Dependencies, where a ResourceType describes this field.
pub(super) const DEPENDS_ON: &str = "dependsOn";

/// The manifests of a `kind: List`; otherwise the document itself.
pub(crate) fn items<'n, 't>(root: &'n Node<'t>) -> Vec<&'n Node<'t>> {
    let is_list = root.get("kind").and_then(Node::as_str) == Some("List");
    match root.get("items").map(|items| &items.kind) {
        Some(NodeKind::List(items)) if is_list => items.iter().flat_map(self::items).collect(),
        _ => vec![root],
    }
}

/// The name of a manifest for people: `VPC shop/net`.
pub(crate) fn name_of(root: &Node<'_>) -> Option<Arc<str>> {
    let kind = root.get("kind")?.as_str()?;
    let metadata = root.get("metadata")?;
    let name = metadata.get("name")?.as_str()?;
    Some(match metadata.get("namespace").and_then(Node::as_str) {
        Some(namespace) if !namespace.is_empty() => format!("{kind} {namespace}/{name}").into(),
        _ => format!("{kind} {name}").into(),
    })
}

/// Reads the head of a manifest.
pub(super) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Head> {
    let api_version = needed(reader, root, root, "apiVersion", "a manifest")?;
    // The items of a list are not recognised one by one.
    if let Some(fault) = root.get("apiVersion").and_then(|version| fault_of_version(reader, version)) {
        reader.report(fault);
        return None;
    }
    let kind = needed(reader, root, root, "kind", "a manifest")?;
    let metadata = root.get("metadata");
    let Some(metadata) = metadata else {
        missing(reader, root, "a manifest", "metadata");
        return None;
    };
    let entries = reader.map(metadata, "`metadata`")?;
    let known = ["name", "namespace"].into_iter().chain(METADATA).chain(MAINTAINED);
    for entry in entries {
        if known.clone().any(|name| name == &*entry.key) {
            continue;
        }
        let fault = reader.about(
            &entry.key_span,
            "unknown-field",
            format!("`metadata` has no field `{}`", entry.key),
        );
        // A misspelling would change the name of the resource, and a map or list is most likely
        // params at the wrong depth.
        let is_deep = matches!(entry.value.kind, NodeKind::Map(_) | NodeKind::List(_));
        let fault = match slip(&entry.key, known.clone()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if is_deep => fault.help("params belong under `spec`"),
            None => Diagnostic { severity: Severity::Warning, ..fault }.help("remove it"),
        };
        reader.report(fault);
    }
    let (name, name_span) = needed(reader, root, metadata, "name", "`metadata`")?;
    let namespace = match metadata.get("namespace") {
        None => None,
        Some(node) if node.is_null() => None,
        Some(node) => {
            let text = reader.text(node, "`metadata.namespace`")?;
            Some((Arc::<str>::from(text), node.span))
        }
    };
    let labels = metadata.get("labels").map(|node| strings(reader, node, "`labels`")).unwrap_or_default();
    let group = api_version.0.split_once('/').map_or("", |(group, _)| group);
    let mut fits = part(reader, &name, &name_span);
    if let Some((namespace, span)) = &namespace {
        fits &= part(reader, namespace, span);
    }
    let id = match &namespace {
        Some((namespace, _)) => format!("{namespace}/{name}"),
        None => name.to_string(),
    };
    if fits && id.starts_with("modules.") {
        let message = format!("`{id}` cannot be the name of a manifest");
        let fault = reader.about(&name_span, "bad-name", message);
        reader
            .report(fault.help("ids that begin with `modules.` are those of workloads and their resources"));
        fits = false;
    }
    let id = ResourceId::new(id).ok().filter(|_| fits)?;
    Some(Head {
        kind: ManifestKind { group: group.into(), kind: kind.0 },
        api_version: api_version.0,
        namespace: namespace.map(|(text, _)| text),
        name,
        id,
        labels,
        location: reader.at(&name_span),
        kind_location: reader.at(&kind.1),
    })
}

/// A required text.
fn needed(
    reader: &mut Reader<'_>,
    root: &Node<'_>,
    node: &Node<'_>,
    name: &'static str,
    what: &str,
) -> Option<(Arc<str>, Span)> {
    let Some(found) = node.get(name) else {
        missing(reader, if node.entries().is_some() { node } else { root }, what, name);
        return None;
    };
    let field = if what == "a manifest" { format!("`{name}`") } else { format!("`metadata.{name}`") };
    Some((reader.text(found, &field)?.into(), found.span))
}

fn missing(reader: &mut Reader<'_>, node: &Node<'_>, what: &str, name: &str) {
    let span = node.entries().and_then(|entries| entries.first()).map_or(node.span, |entry| entry.key_span);
    let fault = reader.about(&span, "missing-field", format!("{what} lacks `{name}`"));
    reader.report(fault.help("a manifest has `apiVersion`, `kind` and `metadata.name`"));
}

/// Whether a name can be a part of an id.
fn part(reader: &mut Reader<'_>, text: &str, span: &Span) -> bool {
    let fits = !text.contains('/') && ResourceId::new(text).is_ok();
    if !fits {
        let fault =
            reader.about(span, "bad-name", format!("`{text}` cannot be a name or a namespace of a manifest"));
        reader.report(
            fault.help("a name is printable, without spaces, `/`, `#`, `<`, `>`, quotes or brackets"),
        );
    }
    fits
}

/// A map of strings: labels, annotations.
pub(super) fn strings(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> BTreeMap<Arc<str>, Arc<str>> {
    if node.is_null() {
        return BTreeMap::new();
    }
    let entries = reader.map(node, what).unwrap_or_default();
    let mut found = BTreeMap::new();
    for entry in entries {
        match &entry.value.kind {
            NodeKind::String(text, _) => {
                found.insert(entry.key.clone(), Arc::from(text.as_ref()));
            }
            _ => {
                let message = format!("`{}` takes a string, not {}", entry.key, entry.value.describe());
                let fault = reader.about(&entry.value.span, "wrong-type", message);
                let written = entry.value.span.slice(reader.text).trim();
                reader.report(fault.help(match entry.value.kind {
                    NodeKind::Bool(_) | NodeKind::Number(_) => format!("put it in quotes: \"{written}\""),
                    _ => "write a string".to_owned(),
                }));
            }
        }
    }
    found
}

/// The places of the parts of a manifest.
#[derive(Debug)]
pub(super) struct Body<'n, 't> {
    /// The entries of the params.
    pub(super) params: Vec<&'n Entry<'t>>,
    /// The entries beside `spec`.
    top: Vec<&'n Entry<'t>>,
    /// The entries beside `forProvider`; none if there is no `forProvider`.
    pub(super) beside: Option<Vec<&'n Entry<'t>>>,
    pub(super) annotations: &'n [Entry<'t>],
    pub(super) under: ParamsPosition,
}

impl<'n, 't> Body<'n, 't> {
    /// A field beside `forProvider`.
    pub(super) fn beside(&self, name: &str) -> Option<&'n Entry<'t>> {
        self.beside.as_ref()?.iter().copied().find(|entry| &*entry.key == name)
    }

    /// Whether an entry is beside `forProvider` or `spec`, and therefore not among the params.
    pub(super) fn is_beside(&self, entry: &Entry<'_>) -> bool {
        let is = |other: &&Entry<'_>| std::ptr::eq(*other, entry);
        self.under != ParamsPosition::Top && (self.top.iter().any(is) || self.beside.iter().flatten().any(is))
    }

    /// Every `dependsOn` of the manifest, with its JSON Pointer; `take` removes them.
    pub(super) fn depends_on(&mut self, take: bool) -> Vec<(&'static str, &'n Entry<'t>)> {
        let params = match self.under {
            ParamsPosition::ForProvider => "/spec/forProvider/dependsOn",
            ParamsPosition::Spec => "/spec/dependsOn",
            ParamsPosition::Top => "/dependsOn",
        };
        let mut found = Vec::new();
        let lists = [(params, Some(&mut self.params)), ("/spec/dependsOn", self.beside.as_mut())];
        let top = (self.under != ParamsPosition::Top).then_some(&mut self.top);
        for (pointer, entries) in lists.into_iter().chain([("/dependsOn", top)]) {
            let Some(entries) = entries else { continue };
            found.extend(
                entries.iter().filter(|entry| &*entry.key == DEPENDS_ON).map(|entry| (pointer, *entry)),
            );
            if take {
                entries.retain(|entry| &*entry.key != DEPENDS_ON);
            }
        }
        found
    }

    /// The document without its params. Annotations for Purlin, what Kubernetes itself maintains,
    /// and empty parts of `metadata` are omitted.
    pub(super) fn around(&self) -> Map {
        let metadata = |entry: &Entry<'_>| {
            if MAINTAINED.contains(&&*entry.key) || entry.value.is_null() {
                return None;
            }
            let Value::Map(mut found) = constant(&entry.value) else { return Some(constant(&entry.value)) };
            if &*entry.key == "annotations" {
                found.retain(|name, _| !name.starts_with(OWN));
            }
            (!found.is_empty()).then_some(Value::Map(found))
        };
        let mut around = Map::new();
        for entry in &self.top {
            let value = match (&*entry.key, entry.value.entries()) {
                ("status", _) => continue,
                ("metadata", Some(entries)) => {
                    let parts = entries.iter().filter_map(|part| Some((part.key.clone(), metadata(part)?)));
                    Value::Map(parts.collect())
                }
                _ => constant(&entry.value),
            };
            around.insert(entry.key.clone(), value);
        }
        if let Some(beside) = self.beside.as_ref().filter(|beside| !beside.is_empty()) {
            let values = beside.iter().map(|entry| (entry.key.clone(), constant(&entry.value)));
            around.insert("spec".into(), Value::Map(values.collect()));
        }
        around
    }
}

/// Finds the params and the fields beside them. Reports all other fields.
pub(super) fn body<'n, 't>(reader: &mut Reader<'_>, root: &'n Node<'t>, head: &Head) -> Body<'n, 't> {
    let top = root.entries().unwrap_or_default();
    let metadata = root.get("metadata");
    let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
    let annotations = match annotations {
        Some(node) if !node.is_null() => reader.map(node, "`annotations`").unwrap_or_default(),
        _ => &[],
    };
    let mut body = Body {
        params: Vec::new(),
        top: top.iter().filter(|entry| &*entry.key != "spec").collect(),
        beside: None,
        annotations,
        under: ParamsPosition::Top,
    };
    let Some(spec) = root.get("spec") else {
        let is_head = |name: &str| Document::has(name) && name != DEPENDS_ON;
        (body.top, body.params) = top.iter().partition(|entry| is_head(&entry.key));
        return body;
    };
    // Its params are only `spec`, so that any other field here is most likely misplaced.
    Document::open(reader, root, &format!("the {}", head.kind.kind));
    body.under = ParamsPosition::Spec;
    if spec.is_null() {
        return body;
    }
    if spec.get("forProvider").is_none() {
        // As a param, it would reach the driver, and its references would be values.
        for entry in spec.entries().unwrap_or_default() {
            if slip(&entry.key, ["forProvider"]).is_some() && entry.value.entries().is_some() {
                let message = format!("`spec` has no field `{}`", entry.key);
                let fault = reader.about(&entry.key_span, "unknown-field", message);
                reader.report(fault.help("did you mean `forProvider`?"));
            }
        }
        body.params.extend(reader.map(spec, "`spec`").unwrap_or_default());
        return body;
    }
    let Some(fields) = ManagedSpec::open(reader, spec, "`spec`") else { return body };
    let Some(provider) = fields.entry(ManagedSpec::FOR_PROVIDER) else { return body };
    let beside = fields.entries.iter();
    body.beside = Some(beside.filter(|entry| &*entry.key != "forProvider").collect());
    body.under = ParamsPosition::ForProvider;
    if !provider.value.is_null() {
        let entries = reader.map(&provider.value, "`forProvider`").unwrap_or_default();
        body.params.extend(entries);
    }
    body
}

/// The prefix of annotations for Purlin.
pub(super) const OWN: &str = "purlin.dev/";
