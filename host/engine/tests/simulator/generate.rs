//! Scenarios from a seed.

use purlin_model::driver::Implements;

use crate::documents::{ByHand, Documents, Edit, Link, Resource};
use crate::rng::Rng;
use crate::scenario::{
    Behind, CallFault, Checkpoint, Command, CommandScope, Damage, DriverKind, Harm, Scenario, Step, Stop,
    Wakes,
};

/// The maximum number of resource names.
pub(crate) const SLOTS: u32 = 12;

/// The scenario of a seed.
pub(crate) fn scenario(seed: u64) -> Scenario {
    let mut rng = Rng::new(seed);
    let drivers: Vec<DriverKind> = (0..1 + rng.below(4)).map(|_| kind(&mut rng)).collect();
    // One life in four refers by fields, regardless of the other choices.
    let manifests = seed.is_multiple_of(4);
    let (start, many) = documents(&mut rng, &drivers, manifests);
    let rough = rng.chance(85);
    let steps = (0..2 + rng.below(6)).map(|number| step(&mut rng, &drivers, many, number, rough)).collect();
    let mut scenario = Scenario { drivers, starts: vec![start], on_disk: false, steps };
    // Drawn separately, so that a seed keeps the rest of its life when a choice is added here.
    let mut rng = Rng::mixed(seed, 1);
    for place in 1..*rng.pick(&[1, 1, 1, 1, 1, 1, 1, 2, 2, 3]) {
        add_place(&mut rng, &mut scenario, place, many, rough);
    }
    let mut rng = Rng::mixed(seed, 2);
    if rng.chance(2) {
        add_damage(&mut rng, &mut scenario);
    } else if rng.chance(12) {
        add_copies(&mut rng, &mut scenario);
    }
    let mut rng = Rng::mixed(seed, 3);
    if !scenario.on_disk && rng.chance(25) {
        add_hosts(&mut rng, &mut scenario);
    }
    let mut rng = Rng::mixed(seed, 4);
    if !scenario.on_disk && rng.chance(25) {
        add_stops(&mut rng, &mut scenario);
    } else if !scenario.on_disk && rng.chance(5) {
        add_wrong_clocks(&mut rng, &mut scenario);
    }
    // With clocks that are set forward, or damaged files, nobody knows how long something has existed.
    let steps = &scenario.steps;
    let is_known = !scenario.on_disk;
    let is_right = steps.iter().any(|step| step.stop.is_some()) || steps.iter().all(|step| step.skew == 0);
    if is_known && is_right {
        let mut rng = Rng::mixed(seed, 5);
        for driver in &mut scenario.drivers {
            driver.lag = *rng.pick(&[0, 0, 5, 20]);
            driver.late = rng.chance(50);
        }
        let mut rng = Rng::mixed(seed, 6);
        for driver in &mut scenario.drivers {
            driver.lingers = *rng.pick(&[0, 0, 5, 20]);
            driver.keeps_names = driver.deletes_first && driver.implements.update_impact && rng.chance(50);
        }
    }
    // Half of the lives stay as they were.
    let mut rng = Rng::mixed(seed, 7);
    if is_known && is_right && rng.chance(50) {
        for driver in scenario.drivers.iter_mut().filter(|driver| driver.implements.read) {
            driver.takes = *rng.pick(&[0, 3, 15]);
        }
        for step in &mut scenario.steps {
            step.waits = rng.chance(60);
        }
    }
    // Some are stored with their record, some apart from it.
    let mut rng = Rng::mixed(seed, 8);
    for driver in &mut scenario.drivers {
        driver.cookie = *rng.pick(&[0, 0, 40, 40, 1_500, 1_500, 9_000]);
    }
    // Their ids are random, and so is their order in a file, at the places where it is damaged.
    if scenario.steps.iter().any(|step| step.damage.is_some()) {
        scenario.drivers.iter_mut().for_each(|driver| driver.cookie = driver.cookie.min(40));
    }
    // Faults hit other calls then, so that half of the lives stay as they were.
    let mut rng = Rng::mixed(seed, 9);
    if rng.chance(50) {
        for driver in &mut scenario.drivers {
            driver.foresees = rng.chance(50);
        }
    }
    if rng.below(500) == 0 && !scenario.on_disk {
        scenario.drivers.iter_mut().for_each(|driver| driver.cookie = 1 << 20);
    }
    scenario
}

/// Adds restored copies of the state. Runs have about 5 to 100 commits.
fn add_copies(rng: &mut Rng, scenario: &mut Scenario) {
    for step in scenario.steps.iter_mut().skip(1) {
        if rng.chance(35) {
            let most = *rng.pick(&[4, 15, 40, 120]);
            step.restore = Some(1 + rng.below(most) as u8);
        }
    }
}

