//! `kind: Deployment`: what to deploy, and where (SPEC §2).
//!
//! ```yaml
//! apiVersion: purlin.dev/v1
//! kind: Deployment
//! metadata: {name: shop}                # optional
//! spec:
//!   org: acme                           # each part of the context is optional
//!   app: shop
//!   env: {id: dev, type: development}   # or only the id: `env: dev`
//!   namespace: dev
//!   values: {domain: dev.example.com}   # what `${values.domain}` reads
//!   workloads:
//!     - score: web/score.yaml           # a Score file, from this file's folder
//!     - metadata: {name: worker}        # or a Score document, written here
//!       containers: {main: {image: worker:1}}
//!   shared:
//!     db: {type: postgres}              # the id is `shared.db`
//!   requires:
//!     - {name: blog, bundle: 'acme/wordpress:v1.0.0'}
//!   lifecycle:                          # may also stand at top level
//!     postgres#shared.db: {protect: true}
//! ```
//!
//! Placeholders of `values` and `shared.*.params` are those of definitions. Several Deployments are
//! merged into one; they may not contradict each other.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use purlin_expression::Dialect;
use purlin_model::{Location, Requirement, ResourceLifecycle, ResourceRequest, Template, Workload};

use crate::lifecycle;
use crate::names::context_part;
use crate::reader::{Fields, Reader};
use crate::request::requests;
use crate::score;
use crate::shape::is_requests;
use crate::template::{key, template};
use crate::yaml::{Entry, Node, NodeKind};

/// A part of the context and its place in the document.
pub(crate) type Part = Option<(Arc<str>, Location)>;

/// The content of one Deployment.
#[derive(Debug, Default)]
pub(crate) struct Spec {
    pub(crate) org: Part,
    pub(crate) app: Part,
    pub(crate) env: Part,
    pub(crate) env_type: Part,
    pub(crate) namespace: Part,
    pub(crate) values: IndexMap<Arc<str>, (Template, Location)>,
    pub(crate) shared: Vec<ResourceRequest>,
    pub(crate) requires: Vec<Requirement>,
    pub(crate) lifecycle: Vec<ResourceLifecycle>,
    /// Inline workloads.
    pub(crate) workloads: Vec<Workload>,
    /// Score files to load, as written.
    pub(crate) scores: Vec<(PathBuf, Location)>,
}

/// Reads a Deployment.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> Option<Spec> {
    let mut top = reader.fields(root, "the Deployment")?;
    top.entry("apiVersion");
    top.entry("kind");
    if let Some(node) = top.get(reader, "metadata")
        && let Some(mut metadata) = reader.fields(node, "`metadata`")
    {
        if let Some(name) = metadata.get(reader, "name") {
            reader.text(name, "`metadata.name`");
        }
        metadata.done(reader);
    }
    let node = top.need(reader, "spec", "{app: APP, env: dev}");
    let outer = top.entry("lifecycle");
    top.done(reader);
    let mut fields = reader.fields(node?, "`spec`")?;
    let mut spec = Spec {
        org: part(reader, &mut fields, "org"),
        app: part(reader, &mut fields, "app"),
        namespace: part(reader, &mut fields, "namespace"),
        ..Spec::default()
    };
    if let Some(node) = fields.get(reader, "env") {
        environment(reader, node, &mut spec);
    }
    if let Some(node) = fields.get(reader, "values") {
        let entries = reader.map(node, "`values`").unwrap_or_default();
        reader.no_requests(entries, "values");
        for entry in entries {
            if is_section(entry) {
                reader.misplaced(entry, "values", "indent it as far as `values`");
            }
            let value = template(reader, &entry.value, Dialect::Definition);
            let name = key(reader, entry, Dialect::Definition);
            spec.values.insert(name, (value, reader.at(&entry.key_span)));
        }
    }
    if let Some(node) = fields.get(reader, "workloads") {
        workloads(reader, node, &mut spec);
    }
    if let Some(node) = fields.get(reader, "shared") {
        spec.shared = requests(reader, node, "`shared`", Dialect::Definition);
    }
    let inner = fields.entry("lifecycle");
    if let (Some(inner), Some(outer)) = (inner, outer) {
        let fault = reader
            .about(&outer.key_span, "lifecycle-twice", "`lifecycle` is given twice")
            .related(&reader.at(&inner.key_span), "also given here")
            .help("keep one of them");
        reader.report(fault);
    }
    if let Some(entry) = inner.or(outer) {
        spec.lifecycle = lifecycle::of_resources(reader, &entry.value);
    }
    if let Some(node) = fields.get(reader, "requires") {
        spec.requires = crate::requirement::requirements(reader, node, Dialect::Definition);
    }
    fields.done(reader);
    Some(spec)
}

/// Whether an entry has the name and the form of a field of `spec`, or the name and nothing else:
/// then its entries were left behind.
fn is_section(entry: &Entry<'_>) -> bool {
    let is_list = matches!(entry.value.kind, NodeKind::List(_));
    match &*entry.key {
        "workloads" | "requires" => is_list || entry.value.is_null(),
        "shared" => is_requests(&entry.value) || entry.value.is_null(),
        "lifecycle" => {
            let entries = entry.value.entries().unwrap_or_default();
            entry.value.is_null() || entries.iter().any(|entry| entry.key.contains('#'))
        }
        _ => false,
    }
}

fn part(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>, name: &'static str) -> Part {
    let node = fields.get(reader, name)?;
    let text = context_part(reader, node, &format!("`{name}`"))?;
    Some((text, reader.at(&node.span)))
}

fn environment(reader: &mut Reader<'_>, node: &Node<'_>, spec: &mut Spec) {
    if node.entries().is_none() {
        if node.as_str().is_none() {
            reader.wrong_type(node, "`env`", "a string or a map `{id, type}`");
        } else if let Some(id) = context_part(reader, node, "`env`") {
            spec.env = Some((id, reader.at(&node.span)));
        }
        return;
    }
    let Some(mut fields) = reader.fields(node, "`env`") else { return };
    if fields.need(reader, "id", "dev").is_some() {
        spec.env = part(reader, &mut fields, "id");
    }
    spec.env_type = part(reader, &mut fields, "type");
    fields.done(reader);
}

fn workloads(reader: &mut Reader<'_>, node: &Node<'_>, spec: &mut Spec) {
    let items = reader.list(node, "`workloads`").unwrap_or_default();
    for item in items {
        let Some(score) = item.get("score") else {
            spec.workloads.extend(score::read_inline(reader, item));
            continue;
        };
        if let Some(mut fields) = reader.fields(item, "a workload from a file") {
            fields.entry("score");
            fields.done(reader);
        }
        if let Some(path) = reader.text(score, "`score`") {
            spec.scores.push((path.into(), reader.at(&score.span)));
        }
    }
}
