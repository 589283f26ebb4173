//! `reconcile` of a Workspace: how resources are kept.
//!
//! ```yaml
//! reconcile:
//!   interval: 10m
//!   drift: repair                     # or report
//!   allow: [delete, replace]          # and data-loss
//!   rules:
//!     - {resources: "postgres*", interval: 1h, drift: report}
//! ```

use purlin_model::{Drift, Reconcile, ReconcileRule};

use super::driver::quantity;
use crate::quantity;
use crate::reader::{Fields, Reader};
use crate::yaml::Node;

const ALLOW: &str = "write some of `delete`, `replace` and `data-loss`";

/// Reads the settings.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node<'_>) -> Reconcile {
    let mut reconcile = Reconcile::default();
    let Some(mut fields) = reader.fields(node, "`reconcile`") else { return reconcile };
    reconcile.interval = quantity(reader, &mut fields, "interval", "a duration", "10m", quantity::duration);
    reconcile.drift = drift(reader, &mut fields);
    if let Some(node) = fields.get(reader, "allow") {
        for (word, span) in reader.strings(node, "`reconcile.allow`").unwrap_or_default() {
            match word {
                "delete" => reconcile.delete = true,
                "replace" => reconcile.replace = true,
                "data-loss" => reconcile.data_loss = true,
                _ => reader.wrong_value(&span, format!("`reconcile.allow` has no value `{word}`"), ALLOW),
            }
        }
    }
    if let Some(node) = fields.get(reader, "rules") {
        for node in reader.list(node, "`reconcile.rules`").unwrap_or_default() {
            reconcile.rules.extend(rule(reader, node));
        }
    }
    fields.done(reader);
    reconcile
}

fn rule(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<ReconcileRule> {
    let mut fields = reader.fields(node, "a rule")?;
    let resources = fields.need(reader, "resources", "postgres*");
    let interval = quantity(reader, &mut fields, "interval", "a duration", "1h", quantity::duration);
    let drift = drift(reader, &mut fields);
    fields.done(reader);
    let resources = reader.text(resources?, "`resources`")?.into();
    Some(ReconcileRule { resources, interval, drift, location: reader.at(&node.span) })
}

fn drift(reader: &mut Reader<'_>, fields: &mut Fields<'_, '_>) -> Option<Drift> {
    let node = fields.get(reader, "drift")?;
    match reader.text(node, "`drift`")? {
        "repair" => Some(Drift::Repair),
        "report" => Some(Drift::Report),
        other => {
            let message = format!("`drift` has no value `{other}`");
            reader.wrong_value(&node.span, message, "write `repair` or `report`");
            None
        }
    }
}
