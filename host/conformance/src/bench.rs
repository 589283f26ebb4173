//! The bench: every call of an examination goes through here, which checks the rules for all of
//! them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use purlin_model::Label;
use purlin_model::driver::{Checked, Failure, Forecast, Impact, Inputs, Observed, ResourceState, Subject};
use purlin_sandbox::{CallContext, CallError, CancelToken, Change, Driver, Effect, ReadRequest};
use serde_json::{Value as Json, json};

use crate::examine::Patience;
use crate::findings::Findings;
use crate::host_schemas;
use crate::lag::Lag;
use crate::report::{Finding, Left};
use crate::report_json::{self, ReportJson};
use crate::test_case::TestCase;
use crate::watch::{CallObservations, Cut, Watch};

/// How often a driver's request for a retry is granted.
const PATIENCE: usize = 5;
/// The longest wait at once.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// How long a resource may be pending.
const LONGEST_PENDING: Duration = Duration::from_secs(120);
/// The shortest time between two looks at what is pending.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);
/// After a call was cut off, the system's work for it may still finish.
const SETTLE: Duration = Duration::from_millis(25);

/// How a call is made.
#[derive(Clone, Default)]
pub(crate) struct CallOptions {
    /// A driver other than the usual one: without grants, or with a lower limit.
    pub(crate) driver: Option<Driver>,
    /// Another resource.
    pub(crate) subject: Option<Subject>,
    /// The idempotency key; a new one by default.
    pub(crate) key: Option<String>,
    pub(crate) cut: Option<Cut>,
    pub(crate) time: Option<Duration>,
    /// The operator cancels it.
    pub(crate) cancelled: bool,
    /// The resource that a new one replaces.
    pub(crate) replaces: Option<Label>,
    /// The rule that a call without an answer breaks; none if the host may end it.
    pub(crate) blame: Blame,
}

/// The blame for a call without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The driver is at fault, by the rule `answers`.
    #[default]
    Answers,
    /// The driver is at fault, by another rule.
    Rule(&'static str),
    /// No one: the examination caused it.
    Nobody,
}

/// The result of a call.
pub(crate) struct Done<R> {
    pub(crate) answer: Result<R, CallError>,
    pub(crate) seen: CallObservations,
    pub(crate) took: Duration,
}

/// A created object.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) state: ResourceState,
    pub(crate) inputs: Inputs,
}

pub(crate) struct Bench {
    pub(crate) driver: Driver,
    /// The same without grants; none if nothing is granted.
    pub(crate) bare: Option<Driver>,
    pub(crate) findings: Findings,
    pub(crate) stop: CancelToken,
    pub(crate) patience: Patience,
    /// Created objects that are not deleted yet.
    pub(crate) alive: Vec<Made>,
    pub(crate) left: Vec<Left>,
    pub(crate) cleared: Vec<String>,
    /// Creates without an answer, or with `undecided`: their outcome is still unknown.
    lost: Vec<(String, Inputs)>,
    /// What the system of the driver may not show yet.
    lag: Lag,
    last: Option<(Json, Json)>,
    run: u64,
    calls: u64,
}

impl Bench {
    pub(crate) fn new(
        driver: Driver,
        bare: Option<Driver>,
        findings: Findings,
        stop: CancelToken,
        patience: Patience,
    ) -> Self {
        let run = purlin_sandbox::clock::steady()();
        let (alive, left, cleared) = (Vec::new(), Vec::new(), Vec::new());
        let lost = Vec::new();
        let (lag, last) = (Lag::new(driver.grace()), None);
        Self { driver, bare, findings, stop, patience, alive, left, cleared, lost, lag, last, run, calls: 0 }
    }

    /// Whether to test a rule with a case.
    pub(crate) fn wants(&mut self, test_case: &TestCase, rule: &'static str) -> bool {
        if let Some(why) = test_case.excuse(rule) {
            self.findings.skip(rule, format!("{}: {why}", test_case.name));
            return false;
        }
        !self.stop.is_requested() && self.findings.wants(rule)
    }

