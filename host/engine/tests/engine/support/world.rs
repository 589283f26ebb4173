//! A world that a driver changes, and that tests can change behind Purlin's back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use purlin_engine::{About, Call, Driver, Drivers, Effect, Needed, ReadRequest, Request, Response};
use purlin_model::driver::{
    Checked, DriverInfo, Failure, Forecast, Impact, Implements, InputFinding, Inputs, Observed, Pending,
    ResourceState, TypeSchema,
};
use purlin_model::{Diagnostic, Label, Value};
use purlin_sandbox::{CallError, Change};

/// A real object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) values: Value,
    pub(crate) made_with: String,
}

/// When a call crashes without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Before anything was done.
    Before,
    /// After everything was done.
    After,
    /// At the time limit, before anything was done.
    AtLimit,
    /// The system rejects it, and does nothing.
    Rejected,
    /// The system accepts a deletion, which takes time, and rejects the next attempt.
    Accepted,
}

/// What a driver says that an effect would make.
pub(crate) type Foresight = Box<dyn Fn(&Inputs) -> Result<Forecast, CallError> + Send>;

/// Echoes its inputs, and misbehaves as its params say:
///
/// - `fail: create|update|delete|check|read`, `partial: text`, `sleep: ms`;
/// - `gate: true`: its calls wait while the test keeps the gate shut, unless they are cut off;
/// - `fixed: X`: a change to it replaces; with `first: …`, the old resource must be deleted first;
/// - `slow: ms`: `update-impact` takes this long;
/// - `coy: true`: it ignores changes to values that are still unknown;
/// - `busy: n`: this many calls must be retried after 5 ms, or after the milliseconds of `wait`;
/// - `same: id`: the created object has this id, even if another one has it already;
/// - `stuck: text`: an update changes only `v`, and reports that it is partial;
/// - `lie: text`: the output `v` is this text instead of the input;
/// - `alone: true`: creation fails while the resource that it replaces exists;
/// - `doubt: before|after`: the outcome of a call with effects is undecided, before or after it
///   took effect;
/// - `token: text`: only `create` returns it as an output.
///
/// Its schema has the `connection` of a server: `host` identifies the server, `key` is secret.
pub(crate) struct Scripted {
    name: String,
    info: DriverInfo,
    pub(crate) calls: Mutex<Vec<String>>,
    /// Calls with provider ids.
    pub(crate) log: Mutex<Vec<(String, String)>>,
    /// The idempotency keys of calls with effects.
    pub(crate) keys: Mutex<Vec<String>>,
    running: AtomicU64,
    pub(crate) most_running: AtomicU64,
    gate_is_shut: AtomicBool,
    /// Calls that wait at the gate.
    waiting: AtomicU64,
    pub(crate) world: Mutex<BTreeMap<String, Thing>>,
    made: Mutex<BTreeMap<String, u32>>,
    /// Keys whose calls all fail; tests change this between runs.
    pub(crate) broken: Mutex<BTreeSet<String>>,
    /// Keys that no call reaches, not even one that would find an existing object.
    pub(crate) unreachable: Mutex<BTreeSet<String>>,
    /// The secret `key` that the server rejects.
    pub(crate) rejected: Mutex<Option<String>>,
    /// Outputs that do not depend on inputs.
    pub(crate) weather: Mutex<BTreeMap<String, String>>,
    /// Calls (`create KEY`) that crash.
    pub(crate) lost: Mutex<BTreeMap<String, Lost>>,
    busy: Mutex<BTreeMap<String, u32>>,
    /// The time limit of an attempt.
    pub(crate) longest: Mutex<Duration>,
    /// How long the system may not show a new object.
    pub(crate) grace: Mutex<Duration>,
    /// Whether `read` finds nothing, because the system does not show it yet.
    pub(crate) hides: Mutex<bool>,
    /// Whether the system still shows the objects that are deleted from now on.
    pub(crate) lingers: Mutex<bool>,
    /// The deleted objects that the system still shows.
    pub(crate) lingering: Mutex<BTreeMap<String, Thing>>,
    /// Whether `create` reports its id before it finishes.
    pub(crate) checkpoints: Mutex<bool>,
    /// The arguments of updates: the params before, the outputs, and the params after.
    pub(crate) changes: Mutex<Vec<(purlin_model::Map, Value, purlin_model::Map)>>,
    /// The ids of other objects that each `read` was given.
    pub(crate) known: Mutex<Vec<Vec<String>>>,
    /// Whether `read` by name finds the oldest object with the name.
    pub(crate) finds_oldest: Mutex<bool>,
    /// Whether `read` by name finds any object.
    pub(crate) finds_any: Mutex<bool>,
    /// Whether `read` by name finds only objects that were created with the idempotency key of the
    /// call.
    pub(crate) marks: Mutex<bool>,
    drawn: AtomicU64,
    /// The bytes that it keeps privately for each object: its id, over and over.
    pub(crate) keeps: AtomicUsize,
    /// Calls (`create KEY`) after which the object is not done for this many looks, by `read` or `delete`.
    pub(crate) takes: Mutex<BTreeMap<String, u32>>,
    /// The objects that are not done, by their ids.
    pub(crate) on_their_way: Mutex<BTreeMap<String, u32>>,
    /// What it foresees, if it does, of deletions and of other effects, and the calls about that.
    pub(crate) foresight: Mutex<Option<Foresight>>,
    pub(crate) foresight_of_deletions: Mutex<Option<Foresight>>,
    pub(crate) foreseen: Mutex<Vec<String>>,
    /// The tokens of effects that have one.
    pub(crate) tokens: Mutex<Vec<String>>,
    /// The ids of the objects whose data was lost with somebody's consent.
    pub(crate) lost_data: Mutex<Vec<String>>,
    /// The clock of the platform, and for how long each `read` lets it go on once the system answered.
    pub(crate) reads_take: Mutex<(Arc<AtomicU64>, Duration)>,
}

