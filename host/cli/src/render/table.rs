//! Lays out rows of cells under titles within the width of the terminal. Some columns can shrink.
//! This module does not know what the cells mean.

use std::borrow::Cow;

use anstyle::Style;

use crate::style::{DIM, paint};
use crate::text;

/// The number of spaces between two columns.
const GAP: usize = 2;

/// A cell: an escaped line and its style.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    /// What a column shows that is too narrow for the text.
    short: Option<String>,
    style: Option<Style>,
}

impl Cell {
    /// A cell with arbitrary text, which is escaped.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text::line(text).into_owned(), short: None, style: None }
    }

    /// A time of which a narrow column shows only the date.
    pub(crate) fn time(time: &str) -> Self {
        let short = time.split_once('T').map(|(date, _)| text::line(date).into_owned());
        Self { short, ..Self::new(time) }
    }

    /// The text in a column of this width.
    fn shown(&self, width: usize) -> Cow<'_, str> {
        match &self.short {
            Some(short) if text::width(&self.text) > width => text::fit(short, width),
            _ => text::fit(&self.text, width),
        }
    }

    /// The same cell with a style.
    pub(crate) fn styled(self, style: Style) -> Self {
        Self { style: Some(style), ..self }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

/// A table with one column per title.
#[derive(Clone, Debug)]
pub(crate) struct Table<const N: usize> {
    pub(crate) titles: [&'static str; N],
    pub(crate) rows: Vec<[Cell; N]>,
    /// The columns that can shrink, in the order in which they do, each by its number and with its
    /// minimum width. A column that would become narrower than that is left out.
    pub(crate) yields: &'static [(usize, usize)],
}

impl<const N: usize> Table<N> {
    /// The lines of the table, each ending in a newline and without trailing spaces. The last line
    /// names the columns that are left out because the terminal is too narrow.
    pub(crate) fn render(&self, columns: Option<usize>) -> String {
        let widths = self.widths(columns);
        let mut out = String::new();
        let titles = self.titles.map(Cell::new);
        for row in std::iter::once(&titles).chain(&self.rows) {
            let mut line = String::new();
            let mut missing = 0;
            for (cell, width) in row.iter().zip(widths) {
                if width == 0 {
                    continue;
                }
                line.extend(std::iter::repeat_n(' ', missing));
                let shown = cell.shown(width);
                missing = (width + GAP).saturating_sub(text::width(&shown));
                match cell.style {
                    // Styling an empty cell would leave spaces at the end of the line.
                    Some(style) if !shown.is_empty() => line.push_str(&paint(style, shown)),
                    _ => line.push_str(&shown),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        let left_out = self.titles.iter().zip(widths).filter(|(_, width)| *width == 0);
        let left_out: Vec<&str> = left_out.map(|(title, _)| *title).collect();
        if !left_out.is_empty() {
            let said = format!("without {}: `--verbose` shows all columns", left_out.join(", "));
            out.push_str(&paint(DIM, said));
            out.push('\n');
        }
        out
    }

    /// The width of each column; 0 if it is left out.
    fn widths(&self, columns: Option<usize>) -> [usize; N] {
        let mut widths = self.titles.map(text::width);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(text::width(&cell.text));
            }
        }
        let Some(columns) = columns else { return widths };
        let all = widths.iter().sum::<usize>() + GAP * N.saturating_sub(1);
        let mut over = all.saturating_sub(columns);
        for (number, least) in self.yields {
            let Some(width) = widths.get_mut(*number) else { continue };
            if over == 0 {
                break;
            }
            if *width >= over + least {
                *width -= over;
                over = 0;
            } else {
                over = over.saturating_sub(*width + GAP);
                *width = 0;
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<4> {
        Table {
            titles: ["KEY", "STATUS", "DRIVER", "ID"],
            rows: vec![
                ["a".repeat(30).into(), "ready".into(), "purlin/echo@0.1.0".into(), "0123456789".into()],
                [Cell::new("漢\u{1b}"), Cell::new("").styled(DIM), "x".into(), "".into()],
            ],
            yields: &[(3, 6), (2, 8)],
        }
    }

    #[test]
    fn columns_give_way_in_their_order() {
        for (columns, last) in [
            (None, "0123456789"),
            (Some(69), "0123456789"),
            (Some(66), "012345…"),
            (Some(65), "01234…"),
            (Some(64), "purlin/echo@0.1.0"),
            (Some(50), "purlin/ec…"),
            (Some(47), "ready"),
            (Some(10), "ready"),
        ] {
            let text = table().render(columns);
            let line = text.lines().nth(1).expect("a row");
            assert!(line.ends_with(last), "{columns:?}: {line}");
            let said = text.contains("without ID: `--verbose` shows all columns");
            assert_eq!(said, matches!(columns, Some(50..=64)), "{columns:?}: {text}");
            assert_eq!(
                text.contains("without DRIVER, ID:"),
                matches!(columns, Some(..=47)),
                "{columns:?}: {text}"
            );
            if let Some(columns) = columns.filter(|columns| *columns >= 50) {
                assert!(text.lines().all(|line| text::width(line) <= columns), "{columns}:\n{text}");
            }
        }
    }

    #[test]
    fn a_narrow_column_shows_the_date_of_a_time() {
        let table = Table {
            titles: ["DEPLOYED", "STATUS"],
            rows: vec![[Cell::time("2026-11-29T10:11:12Z"), "ready".into()], [Cell::time("-"), "-".into()]],
            yields: &[(0, 10)],
        };
        for (columns, row) in
            [(28, "2026-11-29T10:11:12Z  ready"), (27, "2026-11-29  ready"), (18, "2026-11-29  ready")]
        {
            let text = table.render(Some(columns));
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join("  ");
            assert_eq!(text.lines().nth(1).map(words).as_deref(), Some(row), "{columns}: {text}");
        }
    }

    #[test]
    fn control_characters_are_escaped_and_lines_have_no_trailing_spaces() {
        let text = table().render(None);
        assert!(text.contains("漢\\u{1b}"));
        assert!(text.lines().all(|line| line.trim_end() == line), "{text:?}");
        assert_eq!(text.lines().count(), 3);
    }
}
