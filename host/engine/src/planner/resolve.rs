//! Resolves the inputs of a resource, and decides its fate if no driver call is needed, because the
//! digest of the inputs and the driver is the recorded one.

use std::sync::Arc;

use purlin_graph::{Node, NodeId};
use purlin_model::driver::Inputs;
use purlin_model::{Diagnostic, Lifecycle, Reason, Unfinished, Urn, Value};
use purlin_state::{Record, RecordId, Status};

use super::{Planner, is_done, part, prepared, waits};
use crate::changes::ask::{Ask, Question};
use crate::changes::{diff, digest, fate, ignore};
use crate::driver::requirement_name;
use crate::error::Cause;
use crate::plan::{Action, InsteadOf, OperationKind, Step};
use crate::records::recorded::{exists, is_made_in_part};
use crate::values::awaited;
use crate::values::evaluate::{self, NodeValues};
use crate::values::evaluate::{is_known, is_known_but_connection};
use crate::values::rules::connection;

impl Planner<'_> {
    /// Resolves the inputs of a node and decides its fate if no driver call is needed.
    pub(super) fn resolve(&mut self, id: NodeId) -> Option<Question> {
        let graph = Arc::clone(&self.graph);
        let node = graph.node(id)?;
        let mut urn = Urn::new(self.context, node.key);
        let record = self.recorded.current(&urn).filter(|record| exists(record)).cloned();
        if let Some(record) = &record {
            // Shares the text with the record, which the plan keeps anyway.
            urn.clone_from(&record.urn);
        }
        if !self.is_in_scope(&urn) {
            self.leave_out(node, urn, record);
            return None;
        }
        if let (Some(reasons), false) = (self.waiting.get(&id), self.validating) {
            let reasons = reasons.clone();
            self.leave(node, urn, reasons, record);
            return None;
        }
        if !self.dependencies_exist(node) {
            return None;
        }
        let mut inputs = self.inputs(node, &urn, record.as_ref())?;
        let ask = self.what_to_ask(node, &urn, record.as_deref());
        let may_be_replaced = record.is_some() && self.may_be_replaced(node, &urn, &ask);
        if !may_be_replaced && self.is_undecided(node, &urn, &inputs, record.as_deref()) {
            return None;
        }
        let violations = self.options.rules.params(&graph, node, &inputs.params);
        if !violations.is_empty() {
            self.reject(node, &urn, record.as_deref(), violations);
            return None;
        }
        self.ignore(node, record.as_deref(), &mut inputs);
        if self.options.offline {
            let known = is_known_but_connection(&inputs);
            self.offline(node, urn, record, inputs, known);
            return None;
        }
        self.question(node, urn, record, inputs, ask, may_be_replaced)
    }

    /// The question for the driver of a resource in scope; `None` if the answer is known.
    fn question(
        &mut self,
        node: Node<'_>,
        urn: Urn,
        record: Option<Arc<Record>>,
        mut inputs: Inputs,
        ask: Ask,
        may_be_replaced: bool,
    ) -> Option<Question> {
        // Every requirement was resolved before the first level.
        let driver = Arc::clone(self.drivers.get(&requirement_name(&node.recipe.driver))?);
        if ask != Ask::Change && !driver.implements(node.key).read {
            let error = self.cannot_read(node, &urn, &ask, driver.known_as());
            self.errors.push(error);
            return None;
        }
        let type_name = node.key.type_name();
        self.options.rules.connect(&*driver, type_name, &mut inputs);
        let known = is_known(&inputs);
        let reads_params = self.options.rules.reads_params(&*driver, node);
        self.note_unread(node, reads_params, &inputs.params);
        let inputs_digest = digest::of(&inputs, reads_params, driver.known_as(), driver.digest());
        let digest = known.then_some(inputs_digest);
        // A resource in the same system is compared with its current connection, and with the current
        // params if the driver does not read them.
        let brought_up_to_date = |record: &Record, inputs: &Inputs| {
            connection::brought_up_to_date(driver.info(), record, inputs, reads_params)
        };
        if ask == Ask::Change
            && !may_be_replaced
            && let Some(record) = &record
            // The connection may become known later.
            && is_known_but_connection(&inputs)
            && fate::is_unchanged(record, &*driver, &inputs, &inputs_digest)
            && (!self.options.full || is_done(record, self.context))
            && self.forced(node.id, &urn).is_none()
        {
            self.record_values(node, &record.inputs, NodeValues::settled(&record.inputs, &record.state));
            // What changed all the same is recorded without a driver call.
            let inputs = known.then(|| brought_up_to_date(record, &inputs)).flatten();
            let prepared = inputs.and_then(|inputs| prepared(inputs, digest, Vec::new()));
            self.record_decision(
                node.id,
                Step::new(node.key.clone(), urn, Action::None),
                OperationKind::Keep { prepared },
            );
            return None;
        }
        if let (Ask::Observe(id), false) = (&ask, known) {
            self.observe_later(node, urn, record, &inputs, id);
            return None;
        }
        if !matches!(ask, Ask::Observe(_)) {
            let violations = self.options.rules.inputs(&self.graph, node, &*driver, &inputs);
            if !violations.is_empty() {
                self.invalid.push((node.key.clone(), violations.clone()));
                self.are_wrong |= evaluate::is_determined(&self.graph, node.id);
                self.refuse(node, &urn, record.as_deref(), Cause::Inputs(violations));
                return None;
            }
            let before = record.as_deref().map(|record| &record.inputs);
            self.options.rules.fill(&*driver, node.key.type_name(), &mut inputs, before);
        }
        let reached = record.as_deref().and_then(|record| {
            Some(Arc::new(Record { inputs: brought_up_to_date(record, &inputs)?, ..record.clone() }))
        });
        let record = reached.or(record);
        let checked_before = self.options.checked_inputs.get(&urn).filter(|(of, _)| *of == inputs_digest);
        let checked_before = checked_before.map(|(_, inputs)| inputs.clone());
        let forced = self.forced(node.id, &urn).is_some();
        Some(Question {
            node: node.id,
            key: node.key.clone(),
            urn,
            inputs,
            inputs_digest,
            digest,
            driver,
            record,
            ask,
            forced,
            checked_before,
        })
    }

    /// Leaves a resource outside the scope of the run alone.
    fn leave_out(&mut self, node: Node<'_>, urn: Urn, record: Option<Arc<Record>>) {
        // A resource that may be gone cannot provide outputs to its dependents.
        if let Some(record) = &record
            && self.recorded.is_perhaps_deleted(&RecordId::current(urn.clone()))
            && self.is_needed_in_scope(node.id)
            && self.is_undecided(node, &urn, &record.inputs, Some(record))
        {
            return;
        }
        let step = Step { left_out: true, ..Step::new(node.key.clone(), urn, Action::None) };
        self.pass(node, step, record);
    }

    /// The inputs of a resource. `None` if they cannot be resolved: it is rejected then, or waits.
    fn inputs(&mut self, node: Node<'_>, urn: &Urn, record: Option<&Arc<Record>>) -> Option<Inputs> {
        let resolved = self.resolved.remove(&node.id).unwrap_or_else(|| self.evaluate(node.id));
        let inputs = |resolved| evaluate::inputs(node, resolved, self.vault, &self.options.rules);
        let is_resolved = resolved.is_ok();
        let errors = match resolved.and_then(inputs) {
            Ok(inputs) => return Some(inputs),
            Err(errors) => errors,
        };
        if is_resolved {
            // A secret cannot be read, which is no other resource's fault.
            self.errors.extend(errors);
            return None;
        }
        let reasons = awaited::for_values(&self.graph, node.id, &self.node_values);
        if reasons.is_empty() || self.validating {
            self.reject(node, urn, record.map(|record| &**record), errors);
        } else {
            let (graph, cycles) = (&self.graph, self.transition_cycles);
            self.waiting.insert(node.id, reasons.clone());
            waits::spread(graph, self.context, self.recorded, cycles, &mut self.waiting, vec![node.id]);
            self.leave(node, urn.clone(), reasons, record.cloned());
        }
        None
    }

    /// The error about an object that is to be adopted or observed, if the driver has no `read`.
    fn cannot_read(&self, node: Node<'_>, urn: &Urn, ask: &Ask, driver: &str) -> Diagnostic {
        let message = format!("the driver of `{}` cannot read existing objects", node.key);
        let help = match (ask, self.recorded.is_perhaps_made(&RecordId::current(urn.clone()))) {
            (Ask::Adopt(id), true) => format!(
                "an interrupted run may have created it: `purlin state settle '{}' --made '{id}'` records that it exists",
                node.key
            ),
            _ => "only objects that a driver can read can be imported or observed".to_owned(),
        };
        Diagnostic::error("cannot-read", message)
            .at(node.id_location())
            .fact(format!("the driver `{driver}` has no `read`"))
            .help(help)
    }

    /// Observes an object whose place becomes known only while the plan is executed.
    fn observe_later(
        &mut self,
        node: Node<'_>,
        urn: Urn,
        record: Option<Arc<Record>>,
        inputs: &Inputs,
        id: &Arc<str>,
    ) {
        if let Some(record) = record.filter(|record| !record.is_called(id)) {
            self.recorded_as(node, &record, id);
            return;
        }
        self.node_values.fill(node.id, NodeValues::with_outputs(inputs, Value::unknown()));
        let reasons = vec![Reason::Observed { id: (&**id).into() }];
        let step = Step { reasons, ..Step::new(node.key.clone(), urn, Action::Read) };
        self.record_decision(node.id, step, OperationKind::Observe { id: Arc::clone(id), found: None });
    }

    /// Remarks on the params that nothing reads.
    fn note_unread(&mut self, node: Node<'_>, driver_reads: bool, params: &Value) {
        if !driver_reads {
            let unread = self.options.rules.unread(&self.graph, node, params);
            self.remarks.extend(unread.into_iter().map(|remark| (node.key.clone(), remark)));
        }
    }

    /// Leaves a resource alone, for these reasons.
    fn leave(&mut self, node: Node<'_>, urn: Urn, reasons: Vec<Reason>, record: Option<Arc<Record>>) {
        let step = Step::new(node.key.clone(), urn, Action::None);
        // With these reasons, the resource is left alone on purpose.
        let waits = !reasons.iter().any(|why| matches!(why, Reason::Paused | Reason::DriftReported));
        self.pass(node, Step { waits, reasons, ..step }, record);
    }

    /// Leaves a resource alone. Its dependents read the recorded values.
    fn pass(&mut self, node: Node<'_>, step: Step, record: Option<Arc<Record>>) {
        if let Some(record) = &record {
            self.node_values.fill(node.id, NodeValues::settled(&record.inputs, &record.state));
        }
        self.record_decision(node.id, step, OperationKind::Pass);
    }

    fn is_needed_in_scope(&self, id: NodeId) -> bool {
        let needs = |key| self.is_in_scope(&Urn::new(self.context, key));
        self.graph.dependents(id).iter().filter_map(|id| self.graph.key(*id)).any(needs)
    }

    /// Whether the dependencies outside the scope of the run exist. Otherwise the resource cannot
    /// be provisioned.
    fn dependencies_exist(&mut self, node: Node<'_>) -> bool {
        if self.in_scope.is_none() {
            return true;
        }
        let mut all = true;
        let graph = Arc::clone(&self.graph);
        for dependency in graph.dependencies(node.id) {
            let Some(key) = graph.key(*dependency) else { continue };
            let urn = Urn::new(self.context, key);
            let record = self.recorded.current(&urn).filter(|record| exists(record));
            let lacks = match record {
                _ if self.is_in_scope(&urn) => continue,
                Some(record) if !is_made_in_part(record) => continue,
                Some(_) => "was created only in part",
                None => "is not created",
            };
            all = false;
            let message = format!("`{}` depends on `{key}`, which {lacks}", node.key);
            self.errors.push(Diagnostic::error("not-created", message).help(part::both(key)));
        }
        all
    }

    /// Whether an interrupted call may have created or deleted the resource. Nothing can be done
    /// about it then.
    fn is_undecided(&mut self, node: Node<'_>, urn: &Urn, inputs: &Inputs, record: Option<&Record>) -> bool {
        let id = RecordId::current(urn.clone());
        let (action, reason) = match record {
            Some(_) if self.recorded.is_perhaps_made(&id) => (Action::Create, Reason::NewOneMayExist),
            None if self.recorded.is_perhaps_made(&id) => (Action::Create, Reason::MayExist),
            Some(_) if self.recorded.is_perhaps_deleted(&id) => (Action::Read, Reason::MayBeGone),
            // Its driver could not be called.
            Some(_) if self.recorded.pending(&id).is_some() => {
                (Action::Read, Unfinished::InterruptedUpdate.into())
            }
            _ => return false,
        };
        // The user checked the object and names it. One that is only observed is somebody else's, and says
        // nothing about what the interrupted call makes.
        if record.is_none() && (self.import.contains_key(urn) || node.lifecycle.import.is_some()) {
            return false;
        }
        self.leave_undecided(node, urn, inputs, (action, reason));
        true
    }

    /// Leaves a resource alone whose existence is unknown. So are its outputs.
    pub(super) fn leave_undecided(
        &mut self,
        node: Node<'_>,
        urn: &Urn,
        inputs: &Inputs,
        (action, reason): (Action, Reason),
    ) {
        self.node_values.fill(node.id, NodeValues::with_outputs(inputs, Value::unknown()));
        let step = Step { reasons: vec![reason], ..Step::new(node.key.clone(), urn.clone(), action) };
        self.record_decision(node.id, step, OperationKind::Undecided);
    }

    /// Whether an interrupted call may have deleted the resource, and its driver can be asked whether
    /// it is replaced anyway: a replacement deletes it again, whatever the outcome of that call. A
    /// replacement that retains it would say that it exists.
    fn may_be_replaced(&self, node: Node<'_>, urn: &Urn, ask: &Ask) -> bool {
        let id = RecordId::current(urn.clone());
        self.recorded.is_perhaps_deleted(&id)
            && *ask == Ask::Change
            && !(node.lifecycle.retain || self.options.offline)
    }

    /// Rejects the inputs of a resource. If other resources gave the wrong value, only this resource is
    /// affected, which is known at the end.
    fn reject(&mut self, node: Node<'_>, urn: &Urn, record: Option<&Record>, faults: Vec<Diagnostic>) {
        if self.validating || self.options.offline || evaluate::is_determined(&self.graph, node.id) {
            self.errors.extend(faults);
            return;
        }
        self.doubtful.extend(faults.iter().cloned());
        self.refuse(node, urn, record, Cause::Inputs(faults));
    }

    /// Does nothing with a resource. Its dependents read what is recorded.
    pub(super) fn refuse(&mut self, node: Node<'_>, urn: &Urn, record: Option<&Record>, cause: Cause) {
        let known = match record {
            Some(record) => NodeValues::settled(&record.inputs, &record.state),
            None => NodeValues::with_outputs(&Inputs::default(), Value::unknown()),
        };
        self.node_values.fill(node.id, known);
        let reasons = vec![Reason::Refused { message: cause.to_string().into() }];
        let step = Step { reasons, ..Step::new(node.key.clone(), urn.clone(), Action::Read) };
        self.record_decision(node.id, step, OperationKind::Refused(Arc::new(cause)));
    }

    /// Keeps the recorded values of ignored inputs. A path is a mistake if it leads to no input, and
    /// no schema describes it: an optional input need not be given. As long as nothing is recorded,
    /// the driver may still add an input that no schema excludes. A path is also a mistake if the
    /// driver does not see what it names.
    fn ignore(&mut self, node: Node<'_>, record: Option<&Record>, inputs: &mut Inputs) {
        let Lifecycle { ignore_changes, replace_on_changes, .. } = node.lifecycle;
        if ignore_changes.is_empty() && replace_on_changes.is_empty() {
            return;
        }
        let missing = match record {
            Some(record) => ignore::keep_recorded(ignore_changes, &record.inputs, inputs),
            None => ignore::keep_recorded(ignore_changes, &inputs.clone(), inputs),
        };
        // Offline, there is no driver.
        let Some(driver) = self.drivers.get(&requirement_name(&node.recipe.driver)) else { return };
        let rules = &self.options.rules;
        for path in missing {
            let segments = ignore::segments(&path.pointer);
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            let known = rules.has_input(&**driver, node.key.type_name(), &segments);
            if known.unwrap_or(record.is_none()) {
                continue;
            }
            self.errors.push(
                Diagnostic::error(
                    "ignore-changes",
                    format!("`{}` ignores changes of `{}`, but there is no such input", node.key, path.text),
                )
                .at(&path.location)
                .help("write a path as plans show it, such as `/values/size`"),
            );
        }
        if rules.reads_params(&**driver, node) {
            return;
        }
        for (setting, path) in ignore_changes
            .iter()
            .map(|path| ("ignore_changes", path))
            .chain(replace_on_changes.iter().map(|path| ("replace_on_changes", path)))
            .filter(|(_, path)| path.pointer.starts_with("/params/"))
        {
            let message = format!(
                "`{setting}` names `{}`, but the driver of `{}` does not read params",
                path.text, node.key
            );
            self.errors.push(
                Diagnostic::error("unseen-input", message)
                    .at(&path.location)
                    .fact(format!(
                        "the driver `{}` sees only what placeholders read from them",
                        driver.known_as()
                    ))
                    .help("name the input that it flows into, as plans show it, such as `values.host`"),
            );
        }
    }

    /// The question to the driver about a resource.
    fn what_to_ask(&self, node: Node<'_>, urn: &Urn, record: Option<&Record>) -> Ask {
        if self.validating {
            return Ask::Change;
        }
        let lifecycle = node.lifecycle;
        let import = self.import.get(urn).or(lifecycle.import.as_ref()).cloned();
        match (&lifecycle.observe, &import, record) {
            (Some(id), ..) => Ask::Observe(Arc::clone(id)),
            (None, None, _) => Ask::Change,
            (None, Some(id), None) => Ask::Adopt(Arc::clone(id)),
            // Already adopted.
            (None, Some(id), Some(record)) if record.is_called(id) => Ask::Change,
            // Possibly adopted under another of its ids.
            (None, Some(id), Some(_)) => Ask::ChangeOf(Arc::clone(id)),
        }
    }

    /// Reports an error: the record has a different object than the one to import or observe.
    pub(super) fn recorded_as(&mut self, node: Node<'_>, record: &Record, id: &str) {
        let word = if node.lifecycle.observe.is_some() { "observe" } else { "import" };
        let message = format!("`{}` cannot {word} `{id}`: it is recorded as `{}`", node.key, record.state.id);
        self.errors.push(Diagnostic::error(word, message).at(node.id_location()).help(format!(
            "remove the other one from the state first: `purlin state forget '{}'`",
            node.key
        )));
    }

    /// Why a resource is replaced regardless of its inputs.
    pub(super) fn forced(&self, id: NodeId, urn: &Urn) -> Option<Reason> {
        if let Some(reason) = self.forced.get(urn) {
            return Some(reason.clone());
        }
        let together = self.graph.replace_with(id);
        let replaced = together.iter().filter_map(|other| {
            let step = *self.step_of.get(other.index())?;
            Some((self.decided.certainty(step)?, step))
        });
        let (_, step) = replaced.max_by_key(|(certainty, step)| (*certainty, std::cmp::Reverse(*step)))?;
        let step = self.decided.steps.get(step as usize)?;
        Some(Reason::ReplacedWith { other: step.key.clone() })
    }

    /// Plans without drivers: only the recorded inputs show what changed.
    fn offline(
        &mut self,
        node: Node<'_>,
        urn: Urn,
        record: Option<Arc<Record>>,
        inputs: Inputs,
        known: bool,
    ) {
        let step = |action| Step::new(node.key.clone(), urn.clone(), action);
        let Some(record) = record else {
            self.node_values.fill(node.id, NodeValues::with_outputs(&inputs, Value::unknown()));
            let changes = diff::inputs(None, &inputs);
            let reasons = vec![Reason::New];
            let kind = OperationKind::Create {
                prepared: None,
                instead_of: InsteadOf::Nothing,
                certain: false,
                with: None,
                makes_room: None,
            };
            self.record_decision(node.id, Step { reasons, changes, ..step(Action::Create) }, kind);
            return;
        };
        // Without its driver, it is unknown whether that reads the params.
        let digest =
            |reads| digest::of(&inputs, reads, &record.driver.name, &record.driver.digest) == record.digest;
        let same = known && record.status == Status::Ready && (digest(true) || digest(false));
        if same {
            self.node_values.fill(node.id, NodeValues::settled(&record.inputs, &record.state));
            self.record_decision(node.id, step(Action::None), OperationKind::Keep { prepared: None });
        } else {
            self.node_values.fill(node.id, NodeValues::with_outputs(&inputs, Value::unknown()));
            let changes = diff::inputs(Some(&record.inputs), &inputs);
            let mut reasons: Vec<Reason> = fate::because_of(&changes, true).into_iter().collect();
            if let Status::Partial(unfinished) = &record.status {
                reasons.push(unfinished.clone().into());
            }
            let kind = OperationKind::Update { prepared: None, always: false };
            self.record_decision(node.id, Step { reasons, changes, ..step(Action::Update) }, kind);
        }
    }
}
