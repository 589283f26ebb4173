//! The steps that `up`, `apply`, `destroy` and similar commands share: settle pending calls, show a
//! plan, ask for consent, and apply the plan.

pub(super) mod interrupts;

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use purlin_host::documents::SourceMap;
use purlin_host::engine::{CancelToken, Event, Phase, Plan, PlanOptions, Summary};
use purlin_host::model::{Context, Key};
use purlin_host::state::{Doubt, Environment};
use purlin_host::{Collected, Documents, Purlin, Session};

use self::interrupts::Interrupts;
use crate::app::App;
use crate::consent::{Answer, Consent};
use crate::failure::{Failure, Status};
use crate::input::{self, Place};
use crate::progress::{self, Progress};
use crate::render;
use crate::render::plan::Look;
use crate::report::missing_grants::MissingGrants;
use crate::surroundings;
use crate::text;
use crate::ui::Level;

/// The exit status of a program that Ctrl-C terminated.
const INTERRUPTED: i32 = 130;
/// How long cancelled calls have to finish.
const CUT: Duration = Duration::from_secs(3);

/// How the output of a run is shown.
pub(super) struct Shown<'a> {
    json: bool,
    app: &'a App,
}

impl<'a> Shown<'a> {
    pub(super) fn new(json: bool, app: &'a App) -> Self {
        Self { json, app }
    }

    /// Shows the plan to people. A user who is asked for consent sees it even with `--quiet`.
    pub(super) fn plan(&self, plan: &Plan, asked: bool) {
        let ui = &self.app.ui;
        if !self.json && (asked || ui.level > Level::Quiet) {
            let look = Look { columns: ui.error_columns(), everything: ui.level >= Level::Verbose };
            ui.raw(&render::plan::render(&plan.into(), look));
        }
        if plan.steps.iter().all(|step| step.left_out) {
            self.nothing();
        }
    }

    /// Ends a run that has nothing to do.
    pub(super) fn nothing(&self) {
        if self.json {
            self.app.ui.json_line(&Summary::default());
        }
    }
}

