//! A plan as plain data.

use purlin_host::model::{Finding, Key, Reason, Value};
use purlin_host::{engine, requirements};
use serde::{Serialize, Serializer};

use super::FORMAT;
use super::worded::Worded;

/// What is to happen, in order.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) format: u8,
    pub(crate) steps: Vec<Step>,
    pub(crate) summary: Tally,
    /// Advice of drivers, and what is left undecided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<Warning>,
    /// Resources that seem to have been renamed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) suggestions: Vec<Suggestion>,
    /// What was found before the plan was made, where it is not as recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) observed: Vec<Observed>,
    /// Newer versions of what is installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) offers: Vec<Offer>,
}

/// A newer version of what an installation is made from.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Offer {
    installation: String,
    installed: String,
    newer: String,
}

impl Offer {
    /// From what the host reports.
    pub(crate) fn new(offer: &requirements::Offer) -> Self {
        let requirements::Offer { installation, installed, newer } = offer;
        Self {
            installation: installation.to_string(),
            installed: installed.to_string(),
            newer: newer.to_string(),
        }
    }
}

/// What was found about a resource when it was looked at.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Observed {
    key: String,
    #[serde(flatten)]
    finding: Worded<Finding>,
    changes: Vec<Change>,
}

impl Observed {
    /// From what the host reports.
    pub(crate) fn new(key: &Key, finding: Finding, changes: &[engine::Change]) -> Self {
        let changes = changes.iter().map(Change::new).collect();
        Self { key: key.to_string(), finding: finding.into(), changes }
    }
}

/// What is to be deleted and is just like what is to be made.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Suggestion {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// What happens to one resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) key: String,
    pub(crate) urn: String,
    pub(crate) action: &'static str,
    /// The name that it was recorded under before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) moved_from: Option<String>,
    /// Whether the old one goes before the new one is made.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) delete_before_replace: bool,
    /// Whether it waits for a resource that no document declares.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) waits: bool,
    /// Whether its data is lost, or may be.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) loses_data: bool,
    /// What is lost; the fields above say it for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<Loss>,
    pub(crate) reasons: Vec<Worded<Reason>>,
    pub(crate) changes: Vec<Change>,
}

/// Data that goes with a resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Loss {
    /// In the words of the driver, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) what: Option<String>,
    /// Whether there is a driver to say.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) unknown: bool,
    /// Whether documents allow it.
    pub(crate) allowed: bool,
}

impl Loss {
    fn new(loss: &engine::Loss) -> Self {
        let (what, unknown) = match loss.what() {
            engine::Lost::Named(what) => (Some(what.clone()), false),
            engine::Lost::Data => (None, false),
            engine::Lost::Unknown => (None, true),
        };
        Self { what, unknown, allowed: loss.is_allowed() }
    }
}

/// One place that changes.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// JSON Pointer into `{values, secrets, params, account}`.
    pub(crate) path: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
    pub(crate) replaces: bool,
}

/// A driver's advice about a resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Warning {
    pub(crate) key: String,
    pub(crate) message: String,
}

/// How many resources meet which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) create: usize,
    pub(crate) update: usize,
    pub(crate) replace: usize,
    pub(crate) delete: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) read: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) adopt: usize,
    pub(crate) none: usize,
    /// Resources that wait for others that no document declares.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) waiting: usize,
    /// Resources that only get another name.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) moved: usize,
    /// Of those to delete or replace: the ones that lose data.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) loses_data: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Plan {
    /// A plan of the host.
    pub(crate) fn new(plan: &engine::Plan) -> Self {
        Self::of(plan, |_| true)
    }

    /// The same without the resources of which there is nothing to say.
    pub(crate) fn of_changes(plan: &engine::Plan) -> Self {
        Self::of(plan, |step| step.action != engine::Action::None || step.waits || step.moved_from.is_some())
    }

    fn of(plan: &engine::Plan, is_told: impl Fn(&engine::Step) -> bool) -> Self {
        let told = plan.steps.iter().filter(|step| !step.left_out && is_told(step));
        let steps = told.map(|step| Step {
            key: step.key.to_string(),
            urn: step.urn.to_string(),
            action: step.action.as_str(),
            moved_from: step
                .moved_from
                .as_ref()
                .map(|urn| urn.key().map_or_else(|| urn.to_string(), |key| key.to_string())),
            delete_before_replace: step.delete_before_replace,
            waits: step.waits,
            loses_data: step.loss().is_some(),
            loss: step.loss().map(Loss::new),
            reasons: step.reasons.iter().cloned().map(Into::into).collect(),
            changes: step.changes.iter().map(Change::new).collect(),
        });
        let warning = |warning: &engine::Warning| Warning {
            key: warning.key.to_string(),
            message: warning.message.clone(),
        };
        let suggestion = |suggestion: &engine::Suggestion| Suggestion {
            from: suggestion.from.to_string(),
            to: suggestion.to.to_string(),
        };
        Self {
            format: FORMAT,
            steps: steps.collect(),
            summary: Tally::of(plan),
            warnings: plan.warnings.iter().map(warning).collect(),
            suggestions: plan.suggestions.iter().map(suggestion).collect(),
            observed: Vec::new(),
            offers: Vec::new(),
        }
    }
}

impl From<engine::Tally> for Tally {
    fn from(tally: engine::Tally) -> Self {
        Self {
            create: tally.create,
            update: tally.update,
            replace: tally.replace,
            delete: tally.delete,
            read: tally.read,
            adopt: tally.adopt,
            none: tally.none,
            waiting: tally.waiting,
            moved: 0,
            loses_data: tally.loses_data,
        }
    }
}

impl Tally {
    /// What a plan comes to.
    pub(crate) fn of(plan: &engine::Plan) -> Self {
        let moved = plan.steps.iter().filter(|step| step.moved_from.is_some()).count();
        Self { moved, ..plan.summary().into() }
    }

    /// Whether anything is to change.
    pub(crate) fn changes(self) -> usize {
        self.create + self.update + self.replace + self.delete + self.read + self.adopt + self.moved
    }
}

impl Change {
    pub(crate) fn new(change: &engine::Change) -> Self {
        Self {
            path: change.path.clone(),
            before: change.before.clone(),
            after: change.after.clone(),
            replaces: change.replaces,
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.after.as_ref().is_some_and(Value::has_unknown)
    }

    pub(crate) fn is_secret(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(Value::has_secret)
    }
}

/// JSON of one side: null where there is nothing or nothing known, secrets masked.
fn side(value: Option<&Value>) -> serde_json::Value {
    match value {
        None | Some(Value::Unknown(_)) => serde_json::Value::Null,
        Some(value) => value.redact(),
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            path: &'a str,
            before: serde_json::Value,
            after: serde_json::Value,
            unknown: bool,
            secret: bool,
            replaces: bool,
        }
        Shape {
            path: &self.path,
            before: side(self.before.as_ref()),
            after: side(self.after.as_ref()),
            unknown: self.is_unknown(),
            secret: self.is_secret(),
            replaces: self.replaces,
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_and_unknown_values_have_a_mark_and_no_content() {
        let change = Change {
            path: "/secrets/password".into(),
            before: Some(Value::from("old").into_secret()),
            after: Some(Value::unknown().into_secret()),
            replaces: false,
        };
        assert_eq!(
            serde_json::to_value(&change).expect("JSON"),
            json!({"path": "/secrets/password", "before": "[secret]", "after": null,
                   "unknown": true, "secret": true, "replaces": false})
        );
    }
}
