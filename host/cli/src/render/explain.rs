//! Renders the explanation of how a resource is provisioned as text.

use std::fmt::Write as _;

use purlin_graph::Candidate;

use crate::report::explain::{Explanation, Neighbour};
use crate::style::{CREATE, DIM, STRONG, WARNING, paint};
use crate::text;

/// How many neighbours of each kind are shown.
const SHOWN: usize = 50;

/// The explanation as lines of text, no wider than the terminal if possible.
pub(crate) fn render(explanation: &Explanation, columns: Option<usize>) -> String {
    let mut out = format!("{}\n", paint(STRONG, text::line(&explanation.key)));
    if let Some(driver) = &explanation.driver {
        let _ = writeln!(out, "  driver {}", text::line(driver));
    }
    match &explanation.installation {
        Some(one) => {
            heading(&mut out, "Bundle");
            super::bundle::installation(&mut out, one, columns);
        }
        None => definitions(&mut out, explanation, columns),
    }
    if !explanation.origin.is_empty() {
        heading(&mut out, "In the graph because");
        for origin in &explanation.origin {
            item(&mut out, 2, &origin.to_string(), None, columns);
        }
    }
    if !explanation.references.is_empty() {
        heading(&mut out, "Reference fields");
        for field in explanation.references.iter().take(SHOWN) {
            item(&mut out, 2, &field.to_string(), Some(&field.location.to_string()), columns);
        }
        if explanation.references.len() > SHOWN {
            let _ = writeln!(out, "  … and {} more", explanation.references.len() - SHOWN);
        }
    }
    neighbours(&mut out, "Depends on", &explanation.dependencies, columns);
    neighbours(&mut out, "Needed by", &explanation.dependents, columns);
    out
}

/// A text and the place that it is about. What does not fit continues on further lines, and the place
/// then has a line of its own.
fn item(out: &mut String, indent: usize, words: &str, at: Option<&str>, columns: Option<usize>) {
    const FURTHER: usize = 4;
    let (words, at) = (text::line(words), at.map(text::line));
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent).max(20));
    let whole = text::width(&words) + at.as_ref().map_or(0, |at| text::width(at) + 2);
    let fits = whole <= room;
    let lines = match text::width(&words) <= room {
        true => vec![words.into_owned()],
        false => text::wrap(&words, room.saturating_sub(FURTHER)),
    };
    for (number, line) in lines.iter().enumerate() {
        let indent = if number == 0 { indent } else { indent + FURTHER };
        let _ = write!(out, "{}{:indent$}{line}", if number == 0 { "" } else { "\n" }, "");
    }
    if let Some(at) = at {
        let before = if fits { "  ".to_owned() } else { format!("\n{:1$}", "", indent + FURTHER) };
        let _ = write!(out, "{before}{}", paint(DIM, at));
    }
    out.push('\n');
}

/// The same with a styled word before the text.
fn marked(
    out: &mut String,
    (style, word): (anstyle::Style, &str),
    words: &str,
    at: &str,
    columns: Option<usize>,
) {
    let mut lines = String::new();
    item(&mut lines, 2, &format!("{word}  {words}"), Some(at), columns);
    out.push_str(&lines.replacen(word, &paint(style, word), 1));
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{}", paint(STRONG, title));
}

fn definitions(out: &mut String, explanation: &Explanation, columns: Option<usize>) {
    heading(out, "Definition");
    match (&explanation.winner, explanation.tied.as_slice()) {
        (Some(winner), _) => candidate(out, (CREATE, "wins"), winner, columns),
        (None, []) if explanation.in_graph == Some(true) => {
            let _ = writeln!(out, "  none matches: the built-in echo is used");
        }
        (None, []) => {
            let _ = writeln!(out, "  {}", paint(WARNING, "none matches"));
        }
        (None, tied) => {
            for one in tied {
                candidate(out, (WARNING, "tied"), one, columns);
            }
        }
    }
    if let Some(second) = &explanation.runner_up {
        candidate(out, (anstyle::Style::new(), "next"), second, columns);
    }
    if explanation.losers.is_empty() {
        return;
    }
    heading(out, "Not used");
    for loser in &explanation.losers {
        let criterion = loser.criterion.as_ref().map(|c| format!(" {c}")).unwrap_or_default();
        let definition = format!("{}{criterion}", loser.definition);
        item(out, 2, &definition, Some(&loser.location.to_string()), columns);
        for reason in &loser.reasons {
            item(out, 6, &reason.to_string(), None, columns);
        }
    }
}

fn candidate(out: &mut String, word: (anstyle::Style, &str), candidate: &Candidate, columns: Option<usize>) {
    let Candidate { definition, criterion, specificity, location, .. } = candidate;
    let words = format!("{definition} {criterion}, specificity {specificity}");
    marked(out, word, &words, &location.to_string(), columns);
}

fn neighbours(out: &mut String, title: &str, all: &[Neighbour], columns: Option<usize>) {
    if all.is_empty() {
        return;
    }
    heading(out, title);
    for neighbour in all.iter().take(SHOWN) {
        let _ = writeln!(out, "  {}", text::line(&neighbour.key));
        for reason in &neighbour.reasons {
            let placeholder = reason.placeholder.as_ref().map(|p| format!(" {p}")).unwrap_or_default();
            let at = reason.location.as_ref().map(ToString::to_string);
            let words = format!("{}{placeholder}", reason.kind.name());
            item(out, 6, &words, at.as_deref(), columns);
        }
    }
    if all.len() > SHOWN {
        let _ = writeln!(out, "  … and {} more", all.len() - SHOWN);
    }
}
