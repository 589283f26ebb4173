//! What `purlin reconcile` says about its passes.

use std::collections::{HashMap, HashSet};

use purlin_engine::{Action, Event, Phase};
use purlin_host::Pass;
use purlin_model::{Finding, Key};

use crate::app::App;
use crate::commands::Output;
use crate::failure::Failure;
use crate::progress;
use crate::style::{DELETE, DIM, GOOD, UPDATE, WARNING, paint};
use crate::surroundings;
use crate::text;
use crate::ui::Level;

/// The maximum width of a cause that is shown on one line.
const LONGEST_CAUSE: usize = 200;

/// Messages that were already shown: a watch shows each of them once.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) json: bool,
    watch: bool,
    failures: HashMap<Key, String>,
    /// Failures with their causes, which only the report after a single pass shows.
    unreported: Vec<String>,
    failure: Option<String>,
    tally: Option<String>,
    warnings: HashSet<String>,
    /// How many resources their systems do not show yet, in this pass.
    unseen: usize,
    /// Whether this pass has shown anything.
    happened: bool,
}

impl Messages {
    pub(super) fn new(json: bool, watch: bool) -> Self {
        Self { json, watch, ..Self::default() }
    }

    pub(super) fn event(&mut self, event: &Event, app: &App) {
        let (key, action, phase) = match event {
            Event::Resource { key, action, phase } => (key, *action, phase),
            Event::Status { .. } if self.json => return app.ui.json_line(event),
            Event::Status { .. } | Event::Summary(_) => return,
        };
        let Some(mut line) = line(key, phase) else { return };
        match phase {
            Phase::Observed { finding: Finding::NotVisible { .. }, .. } => self.unseen += 1,
            Phase::Succeeded { .. } => drop(self.failures.remove(key)),
            Phase::Failed { cause, .. } => {
                let cause = cause.to_string();
                if self.failures.insert(key.clone(), cause.clone()) == Some(cause) {
                    return;
                }
                // The report does not contain failed reads.
                if !self.watch && action != Action::Read {
                    let short = format!("{} {}", paint(DELETE, "failed"), text::line(key.as_str()));
                    self.unreported.push(std::mem::replace(&mut line, short));
                }
            }
            _ => {}
        }
        self.happened = true;
        if self.json {
            app.ui.json_line(event);
        } else {
            self.line(&line, app);
        }
    }

    /// Shows the status of all resources if it changed, and the warnings of the plan. If newer documents
    /// are rejected, those before count.
    pub(super) fn pass(&mut self, pass: &Pass, is_rejected: bool, app: &App) {
        let happened = std::mem::take(&mut self.happened);
        for number in &pass.left_rollouts {
            app.ui.warning(&format!(
                "these documents are not those of roll-out {number}, which leaves this environment alone from now on"
            ));
        }
        self.warn(pass, app);
        let unseen = std::mem::take(&mut self.unseen);
        let matching = if is_rejected { "the documents before" } else { "the documents" };
        let tally = tally(pass, unseen, matching);
        let changed = self.tally.replace(tally.clone()).as_ref() != Some(&tally);
        if self.json {
            if happened || changed {
                app.ui.json_line(&pass.summary);
            }
            return;
        }
        if changed || happened {
            self.line(&tally, app);
        }
        if changed && !pass.needs_consent.is_empty() {
            for (key, action) in &pass.needs_consent {
                let what = if *action == Action::Delete { "to be deleted" } else { "to be replaced" };
                app.ui.say(&format!("  {} {what}", text::line(key.as_str())));
            }
            app.ui.hint(
                "`purlin up` shows these and asks; `reconcile: {allow: [delete, replace]}` in purlin.yaml allows them",
            );
        }
    }

    /// Shows each warning of the plans once, as long as it lasts.
    fn warn(&mut self, pass: &Pass, app: &App) {
        let Some(warnings) = &pass.warnings else { return };
        let now: HashSet<String> = warnings
            .iter()
            .map(|warning| format!("{}: {}", text::line(warning.key.as_str()), text::line(&warning.message)))
            .collect();
        if !self.json {
            let mut new: Vec<&String> = now.difference(&self.warnings).collect();
            new.sort_unstable();
            new.into_iter().for_each(|warning| app.ui.warning(warning));
        }
        self.warnings = now;
    }

