//! Renders the impact of changed documents on environments for people. Environments with the same
//! changes form a group; each resource is shown as in a plan.

use purlin_engine::Step;

use super::comment::{self, Block, Comment, Part};
use super::plan::{self, PlanView, Variant};
use crate::report::impact::{Effect, Group, Groups, RejectionReason, Summary};
use crate::style::{DELETE, DIM, STRONG, WARNING, paint};
use crate::text;

/// How many environments of a type are named.
const SHOWN: usize = 10;
/// Why the effect on an environment is unknown.
const NOT_RECORDED: &str = "the documents of the last deployment are not recorded";

/// The impact as text for a terminal.
pub(crate) fn text(groups: &Groups, summary: &Summary, look: PlanView) -> String {
    let mut out = String::new();
    for group in groups.in_order() {
        out.push_str(&format!("{}\n", paint(STRONG, heading(group))));
        let mut item = |style, mark: &str, text: &str, indent: usize| {
            let width = look.columns.unwrap_or(usize::MAX).saturating_sub(indent + 2).max(20);
            for (number, line) in text::wrap(text, width).iter().enumerate() {
                let mark = if number == 0 { paint(style, mark) } else { " ".to_owned() };
                out.push_str(&format!("{:indent$}{mark} {line}\n", ""));
            }
        };
        for fault in rejections(group) {
            item(DELETE, "✗", &text::line(&described(fault)), 2);
            if let Some(help) = &fault.help {
                item(DIM, " ", &text::line(help), 2);
            }
        }
        if group.effect == Effect::Unknown {
            item(WARNING, "?", NOT_RECORDED, 2);
        }
        let resources = resources(group);
        let is_brief = resources.len() > plan::MANY && !look.everything;
        for (step, rows) in &resources {
            match is_brief {
                true => plan::one_line(&mut out, step, look),
                false => plan::resource(&mut out, step, rows, look),
            }
        }
        let shown = if look.everything { usize::MAX } else { SHOWN };
        for (kind, names) in group.by_type() {
            let line = format!("in {}: {}", of_type(kind), self::names(&names, shown));
            let width = look.columns.unwrap_or(usize::MAX).saturating_sub(2).max(20);
            for line in text::wrap(&text::line(&line), width) {
                out.push_str(&format!("  {}\n", paint(DIM, line)));
            }
        }
        out.push('\n');
    }
    let line = self::summary(summary);
    let lines = look.columns.map_or_else(|| vec![line.clone()], |columns| text::wrap(&line, columns));
    out.push_str(&lines.join("\n"));
    out.push('\n');
    out
}

/// The impact as a comment on a pull request. `command` shows the same without a limit.
pub(crate) fn markdown(groups: &Groups, summary: &Summary, command: String) -> String {
    let unused = unused(summary).map_or(String::new(), |unused| format!(" {}.", capital(&unused)));
    let parts = groups.in_order().into_iter().map(|group| {
        let rejection = |fault: &RejectionReason| {
            let help = fault.help.as_ref().map_or(String::new(), |help| format!("\n  {}", text::line(help)));
            format!("✗ {}{help}", text::line(&described(fault)))
        };
        let by_type = group.by_type();
        let of_each = by_type.iter().map(|(kind, names)| {
            let names: Vec<String> = names.iter().map(|name| comment::code(name)).collect();
            let kind = kind.map_or_else(|| of_type(None).to_owned(), comment::code);
            format!("In {kind}: {}", self::names(&names, SHOWN))
        });
        let mut title = format!("#### {}\n\n{}", heading(group), of_each.collect::<Vec<_>>().join("  \n"));
        if group.effect == Effect::Unknown {
            title.push_str(&format!("\n\n{}.", capital(NOT_RECORDED)));
        }
        let all = by_type.iter().filter(|_| group.environments.len() > SHOWN).flat_map(|(kind, names)| {
            let line = move |name| format!("{name} ({})", kind.unwrap_or("type unknown"));
            names.iter().map(move |name| text::line(&line(name)).into_owned())
        });
        let mut blocks = vec![Block::new(None, "text", rejections(group).map(rejection), "fault")];
        blocks.extend(plan::blocks(resources(group)));
        blocks.push(Block::new(Some("All environments"), "text", all, "environment"));
        Part { title, blocks }
    });
    let head = format!(
        "### Impact on {}\n\n{}.{unused}",
        text::count(summary.environments, "environment"),
        capital(&counts(summary))
    );
    Comment { marker: "impact".into(), head, parts: parts.collect(), noun: "group", command }.render()
}

