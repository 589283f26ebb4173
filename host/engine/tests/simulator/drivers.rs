//! Drivers that keep their contract, and fail in every way that it allows.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use purlin_engine::{About, Call, Driver, Drivers, Effect, Needed, ReadRequest, Request as Wanted, Response};
use purlin_model::driver::{
    Checked, DriverInfo, Failure, Forecast, Impact, Implements, Inputs, Observed, Part, PartAction, Pending,
    ResourceState, Token, TypeSchema,
};
use purlin_model::{Diagnostic, Label, Map, Value};
use purlin_sandbox::{CallError, Change};

use tokio::time::Instant;

use crate::request::{Request, Sent};
use crate::scenario::{CallFault, Checkpoint, DriverKind};
use crate::sim::Shared;
use crate::world::{Thing, show, state_of, values};

/// The time limit of a call; the sandbox then ends it.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// The grace of every driver. A system shows a new object sooner, and a deleted object no longer.
pub(crate) const GRACE: Duration = Duration::from_secs(30);

/// How long a run waits for a resource in progress.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Why a system creates nothing.
enum Refused {
    /// The object that it is to live in does not exist, or the request was answered before.
    NoHome,
    /// A deleted object still has the name.
    NameTaken,
}

/// A simulated driver.
pub(crate) struct SimDriver {
    sim: Shared,
    number: usize,
    name: String,
    kind: DriverKind,
    info: DriverInfo,
}

/// Drivers by name.
pub(crate) struct Shelf(Vec<Arc<SimDriver>>);

impl Shelf {
    pub(crate) fn new(kinds: &[DriverKind], sim: &Shared) -> Self {
        let echo = DriverKind {
            implements: Implements { update: true, repeat_create: true, ..Implements::default() },
            checkpoint: Checkpoint::Never,
            deletes_first: false,
            returns_inputs: false,
            finds_oldest: false,
            strict: false,
            promises: false,
            lag: 0,
            late: false,
            lingers: 0,
            keeps_names: false,
            takes: 0,
            cookie: 0,
            foresees: false,
        };
        let all = kinds.iter().chain([&echo]).enumerate();
        Self(
            all.map(|(number, kind)| {
                let name =
                    if number == kinds.len() { "purlin/echo".to_owned() } else { format!("sim/d{number}") };
                Arc::new(SimDriver::new(sim, number, name, kind))
            })
            .collect(),
        )
    }
}

#[async_trait]
impl Drivers for Shelf {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let name = match needed {
            Needed::For(requirement) => &*requirement.name,
            Needed::Recorded(name, _) => name,
        };
        match self.0.iter().find(|driver| driver.name == name) {
            Some(driver) => Ok(Arc::clone(driver) as _),
            None => Err(Box::new(Diagnostic::error("driver", format!("no driver `{name}`")))),
        }
    }
}

/// A call in flight.
struct Under<'a> {
    call: &'a Call,
    number: u32,
    fault: Option<CallFault>,
    begun: Instant,
}

impl Under<'_> {
    /// Whether it fails before the system has its request.
    fn sends_nothing(&self) -> bool {
        use CallFault::{Busy, Fail, HangBefore, NoInstance, TrapBefore};
        matches!(self.fault, Some(Fail | Busy | TrapBefore | NoInstance | HangBefore))
    }
}

/// The token of a forecast for these values.
fn token_for(values: &Map) -> Token {
    show(values).into_bytes().into()
}

impl SimDriver {
    fn new(sim: &Shared, number: usize, name: String, kind: &DriverKind) -> Self {
        let types = vec![TypeSchema {
            type_name: "*".into(),
            implements: kind.implements,
            inputs: true.into(),
            outputs: true.into(),
        }];
        let info = DriverInfo {
            name: name.clone(),
            version: semver::Version::new(1, 0, 0),
            description: "does what the contract allows".into(),
            types,
            requested_capabilities: Vec::new(),
            notes: serde_json::Map::new(),
        };
        Self { sim: Arc::clone(sim), number, name, kind: kind.clone(), info }
    }

