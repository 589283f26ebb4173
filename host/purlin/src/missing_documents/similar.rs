//! Resources whose type, class or name has changed by a single letter, or that have lost their class
//! or their namespace: most likely they are still wanted under the old one. Another name is another
//! resource, and a plan suggests the rename.

use std::collections::{BTreeMap, HashMap};

use purlin_engine::{Base, Plan};
use purlin_expression::{is_slip, one_edit};
use purlin_graph::{Graph, NodeId, Origin};
use purlin_model::{Class, Diagnostic, Key};

use super::faults::accepting;
use crate::Documents;

/// The recorded resources that a graph does not have.
pub(crate) fn gone(base: &Base, graph: &Graph) -> Vec<Key> {
    let recorded = base.all_current().filter_map(|record| record.urn.key());
    recorded.filter(|key| graph.find(key.as_str()).is_none()).collect()
}

/// How many names may be gone from one place: a slip changes one, and more are a decision.
const MANY: usize = 16;

/// The shortest name that a slip is found in: shorter ones often differ in a letter on purpose.
const SHORTEST: usize = 3;

/// The faults of recorded resources that are gone from the documents while a plan creates a similar
/// one.
pub(crate) fn similar(documents: &Documents, gone: &[Key], plan: &Plan) -> Vec<Diagnostic> {
    let mut faults = of_kinds(documents, gone, plan);
    faults.extend(of_names(documents, gone, plan));
    faults
}

/// The faults of names that have changed by a letter. The name of a workload is also a part of the
/// ids of its resources, and is reported once.
fn of_names(documents: &Documents, gone: &[Key], plan: &Plan) -> Vec<Diagnostic> {
    let Some(graph) = plan.graph().filter(|_| !gone.is_empty()) else { return Vec::new() };
    // Resources that differ in one name only, by everything else.
    let mut alike: HashMap<String, Alike<'_>> = HashMap::new();
    for key in gone {
        names(key).for_each(|(rest, name)| alike.entry(rest).or_default().gone.push((key, name)));
    }
    for step in plan.steps.iter().filter(|step| step.action == purlin_engine::Action::Create) {
        for (rest, name) in names(&step.key) {
            if let Some(alike) = alike.get_mut(&rest) {
                alike.new.push((&step.key, name));
            }
        }
    }
    let mut changed: BTreeMap<(&str, &str), Renamed<'_>> = BTreeMap::new();
    for Alike { gone, new } in alike.values().filter(|alike| alike.gone.len() <= MANY) {
        for (key, then) in gone {
            let is_long = |name: &Name<'_>| name.own.len() >= SHORTEST;
            let is_slip = |now: &Name<'_>| is_long(then) && is_long(now) && is_slip(now.own, then.own);
            if let Some((now, name)) = new.iter().find(|(_, now)| is_slip(now)) {
                let renamed = || Renamed { name: then.own, pairs: Vec::new() };
                let of_name = changed.entry((then.whole, name.whole)).or_insert_with(renamed);
                of_name.pairs.push((key, now));
            }
        }
    }
    let fault = |Renamed { name, pairs }: Renamed<'_>| {
        let (key, now) = pairs.iter().min_by_key(|(key, _)| (key.id().len(), key.as_str()))?;
        if documents.accepts_key(key) {
            return None;
        }
        let message = format!("`{}` is recorded, and the documents contain `{}`", key.short(), now.short());
        let fault = Diagnostic::error("similar-name", message);
        let fault = match pairs.len() - 1 {
            0 => fault,
            1 => fault.fact("1 more recorded resource has the same name in its id"),
            more => fault.fact(format!("{more} more recorded resources have the same name in their ids")),
        };
        let workload = || documents.workload_of(now).map(|workload| workload.location.clone());
        let declared = graph.find(now.as_str()).and_then(|id| place(graph, id));
        let fault = match declared.or_else(workload) {
            Some(place) => fault.at(&place),
            None => fault,
        };
        Some(fault.help(format!(
            "did you mean `{name}`? Otherwise rename the recorded one with `purlin state rename '{0}' '{1}'`, or accept \
             that it is deleted with `{2}`",
            key.short(),
            now.short(),
            accepting(&key.short())
        )))
    };
    changed.into_values().filter_map(fault).collect()
}

/// Resources that differ in one name only.
#[derive(Default)]
struct Alike<'a> {
    gone: Vec<(&'a Key, Name<'a>)>,
    new: Vec<(&'a Key, Name<'a>)>,
}

/// A name that has changed.
struct Renamed<'a> {
    /// The name before.
    name: &'a str,
    /// The recorded resources with this name in their ids, each with the new one.
    pairs: Vec<(&'a Key, &'a Key)>,
}

/// A name in the id of a resource.
struct Name<'a> {
    own: &'a str,
    /// The id up to its end.
    whole: &'a str,
}

/// The names in the id of a resource, each with everything else of the key.
fn names(key: &Key) -> impl Iterator<Item = (String, Name<'_>)> {
    let id = key.id();
    let mut start = 0;
    id.split(['.', '/']).filter_map(move |own| {
        let (from, end) = (start, start + own.len());
        start = end + 1;
        let rest = format!("{}.{}#{}\0{}", key.type_name(), key.class(), id.get(..from)?, id.get(end..)?);
        Some((rest, Name { own, whole: id.get(..end)? }))
    })
}

/// The faults of types and classes that have changed by a letter, and of lost namespaces.
fn of_kinds(documents: &Documents, gone: &[Key], plan: &Plan) -> Vec<Diagnostic> {
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
        let message = format!("`{}` is recorded, and the documents contain `{}`", key.short(), now.short());
        let fault = Diagnostic::error("similar-type", message);
        let fault = match place(graph, *id) {
            Some(place) => fault.at(&place),
            None => fault,
        };
        Some(fault.help(format!(
            "did you mean `{}`? Otherwise accept that the recorded one is deleted with `{}`",
            key.short(),
            accepting(&key.short())
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
