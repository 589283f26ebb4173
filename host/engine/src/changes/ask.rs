//! Calls drivers while a plan is made, all without effects: `read`, `check` and `update-impact`, and `name` and
//! `create` of those that reach nothing.

use std::sync::Arc;

use purlin_graph::NodeId;
use purlin_model::driver::{Failure, Forecast, Impact, InputFinding, Inputs, Observed, Subject};
use purlin_model::{Context, Key, Label, Path, Urn, Value};
use purlin_sandbox::{CallError, Change};
use purlin_state::Record;

use crate::changes::answers::Total;
use crate::changes::diff;
use crate::changes::fate;
use crate::driver::{Call, Driver, Effect, ReadRequest};
use crate::failed::CallFailed;
use crate::records::making::in_progress;
use crate::values::evaluate::is_known;
use crate::values::predict;
use crate::values::rules::keep_secret;

/// A resource whose driver must be called.
pub(crate) struct Question {
    pub node: NodeId,
    pub key: Key,
    pub urn: Urn,
    pub inputs: Inputs,
    /// The digest of the inputs, even if they contain unknown values.
    pub inputs_digest: [u8; 32],
    /// The same digest, if all inputs are known.
    pub digest: Option<[u8; 32]>,
    pub driver: Arc<dyn Driver>,
    /// The record of the existing resource, if Purlin may change it.
    pub record: Option<Arc<Record>>,
    /// What to find out.
    pub ask: Ask,
    /// Whether the resource is replaced regardless of its inputs.
    pub forced: bool,
    /// The inputs that an earlier `check` returned, used instead of a new call.
    pub checked_before: Option<Inputs>,
}

/// What to find out from a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The effect of a change.
    Change,
    /// The effect of a change, and whether the resource is the one that the user names by this id.
    ChangeOf(Arc<str>),
    /// The object with this id, which the plan adopts, and the effect of a change on it.
    Adopt(Arc<str>),
    /// The object with this id.
    Observe(Arc<str>),
}

/// The answer of the driver.
pub(crate) struct Answer {
    pub question: Question,
    pub inputs: Inputs,
    pub warnings: Vec<String>,
    pub impact: Impact,
    pub found: Option<Observed>,
    /// The outputs that the driver computes from the inputs, each unknown; `None` if their names are
    /// not known.
    pub computed: Option<Value>,
    /// The name of a new resource in its system, if its driver names resources and the inputs are known.
    pub name: Option<Label>,
}

type Outcome = Result<Answer, (Question, CallFailed)>;

/// Puts all questions to their drivers, at most `parallelism` at a time, and returns the answers in
/// order.
pub(crate) async fn ask_all(
    questions: Vec<Question>,
    context: &Context,
    parallelism: usize,
    total: &Arc<Total>,
) -> Vec<Outcome> {
    let jobs = questions.into_iter().map(|question| {
        let implements = question.driver.implements(&question.key);
        let impact = implements.update_impact && question.record.is_some();
        let computes = computes(&question);
        let is_named = is_named(&question);
        if !implements.check && !impact && !computes && !is_named && question.ask == Ask::Change {
            let inputs = question.checked_before.clone().unwrap_or_else(|| question.inputs.clone());
            return Job::Done(Ok(Answer {
                question,
                inputs,
                warnings: Vec::new(),
                impact: Impact::default(),
                found: None,
                computed: None,
                name: None,
            }));
        }
        let (context, total) = (context.clone(), Arc::clone(total));
        Job::Todo(async move { ask(question, context, &total).await })
    });
    each(jobs, parallelism).await.into_iter().flatten().collect()
}

/// A result, or the calls that lead to it.
enum Job<T, F> {
    Done(T),
    Todo(F),
}

/// Does all jobs, at most `parallelism` at a time, and returns the results in order; `None` for one that was
/// cancelled.
async fn each<T, F>(jobs: impl IntoIterator<Item = Job<T, F>>, parallelism: usize) -> Vec<Option<T>>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut results: Vec<Option<T>> = Vec::new();
    let most = tokio::sync::Semaphore::MAX_PERMITS;
    let permits = Arc::new(tokio::sync::Semaphore::new(parallelism.clamp(1, most)));
    let mut tasks = tokio::task::JoinSet::new();
    for job in jobs {
        let index = results.len();
        match job {
            Job::Done(result) => results.push(Some(result)),
            Job::Todo(job) => {
                results.push(None);
                let permits = Arc::clone(&permits);
                tasks.spawn(async move {
                    let _permit = permits.acquire_owned().await;
                    (index, job.await)
                });
            }
        }
    }
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok((index, result)) => {
                if let Some(slot) = results.get_mut(index) {
                    *slot = Some(result);
                }
            }
            // A panic in the host is a bug in Purlin and must not pass for an answer.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
    results
}

