//! Renders the check of a driver for people: one line per rule, followed by details of the
//! problems.

use std::fmt::Write as _;

use anstyle::Style;
use purlin_conformance::{Cases, CasesFrom, ConformanceReport, Finding, Outcome, Status};
use serde_json::Value;

use crate::style::{DELETE, DIM, GOOD, HINT, STRONG, UPDATE, paint};
use crate::text;

/// The maximum width of the details, even if the terminal is wider.
const WIDEST: usize = 100;
/// The width of the label before a detail.
const WORD: usize = 9;

/// The complete result, at most this wide.
pub(crate) fn render(report: &ConformanceReport, columns: Option<usize>) -> String {
    let columns = columns.unwrap_or(80).min(WIDEST);
    let mut out = String::new();
    let title = format!("{} {}", report.driver, report.version);
    let _ = writeln!(out, "{}  {}", paint(STRONG, text::line(&title)), text::line(&phrase(&report.cases)));
    let grants = match report.grants.as_slice() {
        [] => "granted nothing".to_owned(),
        grants => format!("granted {}", grants.join(", ")),
    };
    for line in text::wrap(&text::line(&grants), columns) {
        let _ = writeln!(out, "{}", paint(DIM, line));
    }
    out.push('\n');
    let width = report.rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in &report.rules {
        line(&mut out, rule, width, columns);
    }
    for rule in report.rules.iter().filter(|rule| !rule.findings.is_empty()) {
        for found in &rule.findings {
            detail(&mut out, rule, found, columns);
        }
    }
    rest(&mut out, report);
    out.push('\n');
    let _ = writeln!(out, "{}", summary(report));
    out
}

/// A short description of the cases.
fn phrase(cases: &Cases) -> String {
    match cases.from {
        CasesFrom::File => format!("{} of check.yaml", text::count(cases.names.len(), "case")),
        CasesFrom::Schema => "1 case generated from its schema; a check.yaml gives real ones".to_owned(),
    }
}

fn line(out: &mut String, rule: &Outcome, width: usize, columns: usize) {
    let (style, word) = style_of(rule.status);
    let skipped = rule.skipped.first().filter(|_| rule.status == Status::Skipped);
    let description = skipped.map_or(rule.title, String::as_str);
    let room = columns.saturating_sub(width + 11).max(24);
    let mut lines = text::wrap(&text::line(description), room).into_iter();
    let first = lines.next().unwrap_or_default();
    let blanks = " ".repeat(8usize.saturating_sub(word.len()));
    let plain = |line: String| if skipped.is_some() { paint(DIM, line) } else { line };
    let _ = writeln!(out, "{}{blanks} {:<width$}  {}", paint(style, word), rule.id, plain(first));
    for more in lines {
        let _ = writeln!(out, "{}{}", " ".repeat(width + 11), plain(more));
    }
}

fn style_of(status: Status) -> (Style, &'static str) {
    match status {
        Status::Ok => (GOOD, "ok"),
        Status::Advice => (UPDATE, "advice"),
        Status::Failed => (DELETE, "failed"),
        Status::Skipped => (DIM, "skipped"),
    }
}

fn detail(out: &mut String, rule: &Outcome, found: &Finding, columns: usize) {
    let (style, word) = style_of(rule.status);
    let case = found.case.as_ref().map(|case| format!(", case {}", text::line(case))).unwrap_or_default();
    let _ = writeln!(out, "\n{} {}{case}", paint(style, word), paint(STRONG, rule.id));
    let mut part = |word: &str, style: Style, content: &str| {
        let content = text::block(content);
        let mut lines = text::wrap(&content, columns.saturating_sub(WORD + 2).max(24)).into_iter();
        let first = lines.next().unwrap_or_default();
        let blanks = " ".repeat(WORD.saturating_sub(word.len()));
        let _ = writeln!(out, "  {}{blanks}{first}", paint(style, word));
        for more in lines {
            let _ = writeln!(out, "  {}{more}", " ".repeat(WORD));
        }
    };
    part("what", DIM, &found.what);
    if let Some(request) = &found.request {
        part("request", DIM, &compact(request));
    }
    if let Some(answer) = &found.answer {
        part("answer", DIM, &compact(answer));
    }
    part("expected", DIM, &found.expected);
    if let Some(hint) = &found.hint {
        part("hint:", HINT, hint);
    }
}

/// JSON with spaces at which lines may be broken.
fn compact(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| format!("{key}: {}", compact(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn rest(out: &mut String, report: &ConformanceReport) {
    if !report.cleared.is_empty() {
        let _ = writeln!(out, "\nDeleted objects that an earlier run left:");
        for id in &report.cleared {
            let _ = writeln!(out, "  {}", text::line(id));
        }
    }
    if !report.left.is_empty() {
        let _ = writeln!(out, "\n{}", paint(DELETE, "Could not be deleted, and still exist:"));
        for left in &report.left {
            let _ = writeln!(
                out,
                "  {} (case {}): {}",
                text::line(&left.id),
                text::line(&left.case),
                text::line(&left.why)
            );
        }
    }
}

fn summary(report: &ConformanceReport) -> String {
    let [ok, advice, failed, skipped] =
        [Status::Ok, Status::Advice, Status::Failed, Status::Skipped].map(|status| report.count(status));
    let mut parts = vec![paint(if failed == 0 { GOOD } else { STRONG }, format!("{ok} ok"))];
    if advice > 0 {
        parts.push(paint(UPDATE, format!("{advice} advice")));
    }
    if failed > 0 {
        parts.push(paint(DELETE, format!("{failed} failed")));
    }
    if skipped > 0 {
        parts.push(format!("{skipped} skipped"));
    }
    if report.stopped {
        parts.push("stopped before the end".to_owned());
    }
    parts.join(", ")
}
