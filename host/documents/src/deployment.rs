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
use serde_json::{Value, json};

use crate::declare::{Form, form};
use crate::kinds::{ContextPart, Either, List, Namespace, Object, Text, kind};
use crate::lifecycle::{self, OfResources};
use crate::reader::Reader;
use crate::request::{Requests, requests};
use crate::requirement;
use crate::score;
use crate::shape::is_requests;
use crate::template::{key, template};
use crate::workspace::Metadata;
use crate::yaml::{Entry, Node, NodeKind};

form! {
    /// The resources to deploy, and their context.
    pub(crate) struct Document {
        /// The identity of the document.
        METADATA: Metadata = "metadata", "{name: NAME}";
        /// Context, workloads and shared resources.
        SPEC: Fields = needed "spec", "{app: APP, env: dev}";
        /// Settings for replacing, deleting, adopting and renaming, by descriptor `TYPE[.CLASS]#ID`.
        LIFECYCLE: OfResources = "lifecycle", "{TYPE#ID: {protect: true}}";
    }

    const HEAD: Option<(&'static str, &'static str)> = Some(("Deployment", "Purlin Deployment"));

    fn hint(name: &str) -> Option<String> {
        Fields::has(name).then(|| "move it into `spec`".to_owned())
    }

    /// One place for lifecycle settings is enough.
    fn constrain(schema: &mut Value) {
        schema["not"] = json!({
            "required": ["lifecycle"],
            "properties": {"spec": {"required": ["lifecycle"]}},
        });
    }
}

form! {
    /// Context, workloads and shared resources.
    pub(crate) struct Fields {
        /// Organisation.
        ORG: ContextPart = "org";
        /// Application.
        APP: ContextPart = "app";
        /// Environment.
        ENV: Either<ContextPart, Environment> = "env", "{id: dev, type: development}";
        /// Namespace. Default: the id of the environment. An empty namespace is global.
        NAMESPACE: Namespace = "namespace";
        /// Values that `${values.NAME}` reads.
        VALUES: Object = "values", "{NAME: VALUE}";
        /// Workloads: Score files, or Score documents written here.
        WORKLOADS: List<WorkloadOrFile> = "workloads", "[{score: web/score.yaml}]";
        /// Resources that workloads share; the id is `shared.NAME`.
        SHARED: Requests = "shared", "{db: {type: postgres}}";
        /// Settings for replacing, deleting, adopting and renaming, by descriptor `TYPE[.CLASS]#ID`.
        LIFECYCLE: OfResources = "lifecycle", "{TYPE#ID: {protect: true}}";
        /// The bundles that it requires. An installation has the name of its requirement.
        REQUIRES: List<requirement::InDeployment> = "requires";
    }
}

form! {
    /// Environment with its type.
    pub(crate) struct Environment {
        /// Id, such as `dev`.
        ID: ContextPart = needed "id", "dev";
        /// Type, such as `development`.
        TYPE: ContextPart = "type";
    }
}

form! {
    /// A workload from a file.
    pub(crate) struct WorkloadFile {
        /// Path of a Score file, from the folder of this document.
        SCORE: Text = needed "score", "web/score.yaml";
    }
}

kind! {
    /// A workload from a file, or written here.
    pub(crate) struct WorkloadOrFile: json!({
        "type": "object",
        "if": {"required": ["score"]},
        "then": WorkloadFile::schema(),
        "else": score::Inline::schema(),
    })
}

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
    let document = Document::open(reader, root, "the Deployment")?;
    if let Some(node) = document.node(Document::METADATA)
        && let Some(metadata) = Metadata::open(reader, node, "`metadata`")
    {
        metadata.read(reader, Metadata::NAME);
    }
    let outer = document.entry(Document::LIFECYCLE);
    let fields = Fields::open(reader, document.node(Document::SPEC)?, "`spec`")?;
    let mut spec = Spec {
        org: fields.placed(reader, Fields::ORG),
        app: fields.placed(reader, Fields::APP),
        namespace: fields.placed(reader, Fields::NAMESPACE),
        ..Spec::default()
    };
    if let Some(node) = fields.node(Fields::ENV) {
        environment(reader, node, &mut spec);
    }
    if let Some(node) = fields.node(Fields::VALUES) {
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
    if let Some(node) = fields.node(Fields::WORKLOADS) {
        workloads(reader, node, &mut spec);
    }
    if let Some(node) = fields.node(Fields::SHARED) {
        spec.shared = requests(reader, node, "`shared`", Dialect::Definition);
    }
    let inner = fields.entry(Fields::LIFECYCLE);
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
    if let Some(node) = fields.node(Fields::REQUIRES) {
        spec.requires = requirement::requirements(reader, node, Dialect::Definition);
    }
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

fn environment(reader: &mut Reader<'_>, node: &Node<'_>, spec: &mut Spec) {
    if node.entries().is_none() {
        if node.as_str().is_none() {
            reader.wrong_type(node, "`env`", "a string or a map `{id, type}`");
        } else if let Some(id) = crate::names::context_part(reader, node, "`env`") {
            spec.env = Some((id, reader.at(&node.span)));
        }
        return;
    }
    if let Some(environment) = Environment::open(reader, node, "`env`") {
        spec.env = environment.placed(reader, Environment::ID);
        spec.env_type = environment.placed(reader, Environment::TYPE);
    }
}

fn workloads(reader: &mut Reader<'_>, node: &Node<'_>, spec: &mut Spec) {
    for item in reader.list(node, "`workloads`").unwrap_or_default() {
        if item.get("score").is_none() {
            spec.workloads.extend(score::read_inline(reader, item));
        } else if let Some(file) = WorkloadFile::open(reader, item, "a workload from a file") {
            let score = file.placed(reader, WorkloadFile::SCORE);
            spec.scores.extend(score.map(|(path, place)| (PathBuf::from(&*path), place)));
        }
    }
}
