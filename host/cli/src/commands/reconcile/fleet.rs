//! `purlin reconcile --all`

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use purlin_engine::{CancelToken, Event};
use purlin_host::{Fleet, Pass, Turn, TurnEnd};
use purlin_state::Environment;
use serde::Serialize;
use tokio::task::JoinSet;

use super::Args;
use super::messages::{line, tally};
use crate::app::App;
use crate::args::Format;
use crate::consent::Consent;
use crate::failure::{Failure, Status};
use crate::interrupts::{Interrupts, Presses};
use crate::report::FORMAT;
use crate::style::{DELETE, DIM, GOOD, WARNING, paint};
use crate::ui::Level;
use crate::{input, surroundings, text};

/// How often to look for environments that are due.
const LOOK: Duration = Duration::from_secs(1);
/// The same while somebody waits for something.
const LOOK_SOON: Duration = Duration::from_millis(100);

pub(super) async fn run(args: &Args, consent: &Consent, app: &App) -> Result<Status, Failure> {
    if args.documents.is_about_one() {
        let message = "`--all` keeps each environment as it was deployed, with its own context and values";
        return Err(Failure::input(message).hint("remove the options for the context and for values"));
    }
    if !args.documents.named().is_empty() {
        let message = "`--all` keeps each environment as it was deployed, with its own documents";
        return Err(Failure::input(message)
            .hint("`purlin rollout start FILE|DIR` brings changed documents to every environment"));
    }
    let workspace = input::workspace_alone(app)?;
    let fail = |error| Failure::host(error, &Default::default());
    let purlin = Arc::new(input::orchestrator(&workspace, app)?);
    if consent.needs_confirmation() {
        let known = purlin.environments().await.map_err(fail)?.len();
        let question = format!("Repair drift in {}?", text::count(known, "environment"));
        if !consent.agrees(&question, app) {
            return Ok(Status::Failed);
        }
    }
    let fleet = Fleet::new(Arc::clone(&purlin), !args.watch, surroundings::now());
    let json = args.format.format == Format::Json;
    let until = if args.watch { Until::Stopped } else { Until::Through };
    let mut host = Host::new(fleet, args.turns, json, args.watch);
    let ended = host.work(until, app).await;
    let Host { fleet, messages, .. } = host;
    drop(fleet);
    if let Ok(purlin) = Arc::try_unwrap(purlin).map_err(drop) {
        purlin.close().await.map_err(fail)?;
    }
    ended?;
    if args.watch {
        return Ok(Status::Done);
    }
    messages.end(app);
    let Summary { out_of_sync, busy, failed, .. } = messages.summary();
    Ok(if out_of_sync + busy + failed == 0 { Status::Done } else { Status::Failed })
}

/// How long a host takes turns.
pub(in crate::commands) enum Until<'a> {
    /// Until somebody stops it.
    Stopped,
    /// Until none is left.
    Through,
    /// Until this answers so; it is asked whenever something may have happened.
    Settled(&'a mut dyn AsyncSettled),
}

/// Says whether turns have led to what they are taken for.
pub(in crate::commands) trait AsyncSettled {
    /// Whether these turns have.
    fn is_settled<'a>(
        &'a mut self,
        taken: &'a TakenTurns,
    ) -> LocalBoxFuture<'a, Result<bool, purlin_host::Error>>;
}

/// The environments whose turns a host took.
#[derive(Default)]
pub(in crate::commands) struct TakenTurns {
    /// All of them.
    pub(in crate::commands) ended: HashSet<Environment>,
    /// Those whose last turn failed as a whole, or whose documents were rejected.
    pub(in crate::commands) failed: HashSet<Environment>,
}

/// This host and its current turns.
pub(in crate::commands) struct Host {
    fleet: Fleet,
    most: usize,
    turns: JoinSet<Turn>,
    cancel: CancelToken,
    messages: Messages,
    taken: TakenTurns,
}

impl Host {
    /// A host that takes up to `most` turns at once, 4 for each processor by default.
    pub(in crate::commands) fn new(
        fleet: Fleet,
        most: Option<std::num::NonZeroUsize>,
        json: bool,
        watch: bool,
    ) -> Self {
        let most = most.map_or_else(
            || 4 * std::thread::available_parallelism().map_or(1, usize::from),
            std::num::NonZeroUsize::get,
        );
        let messages = Messages { json, watch, outcomes: HashMap::new(), last: HashMap::new() };
        let (turns, cancel, taken) = Default::default();
        Self { fleet, most, turns, cancel, messages, taken }
    }

