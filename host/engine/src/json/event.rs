//! The JSON of an event: one document per line, each with `format`.

use purlin_model::{Condition, FORMAT, Finding, Key, Obstacle, Reason, Worded};
use purlin_sandbox::clock::millis;
use serde::{Serialize, Serializer};

use super::is_zero;
use crate::error::Cause;
use crate::event::{Event, Phase, Summary};
use crate::plan::{Action, Tally, ValueChange};
use crate::records::recorded_status::ResourceStatus;

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Resource { key, action, phase } => Resource::new(key, *action, phase).serialize(serializer),
            Self::Status { key, status, conditions, obstacle } => ResourceStatusChange {
                format: FORMAT,
                event: "status",
                key,
                status: *status,
                conditions,
                obstacle: obstacle.as_ref().map(Worded::from),
            }
            .serialize(serializer),
            Self::Summary(summary) => summary.serialize(serializer),
        }
    }
}

/// An event of a resource.
#[derive(Serialize)]
struct Resource<'a> {
    format: u8,
    event: &'static str,
    key: &'a Key,
    action: Action,
    phase: &'static str,
    /// The action performed, if it differs from the planned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<Action>,
    /// The reasons why the resource waits, each with its message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<Worded<&'a Reason>>,
    /// The result of reading the resource, with its message.
    #[serde(flatten)]
    finding: Option<Worded<Finding>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a Key>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changes: &'a [ValueChange],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Cause>,
}

impl<'a> Resource<'a> {
    fn new(key: &'a Key, action: Action, phase: &'a Phase) -> Self {
        let line = Self {
            format: FORMAT,
            event: "resource",
            key,
            action,
            phase: phase.as_str(),
            done: None,
            reasons: Vec::new(),
            finding: None,
            message: None,
            percent: None,
            milliseconds: None,
            because: None,
            changes: &[],
            error: None,
        };
        match phase {
            Phase::Started => line,
            Phase::Progress { message, percent } => {
                Self { message: Some(message), percent: *percent, ..line }
            }
            Phase::Observed { finding, changes } => {
                Self { finding: Some(Worded::from(*finding)), changes, ..line }
            }
            Phase::Succeeded { took, done } => {
                let done = (*done != action).then_some(*done);
                Self { done, milliseconds: Some(millis(*took)), ..line }
            }
            Phase::Failed { cause, took } => {
                Self { milliseconds: Some(millis(*took)), error: Some(cause), ..line }
            }
            Phase::Waiting { reasons } => {
                Self { reasons: reasons.iter().map(Worded::from).collect(), ..line }
            }
            Phase::Skipped { because } => Self { because: because.as_ref(), ..line },
        }
    }
}

/// The status of a resource changed.
#[derive(Serialize)]
struct ResourceStatusChange<'a> {
    format: u8,
    event: &'static str,
    key: &'a Key,
    status: ResourceStatus,
    conditions: &'a [Condition; 3],
    /// The obstacle that keeps the resource from matching the documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    obstacle: Option<Worded<&'a Obstacle>>,
}

/// The last event of a run.
impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            format: u8,
            event: &'static str,
            status: &'static str,
            done: Tally,
            failed: usize,
            /// The number of resources that are in progress, for which the run does not wait any longer.
            #[serde(skip_serializing_if = "is_zero")]
            in_progress: usize,
            skipped: usize,
            /// The number of resources that wait for others that no document declares.
            #[serde(skip_serializing_if = "is_zero")]
            waiting: usize,
            /// Resources for which the outcome of a call could not be determined.
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            unknown: &'a [Key],
            /// Why the run ended early, or the contradiction in the records.
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<String>,
            /// The number of driver calls with effects.
            calls: usize,
            milliseconds: u64,
        }
        Shape {
            format: FORMAT,
            event: "summary",
            status: self.status(),
            done: self.done,
            failed: self.failed.len() - self.in_progress(),
            in_progress: self.in_progress(),
            skipped: self.skipped.len(),
            waiting: self.waiting.len(),
            unknown: &self.unknown,
            error: self.halted.as_ref().map(ToString::to_string).or_else(|| self.integrity.clone()),
            calls: self.calls,
            milliseconds: millis(self.took),
        }
        .serialize(serializer)
    }
}