    fn trap(&self) -> CallError {
        CallError::Trap { driver: self.name.clone(), message: "unreachable".into() }
    }

    /// When a request that is sent now has arrived at the latest, and what it made is shown.
    fn latest(&self) -> u64 {
        self.sim.ticks() + u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX)
    }

    fn count<'a>(&self, what: &str, call: &'a Call, id: &str) -> Under<'a> {
        match self.sim.draw(4) {
            0 => self.sim.late_requests_arrive(),
            _ => self.sim.due_requests_arrive(),
        }
        let (number, fault) = self.sim.call();
        let with = fault.map_or_else(String::new, |fault| format!(" ({fault:?})"));
        self.sim.say(format!("{number}: {what} {} {id}{with}", call.subject.key));
        Under { call, number, fault, begun: Instant::now() }
    }

    /// Everything until the moment of the effect, for a call without effects.
    async fn begin<'a>(&self, what: &str, call: &'a Call, id: &str) -> Result<Under<'a>, CallError> {
        let under = self.count(what, call, id);
        self.sim.point().await;
        self.approach(under).await
    }

    /// The same for a call with effects, which the system may carry out while this host is stopped.
    async fn send<'a, T: Send + 'static>(
        &self,
        under: Under<'a>,
        request: &Arc<Request<T>>,
        is_sent: bool,
    ) -> Result<Under<'a>, CallError> {
        if !self.sim.may_call() {
            self.sim.world().violated("a call was begun without the lease".into());
        }
        self.sim.point().await;
        let sent: Arc<dyn Sent> = Arc::clone(request) as _;
        let _under_way = (is_sent && !under.sends_nothing()).then(|| self.sim.under_way(sent));
        self.approach(under).await
    }

    /// The transit of a request that waited for its checkpoint.
    async fn travel<T: Send + 'static>(
        &self,
        under: &Under<'_>,
        request: &Arc<Request<T>>,
    ) -> Result<(), CallError> {
        if self.sim.is_leased() {
            let _under_way = self.sim.under_way(Arc::clone(request) as _);
            self.wait(under, Duration::from_millis(u64::from(self.sim.draw(10)))).await?;
        }
        Ok(())
    }

    async fn approach<'a>(&self, under: Under<'a>) -> Result<Under<'a>, CallError> {
        let time = match under.fault {
            Some(CallFault::Slow) => 5_000,
            _ => u64::from(self.sim.draw(20)),
        };
        self.wait(&under, Duration::from_millis(time)).await?;
        match under.fault {
            Some(CallFault::Fail) => Err(CallError::Failure(Failure::Failed("simulated fault".into()))),
            Some(CallFault::Busy) => Err(CallError::Failure(Failure::RetryAfter {
                after: Duration::from_millis(500),
                message: "simulated fault".into(),
            })),
            Some(CallFault::TrapBefore) => Err(self.trap()),
            Some(CallFault::NoInstance) => {
                Err(CallError::Instantiate { driver: self.name.clone(), message: "simulated fault".into() })
            }
            Some(CallFault::HangBefore) => Err(self.hang(&under).await),
            _ => Ok(under),
        }
    }

    /// Waits within a call. If the call is cut off or exceeds its limit, the sandbox ends it before
    /// it does anything else.
    async fn wait(&self, under: &Under<'_>, time: Duration) -> Result<(), CallError> {
        let left = LIMIT.saturating_sub(under.begun.elapsed());
        if self.sim.wait(time.min(left), &under.call.cancel).await || under.call.cancel.is_cut() {
            return Err(CallError::Cancelled);
        }
        match under.begun.elapsed() >= LIMIT {
            true => Err(CallError::TimeLimit { driver: self.name.clone(), limit: LIMIT }),
            false => Ok(()),
        }
    }

    async fn hang(&self, under: &Under<'_>) -> CallError {
        let limit = || CallError::TimeLimit { driver: self.name.clone(), limit: LIMIT };
        self.wait(under, LIMIT).await.err().unwrap_or_else(limit)
    }

    /// The response of the system.
    async fn answered<T: Send + 'static>(
        &self,
        under: &Under<'_>,
        request: &Request<T>,
    ) -> Result<T, CallError> {
        match request.answer() {
            Some(answer) => Ok(answer),
            None => Err(self.hang(under).await),
        }
    }

    /// Everything from the effect to the response.
    async fn answer<T>(&self, under: Under<'_>, answer: T) -> Result<T, CallError> {
        self.sim.point().await;
        let time = u64::from(self.sim.draw(10));
        self.wait(&under, Duration::from_millis(time)).await?;
        match under.fault {
            Some(CallFault::TrapAfter) => return Err(self.trap()),
            Some(CallFault::HangAfter) => return Err(self.hang(&under).await),
            Some(CallFault::Junk) => {
                return Err(CallError::Junk { driver: self.name.clone(), what: "simulated fault".into() });
            }
            _ => {}
        }
        self.sim.say(format!("{}: answered", under.number));
        self.sim.point().await;
        Ok(answer)
    }

    async fn changed(&self, under: Under<'_>, state: ResourceState) -> Result<ResourceState, CallError> {
        if matches!(under.fault, Some(CallFault::Partial | CallFault::Half)) {
            // It failed half-way: its system does not work at it any more.
            if let Some(thing) = self.sim.world().things.get_mut(state.id.expose()) {
                thing.done = 0;
            }
            let failure = Failure::Partial { state: Box::new(state), problem: "simulated fault".into() };
            return Err(self.answer(under, CallError::Failure(failure)).await.unwrap_or_else(|error| error));
        }
        if let Some(pending) = self.is_pending(state.id.expose()) {
            let failure = Failure::Pending { state: Some(Box::new(state)), pending };
            return Err(self.answer(under, CallError::Failure(failure)).await.unwrap_or_else(|error| error));
        }
        self.answer(under, state).await
    }

    /// What an object waits for, if it is not done. Some of that time passes until the answer arrives.
    fn is_pending(&self, id: &str) -> Option<Pending> {
        let done = self.sim.world().things.get(id).map(|thing| thing.done)?;
        let left = Duration::from_millis(done.saturating_sub(self.sim.ticks()));
        if left.is_zero() {
            return None;
        }
        self.sim.pass(left.min(Duration::from_secs(8)));
        Some(Pending { after: left, message: "it takes a while".into() })
    }

    fn gone(&self, id: &str) -> CallError {
        CallError::Failure(Failure::NotFound(id.into()))
    }

    async fn checkpoint(&self, when: Checkpoint, call: &Call, id: &str) -> Result<(), CallError> {
        if self.kind.checkpoint == when
            && let Some(sink) = &call.checkpoint
            && let Err(message) = sink.checkpoint(&id.into()).await
        {
            return Err(CallError::Checkpoint { driver: self.name.clone(), message });
        }
        Ok(())
    }
}

