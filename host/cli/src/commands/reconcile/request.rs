//! `purlin reconcile --request`

use purlin_state::Environment;
use serde::Serialize;

use super::Args;
use crate::app::App;
use crate::args::Format;
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::FORMAT;

#[derive(Serialize)]
struct RequestReport {
    format: u8,
    environment: Environment,
    requested: bool,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place_to_change(&args.documents, app).await?;
    let environment = place.environment();
    let fail = |error| Failure::host(error, &Default::default());
    if place.workspace.database.is_none() {
        return Err(Failure::input("`--request` needs a state in a database, which several hosts share")
            .hint("with a state in a folder, send SIGUSR1 to the process that reconciles: it then reads everything"));
    }
    input::check_recorded(&place, app).await?;
    place.purlin.request_turn(&environment).await.map_err(fail)?;
    place.purlin.close().await.map_err(fail)?;
    match args.format.format {
        Format::Json => {
            app.ui.json(&RequestReport { format: FORMAT, environment, requested: true });
        }
        Format::Text => app.ui.say(&format!("{environment} will be reconciled next.")),
    }
    Ok(Status::Done)
}
