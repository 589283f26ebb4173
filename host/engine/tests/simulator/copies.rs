//! A person restores an older copy of an environment's state.
//!
//! Resources that neither the copy nor any document contains are not promised anything: Purlin does
//! not look for them. Until a complete `up` succeeds and finds nothing new, it is promised that
//! Purlin creates no resource that is unrecorded but can be found by its name. After that,
//! everything that a driver can read must match its record. In the end, the environment must settle
//! as the documents require. If a driver cannot read, a person checks, and marks the resources that
//! no longer exist or have to be replaced.

use std::collections::{BTreeMap, BTreeSet};

use purlin_model::Value;
use purlin_state::{Operation, Record, Snapshot, Status};

use crate::environment::{BrokenPromise, SimEnvironment};
use crate::scenario::DriverKind;
use crate::world::{LET_GO, Thing, World, is_there, place_of, references, show, values};

/// Uncertainty about real objects since copies were restored.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// Objects that a copy records differently, or not at all.
    pub(crate) unsure: BTreeSet<String>,
    /// The environments in which a copy was restored.
    restored: BTreeSet<String>,
    /// Those in which no complete `up` has succeeded since.
    open: BTreeSet<String>,
    /// Objects that were recorded twice after a journal was damaged.
    pub(crate) twins: BTreeSet<String>,
}

impl SimEnvironment {
    pub(crate) fn restore(&self, back: u8) -> Result<(), BrokenPromise> {
        if self.store.restore(back).map_err(|error| format!("no copy can be put back: {error}"))? {
            self.sim.say(format!("a copy from {back} commits ago is put back"));
            self.world().restored(&self.environment.urn_prefix(), &self.snapshot()?);
        }
        Ok(())
    }

    /// A person checks the resources that a copy recorded and that no driver can read: removes the
    /// records of missing ones, and marks those that differ from their record for replacement.
    /// Returns whether there were any.
    pub(crate) fn check_after_restore(&self) -> Result<bool, BrokenPromise> {
        let is_restored = self.world().doubts.restored.contains(&self.environment.urn_prefix());
        self.check_objects(|_| is_restored)
    }

    /// A person checks resources that were reported as missing although nobody could know that they
    /// were deleted.
    pub(crate) fn check_lost_guests(&self) -> Result<bool, BrokenPromise> {
        self.check_objects(|id| {
            let world = self.world();
            world.is_unsure(id) && world.went.contains_key(id)
        })
    }

    fn check_objects(&self, is_meant: impl Fn(&str) -> bool) -> Result<bool, BrokenPromise> {
        let mut any = false;
        for record in self.snapshot()?.records {
            let driver = self.driver_of(&record);
            let is_known = !is_meant(record.state.id.expose()) || driver.is_some_and(reads_inputs);
            if is_known || record.superseded.is_some() || !is_there(&record) {
                continue;
            }
            let seen = self.world().things.get(record.state.id.expose()).map(|thing| thing.values.clone());
            let snapshot = self.snapshot()?;
            let changes = match seen {
                None => {
                    // Old copies are forgotten with it, although they may exist.
                    let copies = snapshot.records.iter().filter(|other| other.urn == record.urn);
                    let mut world = self.world();
                    for id in copies.map(|copy| copy.state.id.expose()) {
                        world.doubts.unsure.insert(id.to_owned());
                        if let Some(thing) = world.things.get_mut(id) {
                            thing.released = true;
                        }
                    }
                    drop(world);
                    purlin_engine::forget(snapshot, &record.urn, true)
                }
                Some(seen) if Value::Map(seen.clone()) != Value::Map(values(&record.inputs)) => {
                    purlin_engine::taint(snapshot, &record.urn, true)
                }
                Some(_) => continue,
            };
            let changes = changes
                .map_err(|error| format!("the record of {} cannot be corrected: {error}", record.urn))?;
            self.sim.say(format!("a person corrects the record of {}", record.urn));
            any = true;
            self.world().submitted(&changes);
            self.store.write(changes).map_err(|error| error.to_string())?;
        }
        Ok(any)
    }

    /// Everything that a driver can read matches its record.
    pub(crate) fn matches_records(&self, snapshot: &Snapshot) -> Result<(), BrokenPromise> {
        let mut world = self.world();
        // An old copy is only deleted, whether or not it exists.
        let is_looked_at = |record: &&std::sync::Arc<Record>| is_there(record) && record.superseded.is_none();
        for record in snapshot.records.iter().filter(is_looked_at) {
            let Some(driver) = self.driver_of(record).filter(|driver| driver.implements.read) else {
                continue;
            };
            let id = record.state.id.expose();
            let Some(thing) = world.things.get(id) else {
                // It was deleted with an object whose inner resources were unknown.
                if world.is_unsure(id) && world.went.contains_key(id) {
                    continue;
                }
                return Err(format!("{} is recorded as {id}, which a look shows to be gone", record.id()));
            };
            // Requested values that do not exist are recorded as null.
            let mut recorded = values(&record.inputs);
            recorded.retain(|_, value| *value != Value::Null);
            let is_equal = Value::Map(thing.values.clone()) == Value::Map(recorded.clone());
            if reads_inputs(driver) && record.status == Status::Ready && !is_equal {
                let (actual, expected) = (show(&thing.values), show(&recorded));
                return Err(format!("{id} is {actual}, and after a look {} says {expected}", record.id()));
            }
            if is_equal {
                world.doubts.unsure.remove(id);
            }
        }
        Ok(())
    }

