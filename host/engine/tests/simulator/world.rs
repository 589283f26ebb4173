//! Real objects, and a record of all events.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Map, Unfinished, Value};
use purlin_state::{Change, Operation, Record, RecordId, Snapshot, Status};

use crate::copies::Doubts;
use crate::scenario::Behind;

/// A real object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    /// The resource that it was created for, by its URN at that time.
    pub(crate) urn: String,
    pub(crate) name: String,
    pub(crate) values: Map,
    /// The idempotency key of its creation.
    pub(crate) made_with: String,
    pub(crate) driver: usize,
    /// The object that it was put into when it was created, if its values do not name it.
    pub(crate) home: Option<String>,
    /// All values that it ever had, by name.
    pub(crate) had: BTreeSet<(String, String)>,
    /// No environment manages it any longer, as the documents requested.
    pub(crate) released: bool,
    /// From when its system shows it, by the clock of the store of its environment.
    pub(crate) shown: u64,
    /// How long its system still shows it once it is deleted, in milliseconds.
    pub(crate) lingers: u64,
    /// From when it is done, by the same clock.
    pub(crate) done: u64,
    /// The bytes that its driver keeps for it.
    pub(crate) cookie: u32,
    /// How often its driver changed it.
    pub(crate) changes: u32,
    /// Whether its driver foresaw it, as one part.
    pub(crate) foresees: bool,
}

impl Thing {
    /// Adds its current values to those that it ever had.
    fn noted(mut self) -> Self {
        let now = self
            .values
            .iter()
            .filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned())));
        self.had.extend(now);
        self
    }
}

/// The parts of a resource's plan that matter for deletions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planned {
    pub(crate) replaced: bool,
    pub(crate) deletes_first: bool,
    pub(crate) protected: bool,
}

/// All objects and events.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) things: BTreeMap<String, Thing>,
    /// Deleted objects that their systems still show, until this time by the clock of the store of
    /// their environment.
    going: BTreeMap<String, (Thing, u64)>,
    /// Objects that were deleted by others.
    pub(crate) lost: BTreeSet<String>,
    /// Objects that were deleted with another one, and that one.
    pub(crate) went: BTreeMap<String, String>,
    /// Ids by idempotency key, for drivers with `repeat-create`.
    reserved: BTreeMap<String, String>,
    made: u32,
    /// Records as last submitted.
    pub(crate) view: BTreeMap<RecordId, Record>,
    /// Whether an object was last recorded as retained, and under which URN.
    pub(crate) known: BTreeMap<String, (bool, String)>,
    /// The keys of `create` calls with an unknown outcome.
    open: BTreeMap<RecordId, String>,
    /// Those of resources for which a person recorded another object meanwhile.
    given_up: BTreeSet<String>,
    /// Objects that were once recorded without what their driver keeps for them: a driver reported, or
    /// a person gave, only the id.
    known_by_id: BTreeSet<String>,
    pub(crate) doubts: Doubts,
    /// URNs that the documents retain.
    pub(crate) retained: BTreeSet<String>,
    /// The plan of the current run, by URN.
    pub(crate) planned: BTreeMap<String, Planned>,
    pub(crate) trace: Vec<String>,
    pub(crate) violations: Vec<String>,
}

