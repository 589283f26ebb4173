//! Renders the impact of changed documents on environments for people. Environments with the same
//! changes form a group.

use crate::report::impact::{Effect, Group, Groups, Part, Resource, Summary};
use crate::style::{CREATE, DELETE, DIM, STRONG, UPDATE, WARNING, paint};
use crate::text;

/// How many environments of a group are named.
const SHOWN: usize = 10;
/// How many inputs and parts of a resource are named.
const NAMED: usize = 4;

/// The impact as text for a terminal.
pub(crate) fn text(groups: &Groups, summary: &Summary, columns: Option<usize>) -> String {
    let mut out = String::new();
    for group in groups.in_order() {
        let style = match group.effect {
            Effect::Rejected | Effect::Delete | Effect::Replace => DELETE,
            Effect::Update => UPDATE,
            Effect::Create => CREATE,
            Effect::Unknown | Effect::Unchanged => WARNING,
        };
        out.push_str(&format!("{}\n", paint(STRONG, heading(&group))));
        let mut item = |mark: &str, text: &str| {
            let width = columns.unwrap_or(usize::MAX).saturating_sub(4).max(20);
            for (number, line) in text::wrap(text, width).iter().enumerate() {
                let mark = if number == 0 { paint(style, mark) } else { " ".to_owned() };
                out.push_str(&format!("  {mark} {line}\n"));
            }
        };
        for resource in &group.resources {
            item(mark(resource.action), &described(resource));
        }
        for fault in &group.faults {
            item("✗", &text::line(&place(fault)));
        }
        if group.effect == Effect::Unknown {
            item("?", "the documents of the last deployment are not recorded");
        }
        let names: Vec<String> = group.environments.iter().map(ToString::to_string).collect();
        let names = text::line(&self::names(&names, SHOWN)).into_owned();
        let width = columns.unwrap_or(usize::MAX).saturating_sub(2).max(20);
        for line in text::wrap(&format!("in {names}"), width) {
            out.push_str(&format!("  {}\n", paint(DIM, line)));
        }
        out.push('\n');
    }
    let line = format!("{}: {}", text::count(summary.environments, "environment"), counts(summary));
    let lines = columns.map_or_else(|| vec![line.clone()], |columns| text::wrap(&line, columns));
    out.push_str(&lines.join("\n"));
    out.push('\n');
    out
}

/// The impact as a comment on a pull request.
pub(crate) fn markdown(groups: &Groups, summary: &Summary) -> String {
    let mut out = format!(
        "### Impact on {}\n\n{}\n",
        text::count(summary.environments, "environment"),
        capital(&counts(summary))
    );
    for group in groups.in_order() {
        out.push_str(&format!("\n#### {}\n\n", heading(&group)));
        for resource in &group.resources {
            out.push_str(&format!("- {}\n", escaped(&described(resource))));
        }
        for fault in &group.faults {
            out.push_str(&format!("- {}\n", escaped(&place(fault))));
        }
        if group.effect == Effect::Unknown {
            out.push_str("- The documents of the last deployment are not recorded.\n");
        }
        let environments = group.environments.iter().map(ToString::to_string);
        let names: Vec<String> = environments.map(|name| format!("`{}`", code(&name))).collect();
        match names.len() {
            0..=SHOWN => out.push_str(&format!("\nIn {}\n", names.join(", "))),
            more => out.push_str(&format!(
                "\n<details><summary>{more} environments</summary>\n\n{}\n\n</details>\n",
                names.join(", ")
            )),
        }
    }
    out
}

fn heading(group: &Group) -> String {
    let what = match group.effect {
        Effect::Rejected => "rejected",
        Effect::Delete => "delete",
        Effect::Replace => "replace",
        Effect::Update => "update",
        Effect::Create => "create",
        Effect::Unknown => "unknown",
        Effect::Unchanged => "unchanged",
    };
    let loses = if group.loses_data { ", loses data" } else { "" };
    format!("{}: {what}{loses}", text::count(group.environments.len(), "environment"))
}

fn mark(action: &str) -> &'static str {
    match action {
        "create" => "+",
        "delete" => "-",
        "replace" => "±",
        _ => "~",
    }
}

/// A resource with its action and the reasons.
fn described(resource: &Resource) -> String {
    let mut line = format!("{} {}", text::line(&resource.key), resource.action);
    let reasons: Vec<_> = resource.reasons.iter().map(|reason| text::line(&reason.message)).collect();
    if !reasons.is_empty() {
        line.push_str(&format!(": {}", reasons.join("; ")));
    }
    if !resource.paths.is_empty() && resource.action != "create" {
        let paths: Vec<String> = resource.paths.iter().map(|path| super::value::path(path)).collect();
        line.push_str(&format!(" ({})", text::line(&names(&paths, NAMED))));
    }
    if !resource.parts.is_empty() {
        let part = |part: &Part| format!("{} {}", part.action.as_str(), part.address);
        let parts: Vec<String> = resource.parts.iter().map(part).collect();
        line.push_str(&format!("; of its parts: {}", text::line(&names(&parts, NAMED))));
    }
    if let Some(loses) = &resource.loses {
        line.push_str(&format!("; loses {}", text::line(loses)));
    }
    line
}

fn place(fault: &crate::report::impact::RejectionReason) -> String {
    match &fault.at {
        Some(at) => format!("{} ({at})", fault.message),
        None => fault.message.clone(),
    }
}

/// The first names, and the number of the others.
fn names(all: &[String], shown: usize) -> String {
    let first = all.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(shown) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The number of environments per effect.
fn counts(summary: &Summary) -> String {
    let word = |effect| match effect {
        Effect::Unchanged => "unchanged",
        Effect::Create => "create",
        Effect::Update => "update",
        Effect::Replace => "replace",
        Effect::Delete => "delete",
        Effect::Rejected => "rejected",
        Effect::Unknown => "unknown",
    };
    let mut parts: Vec<String> =
        summary.parts().into_iter().map(|(effect, count)| format!("{} {count}", word(effect))).collect();
    if summary.loses_data > 0 {
        parts.push(format!("of these {} lose data", summary.loses_data));
    }
    if parts.is_empty() { "nothing is recorded".to_owned() } else { parts.join(", ") }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Escapes text so that Markdown shows it unchanged.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~') {
            escaped.push('\\');
        }
        escaped.push(if letter.is_control() { ' ' } else { letter });
    }
    escaped
}

/// Prepares text for a code span in Markdown.
fn code(text: &str) -> String {
    text.chars().map(|letter| if letter == '`' || letter.is_control() { ' ' } else { letter }).collect()
}
