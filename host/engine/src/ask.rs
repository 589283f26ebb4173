//! Asking drivers about inputs while a plan is made: `check` and `update-impact`, without effects.

use std::sync::Arc;

use purlin_graph::NodeId;
use purlin_model::driver::{Inputs, Subject};
use purlin_model::{Context, Key, Location, Urn};
use purlin_sandbox::{CallError, Change};
use purlin_state::Record;

use crate::driver::{Call, Driver};
use purlin_sandbox::CancelToken;

/// A resource whose driver has to be asked.
pub(crate) struct Question {
    pub node: NodeId,
    pub key: Key,
    pub location: Location,
    pub urn: Urn,
    pub inputs: Inputs,
    pub digest: Option<[u8; 32]>,
    pub driver: Arc<dyn Driver>,
    pub record: Option<Arc<Record>>,
}

/// What the driver said.
pub(crate) struct Answer {
    pub question: Question,
    pub inputs: Inputs,
    pub warnings: Vec<String>,
    pub stable: Vec<String>,
    pub replaces: Vec<String>,
}

/// Puts all questions to their drivers, so many at a time, and gives the answers in order.
pub(crate) async fn ask_all(
    questions: Vec<Question>,
    context: &Context,
    parallelism: usize,
) -> Vec<Result<Answer, (Question, CallError)>> {
    let mut answers: Vec<Option<Result<Answer, (Question, CallError)>>> = Vec::new();
    let permits = Arc::new(tokio::sync::Semaphore::new(parallelism.max(1)));
    let mut tasks = tokio::task::JoinSet::new();
    for question in questions {
        let index = answers.len();
        let implements = question.driver.manifest().implements;
        let impact = implements.update_impact && question.record.is_some();
        if !implements.check && !impact {
            let inputs = question.inputs.clone();
            answers.push(Some(Ok(Answer {
                question,
                inputs,
                warnings: Vec::new(),
                stable: Vec::new(),
                replaces: Vec::new(),
            })));
            continue;
        }
        answers.push(None);
        let (context, permits) = (context.clone(), Arc::clone(&permits));
        tasks.spawn(async move {
            let _permit = permits.acquire_owned().await;
            (index, ask(question, context).await)
        });
    }
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok((index, answer)) => {
                if let Some(slot) = answers.get_mut(index) {
                    *slot = Some(answer);
                }
            }
            // A panic in the host is a fault of ours; it must not be taken for an answer.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
    answers.into_iter().flatten().collect()
}

async fn ask(question: Question, context: Context) -> Result<Answer, (Question, CallError)> {
    let driver = Arc::clone(&question.driver);
    let implements = driver.manifest().implements;
    let call = Call {
        subject: Subject { urn: question.urn.clone(), key: question.key.clone(), context },
        idempotency_key: String::new(),
        cancel: CancelToken::default(),
        progress: Arc::new(|_, _| {}),
    };
    let previous = question.record.as_ref().map(|record| &record.inputs);
    let (mut inputs, mut warnings) = (question.inputs.clone(), Vec::new());
    if implements.check {
        match driver.check(&call, &inputs, previous).await {
            Ok(checked) => {
                inputs.values = checked.values;
                inputs.secrets = checked.secrets;
                warnings.extend(checked.warnings.into_iter().map(|warning| {
                    if warning.pointer.is_empty() {
                        warning.message
                    } else {
                        format!("`{}`: {}", warning.pointer, warning.message)
                    }
                }));
            }
            Err(error) => return Err((question, error)),
        }
    }
    let (mut stable, mut replaces) = (Vec::new(), Vec::new());
    if implements.update_impact
        && let Some(record) = &question.record
        && record.inputs != inputs
    {
        let change =
            Change { state: &record.state, before: &record.inputs, after: &inputs, name: &record.name };
        match driver.update_impact(&call, change).await {
            Ok(impact) => (stable, replaces) = (impact.stable_outputs, impact.replaces),
            Err(error) => return Err((question, error)),
        }
    }
    Ok(Answer { question, inputs, warnings, stable, replaces })
}
