//! Files of the state are damaged, and repaired by processes that are killed.
//!
//! The promises: a repair completes however often it was cut off before, and then finds no damage;
//! everything that it keeps was once recorded; nothing is missing unless the records may be stale;
//! and other environments keep all of their records. If nothing can be read, the repair changes
//! nothing, and a person restores a backup. The rest is as after any older copy: see `copies.rs`.

use purlin_state::{Error, Snapshot};

use crate::environment::SimEnvironment;
use crate::life::{BrokenPromise, Life};
use crate::scenario::Damage;

impl Life {
    /// Damages files of an environment and repairs them.
    pub(crate) fn damage(&mut self, number: usize, damage: &Damage) -> Result<(), BrokenPromise> {
        let damaged = &self.places[number];
        let before = self.places.iter().map(SimEnvironment::snapshot).collect::<Result<Vec<_>, _>>()?;
        self.places.iter().for_each(|place| place.store.unlock());
        let disk = &self.disk;
        let copy = disk.backup().ok_or("no copy can be made")?;
        if let Some(file) = disk.damage(&damaged.environment, damage) {
            damaged.sim.say(format!("{file} is damaged: {:?} at {}/256", damage.harm, damage.at));
            self.repair(damage, &copy)?;
        }
        disk.open().map_err(|error| format!("what was repaired does not open: {error}"))?;
        for place in &self.places {
            place.store.lock().map_err(|error| format!("what was repaired is not free: {error}"))?;
        }
        for (place, before) in self.places.iter().zip(&before) {
            let after = place.snapshot()?;
            let other = place.number != damaged.number;
            place.is_saved(before, &after, other)?;
            if after.staleness.is_some() {
                self.repair_contradictions(place, after)?;
            }
        }
        // If the files of all environments were restored, all of them changed.
        self.left.iter_mut().for_each(|left| *left = None);
        Ok(())
    }

    fn repair(&self, damage: &Damage, copy: &tempfile::TempDir) -> Result<(), BrokenPromise> {
        let plain = |line: String| self.disk.plain(line);
        let say = |line: String| self.world().say(plain(line));
        let mut ended = None;
        for at in &damage.kills {
            match self.disk.repair(Some(*at)) {
                None => say(format!("  the repair is killed at place {at}")),
                done => ended = done,
            }
        }
        match self.disk.repair(None).or(ended) {
            Some(Ok(report)) => {
                say(format!("  repaired: {:?}, lost: {:?}", report.findings, report.lost));
                self.disk.open().map_err(|error| format!("what was repaired does not open: {error}"))?;
                let recorded = self.places.iter().map(|place| self.disk.load(&place.environment));
                let recorded = recorded.collect::<Result<Vec<_>, _>>();
                let recorded =
                    recorded.map_err(|error| format!("what was repaired cannot be read: {error}"))?;
                let there: usize = recorded.iter().map(|snapshot| snapshot.records.len()).sum();
                if there != report.records {
                    return Err(format!("{} records were saved, and {there} are there", report.records));
                }
                match self.disk.verify() {
                    Some(Ok(report)) if report.is_whole() => Ok(()),
                    found => Err(plain(format!("after the repair not all is whole: {found:?}"))),
                }
            }
            // Nothing of it can be read, or so it seems.
            Some(Err(error @ (Error::Corrupt { .. } | Error::Newer { .. }))) => {
                say(format!("  not repaired: {error}; a copy of the files is put back"));
                self.disk.put_back(copy).map_err(|error| error.to_string())
            }
            other => Err(plain(format!("the repair failed: {other:?}"))),
        }
    }

    /// Does what `purlin state repair` does with records that contradict each other because some
    /// are lost.
    fn repair_contradictions(&self, place: &SimEnvironment, after: Snapshot) -> Result<(), BrokenPromise> {
        let changes = purlin_engine::repair_contradictions(&after);
        place.store.write(changes).map_err(|error| error.to_string())?;
        self.world().restored(&place.environment.urn_prefix(), &place.snapshot()?);
        place.base().map(drop)
    }
}

impl SimEnvironment {
    /// No record of an environment is missing or older, unless this is reported.
    fn is_saved(&self, before: &Snapshot, after: &Snapshot, other: bool) -> Result<(), BrokenPromise> {
        let place = &self.environment;
        let is_same = before.records == after.records && before.pending == after.pending;
        if other && !is_same {
            return Err(format!("the repair of another environment changed {place}"));
        }
        if !is_same && after.staleness.is_none() {
            return Err(format!("the repair lost something of {place}, and nobody is told"));
        }
        for record in &after.records {
            if !self.store.was_recorded(record) {
                return Err(format!("{} was never recorded as the repair left it", record.id()));
            }
        }
        for intent in &after.pending {
            if !self.store.was_intended(intent) {
                return Err(format!("the call on {} that the repair left was never begun", intent.id()));
            }
        }
        Ok(())
    }
}