/// An effect that is decided, and that its driver foresees.
pub(crate) struct Foreseen {
    pub key: Key,
    pub urn: Urn,
    /// The inputs as `check` returned them.
    pub inputs: Inputs,
    pub driver: Arc<dyn Driver>,
    /// The name of a new resource, if it was asked for already.
    pub name: Option<Label>,
    /// The existing resource.
    pub record: Option<Arc<Record>>,
    /// What would happen to the existing resource.
    pub fate: Foresight,
}

/// What would happen to the resource whose driver is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foresight {
    /// It is updated, or created if there is none.
    Stays,
    /// A new one takes its place.
    IsReplaced,
    /// It is deleted, which is all that is asked about.
    IsDeleted,
}

/// The deletion of a recorded resource, as its driver foresees it.
pub(crate) fn deletion(record: &Record) -> Effect<'_> {
    let Record { state, inputs, holds_data, .. } = record;
    Effect::Delete { state, inputs, data_loss_allowed: holds_data.is_some() }
}

/// Asks drivers what effects would make, at most `parallelism` at a time, and returns the forecasts in order;
/// none where there is no effect to foresee.
pub(crate) async fn foresee_all(
    effects: Vec<Option<Foreseen>>,
    context: &Context,
    parallelism: usize,
    total: &Arc<Total>,
) -> Vec<Option<Result<Option<Forecast>, CallFailed>>> {
    let jobs = effects.into_iter().map(|effect| {
        let Some(effect) = effect else { return Job::Done(Ok(None)) };
        let (context, total) = (context.clone(), Arc::clone(total));
        Job::Todo(async move {
            let call = Call::quiet(Subject { urn: effect.urn.clone(), key: effect.key.clone(), context });
            foresee(&effect, &call, &total).await.map_err(|error| {
                let Foreseen { driver, inputs, .. } = &effect;
                CallFailed::from(error).explained(&**driver, &call.facts, Some(inputs), None)
            })
        })
    });
    each(jobs, parallelism).await
}

async fn foresee(effect: &Foreseen, call: &Call, total: &Total) -> Result<Option<Forecast>, CallError> {
    let Foreseen { inputs, driver, .. } = effect;
    let forecast = match (effect.record.as_deref(), effect.fate) {
        (Some(record), Foresight::IsDeleted) => driver.preview(call, deletion(record)).await?,
        (Some(record), Foresight::Stays) => {
            let (before, name) = (fate::compared(record, inputs), record.name.expose());
            let change = Change { state: &record.state, before: &before, after: inputs, name };
            driver.preview(call, Effect::Update(change)).await?
        }
        (record, _) => {
            let name = match &effect.name {
                Some(name) => name.clone(),
                None if !driver.implements(&effect.key).name => effect.urn.guresid().as_str().into(),
                None if is_known(inputs) => driver.name(call, inputs).await?,
                None => Label::default(),
            };
            // The id of another driver's resource means nothing to this driver.
            let replaces = record.filter(|record| fate::made_it(&**driver, record));
            let replaces = replaces.map(|record| &record.state.id);
            driver.preview(call, Effect::Create { inputs, name: name.expose(), replaces }).await?
        }
    };
    let Some(mut forecast) = forecast else { return Ok(None) };
    // People cannot agree to what depends on a value that is not known.
    forecast.token = forecast.token.filter(|_| is_known(inputs));
    let attributes = forecast.parts.iter().flat_map(|part| [&part.before, &part.after]).flatten();
    total.take(driver.known_as(), [&forecast.outputs].into_iter().chain(attributes))?;
    // A new resource has none of the parts of the one that it replaces.
    let record = effect.record.as_deref().filter(|_| effect.fate != Foresight::IsReplaced);
    Ok(Some(forecast.remembering(record.map_or(&[], |record| &record.parts))))
}

