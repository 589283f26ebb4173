//! Renders the status of an environment for people: a line with the counts, and a tree in which the
//! resources that are not ready show why.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use purlin_engine::ResourceStatus;
use purlin_state::Outcome;

use super::tree::{self, Node};
use crate::report::status::{Resource, StatusReport};
use crate::style::{DELETE, DIM, GOOD, STRONG, UPDATE, WARNING, paint};
use crate::text;

/// With at most this many resources, all of them are shown.
const FEW: usize = 40;
/// The width of a line without the key of the resource.
const ROOM: usize = 44;

/// Options for showing the status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusView {
    /// The width of the terminal, if it is limited.
    pub(crate) columns: Option<usize>,
    /// The height of the terminal, if it is limited.
    pub(crate) rows: Option<usize>,
    /// Whether every resource is shown, however many there are.
    pub(crate) everything: bool,
    /// The current time in milliseconds since 1970.
    pub(crate) now: u64,
}

/// The status as lines of text, each ending in a newline.
pub(crate) fn render(report: &StatusReport, look: StatusView) -> String {
    let mut out = heading(report, look);
    let wrong = wrong(report);
    let all = look.everything || report.resources.len() <= FEW;
    let index: HashMap<&str, usize> =
        report.resources.iter().enumerate().map(|(index, resource)| (&*resource.key, index)).collect();
    let nodes = report.resources.iter().enumerate().map(|(at, resource)| Node {
        name: name(resource, look),
        notes: notes(resource),
        // Resources that are not ready come first, followed by workloads, which are what developers
        // know.
        rank: (
            match (wrong[at], resource.key.starts_with("workload.")) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            },
            resource.key.clone(),
        ),
        below: resource
            .dependencies
            .iter()
            .filter_map(|key| Some((*index.get(key.as_str())?, String::new())))
            .collect(),
        hidden: !all && !wrong[at],
    });
    let nodes: Vec<Node> = nodes.collect();
    let tree = tree::lines(&nodes, look.columns);
    if !tree.is_empty() {
        let _ = write!(out, "\n{tree}");
    }
    let hidden = nodes.iter().filter(|node| node.hidden).count();
    if hidden > 0 && hidden < nodes.len() {
        let _ =
            writeln!(out, "{}", paint(DIM, format!("and {}, ready", text::count(hidden, "other resource"))));
    }
    cut(out, look)
}

/// Removes the lines that do not fit on the screen.
fn cut(out: String, look: StatusView) -> String {
    let Some(rows) = look.rows.filter(|rows| out.lines().count() > *rows) else { return out };
    let shown = rows.saturating_sub(1);
    let mut short: String = out.lines().take(shown).flat_map(|line| [line, "\n"]).collect();
    let more = format!("… {} more lines: `purlin status` shows them", out.lines().count() - shown);
    let _ = writeln!(short, "{}", paint(DIM, more));
    short
}

fn heading(report: &StatusReport, look: StatusView) -> String {
    let all = report.resources.len();
    let ready = report.summary.get(&ResourceStatus::Ready).copied().unwrap_or(0);
    let count = format!("{ready} of {} ready", text::count(all, "resource"));
    let count = if ready == all { paint(GOOD, count) } else { count };
    let place = report.environment.to_string();
    let mut out = format!("{}: {count}", paint(STRONG, text::line(&place)));
    for (status, count) in report.summary.iter().filter(|(status, _)| **status != ResourceStatus::Ready) {
        let _ = write!(out, ", {count} {}", paint(style(*status), word(*status)));
    }
    out.push('\n');
    if let Some(latest) = &report.deployment {
        let when = ago(latest.at, look.now);
        let line = format!(
            "deployment {} {} {when}, by {}",
            latest.number,
            outcome(report, latest.outcome),
            text::line(&latest.user)
        );
        let _ = writeln!(out, "{}", paint(DIM, line));
    }
    if let Some(rejected) = &report.rejected {
        let faults = text::count(rejected.faults as usize, "error");
        let what = format!("the documents became wrong {}", ago(rejected.since, look.now));
        let _ = writeln!(out, "{} ({faults}), and a watch keeps to those before:", paint(DELETE, what));
        let _ = writeln!(out, "  {}", text::line(&rejected.message));
    }
    if let Some(holder) = &report.locked_by {
        let _ = writeln!(out, "locked by {}", text::line(holder));
        if report.summary.contains_key(&ResourceStatus::Interrupted) {
            let _ = writeln!(out, "{}", paint(DIM, "calls shown as interrupted may still be running"));
        }
    }
    out
}

