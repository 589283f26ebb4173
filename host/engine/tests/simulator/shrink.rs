//! Makes a failing scenario smaller, as long as it still fails.

use crate::documents::{Documents, Edit, Resource};
use crate::scenario::{Checkpoint, Command, CommandScope, Scenario, Step, Stop, Wakes};

/// The maximum number of tried scenarios.
const TRIES: usize = 4_000;

/// The smallest scenario that still fails, and the number of tried ones.
pub(crate) fn shrink(scenario: &Scenario, fails: impl Fn(&Scenario) -> bool) -> (Scenario, usize) {
    let mut best = scenario.clone();
    let mut tries = 0;
    'again: loop {
        for smaller in smaller(&best) {
            if smaller == best {
                continue;
            }
            tries += 1;
            if tries > TRIES {
                return (best, tries);
            }
            if fails(&smaller) {
                best = smaller;
                continue 'again;
            }
        }
        return (best, tries);
    }
}

/// Slightly smaller scenarios, the largest cuts first.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut found = Vec::new();
    let mut with = |change: &dyn Fn(&mut Scenario)| {
        let mut other = scenario.clone();
        change(&mut other);
        found.push(other);
    };
    for index in 0..scenario.steps.len() {
        with(&|s| {
            s.steps.remove(index);
        });
        // Edits of a removed step are made before the next one.
        with(&|s| {
            let edits = s.steps.remove(index).edits;
            if let Some(next) = s.steps.get_mut(index) {
                next.edits.splice(0..0, edits);
            }
        });
    }
    for place in 0..scenario.starts.len() {
        with(&|s| without_place(s, place));
        for slot in slots(scenario, place) {
            with(&|s| without(s, place, slot));
        }
        for pair in scenario.starts[place].links.keys() {
            with(&|s| {
                s.starts[place].links.remove(pair);
            });
        }
    }
    for (index, step) in scenario.steps.iter().enumerate() {
        let mut step_with = |change: &dyn Fn(&mut Step)| with(&|s| change(&mut s.steps[index]));
        for edit in 0..step.edits.len() {
            step_with(&|s| {
                s.edits.remove(edit);
            });
        }
        for fault in 0..step.faults.len() {
            step_with(&|s| {
                s.faults.remove(fault);
            });
        }
        step_with(&|s| s.beside = false);
        step_with(&|s| s.restore = None);
        step_with(&|s| s.damage = None);
        if let Some(damage) = &step.damage {
            for kill in 0..damage.kills.len() {
                step_with(&|s| {
                    if let Some(damage) = &mut s.damage {
                        damage.kills.remove(kill);
                    }
                });
            }
        }
        step_with(&|s| s.behind.clear());
        step_with(&|s| s.crash = None);
        step_with(&|s| s.lost = None);
        step_with(&|s| s.stop = None);
        step_with(&|s| s.skew = 0);
        if let Some(stop) = &step.stop {
            let mut stop_with = |stop: Stop| step_with(&|s| s.stop = Some(stop.clone()));
            stop_with(Stop { rates: [0, 0], ..stop.clone() });
            stop_with(Stop { kept: 0, ..stop.clone() });
            stop_with(Stop { at: stop.at / 2, ..stop.clone() });
            stop_with(Stop { at: stop.at.saturating_sub(1), ..stop.clone() });
            stop_with(Stop { wakes: Wakes::Never, ..stop.clone() });
            if let Wakes::At(at) = stop.wakes {
                stop_with(Stop { wakes: Wakes::At(at / 2), ..stop.clone() });
                stop_with(Stop { wakes: Wakes::At(at.saturating_sub(1)), ..stop.clone() });
            }
        }
        step_with(&|s| s.cancel = None);
        step_with(&|s| s.disk_full = None);
        step_with(&|s| s.command = Command::up());
        step_with(&|s| plain(&mut s.command));
        step_with(&|s| s.parallelism = 1);
        step_with(&|s| s.waits = true);
        step_with(&|s| s.timing = 1);
        if let Some((at, kept)) = step.crash {
            for (at, kept) in [(at / 2, kept), (at.saturating_sub(1), kept), (at, 0)] {
                step_with(&|s| s.crash = Some((at, kept)));
            }
        }
        if let Some(back) = step.restore {
            step_with(&|s| s.restore = Some(back / 2));
            step_with(&|s| s.restore = Some(back.saturating_sub(1)));
        }
        for (number, (at, fault)) in step.faults.iter().enumerate() {
            if *at > 1 {
                step_with(&|s| s.faults[number] = (at - 1, *fault));
            }
        }
        for number in 0..step.edits.len() {
            step_with(&|s| {
                if let Edit::Put(_, resource) = &mut s.edits[number] {
                    plainer(resource);
                }
            });
        }
    }
    if scenario.steps.iter().all(|step| step.damage.is_none()) {
        with(&|s| s.on_disk = false);
    }
    for (place, start) in scenario.starts.iter().enumerate() {
        with(&|s| s.starts[place].manifests = false);
        for slot in start.resources.keys() {
            with(&|s| {
                s.starts[place].resources.entry(*slot).and_modify(plainer);
            });
        }
    }
    for index in 0..scenario.drivers.len() {
        with(&|s| s.drivers[index].checkpoint = Checkpoint::Never);
        with(&|s| s.drivers[index].deletes_first = false);
        with(&|s| s.drivers[index].implements.check = false);
        with(&|s| s.drivers[index].implements.name = false);
        with(&|s| s.drivers[index].implements.update_impact = false);
        with(&|s| {
            s.drivers[index].implements.read = false;
            s.drivers[index].takes = 0;
        });
        with(&|s| s.drivers[index].implements.repeat_create = false);
        with(&|s| s.drivers[index].returns_inputs = true);
        with(&|s| s.drivers[index].finds_oldest = false);
        with(&|s| s.drivers[index].strict = false);
        with(&|s| s.drivers[index].promises = false);
        with(&|s| s.drivers[index].lag = 0);
        with(&|s| s.drivers[index].late = false);
        with(&|s| s.drivers[index].lingers = 0);
        with(&|s| s.drivers[index].takes = 0);
        with(&|s| s.drivers[index].keeps_names = false);
        with(&|s| s.drivers[index].cookie = 0);
        with(&|s| s.drivers[index].foresees = false);
    }
    found
}