async fn ask(question: Question, context: Context, total: &Total) -> Outcome {
    let driver = Arc::clone(&question.driver);
    let call = Call::quiet(Subject { urn: question.urn.clone(), key: question.key.clone(), context });
    let mut answer = Answer {
        inputs: question.inputs.clone(),
        warnings: Vec::new(),
        impact: Impact::default(),
        found: None,
        computed: None,
        name: None,
        question,
    };
    match fill(&mut answer, &*driver, &call, total).await {
        Ok(()) => Ok(answer),
        Err(error) => {
            let Question { inputs, .. } = &answer.question;
            let failed = CallFailed::from(error).explained(&*driver, &call.facts, Some(inputs), None);
            Err((answer.question, failed))
        }
    }
}

async fn fill(answer: &mut Answer, driver: &dyn Driver, call: &Call, total: &Total) -> Result<(), CallError> {
    let question = &answer.question;
    let implements = driver.implements(&question.key);
    let mut base = question.record.clone();
    if let Ask::Adopt(id) | Ask::Observe(id) | Ask::ChangeOf(id) = &question.ask {
        let name = base.as_ref().map_or("", |record| record.name.expose());
        // If the user names another id, the recorded state is about a different object.
        let known = base.as_ref().filter(|record| record.is_called(id));
        // A secret that is generated later is no reason not to look at the object.
        let given = known_part(&question.inputs);
        let request = ReadRequest {
            id: Some(id),
            name,
            inputs: &given,
            state: known.map(|record| &record.state),
            known: &[],
        };
        answer.found = driver.read(call, request).await.map_err(|error| {
            let left_out = || {
                diff::inputs(Some(&given), &question.inputs)
                    .into_iter()
                    .find(crate::plan::ValueChange::is_unknown)
            };
            match &error {
                CallError::Failure(Failure::InvalidInputs(_)) => {
                    left_out().map_or(error, |input| CallError::Unknown { pointer: input.path })
                }
                _ => error,
            }
        })?;
        let Some(found) = &answer.found else { return Ok(()) };
        let files = found.state.manifests.iter().map(|file| &file.data);
        total
            .take(driver.known_as(), [&found.state.outputs].into_iter().chain(&found.values).chain(files))?;
        if matches!(question.ask, Ask::Observe(_)) {
            return Ok(());
        }
        if let (Some(record), Ask::Adopt(_)) = (&base, &question.ask) {
            base = Some(Arc::new(as_found(record, found)));
        }
    }
    let before = base.as_ref().map(|record| &record.inputs);
    // If some inputs are unknown, the inputs checked before serve only as the previous ones.
    let previous = question.checked_before.as_ref().filter(|_| question.digest.is_none()).or(before);
    if let (Some(checked_before), Some(_)) = (&question.checked_before, question.digest) {
        answer.inputs = checked_before.clone();
    } else if implements.check {
        let checked = driver.check(call, &question.inputs, previous).await?;
        total.take(driver.known_as(), [&checked.values, &checked.secrets])?;
        answer.inputs.values = checked.values;
        answer.inputs.secrets = checked.secrets;
        answer.warnings.extend(checked.warnings.iter().map(ToString::to_string));
    }
    if is_named(question) {
        answer.name = unless_unread(driver.name(call, &answer.inputs).await)?;
    }
    if computes(question) {
        let name = match &answer.name {
            Some(name) => Some(name.clone()),
            None => unless_unread(driver.name(call, &answer.inputs).await)?,
        };
        if let Some(name) = name {
            let made = driver.create(call, &answer.inputs, name.expose(), None).await?;
            total.take(driver.known_as(), [&made.outputs])?;
            answer.computed = Some(predict::computed(&made.outputs));
        }
    }
    if let (None, Some(found)) = (&base, &answer.found) {
        // An adopted object has no record yet. Its current inputs are those that were found, or
        // else the desired ones.
        let before = found_inputs(&answer.inputs, found);
        answer.impact = impact(driver, call, &found.state, &before, &answer.inputs, "", false).await?;
    }
    if let Some(record) = base.as_ref().filter(|record| fate::made_it(driver, record)) {
        let replaced = fate::is_replaced_unchanged(record, driver, question.forced);
        let name = record.name.expose();
        let before = fate::compared(record, &answer.inputs);
        answer.impact = impact(driver, call, &record.state, &before, &answer.inputs, name, replaced).await?;
    }
    Ok(())
}

