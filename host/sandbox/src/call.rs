//! One call: a fresh store and instance, limits on everything, and messages for errors.

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Grants, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use wasmtime::component::{Component, Linker};
use wasmtime::{CallHook, Store, Trap};
use zeroize::Zeroizing;

use crate::bindings::exports::purlin::driver::lifecycle as wit;
use crate::bindings::preview::exports::purlin::preview::preview;
use crate::bindings::purlin::driver::types;
use crate::capability::{CallEffect, Granted, Guest, Log, Operation, Stop};
use crate::clock;
use crate::component;
use crate::context::{CallContext, CancelToken, Permission};
use crate::contract::{Exports, Instance};
use crate::convert::{self, printable};
use crate::deadline::{Deadline, PASSED};
use crate::engine::TABLES_PER_SLOT;
use crate::error::{CallError, LoadError};
use crate::facts::Facts;
use crate::inspect;
use crate::limits::{HANDLES, Limits, TABLE_ELEMENTS};
use crate::sandbox::{DriverSetup, Sandbox, Shared};
use crate::secrets::SecretMatcher;

/// The data of a call.
pub(crate) struct CallData<'a> {
    pub(crate) context: &'a CallContext<'a>,
    pub(crate) matcher: Arc<SecretMatcher>,
    effect: CallEffect,
}

impl<'a> CallData<'a> {
    fn new(
        context: &'a CallContext<'a>,
        env: &[Zeroizing<String>],
        inputs: &[Option<&Inputs>],
        state: Option<&ResourceState>,
    ) -> Self {
        let mut matcher = SecretMatcher::default();
        env.iter().for_each(|value| matcher.collect_setting(value));
        for inputs in inputs.iter().flatten() {
            matcher.collect(&inputs.values, false);
            matcher.collect(&inputs.secrets, true);
            matcher.collect(&inputs.params, false);
            matcher.collect(&inputs.connection, false);
            matcher.collect(&inputs.account_fields, false);
        }
        if let Some(state) = state {
            matcher.collect(&state.outputs, false);
            state.manifests.iter().for_each(|file| matcher.collect(&file.data, false));
            state.notes.values().for_each(|note| matcher.collect(note, false));
            // A label that holds a secret which is no longer part of the call stays secret itself.
            let labels = state.manifests.iter().flat_map(|file| [&file.name, &file.location]);
            for label in labels.chain([&state.id]).filter(|label| label.is_secret()) {
                matcher.collect(&Value::from(label.expose()).into_secret(), true);
            }
        }
        for inputs in inputs.iter().flatten() {
            matcher.excuse(&inputs.values, false);
            matcher.excuse(&inputs.secrets, true);
            matcher.excuse(&inputs.params, false);
            matcher.excuse(&inputs.connection, false);
            matcher.excuse(&inputs.account_fields, false);
        }
        if let Some(state) = state {
            matcher.excuse(&state.outputs, false);
        }
        matcher.finish();
        Self { context, matcher: Arc::new(matcher), effect: CallEffect::None }
    }

    /// The same call, which may have this effect.
    pub(crate) fn with(self, effect: CallEffect) -> Self {
        Self { effect, ..self }
    }
}

/// A component ready to be instantiated, with its grants and limits.
pub(crate) struct Runner {
    pub(crate) name: Arc<str>,
    pub(crate) limits: Limits,
    shared: Arc<Shared>,
    exports: Exports,
    granted: Arc<Granted>,
    labels: Vec<(String, String)>,
    /// Values of the granted environment variables: a value that is kept out of documents and
    /// passed this way is often a credential.
    env: Vec<Zeroizing<String>>,
    permits: Semaphore,
    /// Microseconds that calls have taken so far.
    spent: AtomicU64,
    /// Slots of the pool that one instance takes.
    slots: u32,
}

/// The future of a call of the guest.
pub(crate) type GuestFuture<'a, R> = Pin<Box<dyn Future<Output = wasmtime::Result<R>> + Send + 'a>>;

impl Runner {
    /// Checks a component against the contract and the operator's grants.
    pub(crate) fn new(
        sandbox: &Sandbox,
        component: &Component,
        setup: &DriverSetup,
    ) -> Result<Self, LoadError> {
        Self::linked(sandbox, component, setup, sandbox.linker())
    }

