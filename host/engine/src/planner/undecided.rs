//! Warnings about calls with an unknown outcome. Each plan has them, and a run that covers one fails
//! until the user settles it.

use std::sync::Arc;

use crate::plan::Warning;
use crate::recorded::Recorded;

/// The warnings about calls with an unknown outcome.
pub(super) fn warnings(recorded: &Recorded) -> Vec<Warning> {
    let warning = |intent: &Arc<purlin_state::Intent>| {
        let key = intent.id().urn.key()?;
        let message = format!(
            "an earlier run was interrupted while creating it, and it is unknown whether it exists; check, and \
             run `purlin state settle {key}` with `--made ID` or `--not-made`"
        );
        matches!(intent.operation, purlin_state::Operation::Create(_)).then_some(Warning { key, message })
    };
    recorded.all_pending().filter_map(warning).collect()
}