/// Lets other hosts take the lease of an environment during a command.
fn add_hosts(rng: &mut Rng, scenario: &mut Scenario) {
    for step in &mut scenario.steps {
        if step.crash.is_none() && rng.chance(50) {
            step.lost = Some((point(rng), rng.below(8) as u8));
        }
    }
}

/// Stops hosts during a command, lets others take over, and makes all of their clocks disagree.
fn add_stops(rng: &mut Rng, scenario: &mut Scenario) {
    for step in &mut scenario.steps {
        step.skew = match rng.below(4) {
            0 => 0,
            1 => i64::from(rng.below(20_000)) - 10_000,
            _ => i64::from(rng.below(14_400_000)) - 7_200_000,
        };
        // Leases that another host gets without waiting, and restored copies, are simulated
        // separately.
        step.lost = None;
        step.restore = None;
        if rng.chance(60) {
            let rate = |rng: &mut Rng| rng.below(16_001) as i32 - 8_000;
            let wakes = match rng.below(8) {
                0 => Wakes::Early(rng.below(256) as u8),
                1 => Wakes::Never,
                2 => Wakes::At(1 + rng.below(3)),
                3 => Wakes::At(u32::MAX),
                _ => Wakes::At(point(rng)),
            };
            let (at, kept) = (point(rng), rng.below(8) as u8);
            step.stop = Some(Stop { at, kept, wakes, rates: [rate(rng), rate(rng)], chance: rng.next() });
        }
    }
    if scenario.steps.iter().all(|step| step.stop.is_none()) {
        scenario.steps.iter_mut().for_each(|step| step.skew = -step.skew.abs());
    }
}

/// Sets the clock of the only host back. If the clock was set forward, the only promise is that a
/// missing resource is noticed once that time has come.
fn add_wrong_clocks(rng: &mut Rng, scenario: &mut Scenario) {
    for step in &mut scenario.steps {
        step.skew = -i64::from(rng.below(14_400_000));
    }
}

/// A point of a run. Runs have about 20 to 300 points; most of the relevant ones come early.
fn point(rng: &mut Rng) -> u32 {
    let most = *rng.pick(&[20, 60, 150, 300]);
    1 + rng.below(most)
}

/// Documents, and the number of names that they use.
fn documents(rng: &mut Rng, drivers: &[DriverKind], manifests: bool) -> (Documents, u32) {
    let mut start = Documents { order: rng.next(), manifests, ..Documents::default() };
    let many = 1 + rng.below(SLOTS);
    for slot in 0..many {
        start.edit(&Edit::Put(slot as u8, resource(rng, drivers)));
    }
    // Some graphs are dense, some have no edges at all.
    let links = rng.below(2 * many + 1);
    for _ in 0..links {
        start.edit(&link(rng, many));
    }
    (start, many)
}

/// Adds an environment, with the same documents as the first or with different ones that have the
/// same names, and its steps.
fn add_place(rng: &mut Rng, scenario: &mut Scenario, place: u8, many: u32, rough: bool) {
    let same = rng.chance(50);
    let (start, many) = match same {
        true => (scenario.starts[0].clone(), many),
        false => documents(rng, &scenario.drivers, scenario.starts[0].manifests),
    };
    scenario.starts.push(Documents { place, ..start });
    for number in 0..1 + rng.below(4) {
        let step =
            Step { place, beside: rng.chance(60), ..step(rng, &scenario.drivers, many, number, rough) };
        let at = rng.below(scenario.steps.len() as u32 + 1) as usize;
        scenario.steps.insert(at, step);
    }
}

/// Damages files of the state, and repairs them in processes that are killed.
fn add_damage(rng: &mut Rng, scenario: &mut Scenario) {
    scenario.on_disk = true;
    for step in scenario.steps.iter_mut().skip(1) {
        if rng.chance(60) {
            step.damage = Some(Damage {
                file: rng.below(8) as u8,
                harm: *rng.pick(&[Harm::Flip, Harm::Flip, Harm::Cut, Harm::Cut, Harm::Lose]),
                at: rng.below(256) as u8,
                kills: (0..rng.below(4)).map(|_| rng.below(16) as u8).collect(),
            });
        }
    }
}

fn kind(rng: &mut Rng) -> DriverKind {
    let read = rng.chance(60);
    DriverKind {
        implements: Implements {
            check: rng.chance(30),
            name: rng.chance(40),
            read,
            update_impact: rng.chance(75),
            update: rng.chance(85),
            repeat_create: rng.chance(40),
        },
        checkpoint: *rng.pick(&[Checkpoint::Never, Checkpoint::Before, Checkpoint::After]),
        deletes_first: rng.chance(20),
        returns_inputs: rng.chance(70),
        finds_oldest: rng.chance(50),
        strict: rng.chance(30),
        promises: rng.chance(60),
        lag: 0,
        late: false,
        lingers: 0,
        keeps_names: false,
        takes: 0,
        cookie: 0,
        foresees: false,
    }
}

