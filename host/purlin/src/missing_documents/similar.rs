//! Resources whose type or class has changed by a single letter, or that have lost their class or
//! their namespace: most likely they are still wanted under the old one. Another name is another
//! resource, and a plan suggests the rename.

use std::collections::HashMap;

use purlin_engine::Plan;
use purlin_expression::{is_slip, one_edit};
use purlin_graph::{Graph, NodeId, Origin};
use purlin_model::{Class, Diagnostic, Key};

use super::faults::{accepting, short};
use crate::Documents;

/// The faults of recorded resources that are gone from the documents while a plan creates one with
/// the same id and a similar type or class.
pub(crate) fn similar(documents: &Documents, gone: &[Key], plan: &Plan) -> Vec<Diagnostic> {
    let Some(graph) = plan.graph().filter(|_| !gone.is_empty()) else { return Vec::new() };
    let is_new = |key: &Key| {
        plan.steps.iter().any(|step| step.key == *key && step.action == purlin_engine::Action::Create)
    };
    let mut ids: HashMap<&str, Vec<(NodeId, &Key)>> = HashMap::new();
    for key in gone {
        ids.entry(key.id()).or_default();
        if let Some(name) = without_namespace(key) {
            ids.entry(name).or_default();
        }
    }
    for node in graph.nodes() {
        if let Some(found) = ids.get_mut(node.key.id()) {
            found.push((node.id, node.key));
        }
    }
    let fault = |key: &Key| {
        let alike = |id: &str| ids.get(id)?.iter().find(|(_, now)| is_similar(key, now) && is_new(now));
        let (id, now) = alike(key.id()).or_else(|| alike(without_namespace(key)?))?;
        if documents.accepts_key(key) {
            return None;
        }
        let message = format!("`{}` is recorded, and the documents contain `{}`", short(key), short(now));
        let fault = Diagnostic::error("similar-type", message);
        let fault = match place(graph, *id) {
            Some(place) => fault.at(&place),
            None => fault,
        };
        Some(fault.help(format!(
            "did you mean `{}`? Otherwise accept that the recorded one is deleted with `{}`",
            short(key),
            accepting(&short(key))
        )))
    };
    gone.iter().filter_map(fault).collect()
}

fn is_similar(key: &Key, now: &Key) -> bool {
    // The words of a kind begin where its capitals are, so that one letter may add a `-`; and types
    // that differ in a digit are seldom meant as two.
    let letters = |name: &str| name.replace('-', "");
    let same_type = key.type_name() == now.type_name();
    match (same_type, key.class() == now.class()) {
        (false, true) => {
            key.id() == now.id() && one_edit(&letters(now.type_name()), &letters(key.type_name()))
        }
        (true, false) => {
            key.id() == now.id() && (now.class() == Class::DEFAULT || is_slip(now.class(), key.class()))
        }
        (true, true) => key.id() != now.id(),
        (false, false) => false,
    }
}

/// The name of a manifest without its namespace. The `/` in the name of an installation is not one.
fn without_namespace(key: &Key) -> Option<&str> {
    let (_, name) = key.id().split_once('/')?;
    (key.type_name() != "installation" && !name.contains('/')).then_some(name)
}

fn place(graph: &Graph, id: NodeId) -> Option<purlin_model::Location> {
    graph.origins(id).into_iter().find_map(|origin| match origin {
        Origin::Declared { location, .. }
        | Origin::Manifest { location }
        | Origin::Installed { location }
        | Origin::Required { location, .. }
        | Origin::CoProvision { location, .. }
        | Origin::Reference { location, .. } => Some(location),
        Origin::Implicit => None,
    })
}
