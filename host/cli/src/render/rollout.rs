//! Renders roll-outs.

use purlin_host::{RolloutReport, RolloutState, RolloutStatus};

use super::table::{Cell, Table};
use crate::report::rollout::Entry;
use crate::style::{DELETE, DIM, GOOD, STRONG, UPDATE, WARNING, paint};
use crate::text;

/// The roll-outs of a state as a table.
pub(crate) fn list(rollouts: &[Entry], columns: Option<usize>) -> String {
    let rows = rollouts.iter().map(|one| {
        [
            one.number.to_string().into(),
            Cell::new(one.status.as_str()).styled(style(one.status)),
            format!("{}/{}", one.opened, one.waves).into(),
            Cell::time(&one.started),
            one.by.as_str().into(),
            one.reason.as_deref().unwrap_or_default().into(),
        ]
    });
    Table {
        titles: ["NUMBER", "STATUS", "WAVES", "STARTED", "BY", "REASON"],
        rows: rows.collect(),
        yields: &[(5, 12), (3, 10), (4, 6)],
    }
    .render(columns)
}

fn style(status: RolloutStatus) -> anstyle::Style {
    match status {
        RolloutStatus::Running | RolloutStatus::Undoing => UPDATE,
        RolloutStatus::Paused => WARNING,
        RolloutStatus::Stopped => DELETE,
        RolloutStatus::Done | RolloutStatus::Undone => GOOD,
    }
}

/// How far a roll-out is, in one line.
pub(crate) fn progress(report: &RolloutReport) -> String {
    let rollout = &report.rollout;
    let counts: Vec<String> = report
        .counts()
        .into_iter()
        .map(|(state, count)| paint(style_of(state), format!("{count} {}", words_of(state))))
        .collect();
    format!(
        "{} {}{}; {}: {}",
        paint(STRONG, format!("Roll-out {}", rollout.number)),
        paint(style(rollout.status), words(rollout.status)),
        wave(report),
        text::count(report.environments.len(), "environment"),
        counts.join(", ")
    )
}

/// `, wave 2 of 3`, while that matters.
fn wave(report: &RolloutReport) -> String {
    let rollout = &report.rollout;
    match rollout.waves {
        0 | 1 => String::new(),
        _ if rollout.status.is_undone() => String::new(),
        waves => format!(", wave {} of {waves}", rollout.opened),
    }
}

fn words(status: RolloutStatus) -> &'static str {
    match status {
        RolloutStatus::Running => "is running",
        RolloutStatus::Paused => "is paused",
        RolloutStatus::Stopped => "has stopped",
        RolloutStatus::Done => "is done",
        RolloutStatus::Undoing => "is being undone",
        RolloutStatus::Undone => "is undone",
    }
}

/// A state in words, after a number of environments.
fn words_of(state: RolloutState) -> &'static str {
    match state {
        RolloutState::Failed => "failed",
        RolloutState::NeedsConsent => "waiting for consent",
        RolloutState::InProgress => "in progress",
        RolloutState::Closed => "closed",
        RolloutState::Pending => "pending",
        RolloutState::Matching => "matching",
        RolloutState::Left => "deployed by others since",
        RolloutState::Superseded => "superseded",
        RolloutState::Undone => "undone",
        RolloutState::Unchanged => "as before",
        RolloutState::Unreached => "never reached",
        RolloutState::Gone => "gone",
    }
}

fn style_of(state: RolloutState) -> anstyle::Style {
    match state {
        RolloutState::Failed => DELETE,
        RolloutState::NeedsConsent | RolloutState::Closed => WARNING,
        RolloutState::InProgress | RolloutState::Pending => UPDATE,
        RolloutState::Matching | RolloutState::Undone => GOOD,
        RolloutState::Left
        | RolloutState::Superseded
        | RolloutState::Unchanged
        | RolloutState::Unreached
        | RolloutState::Gone => DIM,
    }
}

