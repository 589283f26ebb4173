//! Renders deployments as text.

use std::time::Duration;

use purlin_state::Outcome;

use crate::report::history::{Details, Entry};
use crate::style::{DELETE, GOOD, STRONG, UPDATE, paint};
use crate::text;

use super::plan::sign;
use super::table::{Cell, Table};

/// A table of deployments.
pub(crate) fn table(entries: &[Entry], columns: Option<usize>) -> String {
    let rows = entries.iter().map(|entry| {
        [
            entry.number.to_string().into(),
            entry.started.as_str().into(),
            command(entry).into(),
            Cell::new(entry.outcome.as_str()).styled(style(entry.outcome)),
            done(entry).into(),
            format!("{} on {}", entry.user, entry.host).into(),
        ]
    });
    Table {
        titles: ["NR", "WHEN", "COMMAND", "OUTCOME", "DONE", "WHO"],
        rows: rows.collect(),
        yields: &[(5, 8), (4, 12), (2, 6)],
    }
    .render(columns)
}

fn command(entry: &Entry) -> &str {
    entry.command.strip_prefix("purlin ").unwrap_or(&entry.command)
}

fn style(outcome: Outcome) -> anstyle::Style {
    match outcome {
        Outcome::Succeeded => GOOD,
        Outcome::Failed => DELETE,
        Outcome::Unfinished | Outcome::Cancelled => UPDATE,
    }
}

/// The actions of a deployment in words.
pub(crate) fn done(entry: &Entry) -> String {
    let done = entry.done;
    let parts: Vec<String> = [
        (done.create, "created"),
        (done.update, "updated"),
        (done.replace, "replaced"),
        (done.delete, "deleted"),
        (done.adopt, "adopted"),
        (done.read, "read"),
        (entry.failed, "failed"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{number} {what}"))
    .collect();
    match parts.is_empty() {
        // The steps are recorded at the end of a deployment.
        true if entry.outcome == Outcome::Unfinished => "not known".to_owned(),
        true => "nothing".to_owned(),
        false => parts.join(", "),
    }
}

/// One deployment with its steps.
pub(crate) fn details(deployment: &Details) -> String {
    let entry = &deployment.entry;
    let mut out = format!("{}\n", paint(STRONG, format!("Deployment {}", entry.number)));
    let mut line = |title: &str, value: &str| out.push_str(&format!("  {title:<10} {value}\n"));
    line("id", &text::line(&entry.id));
    line("command", &text::line(&entry.command));
    line("by", &text::line(&format!("{} on {}, process {}", entry.user, entry.host, entry.pid)));
    line("started", &entry.started);
    if let (Some(ended), Some(took)) = (&entry.ended, entry.took) {
        line("ended", &format!("{ended}, after {}", text::duration(Duration::from_millis(took))));
    }
    line("outcome", &paint(style(entry.outcome), entry.outcome.as_str()));
    line("done", &done(entry));
    let documents = match entry.documents {
        None => "none".to_owned(),
        Some(first) if first == entry.number => "its own".to_owned(),
        Some(first) => format!("those of deployment {first}"),
    };
    line("documents", &documents);
    if !deployment.steps.is_empty() {
        out.push('\n');
    }
    for step in &deployment.steps {
        let blanks = 9_usize.saturating_sub(text::width(&step.action) + 2);
        let failed = if step.succeeded { String::new() } else { format!("  {}", paint(DELETE, "failed")) };
        let key = text::line(&step.key);
        out.push_str(&format!("  {}{:blanks$} {key}{failed}\n", sign(&step.action), ""));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::history::{ActionCounts, Step};

    fn entry(number: u64, outcome: Outcome, done: ActionCounts, failed: usize) -> Entry {
        Entry {
            number,
            id: "18f3a-1b2".into(),
            command: "purlin up".into(),
            user: "ada".into(),
            host: "build-7.internal.example.com".into(),
            pid: 4711,
            started: "2026-09-21T14:13:20Z".into(),
            ended: Some("2026-09-21T14:13:27Z".into()),
            outcome,
            rollback_of: None,
            documents: Some(number / 2),
            done,
            failed,
            took: Some(7_000),
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_history_reads_well_at_80_and_140_columns() {
        let failed = ActionCounts { create: 3, replace: 1, ..ActionCounts::default() };
        let succeeded = ActionCounts { create: 120, delete: 3, ..ActionCounts::default() };
        let some = [
            entry(12, Outcome::Failed, failed, 2),
            entry(11, Outcome::Unfinished, ActionCounts::default(), 0),
            entry(10, Outcome::Succeeded, succeeded, 0),
        ];
        for columns in [80, 140] {
            let text = plain(&table(&some, Some(columns)));
            assert!(text.lines().all(|line| text::width(line) <= columns), "{text}");
            insta::assert_snapshot!(format!("history_at_{columns}"), text);
        }
    }

    #[test]
    fn a_deployment_reads_well() {
        let step = |action: &str, key: &str, succeeded| Step {
            urn: String::new(),
            key: key.into(),
            action: action.into(),
            succeeded,
        };
        let deployment = Details {
            entry: entry(12, Outcome::Failed, ActionCounts { replace: 1, ..ActionCounts::default() }, 1),
            steps: vec![
                step("replace", "postgres.default#modules.web.externals.db", true),
                step("create", "dns.default#shared.a\u{1b}[31m", false),
            ],
        };
        insta::assert_snapshot!(plain(&details(&deployment)));
    }
}
