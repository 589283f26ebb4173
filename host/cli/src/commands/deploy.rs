//! What people see of a run, for all commands that change an environment: its plan, the question,
//! its events and its end. The order of its parts is `purlin-host`'s.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt as _};
use purlin_documents::SourceMap;
use purlin_engine::{CancelToken, Cause, Event, Phase, Plan, Suggestion, Summary};
use purlin_graph::Graph;
use purlin_host::{Collected, Documents, Follower, Job, Purlin, RunEnd, Stage};
use purlin_model::Key;
use purlin_state::{Deployment, Environment, Staleness};

use crate::app::App;
use crate::consent::{Answer, Consent};
use crate::failure::{Failure, Status};
use crate::input::{self, Place};
use crate::interrupts::{Interrupts, Presses};
use crate::progress::{self, Progress};
use crate::render;
use crate::render::plan::PlanView;
use crate::report::missing_grants::MissingGrants;
use crate::surroundings;
use crate::text;
use crate::ui::Level;

/// How the output of a run is shown.
pub(super) struct RunOutput<'a> {
    json: bool,
    app: &'a App,
}

impl<'a> RunOutput<'a> {
    pub(super) fn new(json: bool, app: &'a App) -> Self {
        Self { json, app }
    }

    /// Shows the plan to people. A user who is asked for consent sees it even with `--quiet`.
    pub(super) fn plan(&self, plan: &Plan, needs_confirmation: bool) {
        let ui = &self.app.ui;
        if !self.json && (needs_confirmation || ui.level > Level::Quiet) {
            let look = PlanView::new(ui.error_columns(), ui.level >= Level::Verbose);
            ui.raw(&render::plan::render(&plan.into(), look));
        }
    }

    /// Ends a run that has nothing to do.
    pub(super) fn nothing(&self) {
        if self.json {
            self.app.ui.json_line(&Summary::default());
        }
    }
}

/// What a command does in a run.
pub(super) struct Conduct<'a> {
    /// Asks for consent; without it, nothing is asked, and the plan is not shown.
    pub(super) consent: Option<&'a Consent>,
    /// What is asked.
    pub(super) question: &'a str,
    /// Until when deletions that failed are tried again.
    pub(super) retry_until: Option<Instant>,
}

/// How a run ended.
pub(super) struct Ended {
    pub(super) status: Status,
    /// Nothing is recorded that it could be about.
    pub(super) is_nothing: bool,
    /// Some resources failed; the user did not stop it.
    pub(super) has_failures: bool,
    /// The steps of its plan change something.
    pub(super) differs: bool,
    /// The number of resources that its plan could not read.
    pub(super) unread: usize,
}

/// Carries out a job, with everything that people see of it.
pub(super) async fn run(
    purlin: &Purlin,
    job: &Job<'_>,
    conduct: Conduct<'_>,
    shown: &RunOutput<'_>,
    app: &App,
) -> Result<Ended, purlin_host::Error> {
    let watch = Watch { cancel: job.cancel().clone(), ..Watch::new(job.documents(), shown, app) };
    let mut steps = Steps {
        environment: job.environment(),
        conduct,
        watch,
        failed: Summary::default(),
        presses: None,
        is_agreed: false,
        pause: FIRST_PAUSE,
        differs: false,
        unread: 0,
        has_run: false,
    };
    let ended = purlin.run(job, &mut steps).await;
    let (mut status, mut is_nothing, mut has_failures) = (Status::Failed, false, false);
    match ended.inspect_err(|_| steps.watch.failures(&steps.failed))? {
        RunEnd::Applied { summary, collected } => {
            if !steps.has_run {
                shown.nothing();
            }
            status = steps.watch.ended(&summary, &collected);
            has_failures = !summary.failed.is_empty() && !summary.cancelled;
        }
        RunEnd::Nothing(collected) => {
            is_nothing = true;
            status = if say_collected(&collected, shown, app) { Status::Done } else { Status::Failed };
        }
        RunEnd::Stopped(..) | RunEnd::Declined => {}
    }
    steps.presses.iter().for_each(Presses::end_if_cut_off);
    Ok(Ended { status, is_nothing, has_failures, differs: steps.differs, unread: steps.unread })
}

/// The delays before deletions that failed are tried again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The question of `up` and `rollback`.
pub(super) const APPLY: &str = "Apply these changes?";

