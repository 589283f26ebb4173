//! Saved plans: the parts of a plan that must be kept to execute exactly this plan later, and the
//! comparison with a plan that is made again.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use purlin_model::driver::{Forecast, Token};
use purlin_model::{Label, Urn, Value};
use purlin_state::{Change, Intent, Operation as Intended};
use serde::{Deserialize, Serialize};

use crate::changes::parts::GoingPart;
use crate::plan::{Action, Operation, OperationKind, Plan};
use crate::planner::CheckedInputs;
use crate::planner::begun::{self, PlannedInput, RecordDigest};
use crate::records::making::record_of;

/// The saved parts of a plan, besides the documents that it was made from. A plan that is made
/// again from those documents, from a state with the same fingerprint and with the same checked inputs,
/// must have the same outline.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The fingerprint of the state that it was made from.
    pub fingerprint: [u8; 32],
    /// The findings from planning, to be recorded before the plan is executed.
    pub prelude: Vec<Change>,
    /// The inputs as the drivers' `check` returned them, in the form of intents.
    pub checked_inputs: Vec<Change>,
    /// The outline of every operation.
    pub outline: Vec<OperationOutline>,
    /// The digests of the records after the prelude is written.
    pub record_digests: Vec<RecordDigest>,
    /// What ties effects to the forecasts in the plan, each with the name of its effect.
    pub tokens: Vec<(String, Token)>,
}

/// The outline of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationOutline {
    /// The resource.
    pub urn: String,
    /// The action for the resource.
    pub action: String,
    /// The kind of the operation.
    pub work: String,
    /// The operations that come before.
    pub after: Vec<u32>,
    /// The digest of the changes, and of what happens to parts.
    pub changes: String,
    /// Whether the resource's data is lost.
    pub loses_data: bool,
    /// The parts of the resource whose objects go away.
    pub goes: Vec<GoingPart>,
    /// The resulting inputs, needed to resume a plan that was begun.
    pub becomes: Vec<PlannedInput>,
}

impl Plan {
    /// The parts of the plan to save.
    pub fn save(&self) -> Saved {
        let checked_inputs =
            self.operations.iter().filter_map(|operation| self.checked_inputs(operation)).collect();
        Saved {
            fingerprint: self.fingerprint,
            prelude: self.prelude.clone(),
            checked_inputs,
            outline: self.outline(),
            record_digests: begun::record_digests(&self.recorded),
            tokens: self.tokens(),
        }
    }

    /// Ties the effects of a plan that is made again to the forecasts in the saved one.
    pub fn agree_to(&mut self, tokens: Vec<(String, Token)>) {
        let mut tokens: HashMap<String, Token> = tokens.into_iter().collect();
        let deletions = self.deletions();
        for step in &mut self.steps {
            if let Some(forecast) = &mut step.forecast {
                forecast.token = tokens.remove(step.urn.as_str());
            }
        }
        for (step, name) in deletions {
            let step = self.steps.get_mut(step as usize);
            if let Some(forecast) = step.and_then(|step| step.deletion.as_mut()) {
                forecast.token = tokens.remove(&name);
            }
        }
    }

    /// The tokens of forecasts, each with the name of its effect: the URN for an effect that leaves a
    /// resource.
    fn tokens(&self) -> Vec<(String, Token)> {
        let token = |forecast: &Option<Box<Forecast>>| forecast.as_ref()?.token.clone();
        let made = self.steps.iter().filter_map(|step| Some((step.urn.to_string(), token(&step.forecast)?)));
        let deleted = self
            .deletions()
            .into_iter()
            .filter_map(|(step, name)| Some((name, token(&self.steps.get(step as usize)?.deletion)?)));
        made.chain(deleted).collect()
    }

    /// The steps with a deletion that is called for, each with the name of that.
    fn deletions(&self) -> Vec<(u32, String)> {
        let deletion = |operation: &Operation| match &operation.kind {
            OperationKind::Delete { call: true, .. } => Some((operation.step, name(&operation.kind))),
            _ => None,
        };
        self.operations.iter().filter_map(deletion).collect()
    }

    /// The outline of every operation.
    pub fn outline(&self) -> Vec<OperationOutline> {
        let line = |operation: &Operation| {
            let step = self.steps.get(operation.step as usize)?;
            let mut hasher = blake3::Hasher::new_derive_key("purlin 2026 changes of a planned step v1");
            let mut feed = |bytes: &[u8]| {
                hasher.update(&(bytes.len() as u64).to_le_bytes());
                hasher.update(bytes);
            };
            for change in &step.changes {
                feed(change.path.as_bytes());
                for side in [&change.before, &change.after] {
                    side.as_ref().unwrap_or(&Value::Null).feed(&mut feed);
                }
            }
            for part in step.parts() {
                let moved = part.moved_from.as_deref().unwrap_or_default();
                let texts = [&*part.address, part.action.as_str(), moved, part.loss().unwrap_or_default()];
                texts.iter().for_each(|text| feed(text.as_bytes()));
            }
            Some(OperationOutline {
                urn: step.urn.to_string(),
                action: step.action.as_str().to_owned(),
                work: name(&operation.kind),
                after: operation.after.clone(),
                changes: hasher.finalize().to_hex()[..32].to_owned(),
                loses_data: step.loss.is_some(),
                goes: step.parts().filter_map(GoingPart::of).collect(),
                becomes: begun::planned_inputs(&self.recorded, step),
            })
        };
        self.operations.iter().filter_map(line).collect()
    }

