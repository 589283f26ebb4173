//! A plan as a comment on a pull request: the summary, a line for each resource, and the values before and
//! after, folded.

use purlin_engine::{Action, Cause, Step};
use purlin_model::{Context, Key};

use super::{Plan, PlanView, Variant};
use crate::render::comment::{self, Block, Comment, Part};
use crate::report::plan::Observed;
use crate::text;

/// What a comment says about a plan besides its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) context: &'a Context,
    /// The resources with which nothing can be done.
    pub(crate) refused: &'a [(Key, Cause)],
    /// What was found out before the plan was made.
    pub(crate) observed: &'a [Observed],
}

/// The comment.
pub(crate) fn markdown(plan: &Plan<'_>, about: About<'_>) -> String {
    let Context { org, app, env, .. } = about.context;
    let steps = plan.steps.iter().filter(|step| step.action != Action::None);
    let refused = about.refused.iter().map(|(key, cause)| format!("✗ {key}: {cause}"));
    let warnings = plan.warnings.iter().map(|one| format!("{}: {}", one.key, one.message));
    let observed = about.observed.iter().map(|one| format!("{}: {}", one.key, one.finding.message));
    let renames = plan.suggestions.iter().map(super::rename);
    let mut others = String::new();
    super::waiting(&mut others, plan, PlanView::of_comment());
    super::moved(&mut others, plan);
    let others = comment::plain(&others);
    let others = others.lines().filter(|line| !line.is_empty()).map(str::to_owned);
    let parts = vec![
        list("**Nothing can be done with:**", "text", refused, "resource"),
        Part { title: String::new(), blocks: blocks(steps.map(|step| (*step, super::rows(step))).collect()) },
        list("**Warnings:**", "text", warnings, "warning"),
        list("**If these were only renamed:**", "sh", renames, "command"),
        list("**Differences from the record:**", "text", observed, "resource"),
        list("**Also:**", "text", others, "line"),
    ];
    let name = format!("{org}/{app}/{}", env.id);
    let summary = comment::plain(&super::summary(plan));
    let of_type = comment::code(&env.kind);
    Comment {
        marker: format!("plan {name}"),
        head: format!("### Plan for {} (type {of_type})\n\n{summary}", comment::code(&name)),
        parts,
        noun: "list",
        command: format!("purlin plan --env {} --verbose", text::shell_word(&env.id)),
    }
    .render()
}

/// A list of lines with text of others under a heading.
fn list(
    title: &str,
    language: &'static str,
    lines: impl Iterator<Item = String>,
    noun: &'static str,
) -> Part {
    let block = Block::new(None, language, lines.map(|line| text::line(&line).into_owned()), noun);
    match block.entries.is_empty() {
        true => Part::default(),
        false => Part { title: title.to_owned(), blocks: vec![block] },
    }
}

/// A line for each resource, and the values before and after, folded. The most important resource comes first:
/// what loses data, then what goes away.
pub(crate) fn blocks(mut resources: Vec<(&Step, Vec<Vec<Variant<'_>>>)>) -> Vec<Block> {
    resources.sort_by_key(|(step, _)| {
        let action = match step.action {
            Action::Delete => 0,
            Action::Replace => 1,
            Action::Update => 2,
            Action::Adopt => 3,
            Action::Create => 4,
            Action::Read | Action::None => 5,
        };
        (step.loss().is_none(), action)
    });
    let line = |(step, _): &(&Step, _)| {
        let mut line = String::new();
        super::one_line(&mut line, step, PlanView::of_line());
        comment::plain(&line).trim_start().to_owned()
    };
    let in_full = |(step, rows): &(&Step, Vec<Vec<Variant<'_>>>)| {
        let mut out = String::new();
        super::resource(&mut out, step, rows, PlanView::of_comment());
        comment::plain(&out)
    };
    vec![
        Block::new(None, "diff", resources.iter().map(line), "resource"),
        Block::new(Some("Values before and after"), "text", resources.iter().map(in_full), "resource"),
    ]
}
