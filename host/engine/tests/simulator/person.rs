//! The manual steps that people take when no command can continue without them.

use purlin_engine::Error;
use purlin_state::{Change, Operation, Status};

use crate::environment::{BrokenPromise, SimEnvironment};

impl SimEnvironment {
    /// The manual step when it is unknown whether an object was created: the person looks for it and either
    /// reports its id, or deletes it and reports that it does not exist.
    pub(crate) fn resolve(&self) -> Result<(), BrokenPromise> {
        for intent in self.snapshot()?.pending {
            if !self.sim.may_call() {
                return Ok(());
            }
            if !matches!(intent.operation, Operation::Create(_)) {
                continue;
            }
            let made = {
                let mut world = self.world();
                let made = world.things.iter().find(|(_, thing)| thing.made_with == intent.idempotency_key);
                let made = made.map(|(id, _)| id.clone());
                let keeps = self.sim.draw(2) == 0;
                if let Some(id) = made.as_ref().filter(|_| !keeps) {
                    world.vanish(id);
                }
                made.filter(|_| keeps)
            };
            let urn = intent.id().urn;
            let changes =
                match purlin_engine::settle(self.snapshot()?, &urn, made.as_deref(), self.sim.ticks()) {
                    // A damaged journal may have lost the record that it was renamed since.
                    Err(Error::IdTaken { .. }) => {
                        purlin_engine::settle(self.snapshot()?, &urn, None, self.sim.ticks())
                    }
                    changes => changes,
                };
            let changes = changes.map_err(|error| format!("nothing is settled: {error}"))?;
            self.world().submitted(&changes);
            self.store.write(changes).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The manual step when only protection blocks a plan, or when a plan would replace an object that others
    /// manage: the person allows it.
    pub(crate) fn unprotect(&self) -> Result<(), BrokenPromise> {
        let records = self.snapshot()?.records.into_iter();
        let records = records.filter(|record| record.protect || record.external);
        let changes = records.map(|record| {
            let mut record = purlin_state::Record::clone(&record);
            if record.external {
                record.digest = [0; 32];
                // A missing object is created again.
                if !self.world().things.contains_key(record.state.id.expose()) {
                    (record.status, record.state) = (Status::Absent, Default::default());
                }
            }
            (record.protect, record.external) = (false, false);
            Change::Put(Box::new(record))
        });
        self.store.write(changes.collect()).map_err(|error| error.to_string())
    }
}
