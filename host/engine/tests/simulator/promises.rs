//! The promises that hold after every command, however it ended, and at the end of a life.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::drivers::GRACE;
use purlin_engine::{Cause, Summary};
use purlin_model::{Unfinished, Value};
use purlin_state::{Operation, Record, Snapshot, Status};

use crate::environment::SimEnvironment;
use crate::life::{BrokenPromise, Ended, Life};
use crate::scenario::{Command, CommandScope, Scenario, Step};
use crate::world::{LET_GO, World, is_there, place_of, show, values};

/// The maximum number of runs of the same documents with something to do after the last fault.
const RUNS_TO_CONVERGE: u32 = 3;

/// After commands that ran at the same time, each in its environment.
pub(crate) fn after(life: &mut Life, steps: &[(usize, &Step)], ended: &[Ended]) -> Result<(), BrokenPromise> {
    let about: Vec<usize> = steps.iter().map(|(place, _)| *place).collect();
    if let Some(violation) = life.world().violations.first() {
        return Err(violation.clone());
    }
    let snapshots = life.snapshots(&about)?;
    for (index, ((number, step), ended)) in steps.iter().zip(ended).enumerate() {
        // The last one determines the records.
        if steps.iter().skip(index + 1).any(|(other, _)| other == number) {
            continue;
        }
        let (place, snapshot) = (&life.places[*number], &snapshots[*number]);
        let mut world = place.world();
        existing_objects_are_recorded(&mut world, snapshot, &place.environment.urn_prefix())?;
        recorded_objects_exist(&world, snapshot)?;
        records_have_the_foreseen_parts(&world, snapshot)?;
        if !ended.crashed {
            objects_deleted_with_others_are_not_recorded(&world, snapshot)?;
        }
        drop(world);
        if ended.trusted {
            place.matches_records(snapshot)?;
        }
        if !ended.crashed && step.command != Command::Resolve {
            pending_calls_are_reported(place, snapshot, ended)?;
        }
    }
    Ok(())
}

/// Every object is recorded, or being created, or was released as the documents requested; and no
/// two records are of the same object.
fn existing_objects_are_recorded(
    world: &mut World,
    snapshot: &Snapshot,
    prefix: &str,
) -> Result<(), BrokenPromise> {
    let mut recorded: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in snapshot.records.iter().filter(|record| is_there(record)) {
        if let Some(other) = recorded.insert(record.state.id.expose(), record)
            && !(record.external || other.external)
        {
            let id = record.state.id.expose();
            // A repair may have saved only one of two changes in a commit; if removed resources are
            // kept, both are kept.
            if snapshot.staleness.is_some() || world.doubts.twins.contains(id) {
                continue;
            }
            return Err(format!("{id} is recorded twice, as {} and {}", record.id(), other.id()));
        }
    }
    for (id, record) in &recorded {
        if let Some(thing) = world.things.get_mut(*id) {
            thing.released = record.external;
        }
    }
    let on_their_way: BTreeSet<&str> = snapshot
        .pending
        .iter()
        .filter(|intent| matches!(intent.operation, Operation::Create(_)))
        .map(|intent| &*intent.idempotency_key)
        .collect();
    let mut let_go = Vec::new();
    let of_place = world.things.iter().filter(|(_, thing)| thing.urn.starts_with(prefix));
    for (id, thing) in of_place {
        if thing.released || recorded.contains_key(&**id) || on_their_way.contains(&*thing.made_with) {
            continue;
        }
        // A resource inside an object that a restored copy does not know was assumed to be inside
        // its namesake.
        let is_elsewhere =
            |home: &String| world.is_unsure(home) || world.things.get(home).is_some_and(|home| home.released);
        let lives_elsewhere = thing.home.as_ref().is_some_and(is_elsewhere);
        if !world.may_be_released(id) && !lives_elsewhere {
            return Err(format!("{id} of {} is forgotten", thing.urn));
        }
        let_go.push(id.clone());
    }
    for id in let_go {
        if let Some(thing) = world.things.get_mut(&id) {
            thing.released = true;
            // Its new owner renames it: drivers distinguish objects by names.
            thing.name = format!("{}{LET_GO}", thing.name);
        }
        world.say(format!("  {id} was let go"));
    }
    Ok(())
}

