//! Shows a run to people: a bar on a terminal, otherwise a line for each finished resource, and at
//! the end the failures and the resources that they blocked.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use purlin_documents::SourceMap;
use purlin_engine::{Action, Cause, Event, Phase, Summary, ValueChange};
use purlin_model::{Diagnostic, Finding, Key};

use crate::render::value;
use crate::style::{CREATE, DELETE, DIM, GOOD, UPDATE, WARNING, paint};
use crate::text;
use crate::ui::{Level, Ui};

/// How many running steps are named below the bar.
const NAMED: usize = 6;
/// With at most this many steps, a terminal also shows a line for each of them.
const FEW: usize = 40;
/// How often the caller should call [`Progress::draw`].
pub(crate) const REDRAW: Duration = Duration::from_millis(100);

/// The progress of a run.
pub(crate) struct Progress<'a> {
    ui: &'a Ui,
    total: usize,
    finished: usize,
    bar: Option<ProgressBar>,
    running: BTreeMap<Key, (Action, Option<String>)>,
    silent: bool,
}

impl<'a> Progress<'a> {
    /// For a run with this many steps. A silent one only counts.
    pub(crate) fn new(ui: &'a Ui, total: usize, silent: bool) -> Self {
        let bar = (!ui.bars.is_hidden() && total > 0 && !silent).then(|| {
            let bar = ui.bars.add(ProgressBar::new(total as u64));
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {elapsed}{msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━╌"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { ui, total, finished: 0, bar, running: BTreeMap::new(), silent }
    }

    /// Reports that the user asked to stop.
    pub(crate) fn cancelling(&mut self) {
        self.ui.raw(&format!(
            "{} finishing {}; press Ctrl-C again to stop immediately\n",
            paint(WARNING, "stopping:"),
            text::count(self.running.len(), "call")
        ));
    }

    /// Handles an event.
    pub(crate) fn event(&mut self, event: &Event) {
        let Event::Resource { key, action, phase } = event else { return };
        match phase {
            Phase::Started => {
                self.running.insert(key.clone(), (*action, None));
            }
            Phase::Progress { message, percent } => {
                let percent = percent.map(|percent| format!(" {percent} %")).unwrap_or_default();
                let remark = format!("{}{percent}", text::line(message));
                self.running.entry(key.clone()).or_insert((*action, None)).1 = Some(remark);
            }
            Phase::Observed { finding, changes } => {
                let line = observed(key, *finding, changes);
                self.tell(&line, true);
            }
            Phase::Succeeded { took, done } => {
                self.done(key);
                let (begun, action) = (*action, done);
                // A read without a result is not worth a message. A deletion that turns out not to
                // be necessary is reported with the resource that stays.
                if matches!(begun, Action::Read | Action::Delete) && *action == Action::None {
                    return;
                }
                // A read is reported only if it finds something.
                if *action == Action::Read && self.ui.level < Level::Verbose {
                    return;
                }
                if *action == Action::None {
                    self.tell(&format!("{} unchanged {}", self.position(), named(key, *took)), false);
                } else {
                    self.tell(&format!("{} {} {}", self.position(), past(*action), named(key, *took)), false);
                }
            }
            // The report at the end has the cause, with its place in the documents.
            Phase::Failed { cause, took } => {
                self.done(key);
                let ended = match &**cause {
                    Cause::InProgress(_) => paint(UPDATE, "in progress"),
                    _ => paint(DELETE, "failed"),
                };
                self.tell(&format!("{} {ended} {}", self.position(), named(key, *took)), true);
            }
            // The report at the end names them.
            Phase::Waiting { .. } => {}
            Phase::Skipped { .. } => self.done(key),
        }
    }

    fn done(&mut self, key: &Key) {
        self.running.remove(key);
        self.finished += 1;
    }

    fn position(&self) -> String {
        let digits = self.total.to_string().len();
        paint(DIM, format!("[{:>digits$}/{}]", self.finished.min(self.total), self.total))
    }

    /// Shows a line about a resource. With a bar, only errors are shown if there are many steps.
    fn tell(&self, line: &str, wrong: bool) {
        if self.silent {
            return;
        }
        if wrong || self.bar.is_none() || self.total <= FEW || self.ui.level >= Level::Verbose {
            self.ui.say(line);
        }
    }

    /// Updates the bar. Do not call it for each event: there may be many thousands per second.
    pub(crate) fn draw(&self) {
        let Some(bar) = &self.bar else { return };
        bar.set_position(self.finished.min(self.total) as u64);
        let columns = self.ui.error_columns().unwrap_or(80);
        let mut message = String::new();
        for (key, (action, remark)) in self.running.iter().take(NAMED) {
            let mut line = format!("  {} {}", present(*action), text::line(key.as_str()));
            if let Some(remark) = remark {
                let _ = write!(line, ": {remark}");
            }
            let _ = write!(message, "\n{}", text::fit(&line, columns.saturating_sub(1)));
        }
        if self.running.len() > NAMED {
            let _ = write!(message, "\n  … and {} more", self.running.len() - NAMED);
        }
        bar.set_message(message);
    }

    /// Removes the bar.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            self.ui.bars.remove(&bar);
        }
    }
}

/// The result of reading a resource, with the paths that differ.
pub(crate) fn observed(key: &Key, finding: Finding, changes: &[ValueChange]) -> String {
    let paths: Vec<String> = changes.iter().map(|change| value::path(&change.path)).collect();
    let paths = if paths.is_empty() { String::new() } else { format!(" ({})", paths.join(", ")) };
    format!("{}: {finding}{paths}", text::line(key.as_str()))
}

fn present(action: Action) -> &'static str {
    match action {
        Action::Create => "creating",
        Action::Update => "updating",
        Action::Replace => "replacing",
        Action::Delete => "deleting",
        Action::Read => "reading",
        Action::Adopt => "adopting",
        Action::None => "checking",
    }
}

