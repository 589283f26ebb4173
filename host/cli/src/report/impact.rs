//! The impact of changed documents on environments, as plain data.

use std::collections::BTreeMap;

use purlin_engine as engine;
use purlin_host::{Affected, EnvironmentImpact};
use purlin_model::driver;
use purlin_model::{Reason, Worded};
use purlin_state as state;
use serde::Serialize;

use super::FORMAT;

/// The effect on an environment: the most severe one on any of its resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Effect {
    Rejected,
    Delete,
    Replace,
    Update,
    Create,
    Unknown,
    Unchanged,
}

/// One environment.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Environment {
    format: u8,
    event: &'static str,
    #[serde(flatten)]
    environment: state::Environment,
    pub(crate) effect: Effect,
    /// Whether a resource loses its data.
    pub(crate) loses_data: bool,
    pub(crate) resources: Vec<Resource>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<RejectionReason>,
}

/// An affected resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Resource {
    pub(crate) key: String,
    pub(crate) action: &'static str,
    pub(crate) reasons: Vec<Worded<Reason>>,
    /// The changed inputs, as JSON Pointers. Values are left out, since they may differ between
    /// environments.
    pub(crate) paths: Vec<String>,
    /// The data that the resource loses, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loses: Option<String>,
    /// Its parts to which something happens, as its driver foresees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<Part>,
}

/// A part of a resource, without its attributes, since they may differ between environments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Part {
    pub(crate) address: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) action: driver::PartAction,
}

/// A fault for which a deployment would be rejected.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RejectionReason {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
}

impl Environment {
    /// Converts the impact that the host reports.
    pub(crate) fn new(environment: &state::Environment, impact: EnvironmentImpact) -> Self {
        let (mut resources, mut faults) = (Vec::new(), Vec::new());
        let effect = match impact {
            EnvironmentImpact::None => Effect::Unchanged,
            EnvironmentImpact::Unknown => Effect::Unknown,
            EnvironmentImpact::Rejected(found) => {
                faults = found.iter().map(RejectionReason::new).collect();
                Effect::Rejected
            }
            EnvironmentImpact::Changes(affected) => {
                resources = affected.iter().map(Resource::new).collect();
                affected.iter().map(effect_of).min().unwrap_or(Effect::Unchanged)
            }
        };
        Self {
            format: FORMAT,
            event: "environment",
            environment: environment.clone(),
            effect,
            loses_data: resources.iter().any(|one| one.loses.is_some()),
            resources,
            faults,
        }
    }
}

fn effect_of(affected: &Affected) -> Effect {
    use engine::Action;
    match affected.action {
        Action::Delete => Effect::Delete,
        Action::Replace => Effect::Replace,
        Action::Create => Effect::Create,
        Action::Update | Action::Adopt | Action::Read | Action::None => Effect::Update,
    }
}

impl Resource {
    fn new(affected: &Affected) -> Self {
        let loses = affected.loses.as_ref().map(|lost| match lost {
            engine::LostData::Named(what) => what.clone(),
            engine::LostData::Data => "its data".to_owned(),
            engine::LostData::Unknown => "perhaps data".to_owned(),
        });
        Self {
            key: affected.key.to_string(),
            action: affected.action.as_str(),
            reasons: affected.reasons.iter().cloned().map(Into::into).collect(),
            paths: affected.changes.iter().map(|change| change.path.clone()).collect(),
            loses,
            parts: driver::Part::most_severe_first(&affected.parts).into_iter().map(Part::new).collect(),
        }
    }

    /// Everything that happens to the resource, without its key. Environments are grouped by this.
    fn group(&self) -> String {
        let reasons: Vec<&str> = self.reasons.iter().map(|reason| &*reason.message).collect();
        format!(
            "{}\n{}\n{}\n{:?}\n{:?}",
            self.action,
            reasons.join("\n"),
            self.paths.join("\n"),
            self.loses,
            self.parts
        )
    }
}

impl Part {
    fn new(part: &driver::Part) -> Self {
        Self { address: part.address.clone(), type_name: part.type_name.clone(), action: part.action }
    }
}

impl RejectionReason {
    fn new(fault: &purlin_model::Diagnostic) -> Self {
        let at = fault.location.as_ref().map(ToString::to_string);
        Self { code: fault.code, message: fault.message.clone(), at }
    }
}

/// The number of environments per effect.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    format: u8,
    event: &'static str,
    pub(crate) environments: usize,
    pub(crate) unchanged: usize,
    pub(crate) create: usize,
    pub(crate) update: usize,
    pub(crate) replace: usize,
    pub(crate) delete: usize,
    pub(crate) rejected: usize,
    pub(crate) unknown: usize,
    /// The number of these that lose data.
    pub(crate) loses_data: usize,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            format: FORMAT,
            event: "summary",
            environments: 0,
            unchanged: 0,
            create: 0,
            update: 0,
            replace: 0,
            delete: 0,
            rejected: 0,
            unknown: 0,
            loses_data: 0,
        }
    }
}

impl Summary {
    pub(crate) fn count(&mut self, environment: &Environment) {
        self.environments += 1;
        self.loses_data += usize::from(environment.loses_data);
        *match environment.effect {
            Effect::Unchanged => &mut self.unchanged,
            Effect::Create => &mut self.create,
            Effect::Update => &mut self.update,
            Effect::Replace => &mut self.replace,
            Effect::Delete => &mut self.delete,
            Effect::Rejected => &mut self.rejected,
            Effect::Unknown => &mut self.unknown,
        } += 1;
    }

    /// The effects that occur, with their counts.
    pub(crate) fn parts(&self) -> Vec<(Effect, usize)> {
        let all = [
            (Effect::Unchanged, self.unchanged),
            (Effect::Create, self.create),
            (Effect::Update, self.update),
            (Effect::Replace, self.replace),
            (Effect::Delete, self.delete),
            (Effect::Rejected, self.rejected),
            (Effect::Unknown, self.unknown),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

/// Environments with the same changes.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) effect: Effect,
    pub(crate) loses_data: bool,
    pub(crate) resources: Vec<Resource>,
    pub(crate) faults: Vec<RejectionReason>,
    /// The environments, sorted.
    pub(crate) environments: Vec<state::Environment>,
}

/// Environments grouped by their changes.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<(Effect, bool, String), Group>);

impl Groups {
    pub(crate) fn add(&mut self, environment: Environment) {
        let Environment { environment, effect, loses_data, resources, faults, .. } = environment;
        let mut sort: Vec<String> =
            resources.iter().map(|one| format!("{}\n{}", one.key, one.group())).collect();
        sort.extend(faults.iter().map(|fault| format!("{} {}", fault.code, fault.message)));
        let group = self.0.entry((effect, !loses_data, sort.join("\n\n"))).or_insert_with(|| Group {
            effect,
            loses_data,
            resources,
            faults,
            environments: Vec::new(),
        });
        group.environments.push(environment);
    }

    /// The groups: the most severe effect first, then those that lose data, then the largest.
    pub(crate) fn in_order(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = self.0.values().cloned().collect();
        groups.iter_mut().for_each(|group| group.environments.sort_unstable());
        groups.sort_by_key(|group| {
            (group.effect, !group.loses_data, std::cmp::Reverse(group.environments.len()))
        });
        groups
    }
}
