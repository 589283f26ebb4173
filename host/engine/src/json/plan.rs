//! The JSON of a plan.

use purlin_model::driver::Part;
use purlin_model::{FORMAT, Key, Reason, ReferenceField, Urn, Value, Worded};
use serde::{Serialize, Serializer};

use super::is_false;
use crate::changes::data_loss::LostData;
use crate::plan::{Action, Loss, Plan, Step, Suggestion, Tally, ValueChange, Warning};
use crate::values::compare::Difference;

/// A document with `format`, without the resources that the run excludes.
impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            format: u8,
            steps: Vec<&'a Step>,
            summary: Tally,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            warnings: &'a [Warning],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            suggestions: &'a [Suggestion],
        }
        Shape {
            format: FORMAT,
            steps: self.steps.iter().filter(|step| !step.left_out).collect(),
            summary: self.summary(),
            warnings: &self.warnings,
            suggestions: &self.suggestions,
        }
        .serialize(serializer)
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            key: &'a Key,
            urn: &'a Urn,
            action: Action,
            #[serde(skip_serializing_if = "Option::is_none")]
            moved_from: Option<String>,
            #[serde(skip_serializing_if = "is_false")]
            delete_before_replace: bool,
            #[serde(skip_serializing_if = "is_false")]
            waits: bool,
            #[serde(skip_serializing_if = "is_false")]
            loses_data: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            loss: Option<&'a Loss>,
            reasons: Vec<Worded<&'a Reason>>,
            changes: &'a [ValueChange],
            #[serde(skip_serializing_if = "Vec::is_empty")]
            parts: Vec<&'a Part>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            references: &'a [ReferenceField],
        }
        Shape {
            key: &self.key,
            urn: &self.urn,
            action: self.action,
            moved_from: self.previous_name(),
            delete_before_replace: self.delete_before_replace,
            waits: self.waits,
            loses_data: self.loss().is_some(),
            loss: self.loss(),
            reasons: self.reasons.iter().map(Worded::from).collect(),
            changes: &self.changes,
            parts: self.parts().collect(),
            references: &self.references,
        }
        .serialize(serializer)
    }
}

/// The data in the driver's words (`what`), whether there is no driver to ask (`unknown`), and
/// whether the loss is `allowed`.
impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            what: Option<&'a str>,
            #[serde(skip_serializing_if = "is_false")]
            unknown: bool,
            allowed: bool,
        }
        let what = match self.what() {
            LostData::Named(what) => Some(what.as_str()),
            LostData::Data | LostData::Unknown => None,
        };
        Shape { what, unknown: *self.what() == LostData::Unknown, allowed: self.is_allowed() }
            .serialize(serializer)
    }
}

/// One side of a change: null if there is no value or it is unknown, with secrets masked.
fn side(value: Option<&Value>) -> serde_json::Value {
    match value {
        None | Some(Value::Unknown(_)) => serde_json::Value::Null,
        Some(value) => value.redact(),
    }
}

/// Secrets read `[secret]`, and unknown values are null.
impl Serialize for ValueChange {
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

/// The kind in the field `difference`, and the `changes`.
impl Serialize for Difference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            difference: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            moved_from: Option<&'a Key>,
            changes: &'a [ValueChange],
        }
        let (difference, moved_from) = (self.as_str(), self.moved_from());
        Shape { difference, moved_from, changes: self.changes() }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_and_unknown_values_have_a_mark_and_no_content() {
        let change = ValueChange {
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