/// What the driver keeps for an object.
fn cookie(id: &str, bytes: usize) -> Vec<u8> {
    id.bytes().cycle().take(bytes).collect()
}

/// The driver is given what it keeps for an object.
fn has_cookie(state: &ResourceState) {
    let given = state.cookie.bytes().expect("read from the state");
    assert_eq!(given, cookie(state.id.expose(), given.len()), "of {:?}", state.id);
}

/// What an object that is not done waits for.
fn not_done(state: Option<ResourceState>) -> CallError {
    let pending = Pending { after: Duration::from_millis(100), message: "it takes a while".into() };
    CallError::Failure(Failure::Pending { state: state.map(Box::new), pending })
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panicked with it")
}

impl Scripted {
    pub(crate) fn new(name: &str, implements: Implements) -> Arc<Self> {
        Self::with_outputs(name, implements, true.into())
    }

    /// A driver that supports only these types.
    pub(crate) fn of_types(name: &str, implements: Implements, types: &[&str]) -> Arc<Self> {
        let mut scripted = Self::with_outputs(name, implements, true.into());
        let own = Arc::get_mut(&mut scripted).expect("it is nobody else's yet");
        let schema = own.info.types[0].clone();
        own.info.types =
            types.iter().map(|name| TypeSchema { type_name: (*name).into(), ..schema.clone() }).collect();
        scripted
    }