/// Whether a step is in an environment.
fn is_about(scenario: &Scenario, step: &Step, place: usize) -> bool {
    usize::from(step.place) % scenario.starts.len() == place
}

fn slots(scenario: &Scenario, place: usize) -> Vec<u8> {
    let steps = scenario.steps.iter().filter(|step| is_about(scenario, step, place));
    let put = steps.flat_map(|step| &step.edits).filter_map(|edit| match edit {
        Edit::Put(slot, _) => Some(*slot),
        _ => None,
    });
    let mut slots: Vec<u8> = scenario.starts[place].resources.keys().copied().chain(put).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

/// Removes an environment with its steps. The others keep their numbers, except the last one, which
/// takes its place.
fn without_place(scenario: &mut Scenario, place: usize) {
    let last = scenario.starts.len() - 1;
    if last == 0 {
        return;
    }
    let gone: Vec<bool> = scenario.steps.iter().map(|step| is_about(scenario, step, place)).collect();
    let mut gone = gone.into_iter();
    scenario.steps.retain(|_| !gone.next().unwrap_or_default());
    for step in &mut scenario.steps {
        if usize::from(step.place) == last {
            step.place = place as u8;
        }
    }
    scenario.starts.swap_remove(place);
    if let Some(start) = scenario.starts.get_mut(place) {
        start.place = place as u8;
    }
}

fn without(scenario: &mut Scenario, place: usize, slot: u8) {
    let Documents { resources, links, .. } = &mut scenario.starts[place];
    resources.remove(&slot);
    links.retain(|(a, b), _| *a != slot && *b != slot);
    let all = scenario.starts.len();
    for step in scenario.steps.iter_mut().filter(|step| usize::from(step.place) % all == place) {
        step.edits.retain(|edit| match edit {
            Edit::Put(own, _) | Edit::Remove(own) | Edit::Forget(own) | Edit::Rename { slot: own, .. } => {
                *own != slot
            }
            Edit::Link(a, b, _) => *a != slot && *b != slot,
            Edit::Order(_) => true,
        });
        step.behind.retain(|(own, _)| *own != slot);
    }
}

fn plainer(resource: &mut Resource) {
    let Resource { driver, v, fixed, .. } = resource.clone();
    *resource = Resource { driver, v, fixed, ..Resource::default() };
}

fn plain(command: &mut Command) {
    if let Command::Refresh(part) | Command::Destroy(part) = command {
        *part = CommandScope::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn irrelevant_parts_are_removed() {
        let guilty = |s: &Scenario| {
            s.steps.iter().any(|step| step.crash.is_some()) && s.starts[0].resources.contains_key(&0)
        };
        let seed = (0..).find(|seed| {
            let scenario = generate::scenario(*seed);
            let large = scenario.steps.len() > 4 && scenario.starts[0].resources.len() > 8;
            guilty(&scenario) && large && scenario.starts.len() == 3
        });
        let scenario = generate::scenario(seed.expect("there is one"));
        let (small, _) = shrink(&scenario, guilty);
        let start = &small.starts[0];
        assert_eq!((small.starts.len(), small.steps.len()), (1, 1));
        assert_eq!((start.resources.len(), start.links.len()), (1, 0));
        assert!(small.steps[0].edits.is_empty() && small.steps[0].faults.is_empty());
    }
}