    fn checked_inputs(&self, operation: &Operation) -> Option<Change> {
        let prepared = match &operation.kind {
            OperationKind::Keep { prepared }
            | OperationKind::Create { prepared, .. }
            | OperationKind::Update { prepared, .. } => {
                prepared.as_deref().or_else(|| self.drafts.get(&operation.node?))?
            }
            _ => return None,
        };
        let graph = self.graph.as_ref()?;
        let node = graph.node(operation.node?)?;
        let driver = self.drivers.get(&crate::driver::requirement_name(&node.recipe.driver))?;
        let inputs = prepared.inputs.clone();
        let mut record = record_of(graph, node, &self.context, &**driver, inputs, Label::default());
        record.digest = prepared.digest;
        Some(Change::Intend(Box::new(Intent {
            operation: Intended::Create(Box::new(record)),
            idempotency_key: String::new(),
            checkpoint: None,
            since: 0,
            deadline: None,
            open_deletion: None,
        })))
    }
}

/// The inputs that drivers' `check` returned, from the saved changes.
pub fn checked_inputs(kept: Vec<Change>) -> CheckedInputs {
    let inputs = kept.into_iter().filter_map(|change| match change {
        Change::Intend(intent) => match intent.operation {
            Intended::Create(record) => Some((record.urn, (record.digest, record.inputs))),
            _ => None,
        },
        _ => None,
    });
    Arc::new(inputs.collect::<HashMap<_, _>>())
}

/// A difference between a plan that is made again and the saved one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deviation {
    /// The resource's key, or its URN if it has none.
    pub resource: String,
    /// The kind of difference.
    pub how: Differs,
}

/// How a plan that is made again differs from the saved one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Differs {
    /// The new plan takes an action that the saved one does not take.
    More {
        /// The word for the action.
        action: String,
    },
    /// The new plan does not take an action that the saved one takes.
    Less {
        /// The word for the action.
        action: String,
    },
    /// The new plan changes the resource differently.
    Otherwise,
    /// The new plan loses the resource's data, which the saved one keeps.
    LosesData,
    /// The new plan deletes or replaces a part of the resource, which the saved one does not, or keeps the data
    /// of.
    Part(GoingPart),
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb =
            |action: &str| if action == Action::None.as_str() { "leave alone" } else { action }.to_owned();
        let resource = &self.resource;
        match &self.how {
            Differs::More { action } => write!(f, "the plan does not {} `{resource}`", verb(action)),
            Differs::Less { action } => {
                write!(
                    f,
                    "the plan would {} `{resource}`, which the documents no longer ask for",
                    verb(action)
                )
            }
            Differs::Otherwise => write!(f, "the plan changes `{resource}` in another way"),
            Differs::Part(GoingPart { address, for_good, loses_data }) => {
                let verb = if *for_good { "delete" } else { "replace" };
                let data = if *loses_data { " with its data" } else { "" };
                write!(f, "the plan does not {verb} the part `{address}` of `{resource}`{data}")
            }
            Differs::LosesData => write!(f, "the plan does not lose the data of `{resource}`"),
        }
    }
}

/// Every difference between a plan that is made again and the saved one, without duplicates.
pub fn deviations(kept: &[OperationOutline], now: &[OperationOutline]) -> Vec<Deviation> {
    let key = |line: &OperationOutline| (line.urn.clone(), line.work.clone());
    let kept_lines: HashMap<_, _> = kept.iter().map(|line| (key(line), line)).collect();
    let now_lines: HashMap<_, _> = now.iter().map(|line| (key(line), line)).collect();
    let deviation = |line: &OperationOutline, how| {
        let known = Urn::parse(&line.urn).ok().and_then(|urn| urn.key());
        let resource = known.map_or_else(|| line.urn.clone(), |key| key.to_string());
        Deviation { resource, how }
    };
    let mut all = Vec::new();
    for line in now {
        let how = match kept_lines.get(&key(line)) {
            None => Differs::More { action: line.action.clone() },
            Some(kept) if !line.goes.iter().all(|part| part.is_in(&kept.goes)) => {
                let parts = line.goes.iter().filter(|part| !part.is_in(&kept.goes));
                all.extend(parts.map(|part| deviation(line, Differs::Part(part.clone()))));
                continue;
            }
            Some(kept) if kept.changes != line.changes || kept.action != line.action => Differs::Otherwise,
            Some(kept) if line.loses_data && !kept.loses_data => Differs::LosesData,
            Some(_) => continue,
        };
        all.push(deviation(line, how));
    }
    let gone = kept.iter().filter(|line| !now_lines.contains_key(&key(line)));
    all.extend(gone.map(|line| deviation(line, Differs::Less { action: line.action.clone() })));
    let mut known = HashSet::new();
    all.retain(|deviation| known.insert(deviation.clone()));
    all
}

fn name(kind: &OperationKind) -> String {
    match kind {
        OperationKind::Keep { .. } => "keep".into(),
        OperationKind::Pass => "pass".into(),
        OperationKind::Create { instead_of, .. } => format!("create instead of {instead_of:?}"),
        OperationKind::Update { .. } => "update".into(),
        OperationKind::Adopt { .. } => "adopt".into(),
        OperationKind::Observe { .. } => "observe".into(),
        OperationKind::Delete { id, call, goes_with, stays, .. } => {
            format!("delete {id} call={call} goes={goes_with} stays={stays}")
        }
        OperationKind::Refresh => "refresh".into(),
        OperationKind::Recover { .. } => "recover".into(),
        OperationKind::Undecided => "undecided".into(),
        OperationKind::Refused(_) => "refused".into(),
    }
}
