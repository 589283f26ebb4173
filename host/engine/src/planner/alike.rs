//! Deletions and creations of resources with the same driver and the same inputs: what order they need,
//! and which of them, with everything that their names contain, are perhaps one resource under a new
//! name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::Graph;
use purlin_model::Key;

use super::operations;
use crate::driver::requirement_name;
use crate::plan::{Action, DriverSet, InsteadOf, Operation, OperationKind, Step, Suggestion};
use crate::records::recorded::Recorded;

/// Two resources are alike if they have the same driver and the same digest of inputs.
type Likeness = (Arc<str>, [u8; 32]);

/// The maximum number of pairs that are ordered; further pairs are not ordered.
const MANY_ALIKE: usize = 1_000;

/// Orders deletions and creations of identical resources: each creation comes after the deletions,
/// unless that forms a cycle, because a driver could mistake one object for the other, even across
/// types. If a deletion and a creation of the same type match only each other, they are suggested
/// as a rename, with everything that has the same name.
pub(super) fn order(
    recorded: &Recorded,
    steps: &[Step],
    operations: &mut [Operation],
    graph: &Graph,
    set: &DriverSet,
) -> Vec<Suggestion> {
    let mut suggestions = parents(recorded, steps, graph);
    suggestions.extend(identical(recorded, steps, operations, graph, set));
    suggestions.extend(parts(&suggestions, recorded, steps, graph));
    suggestions.sort_unstable_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    suggestions.dedup();
    suggestions
}

/// Orders identical resources, and returns the renames among them.
fn identical(
    recorded: &Recorded,
    steps: &[Step],
    operations: &mut [Operation],
    graph: &Graph,
    set: &DriverSet,
) -> Vec<Suggestion> {
    let key_of = |operation: &Operation| steps.get(operation.step as usize).map(|step| &step.key);
    let mut groups: HashMap<Likeness, (Vec<u32>, Vec<u32>)> = HashMap::new();
    for (index, operation) in (0u32..).zip(&*operations) {
        let Some(step) = steps.get(operation.step as usize) else { continue };
        let record = match &operation.kind {
            OperationKind::Delete { id, .. } if id.superseded.is_none() && step.action == Action::Delete => {
                recorded.get(id)
            }
            _ => None,
        };
        if let Some(record) = record {
            let group =
                (Arc::clone(&record.driver.name), crate::changes::digest::of(&record.inputs, true, "", ""));
            groups.entry(group).or_default().0.push(index);
        }
    }
    let mut suggestions = Vec::new();
    if groups.is_empty() {
        return suggestions;
    }
    for (index, operation) in (0u32..).zip(&*operations) {
        let OperationKind::Create { prepared: Some(prepared), instead_of: InsteadOf::Nothing, .. } =
            &operation.kind
        else {
            continue;
        };
        let Some(node) = operation.node.and_then(|node| graph.node(node)) else { continue };
        let wanted = &node.recipe.driver;
        let driver = set.get(&requirement_name(wanted));
        let driver = driver.map_or_else(|| Arc::clone(&wanted.name), |driver| driver.known_as().into());
        if let Some((_, come)) =
            groups.get_mut(&(driver, crate::changes::digest::of(&prepared.inputs, true, "", "")))
        {
            come.push(index);
        }
    }
    let mut groups: Vec<(Vec<u32>, Vec<u32>)> =
        groups.into_values().filter(|(_, come)| !come.is_empty()).collect();
    // Maps are unordered, but a plan must be deterministic.
    groups.sort_unstable();
    let mut left = MANY_ALIKE;
    for (gone, come) in groups {
        // Each pair costs a walk through the whole plan.
        if let Some(fewer) = left.checked_sub(gone.len() * come.len()) {
            left = fewer;
            for (before, after) in gone.iter().flat_map(|gone| come.iter().map(move |come| (*gone, *come))) {
                operations::prefer(operations, before, after);
            }
        }
        let key = |index: &u32| operations.get(*index as usize).and_then(key_of);
        let (gone, come) = (gone.iter().filter_map(key), come.iter().filter_map(key));
        let mut of_type: HashMap<&str, (Vec<&Key>, Vec<&Key>)> = HashMap::new();
        gone.for_each(|key| of_type.entry(key.type_name()).or_default().0.push(key));
        come.for_each(|key| of_type.entry(key.type_name()).or_default().1.push(key));
        for (gone, come) in of_type.values() {
            if let ([from], [to]) = (gone.as_slice(), come.as_slice()) {
                suggestions.push(Suggestion { from: (*from).clone(), to: (*to).clone() });
            }
        }
    }
    suggestions
}

