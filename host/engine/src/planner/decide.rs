//! Turns a driver's answer into an action.

use std::sync::Arc;

use purlin_graph::{Graph, Node};
use purlin_model::driver::{Forecast, Impact, InputFinding, Inputs, Observed, ResourceState};
use purlin_model::{Diagnostic, InstallationUse, Label, Reason, Unfinished, Urn, Value};
use purlin_state::{Record, RecordId, Status};

use super::level::Asked;
use super::twins::NewName;
use super::{Certainty, Decided, Planner, is_done, prepared};
use crate::changes::ask::{self, Answer, Ask, Foreseen, Foresight, Question};
use crate::changes::diff;
use crate::changes::fate::{self, Case, Fate};
use crate::driver::Driver;
use crate::error::Cause;
use crate::plan::{Action, InsteadOf, OperationKind, Prepared, Step, ValueChange, Warning};
use crate::records::making::reports_all;
use crate::records::making::{named, record_of, with_unknown_host};
use crate::records::recorded::{are_one, exists};
use crate::values::evaluate::NodeValues;
use crate::values::predict;

/// A decision to create or change a resource, before its driver is asked what that would make.
pub(super) enum Effective<'a> {
    /// It is created.
    Create(Box<New<'a>>),
    /// It is updated in place, perhaps although nothing changed.
    Update(Box<Managed<'a>>, bool),
    /// It is replaced.
    Replace {
        managed: Box<Managed<'a>>,
        /// How certain that is.
        certainty: Certainty,
        /// Whether a user asks for it.
        forced: bool,
        /// The resource that it is replaced together with.
        with: Option<Urn>,
    },
}

/// A resource to create.
pub(super) struct New<'a> {
    node: Node<'a>,
    urn: Urn,
    driver: Arc<dyn Driver>,
    inputs: Inputs,
    digest: Option<[u8; 32]>,
    /// As in [`Answer::computed`].
    computed: Option<Value>,
    name: Option<Label>,
}

impl Effective<'_> {
    /// Whether an object that others manage so far becomes a managed resource.
    pub(super) fn adopts(&self) -> bool {
        match self {
            Self::Create(_) => false,
            Self::Update(managed, _) | Self::Replace { managed, .. } => managed.record.external,
        }
    }

    /// What to ask the driver; `None` if it does not foresee its effects, or its resource is adopted.
    pub(super) fn to_foresee(&self) -> Option<Foreseen> {
        let (node, urn, driver, inputs, record, name) = match self {
            Self::Create(new) => (new.node, &new.urn, &new.driver, &new.inputs, None, new.name.clone()),
            Self::Update(managed, _) | Self::Replace { managed, .. } => {
                let Managed { node, urn, driver, inputs, record, .. } = &**managed;
                (*node, urn, driver, inputs, Some(Arc::clone(record)), None)
            }
        };
        (driver.previews() && !self.adopts()).then(|| Foreseen {
            key: node.key.clone(),
            urn: urn.clone(),
            inputs: inputs.clone(),
            driver: Arc::clone(driver),
            name,
            record,
            fate: match self {
                Self::Replace { .. } => Foresight::IsReplaced,
                Self::Create(_) | Self::Update(..) => Foresight::Stays,
            },
        })
    }

    /// What is asked about.
    pub(super) fn asked(&self) -> Asked<'_> {
        match self {
            Self::Create(new) => {
                let New { node, urn, driver, inputs, .. } = &**new;
                Asked { node: *node, urn, driver, inputs, record: None }
            }
            Self::Update(managed, _) | Self::Replace { managed, .. } => {
                let Managed { node, urn, driver, inputs, record, .. } = &**managed;
                Asked { node: *node, urn, driver, inputs, record: Some(record) }
            }
        }
    }
}

