//! A plan as plain data.

use purlin_host::model::{Finding, Key, Reason, Value};
use purlin_host::{engine, requirements};
use serde::{Serialize, Serializer};

use super::FORMAT;
use super::worded::Worded;

/// A plan, in order.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) format: u8,
    pub(crate) steps: Vec<Step>,
    pub(crate) summary: Tally,
    /// Advice of drivers, and undecided calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<Warning>,
    /// Resources that seem to have been renamed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) suggestions: Vec<Suggestion>,
    /// Differences from the record that were found before the plan was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) observed: Vec<Observed>,
    /// Newer versions of installed bundles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) offers: Vec<Offer>,
}

/// A newer version of an installation's bundle.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Offer {
    installation: String,
    installed: String,
    newer: String,
}

impl Offer {
    /// Converts an offer of the host.
    pub(crate) fn new(offer: &requirements::Offer) -> Self {
        let requirements::Offer { installation, installed, newer } = offer;
        Self {
            installation: installation.to_string(),
            installed: installed.to_string(),
            newer: newer.to_string(),
        }
    }
}

/// The result of reading a resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Observed {
    key: String,
    #[serde(flatten)]
    finding: Worded<Finding>,
    changes: Vec<Change>,
}

impl Observed {
    /// Converts a result of the host.
    pub(crate) fn new(key: &Key, finding: Finding, changes: &[engine::Change]) -> Self {
        let changes = changes.iter().map(Change::new).collect();
        Self { key: key.to_string(), finding: finding.into(), changes }
    }
}

/// A resource to be deleted that equals one to be created.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Suggestion {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// The planned action for one resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) key: String,
    pub(crate) urn: String,
    pub(crate) action: &'static str,
    /// Its previous name in the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) moved_from: Option<String>,
    /// Whether the old resource is deleted before the new one is created.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) delete_before_replace: bool,
    /// Whether it waits for a resource that no document declares.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) waits: bool,
    /// Whether its data is lost, or may be.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) loses_data: bool,
    /// The data that is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<Loss>,
    pub(crate) reasons: Vec<Worded<Reason>>,
    pub(crate) changes: Vec<Change>,
}

/// Data that is lost with a resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Loss {
    /// The driver's description of the data, if it gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) what: Option<String>,
    /// Whether this is unknown, since there is no driver to ask.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) unknown: bool,
    /// Whether the documents allow the loss.
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

/// One changed input.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// A JSON Pointer into `{values, secrets, params, account}`.
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

/// The number of resources per action.
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
    /// The number of resources that wait for others that no document declares.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) waiting: usize,
    /// The number of resources that only get another name.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) moved: usize,
    /// How many of the resources to delete or replace lose data.
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
    /// Converts a plan of the host.
    pub(crate) fn new(plan: &engine::Plan) -> Self {
        Self::of(plan, |_| true)
    }

    /// Like [`Plan::new`], without resources that neither change nor wait.
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
    /// Counts the actions of a plan.
    pub(crate) fn of(plan: &engine::Plan) -> Self {
        let moved = plan.steps.iter().filter(|step| step.moved_from.is_some()).count();
        Self { moved, ..plan.summary().into() }
    }

    /// The number of resources with changes.
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

/// One side of a change as JSON: null if there is no value or it is unknown, with secrets masked.
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