impl World {
    /// A process starts in an environment with these records. Writes that an earlier process lost
    /// do not count.
    pub(crate) fn begin(&mut self, prefix: &str, recorded: &Snapshot, retained: BTreeSet<String>) {
        self.view.retain(|id, _| !id.urn.as_str().starts_with(prefix));
        self.view.extend(recorded.records.iter().map(|record| (record.id(), Record::clone(record))));
        let is_let_go = |record: &Record| {
            let by_intent = |made: &Record| made.retain && made.id() == record.id();
            let mut pending = recorded.pending.iter();
            record.retain
                || pending
                    .any(|intent| matches!(&intent.operation, Operation::Create(made) if by_intent(made)))
        };
        self.open.retain(|id, _| !id.urn.as_str().starts_with(prefix));
        self.open.extend(recorded.pending.iter().map(|intent| (intent.id(), intent.idempotency_key.clone())));
        for record in &recorded.records {
            let known = (is_let_go(record), record.urn.as_str().to_owned());
            self.known.insert(record.state.id.expose().to_owned(), known);
            if record.state.cookie.is_empty() {
                self.known_by_id.insert(record.state.id.expose().to_owned());
            }
        }
        if recorded.staleness.is_some() {
            let mut ids: Vec<&str> = recorded.records.iter().map(|record| record.state.id.expose()).collect();
            ids.sort_unstable();
            let twins = ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned());
            self.doubts.twins.extend(twins);
        }
        self.retained.retain(|urn| !urn.starts_with(prefix));
        self.retained.extend(retained);
    }

    /// A driver found an object for a resource, or is about to change it: the object belongs to the
    /// same environment.
    pub(crate) fn is_at_home(&mut self, id: &str, urn: &str) {
        if let Some(thing) = self.things.get(id).filter(|thing| place_of(&thing.urn) != place_of(urn)) {
            let of = thing.urn.clone();
            self.violated(format!("{id} of {of} was taken for that of {urn}"));
        }
    }

    pub(crate) fn say(&mut self, line: String) {
        self.trace.push(line);
    }

    pub(crate) fn violated(&mut self, what: String) {
        self.trace.push(format!("  !! {what}"));
        self.violations.push(what);
    }

    /// Records the changes that are submitted for writing.
    pub(crate) fn submitted(&mut self, changes: &[Change]) {
        self.copies_are_as_their_successors(changes);
        for change in changes {
            match change {
                Change::Put(record) => {
                    // The settings of the run that created the new one apply to the old one.
                    let is_requested =
                        record.superseded.is_some() && self.may_be_released(record.state.id.expose());
                    let known = (record.retain || is_requested, record.urn.as_str().to_owned());
                    // If a person records a manually created object for a resource, an object that
                    // may have been created for it is released, also if its request still arrives.
                    if record.state.id.expose().starts_with('p') {
                        let is_recorded =
                            |id: &str| self.view.values().any(|record| record.state.id.expose() == id);
                        let open = self.open.get(&record.id());
                        let is_perhaps =
                            |thing: &Thing| thing.urn == known.1 || Some(&thing.made_with) == open;
                        let perhaps = self.things.iter().filter(|(_, thing)| is_perhaps(thing));
                        let perhaps: Vec<String> = perhaps.map(|(id, _)| id.clone()).collect();
                        self.given_up.extend(open.cloned());
                        for id in perhaps.into_iter().filter(|id| !is_recorded(id)) {
                            self.known.insert(id, (true, known.1.clone()));
                        }
                    }
                    self.known.insert(record.state.id.expose().to_owned(), known);
                    let before =
                        self.view.get(&record.id()).filter(|before| before.state.id == record.state.id);
                    if before.is_some_and(|before| !before.state.cookie.is_empty())
                        && (record.state.cookie.is_empty() && is_there(record))
                    {
                        let id = record.state.id.expose();
                        self.violated(format!("the record of {id} loses what its driver keeps for it"));
                    }
                    if record.state.cookie.is_empty() {
                        self.known_by_id.insert(record.state.id.expose().to_owned());
                    }
                    self.view.insert(record.id(), Record::clone(record));
                }
                Change::Remove(id) => {
                    self.view.remove(id);
                }
                Change::Settle(id) => {
                    self.open.remove(id);
                }
                // The old one is released as that run requested, whenever the outcome becomes
                // known.
                Change::Intend(intent) => {
                    self.open.insert(intent.id(), intent.idempotency_key.clone());
                    if let Operation::Create(made) = &intent.operation
                        && made.retain
                        && let Some(old) = self.view.get(&made.id())
                    {
                        self.known
                            .insert(old.state.id.expose().to_owned(), (true, old.urn.as_str().to_owned()));
                    }
                }
                _ => {}
            }
            self.trace.push(format!("  write {}", shown(change)));
        }
    }

    /// An old copy is retained if the documents that replace it say so, and not because earlier ones did.
    fn copies_are_as_their_successors(&mut self, changes: &[Change]) {
        let puts = || {
            changes.iter().filter_map(|change| match change {
                Change::Put(record) => Some(&**record),
                _ => None,
            })
        };
        // One that moves to another name was decided about when it was made.
        let is_new = |old: &&Record| {
            let is_known = |known: &&Record| known.superseded.is_some() && known.state.id == old.state.id;
            old.superseded.is_some() && !self.view.values().any(|known| is_known(&known))
        };
        for old in puts().filter(is_new) {
            let new = puts().find(|new| new.superseded.is_none() && new.urn == old.urn);
            if new.is_some_and(|new| new.retain != old.retain) {
                self.violated(format!("{} is an old copy with retain={}", old.state.id.expose(), old.retain));
                return;
            }
        }
    }

    /// Whether the outcome of the creation with a key is not recorded yet.
    pub(crate) fn is_open(&self, made_with: &str) -> bool {
        self.open.values().any(|key| key == made_with)
    }

    /// Whether an object may be unrecorded.
    pub(crate) fn may_be_released(&self, id: &str) -> bool {
        self.known.get(id).is_some_and(|(retain, urn)| *retain || self.retained.contains(urn))
    }

    /// The id of the object that is or will be created with a key.
    pub(crate) fn reserve(&mut self, made_with: &str, repeats: bool) -> String {
        if repeats && let Some(id) = self.reserved.get(made_with) {
            return id.clone();
        }
        self.made += 1;
        let id = format!("i{}", self.made);
        self.reserved.insert(made_with.to_owned(), id.clone());
        id
    }

    pub(crate) fn make(&mut self, id: &str, thing: Thing) {
        let twin = self.things.iter().find(|(_, other)| other.made_with == thing.made_with);
        if let Some((twin, _)) = twin {
            let twin = twin.clone();
            self.violated(format!("`{}` was made twice, as {twin} and {id}", thing.urn));
        }
        self.refers_to_existing_objects(id, &thing.values);
        self.say(format!("  made {id} for {} {}", thing.urn, show(&thing.values)));
        let home = self.home(&thing.values, &thing.urn);
        // If two unrecorded objects have the same name, a driver that searches by name finds only
        // one.
        let is_recorded =
            |id: &str| self.view.values().any(|record| is_there(record) && record.state.id == *id);
        let has_namesake = self.things.iter().any(|(other, there)| {
            there.name == thing.name && self.doubts.unsure.contains(other) && !is_recorded(other)
        });
        let released = thing.released || has_namesake;
        if self.given_up.contains(&thing.made_with) {
            self.known.insert(id.to_owned(), (true, thing.urn.clone()));
        }
        // A repeated call creates the same object again.
        self.went.remove(id);
        self.things.insert(id.to_owned(), Thing { home, released, ..thing.noted() });
    }

    /// A driver gets the previous values of an object: the object must have had them at some time.
    pub(crate) fn was_ever(&mut self, id: &str, before: &Map) {
        // For an object that a copy does not know, the driver may get the requested values instead.
        let Some(thing) = self.things.get(id).filter(|_| !self.doubts.unsure.contains(id)) else { return };
        let never =
            before.iter().filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned())));
        let never: Vec<_> = never.filter(|value| !thing.had.contains(value)).collect();
        for (name, value) in never {
            self.violated(format!("the driver was told that {id} had {name}={value}, which it never had"));
        }
    }

    /// A driver gets what it keeps for an object: it returned that for the same object at some time.
    pub(crate) fn has_cookie(&mut self, state: &ResourceState) {
        let id = state.id.expose();
        let Some(thing) = self.things.get(id) else { return };
        let Some(bytes) = state.cookie.bytes() else {
            return self.violated(format!("the driver did not get what it keeps for {id}"));
        };
        let text = String::from_utf8_lossy(bytes.get(..80.min(bytes.len())).unwrap_or_default()).into_owned();
        let change = text.split('|').nth(1).and_then(|number| number.parse().ok());
        let is_it = change
            .is_some_and(|change| change <= thing.changes && cookie_of(id, change, thing.cookie) == bytes);
        // A host that was stopped may still know only the id.
        let is_unknown = bytes.is_empty() && self.known_by_id.contains(id);
        if !is_it && !is_unknown && thing.cookie > 0 {
            self.violated(format!(
                "the driver got {} bytes for {id} that it does not know: {text}",
                bytes.len()
            ));
        }
    }

    /// If a driver cannot have a new object next to the old one, the old one is deleted first,
    /// whatever the reason for the replacement.
    pub(crate) fn is_alone(&mut self, id: &str, new: &Thing) {
        let is_it = |record: &&Record| {
            record.urn.as_str() == new.urn && record.superseded.is_none() && is_there(record)
        };
        let old = self.view.values().find(is_it).map(|record| record.state.id.expose().to_owned());
        let Some(old) = old.filter(|old| old != id) else { return };
        let is_there = self.things.get(&old).is_some_and(|old| old.driver == new.driver);
        if is_there && !self.may_be_released(&old) {
            self.violated(format!("{id} was made beside {old}, which has to go first"));
        }
    }

    /// A person creates an object that a driver can read.
    pub(crate) fn made_by_hand(&mut self, id: &str, prefix: &str, driver: usize) {
        let mut values = Map::default();
        for (name, value) in [("v", "v1"), ("fixed", "f1")] {
            values.insert(name.into(), value.into());
        }
        let (urn, name, made_with) = (format!("{prefix}nobody"), "made by hand", format!("by hand {id}"));
        let had = BTreeSet::new();
        let (home, released, shown, lingers, done) = (None, true, 0, 0, 0);
        let (name, cookie, changes) = (name.into(), 0, 0);
        let thing = Thing {
            urn,
            name,
            values,
            made_with,
            driver,
            home,
            had,
            released,
            shown,
            lingers,
            done,
            cookie,
            changes,
            foresees: false,
        };
        self.things.entry(id.to_owned()).or_insert(thing.noted());
    }

    pub(crate) fn change(&mut self, id: &str, values: &Map, done: u64) -> bool {
        if !self.things.contains_key(id) {
            if !self.lost.contains(id) {
                self.violated(format!("{id} was to be changed, which Purlin itself deleted"));
            }
            return false;
        }
        let mut of_it =
            self.view.values().filter(|record| record.state.id == id && is_there(record)).peekable();
        if of_it.peek().is_some() && of_it.all(|record| record.external) {
            self.violated(format!("{id} was changed, which others manage"));
        }
        // Values that it only keeps may be gone, since the rest could not be changed.
        let before = self.things.get(id).map(|thing| thing.values.clone()).unwrap_or_default();
        let changed = values.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let changed: Map = changed.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.refers_to_existing_objects(id, &changed);
        self.say(format!("  changed {id} to {}", show(values)));
        let urn = self.things.get(id).map(|thing| thing.urn.clone()).unwrap_or_default();
        let home = self.home(values, &urn);
        if self.names_another_host(id) {
            self.doubts.unsure.insert(id.to_owned());
        }
        if let Some(thing) = self.things.get_mut(id) {
            // A change of any other value does not move it.
            if thing.values.get("inside") != values.get("inside") {
                thing.home = home;
            }
            thing.values = values.clone();
            thing.done = done;
            thing.changes += 1;
            *thing = thing.clone().noted();
        }
        true
    }

    /// Deletes an object, at a time by the clock of the store of its environment.
    pub(crate) fn delete(&mut self, id: &str, now: u64) -> bool {
        let Some(thing) = self.things.get(id).cloned() else {
            self.say(format!("  {id} was deleted before"));
            return false;
        };
        let record = self.view.values().find(|record| record.state.id == id && is_there(record)).cloned();
        let planned = record
            .as_ref()
            .and_then(|record| self.planned.get(record.urn.as_str()).copied())
            .unwrap_or_default();
        match &record {
            None => self.violated(format!("{id} of {} was deleted, and nothing records it", thing.urn)),
            Some(record) if record.external => {
                self.violated(format!("{id} of {} was deleted, which others manage", thing.urn));
            }
            Some(record) if record.superseded.is_none() => {
                let protected = if planned.replaced { planned.protected } else { record.protect };
                if protected {
                    self.violated(format!("{id} of {} was deleted, which is protected", thing.urn));
                }
                if record.retain && !planned.replaced {
                    self.violated(format!("{id} of {} was deleted, which is to be retained", thing.urn));
                }
            }
            Some(_) => {}
        }
        let record = record.map(|record| record.urn.as_str().to_owned());
        self.has_no_dependents(id, record);
        self.things.remove(id);
        self.say(format!("  deleted {id} of {}", thing.urn));
        self.lingers(id, thing, now);
        for guest in self.inside(id) {
            if self.names_another_host(&guest) {
                self.doubts.unsure.insert(guest.clone());
            }
            for other in self.directly_inside(&guest) {
                self.is_unsure_inside(&guest, &other);
            }
            if let Some(thing) = self.things.get(&guest).cloned() {
                self.lingers(&guest, thing, now);
            }
            self.went.insert(guest, id.to_owned());
        }
        for guest in self.directly_inside(id) {
            self.vanish(&guest);
        }
        true
    }

    /// Whether the host that a resource needs exists.
    pub(crate) fn has_room(&self, values: &Map, urn: &str) -> bool {
        let has_home = !values.contains_key("inside") || self.home(values, urn).is_some();
        has_home
            && host(values).is_none_or(|host| self.things.contains_key(host) || !self.lost.contains(host))
    }

    /// The object with the name that the values give as host, in the environment of the resource.
    fn home(&self, values: &Map, urn: &str) -> Option<String> {
        let name = values.get("inside").and_then(Value::as_str)?;
        let is_it = |record: &&Record| {
            let is_named = record.urn.as_str().rsplit('.').next() == Some(name);
            let is_beside = place_of(record.urn.as_str()) == place_of(urn);
            is_named && is_beside && record.superseded.is_none() && is_there(record)
        };
        let id = self.view.values().find(is_it)?.state.id.expose().to_owned();
        self.things.contains_key(&id).then_some(id)
    }

    /// Whether the documents of an object now name another host than it has, because the host was
    /// renamed. The object was not moved.
    fn names_another_host(&self, id: &str) -> bool {
        let Some(thing) = self.things.get(id) else { return false };
        let named = self.home(&thing.values, &thing.urn);
        matches!((&thing.home, &named), (Some(home), Some(named)) if self.recorded_as(home) != self.recorded_as(named))
    }

    /// The URN under which an object is recorded.
    fn recorded_as(&self, id: &str) -> Option<&str> {
        let record = self.view.values().find(|record| record.state.id == id && is_there(record))?;
        Some(record.urn.as_str())
    }

    fn directly_inside(&self, id: &str) -> Vec<String> {
        let lives_in = |thing: &Thing| host(&thing.values) == Some(id) || thing.home.as_deref() == Some(id);
        let inside = self.things.iter().filter(|(_, other)| lives_in(other));
        inside.map(|(id, _)| id.clone()).collect()
    }

    /// The objects inside an object, at any depth.
    pub(crate) fn inside(&self, id: &str) -> Vec<String> {
        let mut found = self.directly_inside(id);
        let mut next = 0;
        while let Some(id) = found.get(next).cloned() {
            // Two may have been moved into each other.
            let more = self.directly_inside(&id).into_iter().filter(|id| !found.contains(id));
            found.extend(more.collect::<Vec<_>>());
            next += 1;
        }
        found
    }

    /// Objects that refer to a deleted object have to be deleted or changed before.
    fn has_no_dependents(&mut self, id: &str, urn: Option<String>) {
        let mut wrong = Vec::new();
        let inside = self.inside(id);
        let deleted = urn.clone();
        let first = urn.is_some_and(|urn| self.is_deleted_first(urn));
        for (other, thing) in &self.things {
            let urn = self.recorded_as(other).unwrap_or(&thing.urn);
            let planned = self.planned.get(urn).copied().unwrap_or_default();
            let is_let_go = thing.released || planned.replaced && self.may_be_released(other);
            // If knowledge of an object is incomplete, so is the knowledge of its references.
            let is_unsure = self.doubts.unsure.contains(other);
            if other == id || is_let_go || is_unsure || !references(&thing.values).any(|to| to == id) {
                continue;
            }
            // If the old one is deleted first, dependents that can change in place follow the new
            // one. Objects inside it are deleted with it.
            let may_follow = first || inside.contains(other);
            // Objects that others manage from now on do not follow, nor do retained ones: they are
            // removed from the state, but may be deleted with their host.
            let is_forgotten = |record: &Record| record.superseded.is_some() && record.retain;
            let is_ours = |record: &Record| {
                is_there(record)
                    && !record.external
                    && !is_forgotten(record)
                    && !self.needs_unrecorded(record, deleted.as_deref())
            };
            let recorded = self.view.values().any(|record| record.state.id == *other && is_ours(record));
            if recorded && !may_follow {
                wrong.push(format!("{id} was deleted, and {other} of {} still needs it", thing.urn));
            }
        }
        wrong.into_iter().for_each(|wrong| self.violated(wrong));
    }

    /// Whether the plan deletes this resource first, or one that it depends on according to the
    /// records, at any distance: it is then deleted before the new one exists, whatever depends on
    /// it.
    fn is_deleted_first(&self, urn: String) -> bool {
        let mut seen = BTreeSet::new();
        let mut stack = vec![urn];
        while let Some(urn) = stack.pop() {
            if self.planned.get(&urn).is_some_and(|planned| planned.deletes_first) {
                return true;
            }
            if seen.insert(urn.clone()) {
                let records = self.view.values().filter(|record| record.urn.as_str() == urn);
                stack.extend(
                    records.flat_map(|record| &record.dependencies).map(|urn| urn.as_str().to_owned()),
                );
            }
        }
        false
    }

    /// What depends on an object waits until that is done.
    pub(crate) fn refers_to_what_is_done(&mut self, id: &str, values: &Map, now: u64) {
        let is_not_done = |to: &&str| self.things.get(*to).is_some_and(|thing| thing.done > now);
        if let Some(to) = references(values).find(is_not_done) {
            self.violated(format!("{id} was to refer to {to}, which is not done"));
        }
    }

    fn refers_to_existing_objects(&mut self, id: &str, values: &Map) {
        let gone: Vec<String> = references(values)
            .filter(|to| !self.things.contains_key(*to) && !self.lost.contains(*to))
            .map(str::to_owned)
            .collect();
        for to in gone {
            self.violated(format!("{id} was to refer to {to}, which is not there"));
        }
    }

    /// Others deleted it.
    pub(crate) fn vanish(&mut self, id: &str) {
        if let Some(thing) = self.things.remove(id) {
            self.say(format!("  {id} of {} is gone", thing.urn));
            self.lost.insert(id.to_owned());
            self.directly_inside(id).iter().for_each(|id| self.vanish(id));
        }
    }

    /// Whether an object is recorded as in progress.
    fn is_in_progress(&self, id: &str) -> bool {
        let is_it = |record: &&Record| {
            record.state.id.expose() == id
                && matches!(record.status, Status::Partial(Unfinished::InProgress { .. }))
        };
        self.view.values().any(|record| is_it(&record))
    }

    /// Others change an object.
    pub(crate) fn behind(&mut self, id: &str, what: Behind) {
        match what {
            Behind::Vanish => self.vanish(id),
            // A driver that reports no inputs cannot tell a change by others from what becomes ready.
            Behind::Drift if self.is_in_progress(id) => {}
            Behind::Drift => {
                if let Some(thing) = self.things.get_mut(id) {
                    thing.values.insert("v".into(), "drifted".into());
                    *thing = thing.clone().noted();
                    self.say(format!("  {id} was changed behind our back"));
                }
            }
        }
    }

    /// The object that is found by a name: the newest or the oldest.
    pub(crate) fn by_name(&self, driver: usize, name: &str, oldest: bool) -> Option<String> {
        let of = self.things.iter().filter(|(_, thing)| thing.driver == driver && thing.name == name);
        let age = |(id, _): &(&String, &Thing)| id[1..].parse::<u32>().unwrap_or(0);
        let found = if oldest { of.min_by_key(age) } else { of.max_by_key(age) };
        found.map(|(id, _)| id.clone())
    }

    pub(crate) fn state(&self, id: &str) -> Option<ResourceState> {
        self.things.get(id).map(|thing| state_of(id, thing))
    }

    /// A system still shows a deleted object for a while.
    fn lingers(&mut self, id: &str, thing: Thing, now: u64) {
        if thing.lingers > 0 {
            self.going.insert(id.to_owned(), (Thing { lingers: 0, ..thing.clone() }, now + thing.lingers));
        }
    }

    /// The object with an id, as its system shows it at a time.
    pub(crate) fn shown(&self, id: &str, now: u64) -> Option<&Thing> {
        let going = || self.going.get(id).filter(|(_, until)| now < *until).map(|(thing, _)| thing);
        self.things.get(id).or_else(going).filter(|thing| thing.shown <= now)
    }

    /// How much longer a system shows an object that was deleted.
    pub(crate) fn shown_for(&self, id: &str, now: u64) -> Option<Duration> {
        let until = self.going.get(id).map(|(_, until)| *until)?;
        until.checked_sub(now).filter(|left| *left > 0).map(Duration::from_millis)
    }

    /// As [`Self::by_name`], of those that their system shows at a time.
    pub(crate) fn shown_by_name(&self, driver: usize, name: &str, oldest: bool, now: u64) -> Option<String> {
        let all = self.things.iter().chain(self.going.iter().map(|(id, (thing, _))| (id, thing)));
        let of = all.filter(|(id, thing)| {
            thing.driver == driver && thing.name == name && self.shown(id, now).is_some()
        });
        let age = |(id, _): &(&String, &Thing)| id[1..].parse::<u32>().unwrap_or(0);
        let found = if oldest { of.min_by_key(age) } else { of.max_by_key(age) };
        found.map(|(id, _)| id.clone())
    }

    /// Whether a deleted object that its system still shows has a name.
    pub(crate) fn keeps_name(&self, driver: usize, name: &str, now: u64) -> bool {
        let mut going = self.going.values();
        going.any(|(thing, until)| thing.driver == driver && thing.name == name && now < *until)
    }
}

