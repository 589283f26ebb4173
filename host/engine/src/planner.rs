//! Compares a graph with recorded state: what is to happen to each resource, and why. No effects.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_graph::{Graph, Node, NodeId};
use purlin_model::driver::Inputs;
use purlin_model::{Context, Diagnostic, Key, Location, Map, Urn, Value};
use purlin_sandbox::CallError;
use purlin_state::{Record, Status};

use crate::ask::{self, Answer, Question};
use crate::driver::{Driver, Drivers, Needed};
use crate::error::{Cause, Error};
use crate::evaluate::{self, Board, Known};
use crate::plan::{Action, DriverSet, Plan, Prepared, Step};
use crate::{diff, digest, integrity, order};

/// How a plan is made.
#[derive(Clone, Copy, Debug)]
pub struct PlanOptions {
    /// Asks no driver: inputs are not checked, and drivers that are missing do not matter. Such a
    /// plan is for looking at; apply refuses it.
    pub offline: bool,
    /// Driver calls at the same time.
    pub parallelism: usize,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { offline: false, parallelism: 32 }
    }
}

/// Plans to make what exists as the graph says.
///
/// # Errors
/// [`Error::Documents`] with every fault that evaluation and the drivers' `check` found;
/// [`Error::Integrity`] when the records contradict each other.
pub async fn plan(
    graph: Arc<Graph>,
    context: &Context,
    records: Vec<Record>,
    drivers: &dyn Drivers,
    options: PlanOptions,
) -> Result<Plan, Error> {
    let records = integrity::index(records)?;
    let mut planner = Planner {
        board: Board::new(graph.len()),
        drivers: DriverSet::default(),
        steps: Vec::with_capacity(graph.len()),
        step_of: vec![u32::MAX; graph.len()],
        errors: Vec::new(),
        warnings: Vec::new(),
        graph: Arc::clone(&graph),
        context,
        records: &records,
        options,
    };
    if !options.offline {
        planner.find_drivers(drivers).await;
        if !planner.errors.is_empty() {
            return Err(Error::Documents(planner.errors));
        }
    }
    for level in graph.levels() {
        planner.level(level).await?;
    }
    if !planner.errors.is_empty() {
        return Err(Error::Documents(planner.errors));
    }
    let Planner { mut steps, step_of, drivers: mut set, warnings, .. } = planner;
    order::dependencies_first(&graph, &step_of, &mut steps);
    let kept: HashSet<Urn> = steps.iter().map(|step| step.urn.clone()).collect();
    order::deletions(&records, &kept, &mut steps);
    protected(&records, &steps)?;
    if !options.offline {
        recorded_drivers(&records, &steps, drivers, &mut set).await?;
    }
    Ok(Plan {
        context: context.clone(),
        steps,
        warnings,
        graph: Some(graph),
        step_of,
        records,
        drivers: set,
        offline: options.offline,
    })
}

/// Plans to delete everything that is recorded, dependents first.
///
/// # Errors
/// As [`plan`].
pub async fn destroy(context: &Context, records: Vec<Record>, drivers: &dyn Drivers) -> Result<Plan, Error> {
    let records = integrity::index(records)?;
    let mut steps = Vec::with_capacity(records.len());
    order::deletions(&records, &HashSet::new(), &mut steps);
    protected(&records, &steps)?;
    let mut set = DriverSet::default();
    recorded_drivers(&records, &steps, drivers, &mut set).await?;
    Ok(Plan {
        context: context.clone(),
        steps,
        warnings: Vec::new(),
        graph: None,
        step_of: Vec::new(),
        records,
        drivers: set,
        offline: false,
    })
}

/// A plan in the making.
struct Planner<'a> {
    graph: Arc<Graph>,
    context: &'a Context,
    records: &'a HashMap<Urn, Arc<Record>>,
    options: PlanOptions,
    board: Board,
    drivers: DriverSet,
    steps: Vec<Step>,
    step_of: Vec<u32>,
    errors: Vec<Diagnostic>,
    warnings: Vec<(Key, String)>,
}

