//! Collects all grants that a run lacked, without repetition, as the lines of `purlin.yaml` that
//! grant them.

use std::collections::BTreeMap;

use purlin_engine::{Cause, Lacking};
use purlin_model::Grants;
use purlin_model::grants::Need;

use crate::text;
use crate::ui::Ui;

/// The grants that drivers lack, by driver.
#[derive(Default)]
pub(crate) struct MissingGrants<'a>(BTreeMap<&'a str, (&'a Lacking, Vec<Need>)>);

impl<'a> MissingGrants<'a> {
    /// The grants missing according to the causes of failures.
    pub(crate) fn of(causes: impl Iterator<Item = &'a Cause>) -> Self {
        let mut all = Self::default();
        for cause in causes {
            if let Cause::Call(failed) = cause
                && let Some(lacking) = &failed.lacking
            {
                all.add(&failed.driver, lacking);
            }
        }
        all
    }

    /// Adds missing grants of a driver.
    pub(crate) fn add(&mut self, driver: &'a str, lacking: &'a Lacking) {
        let (_, needs) = self.0.entry(driver).or_insert_with(|| (lacking, Vec::new()));
        for need in &lacking.needs {
            if !needs.contains(need) {
                needs.push(need.clone());
            }
        }
    }

    /// Shows how to grant them; shows nothing if no grant is missing.
    pub(crate) fn hint(&self, ui: &Ui) {
        let lines = self.lines();
        if lines.is_empty() {
            return;
        }
        let some = self.0.values().any(|(lacking, _)| lacking.granted != Grants::default());
        ui.hint(match some {
            true => {
                "replace the `grants` of these drivers in purlin.yaml with these, which include the current ones:"
            }
            false => "add this to purlin.yaml; if `spec` or `drivers` already exists, add only the part below it:",
        });
        ui.raw(&text::block(&lines));
    }

    /// The lines, not indented, so that they can be pasted.
    fn lines(&self) -> String {
        let mut out = String::new();
        for (index, (driver, (lacking, needs))) in self.0.iter().enumerate() {
            let lines = lacking.granted.with(driver, needs);
            let lines = match index {
                0 => {
                    out.push_str("spec:\n");
                    lines.as_str()
                }
                // All drivers share one `drivers:` key.
                _ => lines.split_once('\n').map_or("", |(_, rest)| rest),
            };
            for line in lines.lines() {
                out.push_str("  ");
                out.push_str(line);
                out.push('\n');
            }
        }
        out
    }
}