/// What the program does between the parts of [`run`].
struct Steps<'a> {
    environment: Environment,
    conduct: Conduct<'a>,
    watch: Watch<'a>,
    /// How the deployment ended, if resources failed.
    failed: Summary,
    /// What the user pressed at the end.
    presses: Option<Presses>,
    /// The user agreed to the first attempt, with all of its losses.
    is_agreed: bool,
    /// The delay before the next attempt.
    pause: Duration,
    differs: bool,
    unread: usize,
    /// The plan was applied, so that its summary was written.
    has_run: bool,
}

impl Follower for Steps<'_> {
    fn stale(&mut self, staleness: Staleness) {
        warn_of_staleness(staleness, &self.environment, self.watch.app);
    }

    fn took(&mut self, part: &'static str, time: Duration) {
        self.watch.app.timings.add(part, time);
    }

    fn continues(&mut self, begun: &Deployment) {
        if !self.watch.shown.json {
            self.watch.app.ui.note(&format!(
                "deployment {} already started this plan; continuing with the remaining changes",
                begun.number
            ));
        }
    }

    fn leaves(&mut self, rollouts: &[u64]) {
        for number in rollouts {
            let environment = text::line(&self.environment.to_string()).into_owned();
            self.watch.app.ui.warning(&format!(
                "these documents are not those of roll-out {number}, which leaves {environment} alone after this deployment"
            ));
        }
    }

    fn begins(&mut self, stage: Stage, plan: &Plan) {
        if stage == Stage::Deployment {
            self.has_run = true;
            self.differs = plan.steps.iter().any(|step| !step.changes.is_empty());
            self.unread = plan.unread();
        }
        self.watch.begins(stage, plan);
    }

    async fn agrees(&mut self, plan: &mut Plan) -> bool {
        if self.is_agreed {
            let losses = plan.losses_not_allowed();
            plan.allow_losses(&losses);
            return true;
        }
        let Some(consent) = self.conduct.consent else { return true };
        let prompt = (consent, self.conduct.question);
        agrees(plan, &self.environment, prompt, self.watch.shown, self.watch.app)
    }

    async fn follow(&mut self, stage: Stage, run: impl Stream<Item = Event> + Unpin + Send) -> Summary {
        let summary = self.watch.follow(stage, run).await;
        if stage == Stage::Deployment && !summary.failed.is_empty() {
            self.failed = summary.clone();
        }
        summary
    }

    async fn finish<T: Send>(&mut self, work: impl Future<Output = T> + Send) -> T {
        let (done, presses) = cancellable(&self.watch.cancel, self.watch.app, work).await;
        self.presses = Some(presses);
        done
    }

    /// Retries only what this command attempted: not after Ctrl-C.
    async fn again(&mut self, summary: &Summary, collected: &[Collected]) -> bool {
        let is_stopped = summary.cancelled || self.watch.cancel.is_requested();
        let has_failures = !summary.failed.is_empty() && !is_stopped && summary.halted.is_none();
        let until =
            self.conduct.retry_until.filter(|until| has_failures && Instant::now() + self.pause < *until);
        if until.is_none() {
            return false;
        }
        self.watch.ended(summary, collected);
        self.watch.app.ui.say(&format!("Trying again in {}.", text::duration(self.pause)));
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.is_agreed = true;
        true
    }
}

/// Explains why Purlin reads resources although the user did not request a refresh.
pub(super) fn warn_of_staleness(staleness: Staleness, environment: &Environment, app: &App) {
    app.ui.note(&format!(
        "the state of {environment} may be out of date: {staleness}. Until a complete `purlin up` succeeds, Purlin reads every resource before planning, and searches for each by name before creating it"
    ));
}

/// Reports that nothing is recorded here, so there is nothing to do, and where resources are
/// recorded.
pub(super) async fn nothing_recorded(
    place: &Place,
    shown: &RunOutput<'_>,
    app: &App,
) -> Result<Status, Failure> {
    app.ui.say(&format!("Nothing is recorded in {}.", place.environment()));
    input::hint_at_others(place, app).await?;
    shown.nothing();
    Ok(Status::Done)
}

/// Shows a plan and asks for consent.
fn agrees(
    plan: &mut Plan,
    environment: &Environment,
    (consent, question): (&Consent, &str),
    shown: &RunOutput<'_>,
    app: &App,
) -> bool {
    let changes = plan.summary().changes();
    shown.plan(plan, consent.needs_confirmation() && changes > 0);
    let losses = plan.losses_not_allowed();
    let answer = if !losses.is_empty() {
        consent.agrees_to_lose(&losses, question, &environment.env, app)
    } else if changes > 0 && !consent.agrees(question, app) {
        Answer::No
    } else {
        Answer::Yes
    };
    match answer {
        Answer::Yes => plan.allow_losses(&losses),
        Answer::No => app.ui.say("Nothing was changed."),
        // The host then rejects the plan, and its message names each resource.
        Answer::Refused => {}
    }
    answer != Answer::No
}

