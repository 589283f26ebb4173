//! A person puts back an older copy of what is recorded in an environment.
//!
//! What the copy knows nothing of, and no document asks for any more, is not promised: nobody looks for it.
//! Promised is, until an `up` of everything succeeds and finds nothing new, that no resource is created that is
//! not recorded and that its driver finds by its name; after it, that all that a driver can read is as it is recorded; and at last, that the environment
//! comes to rest as the documents want it. Where a driver cannot read, a person looks, and says what is not
//! there any more and what has to be replaced.

use std::collections::{BTreeMap, BTreeSet};

use purlin_model::Value;
use purlin_state::{Operation, Record, Snapshot, Status};

use crate::place::{Fault, Place};
use crate::scenario::DriverKind;
use crate::world::{LET_GO, Thing, World, is_there, place_of, references, show, values};

/// What is known of real things since copies were put back.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// What a copy records otherwise than it is, or not at all.
    pub(crate) unsure: BTreeSet<String>,
    /// The environments in which a copy was put back.
    restored: BTreeSet<String>,
    /// Those in which no `up` of everything succeeded since.
    open: BTreeSet<String>,
    /// What was recorded twice once a journal was damaged.
    pub(crate) twins: BTreeSet<String>,
}

impl Place {
    pub(crate) fn restore(&self, back: u8) -> Result<(), Fault> {
        if self.store.restore(back).map_err(|error| format!("no copy can be put back: {error}"))? {
            self.sim.say(format!("a copy from {back} commits ago is put back"));
            self.world().restored(&self.environment.urn_prefix(), &self.snapshot()?);
        }
        Ok(())
    }

    /// What a person does about resources that a copy recorded and no driver reads: looks for each, forgets
    /// those that are gone, and has those replaced that are not as they are recorded. Says whether there were
    /// any.
    pub(crate) fn look_after_copies(&self) -> Result<bool, Fault> {
        let is_restored = self.world().doubts.restored.contains(&self.environment.urn_prefix());
        self.look_after(|_| is_restored)
    }

    /// What a person does who is told that something is not found that nobody could know to be gone.
    pub(crate) fn look_after_what_went(&self) -> Result<bool, Fault> {
        self.look_after(|id| {
            let world = self.world();
            world.is_unsure(id) && world.went.contains_key(id)
        })
    }

    fn look_after(&self, is_meant: impl Fn(&str) -> bool) -> Result<bool, Fault> {
        let mut any = false;
        for record in self.snapshot()?.records {
            let driver = self.driver_of(&record);
            let is_known = !is_meant(record.state.id.expose()) || driver.is_some_and(tells);
            if is_known || record.superseded.is_some() || !is_there(&record) {
                continue;
            }
            let seen = self.world().things.get(record.state.id.expose()).map(|thing| thing.values.clone());
            let snapshot = self.snapshot()?;
            let changes = match seen {
                None => purlin_engine::forget(snapshot, &record.urn, true),
                Some(seen) if Value::Map(seen.clone()) != Value::Map(values(&record.inputs)) => {
                    purlin_engine::taint(snapshot, &record.urn, true)
                }
                Some(_) => continue,
            };
            let changes = changes.map_err(|error| format!("{} cannot be put right: {error}", record.urn))?;
            self.sim.say(format!("a person puts right what is recorded of {}", record.urn));
            any = true;
            self.world().submitted(&changes);
            self.store.write(changes).map_err(|error| error.to_string())?;
        }
        Ok(any)
    }

    /// All that a driver can read is as it is recorded.
    pub(crate) fn is_as_recorded(&self, snapshot: &Snapshot) -> Result<(), Fault> {
        let mut world = self.world();
        // An old copy is only deleted, whether or not it is there.
        let is_looked_at = |record: &&std::sync::Arc<Record>| is_there(record) && record.superseded.is_none();
        for record in snapshot.records.iter().filter(is_looked_at) {
            let Some(driver) = self.driver_of(record).filter(|driver| driver.implements.read) else {
                continue;
            };
            let id = record.state.id.expose();
            let Some(thing) = world.things.get(id) else {
                // It went with something of which nobody knows where it lived.
                if world.is_unsure(id) && world.went.contains_key(id) {
                    continue;
                }
                return Err(format!("{} is recorded as {id}, which a look shows to be gone", record.id()));
            };
            // What was asked for and is not there is recorded as nothing.
            let mut recorded = values(&record.inputs);
            recorded.retain(|_, value| *value != Value::Null);
            let is_equal = Value::Map(thing.values.clone()) == Value::Map(recorded.clone());
            if tells(driver) && record.status == Status::Ready && !is_equal {
                let (is, says) = (show(&thing.values), show(&recorded));
                return Err(format!("{id} is {is}, and after a look {} says {says}", record.id()));
            }
            if is_equal {
                world.doubts.unsure.remove(id);
            }
        }
        Ok(())
    }

    fn driver_of(&self, record: &Record) -> Option<&DriverKind> {
        let number = record.driver.name.strip_prefix("sim/d")?.parse::<usize>().ok()?;
        self.drivers.get(number)
    }
}

/// Whether a look shows all there is to know.
fn tells(driver: &DriverKind) -> bool {
    driver.implements.read && driver.tells
}

impl World {
    /// Whether what is recorded in an environment is in doubt as a command begins there.
    pub(crate) fn doubts_in(&mut self, prefix: &str, in_doubt: bool) {
        match in_doubt {
            true => self.doubts.open.insert(prefix.to_owned()),
            false => self.doubts.open.remove(prefix),
        };
    }

    /// Whether not all is known of a thing until an `up` of everything succeeds.
    pub(crate) fn is_unsure(&self, id: &str) -> bool {
        self.doubts.unsure.contains(id)
    }

    /// Where something lives, or that it is there, nobody can know of what lives in it.
    pub(crate) fn is_unsure_inside(&mut self, host: &str, guest: &str) {
        let is_let_go = self.things.get(host).is_some_and(|thing| thing.name.ends_with(LET_GO));
        if is_let_go || self.is_unsure(host) {
            self.doubts.unsure.insert(guest.to_owned());
        }
    }

    /// Whether a resource may need another without a record of it: the reference was made after the copy that
    /// was put back. Reading the resource then shows the value, but not what the value refers to.
    pub(crate) fn needs_unrecorded(&self, record: &Record, needed: Option<&str>) -> bool {
        let is_restored = self.doubts.restored.contains(place_of(record.urn.as_str()));
        is_restored
            && needed.is_some_and(|urn| !record.dependencies.iter().any(|other| other.as_str() == urn))
    }

    /// In an environment this is recorded now, whatever was.
    pub(crate) fn restored(&mut self, prefix: &str, copy: &Snapshot) {
        self.doubts.restored.insert(prefix.to_owned());
        let made = copy.pending.iter().filter_map(|intent| match &intent.operation {
            Operation::Create(record) | Operation::Update(record) => Some(&**record),
            Operation::Delete(_) => None,
        });
        // Others may have taken away what is not there, as far as the copy knows.
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
        // Of two of a name that nobody records, a driver that looks by name finds one.
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

    /// Something is about to be made: nothing is there that the driver finds by its name and that nobody
    /// knows of since a copy was put back.
    pub(crate) fn is_not_forgotten(&mut self, new: &Thing, oldest: bool) {
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
