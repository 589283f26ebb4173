//! Drivers that keep to their contract, and fail in every way that it allows.

use std::sync::Arc;

use async_trait::async_trait;
use purlin_engine::{Call, Driver, Drivers, Look, Needed};
use purlin_model::driver::{
    Checked, Failure, Impact, Implements, Inputs, Manifest, Observed, ResourceState, TypeSchema,
};
use purlin_model::{Diagnostic, Label, Value};
use purlin_sandbox::{CallError, Change};

use crate::scenario::{Checkpoint, Fault, Kind};
use crate::sim::Shared;
use crate::world::{Thing, values};

/// How long a driver may take; the sandbox ends it then.
const LIMIT: u64 = 30_000;

/// A simulated driver.
pub(crate) struct SimDriver {
    sim: Shared,
    number: usize,
    name: String,
    kind: Kind,
    manifest: Manifest,
}

/// Drivers by name.
pub(crate) struct Shelf(Vec<Arc<SimDriver>>);

impl Shelf {
    pub(crate) fn new(kinds: &[Kind], sim: &Shared) -> Self {
        let echo = Kind {
            implements: Implements { update: true, repeat_create: true, ..Implements::default() },
            checkpoint: Checkpoint::Never,
            deletes_first: false,
            tells: false,
            finds_oldest: false,
            strict: false,
            promises: false,
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

/// A call under way.
struct Under {
    number: u32,
    fault: Option<Fault>,
}

impl SimDriver {
    fn new(sim: &Shared, number: usize, name: String, kind: &Kind) -> Self {
        let types = vec![TypeSchema { type_name: "*".into(), inputs: true.into(), outputs: true.into() }];
        let manifest = Manifest {
            name: name.clone(),
            version: semver::Version::new(1, 0, 0),
            description: "does what the contract allows".into(),
            implements: kind.implements,
            types,
            requested_capabilities: Vec::new(),
        };
        Self { sim: Arc::clone(sim), number, name, kind: kind.clone(), manifest }
    }

    fn trap(&self) -> CallError {
        CallError::Trap { driver: self.name.clone(), message: "unreachable".into() }
    }

    /// Everything up to the moment of the effect.
    async fn begin(&self, what: &str, call: &Call, id: &str) -> Result<Under, CallError> {
        let (number, fault) = self.sim.call();
        let with = fault.map_or_else(String::new, |fault| format!(" ({fault:?})"));
        self.sim.say(format!("{number}: {what} {} {id}{with}", call.subject.key));
        self.sim.point().await;
        let time = match fault {
            Some(Fault::Slow) => 5_000,
            _ => u64::from(self.sim.draw(20)),
        };
        if self.sim.wait(time).await {
            return Err(CallError::Cancelled);
        }
        match fault {
            Some(Fault::Fail) => Err(CallError::Failure(Failure::Failed("told to".into()))),
            Some(Fault::Busy) => Err(CallError::Failure(Failure::RetryAfter {
                after: std::time::Duration::from_millis(500),
                message: "told to".into(),
            })),
            Some(Fault::TrapBefore) => Err(self.trap()),
            Some(Fault::NoInstance) => {
                Err(CallError::Instantiate { driver: self.name.clone(), message: "told to".into() })
            }
            Some(Fault::HangBefore) => Err(self.hang().await),
            _ => Ok(Under { number, fault }),
        }
    }

    async fn hang(&self) -> CallError {
        if self.sim.wait(LIMIT).await {
            return CallError::Cancelled;
        }
        let limit = std::time::Duration::from_millis(LIMIT);
        CallError::TimeLimit { driver: self.name.clone(), limit }
    }

    /// Everything from the effect to the answer.
    async fn answer<T>(&self, under: Under, answer: T) -> Result<T, CallError> {
        self.sim.point().await;
        let time = u64::from(self.sim.draw(10));
        if self.sim.wait(time).await {
            return Err(CallError::Cancelled);
        }
        match under.fault {
            Some(Fault::TrapAfter) => return Err(self.trap()),
            Some(Fault::HangAfter) => return Err(self.hang().await),
            Some(Fault::Junk) => {
                return Err(CallError::Junk { driver: self.name.clone(), what: "told to".into() });
            }
            _ => {}
        }
        self.sim.say(format!("{}: answered", under.number));
        self.sim.point().await;
        Ok(answer)
    }

    async fn changed(&self, under: Under, state: ResourceState) -> Result<ResourceState, CallError> {
        if matches!(under.fault, Some(Fault::Partial | Fault::Half)) {
            let message = "told to".to_owned();
            let failure = Failure::Partial { state: Box::new(state), message };
            return Err(self.answer(under, CallError::Failure(failure)).await.unwrap_or_else(|error| error));
        }
        self.answer(under, state).await
    }

    fn gone(&self, id: &str) -> CallError {
        CallError::Failure(Failure::NotFound(id.to_owned()))
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
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn known_as(&self) -> &str {
        &self.name
    }

    fn digest(&self) -> &str {
        "simulated"
    }

    fn grants(&self) -> Option<&purlin_model::Grants> {
        None
    }

    async fn check(&self, call: &Call, inputs: &Inputs, _: Option<&Inputs>) -> Result<Checked, CallError> {
        let under = self.begin("check", call, "").await?;
        let mut values = values(inputs);
        values.get_or_insert_with("defaulted".into(), || "yes".into());
        let checked =
            Checked { values: Value::Map(values), secrets: inputs.secrets.clone(), warnings: Vec::new() };
        self.answer(under, checked).await
    }

    /// All environments are in one account, where names tell them apart.
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
        let under = self.begin("create", call, &id).await?;
        self.checkpoint(Checkpoint::Before, call, &id).await?;
        let thing = Thing {
            urn: call.subject.urn.as_str().to_owned(),
            name: name.to_owned(),
            values: values(inputs),
            made_with: call.idempotency_key.clone(),
            driver: self.number,
            home: None,
            had: std::collections::BTreeSet::new(),
            released: false,
        };
        if !self.sim.world().has_room(&thing.values, &thing.urn) {
            return Err(self.gone("what it is to live in"));
        }
        if self.kind.deletes_first && self.kind.implements.update_impact {
            self.sim.world().is_alone(&id, &thing);
        }
        if self.kind.implements.read {
            self.sim.world().is_not_forgotten(&thing, self.kind.finds_oldest);
        }
        let state = {
            let mut world = self.sim.world();
            if !(repeats && world.things.contains_key(&id)) {
                world.make(&id, thing);
            }
            world.state(&id).unwrap_or_default()
        };
        self.sim.point().await;
        self.checkpoint(Checkpoint::After, call, &id).await?;
        self.changed(under, state).await
    }

    async fn read(&self, call: &Call, look: Look<'_>) -> Result<Option<Observed>, CallError> {
        if !self.kind.implements.read {
            // As the sandbox has it.
            let Some(state) = look.state.cloned() else {
                return Err(CallError::Failure(Failure::Failed("it cannot look".into())));
            };
            return Ok(Some(Observed { state, values: None }));
        }
        let what = look.id.map_or_else(|| format!("named {}", look.name), str::to_owned);
        let under = self.begin("read", call, &what).await?;
        let found = {
            let mut world = self.sim.world();
            let id = look
                .id
                .map(str::to_owned)
                .or_else(|| world.by_name(self.number, look.name, self.kind.finds_oldest));
            // The ids of one driver mean nothing to another one.
            let is_own = |id: &String| world.things.get(id).is_some_and(|thing| thing.driver == self.number);
            let id = id.filter(is_own);
            id.iter().for_each(|id| world.is_at_home(id, call.subject.urn.as_str()));
            id.and_then(|id| Some((world.state(&id)?, world.things.get(&id)?.values.clone())))
        };
        // What can be told, and is not there, is told to be nothing.
        let mut asked = values(look.inputs);
        if self.kind.implements.check {
            asked.insert("defaulted".into(), Value::Null);
        }
        let found = found.map(|(state, mut values)| {
            for name in asked.keys() {
                values.get_or_insert_with(name.clone(), || Value::Null);
            }
            (state, values)
        });
        let found = found
            .map(|(state, values)| Observed { state, values: self.kind.tells.then_some(Value::Map(values)) });
        self.answer(under, found).await
    }

    async fn update_impact(&self, call: &Call, change: Change<'_>) -> Result<Impact, CallError> {
        let under = self.begin("impact", call, "").await?;
        let (before, after) = (values(change.before), values(change.after));
        let names = before.keys().chain(after.keys()).filter(|name| name.starts_with("fixed"));
        let mut replaces: Vec<String> = names
            .filter(|name| before.get(*name) != after.get(*name))
            .map(|name| format!("/values/{name}"))
            .collect();
        replaces.sort_unstable();
        replaces.dedup();
        let stable = if self.kind.promises { vec!["id".to_owned()] } else { Vec::new() };
        let delete_before_replace = self.kind.deletes_first;
        self.answer(
            under,
            Impact { replaces, delete_before_replace, stable_outputs: stable, ..Impact::default() },
        )
        .await
    }

    async fn update(&self, call: &Call, change: Change<'_>) -> Result<ResourceState, CallError> {
        let id = change.state.id.expose().to_owned();
        let under = self.begin("update", call, &id).await?;
        if !self.sim.world().has_room(&values(change.after), call.subject.urn.as_str()) {
            return Err(self.gone("what it is to live in"));
        }
        let state = {
            let mut world = self.sim.world();
            world.is_at_home(&id, call.subject.urn.as_str());
            world.was_ever(&id, &values(change.before));
            let mut after = values(change.after);
            if under.fault == Some(Fault::Half)
                && let Some(there) = world.things.get(&id)
            {
                let v = after.get("v").cloned().unwrap_or_default();
                after = there.values.clone();
                after.insert("v".into(), v);
            }
            if world.change(&id, &after) { world.state(&id) } else { None }
        };
        match state {
            Some(state) => self.changed(under, state).await,
            None => Err(self.gone(&id)),
        }
    }

    async fn delete(&self, call: &Call, state: &ResourceState, _: &Inputs) -> Result<(), CallError> {
        let under = self.begin("delete", call, state.id.expose()).await?;
        let was_there = {
            let mut world = self.sim.world();
            world.is_at_home(state.id.expose(), call.subject.urn.as_str());
            world.delete(state.id.expose())
        };
        self.answer(under, ()).await?;
        if was_there || !self.kind.strict { Ok(()) } else { Err(self.gone(state.id.expose())) }
    }
}