    /// Takes turns until there are none left, or until the user asks to stop; calls in progress are
    /// then completed. Returns whether the user asked.
    pub(in crate::commands) async fn work(
        &mut self,
        mut until: Until<'_>,
        app: &App,
    ) -> Result<bool, Failure> {
        let mut interrupts = Interrupts::new();
        let mut requests = super::Requests::new();
        let mut presses = Presses::new(&self.cancel);
        let is_patient = !matches!(until, Until::Through);
        let look = if matches!(until, Until::Settled(_)) { LOOK_SOON } else { LOOK };
        let fail = |error| Failure::host(error, &Default::default());
        loop {
            let mut is_done = presses.count() > 0;
            if let (Until::Settled(settled), false) = (&mut until, is_done) {
                is_done = settled.is_settled(&self.taken).await.map_err(fail)?;
            }
            if !is_done && self.turns.len() < self.most {
                let taken = self.fleet.take(self.most - self.turns.len()).await;
                match taken {
                    Ok(taken) => {
                        is_done = taken.is_empty() && !is_patient;
                        for environment in taken {
                            let turn = self.fleet.begin(environment, self.cancel.clone());
                            self.turns.spawn(turn);
                        }
                    }
                    Err(error) if is_patient && super::passes(&error) => self.messages.trouble(&error, app),
                    Err(error) => return Err(fail(error)),
                }
            }
            if self.turns.is_empty() && is_done {
                return Ok(presses.count() > 0);
            }
            tokio::select! {
                biased;
                () = interrupts.next() => {
                    presses.press();
                }
                Some(turn) = self.turns.join_next() => {
                    let turn = turn.map_err(|error| Failure::caused("a pass ended early", &error))?;
                    match self.fleet.end(turn).await {
                        Ok((environment, end, events)) => {
                            self.messages.turn(&environment, &end, &events, app);
                            let is_refused =
                                matches!(&end, TurnEnd::Passed(pass) if pass.rejected.is_some());
                            match is_refused || matches!(end, TurnEnd::Failed(_)) {
                                true => self.taken.failed.insert(environment.clone()),
                                false => self.taken.failed.remove(&environment),
                            };
                            self.taken.ended.insert(environment);
                        }
                        Err(error) if is_patient && super::passes(&error) => {
                            self.messages.trouble(&error, app);
                        }
                        Err(error) => return Err(fail(error)),
                    }
                }
                () = requests.next() => match self.fleet.request_all().await {
                    Ok(()) => {}
                    Err(error) if is_patient && super::passes(&error) => self.messages.trouble(&error, app),
                    Err(error) => return Err(fail(error)),
                },
                () = tokio::time::sleep(look) => {}
            }
        }
    }
}

/// The messages about turns. A watch repeats a message only if the status changed.
struct Messages {
    json: bool,
    watch: bool,
    /// How the last turn of each environment ended.
    outcomes: HashMap<Environment, &'static str>,
    last: HashMap<Environment, String>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Summary {
    environments: usize,
    in_sync: usize,
    out_of_sync: usize,
    empty: usize,
    busy: usize,
    failed: usize,
}

#[derive(Serialize)]
struct SummaryEvent<'a> {
    format: u8,
    event: &'static str,
    #[serde(flatten)]
    summary: &'a Summary,
}

#[derive(Serialize)]
struct TurnEvent<'a> {
    format: u8,
    event: &'static str,
    #[serde(flatten)]
    environment: &'a Environment,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<ActionCounts>,
    failed: Vec<Failed>,
    needs_consent: Vec<ActionToConfirm>,
    drifted: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct ActionCounts {
    create: usize,
    update: usize,
    replace: usize,
    delete: usize,
}

#[derive(Serialize)]
struct Failed {
    key: String,
    message: String,
}

#[derive(Serialize)]
struct ActionToConfirm {
    key: String,
    action: &'static str,
}