/// Deletes resources that other environments handed over and that are no longer used, and reports
/// it. Fails if some of them cannot be deleted.
pub(super) async fn collect(
    purlin: &Purlin,
    shown: &RunOutput<'_>,
    app: &App,
) -> Result<Status, purlin_host::Error> {
    let cancel = CancelToken::default();
    let collected = purlin.collect(&surroundings::deployment_id, &cancel);
    let (collected, presses) = cancellable(&cancel, app, collected).await;
    let status = if say_collected(&collected?, shown, app) { Status::Done } else { Status::Failed };
    presses.end_if_cut_off();
    Ok(status)
}

/// Does work that calls drivers and reports no events. Returns its result and what the user pressed.
async fn cancellable<T>(cancel: &CancelToken, app: &App, work: impl Future<Output = T>) -> (T, Presses) {
    let mut work = std::pin::pin!(work);
    let mut interrupts = Interrupts::new();
    let mut presses = Presses::new(cancel);
    loop {
        tokio::select! {
            done = &mut work => return (done, presses),
            () = interrupts.next() => {
                if presses.press() {
                    app.ui.say("finishing the calls in flight; press Ctrl-C again to stop immediately");
                }
            }
        }
    }
}

/// Reports resources deleted from other environments because they are no longer used, and those that
/// a person protected. Returns whether all others are gone.
fn say_collected(collected: &[Collected], shown: &RunOutput<'_>, app: &App) -> bool {
    for Collected { environment, summary, keys, rejected } in collected {
        for why in rejected {
            app.ui.warning(&format!(
                "{environment} keeps what is no longer used: {}",
                text::line(&why.message)
            ));
            if let Some(help) = &why.help {
                app.ui.hint(&text::line(help));
            }
        }
        if !rejected.is_empty() {
            continue;
        }
        let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", text::line(key.as_str()))).collect();
        if summary.is_success() {
            app.ui.note(&format!("deleted {} of {environment}, which is no longer used", keys.join(", ")));
        } else if summary.cancelled {
            app.ui.warning(&format!(
                "{} of {environment}, which is no longer used, was not deleted, because the run was interrupted; the next run deletes it",
                keys.join(", ")
            ));
        } else {
            app.ui.warning(&format!(
                "{} of {environment}, which is no longer used, could not be deleted",
                keys.join(", ")
            ));
            end(summary, None, &RunOutput { json: false, ..*shown }, app);
        }
    }
    collected.iter().all(|one| one.summary.is_success())
}

/// Reports how a run ended: failures, the resources that they blocked, and the resources that wait.
pub(super) fn end(summary: &Summary, documents: Option<&Documents>, shown: &RunOutput<'_>, app: &App) {
    if shown.json {
        return;
    }
    let nothing = SourceMap::default();
    let text = progress::report(
        summary,
        &progress::RunContext {
            sources: documents.map_or(&nothing, |documents| documents.sources()),
            columns: app.ui.error_columns().unwrap_or(render::diagnostics::USUAL),
        },
    );
    if summary.is_success() {
        app.ui.say(text.trim_end());
    } else {
        app.ui.raw(&text);
    }
    if summary.only_progresses() {
        app.ui.hint("nothing failed; run the same command again to continue");
    } else if !summary.failed.is_empty() {
        MissingGrants::of(summary.failed.iter().map(|(_, cause)| cause)).hint(&app.ui);
        let conflicts = summary.failed.iter().any(|(_, cause)| cause.code() == "conflict");
        app.ui.hint(match (conflicts, app.command) {
            // A driver may refuse what was planned because its system has changed since.
            (true, "apply") => {
                "completed changes are kept; resolve the conflict, and run the same command again to continue; \
                 if the driver says that its system has changed, make a new plan with `purlin plan --out FILE`"
            }
            (true, _) => {
                "completed changes are kept; resolve the conflict, and run the same command again to continue"
            }
            (false, _) => "completed changes are kept; run the same command again to continue",
        });
    }
}

/// Reports the runs of a command.
struct Watch<'a> {
    documents: Option<&'a Documents>,
    shown: &'a RunOutput<'a>,
    app: &'a App,
    /// Stops the runs.
    cancel: CancelToken,
    /// The number of operations that the current run reports.
    total: usize,
    /// The driver of each resource, for `--timings`.
    drivers: HashMap<Key, String>,
    /// The resources that the current run seems to rename.
    renames: Vec<Suggestion>,
}