    pub(crate) fn driver_of(&self, record: &Record) -> Option<&DriverKind> {
        let number = record.driver.name.strip_prefix("sim/d")?.parse::<usize>().ok()?;
        self.drivers.get(number)
    }
}

/// Whether a read shows everything.
fn reads_inputs(driver: &DriverKind) -> bool {
    driver.implements.read && driver.returns_inputs
}

impl World {
    /// Records whether the records of an environment may be stale when a command starts there.
    pub(crate) fn doubts_in(&mut self, prefix: &str, in_doubt: bool) {
        match in_doubt {
            true => self.doubts.open.insert(prefix.to_owned()),
            false => self.doubts.open.remove(prefix),
        };
    }

    /// Whether knowledge of an object is incomplete until a complete `up` succeeds.
    pub(crate) fn is_unsure(&self, id: &str) -> bool {
        self.doubts.unsure.contains(id)
    }

    /// If the host of an object is unknown, or its existence, the same applies to objects inside
    /// it.
    pub(crate) fn is_unsure_inside(&mut self, host: &str, guest: &str) {
        let is_let_go = self.things.get(host).is_some_and(|thing| thing.name.ends_with(LET_GO));
        if is_let_go || self.is_unsure(host) {
            self.doubts.unsure.insert(guest.to_owned());
        }
    }

    /// Whether a resource may need another one without a record of it: the reference was made after
    /// the restored copy. Reading the resource then shows the value, but not the resource that the
    /// value refers to.
    pub(crate) fn needs_unrecorded(&self, record: &Record, needed: Option<&str>) -> bool {
        let is_restored = self.doubts.restored.contains(place_of(record.urn.as_str()));
        is_restored
            && needed.is_some_and(|urn| !record.dependencies.iter().any(|other| other.as_str() == urn))
    }

    /// The content of a copy is now recorded in an environment.
    pub(crate) fn restored(&mut self, prefix: &str, copy: &Snapshot) {
        self.doubts.restored.insert(prefix.to_owned());
        let made = copy.pending.iter().filter_map(|intent| match &intent.operation {
            Operation::Create(record) | Operation::Update(record) => Some(&**record),
            Operation::Delete(_) => None,
        });
        // As far as the copy shows, others may have deleted the missing objects.
        let inputs: Vec<_> = copy
            .records
            .iter()
            .map(|record| &**record)
            .chain(made)
            .map(|record| values(&record.inputs))
            .collect();
        let named = inputs.iter().flat_map(references).map(str::to_owned);
        let recorded = copy.records.iter().filter(|record| is_there(record));
        for id in named.chain(recorded.clone().map(|record| record.state.id.expose().to_owned())) {
            self.went.remove(&id);
            if !self.things.contains_key(&id) {
                self.lost.insert(id);
            }
        }
        let keys: BTreeSet<&str> = copy.pending.iter().map(|intent| &*intent.idempotency_key).collect();
        let is_recorded = |id: &str| recorded.clone().any(|record| record.state.id == *id);
        // If two unrecorded objects have the same name, a driver that searches by name finds only
        // one.
        let unrecorded = self.things.iter().filter(|(id, _)| !is_recorded(id));
        let mut namesakes: BTreeMap<(usize, String), u32> = BTreeMap::new();
        for (_, thing) in unrecorded {
            *namesakes.entry((thing.driver, thing.name.clone())).or_default() += 1;
        }
        for (id, thing) in self.things.iter_mut().filter(|(_, thing)| place_of(&thing.urn) == prefix) {
            let Some(record) = recorded.clone().find(|record| record.state.id == *id) else {
                self.doubts.unsure.insert(id.clone());
                let has_namesake = namesakes.get(&(thing.driver, thing.name.clone())).is_some_and(|n| *n > 1);
                let is_found = keys.contains(&*thing.made_with) && !thing.name.ends_with(LET_GO);
                thing.released |= !is_found || has_namesake;
                continue;
            };
            self.known.insert(id.clone(), (record.retain, record.urn.as_str().to_owned()));
            if Value::Map(thing.values.clone()) != Value::Map(values(&record.inputs)) {
                self.doubts.unsure.insert(id.clone());
            }
        }
    }

    /// An object is about to be created: there is no object that the driver finds by its name and
    /// that has been unknown since a copy was restored.
    pub(crate) fn has_no_unknown_twin(&mut self, new: &Thing, oldest: bool) {
        let Some(id) = self.by_name(new.driver, &new.name, oldest) else { return };
        let knows = |record: &Record| record.state.id == id || record.urn.as_str() == new.urn;
        if self.doubts.unsure.contains(&id)
            && self.doubts.open.contains(place_of(&new.urn))
            && !self.planned.get(&new.urn).is_some_and(|planned| planned.replaced)
            && self.things.get(&id).is_some_and(|thing| thing.made_with != new.made_with)
            && !self.view.values().any(|record| is_there(record) && knows(record))
        {
            self.violated(format!("{} is made again, though {id} is found by its name", new.urn));
        }
    }
}