/// Makes the environment match the documents: settles interrupted calls, refreshes if requested,
/// plans, asks for consent, and applies the plan.
pub(super) async fn up(
    purlin: &Purlin,
    documents: &Documents,
    options: PlanOptions,
    refresh: bool,
    (shown, consent): (&Shown<'_>, &Consent),
    app: &App,
    fail: &dyn Fn(purlin_host::Error) -> Failure,
) -> Result<Status, Failure> {
    let mut early = None;
    if purlin.has_state() {
        // Report faults of the documents before waiting for the state.
        if let Err(error) = app.timings.wait("build graph", purlin.graph(documents)).await {
            // If the context differs from the recorded one, that explains the other faults.
            purlin.check_context(documents).await.map_err(fail)?;
            // If documents are missing since the last deployment, that explains the other faults.
            purlin.check_vanished(documents).await.map_err(fail)?;
            return Err(fail(error));
        }
    } else {
        // Plan before the first deployment opens the state, so that invalid input leaves no trace.
        let plan = app.timings.wait("plan", purlin.plan(documents, options.clone())).await.map_err(fail)?;
        if plan.steps.is_empty() {
            shown.plan(&plan, false);
            return Ok(Status::Done);
        }
        early = Some(plan);
    }
    let environment = documents.environment();
    let session = app.timings.wait("open state", purlin.begin(&environment)).await.map_err(fail)?;
    let doubt = session.doubt().await.map_err(fail)?;
    if refresh || doubt.is_some() || !session.open_calls().await.map_err(fail)?.is_empty() {
        session.know(documents, &documents.context).await;
    }
    if settle(&session, &documents.context, shown, app, fail).await? == Status::Failed {
        return Ok(Status::Failed);
    }
    if let Some(doubt) = doubt {
        say_doubt(doubt, &environment, app);
    }
    if refresh || doubt.is_some() {
        let plan = session.plan_refresh_of(documents, &options.scope).await.map_err(fail)?;
        if upkeep(&session, plan, shown, app).await.map_err(fail)? == Status::Failed {
            return Ok(Status::Failed);
        }
    }
    let plan = match early {
        Some(plan) if session.records().await.map_err(fail)?.is_empty() => plan,
        _ => app.timings.wait("plan", session.plan(documents, options)).await.map_err(fail)?,
    };
    let question = "Apply these changes?";
    carry_out(&session, plan, Some(documents), (consent, question), shown, app).await.map_err(fail)
}

/// Explains why Purlin reads resources although the user did not request a refresh.
pub(super) fn say_doubt(doubt: Doubt, environment: &Environment, app: &App) {
    app.ui.note(&format!(
        "the state of {environment} may be older than what is real: {doubt}. So all resources are read before they are planned, and looked for by name before they are created; an `up` of everything that succeeds ends that"
    ));
}

/// Finds out the outcome of interrupted calls. A call that stays undecided affects only its
/// resource: Purlin reports it, continues with everything else, and fails the run at that resource
/// (SPEC §10). Returns `Failed` if the run must not continue.
pub(super) async fn settle(
    session: &Session<'_>,
    context: &Context,
    shown: &Shown<'_>,
    app: &App,
    fail: &dyn Fn(purlin_host::Error) -> Failure,
) -> Result<Status, Failure> {
    let Some(plan) = session.plan_recovery(context).await.map_err(fail)? else { return Ok(Status::Done) };
    if !shown.json {
        let calls = text::count(plan.steps.len(), "call");
        app.ui.say(&format!("An earlier run was interrupted; finding out what became of {calls}."));
    }
    let summary = follow(session, plan, None, false, shown, app).await.map_err(fail)?;
    if !summary.failed.is_empty() || summary.halted.is_some() {
        end(&summary, None, shown, app);
    }
    Ok(if summary.halted.is_some() || summary.cancelled { Status::Failed } else { Status::Done })
}

/// Applies a plan that only reads. Its summary is not the end of the command.
async fn upkeep(
    session: &Session<'_>,
    plan: Plan,
    shown: &Shown<'_>,
    app: &App,
) -> Result<Status, purlin_host::Error> {
    let summary = follow(session, plan, None, false, shown, app).await?;
    if summary.failed.is_empty() && summary.halted.is_none() && !summary.cancelled {
        return Ok(Status::Done);
    }
    end(&summary, None, shown, app);
    Ok(Status::Failed)
}

/// Reports that nothing is recorded here, so there is nothing to do, and where resources are
/// recorded.
pub(super) async fn nothing_recorded(place: &Place, shown: &Shown<'_>, app: &App) -> Result<Status, Failure> {
    app.ui.say(&format!("Nothing is recorded in {}.", place.environment()));
    input::hint_at_others(place, app).await?;
    shown.nothing();
    Ok(Status::Done)
}

/// Shows a plan, asks for consent, and applies the plan.
pub(super) async fn carry_out(
    session: &Session<'_>,
    mut plan: Plan,
    documents: Option<&Documents>,
    (consent, question): (&Consent, &str),
    shown: &Shown<'_>,
    app: &App,
) -> Result<Status, purlin_host::Error> {
    let changes = plan.summary().changes();
    shown.plan(&plan, consent.asks() && changes > 0);
    let losses = plan.losses_not_allowed();
    let answer = if !losses.is_empty() {
        consent.agrees_to_lose(&losses, question, &session.environment().env, app)
    } else if changes > 0 && !consent.agrees(question, app) {
        Answer::No
    } else {
        Answer::Yes
    };
    match answer {
        Answer::Yes => plan.allow_losses(&losses),
        Answer::No => {
            app.ui.say("Nothing was changed.");
            return Ok(Status::Failed);
        }
        // The host then rejects the plan, and its message names each resource.
        Answer::Refused => {}
    }
    run(session, plan, documents, shown, app).await
}

/// Applies a plan that has already been shown.
pub(super) async fn run(
    session: &Session<'_>,
    plan: Plan,
    documents: Option<&Documents>,
    shown: &Shown<'_>,
    app: &App,
) -> Result<Status, purlin_host::Error> {
    let total = plan.announced();
    let summary = follow(session, plan, documents, true, shown, app).await?;
    let collected = session.collect(&surroundings::deployment_id, &CancelToken::default()).await?;
    if summary.ends_doubt {
        session.trust().await?;
    }
    if total > 0 || !summary.is_success() {
        end(&summary, documents, shown, app);
    }
    let all_gone = say_collected(&collected, shown, app);
    Ok(if summary.is_success() && all_gone { Status::Done } else { Status::Failed })
}

/// Deletes resources that other environments handed over and that are no longer used, and reports
/// it. Fails if some of them cannot be deleted.
pub(super) async fn collect(
    purlin: &Purlin,
    shown: &Shown<'_>,
    app: &App,
) -> Result<Status, purlin_host::Error> {
    let collected = purlin.collect(&surroundings::deployment_id, &CancelToken::default()).await?;
    Ok(if say_collected(&collected, shown, app) { Status::Done } else { Status::Failed })
}

/// Reports resources deleted from other environments because they are no longer used. Returns
/// whether all of them are gone.
fn say_collected(collected: &[Collected], shown: &Shown<'_>, app: &App) -> bool {
    for Collected { environment, summary, keys } in collected {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", text::line(key.as_str()))).collect();
        if summary.is_success() {
            app.ui.note(&format!("deleted {} of {environment}, which is no longer used", keys.join(", ")));
        } else {
            app.ui.warning(&format!(
                "{} of {environment}, which is no longer used, could not be deleted",
                keys.join(", ")
            ));
            end(summary, None, &Shown { json: false, ..*shown }, app);
        }
    }
    collected.iter().all(|one| one.summary.is_success())
}

/// Reports how a run ended: failures, the resources that they blocked, and the resources that wait.
pub(super) fn end(summary: &Summary, documents: Option<&Documents>, shown: &Shown<'_>, app: &App) {
    if shown.json {
        return;
    }
    let nothing = SourceMap::default();
    let text = progress::report(
        summary,
        &progress::Look {
            sources: documents.map_or(&nothing, |documents| &documents.loaded.sources),
            columns: app.ui.error_columns().unwrap_or(render::diagnostics::USUAL),
        },
    );
    if summary.is_success() {
        app.ui.say(text.trim_end());
    } else {
        app.ui.raw(&text);
    }
    if !summary.failed.is_empty() {
        MissingGrants::of(summary.failed.iter().map(|(_, cause)| cause)).hint(&app.ui);
        app.ui.hint("completed changes are kept; run the same command again to continue");
    }
}

/// Applies a plan and reports its events until it ends.
async fn follow(
    session: &Session<'_>,
    plan: Plan,
    documents: Option<&Documents>,
    last: bool,
    shown: &Shown<'_>,
    app: &App,
) -> Result<Summary, purlin_host::Error> {
    let total = plan.announced();
    let drivers = if app.global.timings { drivers(&plan, session).await? } else { HashMap::new() };
    let cancel = CancelToken::default();
    let begun = std::time::Instant::now();
    let mut run = match last {
        true => session.deploy(plan, documents, cancel.clone()).await?.boxed(),
        false => session.apply(plan, cancel.clone()).await?.boxed(),
    };
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
                        // Calls end immediately from here on; whatever does not is abandoned.
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
        let is_end = matches!(event, Event::Summary(_));
        if shown.json && (last || !is_end) {
            app.ui.json_line(&event);
        }
        progress.event(&event);
        match event {
            Event::Summary(summary) => break summary,
            Event::Resource {
                key,
                phase: Phase::Succeeded { took, .. } | Phase::Failed { took, .. },
                ..
            } => {
                if let Some(driver) = drivers.get(&key) {
                    app.timings.driver(driver, took);
                }
            }
            Event::Resource { .. } | Event::Stands { .. } => {}
        }
    };
    progress.finish();
    app.timings.add("apply", begun.elapsed());
    if pressed > 1 {
        end(&summary, documents, shown, app);
        std::process::exit(INTERRUPTED);
    }
    Ok(summary)
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

/// Closes the state, and reports once if this run created its key.
pub(super) async fn close(purlin: Purlin, app: &App) -> Result<(), Failure> {
    if let Some(path) = purlin.generated_key() {
        app.ui.note_once(&format!(
            "created `{}`, which encrypts the secrets in the state; back it up: without it they cannot be recovered",
            text::path(&input::short(&path, &app.folder))
        ));
    }
    let closed = app.timings.wait("close state", purlin.close()).await;
    closed.map_err(|error| Failure::host(error, &SourceMap::default()))
}