    /// The documents are accepted: the next failure is shown again.
    pub(super) fn end_failure(&mut self) {
        self.failure = None;
    }

    /// Shows a failure. While it lasts, the documents before may be in force (`has_earlier`).
    pub(super) fn failure(&mut self, failure: &Failure, has_earlier: bool, app: &App) {
        let words = format!("{failure:?}");
        if self.failure.as_ref() == Some(&words) {
            return;
        }
        self.failure = Some(words);
        let output = if self.json { Output::Events } else { Output::Text };
        failure.tell(&app.ui, output);
        if !self.json && matches!(failure, Failure::Documents { .. }) {
            app.ui.note(match has_earlier {
                true => "the documents before stay in force until these are corrected",
                false => "nothing is changed until the documents are corrected",
            });
        }
    }

    /// Shows the causes of failures if there is no report.
    pub(super) fn causes(&mut self, app: &App) {
        for line in std::mem::take(&mut self.unreported) {
            self.line(&line, app);
        }
    }

    pub(super) fn forget_failure(&mut self) {
        self.failure = None;
        self.failures.clear();
        self.tally = None;
    }

    pub(super) fn line(&self, line: &str, app: &App) {
        if self.json || app.ui.level < Level::Normal {
            return;
        }
        let when = match self.watch {
            true => format!("{} ", paint(DIM, text::moment(surroundings::now()))),
            false => String::new(),
        };
        app.ui.say(&format!("{when}{line}"));
    }
}

/// One line about an event of a resource; `None` if the event is not interesting.
pub(super) fn line(key: &Key, phase: &Phase) -> Option<String> {
    Some(match phase {
        Phase::Observed { finding, changes } => progress::observed(key, *finding, changes),
        Phase::Succeeded { took, done } if !matches!(done, Action::None | Action::Read) => {
            let took = paint(DIM, format!("({})", text::duration(*took)));
            format!("{} {} {took}", progress::past(*done), text::line(key.as_str()))
        }
        Phase::Failed { cause, .. } => {
            let cause = text::line(&cause.to_string()).into_owned();
            let cause = text::fit(&cause, LONGEST_CAUSE);
            format!("{} {}: {cause}", paint(DELETE, "failed"), text::line(key.as_str()))
        }
        _ => return None,
    })
}

/// The status of all resources on one line; `unseen` of them cannot be compared yet with what they are
/// to match.
pub(super) fn tally(pass: &Pass, unseen: usize, matching: &str) -> String {
    if pass.is_in_sync() {
        return match unseen {
            0 => paint(GOOD, format!("every resource matches {matching}")),
            _ => format!("every other resource matches {matching}, {unseen} not visible yet"),
        };
    }
    let mut parts = Vec::new();
    let backed_off = |reasons: &Vec<purlin_model::Reason>| {
        reasons.iter().any(|reason| matches!(reason, purlin_model::Reason::BackedOff { .. }))
    };
    let retried = pass.summary.waiting.iter().filter(|(_, reasons)| backed_off(reasons)).count();
    let failed = pass.summary.failed.len() + retried;
    if failed > 0 {
        parts.push(paint(DELETE, format!("{failed} failed")));
    }
    let waiting = pass.summary.waiting.len() - retried + pass.summary.skipped.len();
    if waiting > 0 {
        parts.push(paint(WARNING, format!("{waiting} waiting")));
    }
    if !pass.drifted.is_empty() {
        parts.push(paint(UPDATE, format!("{} changed by others", pass.drifted.len())));
    }
    if !pass.needs_consent.is_empty() {
        parts.push(paint(WARNING, format!("{} awaiting consent", pass.needs_consent.len())));
    }
    if let Some(cause) = &pass.summary.halted {
        parts.push(paint(DELETE, text::line(&cause.to_string())));
    }
    if parts.is_empty() {
        parts.push("stopped before every resource was checked".to_owned());
    }
    parts.join(", ")
}
