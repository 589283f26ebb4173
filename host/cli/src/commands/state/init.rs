//! `purlin state init`

use serde::Serialize;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::FORMAT;

/// Create the tables of a state in a database.
///
/// purlin.yaml names the database as `state: {postgres: {url: …}}`. Requires the right to create a schema
/// in it, or a schema that belongs to the user. Running it again changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state init

With `--format json`:
  {\"format\": 1, \"place\", \"changed\"}")]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct InitReport {
    format: u8,
    /// Folder, or address of the database.
    place: String,
    changed: bool,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let workspace = input::workspace(&input::load(&args.place.documents(), app)?, app);
    let purlin = input::orchestrator(&workspace, app)?;
    let prepared = purlin.prepare_state().await.map_err(Failure::without_sources)?;
    let place = purlin.state_place();
    match (args.format.format, prepared) {
        (Format::Json, changed) => {
            app.ui.json(&InitReport { format: FORMAT, place, changed: changed == Some(true) });
        }
        (Format::Text, Some(true)) => app.ui.say(&format!("`{place}` is ready for the state.")),
        (Format::Text, Some(false)) => {
            app.ui.say(&format!("`{place}` is ready already; nothing was changed."))
        }
        (Format::Text, None) => {
            app.ui.say(&format!("The state is in the folder `{place}`, which needs no preparation."));
        }
    }
    Ok(Status::Done)
}