fn resource(rng: &mut Rng, drivers: &[DriverKind]) -> Resource {
    let driver = rng.below(drivers.len() as u32) as u8;
    let driver_of = &drivers[usize::from(driver)];
    let reads = driver_of.implements.read && driver_of.returns_inputs;
    Resource {
        name: 0,
        driver,
        v: rng.below(3) as u8,
        fixed: rng.below(2) as u8,
        protect: rng.chance(4),
        retain: rng.chance(6),
        delete_before_replace: match rng.below(10) {
            0 | 1 => Some(true),
            2 => Some(false),
            _ => None,
        },
        ignore_v: rng.chance(6),
        replace_on_v: rng.chance(10),
        alias: None,
        by_hand: match rng.below(40) {
            0 if reads => Some(ByHand::Import),
            1 if reads => Some(ByHand::Observe),
            _ => None,
        },
    }
}

fn link(rng: &mut Rng, many: u32) -> Edit {
    let kinds = [
        Link::Value,
        Link::Value,
        Link::Id,
        Link::Id,
        Link::FixedValue,
        Link::FixedId,
        Link::DependsOn,
        Link::ReplaceWith,
        Link::Within,
        Link::Inside,
    ];
    let kind = rng.chance(85).then(|| *rng.pick(&kinds));
    Edit::Link(rng.below(many) as u8, rng.below(many) as u8, kind)
}

fn edit(rng: &mut Rng, drivers: &[DriverKind], many: u32) -> Edit {
    let slot = rng.below(many) as u8;
    match rng.below(20) {
        0..=8 => Edit::Put(slot, resource(rng, drivers)),
        9..=11 => Edit::Remove(slot),
        12..=15 => link(rng, many),
        16 => Edit::Order(rng.next()),
        17 => Edit::Forget(slot),
        _ => Edit::Rename { slot, alias: rng.chance(70) },
    }
}

fn step(rng: &mut Rng, drivers: &[DriverKind], many: u32, number: u32, rough: bool) -> Step {
    let edits = if number == 0 { 0 } else { rng.below(5) };
    let edits = (0..edits).map(|_| edit(rng, drivers, many)).collect();
    let behind = match number > 0 && rng.chance(15) {
        true => vec![(rng.below(many) as u8, *rng.pick(&[Behind::Drift, Behind::Vanish]))],
        false => Vec::new(),
    };
    let mut step = Step { edits, behind, command: command(rng, many), ..Step::calm(Command::up()) };
    step.timing = rng.next();
    step.parallelism = 1 + rng.below(8) as u8;
    if !rough || rng.chance(20) {
        return step;
    }
    if rng.chance(50) {
        step.crash = Some((point(rng), rng.below(8) as u8));
    }
    for _ in 0..*rng.pick(&[0, 0, 1, 1, 2, 4, 8]) {
        step.faults.push((1 + rng.below(40), fault(rng)));
    }
    if rng.chance(10) {
        let first = point(rng);
        step.cancel = Some((first, rng.chance(50).then(|| first + 1 + rng.below(10))));
    }
    if rng.chance(6) {
        step.disk_full = Some((1 + rng.below(30), rng.chance(50)));
    }
    step
}

fn command(rng: &mut Rng, many: u32) -> Command {
    match rng.below(20) {
        0..=14 => Command::Up {
            full: rng.chance(8),
            keep_removed: rng.chance(8),
            scope: part(rng, many, 15),
            replace: rng.chance(6).then(|| rng.below(many) as u8),
        },
        15 | 16 => Command::Refresh(part(rng, many, 30)),
        17 | 18 => Command::Destroy(part(rng, many, 40)),
        _ => Command::Resolve,
    }
}

fn part(rng: &mut Rng, many: u32, percent: u32) -> CommandScope {
    if !rng.chance(percent) {
        return CommandScope::default();
    }
    let slots = |rng: &mut Rng| (0..1 + rng.below(3)).map(|_| rng.below(many) as u8).collect();
    let mut part = CommandScope { dependents: rng.chance(50), ..CommandScope::default() };
    match rng.below(5) {
        0 | 1 => part.targets = slots(rng),
        2 | 3 => part.exclude = slots(rng),
        _ => (part.targets, part.exclude) = (slots(rng), slots(rng)),
    }
    part
}

fn fault(rng: &mut Rng) -> CallFault {
    *rng.pick(&[
        CallFault::Fail,
        CallFault::Fail,
        CallFault::Partial,
        CallFault::Half,
        CallFault::Half,
        CallFault::TrapBefore,
        CallFault::TrapAfter,
        CallFault::TrapAfter,
        CallFault::HangBefore,
        CallFault::HangAfter,
        CallFault::Busy,
        CallFault::Slow,
        CallFault::NoInstance,
        CallFault::Junk,
    ])
}
