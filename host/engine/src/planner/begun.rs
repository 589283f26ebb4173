//! Resumes a saved plan whose run did not finish. Checks whether the current state results from the
//! state at planning and the changes of that run, and whether the remaining work is part of the
//! plan.

use std::collections::{HashMap, HashSet};

use purlin_model::Value;
use purlin_state::{Record, RecordId, Status};
use serde::{Deserialize, Serialize};

use crate::changes::diff;
use crate::changes::parts::GoingPart;
use crate::driver::requirement_name;
use crate::plan::{Action, Operation, OperationKind, Plan, Step, ValueChange};
use crate::planner::Base;
use crate::planner::saved::{Deviation, Differs, OperationOutline};
use crate::records::recorded::{Recorded, exists};

/// Identifies a record by the parts that a run never changes in a resource that it leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordDigest {
    record: String,
    digest: String,
}

/// An input that a step changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedInput {
    path: String,
    /// The digest of the new value; `None` if the value was unknown at planning.
    value: Option<String>,
}

/// One digest for each record.
pub(crate) fn record_digests(recorded: &Recorded) -> Vec<RecordDigest> {
    let mut digests: Vec<RecordDigest> = recorded
        .records()
        .map(|record| RecordDigest { record: record.id().to_string(), digest: digest(record) })
        .collect();
    digests.sort_unstable_by(|a, b| a.record.cmp(&b.record));
    digests
}

fn digest(record: &Record) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("purlin 2026 record that a plan leaves alone v1");
    let mut feed = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    feed(&record.updated.to_le_bytes());
    feed(record.deployment.as_bytes());
    feed(record.state.id.expose().as_bytes());
    feed(match &record.status {
        Status::Ready => b"ready",
        Status::Partial(unfinished) => unfinished.code().as_bytes(),
        Status::Absent => b"absent",
    });
    feed(&[record.pinned, record.external, record.tainted].map(u8::from));
    record.state.outputs.feed(&mut feed);
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The inputs that result from a step, including unchanged ones, since a resource that is created
/// again receives those too.
pub(crate) fn planned_inputs(recorded: &Recorded, step: &Step) -> Vec<PlannedInput> {
    if step.action == Action::None {
        return Vec::new();
    }
    let one = |change: &ValueChange| PlannedInput {
        path: change.path.clone(),
        value: (!change.is_unknown()).then(|| value(change.after.as_ref())),
    };
    let record = recorded.current(&step.urn).filter(|record| exists(record));
    let before = record.map(|record| diff::inputs(None, &record.inputs)).unwrap_or_default();
    let changes =
        |stays: &ValueChange| step.changes.iter().any(|change| is_within(&stays.path, &change.path));
    step.changes.iter().chain(before.iter().filter(|stays| !changes(stays))).map(one).collect()
}

/// Whether a path leads to `place` or to something inside it.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn value(value: Option<&Value>) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("purlin 2026 value that a planned step sets v1");
    value.unwrap_or(&Value::Null).feed(&mut |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    });
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The resources that a plan acts on.
fn acted_on(outline: &[OperationOutline]) -> HashSet<&str> {
    outline.iter().filter(|line| acts(&line.action)).map(|line| line.urn.as_str()).collect()
}

fn acts(action: &str) -> bool {
    action != Action::None.as_str()
}

/// Whether only a run of the plan has changed the state since: the resources that the plan leaves
/// alone are unchanged, and no others were added or removed. For the resources that the plan acts
/// on, see [`deviations_of_rest`].
pub fn is_left_by_run(digests: &[RecordDigest], outline: &[OperationOutline], base: &Base) -> bool {
    let acted_on = acted_on(outline);
    let is_acted_on = |id: &RecordId| acted_on.contains(id.urn.as_str());
    let mut kept: HashMap<&str, &str> =
        digests.iter().map(|one| (one.record.as_str(), one.digest.as_str())).collect();
    for record in base.recorded.records() {
        let id = record.id();
        let kept = kept.remove(id.to_string().as_str());
        if !is_acted_on(&id) && kept != Some(digest(record).as_str()) {
            return false;
        }
    }
    let may_be_gone =
        |record: &&str| acted_on.iter().any(|urn| record.strip_prefix(urn).is_some_and(is_rest_of_id));
    kept.keys().all(may_be_gone) && base.recorded.all_pending().all(|intent| is_acted_on(&intent.id()))
}

