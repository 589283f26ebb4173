//! What persons do where no command goes on without them.

use purlin_engine::Error;
use purlin_state::{Change, Operation, Status};

use crate::place::{Fault, Place};

impl Place {
    /// What a person does when it is not known whether something was made: looks for it, and
    /// reports what it is, or deletes it by hand and reports that there is nothing.
    pub(crate) fn resolve(&self) -> Result<(), Fault> {
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
            let changes = match purlin_engine::settle(self.snapshot()?, &urn, made.as_deref()) {
                // A damaged journal may have lost that it was given another name since.
                Err(Error::Held { .. }) => purlin_engine::settle(self.snapshot()?, &urn, None),
                changes => changes,
            };
            let changes = changes.map_err(|error| format!("nothing is settled: {error}"))?;
            self.world().submitted(&changes);
            self.store.write(changes).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// What a person does when only protection is in the way, or when something that others manage would
    /// be replaced: allows it.
    pub(crate) fn unprotect(&self) -> Result<(), Fault> {
        let records = self.snapshot()?.records.into_iter();
        let records = records.filter(|record| record.protect || record.external);
        let changes = records.map(|record| {
            let mut record = purlin_state::Record::clone(&record);
            if record.external {
                record.digest = [0; 32];
                // What is gone is nobody's; it is made.
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