/// The resources that are renamed with others: those whose names contain the id of one that seems to be
/// renamed, such as the database of a workload. Most of their inputs read one another, and are unknown
/// as long as all have new names, so only types, classes and drivers are compared.
fn parts(renamed: &[Suggestion], recorded: &Recorded, steps: &[Step], graph: &Graph) -> Vec<Suggestion> {
    let known: &HashSet<&Key> = &renamed.iter().flat_map(|one| [&one.from, &one.to]).collect();
    let of = |action: Action| {
        steps.iter().filter(move |step| step.action == action && !step.left_out && !known.contains(&step.key))
    };
    if renamed.is_empty() {
        return Vec::new();
    }
    let come: HashMap<&str, &Step> = of(Action::Create).map(|step| (step.key.as_str(), step)).collect();
    let ids: BTreeMap<&str, Option<&str>> = renamed.iter().fold(BTreeMap::new(), |mut ids, one| {
        let new = ids.entry(one.from.id()).or_insert(Some(one.to.id()));
        // Nothing follows a name that became two.
        *new = new.filter(|new| *new == one.to.id());
        ids
    });
    let follows = |gone: &Step| {
        let id = gone.key.id();
        // The longest part of the id that is renamed.
        let ends = id.match_indices('.').map(|(at, _)| at).chain([id.len()]);
        let (end, new) = ends.filter_map(|end| Some((end, *ids.get(id.get(..end)?)?))).next_back()?;
        let class = gone.key.as_str().strip_suffix(id)?;
        let to = come.get(format!("{class}{}{}", new?, id.get(end..)?).as_str())?;
        let record = recorded.current(&gone.urn)?;
        let node = graph.node(graph.find(to.key.as_str())?)?;
        let is_same = record.driver.name == node.recipe.driver.name;
        is_same.then(|| Suggestion { from: gone.key.clone(), to: to.key.clone() })
    };
    of(Action::Delete).filter_map(follows).collect()
}

/// The renames of workloads and of installations. Their inputs may contain outputs of their own
/// resources, which are unknown as long as those have new names too, so these are alike if they have
/// the same driver, and if there is no other of their type that is deleted or created.
fn parents(recorded: &Recorded, steps: &[Step], graph: &Graph) -> Vec<Suggestion> {
    let is_parent = |key: &Key| match key.type_name() {
        "workload" => true,
        // The others belong to a requirement of a bundle.
        "installation" => !key.id().contains('/'),
        _ => false,
    };
    let of = |action: Action, type_name: &str| {
        let steps = steps.iter().filter(move |step| step.action == action && !step.left_out);
        let found: Vec<&Step> =
            steps.filter(|step| step.key.type_name() == type_name && is_parent(&step.key)).collect();
        found
    };
    // The resources of a workload, as it names them.
    let own = |parent: &Step| {
        let prefix = format!("{}.", parent.key.id());
        let steps = steps.iter().filter(|step| step.action == parent.action);
        let mut own: Vec<(&str, &str)> = steps
            .filter_map(|step| Some((step.key.type_name(), step.key.id().strip_prefix(&*prefix)?)))
            .collect();
        own.sort_unstable();
        own
    };
    let pair = |type_name| {
        let (gone, come) = (of(Action::Delete, type_name), of(Action::Create, type_name));
        let ([from], [to]) = (gone.as_slice(), come.as_slice()) else { return None };
        let record = recorded.current(&from.urn)?;
        let node = graph.node(graph.find(to.key.as_str())?)?;
        let is_same = record.driver.name == node.recipe.driver.name && own(from) == own(to);
        is_same.then(|| Suggestion { from: from.key.clone(), to: to.key.clone() })
    };
    ["installation", "workload"].into_iter().filter_map(pair).collect()
}