/// Whether this can follow the URN in the text of a record id.
fn is_rest_of_id(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// Everything that a plan for the remaining work does and the saved plan does not. Steps of the
/// saved plan that are missing here are already done.
pub fn deviations_of_rest(kept: &[OperationOutline], rest: &Plan) -> Vec<Deviation> {
    let mut all = Vec::new();
    for operation in &rest.operations {
        let Some(step) = rest.steps.get(operation.step as usize) else { continue };
        if step.action == Action::None
            || matches!(operation.kind, OperationKind::Undecided | OperationKind::Refused(_))
        {
            continue;
        }
        let of_resource = || kept.iter().filter(|line| line.urn == step.urn.as_str() && acts(&line.action));
        let old_copy = matches!(&operation.kind, OperationKind::Delete { id, .. } if id.superseded.is_some());
        let how = if !of_resource().any(|line| is_rest_of(&line.action, step.action, old_copy)) {
            Differs::More { action: step.action.as_str().to_owned() }
        } else if let Some(part) = step
            .parts()
            .filter_map(GoingPart::of)
            .find(|part| !part.is_in(of_resource().flat_map(|line| &line.goes)))
        {
            Differs::Part(part)
        } else if step.loss.is_some() && !of_resource().any(|line| line.loses_data) {
            Differs::LosesData
        } else if !inputs_of(rest, operation, step)
            .all(|change| of_resource().any(|line| sets(&line.becomes, change)))
        {
            Differs::Otherwise
        } else {
            continue;
        };
        let deviation = Deviation { resource: step.key.to_string(), how };
        if !all.contains(&deviation) {
            all.push(deviation);
        }
    }
    all
}

/// The inputs that a step changes and its driver sees. Params that it does not see flow into others.
fn inputs_of<'a>(
    rest: &Plan,
    operation: &Operation,
    step: &'a Step,
) -> impl Iterator<Item = &'a ValueChange> {
    let node = operation.node.zip(rest.graph()).and_then(|(id, graph)| graph.node(id));
    let reads_params = node.is_none_or(|node| {
        let driver = rest.drivers.get(&requirement_name(&node.recipe.driver));
        driver.is_none_or(|driver| rest.rules.reads_params(&**driver, node))
    });
    step.changes.iter().filter(move |change| reads_params || !is_within(&change.path, "/params"))
}

/// Whether an action completes another action that was begun.
fn is_rest_of(planned: &str, now: Action, old_copy: bool) -> bool {
    let begun: &[Action] = match now {
        Action::Create => &[Action::Create, Action::Replace],
        Action::Update => &[Action::Update, Action::Create, Action::Replace, Action::Adopt],
        // A partly created resource is replaced if its driver cannot update in place.
        Action::Replace => &[Action::Replace, Action::Create],
        Action::Delete if old_copy => &[Action::Delete, Action::Replace, Action::Create],
        Action::Delete => &[Action::Delete],
        Action::Read => &[Action::Read],
        Action::Adopt => &[Action::Adopt],
        Action::None => return true,
    };
    begun.iter().any(|action| action.as_str() == planned)
}

/// Whether the plan sets an input to this value, or did not know the value.
fn sets(becomes: &[PlannedInput], change: &ValueChange) -> bool {
    becomes.iter().any(|planned| match &planned.value {
        Some(known) => planned.path == change.path && *known == value(change.after.as_ref()),
        None => is_within(&change.path, &planned.path),
    })
}