    /// A driver with a schema of its outputs.
    pub(crate) fn with_outputs(name: &str, implements: Implements, outputs: serde_json::Value) -> Arc<Self> {
        // A resource with the param `data` holds data.
        let inputs = serde_json::json!({"properties": {"values": {"properties": {
            "drawn": {"x-purlin-replaces": true},
        }}, "params": {"properties": {
            "data": {"x-purlin-holds-data": "what it keeps"},
            "engine": {"x-purlin-immutable": true},
            "zone": {"x-purlin-replaces": true},
        }}, "connection": {"properties": {
            "host": {"x-purlin-replaces": true},
            "port": {"default": 80, "x-purlin-replaces": true},
            "key": {"writeOnly": true},
        }}}});
        let types = vec![TypeSchema { type_name: "*".into(), implements, inputs, outputs }];
        let info = DriverInfo {
            // The name in a description may differ from the operator's name for the driver.
            name: "author/scripted".into(),
            version: semver::Version::new(1, 0, 0),
            description: "does as it is told".into(),
            types,
            requested_capabilities: Vec::new(),
            notes: serde_json::Map::new(),
        };
        Arc::new(Self {
            name: name.into(),
            info,
            calls: Mutex::default(),
            log: Mutex::default(),
            keys: Mutex::default(),
            running: AtomicU64::default(),
            most_running: AtomicU64::default(),
            gate_is_shut: AtomicBool::default(),
            waiting: AtomicU64::default(),
            world: Mutex::default(),
            made: Mutex::default(),
            broken: Mutex::default(),
            rejected: Mutex::default(),
            unreachable: Mutex::default(),
            weather: Mutex::default(),
            lost: Mutex::default(),
            busy: Mutex::default(),
            longest: Mutex::new(Duration::from_secs(30)),
            grace: Mutex::default(),
            hides: Mutex::default(),
            lingers: Mutex::default(),
            lingering: Mutex::default(),
            known: Mutex::default(),
            checkpoints: Mutex::new(false),
            changes: Mutex::default(),
            finds_oldest: Mutex::new(false),
            finds_any: Mutex::new(false),
            marks: Mutex::new(false),
            drawn: AtomicU64::default(),
            keeps: AtomicUsize::default(),
            takes: Mutex::default(),
            on_their_way: Mutex::default(),
            foresight: Mutex::default(),
            foresight_of_deletions: Mutex::default(),
            foreseen: Mutex::default(),
            tokens: Mutex::default(),
            lost_data: Mutex::default(),
            reads_take: Mutex::default(),
        })
    }