impl Messages {
    fn turn(&mut self, environment: &Environment, end: &TurnEnd, events: &[Event], app: &App) {
        self.outcomes.insert(environment.clone(), outcome(end));
        let happened = events.iter().filter_map(|event| match event {
            Event::Resource { key, phase, .. } => line(key, phase),
            _ => None,
        });
        let happened: Vec<String> = happened.collect();
        let status = match end {
            TurnEnd::Passed(pass) if pass.is_in_sync() => None,
            TurnEnd::Passed(pass) if pass.rejected.is_some() => {
                pass.rejected.as_ref().map(|error| paint(DELETE, text::line(&error.to_string())))
            }
            TurnEnd::Passed(pass) => Some(tally(pass, 0, "the documents")),
            TurnEnd::Empty => None,
            TurnEnd::Busy(error) => Some(paint(WARNING, text::line(&error.to_string()))),
            TurnEnd::Failed(error) => Some(paint(DELETE, text::line(&error.to_string()))),
        };
        // Only a change of the status, or an action, is worth a message.
        let is_news = match &status {
            None => self.last.remove(environment).is_some() || !happened.is_empty(),
            Some(status) => {
                self.last.insert(environment.clone(), status.clone()).as_ref() != Some(status)
                    || matches!(end, TurnEnd::Passed(pass) if changes(pass) > 0)
            }
        };
        if !is_news {
            return;
        }
        if self.json {
            app.ui.json_line(&TurnEvent::new(environment, end));
            return;
        }
        if app.ui.level < Level::Normal {
            return;
        }
        let when = if self.watch {
            format!("{} ", paint(DIM, text::moment(surroundings::now())))
        } else {
            String::new()
        };
        let name = text::line(&environment.to_string()).into_owned();
        for line in happened {
            app.ui.say(&format!("{when}{name}: {line}"));
        }
        if let Some(status) = status {
            app.ui.say(&format!("{when}{name}: {status}"));
        }
    }

    fn trouble(&mut self, error: &purlin_host::Error, app: &App) {
        app.ui.warning(&text::line(&error.to_string()));
    }

    fn summary(&self) -> Summary {
        let count = |outcome: &str| self.outcomes.values().filter(|one| **one == outcome).count();
        Summary {
            environments: self.outcomes.len(),
            in_sync: count("in-sync"),
            out_of_sync: count("out-of-sync"),
            empty: count("empty"),
            busy: count("busy"),
            failed: count("failed"),
        }
    }

    fn end(&self, app: &App) {
        let summary = self.summary();
        if self.json {
            app.ui.json_line(&SummaryEvent { format: FORMAT, event: "summary", summary: &summary });
            return;
        }
        let Summary { environments, in_sync, out_of_sync, empty, busy, failed } = summary;
        let parts = [
            (in_sync, "matching the documents", GOOD),
            (out_of_sync, "not matching the documents", WARNING),
            (empty, "empty", DIM),
            (busy, "in use by others", WARNING),
            (failed, "failed", DELETE),
        ];
        let parts = parts.iter().filter(|(count, ..)| *count > 0);
        let parts: Vec<String> =
            parts.map(|(count, words, style)| paint(*style, format!("{count} {words}"))).collect();
        let parts = if parts.is_empty() { "nothing is recorded".to_owned() } else { parts.join(", ") };
        app.ui.say(&format!("{}: {parts}", text::count(environments, "environment")));
    }
}

/// How a turn ended, as in JSON.
fn outcome(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Passed(pass) if pass.is_in_sync() => "in-sync",
        TurnEnd::Passed(_) => "out-of-sync",
        TurnEnd::Empty => "empty",
        TurnEnd::Busy(_) => "busy",
        TurnEnd::Failed(_) => "failed",
    }
}

fn changes(pass: &Pass) -> usize {
    let done = &pass.summary.done;
    done.create + done.update + done.replace + done.delete
}

impl<'a> TurnEvent<'a> {
    fn new(environment: &'a Environment, end: &TurnEnd) -> Self {
        let mut event = Self {
            format: FORMAT,
            event: "environment",
            environment,
            outcome: outcome(end),
            done: None,
            failed: Vec::new(),
            needs_consent: Vec::new(),
            drifted: Vec::new(),
            error: None,
        };
        match end {
            TurnEnd::Passed(pass) => {
                let done = &pass.summary.done;
                let [create, update, replace, delete] = [done.create, done.update, done.replace, done.delete];
                event.done = Some(ActionCounts { create, update, replace, delete });
                let failed = pass.summary.failed.iter();
                event.failed = failed
                    .map(|(key, cause)| Failed { key: key.to_string(), message: cause.to_string() })
                    .collect();
                let actions = pass.needs_consent.iter();
                event.needs_consent = actions
                    .map(|(key, action)| ActionToConfirm { key: key.to_string(), action: action.as_str() })
                    .collect();
                event.drifted = pass.drifted.iter().map(ToString::to_string).collect();
                event.error = pass.rejected.as_ref().map(ToString::to_string);
            }
            TurnEnd::Empty => {}
            TurnEnd::Busy(error) | TurnEnd::Failed(error) => event.error = Some(error.to_string()),
        }
        event
    }
}
