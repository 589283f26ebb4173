//! `purlin state unlock`

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::FORMAT;
use crate::report::state::LockReport;

/// Open an environment to deployments again.
///
/// Removes the lock set by `purlin state lock`, regardless of its owner. The lock of a running deployment
/// is not affected; it ends with the process that holds it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state unlock
  purlin state unlock --env production

With `--format json`:
  {\"format\": 1, \"environment\": {\"org\", \"app\", \"env\"}, \"locked\": null, \"changed\"}")]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place_to_change(&args.place.documents(), app).await?;
    let environment = place.environment();
    let closed_by = place.purlin.snapshot(&environment).await.map_err(Failure::without_sources)?.closed_by;
    if let Some(command) = closed_by.as_ref().and_then(purlin_host::interrupted_move) {
        return Err(Failure::run(format!("{environment} is closed, because a move was interrupted"))
            .hint(format!("`{command}` finishes it and opens the environment")));
    }
    if closed_by.is_some() {
        place.purlin.set_closed(&environment, None).await.map_err(Failure::without_sources)?;
    }
    place.purlin.close().await.map_err(Failure::without_sources)?;
    match (args.format.format, &closed_by) {
        (Format::Text, Some(holder)) => {
            app.ui.say(&format!("{environment} is open again; it was closed by {holder}."));
        }
        (Format::Text, None) => app.ui.say(&format!("{environment} is open; nothing was changed.")),
        (Format::Json, _) => {
            app.ui.json(&LockReport {
                format: FORMAT,
                environment,
                locked: None,
                changed: closed_by.is_some(),
            });
        }
    }
    Ok(Status::Done)
}
