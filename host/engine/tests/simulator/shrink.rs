//! Makes a scenario that fails smaller, as long as it still fails.

use crate::documents::{Documents, Edit, Resource};
use crate::scenario::{Checkpoint, Command, Part, Scenario, Step};

/// Tries at most so many scenarios.
const TRIES: usize = 4_000;

/// The smallest that was found to fail still, and how many were tried.
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

/// Scenarios that are a little smaller, the greatest cuts first.
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
        // What was edited before a step that goes is edited before the next.
        with(&|s| {
            let edits = s.steps.remove(index).edits;
            if let Some(next) = s.steps.get_mut(index) {
                next.edits.splice(0..0, edits);
            }
        });
    }
    for slot in slots(scenario) {
        with(&|s| without(s, slot));
    }
    for pair in scenario.start.links.keys() {
        with(&|s| {
            s.start.links.remove(pair);
        });
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
        step_with(&|s| s.behind.clear());
        step_with(&|s| s.crash = None);
        step_with(&|s| s.cancel = None);
        step_with(&|s| s.disk_full = None);
        step_with(&|s| s.command = Command::up());
        step_with(&|s| plain(&mut s.command));
        step_with(&|s| s.parallelism = 1);
        step_with(&|s| s.timing = 1);
        if let Some((at, kept)) = step.crash {
            for (at, kept) in [(at / 2, kept), (at.saturating_sub(1), kept), (at, 0)] {
                step_with(&|s| s.crash = Some((at, kept)));
            }
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
    with(&|s| s.start.manifests = false);
    for slot in scenario.start.resources.keys() {
        with(&|s| {
            s.start.resources.entry(*slot).and_modify(plainer);
        });
    }
    for index in 0..scenario.drivers.len() {
        with(&|s| s.drivers[index].checkpoint = Checkpoint::Never);
        with(&|s| s.drivers[index].deletes_first = false);
        with(&|s| s.drivers[index].implements.check = false);
        with(&|s| s.drivers[index].implements.name = false);
        with(&|s| s.drivers[index].implements.update_impact = false);
        with(&|s| s.drivers[index].implements.read = false);
        with(&|s| s.drivers[index].implements.repeat_create = false);
        with(&|s| s.drivers[index].tells = true);
        with(&|s| s.drivers[index].finds_oldest = false);
        with(&|s| s.drivers[index].strict = false);
        with(&|s| s.drivers[index].promises = false);
    }
    found
}

fn slots(scenario: &Scenario) -> Vec<u8> {
    let put = scenario.steps.iter().flat_map(|step| &step.edits).filter_map(|edit| match edit {
        Edit::Put(slot, _) => Some(*slot),
        _ => None,
    });
    let mut slots: Vec<u8> = scenario.start.resources.keys().copied().chain(put).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

fn without(scenario: &mut Scenario, slot: u8) {
    let Documents { resources, links, .. } = &mut scenario.start;
    resources.remove(&slot);
    links.retain(|(a, b), _| *a != slot && *b != slot);
    for step in &mut scenario.steps {
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
        *part = Part::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn what_does_not_matter_goes() {
        let guilty = |s: &Scenario| {
            s.steps.iter().any(|step| step.crash.is_some()) && s.start.resources.contains_key(&0)
        };
        let seed = (0..).find(|seed| {
            let scenario = generate::scenario(*seed);
            guilty(&scenario) && scenario.steps.len() > 4 && scenario.start.resources.len() > 8
        });
        let scenario = generate::scenario(seed.expect("there is one"));
        let (small, _) = shrink(&scenario, guilty);
        assert_eq!((small.steps.len(), small.start.resources.len(), small.start.links.len()), (1, 1, 0));
        assert!(small.steps[0].edits.is_empty() && small.steps[0].faults.is_empty());
    }
}
