//! Deployment Sets: `{modules: {W: {profile, spec, externals}}, shared}` (SPEC §2 [G]).

use purlin_expression::Dialect;
use purlin_model::{Map, ResourceRequest, Template, Value, Workload};
use serde_json::json;

use crate::declare::{Form, form};
use crate::kinds::{MapOf, Names as NamesOf, Object, OrNull, Text};
use crate::names;
use crate::reader::Reader;
use crate::request::{Request, ResourceName, requests};
use crate::shape::{is_modules, is_requests};
use crate::template::{Names, template};
use crate::yaml::{Entry, Node};

form! {
    /// Modules and the resources that they share.
    pub(crate) struct Document {
        /// Workloads by name.
        MODULES: MapOf<ModuleName, Module> = needed "modules", "{web: {externals: {db: {type: postgres}}}}";
        /// Resources that workloads share.
        SHARED: OrNull<MapOf<ResourceName, Request>> = "shared", "{db: {type: postgres}}";
    }

    fn hint(name: &str) -> Option<String> {
        let help = "a Deployment Set has none: write it into a Deployment beside it";
        (name == "lifecycle").then(|| help.to_owned())
    }

    fn constrain(schema: &mut serde_json::Value) {
        schema["title"] = "Deployment Set".into();
        schema["additionalProperties"] = remark();
    }
}

form! {
    /// A workload.
    pub(crate) struct Module {
        /// Profile of the workload.
        PROFILE: OrNull<Text> = "profile";
        /// The containers and their settings.
        SPEC: OrNull<Object> = "spec", "{containers: {main: {image: IMAGE}}}";
        /// Resources that only this workload uses.
        EXTERNALS: OrNull<MapOf<ResourceName, Request>> = "externals", "{db: {type: postgres}}";
    }

    fn constrain(schema: &mut serde_json::Value) {
        schema["additionalProperties"] = remark();
    }
}

/// An unknown field that holds more may be a misplaced part of the document.
fn remark() -> serde_json::Value {
    json!({"type": ["string", "number", "boolean"]})
}

/// The name of a module, which becomes part of ids.
pub(crate) struct ModuleName;

impl NamesOf for ModuleName {
    fn schema() -> serde_json::Value {
        json!({"pattern": "^[^:\\s\\p{Cc}#<>'\"`()\\[\\]{}]+$", "not": {"pattern": "\\.externals\\."}})
    }
}

/// Reads a Deployment Set: its modules and its shared resources.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> (Vec<Workload>, Vec<ResourceRequest>) {
    let Some(set) = Document::open(reader, root, "the Deployment Set") else { return Default::default() };
    let modules = set.node(Document::MODULES).and_then(|node| reader.map(node, "`modules`"));
    let shared_node = set.node(Document::SHARED);
    let shared = shared_node.map(|node| requests(reader, node, "`shared`", Dialect::DeploymentSet));
    let shared = shared.unwrap_or_default();
    let shared_entries = shared_node.and_then(Node::entries).unwrap_or_default();
    let names = Names { named: Vec::new(), shared: Some(keys(shared_entries)) };
    for request in &shared {
        check(reader, &names, request.params.as_deref());
    }
    let modules = modules.unwrap_or_default().iter();
    (modules.filter_map(|entry| module(reader, entry, &names)).collect(), shared)
}

fn keys<'n>(entries: &'n [Entry<'_>]) -> Vec<&'n str> {
    entries.iter().map(|entry| &*entry.key).collect()
}

fn check(reader: &mut Reader<'_>, names: &Names<'_>, template: Option<&Template>) {
    if let Some(template) = template {
        names.check(template, &mut reader.faults);
    }
}

fn module(reader: &mut Reader<'_>, entry: &Entry<'_>, shared: &Names<'_>) -> Option<Workload> {
    let name = names::workload(reader, &entry.key, &entry.key_span);
    let empty = entry.value.entries().is_some_and(<[_]>::is_empty);
    let module = Module::open(reader, &entry.value, &format!("the module `{}`", entry.key))?;
    let profile = module.read(reader, Module::PROFILE);
    let spec = module.node(Module::SPEC).and_then(|node| {
        for entry in reader.map(node, "`spec`")? {
            let own = ["externals", "shared", "modules"].contains(&&*entry.key);
            if own && (is_requests(&entry.value) || is_modules(&entry.value)) {
                let help = match &*entry.key {
                    "externals" => "indent it as far as `spec`",
                    _ => "it belongs at the top of the Deployment Set: check its indentation",
                };
                reader.misplaced(entry, "spec", help);
            }
        }
        Some(template(reader, node, Dialect::DeploymentSet))
    });
    let externals = module.node(Module::EXTERNALS);
    let declared = externals.and_then(Node::entries).unwrap_or_default();
    let resources = match externals {
        Some(node) => requests(reader, node, "`externals`", Dialect::DeploymentSet),
        None => Vec::new(),
    };
    // A `shared` that slipped into `modules` looks like a module without any field of one.
    if profile.is_none() && spec.is_none() && externals.is_none() && !empty {
        let message = format!("the module `{}` has none of `profile`, `spec` and `externals`", entry.key);
        let fault = reader.about(&entry.key_span, "missing-field", message);
        reader
            .report(fault.help("add what it runs or uses; fields that are not modules go next to `modules`"));
    }
    let names = Names { named: keys(declared), shared: shared.shared.clone() };
    check(reader, &names, spec.as_ref());
    for request in &resources {
        check(reader, &names, request.params.as_deref());
    }
    let name = name?;
    let metadata = Map::from_iter([("name".into(), Value::String(name.clone()))]);
    Some(Workload {
        name,
        profile,
        metadata: Template::Constant(Value::Map(metadata)),
        spec: spec.unwrap_or_default(),
        resources,
        location: reader.at(&entry.key_span),
    })
}
