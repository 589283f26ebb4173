//! The installations of an environment, and its uses of others: everything that other environments
//! need to know about it (SPEC §6), so that they need not read its records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purlin_model::{InstallationShare, InstallationUse, Settings, Urn, Value};

use crate::{Environment, Intent, Operation, Record, RecordId, Snapshot, Status};

/// The installations of an environment, and its uses of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The environment.
    pub environment: Environment,
    /// Its own installations, by URN.
    pub installations: Vec<Listed>,
    /// The URN of each resource here that uses an installation of another environment, with its
    /// requirements. Resources that a pending call may have created count too.
    pub uses: Vec<(Urn, InstallationUse)>,
}

/// A recorded installation.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its URN.
    pub urn: Urn,
    /// The bundle that it was made from, with its tag.
    pub definition: Option<Arc<str>>,
    /// The data that other environments may see.
    pub share: Arc<InstallationShare>,
    /// The names of the recorded outputs.
    pub outputs: Arc<BTreeSet<Arc<str>>>,
    /// Its recorded parameters and credentials.
    pub settings: Arc<Settings>,
    /// When it was created, in milliseconds since 1970.
    pub created: u64,
    /// Whether it matches its last deployment, and no call on it is pending.
    pub is_ready: bool,
    /// Whether it was handed over: it is deleted with its last user.
    pub abandoned: bool,
}

impl Listing {
    /// The listing of a snapshot.
    pub fn of(environment: &Environment, snapshot: &Snapshot) -> Self {
        Self::read(environment, snapshot.records.iter().map(|record| &**record), &snapshot.pending)
    }

    /// The listing of records and intents. Only those of installations matter.
    pub(crate) fn read<'r>(
        environment: &Environment,
        records: impl Iterator<Item = &'r Record> + Clone,
        pending: &'r [Intent],
    ) -> Self {
        let open: BTreeSet<RecordId> = pending.iter().map(Intent::id).collect();
        let mut known: BTreeSet<Arc<BTreeSet<Arc<str>>>> = BTreeSet::new();
        let mut set: BTreeSet<Arc<Settings>> = BTreeSet::new();
        let own = records.clone().filter(|record| record.superseded.is_none());
        let own = own.filter_map(|record| {
            let share = record.share.as_ref().filter(|share| share.uses.is_none())?;
            let mut names: BTreeSet<Arc<str>> = share.promoted.keys().cloned().collect();
            if let Value::Map(map) = &record.state.outputs {
                names.extend(map.keys().cloned());
            }
            Some(Listed {
                urn: record.urn.clone(),
                definition: record.definition.clone(),
                share: Arc::clone(share),
                outputs: common(&mut known, names),
                settings: common(&mut set, Settings::of_params(&record.inputs.params)),
                created: record.created,
                is_ready: record.status == Status::Ready && !record.tainted && !open.contains(&record.id()),
                abandoned: record.abandoned,
            })
        });
        let mut installations: Vec<Listed> = own.collect();
        installations.sort_by(|a, b| a.urn.cmp(&b.urn));
        let may_be = pending.iter().filter_map(|intent| match &intent.operation {
            Operation::Create(record) | Operation::Update(record) => Some(&**record),
            Operation::Delete(_) => None,
        });
        let mut uses = BTreeMap::new();
        for record in records.chain(may_be) {
            if let Some(needs) = record.share.as_ref().and_then(|share| share.uses.clone()) {
                uses.insert((record.urn.clone(), needs.installation.clone()), needs);
            }
        }
        let uses = uses.into_iter().map(|((urn, _), needs)| (urn, needs)).collect();
        Self { environment: environment.clone(), installations, uses }
    }

    /// Whether it holds digests of secret values, which may be guessed from them.
    pub fn has_secrets(&self) -> bool {
        self.installations.iter().any(|one| !one.settings.secret.is_empty())
    }

    /// Whether there is nothing that concerns other environments.
    pub fn is_empty(&self) -> bool {
        self.installations.is_empty() && self.uses.is_empty()
    }
}

/// Many installations have the same outputs and settings, which are shared.
fn common<T: Ord>(known: &mut BTreeSet<Arc<T>>, one: T) -> Arc<T> {
    if let Some(known) = known.get(&one) {
        return Arc::clone(known);
    }
    let one = Arc::new(one);
    known.insert(Arc::clone(&one));
    one
}