    /// The same, with a linker other than that of drivers.
    pub(crate) fn linked(
        sandbox: &Sandbox,
        component: &Component,
        setup: &DriverSetup,
        linker: &Linker<Guest>,
    ) -> Result<Self, LoadError> {
        let bind = component::check_interface(sandbox.engine(), component)?;
        let linked = linker.instantiate_pre(component);
        let exports = linked
            .and_then(|linked| Exports::find(sandbox.engine(), linked, bind))
            .map_err(|error| component::explained(sandbox.engine(), component, LoadError::invalid(&error)))?;
        let limits = Limits::new(&setup.limits);
        let needed = component.resources_required();
        let slots = needed.map_or(1, |r| r.num_memories.max(r.num_tables.div_ceil(TABLES_PER_SLOT))).max(1);
        let shared = Arc::clone(sandbox.shared());
        if slots > shared.instances {
            return Err(LoadError::Invalid {
                message: format!(
                    "it has too many memories or tables: it takes {slots} slots, and there are {}",
                    shared.instances
                ),
            });
        }
        Ok(Self {
            name: Arc::clone(&setup.name),
            permits: Semaphore::new(limits.concurrency.min(Semaphore::MAX_PERMITS)),
            spent: AtomicU64::new(0),
            granted: Arc::new(Granted::validate(setup, &limits)?),
            env: setup
                .grants
                .env
                .iter()
                .filter_map(|name| setup.env.get(name).cloned().map(Zeroizing::new))
                .collect(),
            labels: setup.labels.clone().into_iter().collect(),
            limits,
            shared,
            exports,
            slots,
        })
    }

    /// The resource of a call, with the operator's labels.
    pub(crate) fn subject(&self, context: &CallContext<'_>) -> types::Subject {
        convert::subject(context.subject, &self.labels)
    }

    /// Every capability that the component's imports could use.
    pub(crate) fn reach(&self) -> BTreeSet<String> {
        inspect::reach_of(&self.shared.engine, self.exports.component())
    }

    /// Whether the component foresees its effects.
    pub(crate) fn previews(&self) -> bool {
        self.exports.previews()
    }

