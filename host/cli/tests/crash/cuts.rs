//! Interrupts each command at each of its system calls, by a kill and by power failures.
//!
//! A command runs once, under strace. The recorded calls determine what a kill after any of them
//! leaves in the folder, and what a power failure may leave. The test creates such folders and
//! checks the promises in each of them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::cases::{self, Before, CASES, Case};
use crate::choice::{self, Choice};
use crate::disk::{self, Deed, Disk, Tree};
use crate::promises::{self, Acknowledged, End};
use crate::record::{self, Recording};
use crate::scene::{BEFORE, Scene};

thread_local! {
    /// The fault that the check on this thread found; `None` outside of a check.
    static FAULT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// How often a long run prints its progress.
const PROGRESS: Duration = Duration::from_secs(15);

/// After a killed command, only this many calls of the next command are interrupted. By then, it
/// has synced what the other one left, or never will.
const FIRST: usize = 24;

/// The settings from environment variables, which `cargo xtask crash` sets.
struct Wanted {
    /// Run only this case.
    command: Option<String>,
    /// Check this many cuts of each case; all if `None`.
    each: Option<usize>,
    /// Check only these: `kill` or `power`.
    mode: Option<String>,
    /// Begin at this call.
    from: usize,
    /// The number of power failures after a call.
    power: u64,
    seed: u64,
    jobs: usize,
    /// Check only the folder that was kept of this faulty cut.
    again: Option<String>,
}

impl Wanted {
    fn read() -> Self {
        let text = |name: &str| std::env::var(format!("PURLIN_CUTS_{name}")).ok().filter(|t| !t.is_empty());
        let number = |name: &str| text(name).map(|text| text.parse::<u64>().expect("a number"));
        Self {
            command: text("COMMAND"),
            each: match text("EACH").as_deref() {
                Some("all") => None,
                Some(number) => Some(number.parse().expect("a number")),
                None => Some(8),
            },
            mode: text("MODE"),
            from: number("FROM").unwrap_or(0) as usize,
            power: number("POWER").unwrap_or(6),
            seed: number("SEED").unwrap_or(1),
            jobs: number("JOBS").unwrap_or(2) as usize,
            again: text("AGAIN"),
        }
    }
}

/// The remains of a cut, to be checked.
struct Cut {
    /// The number of system calls before the cut, and its kind.
    place: String,
    what: String,
    tree: Tree,
    acknowledged: Acknowledged,
}

#[test]
fn each_command_that_writes_can_be_cut_off_anywhere() {
    if purlin_systems::tools::need("strace").is_none() {
        return;
    }
    let wanted = Wanted::read();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match FAULT.with_borrow(Option::is_some) {
        true => FAULT.set(Some(panic.to_string())),
        false => hook(panic),
    }));
    let cases: Vec<&Case> =
        CASES.iter().filter(|case| wanted.command.as_ref().is_none_or(|name| case.name == name)).collect();
    let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    assert!(!cases.is_empty(), "there is no such command; there are {}", names.join(", "));
    let (next, faults, total) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    // Several commands get one job each; a single command gets all jobs.
    let side_by_side = wanted.jobs.clamp(1, cases.len());
    thread::scope(|scope| {
        for _ in 0..side_by_side {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let (checked, found) = cut_off(case, &wanted, wanted.jobs / side_by_side);
                    total.fetch_add(checked, Ordering::SeqCst);
                    faults.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no panic");
    println!("{} commands, {} cuts, {} faults", cases.len(), total.into_inner(), faults.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Checks all cuts of a command. Returns the number of cuts, and the faults.
fn cut_off(case: &Case, wanted: &Wanted, jobs: usize) -> (usize, Vec<String>) {
    let started = Instant::now();
    // An earlier command may be killed too, at a different place in each round.
    let killed = case.before.iter().any(|before| matches!(before, Before::Killed(_)));
    let rounds = if killed && wanted.each.is_none() { 40 } else { 1 };
    let (mut calls, mut checked, mut faults) = (0, 0, Vec::new());
    for round in 0..rounds {
        let (recording, end) = recorded(case, wanted.seed + round);
        let cuts = match &wanted.again {
            Some(place) => vec![kept(case, place)],
            None => cuts(case, &recording, wanted, if killed { FIRST } else { usize::MAX }),
        };
        calls = calls.max(recording.deeds.len());
        checked += cuts.len();
        faults.extend(check(case, &end, &cuts, jobs));
    }
    assert!(calls > 3, "{}: the recording has only {calls} calls", case.name);
    let took = started.elapsed().as_secs_f64();
    println!("{:24} {calls:5} calls {checked:5} cuts {:3} faults {took:6.1} s", case.name, faults.len());
    (checked, faults)
}

/// Checks the remains of cuts. Returns the faults.
fn check(case: &Case, end: &End, cuts: &[Cut], jobs: usize) -> Vec<String> {
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let last_report = Mutex::new(Instant::now());
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(cut) = cuts.get(number) else { return };
                    let mut last_report = last_report.lock().expect("no panic");
                    if last_report.elapsed() > PROGRESS {
                        *last_report = Instant::now();
                        println!("    {}: {number} of {} cuts", case.name, cuts.len());
                    }
                    drop(last_report);
                    FAULT.set(Some(String::new()));
                    let checked = catch_unwind(AssertUnwindSafe(|| {
                        promises::check(case, end, &cut.tree, &cut.acknowledged);
                    }));
                    let found = FAULT.take();
                    if checked.is_err() {
                        let fault = keep(case, cut, &found.unwrap_or_default());
                        println!("{fault}");
                        faults.lock().expect("no panic").push(fault);
                    }
                }
            });
        }
    });
    faults.into_inner().expect("no panic")
}

