//! Renders installations as text.

use crate::report::installation::Listed;
use crate::style::UPDATE;

use super::table::{Cell, Table};

/// A table of installations.
pub(crate) fn table(all: &[Listed], columns: Option<usize>) -> String {
    let rows = all.iter().map(|one| {
        [
            one.id.as_str().into(),
            one.bundle.as_deref().unwrap_or("-").into(),
            group(one),
            one.users.len().to_string().into(),
            one.environment.to_string().into(),
            marks(one),
        ]
    });
    Table {
        titles: ["INSTALLATION", "BUNDLE", "GROUP", "USERS", "ENVIRONMENT", "MARKS"],
        rows: rows.collect(),
        yields: &[(4, 12), (2, 6), (1, 16), (0, 12)],
    }
    .render(columns)
}

fn group(one: &Listed) -> Cell {
    match one.group.as_deref() {
        None => "nobody".into(),
        Some("") => "everybody".into(),
        Some(group) => group.into(),
    }
}

fn marks(one: &Listed) -> Cell {
    let mut marks = Vec::new();
    if !one.ready {
        marks.push("not ready");
    }
    if one.handed_over {
        marks.push("handed over");
    }
    let cell = Cell::new(&marks.join(", "));
    if marks.is_empty() { cell } else { cell.styled(UPDATE) }
}
