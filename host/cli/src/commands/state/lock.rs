//! `purlin state lock`

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::FORMAT;
use crate::report::state::{Holder, LockReport};
use crate::surroundings;

/// Close an environment to deployments until `purlin state unlock`.
///
/// Purlin rejects `up` and similar commands, with the user and the `--reason`. Read-only commands and the
/// edits of `purlin state` still work. A running deployment has its own lock, which ends with it; this
/// one stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state lock --reason 'the database is being moved'
  purlin state lock --env production

With `--format json`:
  {\"format\": 1, \"environment\": {\"org\", \"app\", \"env\"},
   \"locked\": {\"user\", \"host\", \"reason\", \"since\"}, \"changed\"}")]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let reason = app.reason().unwrap_or("purlin state lock");
    let place = input::place_to_change(&args.place.documents(), app).await?;
    let environment = place.environment();
    let mut closed_by =
        place.purlin.snapshot(&environment).await.map_err(Failure::without_sources)?.closed_by;
    let own = surroundings::holder("state lock");
    let is_own = |holder: &purlin_state::Holder| {
        (&holder.user, &holder.host, holder.command.as_str()) == (&own.user, &own.host, reason)
    };
    if let Some(holder) = closed_by.as_ref().filter(|holder| !is_own(holder)) {
        return Err(Failure::run(format!("{environment} is already closed, by {holder}"))
            .hint("`purlin state unlock` opens it"));
    }
    // An interrupted command can be repeated.
    let changed = closed_by.is_none();
    if changed {
        place.purlin.set_closed(&environment, Some(reason)).await.map_err(Failure::without_sources)?;
        closed_by = place.purlin.snapshot(&environment).await.map_err(Failure::without_sources)?.closed_by;
    }
    place.purlin.close().await.map_err(Failure::without_sources)?;
    match args.format.format {
        Format::Text => {
            app.ui.say(&match changed {
                true => format!("{environment} is closed to deployments."),
                false => format!("{environment} is closed to deployments; nothing was changed."),
            });
            app.ui.hint("`purlin state unlock` opens it again");
        }
        Format::Json => app.ui.json(&LockReport {
            format: FORMAT,
            environment,
            locked: closed_by.as_ref().map(Holder::new),
            changed,
        }),
    }
    Ok(Status::Done)
}
