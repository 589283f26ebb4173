//! Renders environments as text.

use purlin_state::Environment;

use crate::report::environment::{Details, Entry, Last, User};
use crate::style::{DIM, STRONG, UPDATE, WARNING, paint};
use crate::text;

use super::table::{Cell, Table};

/// A table of environments.
pub(crate) fn table(entries: &[Entry], columns: Option<usize>) -> String {
    let rows = entries.iter().map(|entry| {
        let Environment { org, app, env } = &entry.environment;
        [
            Cell::new(env),
            format!("{org}/{app}").into(),
            entry.kind.as_deref().unwrap_or("-").into(),
            entry.resources.to_string().into(),
            entry.last.as_ref().map_or_else(|| "-".into(), |last| Cell::time(&last.started)),
            status(entry),
            marks(entry),
        ]
    });
    Table {
        titles: ["ENVIRONMENT", "APPLICATION", "TYPE", "RESOURCES", "DEPLOYED", "STATUS", "MARKS"],
        rows: rows.collect(),
        yields: &[(4, 10), (6, 8), (1, 8), (2, 8), (5, 8), (0, 16)],
    }
    .render(columns)
}

fn status(entry: &Entry) -> Cell {
    match (entry.status(), entry.last.is_some()) {
        (Some(status), _) => Cell::new(&status).styled(WARNING),
        (None, true) => Cell::new("ready"),
        (None, false) => Cell::new("-"),
    }
}

fn marks(entry: &Entry) -> Cell {
    let mut marks = Vec::new();
    if entry.declared && entry.last.is_none() {
        marks.push("new");
    }
    if !entry.declared && entry.others_declared {
        marks.push("undeclared");
    }
    if entry.protected {
        marks.push("protected");
    }
    if entry.closed.is_some() {
        marks.push("closed");
    }
    if entry.in_use.is_some() {
        marks.push("in use");
    }
    let cell = Cell::new(&marks.join(", "));
    match entry.closed.is_some() {
        true => cell.styled(UPDATE),
        false if marks == ["new"] => cell.styled(DIM),
        false => cell,
    }
}

/// One environment.
pub(crate) fn details(details: &Details, columns: Option<usize>) -> String {
    let entry = &details.entry;
    let title = entry.environment.to_string();
    let mut out = format!("{}\n", paint(STRONG, text::line(&title)));
    let mut line = |title: &str, value: &str| out.push_str(&format!("  {title:<11} {}\n", text::line(value)));
    line("type", entry.kind.as_deref().unwrap_or("not known yet"));
    line(
        "namespace",
        match entry.namespace.as_deref() {
            None => "not known yet",
            Some("") => "global",
            Some(namespace) => namespace,
        },
    );
    line("declared", if entry.declared { "yes" } else { "no" });
    line("protected", if entry.protected { "yes" } else { "no" });
    match &entry.closed {
        Some(holder) => line(
            "closed",
            &format!("by {} on {}, {}: {}", holder.user, holder.host, holder.since, holder.reason),
        ),
        None => line("closed", "no"),
    }
    if let Some(user) = &entry.in_use {
        let User { user, host, command, pid, since } = user;
        line("in use", &format!("by {user} on {host} (`{command}`, process {pid}) since {since}"));
    }
    if entry.last.is_some() {
        line("status", entry.status().as_deref().unwrap_or("ready"));
    }
    line("resources", &entry.resources.to_string());
    line("deployed", &entry.last.as_ref().map_or_else(|| "never".to_owned(), last));
    if !details.values.is_empty() {
        let rows = details.values.iter().map(|value| {
            let shown = match (value.hidden, value.value.as_str()) {
                (true, _) => Cell::new("[hidden]").styled(DIM),
                (false, Some(text)) => text.into(),
                (false, None) => value.value.to_string().into(),
            };
            [value.name.as_str().into(), shown, origin(value.origin).into()]
        });
        out.push('\n');
        out.push_str(
            &Table { titles: ["VALUE", "IS", "FROM"], rows: rows.collect(), yields: &[(1, 12)] }
                .render(columns),
        );
    }
    if !details.types.is_empty() {
        let rows = details.types.iter().map(|kind| {
            let statuses: Vec<String> =
                kind.statuses.iter().map(|(status, count)| format!("{count} {status}")).collect();
            [kind.name.as_str().into(), kind.resources.to_string().into(), statuses.join(", ").into()]
        });
        out.push('\n');
        out.push_str(
            &Table { titles: ["TYPE", "RESOURCES", "STATUS"], rows: rows.collect(), yields: &[(2, 12)] }
                .render(columns),
        );
    }
    out
}

fn last(last: &Last) -> String {
    format!("number {}, {} by {}: {}", last.number, last.started, last.user, last.outcome.as_str())
}

fn origin(origin: &str) -> &'static str {
    match origin {
        "deployment" => "a Deployment",
        "environment" => "purlin.yaml",
        "file" => "--values",
        _ => "--set",
    }
}
