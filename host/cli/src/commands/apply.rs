//! What `up` and `destroy` have in common: showing a plan, asking, carrying it out.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use purlin_host::engine::{Action, CancelToken, Event, Phase, Plan, Summary};
use purlin_host::model::Key;
use purlin_host::{Purlin, Session};

use crate::app::App;
use crate::events;
use crate::failure::{Failure, Status};
use crate::progress::{self, Progress};
use crate::render::plan::{Look, render};
use crate::report;
use crate::text;
use crate::ui::Level;

/// The exit status of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;
/// How long calls that were cut off have to end.
const CUT: Duration = Duration::from_secs(3);

/// How a run is shown, and whether anybody is asked.
pub(super) struct Shown<'a> {
    json: bool,
    yes: bool,
    app: &'a App,
}

impl<'a> Shown<'a> {
    pub(super) fn new(json: bool, yes: bool, app: &'a App) -> Self {
        Self { json, yes, app }
    }

    /// Whether somebody can be asked.
    pub(super) fn can_ask(&self) -> bool {
        !self.json && self.app.ui.is_interactive()
    }

    /// Shows the plan to people.
    pub(super) fn plan(&self, plan: &report::plan::Plan) {
        let ui = &self.app.ui;
        if !self.json && ui.level > Level::Quiet {
            let look = Look { columns: ui.error_columns(), everything: ui.level >= Level::Verbose };
            ui.raw(&render(plan, look));
        }
        if self.json && plan.steps.is_empty() {
            self.nothing();
        }
    }

    /// The end of a run in which there was nothing to do.
    pub(super) fn nothing(&self) {
        if self.json {
            events::write(&Event::Summary(Summary::default()), &self.app.ui);
        }
    }

    /// Asks, unless there is no need or nobody to ask.
    pub(super) fn agrees(&self, question: &str) -> bool {
        self.yes || !self.can_ask() || self.app.ui.confirm(question)
    }
}

/// Carries out a plan.
pub(super) async fn run(
    session: &Session<'_>,
    plan: Plan,
    shown: &Shown<'_>,
    app: &App,
) -> Result<Status, purlin_host::Error> {
    let total = plan.steps.iter().filter(|step| step.action != Action::None).count();
    let drivers = if app.global.timings { drivers(&plan, session).await? } else { HashMap::new() };
    let cancel = CancelToken::default();
    let begun = std::time::Instant::now();
    let mut run = session.apply(plan, cancel.clone()).await?;
    let mut progress = Progress::new(&app.ui, total, shown.json);
    let mut interrupts = Interrupts::new();
    let mut pressed = 0;
    let mut redraw = tokio::time::interval(progress::REDRAW);
    redraw.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let summary = loop {
        let event = tokio::select! {
            event = run.next() => event,
            _ = redraw.tick() => {
                progress.draw();
                continue;
            }
            () = interrupts.next() => {
                pressed += 1;
                match pressed {
                    1 => {
                        cancel.request();
                        progress.cancelling();
                    }
                    2 => {
                        cancel.cut();
                        // Calls end at once now; what does not is left behind.
                        tokio::spawn(async {
                            tokio::time::sleep(CUT).await;
                            std::process::exit(INTERRUPTED);
                        });
                    }
                    _ => std::process::exit(INTERRUPTED),
                }
                continue;
            }
        };
        let Some(event) = event else { break Summary::default() };
        if shown.json {
            events::write(&event, &app.ui);
        }
        progress.event(&event);
        match event {
            Event::Summary(summary) => break summary,
            Event::Resource {
                key, phase: Phase::Succeeded { took } | Phase::Failed { took, .. }, ..
            } => {
                if let Some(driver) = drivers.get(&key) {
                    app.timings.driver(driver, took);
                }
            }
            Event::Resource { .. } => {}
        }
    };
    progress.finish();
    app.timings.add("apply", begun.elapsed());
    if !shown.json && (total > 0 || !summary.is_success()) {
        let text = progress::report(&summary);
        if summary.is_success() {
            app.ui.say(text.trim_end())
        } else {
            app.ui.raw(&text)
        }
        if !summary.failed.is_empty() {
            app.ui.hint("what is done stays done; the same command goes on from here");
        }
    }
    if pressed > 1 {
        std::process::exit(INTERRUPTED);
    }
    Ok(if summary.is_success() { Status::Done } else { Status::Failed })
}

/// The driver of each resource, for `--timings`.
async fn drivers(plan: &Plan, session: &Session<'_>) -> Result<HashMap<Key, String>, purlin_host::Error> {
    let mut drivers = HashMap::new();
    for record in session.records().await? {
        if let Some(key) = record.urn.key() {
            drivers.insert(key, record.driver.name.to_string());
        }
    }
    if let Some(graph) = plan.graph() {
        drivers.extend(graph.nodes().map(|node| (node.key.clone(), node.recipe.driver.name.to_string())));
    }
    Ok(drivers)
}

/// Lets go of the state, and tells once of a key that was made.
pub(super) async fn close(purlin: Purlin, app: &App) -> Result<(), Failure> {
    if let Some(path) = purlin.generated_key() {
        app.ui.note_once(&format!(
            "secrets in the state are encrypted with a new key, `{}`; keep a copy of it in a safe place: without it they cannot be read",
            text::path(&path)
        ));
    }
    let closed = app.timings.wait("close state", purlin.close()).await;
    closed.map_err(|error| Failure::host(error, &purlin_host::documents::SourceMap::default()))
}

/// Ctrl-C, and on Unix a request to terminate.
struct Interrupts {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
}

impl Interrupts {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
        }
    }

    /// The next one; never, where signals cannot be had.
    #[cfg(unix)]
    async fn next(&mut self) {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            let came = match signal {
                Some(signal) => signal.recv().await.is_some(),
                None => false,
            };
            if !came {
                std::future::pending::<()>().await;
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
