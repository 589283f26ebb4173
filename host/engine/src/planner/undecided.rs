//! Warnings about creations and deletions with an unknown outcome. A run that covers one fails until it
//! is known: a later run finds it out, or the user settles it.

use std::time::Duration;

use purlin_model::{Key, Urn};
use purlin_state::{Intent, Operation, Record};

use super::drivers;
use crate::driver::recorded_name;
use crate::driver::{Driver, Drivers};
use crate::plan::{DriverSet, Warning};
use crate::records::recorded::{Recorded, perhaps_made_by};
use crate::records::visibility::{ended, not_shown_for, seconds};

/// The warnings about calls with an unknown outcome.
#[derive(Default)]
pub(super) struct Undecided {
    /// Each plan has those about creations.
    pub(super) creations: Vec<Warning>,
    /// A plan that deletes a resource again needs no warning about it.
    deletions: Vec<(Urn, Warning)>,
}

impl Undecided {
    /// With the time, in milliseconds since 1970, warnings also say when a run decides.
    pub(super) async fn find(recorded: &Recorded, now: Option<u64>, drivers: &dyn Drivers) -> Self {
        let mut all = Self::default();
        let mut set = DriverSet::default();
        if now.is_some() {
            let records = recorded.all_pending().filter_map(|intent| about(recorded, intent));
            // Without its driver, a resource has the warning that is true in every case.
            drop(drivers::of_records(records, "find out about", drivers, &mut set).await);
        }
        for intent in recorded.all_pending() {
            let Some((record, key)) = about(recorded, intent).zip(intent.id().urn.key()) else { continue };
            let waits = now.and_then(|now| Waits::of(intent, &**set.get(&recorded_name(record))?, now));
            let is_made = perhaps_made_by(intent).is_some();
            let message = message(&key, is_made, waits);
            let warning = Warning { key, message };
            match is_made {
                true => all.creations.push(warning),
                false => all.deletions.push((intent.id().urn, warning)),
            }
        }
        all
    }

    /// The warnings of a plan that leaves these resources undecided.
    pub(super) fn warnings<'a>(
        &'a self,
        left: impl Fn(&Urn) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Warning> {
        let deletions = self.deletions.iter().filter(move |(urn, _)| left(urn)).map(|(_, warning)| warning);
        self.creations.iter().chain(deletions)
    }
}

/// The resource that a call may have created, or the current one that it may have deleted.
fn about<'a>(recorded: &'a Recorded, intent: &'a Intent) -> Option<&'a Record> {
    match &intent.operation {
        Operation::Delete(id) if id.superseded.is_none() => recorded.get(id).map(|record| &**record),
        _ => perhaps_made_by(intent),
    }
}

/// When a run decides what became of a call.
#[derive(Clone, Copy)]
enum Waits {
    /// After this time.
    For(Duration),
    /// This time after the first run that looks for it. Until then, the call may be under way.
    AfterNextRun(Duration),
}

impl Waits {
    /// `None` if time decides nothing.
    fn of(intent: &Intent, driver: &dyn Driver, now: u64) -> Option<Self> {
        let implements = intent.id().urn.key().map(|key| driver.implements(&key)).unwrap_or_default();
        if !implements.read || implements.repeat_create && perhaps_made_by(intent).is_some() {
            return None;
        }
        match intent.deadline {
            Some(deadline) if deadline <= now => {
                not_shown_for(ended(intent, now), now, driver.grace()).map(Self::For)
            }
            _ => Some(Self::AfterNextRun(driver.grace())).filter(|_| !driver.grace().is_zero()),
        }
    }
}

fn message(key: &Key, is_made: bool, waits: Option<Waits>) -> String {
    let what = match is_made {
        true => "creating it, and it is unknown whether it exists",
        false => "deleting it, and it is unknown whether it still exists",
    };
    let settle = format!("run `purlin state settle {key}` with `--made ID` or `--not-made`");
    let advice = match waits {
        None => format!("check, and {settle}"),
        Some(Waits::For(left)) => format!(
            "a run in {} s decides that, so wait and run the command again; to decide now, check, and {settle}",
            seconds(left)
        ),
        Some(Waits::AfterNextRun(grace)) => format!(
            "`purlin up` looks for it, and a second run {} s later decides that; to decide now, check, and {settle}",
            seconds(grace)
        ),
    };
    format!("an earlier run was interrupted while {what}; {advice}")
}