/// How a deployment ended. One that only left resources waiting did not fail.
fn outcome(report: &StatusReport, outcome: Outcome) -> &'static str {
    let count = |status: ResourceStatus| report.summary.get(&status).copied().unwrap_or(0);
    let failed = [ResourceStatus::Failed, ResourceStatus::Incomplete, ResourceStatus::Interrupted];
    let none_failed = failed.into_iter().all(|status| count(status) == 0);
    let only_waits = count(ResourceStatus::Waiting) > 0 && none_failed;
    match outcome {
        Outcome::Failed if count(ResourceStatus::InProgress) > 0 && none_failed => {
            "left resources in progress"
        }
        Outcome::Failed if only_waits => "left resources waiting",
        outcome => outcome.as_str(),
    }
}

/// Which resources are not ready, or depend on one that is not.
fn wrong(report: &StatusReport) -> Vec<bool> {
    let mut wrong: Vec<bool> =
        report.resources.iter().map(|one| one.status != ResourceStatus::Ready).collect();
    let index: HashMap<&str, usize> =
        report.resources.iter().enumerate().map(|(index, resource)| (&*resource.key, index)).collect();
    let mut dependents = vec![Vec::new(); wrong.len()];
    for (from, resource) in report.resources.iter().enumerate() {
        let below = resource.dependencies.iter().filter_map(|key| index.get(key.as_str()));
        below.for_each(|to| dependents[*to].push(from));
    }
    let mut open: Vec<usize> = (0..wrong.len()).filter(|node| wrong[*node]).collect();
    while let Some(node) = open.pop() {
        for dependent in &dependents[node] {
            if !std::mem::replace(&mut wrong[*dependent], true) {
                open.push(*dependent);
            }
        }
    }
    wrong
}

fn name(resource: &Resource, look: StatusView) -> String {
    let key = purlin_model::Key::short_of(&resource.key);
    // A wrapped line would leave remains when the screen is redrawn.
    let room =
        look.columns.filter(|_| look.rows.is_some()).map(|columns| columns.saturating_sub(ROOM).max(20));
    let key = text::line(&key);
    let key = room.map_or(key.clone(), |room| text::fit(&key, room).into_owned().into());
    let mut name = format!("{key}  {}", paint(style(resource.status), word(resource.status)));
    let worst = resource.conditions.iter().find(|condition| !condition.holds());
    if let Some(since) = worst.and_then(|condition| condition.since) {
        let _ = write!(name, "{}", paint(DIM, format!(" {}", since_when(since, look.now))));
    }
    name
}

/// Why the resource is not ready, without repeating a message.
fn notes(resource: &Resource) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for condition in &resource.conditions {
        let message = text::line(&condition.message).into_owned();
        if !message.is_empty() && !condition.holds() && !notes.contains(&message) {
            notes.push(message);
        }
    }
    notes
}

fn word(status: ResourceStatus) -> String {
    status.as_str().replace('-', " ")
}

fn style(status: ResourceStatus) -> anstyle::Style {
    match status {
        ResourceStatus::Failed
        | ResourceStatus::Incomplete
        | ResourceStatus::Interrupted
        | ResourceStatus::Missing => DELETE,
        ResourceStatus::Waiting | ResourceStatus::NeedsConsent | ResourceStatus::NotReady => WARNING,
        ResourceStatus::Drifted | ResourceStatus::InProgress => UPDATE,
        ResourceStatus::Ready => GOOD,
        _ => DIM,
    }
}

fn since_when(since: u64, now: u64) -> String {
    format!("for {}", span(now.saturating_sub(since)))
}

fn ago(at: u64, now: u64) -> String {
    format!("{} ago", span(now.saturating_sub(at)))
}

/// A rough length of time, for people.
fn span(millis: u64) -> String {
    let seconds = Duration::from_millis(millis).as_secs();
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} min", seconds / 60),
        3_600..=86_399 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => text::count(usize::try_from(seconds / 86_400).unwrap_or(usize::MAX), "day"),
    }
}