/// A roll-out with the environments that need attention, or with all of them.
pub(crate) fn report(report: &RolloutReport, everything: bool, columns: Option<usize>) -> String {
    let rollout = &report.rollout;
    let room = columns.unwrap_or(usize::MAX);
    let status = paint(style(rollout.status), words(rollout.status));
    let mut out =
        format!("{} {status}{}\n", paint(STRONG, format!("Roll-out {}", rollout.number)), wave(report));
    let mut add = |line: &str, indent: &str| {
        for line in text::wrap(line, room.saturating_sub(indent.len())) {
            out.push_str(&format!("{indent}{line}\n"));
        }
    };
    let counts = report.counts().into_iter();
    let counts: Vec<String> = counts.map(|(state, count)| format!("{count} {}", words_of(state))).collect();
    let total = text::count(report.environments.len(), "environment");
    add(&format!("{total}: {}", counts.join(", ")), "  ");
    let holder = &rollout.holder;
    let started = format!("started {} by {} on {}", text::moment(holder.since), holder.user, holder.host);
    add(&text::line(&started), "  ");
    for (what, why) in [("reason", &rollout.reason), (rollout.status.as_str(), &rollout.why)] {
        if let Some(why) = why {
            add(&text::line(&format!("{what}: {why}")), "  ");
        }
    }
    let is_shown = |state: RolloutState| everything || !state.is_settled() && state != RolloutState::Pending;
    let shown: Vec<_> = report.environments.iter().filter(|one| is_shown(one.state)).collect();
    if shown.is_empty() {
        return out;
    }
    let rows = shown.iter().map(|one| {
        [
            Cell::new(&one.environment.to_string()),
            Cell::new(&one.kind),
            one.wave.to_string().into(),
            one.state.as_str().into(),
            one.why.as_deref().unwrap_or_default().into(),
        ]
    });
    let table = Table {
        titles: ["ENVIRONMENT", "TYPE", "WAVE", "STATE", "WHY"],
        rows: rows.collect(),
        yields: &[(4, 20), (0, 16)],
    };
    out.push('\n');
    out.push_str(&table.render(columns.filter(|_| !everything)));
    out
}

/// What somebody can do about a roll-out that is not over.
pub(crate) fn hints(report: &RolloutReport) -> Vec<String> {
    let number = report.rollout.number;
    let has = |state: RolloutState| report.environments.iter().any(|one| one.state == state);
    let mut hints = Vec::new();
    if has(RolloutState::NeedsConsent) {
        hints.push(format!(
            "`purlin rollout resume {number} --allow-data-loss` allows what would be lost, with `--environments` in some environments only"
        ));
    }
    match report.rollout.status {
        RolloutStatus::Stopped => hints.push(format!(
            "`purlin rollout resume {number}` tries the failed environments again and goes on; `purlin rollout undo {number}` restores the earlier documents"
        )),
        RolloutStatus::Paused => hints.push(format!("`purlin rollout resume {number}` goes on")),
        _ if has(RolloutState::Failed) => hints.push(
            "`purlin status --env ENV` shows the resources that failed; each turn tries again".to_owned(),
        ),
        _ => {}
    }
    hints
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use purlin_host::{Environment, Holder, MayLose, Rollout, RolloutEnvironment};

    use super::*;

    fn sample(status: RolloutStatus) -> RolloutReport {
        let holder = Holder {
            user: "ada".into(),
            host: "build-7".into(),
            pid: 1,
            command: "purlin rollout start".into(),
            since: 1_790_000_000_000,
        };
        let rollout = Rollout {
            number: 3,
            changed: holder.clone(),
            holder,
            reason: Some("a larger pool\u{1b}[31m".into()),
            plan: [0; 32],
            status,
            why: (status == RolloutStatus::Stopped).then(|| "1 environment failed".into()),
            waves: 3,
            opened: 2,
            pause_after: None,
            max_failures: 0,
            excused: Vec::new(),
            may_lose: MayLose::Nowhere,
            supersedes: Vec::new(),
        };
        let states =
            [RolloutState::Matching, RolloutState::Failed, RolloutState::NeedsConsent, RolloutState::Pending];
        let environments = states.iter().enumerate().map(|(number, state)| RolloutEnvironment {
            environment: Environment {
                org: "default".into(),
                app: "shop".into(),
                env: format!("env-{number}").into(),
            },
            kind: Arc::from(if number == 3 { "production" } else { "development" }),
            wave: u32::try_from(number).unwrap_or(0).min(2) + 1,
            state: *state,
            why: (*state == RolloutState::Failed).then(|| "1 resource failed".into()),
        });
        RolloutReport { rollout, environments: environments.collect() }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_report_fits_and_names_what_needs_somebody() {
        let shown = plain(&report(&sample(RolloutStatus::Stopped), false, Some(80)));
        let expected = "\
Roll-out 3 has stopped, wave 2 of 3
  4 environments: 1 failed, 1 waiting for consent, 1 pending, 1 matching
  started 2026-09-21T14:13:20Z by ada on build-7
  reason: a larger pool\\u{1b}[31m
  stopped: 1 environment failed

ENVIRONMENT            TYPE         WAVE  STATE          WHY
env-1 of default/shop  development  2     failed         1 resource failed
env-2 of default/shop  development  3     needs-consent
";
        assert_eq!(
            shown.lines().map(str::trim_end).collect::<Vec<_>>(),
            expected.lines().collect::<Vec<_>>()
        );
        assert!(
            plain(&report(&sample(RolloutStatus::Stopped), true, Some(80))).contains("env-0 of default/shop")
        );
    }

    #[test]
    fn every_status_says_what_to_do() {
        let of = |status| hints(&sample(status)).join("\n");
        assert!(of(RolloutStatus::Stopped).contains("`purlin rollout resume 3` tries"));
        assert!(of(RolloutStatus::Paused).contains("`purlin rollout resume 3` goes on"));
        assert!(of(RolloutStatus::Running).contains("--allow-data-loss"));
    }
}
