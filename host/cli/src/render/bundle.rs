//! Renders the requirements of a bundle as text.

use std::fmt::Write as _;

use crate::report::bundle::{Explained, InstallationReport};
use crate::style::{DIM, STRONG, WARNING, paint};
use crate::text;

/// How many rejected candidates are shown for each installation.
const SHOWN: usize = 5;

/// The installations, beginning with the bundle itself, and the parameters and credentials that are
/// not set yet.
pub(crate) fn explained(report: &Explained, columns: Option<usize>) -> String {
    let mut out = String::new();
    for one in report.installations.iter().rev() {
        if !out.is_empty() {
            out.push('\n');
        }
        installation(&mut out, one, columns);
    }
    if !report.unmapped.is_empty() {
        let _ = writeln!(out, "\n{}", paint(WARNING, "Not set yet"));
        for one in &report.unmapped {
            let what = format!("{} {} of {}", one.part, one.name, one.installation);
            let described = one.description.as_deref().map(|words| format!(": {words}")).unwrap_or_default();
            item(&mut out, "  ", "    ", &format!("{what}{described}"), columns);
        }
    }
    out
}

/// An installation: its bundle and why, its sharing, its requirements, and the candidates that were
/// not chosen.
pub(super) fn installation(out: &mut String, one: &InstallationReport, columns: Option<usize>) {
    let _ = writeln!(out, "{}  {}", paint(STRONG, text::line(&one.name)), text::line(&one.bundle));
    let mut line = |words: &str| item(out, "  ", "    ", words, columns);
    if !one.is_root {
        line(&format!("chosen: {}", one.why));
        line(&match (&one.uses, one.group.as_deref()) {
            (Some(used), _) => format!("uses {}, in {}", used.id, used.environment),
            (None, None) => "not shared".to_owned(),
            (None, Some("")) => "shared with every environment that requires the same".to_owned(),
            (None, Some(group)) => format!("shared within the group `{group}`"),
        });
    }
    for required in &one.requires {
        line(&format!("requires {}: {}", required.name, required.installation));
    }
    for given in &one.given {
        let from = match given.reads.is_empty() {
            true => "is set".to_owned(),
            false => format!("from {}", given.reads.join(", ")),
        };
        line(&format!("{} {} {from}", given.part, given.name));
    }
    for value in one.values.iter().filter(|value| value.part == "output") {
        let from = match value.from {
            "driver" => " from its driver",
            "requirement" => " from a requirement",
            "parameter" => " from a parameter",
            "default" => " from its default",
            "nothing" => " without a value",
            _ => "",
        };
        let secret = if value.sensitive { ", secret" } else { "" };
        line(&format!("output {}{from}{secret}", value.name));
    }
    let installations = one.rejected.iter().map(|over| (&over.id, &over.why));
    let bundles = one.lost.iter().map(|lost| (&lost.bundle, &lost.why));
    let all: Vec<_> = installations.chain(bundles).collect();
    for (name, why) in all.iter().take(SHOWN) {
        let mut lines = String::new();
        item(&mut lines, "  ", "    ", &format!("not {name}: {why}"), columns);
        lines.lines().for_each(|line| {
            let _ = writeln!(out, "{}", paint(DIM, line));
        });
    }
    if all.len() > SHOWN {
        let more = format!("and {} more were not chosen", all.len() - SHOWN);
        let _ = writeln!(out, "  {}", paint(DIM, more));
    }
}

/// A text, wrapped to the terminal.
fn item(out: &mut String, first: &str, further: &str, words: &str, columns: Option<usize>) {
    let words = text::line(words);
    let lines = match columns {
        Some(columns) => text::wrap(&words, columns.saturating_sub(further.len()).max(20)),
        None => vec![words.into_owned()],
    };
    for (number, line) in lines.iter().enumerate() {
        let _ = writeln!(out, "{}{line}", if number == 0 { first } else { further });
    }
}
