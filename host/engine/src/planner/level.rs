//! One level of a plan: its resources read those of earlier levels, and are decided about together.

use std::sync::Arc;

use purlin_graph::{Node, NodeId};
use purlin_model::Urn;
use purlin_model::driver::{Failure, Inputs};
use purlin_sandbox::CallError;
use purlin_state::Record;

use super::Planner;
use super::decide::{self, Effective};
use crate::changes::ask::{self, Foreseen, Question};
use crate::driver::Driver;
use crate::error::{Cause, Error};
use crate::failed::{CallFailed, Defined};
use crate::values::{accounts, evaluate};

/// A resource whose driver is asked about.
pub(super) struct Asked<'a> {
    pub(super) node: Node<'a>,
    pub(super) urn: &'a Urn,
    pub(super) driver: &'a Arc<dyn Driver>,
    pub(super) inputs: &'a Inputs,
    pub(super) record: Option<&'a Record>,
}

impl Planner<'_> {
    /// Resolves the resources of one level, asks their drivers, and decides about them.
    pub(super) async fn level(&mut self, level: &[NodeId]) -> Result<(), Error> {
        self.read_secrets(level).await;
        let mut questions = Vec::new();
        for node in level {
            if let Some(question) = self.resolve(*node) {
                questions.push(question);
            }
        }
        let graph = Arc::clone(&self.graph);
        let mut decisions = Vec::new();
        for answer in ask::ask_all(questions, self.context, self.options.parallelism, &self.total).await {
            match answer {
                Ok(answer) => {
                    let Some(decision) = self.decide(&graph, answer) else { continue };
                    let effect = decision.to_foresee().filter(|_| !self.validating);
                    // The others wait with it, so that the steps stay in order, but an object is adopted at
                    // once, so that nobody else adopts it.
                    match decisions.is_empty() && effect.is_none() || decision.adopts() {
                        true => self.carry(decision, None),
                        false => decisions.push((decision, effect)),
                    }
                }
                Err((question, failed)) => {
                    let Question { urn, driver, inputs, .. } = &question;
                    let Some(node) = graph.node(question.node) else { continue };
                    let record = question.record.as_deref();
                    self.failed(&Asked { node, urn, driver, inputs, record }, failed).await;
                }
            }
        }
        self.foresee(decisions).await;
        Ok(())
    }

    /// Asks the drivers that foresee their effects what decisions would make, and records the decisions. A
    /// forecast changes none of them.
    async fn foresee(&mut self, decisions: Vec<(Effective<'_>, Option<Foreseen>)>) {
        let (decisions, effects): (Vec<_>, Vec<_>) = decisions.into_iter().unzip();
        let (context, parallelism) = (self.context, self.options.parallelism);
        let forecasts = ask::foresee_all(effects, context, parallelism, &self.total).await;
        for (decision, forecast) in decisions.into_iter().zip(forecasts) {
            match forecast {
                Some(Ok(forecast)) => self.carry(decision, forecast),
                Some(Err(failed)) => self.failed(&decision.asked(), failed).await,
                None => {}
            }
        }
    }

    /// Handles a failed call: nothing is done with its resource. Whether other resources gave a value that
    /// the driver rejects is known at the end.
    async fn failed(&mut self, asked: &Asked<'_>, failed: CallFailed) {
        let Asked { node, urn, driver, inputs, record } = *asked;
        if matches!(failed.error, CallError::Account { .. }) {
            let fault = accounts::fault(&**driver, node.key.type_name(), inputs, self.context).await;
            self.errors.extend(fault.map(|fault| fault.fact(format!("`{}` needs it", node.key))));
            return;
        }
        let mut invalid = Vec::new();
        if let CallError::Failure(Failure::InvalidInputs(inputs)) = &failed.error {
            invalid = self.invalid(asked, inputs);
            self.invalid.push((node.key.clone(), invalid.clone()));
            self.are_wrong |= evaluate::is_determined(&self.graph, node.id);
        }
        if let CallError::Unknown { pointer } = &failed.error {
            self.errors.push(decide::not_known_yet(node, pointer));
            return;
        }
        // Validation does not ask whether the resource can be provisioned.
        if self.validating {
            return;
        }
        let definition = Some(Defined::by(node.recipe));
        let failed = CallFailed { definition, invalid, ..failed }.located(&self.options.rules);
        let cause = Cause::Call(Arc::new(failed));
        self.refuse(node, urn, record, cause);
    }

    /// Reads the store secrets of all resources of a level at once.
    async fn read_secrets(&mut self, level: &[NodeId]) {
        let graph = Arc::clone(&self.graph);
        let mut wanted = Vec::new();
        for node in level.iter().filter_map(|id| graph.node(*id)) {
            let waits = self.waiting.contains_key(&node.id);
            if node.recipe.secret_refs.is_none() && node.recipe.connection.is_none()
                || waits
                || !self.is_in_scope(&Urn::new(self.context, node.key))
            {
                continue;
            }
            let resolved = self.evaluate(node.id);
            if let Ok(resolved) = &resolved {
                wanted.extend(evaluate::wanted(node, resolved, self.vault));
            }
            self.resolved.insert(node.id, resolved);
        }
        if !wanted.is_empty() {
            self.vault.read(wanted).await;
        }
    }
}
