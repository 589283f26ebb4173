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

use crate::declare::{Form, Read, form};
use crate::kinds::{Choice, List, Text, Time, Words};
use crate::reader::Reader;
use crate::yaml::Node;

form! {
    /// Settings of `purlin reconcile`.
    pub(crate) struct Settings {
        /// How often each resource is read.
        INTERVAL: Time = "interval" default "10m";
        /// What Purlin does if a resource drifts.
        DRIFT: Choice<Drift> = "drift" default "repair";
        /// Actions that need no confirmation.
        ALLOW: List<Choice<Action>> = "allow", "[delete, replace]";
        /// Settings for some resources. The last matching rule applies.
        RULES: List<Rule> = "rules", "[{resources: \"postgres*\", interval: 1h}]";
    }

    const WITHIN: &'static str = "reconcile.";
}

form! {
    /// Settings for some resources.
    pub(crate) struct Rule {
        /// Key of a resource, or a pattern with `*`.
        RESOURCES: Text = needed "resources", "postgres*";
        /// How often each resource is read.
        INTERVAL: Time = "interval";
        /// What Purlin does if a resource drifts.
        DRIFT: Choice<Drift> = "drift";
    }
}

impl Words for Drift {
    const WORDS: &'static [(&'static str, Self)] = &[("repair", Self::Repair), ("report", Self::Report)];
}

/// An action that may need consent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Delete,
    Replace,
    DataLoss,
}

impl Words for Action {
    const WORDS: &'static [(&'static str, Self)] =
        &[("delete", Self::Delete), ("replace", Self::Replace), ("data-loss", Self::DataLoss)];
}

impl Read for Settings {
    type Value = Reconcile;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Reconcile> {
        let settings = Self::open(reader, node, what)?;
        let allowed = settings.read(reader, Self::ALLOW).unwrap_or_default();
        let rules = settings.node(Self::RULES).and_then(|node| reader.list(node, "`reconcile.rules`"));
        Some(Reconcile {
            interval: settings.read(reader, Self::INTERVAL),
            drift: settings.read(reader, Self::DRIFT),
            delete: allowed.contains(&Action::Delete),
            replace: allowed.contains(&Action::Replace),
            data_loss: allowed.contains(&Action::DataLoss),
            rules: rules.unwrap_or_default().iter().filter_map(|node| rule(reader, node)).collect(),
        })
    }
}

fn rule(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<ReconcileRule> {
    let rule = Rule::open(reader, node, "a rule")?;
    let (interval, drift) = (rule.read(reader, Rule::INTERVAL), rule.read(reader, Rule::DRIFT));
    let resources = rule.read(reader, Rule::RESOURCES)?;
    Some(ReconcileRule { resources, interval, drift, location: reader.at(&node.span) })
}