    /// A unique key.
    pub(crate) fn key(&mut self) -> String {
        self.calls += 1;
        format!("driver-check-{:x}-{}", self.run, self.calls)
    }

    /// Reports that the last call broke a rule.
    pub(crate) fn fail(
        &mut self,
        test_case: &TestCase,
        rule: &'static str,
        what: impl Into<String>,
        expected: &str,
    ) {
        self.fail_with(test_case, rule, what, expected, None);
    }

    pub(crate) fn fail_with(
        &mut self,
        test_case: &TestCase,
        rule: &'static str,
        what: impl Into<String>,
        expected: &str,
        hint: Option<&str>,
    ) {
        if test_case.excuse(rule).is_none() {
            let finding = self.finding(test_case, what, expected, hint);
            self.findings.tried(rule);
            self.findings.fail(rule, finding);
        }
    }

    pub(crate) fn advise(
        &mut self,
        test_case: &TestCase,
        rule: &'static str,
        what: &str,
        expected: &str,
        hint: &str,
    ) {
        if test_case.excuse(rule).is_none() {
            let finding = self.finding(test_case, what, expected, Some(hint));
            self.findings.tried(rule);
            self.findings.advise(rule, finding);
        }
    }

    fn finding(
        &self,
        test_case: &TestCase,
        what: impl Into<String>,
        expected: &str,
        hint: Option<&str>,
    ) -> Finding {
        let (request, answer) = self.last.clone().unzip();
        Finding {
            case: Some(test_case.name.clone()),
            what: hidden(test_case, what.into()),
            request: request.map(|request| masked(test_case, request)),
            answer: answer.map(|answer| masked(test_case, answer)),
            expected: hidden(test_case, expected.to_owned()),
            hint: hint.map(str::to_owned),
        }
    }

    pub(crate) async fn check(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        inputs: &Inputs,
        previous: Option<&Inputs>,
    ) -> Done<Checked> {
        let mut request = json!({"function": "check", "inputs": inputs.report_json()});
        if let Some(previous) = previous {
            request["previous"] = previous.report_json();
        }
        self.quiet(test_case, how, request, async |driver, context| {
            driver.check(context, inputs, previous).await
        })
        .await
    }

    pub(crate) async fn name(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        inputs: &Inputs,
    ) -> Done<Label> {
        let request = json!({"function": "name", "inputs": inputs.report_json()});
        self.quiet(test_case, how, request, async |driver, context| driver.name_of(context, inputs).await)
            .await
    }

    pub(crate) async fn impact(&mut self, test_case: &TestCase, change: Change<'_>) -> Done<Impact> {
        let request = json!({
            "function": "update-impact", "id": change.state.id.to_string(),
            "before": change.before.report_json(), "after": change.after.report_json(),
        });
        let mut done = self
            .quiet(test_case, CallOptions::default(), request, async |driver, context| {
                driver.update_impact(context, change).await
            })
            .await;
        if let Ok(impact) = &mut done.answer {
            host_schemas::add_effects(&test_case.schema, &change, impact);
        }
        done
    }

    pub(crate) async fn preview(
        &mut self,
        test_case: &TestCase,
        effect: Effect<'_>,
    ) -> Done<Option<Forecast>> {
        let request = match effect {
            Effect::Create { inputs, name, .. } => {
                json!({"function": "preview", "of": "create", "name": name, "inputs": inputs.report_json()})
            }
            Effect::Update(change) => json!({
                "function": "preview", "of": "update", "id": change.state.id.to_string(),
                "before": change.before.report_json(), "after": change.after.report_json(),
            }),
            Effect::Delete { state, inputs, .. } => json!({
                "function": "preview", "of": "delete", "id": state.id.to_string(),
                "inputs": inputs.report_json(),
            }),
        };
        let how = CallOptions { key: Some(String::new()), ..CallOptions::default() };
        self.patient(test_case, how, request, async |driver, context| driver.preview(context, effect).await)
            .await
    }