/// A recorded resource, whose inputs and the effect of their change are known as far as possible.
pub(super) struct Managed<'a> {
    node: Node<'a>,
    urn: Urn,
    driver: Arc<dyn Driver>,
    inputs: Inputs,
    digest: Option<[u8; 32]>,
    record: Arc<Record>,
    impact: Impact,
    reasons: Vec<Reason>,
    changes: Vec<ValueChange>,
}

impl Managed<'_> {
    /// The record with which an object of others becomes a managed resource.
    fn adopt(&self) -> Option<Box<Record>> {
        let record = &*self.record;
        record.external.then(|| Box::new(Record { external: false, digest: [0; 32], ..record.clone() }))
    }
}

impl Planner<'_> {
    /// Decides about a resource. A decision to create or change it is returned, and takes effect with
    /// [`Self::carry`].
    pub(super) fn decide<'g>(&mut self, graph: &'g Graph, mut answer: Answer) -> Option<Effective<'g>> {
        let node = graph.node(answer.question.node)?;
        let key = &answer.question.key;
        self.warnings.extend(
            std::mem::take(&mut answer.warnings)
                .into_iter()
                .map(|message| Warning { key: key.clone(), message }),
        );
        let question = &answer.question;
        if question.digest.is_none() && answer.inputs != question.inputs {
            let inputs = ask::known_part(&answer.inputs);
            let draft = Prepared { inputs, digest: question.inputs_digest, stable: Vec::new() };
            self.drafts.insert(question.node, draft);
        }
        let driver = Arc::clone(&answer.question.driver);
        self.check_grants(node, &driver, &answer.inputs);
        match (answer.question.ask.clone(), answer.found.take()) {
            (Ask::Change, _) => return self.change(node, answer),
            (Ask::ChangeOf(id), found) => return self.change_of(node, answer, found, &id),
            (Ask::Observe(id), Some(found)) => self.observe(node, answer, found, &id),
            (Ask::Adopt(id), Some(found)) => self.adopt(node, answer, found, &id),
            // It was there before.
            (Ask::Observe(id), None) if self.recorded.current(&answer.question.urn).is_some() => {
                let Question { urn, record, .. } = &answer.question;
                self.refuse(
                    node,
                    urn,
                    record.as_deref(),
                    Cause::NotFound { id: id.to_string(), at: node.lifecycle.id_location.clone() },
                );
            }
            (Ask::Observe(id) | Ask::Adopt(id), None) => self.errors.push(
                Diagnostic::error("not-found", format!("there is no `{id}` for `{}`", node.key))
                    .at(node.id_location())
                    .fact(format!("reported by the driver `{}`", answer.question.driver.known_as())),
            ),
        }
        None
    }

    /// Records a decision, with what its driver foresees.
    pub(super) fn carry(&mut self, decision: Effective<'_>, forecast: Option<Forecast>) {
        match decision {
            Effective::Create(new) => self.create(*new, forecast),
            Effective::Update(managed, always) => self.update(*managed, always, forecast),
            Effective::Replace { managed, certainty, forced, with } => {
                self.replace(*managed, certainty, forced, with, forecast);
            }
        }
    }

    /// Handles an existing managed resource that the documents name by a different id than its
    /// driver does.
    fn change_of<'g>(
        &mut self,
        node: Node<'g>,
        mut answer: Answer,
        found: Option<Observed>,
        id: &Arc<str>,
    ) -> Option<Effective<'g>> {
        let record = answer.question.record.take()?;
        if found.is_none_or(|found| found.state.id.expose() != record.state.id.expose()) {
            self.recorded_as(node, &record, id);
            return None;
        }
        answer.question.record =
            Some(Arc::new(Record { named: Some(Arc::clone(id)), ..Record::clone(&record) }));
        self.change(node, answer)
    }

    /// Handles a resource that is new, or that exists and is managed.
    fn change<'g>(&mut self, node: Node<'g>, mut answer: Answer) -> Option<Effective<'g>> {
        let Some(record) = answer.question.record.take() else {
            let Answer { question, inputs, computed, name, .. } = answer;
            let Question { urn, digest, driver, .. } = question;
            let new = New { node, urn, driver, inputs, digest, computed, name };
            return Some(Effective::Create(Box::new(new)));
        };
        let Answer { question, inputs, impact, .. } = answer;
        let Question { urn, digest, driver, .. } = question;
        // As long as others managed it, its secrets did not matter.
        let has_secrets = record.inputs.secrets.as_map().is_some_and(|secrets| !secrets.is_empty());
        let record = match record.external && has_secrets {
            true => Arc::new(unconfirmed(&*driver, Record::clone(&record))),
            false => record,
        };
        let mut changes = diff::inputs(Some(&fate::compared(&record, &inputs)), &inputs);
        let impact = fate::promised(&record, impact);
        let full =
            driver.implements_for(&record).update && self.options.full && !is_done(&record, self.context);
        let case = Case {
            record: &record,
            driver: &*driver,
            inputs: &inputs,
            impact: &impact,
            lifecycle: node.lifecycle,
            definition: node.recipe.name.as_deref(),
            forced: self.forced(node.id, &urn),
            always: full,
        };
        let with = self.goes_with(&record, case.forced.as_ref());
        let forced = case.forced.is_some() && with.is_none();
        let (fate, reasons) = fate::decide(&case, &mut changes);
        let reasons = about_uses(node, &record, reasons);
        // Only a replacement does not depend on whether an interrupted call deleted it.
        let is_replaced = matches!(fate, Fate::Replace { decided: true });
        if !is_replaced && self.recorded.is_perhaps_deleted(&RecordId::current(urn.clone())) {
            self.leave_undecided(node, &urn, &inputs, (Action::Read, Reason::MayBeGone));
            return None;
        }
        // Only the adoption is wanted.
        let (fate, digest) = match self.options.import_only {
            true => (Fate::Keep, None),
            false => (fate, digest),
        };
        let (fate, reasons) = match fate {
            Fate::Replace { decided } if names_its_import(node, &record) => {
                if decided {
                    self.refuse_replacement(node, &record, &reasons);
                    return None;
                }
                // The run stops if the value differs.
                (Fate::Update, fate::because_of(&changes, true).into_iter().collect())
            }
            other => (other, reasons),
        };
        if record.external && !names_its_import(node, &record) && !self.options.import_only {
            self.refuse_to_take_over(node, &record);
            return None;
        }
        if record.external && self.is_recorded_elsewhere(node, &record) {
            return None;
        }
        let managed = Managed { node, urn, driver, inputs, digest, record, impact, reasons, changes };
        Some(match fate {
            Fate::Keep => {
                self.keep(managed);
                return None;
            }
            Fate::Update => Effective::Update(Box::new(managed), full),
            Fate::Replace { decided } => {
                let certainty = match (decided, &with) {
                    (true, Some(other)) if !self.is_decided(other) => Certainty::MayFollow,
                    (true, _) => Certainty::Decided,
                    (false, _) => self.follows(node, &managed.changes),
                };
                Effective::Replace { managed: Box::new(managed), certainty, forced, with }
            }
        })
    }

    /// Handles a resource that is new.
    fn create(&mut self, new: New<'_>, forecast: Option<Forecast>) {
        let New { node, urn, driver, inputs, digest, computed, name } = new;
        let key = node.key;
        self.named.extend(name.map(|name| NewName::of(key, &*driver, &inputs, name)));
        let changes = diff::inputs(None, &inputs);
        let (rules, foreseen) = (&self.options.rules, forecast.as_ref().map(|forecast| &forecast.outputs));
        let more = computed.is_none() && foreseen.is_some() && !predict::mirrors(&*driver, key);
        let outputs = match computed {
            Some(computed) => {
                let outputs = rules.seal_outputs(key.type_name(), &*driver, computed);
                match foreseen {
                    Some(foreseen) => predict::with_forecast(rules, &*driver, key, outputs, foreseen),
                    None => outputs,
                }
            }
            None => predict::outputs(rules, &*driver, key, &inputs, None, &[], foreseen),
        };
        self.record_values(node, &inputs, NodeValues::with_outputs(&inputs, outputs).with_more(more));
        let uses = node.installation.and_then(|installation| installation.share.uses.as_ref());
        let reasons = match uses {
            Some(uses) => vec![Reason::Uses { other: uses.installation.clone() }],
            None => vec![self.why_create(&urn)],
        };
        let kind = OperationKind::Create {
            prepared: prepared(inputs, digest, Vec::new()),
            instead_of: InsteadOf::Nothing,
            certain: false,
            with: None,
            makes_room: None,
        };
        let forecast = forecast.map(Box::new);
        let step = Step { reasons, changes, forecast, ..Step::new(key.clone(), urn, Action::Create) };
        self.record_decision(node.id, step, kind);
    }

    fn keep(&mut self, managed: Managed<'_>) {
        let adopt = managed.adopt();
        let Managed { node, urn, inputs, digest, record, .. } = managed;
        self.record_values(node, &record.inputs, NodeValues::settled(&record.inputs, &record.state));
        let action = if adopt.is_some() { Action::Adopt } else { Action::None };
        let kind = OperationKind::Keep { prepared: prepared(inputs, digest, Vec::new()) };
        let step = Step { reasons: taken_over(&record), ..Step::new(node.key.clone(), urn, action) };
        self.push(Decided::certain(node.id, step, kind, adopt));
    }

    fn update(&mut self, managed: Managed<'_>, always: bool, forecast: Option<Forecast>) {
        let adopt = managed.adopt();
        let Managed { node, urn, driver, inputs, digest, record, impact, reasons, changes } = managed;
        let (rules, stable) = (&self.options.rules, impact.stable_outputs);
        let foreseen = forecast.as_ref().map(|forecast| &forecast.outputs);
        let outputs = predict::outputs(rules, &*driver, node.key, &inputs, Some(&record), &stable, foreseen);
        let more = !predict::mirrors(&*driver, node.key);
        self.record_values(node, &inputs, NodeValues::with_outputs(&inputs, outputs).with_more(more));
        let action = if adopt.is_some() { Action::Adopt } else { Action::Update };
        let reasons = taken_over(&record).into_iter().chain(reasons).collect();
        let kind = OperationKind::Update { prepared: prepared(inputs, digest, stable), always };
        let forecast = forecast.map(Box::new);
        let step = Step { reasons, changes, forecast, ..Step::new(node.key.clone(), urn, action) };
        self.push(Decided::certain(node.id, step, kind, adopt));
    }

    /// The order, and what happens to the old resource, depend on all decisions together.
    fn replace(
        &mut self,
        managed: Managed<'_>,
        certainty: Certainty,
        forced: bool,
        with: Option<Urn>,
        mut forecast: Option<Forecast>,
    ) {
        let Managed { node, urn, driver, inputs, digest, record, impact, reasons, changes } = managed;
        // The outputs are those of the new one, which perhaps is not made.
        if let Some(forecast) = forecast.as_mut().filter(|_| certainty != Certainty::Decided) {
            forecast.outputs = Value::map();
        }
        let (rules, foreseen) = (&self.options.rules, forecast.as_ref().map(|forecast| &forecast.outputs));
        let outputs = predict::outputs(rules, &*driver, node.key, &inputs, None, &[], foreseen);
        let more = foreseen.is_some() && !predict::mirrors(&*driver, node.key);
        self.record_values(node, &inputs, NodeValues::with_outputs(&inputs, outputs).with_more(more));
        let kind = OperationKind::Create {
            prepared: prepared(inputs, digest, Vec::new()),
            instead_of: InsteadOf::Deleted,
            certain: forced || record.tainted,
            with,
            makes_room: None,
        };
        let forecast = forecast.map(Box::new);
        let step = Step { reasons, changes, forecast, ..Step::new(node.key.clone(), urn, Action::Replace) };
        let forced_order = impact.delete_before_replace;
        self.push(Decided { node: node.id, step, kind, adopt: None, forced_order, certainty });
    }

    /// The resource that this one is replaced together with, if that is not certain to be replaced:
    /// if it turns out to stay, so can this one. That is a host of it, or one of `replace_with`.
    /// `None` for a resource that lives in an old copy.
    fn goes_with(&self, record: &Record, forced: Option<&Reason>) -> Option<Urn> {
        let (other, is_host) = match forced? {
            Reason::GoesWith { other } => (other, true),
            Reason::ReplacedWith { other } => (other, false),
            _ => return None,
        };
        if is_host && self.recorded.host_of(record).is_some_and(|home| home.superseded.is_some()) {
            return None;
        }
        let is_it = |step: &&Step| step.key == *other && step.action == Action::Replace;
        let other = self.decided.steps.iter().find(is_it).map(|step| step.urn.clone())?;
        (is_host || !self.is_decided(&other)).then_some(other)
    }

    /// Whether the replacement of a resource is decided.
    fn is_decided(&self, urn: &Urn) -> bool {
        let step = self.decided.steps.iter().position(|step| step.urn == *urn);
        step.and_then(|step| self.decided.certainty(step as u32)) == Some(Certainty::Decided)
    }

    fn why_create(&self, urn: &Urn) -> Reason {
        match self.recorded.current(urn) {
            Some(record) if !exists(record) => Reason::Gone,
            _ => Reason::New,
        }
    }

    /// Handles a resource that others manage. Only its actual state matters.
    fn observe(&mut self, node: Node<'_>, answer: Answer, found: Observed, id: &str) {
        let Question { key, urn, record, driver, digest, .. } = answer.question;
        let is_it =
            |record: &Record| record.is_called(id) || record.state.id.expose() == found.state.id.expose();
        if let Some(record) = record.as_deref().filter(|record| !is_it(record)) {
            self.recorded_as(node, record, id);
            return;
        }
        let inputs = ask::found_inputs(&answer.inputs, &found);
        let seen = Record {
            external: true,
            digest: digest.unwrap_or_default(),
            ..self.found(node, &urn, &*driver, inputs, found.state.clone())
        };
        if self.is_recorded_elsewhere(node, &seen) {
            return;
        }
        let (mut changes, mut reasons) = (Vec::new(), Vec::new());
        let same = match &record {
            None => {
                reasons.push(Reason::Observed { id: found.state.id.clone() });
                false
            }
            Some(record) if !record.external => {
                reasons.push(Reason::NoLongerManaged);
                false
            }
            Some(record) => {
                changes = diff::observed(record, &seen.inputs.values, &seen.state.outputs);
                if !changes.is_empty() {
                    reasons.push(Unfinished::Drifted.into());
                }
                changes.is_empty() && record.state == seen.state && record.inputs == seen.inputs
            }
        };
        self.node_values.fill(node.id, NodeValues::settled(&seen.inputs, &seen.state));
        if same {
            self.record_decision(
                node.id,
                Step::new(key, urn, Action::None),
                OperationKind::Keep { prepared: None },
            );
            return;
        }
        let kind = OperationKind::Observe { id: found.state.id.expose().into(), found: Some(Box::new(seen)) };
        self.record_decision(node.id, Step { reasons, changes, ..Step::new(key, urn, Action::Read) }, kind);
    }

    /// Handles an object to adopt: it is recorded as found, then updated where it differs.
    fn adopt(&mut self, node: Node<'_>, answer: Answer, found: Observed, id: &str) {
        let Answer { question, inputs, impact, .. } = answer;
        let Question { key, urn, digest, driver, .. } = question;
        let before = ask::found_inputs(&ask::known_part(&inputs), &found);
        let record = self.found(node, &urn, &*driver, before, found.state.clone());
        let record = match reports_all(&inputs, &found) {
            true => record,
            false => unconfirmed(&*driver, record),
        };
        if self.is_recorded_elsewhere(node, &record) {
            return;
        }
        let mut changes = diff::inputs(Some(&fate::compared(&record, &inputs)), &inputs);
        let impact = fate::promised(&record, impact);
        let case = Case {
            record: &record,
            driver: &*driver,
            inputs: &inputs,
            impact: &impact,
            lifecycle: node.lifecycle,
            definition: node.recipe.name.as_deref(),
            forced: None,
            always: false,
        };
        let (fate, why) = fate::decide(&case, &mut changes);
        let (fate, why) = match fate {
            Fate::Replace { decided: true } => {
                self.refuse_replacement(node, &record, &why);
                return;
            }
            // The run stops if the value differs.
            Fate::Replace { decided: false } => {
                (Fate::Update, fate::because_of(&changes, true).into_iter().collect())
            }
            other => (other, why),
        };
        let other = (found.state.id.expose() != id).then(|| id.into());
        let mut reasons = vec![Reason::Adopted { id: found.state.id.clone(), named: other }];
        reasons.extend(why);
        let outputs = match fate {
            Fate::Keep => record.state.outputs.clone(),
            _ => predict::outputs(
                &self.options.rules,
                &*driver,
                &key,
                &inputs,
                Some(&record),
                &impact.stable_outputs,
                None,
            ),
        };
        let more = fate == Fate::Update && !predict::mirrors(&*driver, &key);
        self.node_values.fill(node.id, NodeValues::with_outputs(&inputs, outputs).with_more(more));
        let kind = match fate {
            _ if self.options.import_only => OperationKind::Keep { prepared: None },
            Fate::Keep => OperationKind::Keep { prepared: prepared(inputs, digest, Vec::new()) },
            _ => OperationKind::Update {
                prepared: prepared(inputs, digest, impact.stable_outputs),
                always: false,
            },
        };
        let step = Step { reasons, changes, ..Step::new(key, urn, Action::Adopt) };
        let adopt = Some(Box::new(record));
        self.push(Decided::certain(node.id, step, kind, adopt));
    }

    /// Whether an object is already managed under another name. It must not become two resources.
    fn is_recorded_elsewhere(&mut self, node: Node<'_>, record: &Record) -> bool {
        let taken_over = self.decided.adopted.iter().map(|(_, record)| &**record);
        let taken_over = taken_over.filter(|other| other.urn != record.urn && are_one(other, record));
        let recorded = self.recorded.of_same_object_elsewhere(record).map(|other| &**other);
        let ours = recorded.chain(taken_over).filter(|other| !other.external);
        let Some(other) = ours.filter_map(|other| other.urn.key()).min() else { return false };
        let id = &record.state.id;
        // An observed object may be a managed resource under another name, as long as that resource
        // stays.
        let observes = node.lifecycle.observe.is_some();
        if observes && self.graph.nodes().any(|node| *node.key == other) {
            return false;
        }
        let (code, verb) = if observes { ("observe", "observe") } else { ("import", "adopt") };
        self.errors.push(
            Diagnostic::error(code, format!("`{}` cannot {verb} `{id}`, which is already recorded as `{other}`", node.key))
                .at(node.id_location())
                .help(format!(
                    "if it was renamed, write `aliases: ['{other}']`, or run `purlin state rename '{other}' '{}'`",
                    node.key
                )),
        );
        true
    }

    fn found(
        &self,
        node: Node<'_>,
        urn: &Urn,
        driver: &dyn Driver,
        inputs: Inputs,
        state: ResourceState,
    ) -> Record {
        let name = urn.guresid().as_str().into();
        let graph = &self.graph;
        let record = record_of(graph, node, self.context, driver, inputs, name);
        // The host is uncertain until the resource matches the documents.
        let record = Record { status: Status::Ready, named: named(node, &state), state, ..record };
        with_unknown_host(&record)
    }

    /// Reports an error: a resource that others manage must not become managed just because a line
    /// is missing, since the next change or deletion would then affect it.
    fn refuse_to_take_over(&mut self, node: Node<'_>, record: &Record) {
        let id = &record.state.id;
        let message =
            format!("`{}` is only observed, as `{id}`, but no document observes it any longer", node.key);
        self.errors.push(
            Diagnostic::error("observe-ended", message).at(&node.recipe.location).help(format!(
                "others manage it: keep `lifecycle: {{'{}': {{observe: '{id}'}}}}`, or write `import` instead of `observe` to adopt it",
                node.key
            )),
        );
    }

    /// Reports an error: an adopted resource must not be replaced while the documents still name
    /// its id.
    fn refuse_replacement(&mut self, node: Node<'_>, record: &Record, reasons: &[Reason]) {
        let mut error = Diagnostic::error(
            "import-replaced",
            format!("`{}` is adopted as `{}` and would be replaced", node.key, record.state.id),
        )
        .at(&node.recipe.location)
        .help("change the documents to match the existing object; or, to replace it, remove `import` after the adoption");
        for reason in reasons {
            error = error.fact(reason.to_string());
        }
        self.errors.push(error);
    }

    /// The faults that a driver found in the inputs of a resource.
    pub(super) fn invalid(&self, asked: &Asked<'_>, inputs: &[InputFinding]) -> Vec<Diagnostic> {
        let (driver, known) = (&**asked.driver, Some(asked.inputs));
        self.options.rules.reported(Some((&self.graph, asked.node)), driver, known, inputs)
    }
}