/// Every recorded object exists and belongs to the same environment, unless others deleted it or a
/// pending call may have.
fn recorded_objects_exist(world: &World, snapshot: &Snapshot) -> Result<(), BrokenPromise> {
    for record in snapshot.records.iter().filter(|record| is_there(record)) {
        let id = record.state.id.expose();
        let is_pending = || snapshot.pending.iter().any(|intent| intent.id() == record.id());
        let other =
            world.things.get(id).filter(|thing| place_of(&thing.urn) != place_of(record.urn.as_str()));
        if let Some(other) = other {
            return Err(format!("{} is recorded as {id}, which is that of {}", record.id(), other.urn));
        }
        // An old copy is only deleted, again if necessary: it may be gone since a deletion that was lost
        // before it was replaced.
        // So is what is going away, until its driver says that it is gone.
        let is_going = matches!(record.status, Status::Partial(Unfinished::InProgress { deletes: true, .. }));
        let may_be_gone = || record.superseded.is_some() || is_going;
        if !world.things.contains_key(id) && !world.lost.contains(id) && !is_pending() && !may_be_gone() {
            return Err(format!("{} is recorded as {id}, which was deleted", record.id()));
        }
    }
    Ok(())
}

/// A record has the part that its driver foresaw, as long as the object exists.
fn records_have_the_foreseen_parts(world: &World, snapshot: &Snapshot) -> Result<(), BrokenPromise> {
    for record in snapshot.records.iter().filter(|record| !record.external) {
        let thing = world.things.get(record.state.id.expose()).filter(|_| is_there(record));
        let parts: Vec<&str> = record.parts.iter().map(|part| &*part.address).collect();
        match thing {
            Some(thing) if thing.foresees && parts != ["the thing"] => {
                return Err(format!("{} is recorded with the parts {parts:?}", record.id()));
            }
            None if record.status == Status::Absent && !parts.is_empty() => {
                return Err(format!("{} is absent, and has the parts {parts:?}", record.id()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// An object that was deleted with another one is not recorded as existing, once the outcome of
/// that deletion is known.
fn objects_deleted_with_others_are_not_recorded(
    world: &World,
    snapshot: &Snapshot,
) -> Result<(), BrokenPromise> {
    let is_open = |host: &str| {
        let of_host = |record: &&Arc<Record>| record.state.id.expose() == host;
        let is_going = |record: &Record| {
            matches!(record.status, Status::Partial(Unfinished::InProgress { deletes: true, .. }))
        };
        let mut records = snapshot.records.iter().filter(of_host);
        records.any(|record| {
            is_going(record) || snapshot.pending.iter().any(|intent| intent.id() == record.id())
        })
    };
    // An old copy is only deleted, and may be gone since a deletion that was lost before it was replaced;
    // so may what lives in it, which goes with it in any case.
    let is_old_copy = |host: &str| {
        let is_it = |other: &Arc<Record>| other.state.id.expose() == host && other.superseded.is_some();
        snapshot.records.iter().any(is_it)
    };
    for record in snapshot.records.iter().filter(|record| is_there(record) && !record.external) {
        let id = record.state.id.expose();
        // The host of an object that was found by its name is unknown until the object matches the
        // documents; an object that may have been deleted is recorded as tainted; and an old copy
        // may be inside an unrecorded one.
        let home_is_let_go = record.superseded.is_some()
            && record.deleted_with.as_ref().is_some_and(|home| world.retained.contains(home.as_str()));
        // Where an object lives that Purlin let go and adopts again, only the documents can say.
        let is_adopted_without_home =
            id.starts_with('p') && record.deleted_with.is_none() && record.perhaps_deleted_with.is_empty();
        // As long as the records may be older than reality, a guest may have moved to another host, and an
        // old copy is deleted in any case.
        let may_have_moved = record.superseded.is_some() && snapshot.staleness.is_some();
        // So it is in what may have gone with its own host, or was read and found gone: nothing but its
        // own deletion, in the next run, says whether it exists.
        let is_in_doubt = record.superseded.is_some() && lives_in_doubt(snapshot, record);
        let is_unknown = home_is_let_go || is_adopted_without_home || may_have_moved || is_in_doubt;
        if world.is_unsure(id) || record.tainted || is_unknown {
            continue;
        }
        let is_excused = |host: &&String| is_open(host) || is_old_copy(host);
        if let Some(host) = world.went.get(id).filter(|host| !is_excused(host)) {
            return Err(format!("{} is recorded as {id}, which went with {host}", record.id()));
        }
    }
    Ok(())
}

/// Whether a record lives in something that may be gone or that a read found gone, directly or
/// indirectly. What Purlin deleted itself, or recorded as gone with its host, is in no doubt.
fn lives_in_doubt(snapshot: &Snapshot, record: &Record) -> bool {
    let mut seen = HashSet::new();
    let mut next = record.deleted_with.as_ref();
    while let Some(home) = next.filter(|home| seen.insert(*home)) {
        let current = snapshot.records.iter().find(|other| other.urn == *home && other.superseded.is_none());
        let is_found_gone = |home: &Record| {
            let objects = snapshot.vanished.get(&home.urn).into_iter().flatten();
            let mut with_their_host = objects.map(|object| &object.id);
            !is_there(home) && !with_their_host.any(|id| *id == home.state.id)
        };
        if current.is_some_and(|home| home.tainted || is_found_gone(home)) {
            return true;
        }
        next = current.and_then(|home| home.deleted_with.as_ref());
    }
    false
}

/// A call with an unknown outcome is always reported.
fn pending_calls_are_reported(
    place: &SimEnvironment,
    snapshot: &Snapshot,
    ended: &Ended,
) -> Result<(), BrokenPromise> {
    let mut reported = ended.warned.clone();
    for summary in &ended.summaries {
        reported.extend(summary.unknown.iter().map(ToString::to_string));
        reported.extend(summary.failed.iter().map(|(key, _)| key.to_string()));
        reported.extend(summary.skipped.iter().map(|(key, _)| key.to_string()));
    }
    // A report under the previous name counts.
    reported.extend(reported.clone().into_iter().map(|key| place.renamed(key)));
    for intent in &snapshot.pending {
        let key = intent.id().urn.key().map(|key| key.to_string()).unwrap_or_default();
        if !reported.contains(&key) {
            return Err(format!("the pending call on `{key}` was not reported"));
        }
    }
    Ok(())
}

/// After the last fault, each environment soon reaches the same state as without faults, and then
/// rests.
pub(crate) fn at_last(life: &mut Life, scenario: &Scenario) -> Result<u32, BrokenPromise> {
    life.world().say("== from here on nothing goes wrong".into());
    let mut runs = 0;
    for number in 0..life.places.len() {
        runs = runs.max(settles(life, number, scenario)?);
    }
    Ok(runs)
}

fn settles(life: &mut Life, number: usize, scenario: &Scenario) -> Result<u32, BrokenPromise> {
    calmly(life, number, Command::Refresh(CommandScope::default()))?;
    calmly(life, number, Command::Resolve)?;
    // Undecided resources could not be read before.
    calmly(life, number, Command::Refresh(CommandScope::default()))?;
    let _ = life.places[number].check_after_restore()?;
    let mut runs = converge(life, number)?;
    let place = &mut life.places[number];
    place.documents = place.documents.settled();
    runs = runs.max(converge(life, number)?);
    if life.places[number].check_after_restore()? {
        runs = runs.max(converge(life, number)?);
    }
    let place = &life.places[number];
    let snapshot = place.snapshot()?;
    as_wanted(place, &snapshot)?;
    let mut other = Life::alone(scenario, place);
    let ended = run(&mut other, 0, &Step::calm(Command::up()))?;
    if !ended.is_success() {
        return Err(format!("without any history it does not succeed: {ended:?}"));
    }
    let expected = end(&other.places[0].snapshot()?);
    let found = end(&snapshot);
    for (urn, expected) in &expected {
        match found.get(urn) {
            Some(found) if found.is_like(expected) => {}
            found => {
                return Err(format!(
                    "{urn} came to another end:\n  {found:?}\nwithout faults:\n  {expected:?}"
                ));
            }
        }
    }
    match found.keys().find(|urn| !expected.contains_key(*urn)) {
        None => Ok(runs),
        Some(more) => Err(format!("{more} is there, which it is not without faults")),
    }
}

fn run(life: &mut Life, number: usize, step: &Step) -> Result<Ended, BrokenPromise> {
    let steps = [(number, step)];
    let mut ended = life.together(&steps)?;
    after(life, &steps, &ended)?;
    ended.pop().ok_or_else(|| "nothing ran".to_owned())
}

/// Runs a command once systems show everything that was done before.
fn calmly(life: &mut Life, number: usize, command: Command) -> Result<Ended, BrokenPromise> {
    life.places[number].wait(GRACE);
    run(life, number, &Step::calm(command))
}

/// Runs the same documents until there is nothing to do, and once more.
fn converge(life: &mut Life, number: usize) -> Result<u32, BrokenPromise> {
    // Each unrecorded resource may need one run to be found, and one to be replaced.
    let mut doubted = 2 * u32::try_from(life.places[number].documents.resources.len()).unwrap_or_default();
    // A run that is refused until a person decides does nothing.
    let mut refusals = 0;
    let mut turn = 0;
    while turn <= RUNS_TO_CONVERGE && refusals <= RUNS_TO_CONVERGE {
        life.places[number].sim.say(format!("== run {turn} towards rest"));
        let _ = life.places[number].check_lost_guests()?;
        let ended = calmly(life, number, Command::up())?;
        let place = &mut life.places[number];
        // What is only observed was deleted by others.
        let lost = |summary: &Summary| {
            summary.failed.iter().any(|(_, cause)| matches!(cause, Cause::NotFound { .. }))
        };
        if !ended.refused.is_empty() || ended.summaries.iter().any(lost) {
            let by_hand = [
                "protected",
                "import",
                "observe",
                "observe-ended",
                "import-replaced",
                "not-found",
                "imported",
            ];
            if ended.refused.iter().any(|code| !by_hand.contains(&&**code)) {
                return Err(format!("refused though nothing goes wrong: {:?}", ended.refused));
            }
            place.unprotect()?;
            for resource in place.documents.resources.values_mut() {
                resource.protect = false;
                resource.by_hand = None;
            }
            refusals += 1;
            continue;
        }
        match ended.doubted && doubted > 0 {
            true => doubted -= 1,
            false => turn += 1,
        }
        // If an object was found by its name, the next run knows it.
        let waits = place.documents.lack_targets() && ended.only_waits();
        if ended.calls() == 0 && (!ended.doubted || ended.trusted || waits) {
            return match ended.is_success() || waits {
                true => Ok(turn.saturating_sub(1)),
                false => Err(format!("at rest, but not done: {:?}", ended.summaries)),
            };
        }
    }
    Err(format!("not at rest after {RUNS_TO_CONVERGE} runs"))
}

/// Every resource of the documents exists once and matches its record, and nothing else exists.
fn as_wanted(place: &SimEnvironment, snapshot: &Snapshot) -> Result<(), BrokenPromise> {
    if let Some(intent) = snapshot.pending.first() {
        return Err(format!("a call on {} is pending at the end", intent.id()));
    }
    let world = place.world();
    let mut wanted: BTreeSet<String> =
        place.documents.resources.keys().filter_map(|slot| place.urn(*slot)).collect();
    for record in &snapshot.records {
        if record.superseded.is_some() {
            return Err(format!("{} is left over at the end", record.id()));
        }
        if record.urn.key().is_some_and(|key| key.type_name() == "base-env") {
            continue;
        }
        if !wanted.remove(record.urn.as_str()) {
            return Err(format!("{} is recorded, and nobody wants it", record.urn));
        }
        if record.status != Status::Ready {
            return Err(format!("{} is {:?} at the end", record.urn, record.status));
        }
        let Some(thing) = world.things.get(record.state.id.expose()) else {
            // Its host was unknown, and its driver cannot read.
            if world.is_unsure(record.state.id.expose()) {
                continue;
            }
            return Err(format!("{} is not there at the end", record.urn));
        };
        if Value::Map(thing.values.clone()) != Value::Map(values(&record.inputs)) {
            let (actual, recorded) = (show(&thing.values), show(&values(&record.inputs)));
            return Err(format!("{} is {actual}, and its record says {recorded}", record.urn));
        }
    }
    match wanted.first() {
        None => Ok(()),
        Some(missing) => Err(format!("{missing} is wanted, and not there at the end")),
    }
}

/// The final state of a resource.
#[derive(Debug)]
struct End {
    plain: String,
    /// Its host; if unknown, each possible one.
    homes: Vec<String>,
}

impl End {
    fn is_like(&self, expected: &Self) -> bool {
        let is_home = |home: &String| self.homes.contains(home);
        let at_home =
            expected.homes.iter().all(is_home) && expected.homes.is_empty() == self.homes.is_empty();
        self.plain == expected.plain && at_home
    }
}

/// The final state of a life, without ids and times. Everything matches its record by then.
fn end(snapshot: &Snapshot) -> BTreeMap<String, End> {
    let names: BTreeMap<&str, &str> =
        snapshot.records.iter().map(|record| (record.state.id.expose(), record.urn.as_str())).collect();
    let plain = |record: &Record| {
        let mut shown: Vec<String> = values(&record.inputs)
            .iter()
            .map(|(name, value)| {
                let text = value.as_str().unwrap_or("?");
                format!("{name}={}", names.get(text).unwrap_or(&text))
            })
            .collect();
        shown.sort_unstable();
        let plain = format!(
            "{} {:?} {:?} {:?} protect={} retain={} by {:?}",
            shown.join(" "),
            record.status,
            record.definition,
            record.dependencies,
            record.protect,
            record.retain,
            record.driver,
        );
        let homes = record.deleted_with.iter().chain(&record.perhaps_deleted_with);
        End { plain, homes: homes.map(ToString::to_string).collect() }
    };
    snapshot.records.iter().map(|record| (record.id().to_string(), plain(record))).collect()
}
