//! Warns of plans that would leave two resources with one object: by the recorded ids, or by the names
//! that drivers give new ones.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purlin_model::driver::Inputs;
use purlin_model::{Key, Label, Urn, Value};
use purlin_state::Record;

use crate::driver::Driver;
use crate::plan::{Action, Step, Warning};
use crate::records::recorded::{Recorded, exists};

/// The name of a resource to create, as its driver gives it.
pub(super) struct NewName {
    key: Key,
    driver: Arc<str>,
    name: Label,
    connection: Value,
    account: Option<Arc<str>>,
}

impl NewName {
    pub(super) fn of(key: &Key, driver: &dyn Driver, inputs: &Inputs, name: Label) -> Self {
        let (connection, account) = (inputs.connection.clone(), inputs.account.clone());
        Self { key: key.clone(), driver: driver.info().name.as_str().into(), name, connection, account }
    }

    fn claim(&self) -> Claim<'_> {
        let by = (self.key.type_name(), &*self.driver, self.name.expose());
        Claim { by, connection: &self.connection, account: self.account.as_deref() }
    }
}

/// Type, driver and name.
type By<'a> = (&'a str, &'a str, &'a str);

/// What two resources must have in common to be one object: type, driver and name, and the access to
/// the system.
#[derive(PartialEq)]
struct Claim<'a> {
    by: By<'a>,
    connection: &'a Value,
    account: Option<&'a str>,
}

/// Warns of resources that keep the id of another resource after the plan, whose run then fails, and of
/// new resources with the name of another one.
pub(super) fn warnings(recorded: &Recorded, steps: &[Step], named: &[NewName]) -> Vec<Warning> {
    let goes: HashSet<&Urn> = steps
        .iter()
        .filter(|step| matches!(step.action, Action::Delete | Action::Replace))
        .map(|step| &step.urn)
        .collect();
    let stay = recorded
        .twins()
        .into_iter()
        .filter(|(later, earlier)| !goes.contains(&later.urn) && !goes.contains(&earlier.urn));
    let warning = |(later, earlier): (&Arc<Record>, &Arc<Record>)| {
        let message =
            crate::error::returned_taken_id(&later.driver.name, &later.state.id, earlier.urn.shown());
        Some(Warning { key: later.urn.key()?, message })
    };
    stay.filter_map(warning).chain(same_names(recorded, &goes, named)).collect()
}

/// The contract lets two resources of one type have one name only if they are interchangeable, so they
/// may be one object. The id decides, which is known only once they exist.
fn same_names(recorded: &Recorded, goes: &HashSet<&Urn>, named: &[NewName]) -> Vec<Warning> {
    if named.is_empty() {
        return Vec::new();
    }
    let stay = recorded.all_current().filter(|record| exists(record) && !goes.contains(&record.urn));
    let stay: Vec<(Key, &Arc<Record>)> =
        stay.filter_map(|record| Some((record.urn.key()?, record))).collect();
    let mut known: HashMap<By<'_>, Vec<(Claim<'_>, &Key)>> = HashMap::new();
    for (key, record) in &stay {
        let by = (key.type_name(), &*record.driver.name, record.name.expose());
        let (connection, account) = (&record.inputs.connection, record.inputs.account.as_deref());
        known.entry(by).or_default().push((Claim { by, connection, account }, key));
    }
    let mut warnings = Vec::new();
    for new in named {
        let claim = new.claim();
        let others = known.entry(claim.by).or_default();
        match others.iter().filter(|(other, _)| *other == claim).map(|(_, key)| *key).min() {
            Some(other) => {
                let (driver, name) = (&new.driver, &new.name);
                let message = format!(
                    "`{driver}` names it `{name}`, like `{other}`; if both are one object, the run fails"
                );
                warnings.push(Warning { key: new.key.clone(), message });
            }
            None => others.push((claim, &new.key)),
        }
    }
    warnings
}
