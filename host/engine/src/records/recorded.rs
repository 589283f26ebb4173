//! The complete records of an environment, with indexes (SPEC §10). No run starts from records that
//! contradict each other.
//!
//! Only this module decides whether two records stand for one real object, and so whether an id already
//! belongs to another resource, and in which copy of its host a resource lives.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use purlin_model::{Unfinished, Urn};
use purlin_state::{
    Change, Intent, ObstacleRecord, Operation, Pool, Record, RecordId, Snapshot, Status, Vanished,
};

use crate::error::Error;
use crate::records::cycles::Dependence;
use crate::records::making::with_unknown_host;
use crate::records::visibility;

/// Current records by URN, old copies, and pending calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    current: HashMap<Urn, Arc<Record>>,
    superseded: BTreeMap<RecordId, Arc<Record>>,
    pending: BTreeMap<RecordId, Arc<Intent>>,
    obstacles: BTreeMap<Urn, Arc<ObstacleRecord>>,
    vanished: BTreeMap<Urn, Box<[Vanished]>>,
    /// The possible guests of each host, by the URN of the host.
    guests: HashMap<Urn, BTreeSet<RecordId>>,
    /// The records by their real object, as numbered by [`thing`].
    things: HashMap<u64, Vec<Arc<Record>>>,
    pool: Pool,
    /// Whether the records may be older than the real state.
    may_be_stale: bool,
}

impl Recorded {
    /// Indexes the snapshot of a store.
    ///
    /// # Errors
    /// [`Error::Integrity`] as for [`Self::verify`], and if a record occurs twice.
    pub(crate) fn new(snapshot: Snapshot) -> Result<Self, Error> {
        let mut recorded = Self { may_be_stale: snapshot.staleness.is_some(), ..Self::default() };
        for record in snapshot.records {
            let id = record.id();
            if recorded.set(&id, Some(record)) {
                return Err(Error::Integrity(format!("`{id}` is recorded twice")));
            }
        }
        recorded.pending =
            snapshot.pending.into_iter().map(|intent| (intent.id(), Arc::new(intent))).collect();
        let by_urn = |obstacle: ObstacleRecord| (obstacle.urn.clone(), Arc::new(obstacle));
        recorded.obstacles = snapshot.obstacles.into_iter().map(by_urn).collect();
        recorded.vanished = snapshot.vanished;
        recorded.verify()?;
        Ok(recorded)
    }