/// The past tense of an action.
pub(crate) fn past(action: Action) -> String {
    match action {
        Action::Create => paint(CREATE, "created"),
        Action::Update => paint(UPDATE, "updated"),
        Action::Replace => paint(UPDATE, "replaced"),
        Action::Delete => paint(DELETE, "deleted"),
        Action::Read => "read".to_owned(),
        Action::Adopt => paint(CREATE, "adopted"),
        Action::None => "checked".to_owned(),
    }
}

fn named(key: &Key, took: Duration) -> String {
    format!("{} {}", text::line(key.as_str()), paint(DIM, format!("({})", text::duration(took))))
}

/// The result of a run: one line if it succeeded, otherwise the causes of failures first, each with
/// the resources that it blocked.
pub(crate) fn report(summary: &Summary, look: &RunContext<'_>) -> String {
    let mut out = String::new();
    if !summary.failed.is_empty() {
        out.push('\n');
    }
    if let Some(cause) = &summary.halted {
        let _ = writeln!(out, "{} {}", paint(DELETE, "failed:"), text::line(&cause.to_string()));
    }
    if let Some(fault) = &summary.integrity {
        let _ = writeln!(
            out,
            "{} the records are inconsistent, which is a bug in Purlin: {}",
            paint(DELETE, "failed:"),
            text::line(fault)
        );
    }
    out.push_str(&failures(summary, look));
    let failed: Vec<&Key> = summary.failed.iter().map(|(key, _)| key).collect();
    let rest: Vec<&Key> = summary
        .skipped
        .iter()
        .filter(|(_, because)| because.as_ref().is_none_or(|because| !failed.contains(&because)))
        .map(|(key, _)| key)
        .collect();
    waiting(&mut out, summary, look.columns);
    let unknown: Vec<&Key> = summary.unknown.iter().collect();
    list(&mut out, "the next run determines the outcome of", &unknown);
    list(&mut out, if summary.cancelled { "stopped before" } else { "not tried" }, &rest);
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    let _ = writeln!(out, "{}", headline(summary));
    out
}

/// What failed, each cause once, with the resources that it affects and those that it blocks.
pub(crate) fn failures(summary: &Summary, look: &RunContext<'_>) -> String {
    let mut out = String::new();
    for (faults, keys) in causes(summary) {
        let faults = faults.into_iter().map(|fault| fault.concerning(&keys)).collect::<Vec<_>>();
        out.push_str(&look.sources.render(&faults, true, look.columns));
        let blocked = |because: &Option<Key>| because.as_ref().is_some_and(|because| keys.contains(&because));
        let blocked: Vec<&Key> =
            summary.skipped.iter().filter(|(_, because)| blocked(because)).map(|(key, _)| key).collect();
        list(&mut out, "blocked", &blocked);
        out.push('\n');
    }
    out
}

/// The data that the report of a run needs.
pub(crate) struct RunContext<'a> {
    /// The texts of the documents, as far as they are available.
    pub(crate) sources: &'a SourceMap,
    /// The width of the terminal.
    pub(crate) columns: usize,
}