#[async_trait]
impl Driver for SimDriver {
    fn about(&self) -> About<'_> {
        About {
            info: &self.info,
            known_as: &self.name,
            digest: "simulated",
            previews: self.kind.foresees,
            grants: None,
            longest: Some(LIMIT),
            patience: LIMIT,
            grace: GRACE,
            pending: PATIENCE,
            accounts: None,
        }
    }

    async fn call(&self, call: &Call, request: Wanted<'_>) -> Result<Response, CallError> {
        Ok(match request {
            Wanted::Check { inputs, previous } => {
                Response::Checked(self.check(call, inputs, previous).await?)
            }
            Wanted::Name(inputs) => Response::Name(self.name(call, inputs).await?),
            Wanted::Read(request) => Response::Observed(self.read(call, request).await?),
            Wanted::UpdateImpact(change) => Response::Impact(self.update_impact(call, change).await?),
            Wanted::Preview(effect) => Response::Forecast(Some(self.preview(call, effect).await?)),
            Wanted::Effect(Effect::Create { inputs, name, replaces }) => {
                Response::State(self.create(call, inputs, name, replaces).await?)
            }
            Wanted::Effect(Effect::Update(change)) => Response::State(self.update(call, change).await?),
            Wanted::Effect(Effect::Delete { state, inputs, .. }) => {
                self.delete(call, state, inputs).await?;
                Response::Deleted
            }
        })
    }
}