impl Planner<'_> {
    async fn find_drivers(&mut self, drivers: &dyn Drivers) {
        let mut seen = HashSet::new();
        let graph = Arc::clone(&self.graph);
        for node in graph.nodes() {
            let requirement = &node.recipe.driver;
            if !seen.insert(Arc::as_ptr(node.recipe) as usize) {
                continue;
            }
            let slot = requirement_name(requirement);
            if self.drivers.contains_key(&slot) {
                continue;
            }
            match drivers.find(Needed::For(requirement)).await {
                Ok(driver) => {
                    self.drivers.insert(slot, driver);
                }
                Err(error) => self.errors.push(*error),
            }
        }
    }

    async fn level(&mut self, level: &[NodeId]) -> Result<(), Error> {
        let mut questions = Vec::new();
        for node in level {
            if let Some(question) = self.look(*node) {
                questions.push(question);
            }
        }
        for answer in ask::ask_all(questions, self.context, self.options.parallelism).await {
            match answer {
                Ok(answer) => self.decide(answer),
                Err((question, CallError::Failure(purlin_model::driver::Failure::InvalidInputs(inputs)))) => {
                    self.invalid(&question, &inputs);
                }
                Err((question, error)) => {
                    return Err(Error::Driver { key: question.key, cause: Cause::from(error) });
                }
            }
        }
        Ok(())
    }

    /// Resolves the inputs of a node and settles it if no driver has to be asked.
    fn look(&mut self, id: NodeId) -> Option<Question> {
        let graph = Arc::clone(&self.graph);
        let node = graph.node(id)?;
        let inputs = match evaluate::inputs(&graph, node, &self.board) {
            Ok(inputs) => inputs,
            Err(errors) => {
                self.errors.extend(errors);
                return None;
            }
        };
        let urn = Urn::new(self.context, node.key);
        let record = self.records.get(&urn).cloned();
        let known = ![&inputs.values, &inputs.secrets, &inputs.params].into_iter().any(Value::has_unknown);
        if self.options.offline {
            self.offline(node, urn, record, inputs, known);
            return None;
        }
        // Every requirement was found before the first level was looked at.
        let driver = Arc::clone(self.drivers.get(&requirement_name(&node.recipe.driver))?);
        let digest = known.then(|| digest::of(&inputs, driver.known_as(), driver.digest()));
        if let (Some(record), Some(digest)) = (&record, digest)
            && record.digest == digest
            && record.status == Status::Ready
        {
            self.board.settle(id, Known::settled(&record.inputs, &record.state));
            self.push(id, Step::new(node.key.clone(), urn, Action::None));
            return None;
        }
        Some(Question {
            node: id,
            key: node.key.clone(),
            location: node.recipe.location.clone(),
            urn,
            inputs,
            digest,
            driver,
            record,
        })
    }

    /// Without drivers only recorded inputs tell what changed.
    fn offline(
        &mut self,
        node: Node<'_>,
        urn: Urn,
        record: Option<Arc<Record>>,
        inputs: Inputs,
        known: bool,
    ) {
        let Some(record) = record else {
            self.board.settle(node.id, Known::with_outputs(&inputs, Value::unknown()));
            let changes = diff::inputs(None, &inputs);
            let reasons = vec!["it does not exist yet".into()];
            self.push(node.id, Step { reasons, changes, ..Step::new(node.key.clone(), urn, Action::Create) });
            return;
        };
        let same = known
            && record.status == Status::Ready
            && record.digest == digest::of(&inputs, &record.driver.name, &record.driver.digest);
        if same {
            self.board.settle(node.id, Known::settled(&record.inputs, &record.state));
            self.push(node.id, Step::new(node.key.clone(), urn, Action::None));
        } else {
            self.board.settle(node.id, Known::with_outputs(&inputs, Value::unknown()));
            let changes = diff::inputs(Some(&record.inputs), &inputs);
            let reasons = reasons(&record, None, &changes);
            self.push(node.id, Step { reasons, changes, ..Step::new(node.key.clone(), urn, Action::Update) });
        }
    }

    fn decide(&mut self, answer: Answer) {
        let Answer { question, inputs, warnings, stable, replaces } = answer;
        let Question { node, key, location, urn, digest, driver, record, .. } = question;
        self.warnings.extend(warnings.into_iter().map(|text| (key.clone(), text)));
        let changes = diff::inputs(record.as_deref().map(|record| &record.inputs), &inputs);
        let action = if record.is_some() { Action::Update } else { Action::Create };
        let reasons = match &record {
            None => vec!["it does not exist yet".to_owned()],
            Some(record) => reasons(record, Some(&*driver), &changes),
        };
        if let (Some(record), Some(digest)) = (&record, digest)
            && is_as_wanted(record, &inputs, &*driver)
        {
            self.board.settle(node, Known::settled(&record.inputs, &record.state));
            let prepared = Some(Box::new(Prepared { inputs, digest }));
            self.push(node, Step { prepared, ..Step::new(key, urn, Action::None) });
            return;
        }
        if let Some(record) = &record
            && let Some(error) = replacement(&key, &location, record, &*driver, &replaces)
        {
            self.errors.push(error);
            return;
        }
        let outputs = predict(&*driver, &key, &inputs, record.as_deref(), &stable);
        self.board.settle(node, Known::with_outputs(&inputs, outputs));
        let prepared = digest.map(|digest| Box::new(Prepared { inputs, digest }));
        self.push(node, Step { reasons, changes, prepared, ..Step::new(key, urn, action) });
    }

    fn invalid(&mut self, question: &Question, inputs: &[purlin_model::driver::InvalidInput]) {
        let fault = |what: String| {
            Diagnostic::error("invalid-inputs", format!("the inputs of `{}` are wrong{what}", question.key))
                .at(&question.location)
                .fact(format!("says the driver `{}`", question.driver.known_as()))
        };
        for input in inputs {
            let place =
                if input.pointer.is_empty() { String::new() } else { format!(" at `{}`", input.pointer) };
            self.errors.push(fault(format!("{place}: {}", input.message)));
        }
        if inputs.is_empty() {
            self.errors.push(fault(String::new()));
        }
    }

    fn push(&mut self, node: NodeId, step: Step) {
        if let Some(slot) = self.step_of.get_mut(node.index()) {
            *slot = self.steps.len() as u32;
        }
        self.steps.push(Step { node: Some(node), ..step });
    }
}

