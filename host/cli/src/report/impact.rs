//! The impact of changed documents on environments, as plain data.

use std::collections::HashMap;
use std::sync::Arc;

use purlin_engine::{Action, Step};
use purlin_host::{EnvironmentImpact, Rejection, SelectedEnvironment};
use purlin_model::{Departure, Key, Reason};
use purlin_state as state;
use serde::Serialize;

use super::FORMAT;

/// The effect on an environment: the most severe one on any of its resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
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
    pub(crate) environment: state::Environment,
    /// Its type; null if that is not known.
    #[serde(rename = "type")]
    pub(crate) kind: Option<Arc<str>>,
    pub(crate) effect: Effect,
    /// Whether a resource loses its data.
    pub(crate) loses_data: bool,
    /// The affected resources, as in a plan.
    pub(crate) resources: Vec<Step>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<RejectionReason>,
}

/// A fault for which a deployment would be rejected.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RejectionReason {
    pub(crate) code: &'static str,
    /// The resource that cannot be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<Key>,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

impl Environment {
    /// Converts the impact that the host reports; `None` for an environment that uses none of the documents.
    pub(crate) fn new(selected: &SelectedEnvironment, impact: EnvironmentImpact) -> Option<Self> {
        let (mut resources, mut faults) = (Vec::new(), Vec::new());
        let effect = match impact {
            EnvironmentImpact::Unused => return None,
            EnvironmentImpact::None => Effect::Unchanged,
            EnvironmentImpact::Unknown => Effect::Unknown,
            EnvironmentImpact::Rejected(found) => {
                faults = found.into_iter().map(RejectionReason::new).collect();
                Effect::Rejected
            }
            EnvironmentImpact::Changes(steps) => {
                resources = steps;
                resources.iter().map(effect_of).min().unwrap_or(Effect::Unchanged)
            }
        };
        Some(Self {
            format: FORMAT,
            event: "environment",
            environment: selected.known.environment.clone(),
            kind: selected.kind.clone(),
            effect,
            loses_data: resources.iter().any(|step| step.loss().is_some()),
            resources,
            faults,
        })
    }

    /// Everything that happens, except for the values, which may differ between environments.
    fn shape(&self) -> String {
        let faults =
            self.faults.iter().map(|fault| format!("{} {:?} {}", fault.code, fault.key, fault.message));
        self.resources.iter().map(shape).chain(faults).collect::<Vec<_>>().join("\n\n")
    }
}

fn effect_of(step: &Step) -> Effect {
    match step.action {
        Action::Delete => Effect::Delete,
        Action::Replace => Effect::Replace,
        Action::Create => Effect::Create,
        Action::Update | Action::Adopt | Action::Read | Action::None => Effect::Update,
    }
}

/// What happens to a resource, without values. Deployments have numbers of their own in each environment.
fn shape(step: &Step) -> String {
    let reason = |reason: &Reason| match reason {
        Reason::LeftDocuments { departure: Some(departure) } => {
            Departure { deployment: 0, ..Departure::clone(departure) }.to_string()
        }
        reason => reason.to_string(),
    };
    let reasons: Vec<String> = step.reasons.iter().map(reason).collect();
    let paths: Vec<&str> = step.changes.iter().map(|change| &*change.path).collect();
    let parts: Vec<_> = step.parts().map(|part| (part.action, &part.address)).collect();
    let loss = step.loss().map(|loss| (loss.what(), loss.is_allowed()));
    format!("{}\n{:?}\n{reasons:?}\n{paths:?}\n{loss:?}\n{parts:?}", step.key, step.action)
}

impl RejectionReason {
    fn new(Rejection { key, fault }: Rejection) -> Self {
        let at = fault.location.as_ref().map(ToString::to_string);
        Self { code: fault.code, key, message: fault.message, at, help: fault.help }
    }
}

/// The number of environments per effect.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    format: u8,
    event: &'static str,
    /// The number of selected environments that use the documents.
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
    /// The number of selected environments that use none of the documents.
    pub(crate) unused: usize,
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
            unused: 0,
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

    /// Whether the change has an effect on some environments, and is rejected in each of these.
    pub(crate) fn is_rejected(&self) -> bool {
        self.rejected > 0 && self.rejected + self.unchanged == self.environments
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

/// Environments in which the same happens. Values may differ.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) effect: Effect,
    pub(crate) loses_data: bool,
    /// The environments, in the order of lists; never empty.
    pub(crate) environments: Vec<Environment>,
}

impl Group {
    /// The environments of each type, in the order of lists; those of no known type last.
    pub(crate) fn by_type(&self) -> Vec<(Option<&str>, Vec<String>)> {
        let mut types: Vec<(Option<&str>, Vec<String>)> = Vec::new();
        for environment in &self.environments {
            let (kind, name) = (environment.kind.as_deref(), environment.environment.to_string());
            match types.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, names)) => names.push(name),
                None => types.push((kind, vec![name])),
            }
        }
        types.sort_by_key(|(kind, _)| kind.is_none());
        types
    }
}

/// Environments grouped by what happens in them, in the order of lists.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// The place of each in `groups`, by what happens.
    places: HashMap<(Effect, String), usize>,
}

impl Groups {
    /// Adds an environment. They come in the order of lists.
    pub(crate) fn add(&mut self, environment: Environment) {
        let Environment { effect, loses_data, .. } = environment;
        let place = self.places.entry((effect, environment.shape())).or_insert(self.groups.len());
        match self.groups.get_mut(*place) {
            Some(group) => group.environments.push(environment),
            None => self.groups.push(Group { effect, loses_data, environments: vec![environment] }),
        }
    }

    /// The groups: the most severe effect first, then those that lose data, then in the order of lists.
    pub(crate) fn in_order(&self) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by_key(|group| (group.effect, !group.loses_data));
        groups
    }
}