impl SimDriver {
    async fn check(&self, call: &Call, inputs: &Inputs, _: Option<&Inputs>) -> Result<Checked, CallError> {
        let under = self.begin("check", call, "").await?;
        let mut values = values(inputs);
        values.get_or_insert_with("defaulted".into(), || "yes".into());
        let checked =
            Checked { values: Value::Map(values), secrets: inputs.secrets.clone(), warnings: Vec::new() };
        self.answer(under, checked).await
    }

    /// All environments are in one account, where names distinguish them.
    async fn name(&self, call: &Call, _: &Inputs) -> Result<Label, CallError> {
        Ok(format!("{}-{}", call.subject.context.env.id, call.subject.key.id()).into())
    }

    async fn create(
        &self,
        call: &Call,
        inputs: &Inputs,
        name: &str,
        _replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        let repeats = self.kind.implements.repeat_create;
        let id = self.sim.world().reserve(&call.idempotency_key, repeats);
        self.is_foreseen(call, &values(inputs));
        let under = self.count("create", call, &id);
        let thing = Thing {
            urn: call.subject.urn.as_str().to_owned(),
            name: name.to_owned(),
            values: values(inputs),
            made_with: call.idempotency_key.clone(),
            driver: self.number,
            home: None,
            had: std::collections::BTreeSet::new(),
            released: false,
            shown: 0,
            lingers: u64::from(self.kind.lingers) * 1_000,
            done: 0,
            cookie: self.kind.cookie,
            foresees: self.kind.foresees,
            changes: 0,
        };
        let (sim, kind, made) = (Arc::clone(&self.sim), self.kind.clone(), id.clone());
        // The grace covers both: how long the system works at a request whose caller is gone, and how
        // late it shows the result.
        let latest = self.latest();
        let request = Request::new(self.kind.late.then_some(latest), move || {
            let now = sim.ticks();
            let shown = (now + u64::from(kind.lag) * 1_000).min(latest.max(now));
            let thing = Thing { shown, done: now + u64::from(kind.takes) * 1_000, ..thing };
            let mut world = sim.world();
            // A system that honours keys creates nothing for a request that it answered before.
            if repeats && !world.is_open(&thing.made_with) {
                return Err(Refused::NoHome);
            }
            if !world.has_room(&thing.values, &thing.urn) {
                return Err(Refused::NoHome);
            }
            if kind.keeps_names && world.keeps_name(thing.driver, &thing.name, sim.ticks()) {
                return Err(Refused::NameTaken);
            }
            if kind.deletes_first && kind.implements.update_impact {
                world.is_alone(&made, &thing);
            }
            if kind.implements.read {
                world.has_no_unknown_twin(&thing, kind.finds_oldest);
            }
            if !(repeats && world.things.contains_key(&made)) {
                world.refers_to_what_is_done(&made, &thing.values, now);
                world.make(&made, thing);
            }
            Ok(world.state(&made).unwrap_or_default())
        });
        let waits = self.kind.checkpoint == Checkpoint::Before && call.checkpoint.is_some();
        let under = self.send(under, &request, !waits).await?;
        self.checkpoint(Checkpoint::Before, call, &id).await?;
        if waits {
            self.travel(&under, &request).await?;
        }
        let state = match self.answered(&under, &request).await? {
            Ok(state) => state,
            Err(Refused::NoHome) => return Err(self.gone("what it is to live in")),
            Err(Refused::NameTaken) => {
                self.sim.say(format!("{}: the name is taken", under.number));
                return Err(CallError::Failure(Failure::Conflict("the name is taken".into())));
            }
        };
        self.sim.point().await;
        self.checkpoint(Checkpoint::After, call, &id).await?;
        self.changed(under, state).await
    }

