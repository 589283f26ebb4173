//! Renders the changes of values below their resource: each with the value before and after, with
//! secrets masked.

use purlin_engine::{Action, Step, ValueChange};

use super::{INDENT, PlanView};
use crate::render::value;
use crate::style::{DIM, paint};
use crate::text;

/// The space that both sides of a change need on the line of the place that they belong to.
const ROOM: usize = 36;

/// A change of a value.
#[derive(Clone, Debug)]
pub(crate) struct Variant<'a> {
    /// The change.
    pub(crate) change: &'a ValueChange,
    /// Where the value changes in this way; empty if it does so everywhere.
    pub(crate) place: String,
}

/// The changes of a resource in one environment.
pub(crate) fn rows(step: &Step) -> Vec<Vec<Variant<'_>>> {
    step.changes.iter().map(|change| vec![Variant { change, place: String::new() }]).collect()
}

/// The changes of a resource. Those of a row have the same path.
pub(super) fn render(
    out: &mut String,
    action: Action,
    rows: &[Vec<Variant<'_>>],
    limit: usize,
    look: PlanView,
) {
    // If only one change exceeds the limit, show it instead of counting it.
    let shown = if rows.len() <= limit.saturating_add(1) { rows.len() } else { limit };
    let path = |row: &Vec<Variant<'_>>| row.first().map(|first| value::path(&first.change.path));
    let paths: Vec<String> = rows.iter().take(shown).map(|row| path(row).unwrap_or_default()).collect();
    let widest = look.columns.map_or(48, |columns| (columns / 2).min(48));
    let column =
        paths.iter().map(|path| text::width(path)).filter(|width| *width <= widest).max().unwrap_or(0);
    for (row, path) in rows.iter().zip(&paths) {
        match &**row {
            [only] => {
                let padding = column.saturating_sub(text::width(path));
                let used = INDENT + 2 + text::width(path) + 1 + padding + 1;
                // A long path gets a line of its own.
                if text::width(path) > widest {
                    out.push_str(&format!("{:INDENT$}  {path}:\n{:INDENT$}    ", "", ""));
                    change(out, only.change, action, INDENT + 4, look);
                } else {
                    out.push_str(&format!("{:INDENT$}  {path}: {:padding$}", "", ""));
                    change(out, only.change, action, used, look);
                }
            }
            several => {
                out.push_str(&format!("{:INDENT$}  {path}:\n", ""));
                variants(out, several, action, look);
            }
        }
    }
    more(out, rows.len() - shown, "", INDENT + 2);
}

/// The values of an input that differ between places.
fn variants(out: &mut String, several: &[Variant<'_>], action: Action, look: PlanView) {
    // If only one value exceeds the limit, show it instead of counting it.
    let shown = match several.len() <= look.variants.saturating_add(1) {
        true => several.len(),
        false => look.variants,
    };
    for variant in several.iter().take(shown) {
        let place = text::line(&variant.place);
        let used = INDENT + 4 + text::width(&place) + 2;
        let is_long = look.columns.is_some_and(|columns| used + ROOM > columns);
        out.push_str(&format!("{:INDENT$}    {place}:", ""));
        match is_long {
            true => out.push_str(&format!("\n{:INDENT$}      ", "")),
            false => out.push(' '),
        }
        change(out, variant.change, action, if is_long { INDENT + 6 } else { used }, look);
    }
    more(out, several.len() - shown, " other values", INDENT + 4);
}

fn more(out: &mut String, left: usize, what: &str, indent: usize) {
    if left > 0 {
        out.push_str(&format!(
            "{:indent$}{}\n",
            "",
            paint(DIM, format!("… and {left} more{what} (--verbose)"))
        ));
    }
}

/// The values before and after, on a line of which `used` columns are taken.
fn change(out: &mut String, change: &ValueChange, action: Action, used: usize, look: PlanView) {
    let room = match (look.everything, look.columns) {
        (true, _) | (_, None) => look.longest,
        (false, Some(columns)) => columns.saturating_sub(used).max(12),
    };
    let sides = sides(change, action, room);
    out.push_str(&sides);
    let remark = remark_of(change);
    if text::width(&sides) + 1 + text::width(remark) <= room {
        out.push_str(if remark.is_empty() { "" } else { " " });
    } else if !remark.is_empty() {
        // Use another line rather than truncate the values.
        out.push_str(&format!("\n{:used$}", ""));
    }
    out.push_str(remark);
    out.push('\n');
}

/// The consequence of a change.
fn remark_of(change: &ValueChange) -> &'static str {
    match (change.replaces, change.is_unknown()) {
        (false, _) => "",
        (true, false) => "(forces replacement)",
        // A value that becomes known may turn out to be unchanged; then nothing is replaced.
        (true, true) => "(replaces if it differs)",
    }
}

fn sides(change: &ValueChange, action: Action, room: usize) -> String {
    let before = change.before.as_ref().map(value::one_line);
    let after = change.after.as_ref().map(value::one_line);
    match (before, after) {
        (None, Some(after)) if action == Action::Create => text::fit(&after, room).into_owned(),
        (Some(before), None) if action == Action::Delete => text::fit(&before, room).into_owned(),
        (before, after) => {
            let before = before.unwrap_or_else(|| "(none)".into());
            let after = after.unwrap_or_else(|| "(removed)".into());
            // Two masked values look the same although they differ.
            let changed = if before == after { " (changed)" } else { "" };
            let (before, after) = value::pair(&before, &after, room.saturating_sub(changed.len()));
            format!("{before} → {after}{changed}")
        }
    }
}