/// The causes of failures without repetition, each with the resources that it affects.
fn causes(summary: &Summary) -> Vec<(Vec<Diagnostic>, Vec<&Key>)> {
    let mut causes: Vec<(Vec<Diagnostic>, Vec<&Key>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (key, cause) in &summary.failed {
        let faults = cause.diagnostics();
        let at = *known.entry(format!("{faults:?}")).or_insert(causes.len());
        match causes.get_mut(at) {
            Some((_, keys)) => keys.push(key),
            None => causes.push((faults, vec![key])),
        }
    }
    causes
}

/// A title and the keys; of many keys, only the first.
fn list(out: &mut String, title: &str, keys: &[&Key]) {
    const LISTED: usize = 10;
    if keys.is_empty() {
        return;
    }
    let _ = writeln!(out, "{title} {}:", text::count(keys.len(), "resource"));
    for key in keys.iter().take(LISTED) {
        let _ = writeln!(out, "    {}", text::line(key.as_str()));
    }
    if keys.len() > LISTED {
        let _ = writeln!(out, "    … and {} more", keys.len() - LISTED);
    }
}

/// The resources that wait, and why.
fn waiting(out: &mut String, summary: &Summary, columns: usize) {
    const LISTED: usize = 10;
    if summary.waiting.is_empty() {
        return;
    }
    let _ = writeln!(out, "waiting {}:", text::count(summary.waiting.len(), "resource"));
    for (key, reasons) in summary.waiting.iter().take(LISTED) {
        let _ = writeln!(out, "    {}", text::line(key.as_str()));
        for reason in reasons {
            for line in text::wrap(&text::line(&reason.to_string()), columns.saturating_sub(8).max(20)) {
                let _ = writeln!(out, "        {line}");
            }
        }
    }
    if summary.waiting.len() > LISTED {
        let _ = writeln!(out, "    … and {} more", summary.waiting.len() - LISTED);
    }
}

fn headline(summary: &Summary) -> String {
    let done = summary.done;
    let parts: Vec<String> = [
        (done.create, "created"),
        (done.update, "updated"),
        (done.replace, "replaced"),
        (done.delete, "deleted"),
        (done.adopt, "adopted"),
        (done.read, "read"),
        (done.none, "unchanged"),
        (summary.failed.len() - summary.in_progress(), "failed"),
        (summary.in_progress(), "in progress"),
        (summary.skipped.len(), "not tried"),
        (summary.waiting.len(), "waiting"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{number} {what}"))
    .collect();
    let parts = if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") };
    let word = match (summary.cancelled, summary.is_success()) {
        (true, _) => paint(WARNING, "Stopped"),
        (_, true) => paint(GOOD, "Done"),
        _ if summary.only_waits() => paint(WARNING, "Waiting"),
        _ if summary.only_progresses() => paint(UPDATE, "In progress"),
        _ => paint(DELETE, "Failed"),
    };
    let how = if summary.only_waits() || summary.only_progresses() { "after" } else { "in" };
    format!("{word} {how} {}: {parts}.", text::duration(summary.took))
}

#[cfg(test)]
mod tests {
    use super::*;
    use purlin_engine::Tally;

    fn rendered(summary: &Summary) -> String {
        let look = RunContext { sources: &SourceMap::default(), columns: 80 };
        anstream::adapter::strip_str(&report(summary, &look)).to_string()
    }

    #[test]
    fn causes_come_before_blocked_resources() {
        let key = |text: &str| Key::parse(text).expect("a key");
        let summary = Summary {
            done: Tally { create: 2, ..Tally::default() },
            failed: vec![
                (
                    key("postgres#modules.web.externals.db"),
                    Cause::NoDriver("no\u{1b}[31m driver\nfor it".into()),
                ),
                (key("s3#shared.a"), Cause::NoDriver("the same".into())),
                (key("s3#shared.b"), Cause::NoDriver("the same".into())),
            ],
            skipped: vec![
                (key("workload#modules.web"), Some(key("postgres#modules.web.externals.db"))),
                (key("dns#shared.late"), None),
                (key("workload#modules.api"), Some(key("s3#shared.b"))),
            ],
            cancelled: false,
            calls: 3,
            ends_staleness: false,
            proves_staleness: false,
            waiting: Vec::new(),
            unknown: vec![key("s3#shared.a")],
            not_shown: Vec::new(),
            halted: None,
            integrity: None,
            took: Duration::from_millis(1234),
        };
        insta::assert_snapshot!(rendered(&summary));
    }

    #[test]
    fn a_good_end_is_one_line() {
        let done = Summary {
            done: Tally { none: 3, ..Tally::default() },
            took: Duration::from_millis(5),
            ..Summary::default()
        };
        assert_eq!(rendered(&done), "Done in 5 ms: 3 unchanged.\n");
    }
}
