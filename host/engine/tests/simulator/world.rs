//! Real things, and a record of all that happened to them.

use std::collections::{BTreeMap, BTreeSet};

use purlin_model::driver::{Inputs, ResourceState};
use purlin_model::{Map, Value};
use purlin_state::{Change, Operation, Record, RecordId, Snapshot, Status};

use crate::copies::Doubts;
use crate::scenario::Behind;

/// A real thing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thing {
    /// The resource that it was made for, by the URN of then.
    pub(crate) urn: String,
    pub(crate) name: String,
    pub(crate) values: Map,
    /// The idempotency key that it was made with.
    pub(crate) made_with: String,
    pub(crate) driver: usize,
    /// What it was put into when it was made, where its values do not say so.
    pub(crate) home: Option<String>,
    /// All values that it ever had, by name.
    pub(crate) had: BTreeSet<(String, String)>,
    /// Nobody of ours has anything to do with it any more, as the documents wished.
    pub(crate) released: bool,
}

impl Thing {
    /// With what it is now among all that it was.
    fn noted(mut self) -> Self {
        let now = self
            .values
            .iter()
            .filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned())));
        self.had.extend(now);
        self
    }
}

/// What a plan says of a resource, as far as it matters to what may be deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planned {
    pub(crate) replaced: bool,
    pub(crate) deletes_first: bool,
    pub(crate) protected: bool,
}

/// All there is, and what happened.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) things: BTreeMap<String, Thing>,
    /// Gone, though nobody of ours deleted them.
    pub(crate) lost: BTreeSet<String>,
    /// Gone with something that was deleted, and with what.
    pub(crate) went: BTreeMap<String, String>,
    /// Ids by idempotency key, for drivers that may be asked again.
    reserved: BTreeMap<String, String>,
    made: u32,
    /// Records as they were handed over last.
    pub(crate) view: BTreeMap<RecordId, Record>,
    /// Whether a thing was recorded as one that is retained, and as what.
    pub(crate) known: BTreeMap<String, (bool, String)>,
    /// The keys of calls to create whose outcome is open.
    open: BTreeMap<RecordId, String>,
    pub(crate) doubts: Doubts,
    /// URNs that the documents wish to be retained.
    pub(crate) retained: BTreeSet<String>,
    /// What the run under way is to do, by URN.
    pub(crate) planned: BTreeMap<String, Planned>,
    pub(crate) trace: Vec<String>,
    pub(crate) violations: Vec<String>,
}

impl World {
    /// A process begins in an environment, with what is recorded there. What an earlier one wrote and lost
    /// does not count.
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

    /// A driver found something for a resource, or is to change it: then it is of the same environment.
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

    /// Takes notice of what is handed over to be written down.
    pub(crate) fn submitted(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put(record) => {
                    // What a run wished of an old one when it made the new one counts.
                    let wished = record.superseded.is_some() && self.may_be_let_go(record.state.id.expose());
                    let known = (record.retain || wished, record.urn.as_str().to_owned());
                    // Who says that something made by hand is it says that what was perhaps made is not.
                    if record.state.id.expose().starts_with('p') {
                        let is_recorded =
                            |id: &str| self.view.values().any(|record| record.state.id.expose() == id);
                        let open = self.open.get(&record.id());
                        let is_perhaps =
                            |thing: &Thing| thing.urn == known.1 || Some(&thing.made_with) == open;
                        let perhaps = self.things.iter().filter(|(_, thing)| is_perhaps(thing));
                        let perhaps: Vec<String> = perhaps.map(|(id, _)| id.clone()).collect();
                        for id in perhaps.into_iter().filter(|id| !is_recorded(id)) {
                            self.known.insert(id, (true, known.1.clone()));
                        }
                    }
                    self.known.insert(record.state.id.expose().to_owned(), known);
                    self.view.insert(record.id(), Record::clone(record));
                }
                Change::Remove(id) => {
                    self.view.remove(id);
                }
                Change::Settle(id) => {
                    self.open.remove(id);
                }
                // The old one is let go of as that run wished, whenever that comes to be known.
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

    /// Whether nobody has to know of a thing any more.
    pub(crate) fn may_be_let_go(&self, id: &str) -> bool {
        self.known.get(id).is_some_and(|(retain, urn)| *retain || self.retained.contains(urn))
    }

    /// The id that what is made with a key has or will have.
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
        self.refers_to_what_is_there(id, &thing.values);
        self.say(format!("  made {id} for {} {}", thing.urn, show(&thing.values)));
        let home = self.home(&thing.values, &thing.urn);
        // Of two of a name that nobody records yet, a driver that looks by name finds one.
        let is_recorded =
            |id: &str| self.view.values().any(|record| is_there(record) && record.state.id == *id);
        let has_namesake = self.things.iter().any(|(other, there)| {
            there.name == thing.name && self.doubts.unsure.contains(other) && !is_recorded(other)
        });
        let released = thing.released || has_namesake;
        // Who repeats an old call makes the same thing again.
        self.went.remove(id);
        self.things.insert(id.to_owned(), Thing { home, released, ..thing.noted() });
    }