/// The state of an object.
pub(crate) fn state_of(id: &str, thing: &Thing) -> ResourceState {
    let mut outputs = Map::default();
    for name in ["v", "fixed"] {
        outputs.insert(name.into(), thing.values.get(name).cloned().unwrap_or_default());
    }
    outputs.insert("id".into(), id.into());
    let cookie = cookie_of(id, thing.changes, thing.cookie).into();
    ResourceState { id: id.into(), outputs: Value::Map(outputs), cookie, ..ResourceState::default() }
}

/// What a driver keeps for an object once it changed it this often.
fn cookie_of(id: &str, changes: u32, bytes: u32) -> Vec<u8> {
    let mut cookie = format!("{id}|{changes}|").into_bytes();
    cookie.resize(bytes as usize, b'.');
    cookie
}

/// The suffix of the name of a released object.
pub(crate) const LET_GO: &str = ", let go";

/// The common prefix of the URNs in an environment.
pub(crate) fn place_of(urn: &str) -> &str {
    let end = urn.match_indices("::").nth(1).map_or(urn.len(), |(at, found)| at + found.len());
    &urn[..end]
}

pub(crate) fn is_there(record: &Record) -> bool {
    record.status != Status::Absent
}

pub(crate) fn values(inputs: &Inputs) -> Map {
    inputs.values.as_map().cloned().unwrap_or_default()
}