    pub(crate) async fn create(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        inputs: &Inputs,
        name: &str,
    ) -> Done<ResourceState> {
        let mut request = json!({"function": "create", "name": name, "inputs": inputs.report_json()});
        let replaces = how.replaces.clone();
        if let Some(replaces) = &replaces {
            request["replaces"] = replaces.to_string().into();
        }
        let looks_itself = how.cut.is_some() || (how.time.is_some() && !how.cancelled);
        let done = self
            .patient(test_case, how, request, async |driver, context| {
                driver.create(context, inputs, name, replaces.as_ref()).await
            })
            .await;
        if let Some(state) = created(&done.answer) {
            self.lag.created(&state.id, name);
        }
        let done = if looks_itself {
            done
        } else {
            self.pending_is_found(test_case, name, inputs, &done.answer).await;
            self.ready(test_case, name, inputs, done).await
        };
        if let Some(state) = created(&done.answer)
            && !self.alive.iter().any(|made| made.state.id.expose() == state.id.expose())
        {
            self.alive.push(Made { state: state.clone(), inputs: inputs.clone() });
        }
        let is_unknown = match &done.answer {
            Err(CallError::Failure(failure)) => matches!(failure, Failure::Undecided(_)),
            Err(error) => is_broken(error),
            Ok(_) => false,
        };
        if is_unknown && !looks_itself {
            self.lost.push((name.to_owned(), inputs.clone()));
        }
        done
    }

    pub(crate) async fn read(
        &mut self,
        test_case: &TestCase,
        id: Option<&str>,
        name: &str,
        inputs: &Inputs,
        state: Option<&ResourceState>,
    ) -> Done<Option<Observed>> {
        let request = json!({
            "function": "read", "id": id, "name": name, "inputs": inputs.report_json(),
            "state": state.map(ReportJson::report_json),
        });
        let until = Instant::now() + LONGEST_PENDING;
        let mut done = loop {
            let looked = Instant::now();
            let done = self
                .patient(test_case, CallOptions::default(), request.clone(), async |driver, context| {
                    driver.read(context, ReadRequest { id, name, inputs, state, known: &[] }).await
                })
                .await;
            // As a run does: what is not ready or not shown yet is looked at again.
            let pause = match &done.answer {
                Ok(Some(Observed { pending: Some(pending), .. })) if Instant::now() < until => {
                    Some(pending.after.clamp(SHORTEST_LOOK, LONGEST_WAIT))
                }
                Ok(None) => self.lag.pause(id, name, looked),
                _ => None,
            };
            let Some(pause) = pause else { break done };
            tokio::time::sleep(pause).await;
        };
        if let (Ok(Some(observed)), Some(state)) = (&mut done.answer, state) {
            host_schemas::keep(&test_case.schema, &state.outputs, &mut observed.state.outputs);
        }
        done
    }

    pub(crate) async fn update(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        change: Change<'_>,
    ) -> Done<ResourceState> {
        let request = json!({
            "function": "update", "id": change.state.id.to_string(),
            "before": change.before.report_json(), "after": change.after.report_json(),
        });
        let looks_itself = how.cut.is_some() || (how.time.is_some() && !how.cancelled);
        let mut done = self
            .patient(test_case, how, request, async |driver, context| driver.update(context, change).await)
            .await;
        if !looks_itself {
            done = self.ready(test_case, change.name, change.after, done).await;
        }
        if let Ok(state) = &mut done.answer {
            host_schemas::keep(&test_case.schema, &change.state.outputs, &mut state.outputs);
        }
        if let Ok(state) = &done.answer
            && let Some(made) = self.alive.iter_mut().find(|made| made.state.id.expose() == state.id.expose())
        {
            *made = Made { state: state.clone(), inputs: change.after.clone() };
        }
        done
    }