    async fn read(&self, call: &Call, request: ReadRequest<'_>) -> Result<Option<Observed>, CallError> {
        if !self.kind.implements.read {
            // As the sandbox behaves.
            let Some(state) = request.state.cloned() else {
                return Err(CallError::Failure(Failure::Failed("it cannot look".into())));
            };
            return Ok(Some(Observed { state, ..Observed::default() }));
        }
        request.state.into_iter().for_each(|state| self.sim.world().has_cookie(state));
        let what = request.id.map_or_else(|| format!("named {}", request.name), str::to_owned);
        let under = self.begin("read", call, &what).await?;
        let found = {
            let mut world = self.sim.world();
            let now = self.sim.ticks();
            let id = request
                .id
                .map(str::to_owned)
                .or_else(|| world.shown_by_name(self.number, request.name, self.kind.finds_oldest, now));
            id.iter().for_each(|id| world.is_at_home(id, call.subject.urn.as_str()));
            // The ids of one driver are meaningless to another one.
            id.and_then(|id| {
                let thing = world.shown(&id, now).filter(|thing| thing.driver == self.number)?;
                Some((state_of(&id, thing), thing.values.clone()))
            })
        };
        // Values that the driver can report but that do not exist are reported as null.
        let mut requested = values(request.inputs);
        if self.kind.implements.check {
            requested.insert("defaulted".into(), Value::Null);
        }
        let found = found.map(|(state, mut values)| {
            for name in requested.keys() {
                values.get_or_insert_with(name.clone(), || Value::Null);
            }
            (state, values)
        });
        let found = found.map(|(state, values)| Observed {
            state,
            values: self.kind.returns_inputs.then_some(Value::Map(values)),
            pending: None,
        });
        if found.is_none() && self.kind.takes > 0 {
            // Whoever waits for it to be shown looks again later.
            self.sim.pass(Duration::from_secs(4));
        }
        let found = found.map(|found| match self.is_pending(found.state.id.expose()) {
            Some(pending) => Observed { pending: Some(pending), values: None, ..found },
            None => found,
        });
        self.answer(under, found).await
    }

    async fn update_impact(&self, call: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        self.sim.world().has_cookie(change.state);
        let under = self.begin("impact", call, "").await?;
        let (before, after) = (values(change.before), values(change.after));
        let names = before.keys().chain(after.keys()).filter(|name| name.starts_with("fixed"));
        let mut replaces: Vec<String> = names
            .filter(|name| before.get(*name) != after.get(*name))
            .map(|name| format!("/values/{name}"))
            .collect();
        replaces.sort_unstable();
        replaces.dedup();
        let stable = if self.kind.promises { vec!["/outputs/id".to_owned()] } else { Vec::new() };
        let delete_before_replace = self.kind.deletes_first;
        self.answer(
            under,
            Impact { replaces, delete_before_replace, stable_outputs: stable, ..Impact::default() },
        )
        .await
    }

