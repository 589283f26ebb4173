//! Which resource a command is about, and what is recorded about it.

use purlin_host::documents::SourceMap;
use purlin_host::engine;
use purlin_host::graph::nearest;
use purlin_host::model::{Context, Key, Urn};
use purlin_host::state::{Environment, Snapshot};

use crate::app::App;
use crate::args::PlaceArgs;
use crate::failure::Failure;
use crate::input::{self, Place};
use crate::report;

/// A resource that is on record, or about to be.
pub(super) struct Subject {
    pub(super) place: Place,
    pub(super) urn: Urn,
    /// Where it is: that of the URN, which may be another than the documents'.
    pub(super) environment: Environment,
    /// Everything in that environment.
    pub(super) snapshot: Snapshot,
}

impl Subject {
    /// What other names count from.
    pub(super) fn context(&self) -> Context {
        let mut context = self.place.context.clone();
        context.org = self.environment.org.clone();
        context.app = self.environment.app.clone();
        context.env.id = self.environment.env.clone();
        context
    }
}

/// A failure of the host that is about no document.
pub(super) fn failure(error: purlin_host::Error) -> Failure {
    // Within an environment a key says it as well as a URN does, and is short.
    match &error {
        purlin_host::Error::Engine(engine::Error::Unknown(urn)) => {
            Failure::input(format!("`{}` is not recorded", report::state::key(urn)))
        }
        purlin_host::Error::Engine(engine::Error::Taken(urn)) => {
            Failure::input(format!("`{}` is recorded already", report::state::key(urn)))
                .hint("`purlin state forget` makes room, and leaves what is real alone")
        }
        purlin_host::Error::Engine(engine::Error::InUse { urn, dependents }) => {
            let names: Vec<String> =
                dependents.iter().map(|urn| format!("`{}`", report::state::key(urn))).collect();
            let depend = if names.len() == 1 { "depends" } else { "depend" };
            Failure::input(format!(
                "`{}` cannot be forgotten: {} {depend} on it",
                report::state::key(urn),
                names.join(", ")
            ))
            .hint("forget what depends on it first")
        }
        _ => Failure::host(error, &SourceMap::default()),
    }
}

/// Finds a resource by its key or URN.
pub(super) async fn find(name: &str, place: &PlaceArgs, app: &App) -> Result<Subject, Failure> {
    let place = input::place(&place.documents(), app).await?;
    let urn = urn(name, &place.context)?;
    let environment = Environment::of_urn(&urn).unwrap_or_else(|| place.environment());
    let snapshot = place.purlin.snapshot(&environment).await.map_err(failure)?;
    let known = snapshot.records.iter().any(|record| record.urn == urn)
        || snapshot.pending.iter().any(|intent| intent.id().urn == urn);
    if !known {
        return Err(missing(&urn, &snapshot, &environment));
    }
    Ok(Subject { place, urn, environment, snapshot })
}

/// The URN that a person means.
pub(super) fn urn(name: &str, context: &Context) -> Result<Urn, Failure> {
    if name.starts_with("urn:") {
        return Urn::parse(name).map_err(|_| {
            Failure::input(format!("`{name}` is not a URN of Purlin"))
                .hint("`purlin state list --all --format json` shows them")
        });
    }
    let key = Key::parse(name).map_err(|error| {
        Failure::input(error.to_string())
            .hint("a key is TYPE[.CLASS]#ID; `purlin state list` shows those there are")
    })?;
    Ok(Urn::new(context, &key))
}

fn missing(urn: &Urn, snapshot: &Snapshot, environment: &Environment) -> Failure {
    const SHOWN: usize = 5;
    let name = report::state::key(urn);
    let failure = Failure::input(format!("nothing is recorded as `{name}` in {environment}"));
    let records = snapshot.records.iter().map(|record| record.urn.clone());
    let pending = snapshot.pending.iter().map(|intent| intent.id().urn);
    let mut known: Vec<Key> = records.chain(pending).filter_map(|urn| urn.key()).collect();
    known.sort();
    known.dedup();
    if let Some(near) = nearest(&name, known.iter().map(Key::as_str)) {
        return failure.hint(format!("did you mean `{near}`?"));
    }
    let alike = |other: &&Key| {
        urn.key().is_some_and(|key| other.type_name() == key.type_name() || other.id() == key.id())
    };
    let near: Vec<String> = known.iter().filter(alike).take(SHOWN).map(|key| format!("`{key}`")).collect();
    if near.is_empty() {
        failure.hint("`purlin state list` shows what there is")
    } else {
        failure.hint(format!("there is {}", near.join(", ")))
    }
}