/// The answer of a call that needs all inputs; none if a secret of the account is not read, as in a validation.
fn unless_unread<T>(answer: Result<T, CallError>) -> Result<Option<T>, CallError> {
    match answer {
        Err(CallError::Unknown { .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// Whether the names of the outputs of a new resource are found out by computing them.
fn computes(question: &Question) -> bool {
    is_new(question) && predict::computes(&*question.driver, &question.key)
}

/// Whether the name of a new resource is asked for.
fn is_named(question: &Question) -> bool {
    is_new(question) && question.driver.implements(&question.key).name
}

/// Whether the resource is to be created, with inputs that are known.
fn is_new(question: &Question) -> bool {
    question.record.is_none() && question.ask == Ask::Change && question.digest.is_some()
}

/// Finds out the effect of a change. If the inputs did not change, the driver is called only for a
/// resource that is `replaced` anyway, and only its answer about the order counts: whether the old
/// copy must be deleted first.
pub(crate) async fn impact(
    driver: &dyn Driver,
    call: &Call,
    state: &purlin_model::driver::ResourceState,
    before: &Inputs,
    after: &Inputs,
    name: &str,
    replaced: bool,
) -> Result<Impact, CallError> {
    let changes = before != after;
    if !driver.implements(&call.subject.key).update_impact || !(changes || replaced) {
        return Ok(Impact::default());
    }
    let impact = driver.update_impact(call, Change { state, before, after, name }).await?;
    if !replaced && impact.replaces.is_empty() && !impact.immutable.is_empty() {
        let fault = |pointer: String| InputFinding {
            message: "it cannot change once the resource exists; restore the old value, or request a \
                      replacement with `--replace`"
                .to_owned(),
            pointer,
        };
        let faults = impact.immutable.into_iter().map(fault).collect();
        return Err(CallError::Failure(Failure::InvalidInputs(faults)));
    }
    match changes {
        true => Ok(impact),
        false => Ok(Impact { delete_before_replace: impact.delete_before_replace, ..Impact::default() }),
    }
}

/// The inputs without their unknown values, in the form in which `check` takes previous inputs.
pub(crate) fn known_part(inputs: &Inputs) -> Inputs {
    Inputs {
        values: pruned(&inputs.values).unwrap_or_default(),
        secrets: pruned(&inputs.secrets).unwrap_or_default(),
        params: pruned(&inputs.params).unwrap_or_default(),
        connection: pruned(&inputs.connection).unwrap_or_default(),
        account: inputs.account.clone(),
        account_fields: Value::Null,
    }
}

fn pruned(value: &Value) -> Option<Value> {
    match value {
        Value::Map(map) => Some(Value::Map(
            map.iter().filter_map(|(name, value)| Some((name.clone(), pruned(value)?))).collect(),
        )),
        // A list that lost some elements would shift the others, so it is removed as a whole.
        value if value.has_unknown() => None,
        value => Some(value.clone()),
    }
}

/// A record with its state and inputs replaced by those that were found.
pub(crate) fn as_found(record: &Record, found: &Observed) -> Record {
    let mut state = found.state.clone();
    state.outputs = keep_secret(&record.state.outputs, state.outputs);
    if let Some(share) = &record.share {
        state.outputs = share.seal(&Path::default(), state.outputs);
    }
    let found_record = Record { inputs: found_inputs(&record.inputs, found), state, ..record.clone() };
    match &found.pending {
        Some(pending) if !record.external && !fate::is_going(record) => in_progress(found_record, pending),
        _ => found_record,
    }
}

/// Inputs with their values replaced by those that were found.
pub(crate) fn found_inputs(inputs: &Inputs, found: &Observed) -> Inputs {
    let mut inputs = inputs.clone();
    if let Some(Value::Map(found)) = &found.values {
        let mut values = inputs.values.as_map().cloned().unwrap_or_default();
        for (name, value) in found {
            let value = match values.get(name) {
                Some(known) => keep_secret(known, value.clone()),
                None => value.clone(),
            };
            values.insert(name.clone(), value);
        }
        inputs.values = Value::Map(values);
    }
    inputs
}