/// The error for an object that its driver cannot read without an input that is not known yet.
pub(super) fn not_known_yet(node: Node<'_>, pointer: &str) -> Diagnostic {
    let observes = node.lifecycle.observe.is_some();
    let (code, word) = if observes { ("observe", "observed") } else { ("import", "imported") };
    let message = format!(
        "`{}` cannot be {word} yet: its driver needs `{pointer}` to read it, and that is not known yet",
        node.key
    );
    Diagnostic::error(code, message)
        .at(node.id_location())
        .help("deploy the resource that it reads first: `purlin up --target KEY`")
}

/// Whether the documents still name the id by which the resource was adopted.
fn names_its_import(node: Node<'_>, record: &Record) -> bool {
    node.lifecycle.import.as_deref().is_some_and(|id| record.is_called(id))
}

/// The record of an adopted object whose inputs the driver did not report completely, so that the
/// next update sets them. A driver without `update` can only leave them as they are.
fn unconfirmed(driver: &dyn Driver, record: Record) -> Record {
    match driver.implements_for(&record).update {
        true => Record { status: Status::Partial(Unfinished::Unconfirmed), ..record },
        false => record,
    }
}

fn taken_over(record: &Record) -> Vec<Reason> {
    if record.external { vec![Reason::NoLongerObserved] } else { Vec::new() }
}

/// The reasons, with the use of an installation of another environment that begins or ends. Where a
/// use ends, those are left out that are only about how it was represented: nothing real is
/// replaced. Where it begins in place of an own installation, that one really goes.
fn about_uses(node: Node<'_>, record: &Record, reasons: Vec<Reason>) -> Vec<Reason> {
    let of = |uses: Option<&InstallationUse>| uses.map(|uses| uses.installation.clone());
    let before = of(record.share.as_ref().and_then(|share| share.uses.as_ref()));
    let now = of(node.installation.and_then(|installation| installation.share.uses.as_ref()));
    if before == now {
        return reasons;
    }
    let Some(before) = before else {
        let begins = now.map(|other| Reason::UsesInstead { other });
        return begins.into_iter().chain(reasons).collect();
    };
    let is_real =
        |reason: &Reason| !matches!(reason, Reason::DriverChanged { .. } | Reason::DefinitionChanged { .. });
    let uses = now.map(|other| Reason::Uses { other });
    let reasons = reasons.into_iter().filter(is_real);
    [Reason::LetsGo { other: before }].into_iter().chain(uses).chain(reasons).collect()
}