    /// A driver is told what something was before: it has to have been that, at some time.
    pub(crate) fn was_ever(&mut self, id: &str, before: &Map) {
        // Of what a copy knows nothing its driver may be told what is wanted.
        let Some(thing) = self.things.get(id).filter(|_| !self.doubts.unsure.contains(id)) else { return };
        let never =
            before.iter().filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned())));
        let never: Vec<_> = never.filter(|value| !thing.had.contains(value)).collect();
        for (name, value) in never {
            self.violated(format!("the driver was told that {id} had {name}={value}, which it never had"));
        }
    }

    /// A driver that cannot have a new one beside the old one said so, whyever it is replaced.
    pub(crate) fn is_alone(&mut self, id: &str, new: &Thing) {
        let is_it = |record: &&Record| {
            record.urn.as_str() == new.urn && record.superseded.is_none() && is_there(record)
        };
        let old = self.view.values().find(is_it).map(|record| record.state.id.expose().to_owned());
        let Some(old) = old.filter(|old| old != id) else { return };
        let is_there = self.things.get(&old).is_some_and(|old| old.driver == new.driver);
        if is_there && !self.may_be_let_go(&old) {
            self.violated(format!("{id} was made beside {old}, which has to go first"));
        }
    }

    /// Somebody makes a thing that a driver can see.
    pub(crate) fn made_by_hand(&mut self, id: &str, prefix: &str, driver: usize) {
        let mut values = Map::default();
        for (name, value) in [("v", "v1"), ("fixed", "f1")] {
            values.insert(name.into(), value.into());
        }
        let (urn, name, made_with) = (format!("{prefix}nobody"), "made by hand", format!("by hand {id}"));
        let had = BTreeSet::new();
        let (home, released) = (None, true);
        let thing = Thing { urn, name: name.into(), values, made_with, driver, home, had, released };
        self.things.entry(id.to_owned()).or_insert(thing.noted());
    }

    pub(crate) fn change(&mut self, id: &str, values: &Map) -> bool {
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
        // What it only keeps may be gone, as the rest could not be changed.
        let before = self.things.get(id).map(|thing| thing.values.clone()).unwrap_or_default();
        let changed = values.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let changed: Map = changed.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.refers_to_what_is_there(id, &changed);
        self.say(format!("  changed {id} to {}", show(values)));
        let urn = self.things.get(id).map(|thing| thing.urn.clone()).unwrap_or_default();
        let home = self.home(values, &urn);
        if self.names_another_home(id) {
            self.doubts.unsure.insert(id.to_owned());
        }
        if let Some(thing) = self.things.get_mut(id) {
            // A change of anything else moves it nowhere.
            if thing.values.get("inside") != values.get("inside") {
                thing.home = home;
            }
            thing.values = values.clone();
            *thing = thing.clone().noted();
        }
        true
    }

    pub(crate) fn delete(&mut self, id: &str) -> bool {
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
        self.is_needed_by_none(id, record);
        self.things.remove(id);
        self.say(format!("  deleted {id} of {}", thing.urn));
        for guest in self.inside(id) {
            if self.names_another_home(&guest) {
                self.doubts.unsure.insert(guest.clone());
            }
            for other in self.directly_inside(&guest) {
                self.is_unsure_inside(&guest, &other);
            }
            self.went.insert(guest, id.to_owned());
        }
        for guest in self.directly_inside(id) {
            self.vanish(&guest);
        }
        true
    }

    /// Whether what a resource is to live in is there.
    pub(crate) fn has_room(&self, values: &Map, urn: &str) -> bool {
        let has_home = !values.contains_key("inside") || self.home(values, urn).is_some();
        has_home
            && host(values).is_none_or(|host| self.things.contains_key(host) || !self.lost.contains(host))
    }

    /// What now has the name that values give in the environment of a resource, which is put into it when it
    /// is made.
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

    /// Whether the documents that a thing was made from now name another home than it has, as that was given
    /// another name and is not meant any more. Nothing moved it.
    fn names_another_home(&self, id: &str) -> bool {
        let Some(thing) = self.things.get(id) else { return false };
        let named = self.home(&thing.values, &thing.urn);
        matches!((&thing.home, &named), (Some(home), Some(named)) if self.recorded_as(home) != self.recorded_as(named))
    }

    /// Under which name a thing is recorded.
    fn recorded_as(&self, id: &str) -> Option<&str> {
        let record = self.view.values().find(|record| record.state.id == id && is_there(record))?;
        Some(record.urn.as_str())
    }

    fn directly_inside(&self, id: &str) -> Vec<String> {
        let lives_in = |thing: &Thing| host(&thing.values) == Some(id) || thing.home.as_deref() == Some(id);
        let inside = self.things.iter().filter(|(_, other)| lives_in(other));
        inside.map(|(id, _)| id.clone()).collect()
    }

    /// What lives within a thing, at any depth.
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

    /// What refers to a thing has to go before, or to let go of it.
    fn is_needed_by_none(&mut self, id: &str, urn: Option<String>) {
        let mut wrong = Vec::new();
        let inside = self.inside(id);
        let deleted = urn.clone();
        let first = urn.is_some_and(|urn| self.has_to_go_first(urn));
        for (other, thing) in &self.things {
            let urn = self.recorded_as(other).unwrap_or(&thing.urn);
            let planned = self.planned.get(urn).copied().unwrap_or_default();
            let is_let_go = thing.released || planned.replaced && self.may_be_let_go(other);
            // Who knows less of it than there is, knows not what it needs.
            let is_unsure = self.doubts.unsure.contains(other);
            if other == id || is_let_go || is_unsure || !references(&thing.values).any(|to| to == id) {
                continue;
            }
            // Where the old one goes first, what can be changed in place follows the new one. What
            // lives within it goes with it.
            let may_follow = first || inside.contains(other);
            // What others manage from now on follows nobody, nor does what is retained: it is forgotten
            // but for what it lives in, which may take it along.
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

    /// Whether the plan deletes something first that a resource is, or is recorded to depend on at
    /// any distance: then it has to go before the new one is there, whoever needs it.
    fn has_to_go_first(&self, urn: String) -> bool {
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

    fn refers_to_what_is_there(&mut self, id: &str, values: &Map) {
        let gone: Vec<String> = references(values)
            .filter(|to| !self.things.contains_key(*to) && !self.lost.contains(*to))
            .map(str::to_owned)
            .collect();
        for to in gone {
            self.violated(format!("{id} was to refer to {to}, which is not there"));
        }
    }

    /// It is gone, and nobody of ours deleted it.
    pub(crate) fn vanish(&mut self, id: &str) {
        if let Some(thing) = self.things.remove(id) {
            self.say(format!("  {id} of {} is gone", thing.urn));
            self.lost.insert(id.to_owned());
            self.directly_inside(id).iter().for_each(|id| self.vanish(id));
        }
    }

    /// Others change something.
    pub(crate) fn behind(&mut self, id: &str, what: Behind) {
        match what {
            Behind::Vanish => self.vanish(id),
            Behind::Drift => {
                if let Some(thing) = self.things.get_mut(id) {
                    thing.values.insert("v".into(), "drifted".into());
                    *thing = thing.clone().noted();
                    self.say(format!("  {id} was changed behind our back"));
                }
            }
        }
    }

    /// The thing that is found by a name: the newest or the oldest.
    pub(crate) fn by_name(&self, driver: usize, name: &str, oldest: bool) -> Option<String> {
        let of = self.things.iter().filter(|(_, thing)| thing.driver == driver && thing.name == name);
        let age = |(id, _): &(&String, &Thing)| id[1..].parse::<u32>().unwrap_or(0);
        let found = if oldest { of.min_by_key(age) } else { of.max_by_key(age) };
        found.map(|(id, _)| id.clone())
    }

    pub(crate) fn state(&self, id: &str) -> Option<ResourceState> {
        let thing = self.things.get(id)?;
        let mut outputs = Map::default();
        for name in ["v", "fixed"] {
            outputs.insert(name.into(), thing.values.get(name).cloned().unwrap_or_default());
        }
        outputs.insert("id".into(), id.into());
        Some(ResourceState { id: id.into(), outputs: Value::Map(outputs), ..ResourceState::default() })
    }
}

/// What the name of a thing ends with that nobody has to know of any more.
pub(crate) const LET_GO: &str = ", let go";

/// What the URNs of everything in an environment begin with.
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
        Change::Checkpoint { id, provider_id } => format!("{id} will be {provider_id}"),
        Change::Settle(id) => format!("{id} is settled"),
        Change::Obstruct { urn, unmet } => {
            format!("{} of {urn}", if unmet.is_some() { "an obstacle" } else { "no obstacle" })
        }
        Change::Deployed { .. } | Change::Hold(_) | Change::Trust => "something else".into(),
    }
}
