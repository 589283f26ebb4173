//! `purlin state export`

use std::path::PathBuf;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::report::state::Transfer;
use crate::text;
use crate::{files, input};

/// Export the record of an environment to a file.
///
/// The file holds the resources and the history of one environment, as a backup or to move it to another
/// state. It is encrypted like the state, for the same key or for the one that `--for` names. `purlin
/// state import` reads the file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state export dev.purlin
  purlin state export dev.purlin --env dev --for age1…

With `--format json`:
  {\"format\": 1, \"file\", \"environment\": {\"org\", \"app\", \"env\"}, \"resources\"}")]
pub(super) struct Args {
    /// The file to write, which must not exist.
    #[arg(value_name = "FILE")]
    exported: PathBuf,

    /// Encrypt the file for this public key (`age1…`) instead of the key of the state. `purlin state key
    /// show` prints the public key of a state.
    #[arg(long = "for", value_name = "RECIPIENT")]
    recipient: Option<String>,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let path = text::path(&args.exported);
    if args.exported.symlink_metadata().is_ok() {
        return Err(files::already_exists(&path).hint("name a new file"));
    }
    let place = input::place(&args.place.documents(), app).await?;
    let environment = place.environment();
    input::check_recorded(&place, app).await?;
    let written = place.purlin.export_state(&environment, &args.exported, args.recipient.as_deref()).await;
    let resources = written.map_err(|error| match error {
        purlin_host::Error::State(purlin_state::Error::KeyInvalid { .. }) => {
            let given = args.recipient.as_deref().unwrap_or_default();
            Failure::input(format!("`{}` is not an age public key", text::line(given)))
                .hint("a public key begins with `age1`; `purlin state key show` prints one")
        }
        error => Failure::without_sources(error),
    })?;
    place.purlin.close().await.map_err(Failure::without_sources)?;
    match args.format.format {
        Format::Json => app.ui.json(&Transfer::new(&args.exported, &environment, resources)),
        Format::Text => {
            app.ui.say(&format!("Wrote {environment} to `{path}`: {}.", text::count(resources, "resource")));
            if args.recipient.is_none() {
                app.ui.hint("it can be read only with the key of this state: back up the key as well");
            }
        }
    }
    Ok(Status::Done)
}
