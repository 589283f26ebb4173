//! Renders the differences between two sets of documents as text.

use purlin_engine::{Difference, ValueChange};

use crate::report::diff::{Diff, Differing};
use crate::style::{CREATE, DELETE, STRONG, UPDATE, paint};
use crate::text;

use super::value;

/// The column at which changes begin.
const INDENT: usize = 6;

/// The differences as lines of text, no wider than the terminal if possible.
pub(crate) fn render(diff: &Diff<'_>, columns: Option<usize>) -> String {
    let (before, after) = (diff.before.describe(), diff.after.describe());
    let summary = diff.summary;
    if diff.differences.is_empty() {
        return format!("No difference between {before} and {after}.\n");
    }
    let mut out = format!("{}\n", paint(STRONG, format!("From {before} to {after}")));
    for one in &diff.differences {
        differing(&mut out, one, columns);
    }
    let parts: Vec<String> = [
        (summary.added, "added"),
        (summary.changed, "changed"),
        (summary.moved, "moved"),
        (summary.removed, "removed"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{number} {what}"))
    .collect();
    out.push_str(&format!("\n{} {}.\n", paint(STRONG, "Difference:"), parts.join(", ")));
    out
}

fn differing(out: &mut String, one: &Differing<'_>, columns: Option<usize>) {
    let sign = match one.difference {
        Difference::Added(_) => paint(CREATE, "+"),
        Difference::Removed => paint(DELETE, "-"),
        Difference::Changed(_) => paint(UPDATE, "~"),
        Difference::Moved { .. } => paint(UPDATE, "→"),
    };
    out.push_str(&format!("  {sign} {}\n", paint(STRONG, text::line(one.key))));
    if let Some(from) = one.difference.moved_from() {
        out.push_str(&format!("{:INDENT$}moved from {}\n", "", text::line(from.as_str())));
    }
    for change in one.difference.changes() {
        let path = value::path(&change.path);
        // A long path gets a line of its own.
        let own = columns.is_some_and(|columns| text::width(&path) > columns / 2);
        let used = if own { INDENT + 4 } else { INDENT + text::width(&path) + 2 };
        let room = columns.map_or(usize::MAX / 2, |columns| columns.saturating_sub(used).max(12));
        let sides = sides(change, matches!(one.difference, Difference::Added(_)), room);
        if own {
            out.push_str(&format!("{:INDENT$}{path}:\n{:INDENT$}    {sides}\n", "", ""));
        } else {
            out.push_str(&format!("{:INDENT$}{path}: {sides}\n", ""));
        }
    }
}

fn sides(change: &ValueChange, added: bool, room: usize) -> String {
    let before = change.before.as_ref().map(value::one_line);
    let after = change.after.as_ref().map(value::one_line);
    match (before, after) {
        (None, Some(after)) if added => text::fit(&after, room).into_owned(),
        (before, after) => {
            let before = before.unwrap_or_else(|| "(none)".into());
            let after = after.unwrap_or_else(|| "(removed)".into());
            // Two masked values look the same although they differ.
            let remark = if before == after { " (changed)" } else { "" };
            let (before, after) =
                value::pair(&before, &after, room.saturating_sub(text::width(remark)).max(12));
            format!("{before} → {after}{remark}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::diff::{Side, Tally};
    use purlin_model::{Key, Value};

    fn check(render: &dyn Fn(&Diff<'_>)) {
        let side = |deployment| Side { deployment, id: None };
        let change =
            |path: &str, before, after| ValueChange { path: path.into(), before, after, replaces: false };
        let secret = |text: &str| Some(Value::from(text).into_secret());
        let all = [
            (
                "dns.public#shared.api",
                Difference::Added(vec![change("/values/host", None, Some("api.example.com".into()))]),
            ),
            (
                "postgres.default#modules.web.externals.db",
                Difference::Changed(vec![
                    change("/values/size", Some(serde_json::json!(10).into()), None),
                    change("/secrets/password", secret("hunter1"), secret("hunter2")),
                    change(
                        "/values/a path that is so long that it takes a line/of.its/own",
                        Some("x".repeat(90).as_str().into()),
                        Some(format!("{}y", "x".repeat(90)).as_str().into()),
                    ),
                    change("/driver", Some("purlin/echo".into()), Some("purlin/template".into())),
                ]),
            ),
            ("s3.default#shared.gone\u{1b}", Difference::Removed),
            (
                "s3.default#shared.new",
                Difference::Moved {
                    from: Key::parse("s3#shared.old").expect("a key"),
                    changes: vec![change("/values/name", Some("old".into()), Some("new".into()))],
                },
            ),
        ];
        render(&Diff {
            format: 1,
            before: side(Some(3)),
            after: side(None),
            differences: all.iter().map(|(key, difference)| Differing { key, difference }).collect(),
            summary: Tally { added: 1, changed: 1, moved: 1, removed: 1 },
        });
    }

    #[test]
    fn a_difference_reads_well_at_80_and_140_columns() {
        check(&|diff| {
            for columns in [80, 140] {
                let text = render(diff, Some(columns));
                assert!(!text.contains("hunter"));
                let text = anstream::adapter::strip_str(&text).to_string();
                assert!(text.lines().all(|line| text::width(line) <= columns), "{text}");
                insta::assert_snapshot!(format!("diff_at_{columns}"), text);
            }
        });
    }
}
