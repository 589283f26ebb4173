//! `purlin env list`

use std::collections::{BTreeMap, BTreeSet};

use purlin_host::state::{Environment, Known};

use super::failure;
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::report::environment::{Entry, List};
use crate::ui::Level;

/// List the environments that are declared or recorded.
///
/// An environment is declared where purlin.yaml has it under `environments`, and recorded where
/// something was deployed in it. Where the terminal is narrow the last columns are cut; `--verbose`
/// shows them whole.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin env list
  purlin env list --format json | jq -r '.environments[].env'

Marks: new (declared, nothing deployed yet), undeclared (recorded, and not in purlin.yaml although
others are), protected, closed (by `purlin state lock`).

With `--format json`:
  {\"format\": 1, \"environments\": [
    {\"org\", \"app\", \"env\", \"type\", \"namespace\", \"declared\", \"protected\", \"resources\",
     \"closed\": {\"user\", \"host\", \"reason\", \"since\"},
     \"last\": {\"number\", \"id\", \"command\", \"user\", \"host\", \"started\", \"ended\", \"outcome\"}}]}")]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place_as_written(&args.place.documents(), app).await?;
    let recorded = place.purlin.known_environments().await.map_err(failure)?;
    let recorded: BTreeMap<Environment, Known> =
        recorded.into_iter().map(|known| (known.environment.clone(), known)).collect();
    let here = place.environment();
    // One that nothing was deployed in yet is of the organisation and application at hand.
    let declared = place.workspace.environments.keys();
    let declared = declared.map(|env| Environment { env: env.clone(), ..here.clone() });
    let environments: BTreeSet<Environment> = recorded.keys().cloned().chain(declared).collect();
    let mut entries = Vec::with_capacity(environments.len());
    for environment in &environments {
        entries.push(Entry::of(environment, recorded.get(environment), &place).await.map_err(failure)?);
    }
    match args.format.format {
        Format::Json => app.ui.json(&List { format: FORMAT, environments: entries }),
        Format::Text if entries.is_empty() => {
            app.ui.say("No environment is declared or recorded.");
            app.ui.hint("`purlin up` deploys into one; purlin.yaml may declare them under `environments`");
        }
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            app.ui.data(&render::environment::table(&entries, columns));
        }
    }
    place.purlin.close().await.map_err(failure)?;
    Ok(Status::Done)
}