/// Prepares the scene and records the command.
fn recorded(case: &Case, seed: u64) -> (Recording, End) {
    let mut seed = seed;
    // strace may report the ends of two concurrent calls in the wrong order. And after some kills
    // the user must decide something, so that the command fails.
    for _ in 0..20 {
        let mut scene = (case.scene)();
        let mut disk = Disk::of(scene.path(), &["data"]);
        for before in case.before {
            match before {
                Before::Do(other) => {
                    other(&scene);
                    disk.adopt(scene.path());
                }
                Before::Run(arguments) => {
                    let recording = record::run(&scene, &disk, arguments).expect("it comes to its end");
                    recording.deeds.iter().for_each(|deed| disk.apply(deed));
                }
                Before::Killed(arguments) => {
                    let recording = record::run(&scene, &disk, arguments).expect("it comes to its end");
                    let calls = killed_after(&recording.deeds, &mut seed);
                    recording.deeds[..calls].iter().for_each(|deed| disk.apply(deed));
                    scene = Scene::of(&disk.after_kill());
                    disk.adopt(scene.path());
                }
            }
        }
        let Some(recording) = record::run(&scene, &disk, case.command) else { continue };
        recording.deeds.iter().for_each(|deed| disk.apply(deed));
        match record::differs(&disk, scene.path()) {
            None => return (recording, End::of(case, &scene)),
            Some(path) => println!("{}: `{path}` is not what the recorded calls make of it", case.name),
        }
    }
    panic!("{}: the recorded calls do not make what is there", case.name);
}

/// The number of calls after which a command is killed. Every other time, the kill comes before a
/// write to a journal is synced.
fn killed_after(deeds: &[Deed], seed: &mut u64) -> usize {
    let is_unsynced = |deed: &Deed| match deed {
        Deed::Write { path, .. } => path.components().any(|part| part.as_os_str() == "journal"),
        _ => false,
    };
    let mut after: Vec<usize> = (1..=deeds.len()).filter(|calls| is_unsynced(&deeds[calls - 1])).collect();
    if after.is_empty() || choice::next(seed).is_multiple_of(2) {
        after = (0..deeds.len()).collect();
    }
    after[(choice::next(seed) % after.len() as u64) as usize]
}