/// Refuses to delete what is protected (SPEC §9, `lifecycle.protect`): all of it at once.
fn protected(records: &HashMap<Urn, Arc<Record>>, steps: &[Step]) -> Result<(), Error> {
    let refusals: Vec<Diagnostic> = steps
        .iter()
        .filter(|step| step.action == Action::Delete)
        .filter(|step| records.get(&step.urn).is_some_and(|record| record.protect))
        .map(|step| {
            Diagnostic::error("protected", format!("`{}` is protected and would be deleted", step.key))
                .help("set `lifecycle.protect` to false in its definition and deploy, or keep asking for it")
        })
        .collect();
    if refusals.is_empty() { Ok(()) } else { Err(Error::Documents(refusals)) }
}

/// The refusal of a change that cannot be made in place.
fn replacement(
    key: &Key,
    location: &Location,
    record: &Record,
    driver: &dyn Driver,
    replaces: &[String],
) -> Option<Diagnostic> {
    let manifest = driver.manifest();
    let name = driver.known_as();
    let why = if *record.driver.name != *name {
        format!("its driver changes from `{}` to `{name}`", record.driver.name)
    } else if let Some(pointer) = replaces.first() {
        format!("the change of `{pointer}` cannot be made in place")
    } else if !manifest.implements.update {
        format!("the driver `{name}` changes nothing in place")
    } else {
        return None;
    };
    Some(
        Diagnostic::error("replacement", format!("`{key}` would have to be replaced: {why}"))
            .at(location)
            .help("this version does not replace: remove the resource, deploy, add it again and deploy"),
    )
}

