//! The resource that a command applies to, and its record.

use std::collections::{BTreeMap, BTreeSet};

use purlin_engine as engine;
use purlin_host::Session;
use purlin_model::{Context, Key, Urn};
use purlin_state::{Environment, Snapshot};

use crate::app::App;
use crate::args::PlaceArgs;
use crate::failure::Failure;
use crate::input::{self, Place};
use crate::naming;
use crate::report;

/// A resource that is recorded or about to be created.
pub(super) struct Subject {
    pub(super) place: Place,
    pub(super) urn: Urn,
    /// The environment of the resource's URN, which may differ from that of the documents.
    pub(super) environment: Environment,
    /// Everything in that environment.
    pub(super) snapshot: Snapshot,
}

impl Subject {
    /// Changes the records of the environment, while nobody else does, and closes the state.
    pub(super) async fn edit<T>(
        &self,
        change: impl AsyncFnOnce(&Session<'_>) -> Result<T, purlin_host::Error>,
    ) -> Result<T, Failure> {
        let purlin = &self.place.purlin;
        let session = purlin.begin_held(&self.environment).await.map_err(Failure::without_sources)?;
        let done = change(&session).await.map_err(Failure::without_sources)?;
        drop(session);
        purlin.close().await.map_err(Failure::without_sources)?;
        Ok(done)
    }

    /// The context for parsing other names.
    pub(super) fn context(&self) -> Context {
        let mut context = self.place.context.clone();
        context.org = self.environment.org.clone();
        context.app = self.environment.app.clone();
        context.env.id = self.environment.env.clone();
        context
    }
}

/// The failure for a name without a record.
pub(super) fn unrecorded(name: &str) -> Failure {
    Failure::input(format!("nothing is recorded as `{name}`"))
}

/// Finds a resource by its key, a unique short name, or its URN.
pub(super) async fn find(name: &str, place: &PlaceArgs, app: &App) -> Result<Subject, Failure> {
    let place = input::place_to_change(&place.documents(), app).await?;
    let given = if name.starts_with("urn:") { Some(urn(name, &place.context)?) } else { None };
    let environment = given.as_ref().and_then(Environment::of_urn).unwrap_or_else(|| place.environment());
    let snapshot = place.purlin.snapshot(&environment).await.map_err(Failure::without_sources)?;
    let records = snapshot.records.iter().map(|record| record.urn.clone());
    let known: BTreeSet<Urn> = records.chain(snapshot.pending.iter().map(|intent| intent.id().urn)).collect();
    let urn = match given {
        Some(urn) if known.contains(&urn) => urn,
        given => {
            let name = given.map_or_else(|| name.to_owned(), |urn| report::state::key(&urn));
            let keys: BTreeMap<Key, &Urn> = known.iter().filter_map(|urn| Some((urn.key()?, urn))).collect();
            match engine::find(&name, keys.keys()).map(|key| keys.get(key)) {
                Ok(Some(urn)) => (*urn).clone(),
                Ok(None) => return Err(unrecorded(&name)),
                Err(wrong) => return Err(naming::unrecorded(&wrong, &environment.to_string())),
            }
        }
    };
    Ok(Subject { place, urn, environment, snapshot })
}

/// The URN of a key or URN that the user gave.
pub(super) fn urn(name: &str, context: &Context) -> Result<Urn, Failure> {
    if name.starts_with("urn:") {
        return Urn::parse(name).map_err(|error| {
            Failure::input(error.to_string()).hint("`purlin state list --all --format json` shows them")
        });
    }
    let key = Key::parse(name).map_err(|error| {
        Failure::input(error.to_string()).hint("a key is TYPE[.CLASS]#ID; `purlin state list` lists the keys")
    })?;
    Ok(Urn::new(context, &key))
}