/// The possible remains: after each call, those of a kill and of several power failures.
fn cuts(case: &Case, recording: &Recording, wanted: &Wanted, first: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    let mut seen = HashSet::new();
    let mut disk = recording.disk.clone();
    let mut acknowledged = Acknowledged::default();
    let is = |mode: &str| wanted.mode.as_ref().is_none_or(|wanted| wanted == mode);
    for number in 0..=recording.deeds.len() {
        let deed = number.checked_sub(1).and_then(|last| recording.deeds.get(last));
        let mut torn = None;
        if let Some(deed) = deed {
            if let Deed::Output(output) = deed {
                acknowledged.add_events(output);
            }
            torn = deed.torn().map(|deed| {
                let mut disk = disk.clone();
                disk.apply(&deed);
                disk.after_kill()
            });
            disk.apply(deed);
        }
        acknowledged.all = number == recording.deeds.len();
        let mut add = |how: String, tree: Tree| {
            let mut hasher = DefaultHasher::new();
            (&tree, &acknowledged).hash(&mut hasher);
            let is_wanted = number >= wanted.from && (number <= first || acknowledged.all);
            if is_wanted && seen.insert(hasher.finish()) {
                let what = deed.map_or("the start".to_owned(), Deed::to_string);
                cuts.push(Cut {
                    place: format!("{number}-{how}"),
                    what,
                    tree,
                    acknowledged: acknowledged.clone(),
                });
            }
        };
        if is("kill") {
            torn.into_iter().for_each(|tree| add("torn".to_owned(), tree));
            add("kill".to_owned(), disk.after_kill());
        }
        if is("power") {
            for choice in 0..wanted.power {
                let seed = wanted.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
                add(format!("power-{choice}"), disk.after_cut(&mut Choice::number(choice, seed)));
            }
        }
    }
    if let Some(most) = wanted.each {
        let mut hasher = DefaultHasher::new();
        (case.name, wanted.seed).hash(&mut hasher);
        let mut seed = hasher.finish();
        // The last cut is always included, since everything was acknowledged by then.
        while cuts.len() > most.max(1) {
            let _ = cuts.remove((choice::next(&mut seed) % (cuts.len() as u64 - 1)) as usize);
        }
    }
    cuts
}

/// Keeps the remains of a cut, and describes the fault and how to reproduce it.
fn keep(case: &Case, cut: &Cut, why: &str) -> String {
    let folder = kept_in(case, &cut.place);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("tree")).expect("made");
    disk::write(&cut.tree, &folder.join("tree"));
    fs::write(folder.join("acknowledged"), cut.acknowledged.to_string()).expect("written");
    let (name, place, what) = (case.name, &cut.place, &cut.what);
    format!(
        "{name} {place}, after {what}: {why}\n  repeat with: cargo xtask crash --command {name} --again {place}\n  left: {}",
        folder.display()
    )
}

/// Reads a kept fault.
fn kept(case: &Case, place: &str) -> Cut {
    let folder = kept_in(case, place);
    let acknowledged = fs::read_to_string(folder.join("acknowledged"));
    let acknowledged =
        acknowledged.unwrap_or_else(|_| panic!("there is no such fault: {}", folder.display()));
    Cut {
        place: place.to_owned(),
        what: "what was kept".to_owned(),
        tree: disk::read(&folder.join("tree")),
        acknowledged: Acknowledged::read(&acknowledged),
    }
}

fn kept_in(case: &Case, place: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("crash").join(case.name).join(place)
}

/// A killed process may have written what is not durable yet. Whoever locks the whole state reports on that, so
/// it is durable before.
#[test]
fn a_repair_makes_durable_what_a_killed_process_left() {
    if purlin_systems::tools::need("strace").is_none() {
        return;
    }
    let synced = |is_left: bool| {
        let scene = Scene::new(BEFORE);
        scene.run(&["up", "--yes"]);
        let environment = cases::only(&scene.path().join(".purlin/environments"));
        if is_left {
            // What a process leaves that was killed while it had the environment.
            fs::write(environment.join("holder.json"), "{}").expect("written");
        }
        let disk = Disk::of(scene.path(), &["data"]);
        let recording = record::run(&scene, &disk, &["state", "repair"]).expect("it comes to its end");
        let is_journal = |path: &Path| path.extension().is_some_and(|extension| extension == "log");
        let sync = |deed: &Deed| matches!(deed, Deed::Sync { path } if is_journal(path));
        let output = |deed: &Deed| matches!(deed, Deed::Output(_));
        let said = recording.deeds.iter().position(output).expect("it says what it found");
        recording.deeds[..said].iter().any(sync)
    };
    assert!(synced(true) && !synced(false));
}