    pub(crate) fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.calls))
    }

    /// The keys of the existing objects, sorted; a key occurs twice if there are two copies.
    pub(crate) fn alive(&self) -> Vec<String> {
        let mut keys: Vec<String> = locked(&self.world).values().map(|thing| thing.key.clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Changes an object behind Purlin's back.
    pub(crate) fn drift(&self, id: &str, name: &str, value: &str) {
        let mut world = locked(&self.world);
        let thing = world.get_mut(id).unwrap_or_else(|| panic!("no `{id}`"));
        let mut values = thing.values.as_map().cloned().unwrap_or_default();
        values.insert(name.into(), value.into());
        thing.values = Value::Map(values);
    }

    pub(crate) fn shut_gate(&self) {
        self.gate_is_shut.store(true, Ordering::SeqCst);
    }

    pub(crate) fn open_gate(&self) {
        self.gate_is_shut.store(false, Ordering::SeqCst);
    }

    /// Returns when this many calls wait at the gate.
    pub(crate) async fn until_waiting(&self, calls: u64) {
        while self.waiting.load(Ordering::SeqCst) < calls {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Returns when this many calls have ended.
    pub(crate) async fn until_ended(&self, calls: usize) {
        while locked(&self.calls).len() < calls {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn is_rejected(&self, inputs: &Inputs) -> bool {
        let rejected = locked(&self.rejected);
        [&inputs.secrets, &inputs.connection].into_iter().any(|part| {
            let key = part.get("key").and_then(|key| Some(key.exposed().as_str()?.to_owned()));
            key.is_some() && key == *rejected
        })
    }

    async fn act(&self, what: &str, call: &Call, inputs: &Inputs, id: &str) -> Result<(), CallError> {
        let key = call.subject.key.to_string();
        if what != "read" {
            assert!(!call.idempotency_key.is_empty(), "a call with effects has an idempotency key");
            locked(&self.keys).push(call.idempotency_key.clone());
        }
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let sleep = text(inputs, "sleep").and_then(|ms| ms.parse().ok()).unwrap_or(0);
        let over = tokio::time::Instant::now() + Duration::from_millis(sleep);
        while tokio::time::Instant::now() < over && !call.cancel.is_cut() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if inputs.params.get("gate").is_some() {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            while self.gate_is_shut.load(Ordering::SeqCst) && !call.cancel.is_cut() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        locked(&self.calls).push(format!("{what} {key}"));
        if let Some(token) = &call.token {
            let (token, name) = (String::from_utf8_lossy(token.as_bytes()), call.subject.key.id());
            let name = name.trim_start_matches("shared.");
            locked(&self.tokens).push(format!("{what} {name} {token}"));
        }
        locked(&self.log).push((what.to_owned(), id.to_owned()));
        if call.cancel.is_cut() {
            return Err(CallError::Cancelled);
        }
        if what != "read" && text(inputs, "doubt").as_deref() == Some("before") {
            return Err(CallError::Failure(Failure::Undecided("the answer was lost".into())));
        }
        if self.is_rejected(inputs)
            || text(inputs, "fail").as_deref() == Some(what)
            || locked(&self.broken).contains(&key)
        {
            return Err(CallError::Failure(Failure::Failed(format!("{what} of {key} failed").into())));
        }
        if let Some(times) = text(inputs, "busy").and_then(|times| times.parse::<u32>().ok()) {
            let mut busy = locked(&self.busy);
            let so_far = busy.entry(format!("{what} {key}")).or_insert(0);
            *so_far += 1;
            if *so_far <= times {
                let wait = text(inputs, "wait").and_then(|millis| millis.parse().ok());
                let after = Duration::from_millis(wait.unwrap_or(5));
                return Err(CallError::Failure(Failure::RetryAfter { after, message: "busy".into() }));
            }
        }
        let lost = |lost: &mut BTreeMap<String, Lost>| {
            let call = format!("{what} {key}");
            matches!(lost.get(&call), Some(Lost::Before | Lost::AtLimit | Lost::Rejected))
                .then(|| lost.remove(&call))
                .flatten()
        };
        match lost(&mut locked(&self.lost)) {
            None => Ok(()),
            Some(Lost::AtLimit) => {
                Err(CallError::TimeLimit { driver: self.name.clone(), limit: *locked(&self.longest) })
            }
            Some(Lost::Rejected) => Err(CallError::Failure(Failure::Failed("it was rejected".into()))),
            Some(_) => Err(self.crashed()),
        }
    }

    fn crashed(&self) -> CallError {
        CallError::Trap { driver: self.name.clone(), message: "the answer was lost".into() }
    }

    fn state(&self, id: &str, inputs: &Inputs) -> ResourceState {
        let mut outputs = inputs.params.as_map().cloned().unwrap_or_default();
        outputs.remove("token");
        outputs.extend(inputs.values.as_map().cloned().unwrap_or_default());
        for (name, value) in inputs.secrets.as_map().into_iter().flatten() {
            outputs.insert(name.clone(), value.clone().into_secret());
        }
        if let Some(lie) = text(inputs, "lie") {
            outputs.insert("v".into(), lie.as_str().into());
        }
        for (name, value) in &*locked(&self.weather) {
            outputs.insert(name.as_str().into(), value.as_str().into());
        }
        outputs.insert("id".into(), id.into());
        let cookie = cookie(id, self.keeps.load(Ordering::SeqCst)).into();
        ResourceState { id: id.into(), outputs: Value::Map(outputs), cookie, ..ResourceState::default() }
    }

    /// Whether an object takes longer than this call.
    fn takes(&self, what: &str, call: &Call, id: &str) -> bool {
        let looks = locked(&self.takes).remove(&format!("{what} {}", call.subject.key));
        looks.map(|looks| locked(&self.on_their_way).insert(id.to_owned(), looks)).is_some()
    }

    /// Whether an object is still not done at this look.
    fn is_not_done(&self, id: &str) -> bool {
        let mut on_their_way = locked(&self.on_their_way);
        match on_their_way.get_mut(id) {
            None => false,
            Some(0) => {
                on_their_way.remove(id);
                false
            }
            Some(looks) => {
                *looks -= 1;
                true
            }
        }
    }

    fn answer<T>(&self, what: &str, call: &Call, answer: T) -> Result<T, CallError> {
        let lost = locked(&self.lost).remove(&format!("{what} {}", call.subject.key));
        if lost == Some(Lost::After) { Err(self.crashed()) } else { Ok(answer) }
    }
}

pub(crate) fn text(inputs: &Inputs, name: &str) -> Option<String> {
    Some(inputs.params.get(name)?.as_str()?.to_owned())
}

#[async_trait]
impl Driver for Scripted {
    fn about(&self) -> About<'_> {
        About {
            info: &self.info,
            known_as: &self.name,
            digest: "scripted",
            previews: locked(&self.foresight).is_some() || locked(&self.foresight_of_deletions).is_some(),
            grants: None,
            longest: Some(*locked(&self.longest)),
            patience: Duration::from_secs(60),
            grace: *locked(&self.grace),
            pending: Duration::from_secs(600),
            accounts: None,
        }
    }

    async fn call(&self, call: &Call, request: Request<'_>) -> Result<Response, CallError> {
        Ok(match request {
            Request::Check { inputs, previous } => {
                Response::Checked(self.check(call, inputs, previous).await?)
            }
            Request::Name(inputs) => Response::Name(self.name(call, inputs).await?),
            Request::Read(request) => Response::Observed(self.read(call, request).await?),
            Request::UpdateImpact(change) => Response::Impact(self.update_impact(call, change).await?),
            Request::Preview(effect) => Response::Forecast(self.preview(call, effect)?),
            Request::Effect(Effect::Create { inputs, name, replaces }) => {
                Response::State(self.create(call, inputs, name, replaces).await?)
            }
            Request::Effect(Effect::Update(change)) => {
                has_cookie(change.state);
                Response::State(self.update(call, change).await?)
            }
            Request::Effect(Effect::Delete { state, inputs, data_loss_allowed }) => {
                has_cookie(state);
                let id = state.id.expose();
                locked(&self.lost_data)
                    .extend(data_loss_allowed.then(|| id.replace("thing.default#shared.", "")));
                self.delete(call, state, inputs).await?;
                Response::Deleted
            }
        })
    }
}

impl Scripted {
    async fn check(&self, _: &Call, inputs: &Inputs, before: Option<&Inputs>) -> Result<Checked, CallError> {
        if text(inputs, "fail").as_deref() == Some("check") {
            let input = InputFinding { pointer: "/params/fail".into(), message: "told to fail".into() };
            return Err(CallError::Failure(Failure::InvalidInputs(vec![input])));
        }
        let mut values = inputs.values.as_map().cloned().unwrap_or_default();
        values.get_or_insert_with("defaulted".into(), || "yes".into());
        if inputs.params.get("draw").is_some() {
            let drawn = before.and_then(|before| before.values.get("drawn"));
            let new = || Value::string(format!("draw {}", self.drawn.fetch_add(1, Ordering::SeqCst)));
            values.get_or_insert_with("drawn".into(), || drawn.unwrap_or_else(new));
        }
        Ok(Checked { values: Value::Map(values), secrets: inputs.secrets.clone(), warnings: Vec::new() })
    }
    async fn name(&self, call: &Call, _: &Inputs) -> Result<Label, CallError> {
        Ok(call.subject.key.id().into())
    }
    async fn create(
        &self,
        call: &Call,
        inputs: &Inputs,
        name: &str,
        replaces: Option<&Label>,
    ) -> Result<ResourceState, CallError> {
        let key = call.subject.key.to_string();
        if let (Some(old), Some(_)) = (replaces, inputs.params.get("alone")) {
            locked(&self.log).push(("crowded by".to_owned(), old.expose().to_owned()));
            return Err(CallError::Failure(Failure::NeedsDeleteBefore("there is room for one".into())));
        }
        let twin = locked(&self.world)
            .iter()
            .find(|(_, thing)| thing.made_with == call.idempotency_key)
            .map(|(id, _)| id.clone());
        if self.is_rejected(inputs) || locked(&self.unreachable).contains(&key) {
            return Err(CallError::Failure(Failure::Failed("the network is down".into())));
        }
        if let (Some(id), true) = (&twin, self.info.types[0].implements.repeat_create) {
            return Ok(self.state(id, inputs));
        }
        let number = locked(&self.made).get(&key).copied().unwrap_or(0) + 1;
        let id = if number == 1 { key.clone() } else { format!("{key}~{number}") };
        let id = text(inputs, "same").unwrap_or(id);
        self.act("create", call, inputs, &id).await?;
        assert!(twin.is_none(), "{key} was made twice");
        locked(&self.made).insert(key.clone(), number);
        let values = inputs.values.clone();
        let made_with = call.idempotency_key.clone();
        let thing = Thing { key, name: name.into(), values, made_with };
        locked(&self.world).insert(id.clone(), thing);
        if *locked(&self.checkpoints)
            && let Some(sink) = &call.checkpoint
        {
            sink.checkpoint(&id.as_str().into())
                .await
                .map_err(|message| CallError::Checkpoint { driver: self.name.clone(), message })?;
        }
        let mut state = self.answer("create", call, self.state(&id, inputs))?;
        if text(inputs, "doubt").as_deref() == Some("after") {
            return Err(CallError::Failure(Failure::Undecided("the answer was lost".into())));
        }
        if let (Some(token), Value::Map(outputs)) = (inputs.params.get("token"), &mut state.outputs) {
            outputs.insert("token".into(), token);
        }
        if self.takes("create", call, &id) {
            return Err(not_done(Some(state)));
        }
        match text(inputs, "partial") {
            Some(message) => {
                Err(CallError::Failure(Failure::Partial { state: Box::new(state), problem: message.into() }))
            }
            None => Ok(state),
        }
    }
    async fn read(&self, call: &Call, request: ReadRequest<'_>) -> Result<Option<Observed>, CallError> {
        if !self.info.types[0].implements.read {
            return Ok(None);
        }
        let what = request.id.map_or_else(|| format!("by name #{}", request.name), ToOwned::to_owned);
        self.act("read", call, request.inputs, &what).await?;
        let (clock, time) = locked(&self.reads_take).clone();
        clock.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
        locked(&self.known).push(request.known.iter().map(|id| id.expose().to_owned()).collect());
        if *locked(&self.hides) {
            return Ok(None);
        }
        let mut world = locked(&self.world).clone();
        world.extend(locked(&self.lingering).clone());
        let found = match request.id {
            // Users may write an id with `./` before it.
            Some(id) => world.get_key_value(id.trim_start_matches("./")),
            None if *locked(&self.finds_any) => {
                world.iter().find(|(_, thing)| thing.key.contains("#shared."))
            }
            None if *locked(&self.marks) => {
                world.iter().find(|(_, thing)| thing.made_with == call.idempotency_key)
            }
            None if *locked(&self.finds_oldest) => world.iter().find(|(_, thing)| thing.name == request.name),
            None => world.iter().rfind(|(_, thing)| thing.name == request.name),
        };
        Ok(found.map(|(id, thing)| {
            let inputs = Inputs { values: thing.values.clone(), ..request.inputs.clone() };
            let state = self.state(id, &inputs);
            match self.is_not_done(id) {
                false => Observed { state, values: Some(thing.values.clone()), pending: None },
                true => {
                    let pending =
                        Pending { after: Duration::from_millis(100), message: "it takes a while".into() };
                    Observed { state, values: None, pending: Some(pending) }
                }
            }
        }))
    }
    async fn update_impact(&self, _: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        let fixed = |inputs: &Inputs| inputs.params.get("fixed");
        let after = fixed(change.after);
        let coy = change.after.params.get("coy").is_some() && after.as_ref().is_some_and(Value::has_unknown);
        let replaces =
            if coy || fixed(change.before) == after { Vec::new() } else { vec!["/params/fixed".into()] };
        let slow = text(change.after, "slow").and_then(|ms| ms.parse().ok()).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(slow)).await;
        let first = change.after.params.get("first").is_some();
        Ok(Impact {
            replaces,
            delete_before_replace: first,
            stable_outputs: vec!["/outputs/id".into()],
            ..Impact::default()
        })
    }
    fn preview(&self, call: &Call, effect: Effect<'_>) -> Result<Option<Forecast>, CallError> {
        let (what, inputs) = match effect {
            Effect::Create { inputs, name, replaces } => {
                let of = replaces.map(|id| format!(" instead of {id}")).unwrap_or_default();
                (format!("create `{name}`{of}"), inputs)
            }
            Effect::Update(change) => (format!("update {}", change.state.id), change.after),
            Effect::Delete { state, inputs, .. } => (format!("delete {}", state.id), inputs),
        };
        locked(&self.foreseen).push(what.replace("thing.default#shared.", ""));
        assert!(call.idempotency_key.is_empty(), "it has no effects");
        let foresight = match effect {
            Effect::Delete { .. } => locked(&self.foresight_of_deletions),
            Effect::Create { .. } | Effect::Update(_) => locked(&self.foresight),
        };
        foresight.as_ref().map(|foresight| foresight(inputs)).transpose()
    }
    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        let id = change.state.id.expose();
        let params = |inputs: &Inputs| inputs.params.as_map().cloned().unwrap_or_default();
        locked(&self.changes).push((
            params(change.before),
            change.state.outputs.clone(),
            params(change.after),
        ));
        self.act("update", call, change.after, id).await?;
        if let Some(message) = text(change.after, "stuck") {
            let mut reached = change.state.clone();
            let mut outputs = reached.outputs.as_map().cloned().unwrap_or_default();
            outputs.insert("v".into(), change.after.params.get("v").unwrap_or_default());
            reached.outputs = Value::Map(outputs);
            return Err(CallError::Failure(Failure::Partial {
                state: Box::new(reached),
                problem: message.into(),
            }));
        }
        match locked(&self.world).get_mut(id) {
            Some(thing) => thing.values = change.after.values.clone(),
            None => return Err(CallError::Failure(Failure::NotFound(id.into()))),
        }
        let state = self.answer("update", call, self.state(id, change.after))?;
        if self.takes("update", call, id) { Err(not_done(Some(state))) } else { Ok(state) }
    }
    async fn delete(&self, call: &Call, gone: &ResourceState, inputs: &Inputs) -> Result<(), CallError> {
        let id = gone.id.expose();
        self.act("delete", call, inputs, id).await?;
        if self.takes("delete", call, id) || self.is_not_done(id) {
            return self.answer("delete", call, Err(not_done(None)))?;
        }
        let there = locked(&self.world).remove(id);
        let is_there = there.is_some();
        if let Some(thing) = there.filter(|_| *locked(&self.lingers)) {
            locked(&self.lingering).insert(id.to_owned(), thing);
        }
        let mut lost = locked(&self.lost);
        if let Some(lost) = lost.get_mut(&format!("delete {}", call.subject.key))
            && *lost == Lost::Accepted
        {
            *lost = Lost::Rejected;
            let after = Duration::from_millis(5);
            return Err(CallError::Failure(Failure::RetryAfter { after, message: "accepted".into() }));
        }
        drop(lost);
        self.answer("delete", call, ())?;
        if is_there { Ok(()) } else { Err(CallError::Failure(Failure::NotFound(id.into()))) }
    }
}

/// Drivers by the names under which operators configure them.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) drivers: Vec<Arc<Scripted>>,
    /// The names of the drivers that were looked up.
    pub(crate) lookups: Mutex<Vec<String>>,
}

#[async_trait]
impl Drivers for Shelf {
    async fn find(&self, needed: Needed<'_>) -> Result<Arc<dyn Driver>, Box<Diagnostic>> {
        let name = match needed {
            Needed::For(requirement) => &*requirement.name,
            Needed::Recorded(name, _) => name,
        };
        locked(&self.lookups).push(name.to_owned());
        let known = |driver: &&Arc<Scripted>| name == driver.known_as();
        match self.drivers.iter().find(known) {
            Some(driver) => Ok(Arc::clone(driver) as _),
            None if name == "purlin/echo" => Ok(Arc::clone(&self.drivers[0]) as _),
            None => Err(Box::new(Diagnostic::error("driver", format!("no driver `{name}`")))),
        }
    }
}