/// The resources of a group, each with its changes and the values of these.
fn resources(group: &Group) -> Vec<(&Step, Vec<Vec<Variant<'_>>>)> {
    let first = group.environments.first();
    let steps = first.iter().flat_map(|first| first.resources.iter().enumerate());
    let with_values = steps.map(|(number, step)| {
        let rows = (0..step.changes.len()).map(|change| values(group, number, change)).collect();
        (step, rows)
    });
    with_values.collect()
}

/// The different values of a change, each with the environments that have them.
fn values(group: &Group, resource: usize, change: usize) -> Vec<Variant<'_>> {
    let mut different: Vec<(Variant<'_>, Vec<String>)> = Vec::new();
    for environment in &group.environments {
        let change = environment.resources.get(resource).and_then(|step| step.changes.get(change));
        let Some(change) = change else { continue };
        let name = environment.environment.to_string();
        match different.iter_mut().find(|(known, _)| known.change == change) {
            Some((_, names)) => names.push(name),
            None => different.push((Variant { change, place: String::new() }, vec![name])),
        }
    }
    if let [(only, _)] = &*different {
        return vec![only.clone()];
    }
    let placed = different.into_iter().map(|(value, all)| Variant { place: names(&all, 1), ..value });
    placed.collect()
}

fn rejections(group: &Group) -> impl Iterator<Item = &RejectionReason> {
    group.environments.first().into_iter().flat_map(|first| &first.faults)
}

fn heading(group: &Group) -> String {
    let loses = if group.loses_data { ", loses data" } else { "" };
    format!("{}: {}{loses}", text::count(group.environments.len(), "environment"), word(group.effect))
}

fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Unchanged => "unchanged",
        Effect::Create => "create",
        Effect::Update => "update",
        Effect::Replace => "replace",
        Effect::Delete => "delete",
        Effect::Rejected => "rejected",
        Effect::Unknown => "unknown",
    }
}

fn of_type(kind: Option<&str>) -> &str {
    kind.unwrap_or("environments of unknown type")
}

fn described(fault: &RejectionReason) -> String {
    let key = fault.key.as_ref().map_or(String::new(), |key| format!("{key}: "));
    let place = fault.at.as_ref().map_or(String::new(), |at| format!(" ({at})"));
    format!("{key}{}{place}", fault.message)
}

/// The first names, and the number of the others.
fn names(all: &[String], shown: usize) -> String {
    let first = all.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(shown) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn summary(summary: &Summary) -> String {
    let environments = text::count(summary.environments, "environment");
    let unused = unused(summary).map_or(String::new(), |unused| format!("; {unused}"));
    format!("{environments}: {}{unused}", counts(summary))
}

/// The number of environments that the change is not about.
fn unused(summary: &Summary) -> Option<String> {
    match summary.unused {
        0 => None,
        1 => Some("1 other uses none of these documents".to_owned()),
        many => Some(format!("{many} others use none of these documents")),
    }
}

/// The number of environments per effect.
fn counts(summary: &Summary) -> String {
    let mut parts: Vec<String> =
        summary.parts().into_iter().map(|(effect, count)| format!("{} {count}", word(effect))).collect();
    match summary.loses_data {
        0 => {}
        1 => parts.push("of these 1 loses data".to_owned()),
        many => parts.push(format!("of these {many} lose data")),
    }
    if parts.is_empty() { "nothing is recorded".to_owned() } else { parts.join(", ") }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
