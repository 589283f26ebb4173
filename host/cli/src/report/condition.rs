//! Times and conditions of a resource (SPEC §7), in the time format of all JSON of Purlin.

use purlin_host::model::{Condition, ConditionReason, ConditionStatus, ConditionType};
use serde::{Serialize, Serializer};

use crate::text;

#[derive(Serialize)]
struct Dated<'a> {
    #[serde(rename = "type")]
    kind: ConditionType,
    status: ConditionStatus,
    reason: ConditionReason,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
}

/// Writes conditions, each with the time since which it has had its status.
pub(crate) fn serialize<S: Serializer>(conditions: &[Condition; 3], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(conditions.iter().map(|condition| Dated {
        kind: condition.kind,
        status: condition.status,
        reason: condition.reason,
        message: &condition.message,
        since: condition.since.map(text::moment),
    }))
}

/// Writes milliseconds since 1970 as a time.
pub(crate) fn moment<S: Serializer>(millis: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text::moment(*millis))
}