impl<'a> Watch<'a> {
    fn new(documents: Option<&'a Documents>, shown: &'a RunOutput<'a>, app: &'a App) -> Self {
        let cancel = CancelToken::default();
        Self { documents, shown, app, cancel, total: 0, drivers: HashMap::new(), renames: Vec::new() }
    }

    /// A run of this plan begins.
    fn begins(&mut self, stage: Stage, plan: &Plan) {
        if stage == Stage::Recovery && !self.shown.json {
            let calls = text::count(plan.steps.len(), "call");
            self.app.ui.say(&format!("An earlier run was interrupted; determining the outcome of {calls}."));
        }
        self.total = plan.announced();
        self.renames.clone_from(&plan.suggestions);
        if self.app.global.timings {
            self.drivers = drivers(plan);
        }
    }

    /// Reports the events of a run until it ends. Only the summary of a deployment is the end of the
    /// command.
    async fn follow(&self, stage: Stage, run: impl Stream<Item = Event> + Unpin) -> Summary {
        let summary = self.events(stage, run).await;
        let stops = summary.cancelled && stage == Stage::Reading;
        if stage != Stage::Deployment && (stops || !summary.failed.is_empty() || summary.halted.is_some()) {
            end(&summary, None, self.shown, self.app);
        }
        summary
    }

    /// Reports how a deployment ended.
    fn ended(&self, summary: &Summary, collected: &[Collected]) -> Status {
        if self.total > 0 || !summary.is_success() {
            end(summary, self.documents, self.shown, self.app);
            self.hint_at_renames(summary);
        }
        let all_gone = say_collected(collected, self.shown, self.app);
        if summary.is_success() && all_gone { Status::Done } else { Status::Failed }
    }

    /// Reports a deployment with failures whose end could not be recorded. Only the report has their
    /// causes.
    fn failures(&self, summary: &Summary) {
        if !summary.failed.is_empty() {
            end(summary, self.documents, self.shown, self.app);
            self.hint_at_renames(summary);
        }
    }

    /// Names the command that records the rename of a resource that its driver could not create, if the
    /// deletion of the old one waits for it: the old object may still have the real name.
    fn hint_at_renames(&self, summary: &Summary) {
        if self.shown.json {
            return;
        }
        let failed = |key: &Key| {
            let mut causes = summary.failed.iter().filter(|(failed, _)| failed == key);
            causes.any(|(_, cause)| matches!(cause, Cause::Call(_)) && cause.kind() == cause.code())
        };
        let waits = |key: &Key| summary.skipped.iter().any(|(skipped, _)| skipped == key);
        for renamed in self.renames.iter().filter(|renamed| failed(&renamed.to) && waits(&renamed.from)) {
            let (from, to) = (text::line(renamed.from.as_str()), text::line(renamed.to.as_str()));
            let command = render::plan::rename(renamed);
            self.app.ui.hint(&format!("if `{to}` is `{from}` under a new name, first run `{command}`"));
        }
    }

    async fn events(&self, stage: Stage, mut run: impl Stream<Item = Event> + Unpin) -> Summary {
        let Self { documents, shown, app, cancel, total, drivers, renames: _ } = self;
        let begun = Instant::now();
        let mut progress = Progress::new(&app.ui, *total, shown.json);
        let mut interrupts = Interrupts::new();
        let mut presses = Presses::new(cancel);
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
                    if presses.press() {
                        progress.cancelling();
                    }
                    continue;
                }
            };
            let Some(event) = event else { break Summary::default() };
            let is_end = matches!(event, Event::Summary(_));
            if shown.json && (stage == Stage::Deployment || !is_end) {
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
                Event::Resource { .. } | Event::Status { .. } => {}
            }
        };
        progress.finish();
        app.timings.add("apply", begun.elapsed());
        if presses.count() > 1 {
            end(&summary, *documents, shown, app);
        }
        presses.end_if_cut_off();
        summary
    }
}

/// The driver of each resource, for `--timings`.
fn drivers(plan: &Plan) -> HashMap<Key, String> {
    let recorded = plan.steps.iter().filter_map(|step| {
        let record = plan.recorded(&step.urn)?;
        Some((step.key.clone(), record.driver.name.to_string()))
    });
    let declared = plan.graph().into_iter().flat_map(Graph::nodes);
    recorded.chain(declared.map(|node| (node.key.clone(), node.recipe.driver.name.to_string()))).collect()
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
