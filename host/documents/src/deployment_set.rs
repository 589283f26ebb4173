//! Deployment Sets: `{modules: {W: {profile, spec, externals}}, shared}` (SPEC §2 [G]).

use purlin_expression::Dialect;
use purlin_model::{Map, ResourceRequest, Template, Value, Workload};

use crate::names;
use crate::reader::Reader;
use crate::request::requests;
use crate::shape::{is_modules, is_requests};
use crate::template::{Names, template};
use crate::yaml::{Entry, Node};

/// Reads a Deployment Set: its modules and its shared resources.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>) -> (Vec<Workload>, Vec<ResourceRequest>) {
    let Some(mut top) = reader.fields(root, "the Deployment Set") else { return Default::default() };
    let modules =
        top.get(reader, "modules").and_then(|node| reader.map(node, "`modules`")).unwrap_or_default();
    let shared_entries = root.get("shared").and_then(Node::entries).unwrap_or_default();
    let shared = match top.get(reader, "shared") {
        Some(node) => requests(reader, node, "`shared`", Dialect::DeploymentSet),
        None => Vec::new(),
    };
    top.done_with(reader, &|name| {
        let help = "a Deployment Set has none: write it into a Deployment beside it";
        (name == "lifecycle").then(|| help.to_owned())
    });
    let names = Names { named: Vec::new(), shared: Some(keys(shared_entries)) };
    for request in &shared {
        check(reader, &names, request.params.as_deref());
    }
    let modules = modules.iter().filter_map(|entry| module(reader, entry, &names)).collect();
    (modules, shared)
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
    let mut fields = reader.fields(&entry.value, &format!("the module `{}`", entry.key))?;
    let profile = fields.get(reader, "profile").and_then(|node| reader.text(node, "`profile`"));
    let spec = fields.get(reader, "spec").and_then(|node| {
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
    let externals = fields.get(reader, "externals");
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
    fields.done(reader);
    let names = Names { named: keys(declared), shared: shared.shared.clone() };
    check(reader, &names, spec.as_ref());
    for request in &resources {
        check(reader, &names, request.params.as_deref());
    }
    let name = name?;
    let metadata = Map::from_iter([("name".into(), Value::String(name.clone()))]);
    Some(Workload {
        name,
        profile: profile.map(Into::into),
        metadata: Template::Constant(Value::Map(metadata)),
        spec: spec.unwrap_or_default(),
        resources,
        location: reader.at(&entry.key_span),
    })
}
