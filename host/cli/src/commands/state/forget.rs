//! `purlin state forget`

use std::collections::BTreeSet;

use purlin_model::Urn;
use purlin_state::Snapshot;

use super::subject::{self, Subject};
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::consent::NO_TERMINAL;
use crate::failure::{Failure, Status};
use crate::report::state::{Edited, Left, key};
use crate::text;

/// Remove a resource from the state without deleting it.
///
/// Removes its record, its old copies, and calls whose outcome is not known; `purlin state settle` ends
/// such a call without forgetting the resource. If the documents still declare the resource, the next
/// `up` creates a new one. Without a terminal, `--yes` is required.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state forget dns#shared.web
  purlin state forget dns#shared.web --yes

With `--format json`; `left` lists what stays; `provider_id` is null if it is not known:
  {\"format\": 1, \"edit\": \"forget\", \"urn\", \"key\", \"changed\", \"dependents\": [urn],
   \"left\": [{\"driver\", \"provider_id\"}]}")]
pub(super) struct Args {
    /// The resource: a key (TYPE[.CLASS]#ID), or a URN of any environment.
    #[arg(value_name = "KEY|URN")]
    resource: String,

    #[command(flatten)]
    place: PlaceArgs,

    /// Do not ask for confirmation.
    #[arg(short, long, aliases = crate::args::YES)]
    yes: bool,

    /// Forget it even if others depend on it; they lose that dependency.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    if !args.yes && (json || !app.ui.is_interactive()) {
        return Err(Failure::input(NO_TERMINAL)
            .hint("`--yes` forgets without asking; `purlin state show` shows what it is"));
    }
    let Subject { place, urn, environment, snapshot } =
        subject::find(&args.resource, &args.place, app).await?;
    let name = text::line(&key(&urn)).into_owned();
    let left = Left::all(&urn, &snapshot);
    let session = place.purlin.begin_held(&environment).await.map_err(Failure::without_sources)?;
    if !args.yes
        && !app.ui.confirm(&format!("Forget `{name}` in {environment}? The resource itself is not deleted."))
    {
        app.ui.say("Nothing was changed.");
        return Ok(Status::Failed);
    }
    let dependents: Vec<String> = match args.force {
        true => dependents(&urn, &snapshot),
        false => Vec::new(),
    };
    session.forget(&urn, args.force).await.map_err(Failure::without_sources)?;
    drop(session);
    place.purlin.close().await.map_err(Failure::without_sources)?;
    if json {
        let dependents = Some(dependents).filter(|dependents| !dependents.is_empty());
        app.ui.json(&Edited { left: Some(left), dependents, ..Edited::new("forget", &urn, true) });
        return Ok(Status::Done);
    }
    app.ui.say(&format!("Forgot `{name}`."));
    if !dependents.is_empty() {
        let names = dependents.join(", ");
        app.ui
            .note(&format!("{names} depended on it; the next `purlin up` compares these with the documents"));
    }
    for one in &left {
        let driver = text::line(&one.driver);
        app.ui.note(&match &one.provider_id {
            Some(id) => {
                format!("`{}`, made by {driver}, was not deleted, and is no longer managed", text::line(id))
            }
            None => {
                format!(
                    "{driver} was interrupted while creating it, so the object may exist; \
                     if it does, `purlin import {name} ID` records it"
                )
            }
        });
    }
    Ok(Status::Done)
}

/// The keys of the resources that depend on a resource, according to the record.
fn dependents(urn: &Urn, snapshot: &Snapshot) -> Vec<String> {
    let records = snapshot.records.iter();
    let depends = records.filter(|record| record.urn != *urn && record.dependencies.contains(urn));
    let names: BTreeSet<String> = depends.map(|record| key(&record.urn)).collect();
    names.into_iter().collect()
}
