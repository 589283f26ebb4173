//! One simulated life: environments in one store and one world, and their commands, one after the
//! other or at the same time.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use purlin_state::{Revision, Snapshot};

use crate::disk::Disk;
use crate::documents::{Documents, made_by_hand};
use crate::drivers::GRACE;
pub(crate) use crate::environment::{BrokenPromise, Ended};
use crate::environment::{SimEnvironment, environment};
use crate::scenario::{Scenario, Step};
use crate::sim::Sim;
use crate::store::SimStore;
use crate::world::World;

/// Environments, a store, a world.
pub(crate) struct Life {
    pub(crate) places: Vec<SimEnvironment>,
    pub(crate) disk: Arc<Disk>,
    /// The records of each of them after its last command.
    pub(crate) left: Vec<Option<Revision>>,
    /// The time of the store when hosts last shared an environment.
    pub(crate) now: Duration,
}

impl Life {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self::with(scenario, scenario.starts.iter().cloned().enumerate().collect())
    }

    /// One of its environments with its current documents, alone in the world and without a
    /// history.
    pub(crate) fn alone(scenario: &Scenario, place: &SimEnvironment) -> Self {
        let mut alone = Self::with(
            &Scenario { steps: Vec::new(), on_disk: false, ..scenario.clone() },
            vec![(place.number, place.documents.clone())],
        );
        alone.places[0].reads_as(place);
        alone
    }

    fn with(scenario: &Scenario, starts: Vec<(usize, Documents)>) -> Self {
        let world = Arc::default();
        let disk = Arc::new(if scenario.on_disk { Disk::in_folder() } else { Disk::in_memory() });
        let several = starts.len() > 1;
        let copies = scenario.on_disk || scenario.steps.iter().any(|step| step.restore.is_some());
        let has_clock = scenario.steps.iter().any(|step| step.stop.is_some());
        let places = starts.into_iter().map(|(number, documents)| {
            let sim = Arc::new(Sim::new(&world, several.then(|| environment(number).env.to_string())));
            let store = SimStore::new(Arc::clone(&sim), &disk, &environment(number), (copies, has_clock));
            SimEnvironment::new(number, (sim, store), &scenario.drivers, documents)
        });
        let life = Self {
            places: places.collect(),
            disk,
            left: vec![None; scenario.starts.len()],
            now: Duration::ZERO,
        };
        for place in &life.places {
            for (slot, resource) in scenario.resources(place.number, &place.documents) {
                if resource.by_hand.is_some() {
                    let id = made_by_hand(place.documents.place, slot);
                    let prefix = place.environment.urn_prefix();
                    life.world().made_by_hand(&id, &prefix, usize::from(resource.driver));
                }
            }
        }
        life
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.places[0].world()
    }

    /// The environment of a step.
    pub(crate) fn place_of(&self, step: &Step) -> usize {
        usize::from(step.place) % self.places.len()
    }

    /// Runs steps of different environments at the same time, each in a separate process.
    pub(crate) fn together(&mut self, steps: &[(usize, &Step)]) -> Result<Vec<Ended>, BrokenPromise> {
        for (number, step) in steps {
            if let Some(damage) = step.damage.as_ref().filter(|_| self.disk.is_in_folder()) {
                // A repair takes longer than a request, and than a system needs to show something.
                self.places.iter().for_each(|place| place.wait(GRACE));
                self.damage(*number, damage)?;
            }
        }
        if let [(number, first), (_, second)] = steps
            && let Some(stop) = first.stop.as_ref().filter(|_| steps[1].0 == *number)
        {
            return self.take_over(*number, stop, (first, second));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|error| error.to_string())?;
        let is_about = |number: usize| steps.iter().find(|(place, _)| *place == number);
        let about = self.places.iter_mut().enumerate();
        let about = about.filter_map(|(number, place)| Some((place, is_about(number)?)));
        let processes =
            about.map(|(place, (number, step))| async move { (*number, place.process(step).await) });
        let mut ended = runtime.block_on(futures::future::join_all(processes));
        drop(runtime);
        // In the order of the steps.
        ended.sort_by_key(|(number, _)| steps.iter().position(|(place, _)| place == number));
        ended.into_iter().map(|(_, ended)| ended).collect()
    }

    /// The records of each environment. Environments without a step are unchanged.
    pub(crate) fn snapshots(&mut self, about: &[usize]) -> Result<Vec<Snapshot>, BrokenPromise> {
        let snapshots: Result<Vec<_>, _> = self.places.iter().map(SimEnvironment::snapshot).collect();
        let snapshots = snapshots?;
        for (number, snapshot) in snapshots.iter().enumerate() {
            let Some(left) = self.left.get_mut(number) else { continue };
            let now = Some(snapshot.revision);
            if !about.contains(&number) && left.is_some() && *left != now {
                let place = &self.places[number].environment;
                return Err(format!("the state of {place} was changed by a command in another environment"));
            }
            *left = now;
        }
        Ok(snapshots)
    }
}