    /// The data of a call: inputs, and the record.
    pub(crate) fn given<'a>(
        &self,
        context: &'a CallContext<'a>,
        inputs: &[Option<&Inputs>],
        state: Option<&ResourceState>,
    ) -> CallData<'a> {
        CallData::new(context, &self.env, inputs, state)
    }

    /// The operator's grants.
    pub(crate) fn grants(&self) -> &Grants {
        self.granted.grants()
    }

    /// Wall-clock time of the longest call.
    pub(crate) fn longest(&self) -> Duration {
        self.limits.time
    }

    /// The time that one operation waits between its calls.
    pub(crate) fn patience(&self) -> Duration {
        self.limits.wait
    }

    /// How long the system may not show what was created.
    pub(crate) fn grace(&self) -> Duration {
        self.limits.grace
    }

    /// Wall-clock time of a call.
    fn time(&self, context: &CallContext<'_>) -> Duration {
        context.time.map_or(self.limits.time, |time| time.min(self.limits.time))
    }

    /// The contract's facts about a call that begins now.
    pub(crate) fn facts(&self, given: &CallData<'_>) -> types::Call {
        let time = clock::millis(self.time(given.context));
        types::Call {
            idempotency_key: given.context.idempotency_key.to_owned(),
            // Without a clock a driver cannot know its deadline; the host ends the call all the same.
            deadline: clock::now().map_or(u64::MAX, |now| now.saturating_add(time)),
            hints: Vec::new(),
        }
    }

    /// The same for a call with effects, which has the id of its deployment as a hint: a function without
    /// effects cannot answer by what differs from run to run.
    pub(crate) fn facts_of_effect(&self, given: &CallData<'_>) -> types::Call {
        let id = serde_json::Value::from(given.context.subject.context.deployment.as_ref());
        types::Call { hints: vec![("deployment".to_owned(), id.to_string())], ..self.facts(given) }
    }

    /// Asks the component for its description of itself.
    pub(crate) async fn describe(&self) -> Result<types::DriverInfo, CallError> {
        let matcher = Arc::new(SecretMatcher::default());
        let cancel = CancelToken::default();
        let call = OneCall {
            log: Log::new(&self.name, None, &matcher, self.limits.log, None, Facts::default()),
            operation: Operation::none(&cancel),
            time: self.limits.time,
            matcher,
            cancel,
            may_begin: None,
        };
        self.call(call, |instance, store| {
            Box::pin(instance.driver.purlin_driver_lifecycle().call_describe(store))
        })
        .await
    }

    /// Calls a function of the contract in a fresh instance.
    pub(crate) async fn run<R>(
        &self,
        given: &CallData<'_>,
        function: impl for<'a> FnOnce(&'a wit::Guest, &'a mut Store<Guest>) -> GuestFuture<'a, R> + Send,
    ) -> Result<R, CallError> {
        self.run_in(given, |instance, store| function(instance.driver.purlin_driver_lifecycle(), store)).await
    }

    /// Asks for a forecast in a fresh instance; `None` if the component has none.
    pub(crate) async fn foresee(
        &self,
        given: &CallData<'_>,
        effect: preview::Effect,
    ) -> Result<Option<Result<preview::Forecast, types::Failure>>, CallError> {
        if !self.previews() {
            return Ok(None);
        }
        self.run_in(given, |instance, store| {
            Box::pin(async move {
                match &instance.preview {
                    Some(preview) => {
                        preview.purlin_preview_preview().call_preview(store, &effect).await.map(Some)
                    }
                    None => Ok(None),
                }
            })
        })
        .await
    }

    /// Uses a fresh instance.
    async fn run_in<R>(
        &self,
        given: &CallData<'_>,
        function: impl for<'a> FnOnce(&'a Instance, &'a mut Store<Guest>) -> GuestFuture<'a, R> + Send,
    ) -> Result<R, CallError> {
        let context = given.context;
        let (key, observer) = (Some(&context.subject.key), context.observer.clone());
        let facts = context.facts.clone();
        let log = Log::new(&self.name, key, &given.matcher, self.limits.log, observer, facts);
        let call = OneCall {
            operation: Operation::new(context, given.effect.clone(), &given.matcher, self.limits.state),
            log,
            time: self.time(context),
            matcher: Arc::clone(&given.matcher),
            cancel: context.cancel.clone(),
            may_begin: context.may_begin.clone(),
        };
        self.call(call, function).await
    }

    async fn call<R>(
        &self,
        call: OneCall,
        function: impl for<'a> FnOnce(&'a Instance, &'a mut Store<Guest>) -> GuestFuture<'a, R> + Send,
    ) -> Result<R, CallError> {
        if call.cancel.is_cut() {
            return Err(CallError::Cancelled);
        }
        let cancel = call.cancel.clone();
        let work = async {
            // The driver is not to blame for the wait for a turn: its time begins afterwards.
            let turn = self.permits.acquire().await;
            let slot = self.shared.slots.acquire_many(self.slots).await;
            let (Ok(_turn), Ok(_slot)) = (turn, slot) else { return Err(CallError::Cancelled) };
            if call.may_begin.as_ref().is_some_and(|may_begin| !may_begin()) {
                return Err(CallError::Cancelled);
            }
            let (time, error) = self.allotted(call.time)?;
            let _timed = Timed { spent: &self.spent, begun: Instant::now() };
            let deadline = Deadline::after(time);
            let work = AssertUnwindSafe(self.instantiate_and_call(call, deadline, function)).catch_unwind();
            match deadline.limit(work).await {
                // The call's data is dropped with it, so that nothing half-done is visible.
                Some(result) => result.unwrap_or_else(|panic| Err(self.panicked(&*panic))),
                None => Err(error),
            }
        };
        tokio::select! {
            biased;
            // A call that waited for its turn until another process took over does not begin.
            () = cancel.cut_off() => Err(CallError::Cancelled),
            result = work => result,
        }
    }

    /// How long a call that begins now may take, and which limit ends it: its own, or that of all
    /// calls together.
    fn allotted(&self, time: Duration) -> Result<(Duration, CallError), CallError> {
        let driver = || self.name.to_string();
        let own = CallError::TimeLimit { driver: driver(), limit: time };
        let Some(limit) = self.limits.total else { return Ok((time, own)) };
        let spent = Duration::from_micros(self.spent.load(Ordering::Relaxed));
        let total = CallError::TotalTimeLimit { driver: driver(), limit };
        match limit.checked_sub(spent).filter(|left| !left.is_zero()) {
            // Nothing was begun.
            None => Err(CallError::Instantiate {
                driver: driver(),
                message: format!(
                    "its calls took {limit:?} together, its limit; `drivers.{}.limits.total` in purlin.yaml raises it",
                    self.name
                ),
            }),
            Some(left) if left < time => Ok((left, total)),
            Some(_) => Ok((time, own)),
        }
    }

    async fn instantiate_and_call<R>(
        &self,
        call: OneCall,
        deadline: Deadline,
        function: impl for<'a> FnOnce(&'a Instance, &'a mut Store<Guest>) -> GuestFuture<'a, R>,
    ) -> Result<R, CallError> {
        let instantiate = |message: String| CallError::Instantiate { driver: self.name.to_string(), message };
        let _running = self.shared.ticker.run();
        let guest = Guest::new(&self.granted, &self.limits, call.log.clone(), call.operation, deadline)
            .map_err(instantiate)?;
        let mut store = Store::new(&self.shared.engine, guest);
        // The guest may run on for a moment after a suspended host wakes.
        store.call_hook(move |_, transition| match transition {
            CallHook::CallingHost if deadline.has_passed() => Err(wasmtime::Error::msg(PASSED)),
            _ => Ok(()),
        });
        store.limiter(|guest| &mut guest.meter);
        store.set_max_component_handles(HANDLES);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        store.set_hostcall_fuel(self.limits.copied());
        let result = match self.exports.instantiate(&mut store).await {
            Ok(instance) => function(&instance, &mut store).await,
            Err(error) if error.is::<wasmtime::PoolConcurrencyLimitError>() => {
                return Err(instantiate(format!("{error:#}")));
            }
            Err(error) => Err(error),
        };
        call.log.finish();
        result.map_err(|error| self.explain(error, store.data(), &call.matcher))
    }

    /// A fault of the host, in a function that the driver called.
    fn panicked(&self, panic: &(dyn std::any::Any + Send)) -> CallError {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words");
        tracing::error!(target: "purlin::sandbox", driver = &*self.name, "the host panicked in a call: {text}");
        CallError::Trap {
            driver: self.name.to_string(),
            message: "the host failed while it served the driver; this is a bug in Purlin; please report it"
                .into(),
        }
    }

    /// The reason that ended a call, in the operator's words.
    fn explain(&self, error: wasmtime::Error, guest: &Guest, matcher: &SecretMatcher) -> CallError {
        let driver = || self.name.to_string();
        let error = match error.downcast::<Stop>() {
            Ok(Stop(error)) => return error,
            Err(error) => error,
        };
        if guest.meter.memory_exceeded {
            return CallError::MemoryLimit { driver: driver(), limit: self.limits.memory };
        }
        let last = guest.log.last_words();
        let suffix = last.map(|last| format!("; it said: {last}")).unwrap_or_default();
        let message = if guest.meter.table_exceeded {
            format!("it wanted a table larger than {TABLE_ELEMENTS} elements")
        } else if let Some(trap) = error.downcast_ref::<Trap>() {
            match trap {
                Trap::UnreachableCodeReached => "it panicked or aborted".to_owned(),
                Trap::StackOverflow => "its stack is exhausted".to_owned(),
                Trap::MemoryOutOfBounds => {
                    "it accessed memory out of bounds (a bug, or its stack is exhausted)".to_owned()
                }
                trap => trap.to_string(),
            }
        } else if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
            format!("it ended itself with exit status {}", exit.0)
        } else {
            let message = format!("{:#}", error.root_cause());
            if message.contains("fuel allocated for hostcalls") {
                return CallError::OutputLimit { driver: driver(), limit: self.limits.output };
            }
            printable(matcher, &message)
        };
        CallError::Trap { driver: driver(), message: format!("{message}{suffix}") }
    }
}

/// Adds the time of a call to the total, however it ends.
struct Timed<'a> {
    spent: &'a AtomicU64,
    begun: Instant,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let took = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.spent.fetch_add(took, Ordering::Relaxed);
    }
}

/// The data of one call besides the component.
struct OneCall {
    log: Log,
    operation: Operation,
    time: Duration,
    matcher: Arc<SecretMatcher>,
    cancel: CancelToken,
    may_begin: Option<Permission>,
}
