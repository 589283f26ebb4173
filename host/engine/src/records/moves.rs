//! Moves records to another environment (SPEC §9, Move). No drivers are called, and the real
//! resources stay as they are.

use std::collections::{BTreeMap, BTreeSet};

use purlin_model::{Diagnostic, Urn};
use purlin_state::{Change, ObstacleRecord, Record, RecordId, Snapshot};

use crate::error::Error;
use crate::records::edits::without;
use crate::records::recorded::{Recorded, exists};
use crate::records::renames::moved;

/// The changes of a move in both environments. Those of the target come first.
#[derive(Debug, PartialEq)]
pub struct Moves {
    /// What the target records.
    pub there: Vec<Change>,
    /// What the environment forgets.
    pub here: Vec<Change>,
    /// The resources that stay and lose a dependency, sorted.
    pub loosened: Vec<Urn>,
}

/// The changes that move resources, with their old copies and obstacles, to another environment:
/// `names` has the new URN of each. Everything that a resource depends on moves with it, or exists in
/// the target under the same key, which then takes its place. With `force`, resources that stay lose
/// their dependencies on those that move, and the next plan compares them with the documents again.
///
/// # Errors
/// [`Error::Documents`] with each reason why a resource cannot move.
pub fn move_away(
    from: Snapshot,
    to: Snapshot,
    names: &BTreeMap<Urn, Urn>,
    force: bool,
) -> Result<Moves, Error> {
    let (from, to) = (Recorded::new(from)?, Recorded::new(to)?);
    let going: Vec<&Record> =
        from.records().filter(|record| names.contains_key(&record.urn)).map(|record| &**record).collect();
    let mut moving = Moving { from: &from, to: &to, names, targets: names.clone(), refusals: Vec::new() };
    moving.find_what_stays(&going);
    moving.check_names();
    let mut here: Vec<Change> = going.iter().map(|record| Change::Remove(record.id())).collect();
    let mut there: Vec<Change> =
        going.iter().map(|record| Change::Put(Box::new(moving.record(record)))).collect();
    for (old, new) in names {
        if !from.vanished(old).is_empty() {
            here.push(Change::Vanish { urn: old.clone(), objects: Box::default() });
            there.push(Change::Vanish { urn: new.clone(), objects: from.vanished(old).into() });
        }
        let Some(obstacle) = from.obstacle_of(old) else { continue };
        here.push(Change::Obstruct { urn: old.clone(), obstacle: None });
        let obstacle = ObstacleRecord { urn: new.clone(), ..ObstacleRecord::clone(obstacle) };
        there.push(Change::Obstruct { urn: new.clone(), obstacle: Some(Box::new(obstacle)) });
    }
    let mut loosened = BTreeSet::new();
    for kept in moving.loosen(force) {
        loosened.insert(kept.urn.clone());
        here.push(Change::Put(Box::new(kept)));
    }
    match moving.refusals.is_empty() {
        true => Ok(Moves { there, here, loosened: loosened.into_iter().collect() }),
        false => Err(Error::Documents(moving.refusals)),
    }
}

/// A move under examination.
struct Moving<'a> {
    from: &'a Recorded,
    to: &'a Recorded,
    names: &'a BTreeMap<Urn, Urn>,
    /// `names`, and the target's own resources in place of those that stay, such as `base-env`.
    targets: BTreeMap<Urn, Urn>,
    refusals: Vec<Diagnostic>,
}