    /// Promises the outputs that are certain, and ties the effect to all values.
    async fn preview(&self, call: &Call, effect: Effect<'_>) -> Result<Forecast, CallError> {
        let under = self.begin("preview", call, "").await?;
        let (action, after) = match effect {
            Effect::Create { inputs, .. } => (PartAction::Create, values(inputs)),
            Effect::Update(change) => (PartAction::Update, values(change.after)),
            Effect::Delete { .. } => (PartAction::Delete, Map::default()),
        };
        let is_known = |name: &&str| after.get(*name).is_some_and(|value| value.as_str().is_some());
        let certain = ["v", "fixed"].into_iter().filter(is_known);
        let outputs =
            certain.map(|name| (name.into(), after.get(name).cloned().unwrap_or_default())).collect();
        let part = Part {
            address: "the thing".into(),
            moved_from: None,
            type_name: "thing".into(),
            action,
            before: None,
            after: None,
            replaces: Vec::new(),
            holds_data: None,
            notes: Map::default(),
        };
        let is_complete = !Value::Map(after.clone()).has_unknown();
        let token = is_complete.then(|| token_for(&after));
        let forecast =
            Forecast { outputs: Value::Map(outputs), parts: vec![part], token, notes: Map::default() };
        self.answer(under, forecast).await
    }

    /// An effect comes with the token of a forecast for the same values, if its driver foresees effects.
    fn is_foreseen(&self, call: &Call, after: &Map) {
        if self.kind.foresees && call.token.as_ref() != Some(&token_for(after)) {
            let given =
                call.token.as_ref().map(|token| String::from_utf8_lossy(token.as_bytes()).into_owned());
            let message =
                format!("the effect on {} with {} has the token {given:?}", call.subject.key, show(after));
            self.sim.world().violated(message);
        }
    }

    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        let id = change.state.id.expose().to_owned();
        self.sim.world().has_cookie(change.state);
        self.is_foreseen(call, &values(change.after));
        let under = self.count("update", call, &id);
        let (sim, fault, changed) = (Arc::clone(&self.sim), under.fault, id.clone());
        let (urn, before) = (call.subject.urn.as_str().to_owned(), values(change.before));
        let (mut after, takes) = (values(change.after), self.kind.takes);
        let request = Request::new(None, move || {
            let mut world = sim.world();
            if !world.has_room(&after, &urn) {
                return None;
            }
            world.is_at_home(&changed, &urn);
            world.was_ever(&changed, &before);
            if fault == Some(CallFault::Half)
                && let Some(there) = world.things.get(&changed)
            {
                let v = after.get("v").cloned().unwrap_or_default();
                after = there.values.clone();
                after.insert("v".into(), v);
            }
            let done = sim.ticks() + u64::from(takes) * 1_000;
            Some(if world.change(&changed, &after, done) { world.state(&changed) } else { None })
        });
        let under = self.send(under, &request, true).await?;
        let Some(state) = self.answered(&under, &request).await? else {
            return Err(self.gone("what it is to live in"));
        };
        match state {
            Some(state) => self.changed(under, state).await,
            None => Err(self.gone(&id)),
        }
    }

    async fn delete(&self, call: &Call, state: &ResourceState, _: &Inputs) -> Result<(), CallError> {
        self.sim.world().has_cookie(state);
        let under = self.count("delete", call, state.id.expose());
        let (sim, id) = (Arc::clone(&self.sim), state.id.expose().to_owned());
        let urn = call.subject.urn.as_str().to_owned();
        let request = Request::new(self.kind.late.then(|| self.latest()), move || {
            let now = sim.ticks();
            let mut world = sim.world();
            world.is_at_home(&id, &urn);
            world.delete(&id, now)
        });
        let under = self.send(under, &request, true).await?;
        let was_there = self.answered(&under, &request).await?;
        // As the contract demands: it is gone when its deletion succeeds.
        let left = self.sim.world().shown_for(state.id.expose(), self.sim.ticks());
        if let Some(after) = left {
            self.sim.pass(after);
            let message = "it is still shown".to_owned();
            let failure = match self.kind.takes {
                0 => Failure::RetryAfter { after, message },
                _ => Failure::Pending { state: None, pending: Pending { after, message } },
            };
            return self.answer(under, Err(CallError::Failure(failure))).await?;
        }
        self.answer(under, ()).await?;
        if was_there || !self.kind.strict { Ok(()) } else { Err(self.gone(state.id.expose())) }
    }
}