    /// Checks that every URN names a resource, every dependency is recorded, current records form
    /// no cycle, and each pending update or deletion has a record.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        for record in self.records() {
            if !record.urn.has_key() {
                return Err(Error::Integrity(format!("`{}` is not the URN of a resource", record.urn)));
            }
            for dependency in &record.dependencies {
                if !self.knows(dependency) {
                    return Err(Error::Integrity(format!(
                        "`{}` depends on `{dependency}`, which is not recorded",
                        record.id()
                    )));
                }
            }
        }
        for (id, intent) in &self.pending {
            let homeless = match &intent.operation {
                Operation::Create(_) => !id.urn.has_key(),
                Operation::Update(_) | Operation::Delete(_) => self.get(id).is_none(),
            };
            if homeless {
                return Err(Error::Integrity(format!(
                    "an operation on `{id}` is pending without its record"
                )));
            }
        }
        self.no_loop()
    }

    fn no_loop(&self) -> Result<(), Error> {
        let dependence = Dependence::recorded(self.current.values().map(|record| &**record));
        match dependence.looped() {
            None => Ok(()),
            Some(urn) => {
                Err(Error::Integrity(format!("recorded dependencies form a loop, `{urn}` among them")))
            }
        }
    }

    /// The current record of a URN.
    pub(crate) fn current(&self, urn: &Urn) -> Option<&Arc<Record>> {
        self.current.get(urn)
    }

    /// The record with this id.
    pub(crate) fn get(&self, id: &RecordId) -> Option<&Arc<Record>> {
        if id.superseded.is_some() { self.superseded.get(id) } else { self.current.get(&id.urn) }
    }

    /// The pending call on a record.
    pub(crate) fn pending(&self, id: &RecordId) -> Option<&Arc<Intent>> {
        self.pending.get(id)
    }

    /// The record of the resource that an interrupted call may have created under an id.
    pub(crate) fn perhaps_made_as(&self, id: &RecordId) -> Option<&Record> {
        self.pending(id).and_then(|intent| perhaps_made_by(intent))
    }

    /// Whether an interrupted call may have created a resource under an id.
    pub(crate) fn is_perhaps_made(&self, id: &RecordId) -> bool {
        self.perhaps_made_as(id).is_some()
    }

    /// Whether a pending call may have deleted the resource.
    pub(crate) fn is_perhaps_deleted(&self, id: &RecordId) -> bool {
        self.pending(id).is_some_and(|intent| matches!(intent.operation, Operation::Delete(_)))
    }

    /// The resources that interrupted calls may have created. They need their dependencies like all
    /// recorded resources.
    pub(crate) fn perhaps_made(&self) -> impl Iterator<Item = &Record> {
        self.all_pending().filter_map(|intent| perhaps_made_by(intent))
    }

    /// All records, and the resources that interrupted calls may have created.
    pub(crate) fn recorded_or_perhaps_made(&self) -> impl Iterator<Item = &Record> {
        self.records().map(|record| &**record).chain(self.perhaps_made())
    }

    /// All pending calls, by record id.
    pub(crate) fn all_pending(&self) -> impl Iterator<Item = &Arc<Intent>> {
        self.pending.values()
    }

    /// The obstacle of a resource, recorded or not, since the last run that covered it.
    pub(crate) fn obstacle_of(&self, urn: &Urn) -> Option<&Arc<ObstacleRecord>> {
        self.obstacles.get(urn)
    }

    /// The objects of a resource, recorded or not, that its system may still show although they are gone.
    pub(crate) fn vanished(&self, urn: &Urn) -> &[Vanished] {
        self.vanished.get(urn).map_or(&[], |objects| objects)
    }

    /// The changes that forget what vanished so long ago that no system shows it any more.
    pub(crate) fn no_longer_shown(&self, now: u64) -> impl Iterator<Item = Change> {
        let is_shown = move |object: &Vanished| visibility::may_be_shown(object, now);
        let over = self.vanished.iter().filter(move |(_, objects)| !objects.iter().any(is_shown));
        over.map(|(urn, _)| Change::Vanish { urn: urn.clone(), objects: Box::default() })
    }

    /// All resources that do not match the documents, by URN.
    pub(crate) fn all_obstacles(&self) -> impl Iterator<Item = &Arc<ObstacleRecord>> {
        self.obstacles.values()
    }

    /// All current records, in no particular order.
    pub(crate) fn all_current(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.current.values()
    }

    /// All old copies that are still to be deleted, by URN and number.
    pub(crate) fn all_superseded(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.superseded.values()
    }

    /// The latest time at which something was made or changed, or was to be.
    pub(crate) fn latest(&self) -> u64 {
        let intended = self.pending.values().filter_map(|intent| match &intent.operation {
            Operation::Create(record) | Operation::Update(record) => Some(&**record),
            Operation::Delete(_) => None,
        });
        let times = self.records().map(|record| &**record).chain(intended);
        times.map(|record| record.created.max(record.updated)).max().unwrap_or_default()
    }

    /// All records; the current ones in no particular order.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.current.values().chain(self.superseded.values())
    }

    /// The old copies of a URN that are still to be deleted, by number.
    pub(crate) fn copies(&self, urn: &Urn) -> impl Iterator<Item = &Arc<Record>> {
        let copies = RecordId { urn: urn.clone(), superseded: Some(0) }..;
        self.superseded.range(copies).take_while(move |(id, _)| id.urn == *urn).map(|(_, record)| record)
    }

    /// Whether records may depend on a URN: it is recorded, at least as an old copy.
    pub(crate) fn knows(&self, urn: &Urn) -> bool {
        self.current(urn).is_some() || self.copies(urn).next().is_some()
    }

    /// Whether one resource depends on another according to the records, directly or indirectly.
    pub(crate) fn depends_on(&self, urn: &Urn, other: &Urn) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![urn];
        while let Some(urn) = open.pop() {
            if urn == other {
                return true;
            }
            if seen.insert(urn) {
                open.extend(self.current(urn).into_iter().flat_map(|record| &record.dependencies));
            }
        }
        false
    }

    /// The record of a guest's host (`deleted_with`): the current record or an old copy. `None` if
    /// there are several candidates.
    pub(crate) fn host_of(&self, guest: &Record) -> Option<&Arc<Record>> {
        match self.possible_hosts_of(guest) {
            (homes, true) => homes.first().copied(),
            _ => None,
        }
    }

    /// The possible hosts of a guest, and whether the result is certain.
    ///
    /// A guest entered its host when it was created or by a later change, so the host is the copy
    /// of that time. As long as the records may be older than the real state, the guest may have
    /// moved since. Purlin never moves what others manage, which is in no host that is newer than its
    /// record.
    pub(crate) fn possible_hosts_of(&self, guest: &Record) -> (Vec<&Arc<Record>>, bool) {
        let is_old_enough = |host: &&Arc<Record>| !guest.external || host.created <= guest.updated;
        let all = |host: &Urn| -> Vec<&Arc<Record>> {
            self.copies(host).chain(self.current(host)).filter(is_old_enough).collect()
        };
        let Some(host) = &guest.deleted_with else {
            return (guest.perhaps_deleted_with.iter().flat_map(all).collect(), false);
        };
        let mut hosts = all(host);
        if self.may_be_stale {
            return (hosts, false);
        }
        hosts.sort_by_key(|host| host.created);
        let made = hosts.partition_point(|host| host.created <= guest.created);
        let changed = hosts.partition_point(|host| host.created <= guest.updated);
        // The last host that existed when the guest was created, and all that followed until the
        // guest was changed.
        match hosts.get(made.saturating_sub(1)..changed).unwrap_or_default() {
            [] => (hosts, false),
            [home] => (vec![*home], true),
            some => (some.to_vec(), false),
        }
    }

    /// The resources that must stay for a record, of those that could be deleted: its dependencies
    /// and its possible hosts, if they are old copies, live in one, or are deleted in this run
    /// (`goes`).
    pub(crate) fn needs<'a>(
        &'a self,
        record: &'a Record,
        goes: impl Fn(&Urn) -> bool,
    ) -> Vec<&'a Arc<Record>> {
        let is_old = |record: &Record| record.superseded.is_some();
        // A guest of an old copy is replaced once that copy is deleted.
        let lives_in_one =
            |record: &Record| self.possible_hosts_of(record).0.into_iter().any(|home| is_old(home));
        let all = |urn| self.copies(urn).chain(self.current(urn));
        let needed = record.dependencies.iter().flat_map(all).chain(self.possible_hosts_of(record).0);
        needed.filter(|other| is_old(other) || goes(&other.urn) || lives_in_one(other)).collect()
    }

    /// The newest record of a URN at a given time, of those that still exist.
    pub(crate) fn at(&self, urn: &Urn, time: u64) -> Option<RecordId> {
        let then = self.copies(urn).chain(self.current(urn)).filter(|record| record.created <= time);
        then.max_by_key(|record| record.created).map(|record| record.id())
    }

    /// The retained resources that live in an old copy, directly or indirectly: they and everything
    /// that they need stay recorded as long as that copy. `is_old` says which records are old
    /// copies, or become old copies in this run.
    pub(crate) fn retained_in(&self, home: &Record, is_old: impl Fn(&Record) -> bool) -> Vec<&Arc<Record>> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([home.id()]);
        let mut open: Vec<RecordId> = is_old(home).then(|| home.id()).into_iter().collect();
        while let Some(host) = open.pop() {
            for guest in self.guests.get(&host.urn).into_iter().flatten().filter_map(|id| self.get(id)) {
                let lives_here = self.host_of(guest).is_some_and(|home| home.id() == host);
                if lives_here && is_old(guest) && seen.insert(guest.id()) {
                    open.push(guest.id());
                    found.extend(Some(guest).filter(|guest| guest.retain));
                }
            }
        }
        found.sort_by_cached_key(|record| record.id());
        found
    }

    /// The guests of a host, each with whether the relation is certain.
    pub(crate) fn guests_of(&self, host: &RecordId) -> Vec<(Arc<Record>, bool)> {
        let guests = self.guests.get(&host.urn).into_iter().flatten().filter_map(|id| self.get(id));
        let living = guests.filter_map(|guest| {
            let (homes, is_known) = self.possible_hosts_of(guest);
            homes.iter().any(|home| home.id() == *host).then(|| (Arc::clone(guest), is_known))
        });
        living.collect()
    }

    /// The changes to the records of guests whose host stays in place but is no longer recorded. No other
    /// record with the same URN, later or earlier, need be their host, even if it is the only one left of
    /// several that may have been.
    pub(crate) fn left_behind(&self, host: &RecordId) -> Vec<Change> {
        let guests = self.guests_of(host).into_iter();
        let left = guests.filter(|(guest, _)| guest.deleted_with.is_some() && exists(guest));
        left.map(|(guest, _)| Change::Put(Box::new(with_unknown_host(&guest)))).collect()
    }

    /// The number for the next old copy of a URN.
    pub(crate) fn next_copy(&self, urn: &Urn) -> u32 {
        let last = self.copies(urn).last().and_then(|record| record.superseded);
        last.map_or(1, |number| number.saturating_add(1))
    }

    /// Inserts or removes a record. Returns whether there was one before.
    fn set(&mut self, id: &RecordId, record: Option<Arc<Record>>) -> bool {
        let added = record.clone();
        let before = match (id.superseded, record) {
            (Some(_), Some(record)) => self.superseded.insert(id.clone(), record),
            (Some(_), None) => self.superseded.remove(id),
            (None, Some(record)) => self.current.insert(id.urn.clone(), record),
            (None, None) => self.current.remove(&id.urn),
        };
        for host in before.iter().flat_map(|before| hosts(before)) {
            let guests = self.guests.get_mut(host);
            if guests.is_some_and(|guests| guests.remove(id) && guests.is_empty()) {
                self.guests.remove(host);
            }
        }
        for host in added.iter().flat_map(|added| hosts(added)) {
            self.guests.entry(host.clone()).or_default().insert(id.clone());
        }
        if let Some(before) = &before
            && let Some(thing) = thing(before)
            && let Some(records) = self.things.get_mut(&thing)
        {
            records.retain(|record| !Arc::ptr_eq(record, before));
            if records.is_empty() {
                self.things.remove(&thing);
            }
        }
        if let Some(record) = added
            && let Some(thing) = thing(&record)
        {
            self.things.entry(thing).or_insert_with(|| Vec::with_capacity(1)).push(record);
        }
        before.is_some()
    }

    /// The records of the same real object as this one, according to [`are_one`], including the
    /// record itself if it is recorded. Used to find out whether an id already belongs to another
    /// resource.
    pub(crate) fn of_same_object<'a>(&'a self, record: &'a Record) -> impl Iterator<Item = &'a Arc<Record>> {
        let all = thing(record).and_then(|thing| self.things.get(&thing));
        all.into_iter().flatten().filter(move |other| are_one(other, record))
    }

    /// The records of the same real object that belong to other resources.
    pub(crate) fn of_same_object_elsewhere<'a>(
        &'a self,
        record: &'a Record,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        self.of_same_object(record).filter(|other| other.urn != record.urn)
    }

    /// The pairs of current records of managed resources that stand for one real object, the later
    /// record first, by URN.
    pub(crate) fn twins(&self) -> Vec<(&Arc<Record>, &Arc<Record>)> {
        let is_ours = |record: &&Arc<Record>| record.superseded.is_none() && !record.external;
        let mut twins = Vec::new();
        for records in self.things.values().filter(|records| records.len() > 1) {
            let mut ours: Vec<&Arc<Record>> = records.iter().filter(is_ours).collect();
            ours.sort_by(|a, b| (a.created, &a.urn).cmp(&(b.created, &b.urn)));
            for (number, later) in ours.iter().enumerate().skip(1) {
                let earlier = ours.iter().take(number).find(|earlier| are_one(earlier, later));
                twins.extend(earlier.map(|earlier| (*later, *earlier)));
            }
        }
        twins.sort_by(|(a, _), (b, _)| a.urn.cmp(&b.urn));
        twins
    }

    /// Whether another managed record stands for the same real object, which must then not be
    /// deleted.
    pub(crate) fn is_shared(&self, record: &Record) -> bool {
        let is_ours = |other: &Arc<Record>| other.id() != record.id() && !other.external;
        !record.external && self.of_same_object(record).any(is_ours)
    }

    /// Applies a change like a store.
    pub(crate) fn apply(&mut self, change: Change) {
        use purlin_state::Change;
        match change {
            Change::Put(mut record) => {
                self.pool.share(&mut record);
                let id = record.id();
                self.set(&id, Some(Arc::new(*record)));
            }
            Change::Remove(id) => {
                self.set(&id, None);
            }
            Change::Intend(intent) => {
                self.pending.insert(intent.id(), Arc::new(*intent));
            }
            Change::Checkpoint { id, checkpoint } => {
                if let Some(intent) = self.pending.get_mut(&id) {
                    Arc::make_mut(intent).checkpoint = Some(checkpoint);
                }
            }
            Change::Settle(id) => {
                self.pending.remove(&id);
            }
            Change::Obstruct { urn, obstacle: Some(obstacle) } => {
                self.obstacles.insert(urn, Arc::new(*obstacle));
            }
            Change::Obstruct { urn, obstacle: None } => {
                self.obstacles.remove(&urn);
            }
            Change::Vanish { urn, objects } => {
                match objects.is_empty() {
                    true => self.vanished.remove(&urn),
                    false => self.vanished.insert(urn, objects),
                };
            }
            Change::Deployed { .. }
            | Change::Audited { .. }
            | Change::RemoveCookies(_)
            | Change::Roll { .. }
            | Change::ForgetRollout(_)
            | Change::SetClosed(_)
            | Change::SetStaleness(_) => {}
        }
    }

    /// The records in the form in which a store returns them.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut records: Vec<Arc<Record>> = self.records().cloned().collect();
        records.sort_by_cached_key(|record| record.id());
        let pending = self.pending.values().map(|intent| Intent::clone(intent)).collect();
        let obstacles = self.obstacles.values().map(|obstacle| ObstacleRecord::clone(obstacle)).collect();
        let vanished = self.vanished.clone();
        Snapshot { records, pending, obstacles, vanished, ..Snapshot::default() }
    }

    /// The fingerprint by which a plan recognises the state that it was made from.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        let mut ids: Vec<(RecordId, &Record)> = self.records().map(|r| (r.id(), &**r)).collect();
        ids.sort_by(|a, b| a.0.cmp(&b.0));
        let mut hasher = blake3::Hasher::new_derive_key("purlin 2026 state a plan was made from v1");
        let mut text = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for (id, record) in ids {
            text(id.urn.as_str().as_bytes());
            text(&id.superseded.unwrap_or(0).to_le_bytes());
            text(&record.updated.to_le_bytes());
            text(record.deployment.as_bytes());
            text(&record.digest);
            text(record.state.id.expose().as_bytes());
            let (status, failure) = match &record.status {
                Status::Ready => ("ready", ""),
                Status::Partial(Unfinished::Failed { message }) => ("failed", message.as_str()),
                Status::Partial(unfinished) => (unfinished.code(), ""),
                Status::Absent => ("absent", ""),
            };
            text(status.as_bytes());
            text(failure.as_bytes());
            let flags = [record.protect, record.pinned, record.retain, record.external, record.tainted];
            text(&flags.map(u8::from));
            if record.abandoned {
                text(b"abandoned");
            }
            if let Some(share) = record.share.as_deref().filter(|share| share.by_hand) {
                text(share.group.as_deref().unwrap_or("\0").as_bytes());
            }
            record.state.outputs.feed(&mut text);
            for dependency in &record.dependencies {
                text(dependency.as_str().as_bytes());
            }
        }
        for (id, intent) in &self.pending {
            text(id.to_string().as_bytes());
            text(intent.idempotency_key.as_bytes());
            text(intent.checkpoint.as_ref().map_or("", |checkpoint| checkpoint.id.expose()).as_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// The possible hosts of a record.
pub(crate) fn hosts(record: &Record) -> impl Iterator<Item = &Urn> {
    record.deleted_with.iter().chain(&record.perhaps_deleted_with)
}

/// A number for the real object of a record, if there is one. Records of the same object have the
/// same number.
fn thing(record: &Record) -> Option<u64> {
    is_about_something(record).then(|| {
        let mut hasher = DefaultHasher::new();
        (&record.driver.name, record.state.id.expose()).hash(&mut hasher);
        hasher.finish()
    })
}

fn is_about_something(record: &Record) -> bool {
    exists(record) && !record.state.id.is_empty()
}

/// Whether two records stand for the same real object. A driver never gives the same id to two
/// resources of one type (the contract, `state.id`), and gives it to resources of two types only if
/// their values are equal.
pub(crate) fn are_one(one: &Record, other: &Record) -> bool {
    let is_same_thing = is_about_something(one)
        && is_about_something(other)
        && one.driver.name == other.driver.name
        && one.state.id.expose() == other.state.id.expose();
    is_same_thing && (type_of(one) == type_of(other) || one.inputs.values == other.inputs.values)
}

fn type_of(record: &Record) -> Option<String> {
    record.urn.key().map(|key| key.type_name().to_owned())
}

/// Whether a record is the outcome of a certain creation call, judging by the call and its time. A
/// resource is recorded with the time at which its creation ended.
pub(crate) fn is_outcome(recorded: &Record, made: &Record) -> bool {
    recorded.created >= made.created
        && recorded.deployment == made.deployment
        && recorded.driver == made.driver
}

/// The record of a resource that a pending call may have created.
pub(crate) fn perhaps_made_by(intent: &Intent) -> Option<&Record> {
    match &intent.operation {
        Operation::Create(made) => Some(made),
        Operation::Update(_) | Operation::Delete(_) => None,
    }
}

/// Whether a record stands for an object of which only a part was created, which provides no outputs.
pub(crate) fn is_made_in_part(record: &Record) -> bool {
    matches!(&record.status, Status::Partial(Unfinished::Failed { .. } | Unfinished::InterruptedCreate))
}

/// Whether a record stands for an existing object.
pub(crate) fn exists(record: &Record) -> bool {
    record.status != Status::Absent
}