    pub(crate) async fn delete(
        &mut self,
        test_case: &TestCase,
        state: &ResourceState,
        inputs: &Inputs,
    ) -> Done<()> {
        self.delete_with(test_case, CallOptions::default(), state, inputs).await
    }

    pub(crate) async fn delete_with(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        state: &ResourceState,
        inputs: &Inputs,
    ) -> Done<()> {
        let request =
            json!({"function": "delete", "id": state.id.to_string(), "inputs": inputs.report_json()});
        let done = self
            .patient(test_case, how, request, async |driver, context| {
                driver.delete(context, (state, true), inputs).await
            })
            .await;
        if done.answer.is_ok() {
            self.alive.retain(|made| made.state.id.expose() != state.id.expose());
            self.lag.deleted(&state.id);
        }
        done
    }

    /// Deletes everything that still exists, and records what cannot be deleted.
    pub(crate) async fn clear(&mut self, test_case: &TestCase) {
        for (name, inputs) in std::mem::take(&mut self.lost) {
            if test_case.schema.implements.read {
                match self.read(test_case, None, &name, &inputs, None).await.answer {
                    Ok(None) => continue,
                    Ok(Some(observed)) => {
                        if !self.alive.iter().any(|made| made.state.id.expose() == observed.state.id.expose())
                        {
                            self.alive.push(Made { state: observed.state, inputs });
                        }
                        continue;
                    }
                    Err(_) => {}
                }
            }
            let why = "the outcome of `create` is unknown, and `read` does not show it".to_owned();
            let left = Left { case: test_case.name.clone(), id: hidden(test_case, name), why };
            if !self.left.contains(&left) {
                self.left.push(left);
            }
        }
        for Made { state, inputs } in std::mem::take(&mut self.alive) {
            if let Err(error) = self.delete(test_case, &state, &inputs).await.answer {
                let why = hidden(test_case, error.to_string());
                self.left.push(Left {
                    case: test_case.name.clone(),
                    id: hidden(test_case, state.id.to_string()),
                    why,
                });
            }
        }
    }