/// Whether a resource is what its inputs, as its driver's `check` returned them, ask for, though
/// their digest differs: the driver normalised a difference away, or its code changed and it could
/// do nothing about the resource anyway.
pub(crate) fn is_as_wanted(record: &Record, inputs: &Inputs, driver: &dyn Driver) -> bool {
    let manifest = driver.manifest();
    record.status == Status::Ready
        && record.inputs == *inputs
        && *record.driver.name == *driver.known_as()
        && (*record.driver.digest == *driver.digest() || !manifest.implements.update)
}

/// The slot of a requirement: two recipes that want the same versions share a driver.
pub(crate) fn requirement_name(requirement: &purlin_model::DriverRequirement) -> Arc<str> {
    match &requirement.range {
        None => Arc::clone(&requirement.name),
        Some(range) => format!("{}@{range}", requirement.name).into(),
    }
}

/// The slot of a recorded driver.
pub(crate) fn recorded_name(record: &Record) -> Arc<str> {
    format!("{}={}", record.driver.name, record.driver.version).into()
}

fn reasons(record: &Record, driver: Option<&dyn Driver>, changes: &[crate::plan::Change]) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Status::Partial { message } = &record.status {
        reasons.push(format!("the last run left it unfinished: {message}"));
    }
    if let Some(driver) = driver {
        let name = driver.known_as();
        let version = driver.manifest().version.to_string();
        if *record.driver.version != *version {
            reasons.push(format!("the driver `{}` went from {} to {version}", name, record.driver.version));
        } else if *record.driver.digest != *driver.digest() {
            reasons.push(format!("the driver `{name}` was built anew"));
        }
    }
    match (
        changes.iter().any(|change| change.is_unknown()),
        changes.iter().any(|change| !change.is_unknown()),
    ) {
        (_, true) => reasons.push("its inputs changed".into()),
        (true, false) => reasons.push("what it reads may change".into()),
        (false, false) if reasons.is_empty() => {
            reasons.push("its inputs changed before the driver's defaults".into())
        }
        (false, false) => {}
    }
    reasons
}

/// The outputs as far as they are certain before the driver was called.
fn predict(
    driver: &dyn Driver,
    key: &Key,
    inputs: &Inputs,
    record: Option<&Record>,
    stable: &[String],
) -> Value {
    let schema = driver.manifest().schema(key.type_name());
    let mirrors = schema.is_some_and(|schema| schema.outputs["x-purlin-outputs"] == "inputs");
    if mirrors && let (Value::Map(values), Value::Map(secrets)) = (&inputs.values, &inputs.secrets) {
        let mut outputs: Map = values.clone();
        outputs.extend(secrets.iter().map(|(name, value)| (name.clone(), value.clone().into_secret())));
        return Value::Map(outputs);
    }
    // What is not among the stable outputs is unknown; a map says only what it has, so a map of
    // stable outputs would make the others look absent.
    match record {
        Some(record) if !stable.is_empty() => match &record.state.outputs {
            Value::Map(outputs) => Value::Map(
                outputs
                    .iter()
                    .map(|(name, value)| {
                        let kept = stable.iter().any(|stable| **stable == **name);
                        (name.clone(), if kept { value.clone() } else { Value::unknown() })
                    })
                    .collect(),
            ),
            _ => Value::unknown(),
        },
        _ => Value::unknown(),
    }
}

async fn recorded_drivers(
    records: &HashMap<Urn, Arc<Record>>,
    steps: &[Step],
    drivers: &dyn Drivers,
    set: &mut DriverSet,
) -> Result<(), Error> {
    let mut errors = Vec::new();
    for step in steps.iter().filter(|step| step.action == Action::Delete) {
        let Some(record) = records.get(&step.urn) else { continue };
        let slot = recorded_name(record);
        if set.contains_key(&slot) {
            continue;
        }
        match drivers.find(Needed::Recorded(&record.driver.name, &record.driver.version)).await {
            Ok(driver) => {
                set.insert(slot, driver);
            }
            Err(error) => errors.push(error.fact(format!("it is needed to delete `{}`", step.key))),
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Error::Documents(errors)) }
}