impl Moving<'_> {
    fn refuse(&mut self, urn: &Urn, why: &str, help: &str) {
        let message = format!("`{}` cannot move: {why}", urn.shown());
        self.refusals.push(Diagnostic::error("not-movable", message).help(help));
    }

    /// Finds what the target has in place of everything that the resources need and that stays.
    fn find_what_stays(&mut self, going: &[&Record]) {
        for record in going {
            let hosts = record.deleted_with.iter().chain(&record.perhaps_deleted_with);
            for needed in record.dependencies.iter().chain(hosts) {
                if self.names.contains_key(needed) {
                    continue;
                }
                let new = self.names.get(&record.urn);
                let same = new.zip(needed.key()).and_then(|(new, key)| new.beside(&key));
                match same.filter(|urn| self.to.current(urn).is_some_and(|record| exists(record))) {
                    Some(same) => drop(self.targets.insert(needed.clone(), same)),
                    None => self.refuse(
                        &record.urn,
                        &format!("it depends on `{}`, which stays", needed.shown()),
                        "move both, or deploy the other one in the target first",
                    ),
                }
            }
        }
    }

    /// Refuses what is not known well enough, and names that are taken.
    fn check_names(&mut self) {
        let (from, to) = (self.from, self.to);
        for (old, new) in self.names {
            if from.pending(&RecordId::current(old.clone())).is_some()
                || from.all_pending().any(|intent| intent.id().urn == *old)
            {
                let help = "`purlin up` finds it out, or `purlin state settle` records it";
                self.refuse(old, "the outcome of a call on it is unknown", help);
            }
            if !from.knows(old) {
                let help = "`purlin state list` lists the keys";
                self.refuse(old, "nothing is recorded under this name", help);
            }
            let is_taken = to.knows(new) || to.all_pending().any(|intent| intent.id().urn == *new);
            if is_taken && !is_moved_copy(from, to, old, new, &self.targets) {
                let help = "rename one of the two first: `purlin state rename OLD NEW`";
                self.refuse(old, "the target records another resource under this name", help);
            }
        }
    }

    /// The record of a resource in the target.
    fn record(&mut self, record: &Record) -> Record {
        let used = record.share.as_ref().and_then(|share| share.uses.as_ref());
        let new = self.names.get(&record.urn);
        if let Some((_, uses)) = new.zip(used).filter(|(new, uses)| new.place() == uses.installation.place())
        {
            self.refuse(
                &record.urn,
                &format!("it represents `{}` of the target", uses.installation.shown()),
                "leave it out: in the target, the documents can require the installation itself",
            );
        }
        let record = moved(record, &self.targets);
        if let Some(other) = self.to.of_same_object_elsewhere(&record).find(|other| !other.external) {
            self.refuse(
                &record.urn,
                &format!("the target records its object as `{}`", other.urn.shown()),
                "forget one of the two records first: `purlin state forget KEY`",
            );
        }
        record
    }

    /// The records of the resources that stay and need one that moves, without these dependencies.
    fn loosen(&mut self, force: bool) -> Vec<Record> {
        let names = self.names;
        let mut loosened = Vec::new();
        for record in self.from.records().filter(|record| !names.contains_key(&record.urn)) {
            let hosts = record.deleted_with.iter().chain(&record.perhaps_deleted_with);
            let lost = record.dependencies.iter().chain(hosts).find(|urn| names.contains_key(*urn));
            let Some(lost) = lost else { continue };
            if !force {
                self.refuse(
                    lost,
                    &format!("`{}` depends on it and stays", record.urn.shown()),
                    "move both, or add `--force`: what stays then loses the dependency",
                );
                continue;
            }
            let known = match record.deleted_with.as_ref().is_some_and(|host| names.contains_key(host)) {
                true => crate::records::making::with_unknown_host(record),
                false => Record::clone(record),
            };
            let mut kept = without(&known, |urn| names.contains_key(urn));
            kept.perhaps_deleted_with =
                kept.perhaps_deleted_with.iter().filter(|urn| !names.contains_key(*urn)).cloned().collect();
            loosened.push(kept);
        }
        loosened
    }
}

/// Whether the target has just what an interrupted move recorded there.
fn is_moved_copy(from: &Recorded, to: &Recorded, old: &Urn, new: &Urn, targets: &BTreeMap<Urn, Urn>) -> bool {
    let there: Vec<&Record> =
        to.records().filter(|record| record.urn == *new).map(|record| &**record).collect();
    let sent = from.records().filter(|record| record.urn == *old).map(|record| moved(record, targets));
    let sent: Vec<Record> = sent.collect();
    there.len() == sent.len() && sent.iter().all(|record| there.contains(&record))
}
