//! Renders the explanation of how a resource is provisioned as text.

use std::fmt::Write as _;

use purlin_host::internal::graph::Candidate;

use crate::report::explain::{Explanation, Neighbour};
use crate::style::{CREATE, DIM, STRONG, WARNING, paint};
use crate::text;

/// How many neighbours of each kind are shown.
const SHOWN: usize = 50;

/// The explanation as lines of text.
pub(crate) fn render(explanation: &Explanation) -> String {
    let mut out = format!("{}\n", paint(STRONG, text::line(&explanation.key)));
    if let Some(driver) = &explanation.driver {
        let _ = writeln!(out, "  driver {}", text::line(driver));
    }
    match &explanation.installation {
        Some(one) => {
            heading(&mut out, "Bundle");
            super::bundle::installation(&mut out, one, None);
        }
        None => definitions(&mut out, explanation),
    }
    if !explanation.origin.is_empty() {
        heading(&mut out, "In the graph because");
        for origin in &explanation.origin {
            let _ = writeln!(out, "  {}", text::line(&origin.to_string()));
        }
    }
    if !explanation.references.is_empty() {
        heading(&mut out, "Reference fields");
        for field in explanation.references.iter().take(SHOWN) {
            let at = paint(DIM, text::line(&field.location.to_string()));
            let _ = writeln!(out, "  {}  {at}", text::line(&field.to_string()));
        }
        if explanation.references.len() > SHOWN {
            let _ = writeln!(out, "  … and {} more", explanation.references.len() - SHOWN);
        }
    }
    neighbours(&mut out, "Depends on", &explanation.dependencies);
    neighbours(&mut out, "Needed by", &explanation.dependents);
    out
}

fn heading(out: &mut String, title: &str) {
    let _ = writeln!(out, "\n{}", paint(STRONG, title));
}

fn definitions(out: &mut String, explanation: &Explanation) {
    heading(out, "Definition");
    match (&explanation.winner, explanation.tied.as_slice()) {
        (Some(winner), _) => candidate(out, &paint(CREATE, "wins"), winner),
        (None, []) if explanation.in_graph == Some(true) => {
            let _ = writeln!(out, "  none matches: the built-in echo is used");
        }
        (None, []) => {
            let _ = writeln!(out, "  {}", paint(WARNING, "none matches"));
        }
        (None, tied) => {
            for one in tied {
                candidate(out, &paint(WARNING, "tied"), one);
            }
        }
    }
    if let Some(second) = &explanation.runner_up {
        candidate(out, "next", second);
    }
    if explanation.losers.is_empty() {
        return;
    }
    heading(out, "Not used");
    for loser in &explanation.losers {
        let criterion = loser.criterion.as_ref().map(|c| format!(" {c}")).unwrap_or_default();
        let _ = writeln!(
            out,
            "  {}{}  {}",
            text::line(&loser.definition),
            text::line(&criterion),
            paint(DIM, text::line(&loser.location.to_string()))
        );
        for reason in &loser.reasons {
            let _ = writeln!(out, "      {}", text::line(&reason.to_string()));
        }
    }
}

fn candidate(out: &mut String, word: &str, candidate: &Candidate) {
    let _ = writeln!(
        out,
        "  {word}  {} {}, specificity {}  {}",
        text::line(&candidate.definition),
        text::line(&candidate.criterion.to_string()),
        candidate.specificity,
        paint(DIM, text::line(&candidate.location.to_string()))
    );
}

fn neighbours(out: &mut String, title: &str, all: &[Neighbour]) {
    if all.is_empty() {
        return;
    }
    heading(out, title);
    for neighbour in all.iter().take(SHOWN) {
        let _ = writeln!(out, "  {}", text::line(&neighbour.key));
        for reason in &neighbour.reasons {
            let placeholder = reason.placeholder.as_ref().map(|p| format!(" {p}")).unwrap_or_default();
            let at = reason.location.as_ref().map(ToString::to_string);
            let at = at.map(|at| format!("  {}", paint(DIM, text::line(&at)))).unwrap_or_default();
            let _ = writeln!(out, "      {}{}{at}", reason.kind.name(), text::line(&placeholder));
        }
    }
    if all.len() > SHOWN {
        let _ = writeln!(out, "  … and {} more", all.len() - SHOWN);
    }
}
