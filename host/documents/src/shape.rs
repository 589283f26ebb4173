//! Recognises a document apart from its head, so that a lost head is an error and not somebody
//! else's file. Strict: documents of others must not look like ours.

use crate::declare::Form;
use crate::definition::{Added, Condition};
use crate::deployment_set::Module;
use crate::request::is_field;
use crate::yaml::{Node, NodeKind};

/// The kind of document that a node looks like, and its head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// With its article.
    pub(crate) name: &'static str,
    version: &'static str,
    /// None if the version says it all.
    kind: Option<&'static str>,
}

impl Shape {
    const fn new(name: &'static str, version: &'static str, kind: Option<&'static str>) -> Self {
        Self { name, version, kind }
    }

    /// The fields of the head that a document lacks, as they are written.
    pub(crate) fn head(&self, root: &Node<'_>) -> String {
        let right = |name: &str, wanted: &str| root.get(name).and_then(Node::as_str) == Some(wanted);
        let version = format!("`apiVersion: {}`", self.version);
        match self.kind.filter(|kind| !right("kind", kind)) {
            Some(kind) => format!("{version} and `kind: {kind}`"),
            None => version,
        }
    }
}

const SCORE: Shape = Shape::new("a Score file", "score.dev/v1b1", None);
const DEFINITION: Shape = Shape::new("a Definition", "purlin.dev/v1", Some("Definition"));
const ENTITY: Shape = Shape::new("a Definition", "entity.humanitec.io/v1b1", Some("Definition"));
const CORE: Shape = Shape::new("a Definition", "core.api.humanitec.io/v1", Some("Definition"));
const DEPLOYMENT: Shape = Shape::new("a Deployment", "purlin.dev/v1", Some("Deployment"));
const RESOURCE_TYPE: Shape = Shape::new("a ResourceType", "purlin.dev/v1", Some("ResourceType"));
const WORKSPACE: Shape = Shape::new("a Workspace", "purlin.dev/v1", Some("Workspace"));

/// The kind of a document without a known head.
pub(crate) fn of(root: &Node<'_>) -> Option<Shape> {
    let has = |node: &Node<'_>, name: &str| node.get(name).is_some();
    let text = |node: &Node<'_>, name: &str| node.get(name).is_some_and(|node| node.as_str().is_some());
    let body = |name: &str| root.get(name).filter(|body| body.entries().is_some());
    if let Some(containers) = body("containers").and_then(Node::entries) {
        let container = |node: &Node<'_>| text(node, "image");
        let known = ["metadata", "resources", "service"].iter().any(|name| has(root, name));
        if known && !containers.is_empty() && containers.iter().any(|entry| container(&entry.value)) {
            return Some(SCORE);
        }
    }
    let kind = root.get("kind").and_then(Node::as_str).unwrap_or_default();
    for (name, driver, shape) in
        [("spec", "driver", DEFINITION), ("entity", "driver_type", ENTITY), ("object", "driver_type", CORE)]
    {
        let Some(body) = body(name) else { continue };
        let rest = ["criteria", "inputs", "driver_inputs", "provision"].iter().any(|name| has(body, name));
        if text(body, driver) && (has(body, "type") || rest) || (has(body, "type") && has(body, "criteria")) {
            return Some(shape);
        }
    }
    match kind {
        "Definition" if has(root, "entity") => return Some(ENTITY),
        "Definition" if has(root, "object") => return Some(CORE),
        "Definition" if has(root, "spec") => return Some(DEFINITION),
        "ResourceType" => return Some(RESOURCE_TYPE),
        "Workspace" if has(root, "spec") => return Some(WORKSPACE),
        _ => {}
    }
    let spec = body("spec")?;
    let parts = ["app", "env", "org", "namespace", "values"].iter().filter(|name| has(spec, name)).count();
    let workloads = spec.get("workloads").is_some_and(|node| matches!(node.kind, NodeKind::List(_)));
    let shared = spec.get("shared").is_some_and(is_requests);
    if (kind == "Deployment" && !has(root, "apiVersion")) || workloads || shared || parts >= 2 {
        return Some(DEPLOYMENT);
    }
    let grants = |node: &Node<'_>| ["grants", "limits", "source"].iter().any(|name| has(node, name));
    let drivers = spec.get("drivers").and_then(Node::entries).unwrap_or_default();
    if drivers.iter().any(|entry| entry.key.contains('/') && grants(&entry.value)) {
        return Some(WORKSPACE);
    }
    None
}

/// The shape of a manifest whose kind is one of ours and whose group is not: others have kinds with
/// these names, too, and bodies of another form.
pub(crate) fn under_another_name(root: &Node<'_>) -> Option<Shape> {
    let kind = root.get("kind").and_then(Node::as_str)?;
    let spec = root.get("spec").filter(|spec| spec.get("forProvider").is_none());
    let found = of(root)?;
    let ours = match kind {
        "Definition" => spec.is_some_and(|spec| spec.get("type").is_some() && spec.get("driver").is_some()),
        "Deployment" => found == DEPLOYMENT,
        "ResourceType" => spec.is_some_and(|spec| {
            let schema = |name| spec.get(name).is_some_and(|node| node.entries().is_some());
            spec.get("type").is_some() && (schema("params") || schema("outputs"))
        }),
        "Workspace" => spec.is_some_and(|spec| {
            let drivers = spec.get("drivers").and_then(Node::entries).unwrap_or_default();
            drivers.iter().any(|entry| entry.key.contains('/'))
        }),
        _ => false,
    };
    ours.then_some(found)
}

/// Whether something has the form of a request for a resource: a map with a `type`.
pub(crate) fn is_request(node: &Node<'_>) -> bool {
    let entries = node.entries().unwrap_or_default();
    node.get("type").is_some_and(|kind| kind.as_str().is_some())
        && entries.iter().all(|entry| is_field(&entry.key))
}

/// Whether something has the form of requests for resources.
pub(crate) fn is_requests(node: &Node<'_>) -> bool {
    let entries = node.entries().unwrap_or_default();
    !entries.is_empty() && entries.iter().all(|entry| is_request(&entry.value))
}

/// Whether something has the form of a module of a Deployment Set.
pub(crate) fn is_module(node: &Node<'_>) -> bool {
    let entries = node.entries().unwrap_or_default();
    !entries.is_empty() && entries.iter().all(|entry| Module::has(&entry.key))
}

/// Whether something has the form of the modules of a Deployment Set.
pub(crate) fn is_modules(node: &Node<'_>) -> bool {
    let entries = node.entries().unwrap_or_default();
    !entries.is_empty() && entries.iter().all(|entry| is_module(&entry.value))
}

/// Whether something has the form of the criteria of a definition.
pub(crate) fn is_criteria(node: &Node<'_>) -> bool {
    let NodeKind::List(items) = &node.kind else { return false };
    let known = |node: &Node<'_>| {
        node.entries().is_some_and(|entries| entries.iter().all(|entry| Condition::has(&entry.key)))
    };
    !items.is_empty() && items.iter().all(known)
}

/// Whether something has the form of the resources that a definition co-provisions.
pub(crate) fn is_provision(node: &Node<'_>) -> bool {
    let entries = node.entries().unwrap_or_default();
    let known = |node: &Node<'_>| {
        node.entries().is_some_and(|entries| entries.iter().all(|entry| Added::has(&entry.key)))
    };
    !entries.is_empty() && entries.iter().all(|entry| known(&entry.value))
}