    /// A call that must not have effects.
    async fn quiet<R: ReportJson>(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        request: Json,
        call: impl AsyncFnOnce(&Driver, &CallContext<'_>) -> Result<R, CallError>,
    ) -> Done<R> {
        let done = self.call(test_case, how, request, call).await;
        self.findings.tried("quiet");
        let what = match (done.seen.reached.first(), done.seen.refused.first()) {
            (_, Some(refused)) => format!("it was denied: {refused}"),
            (Some(purlin_sandbox::HostRequest::Files), None) => "it opened or changed a file".to_owned(),
            (Some(_), None) => "it used the network".to_owned(),
            (None, None) => return done,
        };
        self.fail(test_case, "quiet", what, "no effects, apart from random defaults in `check`");
        done
    }

    /// A call that may be retried on request.
    async fn patient<R: ReportJson>(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        request: Json,
        call: impl AsyncFn(&Driver, &CallContext<'_>) -> Result<R, CallError>,
    ) -> Done<R> {
        let how = CallOptions { key: Some(how.key.clone().unwrap_or_else(|| self.key())), ..how };
        let is_watched = how.cut.is_some() || how.cancelled;
        let mut left = if is_watched { 0 } else { PATIENCE };
        let is_repeated = !is_watched && ["read", "delete"].iter().any(|name| request["function"] == **name);
        let until = Instant::now() + LONGEST_PENDING;
        loop {
            let done = self.call(test_case, how.clone(), request.clone(), &call).await;
            match &done.answer {
                Err(CallError::Failure(Failure::RetryAfter { after, .. })) if left > 0 => {
                    left -= 1;
                    tokio::time::sleep((*after).min(LONGEST_WAIT)).await;
                }
                // After `create` and `update` the host looks by `read`.
                Err(CallError::Failure(Failure::Pending { pending, .. }))
                    if is_repeated && Instant::now() < until =>
                {
                    tokio::time::sleep(pending.after.clamp(SHORTEST_LOOK, LONGEST_WAIT)).await;
                }
                _ => return done,
            }
        }
    }

    /// Looks for a resource that its driver calls pending, until its system shows it.
    async fn pending_is_found(
        &mut self,
        test_case: &TestCase,
        name: &str,
        inputs: &Inputs,
        answer: &Result<ResourceState, CallError>,
    ) {
        const RULE: &str = "create.pending";
        if !self.wants(test_case, RULE) {
            return;
        }
        let state = match answer {
            Err(CallError::Failure(Failure::Pending { state: Some(state), .. })) => state,
            Err(_) => return,
            Ok(_) => {
                return self.findings.skip(RULE, format!("{}: no `create` was pending", test_case.name));
            }
        };
        if !test_case.schema.implements.read {
            return self.findings.skip(RULE, crate::checks::read::NO_READ);
        }
        self.findings.tried(RULE);
        let made = state.id.expose();
        for (id, by) in [(Some(made), "its id"), (None, "name")] {
            let state = id.map(|_| &**state);
            let request = json!({
                "function": "read", "id": id, "name": name, "inputs": inputs.report_json(),
                "state": state.map(ReportJson::report_json),
            });
            let how = CallOptions { blame: Blame::Rule(RULE), ..CallOptions::default() };
            let looked = loop {
                let (begun, read) = (Instant::now(), ReadRequest { id, name, inputs, state, known: &[] });
                let call =
                    async |driver: &Driver, context: &CallContext<'_>| driver.read(context, read).await;
                let looked = self.call(test_case, how.clone(), request.clone(), call).await;
                let pause = matches!(looked.answer, Ok(None)).then(|| self.lag.pause(id, name, begun));
                let Some(pause) = pause.flatten() else { break looked };
                tokio::time::sleep(pause).await;
            };
            let what = match looked.answer {
                Ok(Some(observed)) if observed.state.id.expose() == made => continue,
                Ok(Some(observed)) => format!("`read` by {by} finds `{}` instead", observed.state.id),
                Ok(None) => format!("`read` by {by} finds nothing while the resource is pending"),
                // Busy, or by name not sure.
                Err(CallError::Failure(Failure::RetryAfter { .. })) => continue,
                Err(CallError::Failure(_)) if id.is_none() => continue,
                Err(CallError::Failure(_)) => format!("`read` by {by} fails while the resource is pending"),
                // It was booked already.
                Err(_) => continue,
            };
            self.fail(test_case, RULE, what, "the resource, or `pending`");
        }
    }

    /// Waits until a resource is ready that its driver calls pending, as a run does.
    async fn ready(
        &mut self,
        test_case: &TestCase,
        name: &str,
        inputs: &Inputs,
        done: Done<ResourceState>,
    ) -> Done<ResourceState> {
        let Err(CallError::Failure(Failure::Pending { state: Some(state), .. })) = &done.answer else {
            return done;
        };
        let state = (**state).clone();
        let read = self.read(test_case, Some(state.id.expose()), name, inputs, Some(&state)).await.answer;
        let answer = match read {
            Ok(Some(observed)) if observed.pending.is_none() => Ok(observed.state),
            // What is pending stays so.
            Ok(_) => return done,
            Err(error) => Err(error),
        };
        Done { answer, ..done }
    }

    async fn call<R: ReportJson>(
        &mut self,
        test_case: &TestCase,
        how: CallOptions,
        request: Json,
        call: impl AsyncFnOnce(&Driver, &CallContext<'_>) -> Result<R, CallError>,
    ) -> Done<R> {
        let cancel = CancelToken::default();
        if how.cancelled {
            cancel.request();
        }
        let watch = Arc::new(Watch::new(how.cut, &cancel));
        let key = how.key.unwrap_or_else(|| self.key());
        let context = CallContext {
            time: how.time,
            cancel,
            checkpoint: Some(watch.clone()),
            observer: Some(watch.clone()),
            ..CallContext::new(how.subject.as_ref().unwrap_or(&test_case.subject), &key)
        };
        let driver = how.driver.unwrap_or_else(|| self.driver.clone());
        let begun = Instant::now();
        let answer = call(&driver, &context).await;
        let took = begun.elapsed();
        if matches!(answer, Err(CallError::Cancelled | CallError::TimeLimit { .. })) {
            tokio::time::sleep(SETTLE).await;
        }
        let shown = match &answer {
            Ok(answer) => answer.report_json(),
            Err(error) => report_json::error(error),
        };
        self.last = Some((request, shown));
        let seen = watch.take();
        self.secrets(test_case, &seen);
        if how.blame != Blame::Nobody {
            self.answered(test_case, how.blame, &answer);
        }
        Done { answer, seen, took }
    }

    /// Whether a secret was output in plain text.
    fn secrets(&mut self, test_case: &TestCase, seen: &CallObservations) {
        const RULE: &str = "secrets.hidden";
        if test_case.canaries.is_empty() {
            return;
        }
        self.findings.tried(RULE);
        for (part, text) in &seen.texts {
            if test_case.canaries.iter().any(|secret| contains_secret(text, secret)) {
                let hint = match *part {
                    "outputs" => "values derived from secrets belong in the state's `secrets`",
                    "log" => {
                        "leave it out; the host masks the secrets that it finds, but cannot find all of them"
                    }
                    _ => "leave it out, or use a digest",
                };
                let what = format!("a secret of the case is in plain text in its {part}");
                self.fail_with(test_case, RULE, what, "no secret in plain text", Some(hint));
            }
        }
    }

    /// Whether there was any answer.
    fn answered<R>(&mut self, test_case: &TestCase, blame: Blame, answer: &Result<R, CallError>) {
        // Where only one rule is examined, a call without an answer does not keep it.
        let rule = match blame {
            Blame::Rule(rule) => rule,
            _ => self.findings.only().unwrap_or("answers"),
        };
        self.findings.tried("answers");
        if let Err(error) = answer
            && is_broken(error)
        {
            let hint = match error {
                CallError::Trap { .. } => Some("`--verbose` shows its log"),
                CallError::Junk { .. } => Some("see the contract for the content of an answer"),
                _ => None,
            };
            self.fail_with(
                test_case,
                rule,
                error.to_string(),
                "an answer or a failure, as in the contract",
                hint,
            );
        }
    }
}

/// What a `create` made, as far as it got.
fn created(answer: &Result<ResourceState, CallError>) -> Option<&ResourceState> {
    match answer {
        Ok(state) => Some(state),
        Err(CallError::Failure(
            Failure::Partial { state, .. } | Failure::Pending { state: Some(state), .. },
        )) => Some(state),
        Err(_) => None,
    }
}

/// Whether a call ended without an answer that the contract allows.
pub(crate) fn is_broken(error: &CallError) -> bool {
    !matches!(error, CallError::Failure(_) | CallError::Cancelled | CallError::Unknown { .. })
}

/// Whether a text contains a secret, verbatim or in its JSON form.
fn contains_secret(text: &str, secret: &str) -> bool {
    let json = Json::from(secret).to_string();
    text.contains(secret) || text.contains(json.trim_matches('"'))
}

fn hidden(test_case: &TestCase, text: String) -> String {
    test_case.canaries.iter().fold(text, |text, secret| text.replace(secret.as_str(), "[secret]"))
}

fn masked(test_case: &TestCase, json: Json) -> Json {
    match json {
        Json::String(text) => hidden(test_case, text).into(),
        Json::Array(items) => items.into_iter().map(|item| masked(test_case, item)).collect(),
        Json::Object(map) => {
            map.into_iter().map(|(key, item)| (hidden(test_case, key), masked(test_case, item))).collect()
        }
        other => other,
    }
}