/// The ids that values hold.
pub(crate) fn references(values: &Map) -> impl Iterator<Item = &str> {
    values.iter().filter(|(name, _)| name.contains("id_")).filter_map(|(_, value)| value.as_str())
}

fn host(values: &Map) -> Option<&str> {
    values.iter().find(|(name, _)| name.contains("host")).and_then(|(_, value)| value.as_str())
}

pub(crate) fn show(values: &Map) -> String {
    let texts: Vec<String> =
        values.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or("?"))).collect();
    format!("{{{}}}", texts.join(" "))
}

fn shown(change: &Change) -> String {
    match change {
        Change::Put(record) => {
            let status = match &record.status {
                Status::Ready => "",
                Status::Partial(_) => ", partly made",
                Status::Absent => ", absent",
            };
            let home = match (&record.deleted_with, &*record.perhaps_deleted_with) {
                (Some(home), _) => format!(" in {}", home),
                (None, []) => String::new(),
                (None, perhaps) => format!(" perhaps in {perhaps:?}"),
            };
            format!("{} as `{}`{status}{home}", record.id(), record.state.id)
        }
        Change::Remove(id) => format!("{id} is gone"),
        Change::Intend(intent) => {
            let what = match &intent.operation {
                Operation::Create(_) => "create",
                Operation::Update(_) => "update",
                Operation::Delete(_) => "delete",
            };
            format!("to {what} {}", intent.id())
        }
        Change::Checkpoint { id, checkpoint } => format!("{id} will be {}", checkpoint.id),
        Change::Settle(id) => format!("{id} is settled"),
        Change::Obstruct { urn, obstacle } => {
            format!("{} of {urn}", if obstacle.is_some() { "an obstacle" } else { "no obstacle" })
        }
        Change::Vanish { urn, objects } => format!("{} objects of {urn} that vanished", objects.len()),
        Change::RemoveCookies(ids) => format!("{} cookies", ids.len()),
        Change::Deployed { .. }
        | Change::Audited { .. }
        | Change::Roll { .. }
        | Change::ForgetRollout(_)
        | Change::SetClosed(_)
        | Change::SetStaleness(_) => "something else".into(),
    }
}
