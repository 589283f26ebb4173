//! `purlin refresh`

use purlin_host::Job;

use super::deploy::{self, Conduct, Ended, RunOutput};
use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg, ScopeArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;

/// Read every resource and record changes made outside Purlin.
///
/// Calls each driver to read its resources. Nothing real is changed; `purlin plan` then shows how to
/// undo the changes. Purlin first determines the outcome of calls that an earlier run left open.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin refresh
  purlin refresh --target 'postgres*'

Events with `--format json` are as for `up`; differences are in `changes` of the phase `observed`.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let shown = RunOutput::new(args.format.format == Format::Json, app);
    let place = input::place_to_change(&args.documents, app).await?;
    let job = Job::refresh(&place.context, place.documents.as_ref(), args.scope.scope());
    let conduct = Conduct { consent: None, question: "", retry_until: None };
    let ended = deploy::run(&place.purlin, &job, conduct, &shown, app).await;
    let Ended { status, is_nothing, unread, .. } = ended.map_err(naming::failure_of_records)?;
    if is_nothing {
        deploy::nothing_recorded(&place, &shown, app).await?;
        deploy::close(place.purlin, app).await?;
        return Ok(status);
    }
    let snapshot = place.purlin.snapshot(&place.environment()).await.map_err(Failure::without_sources)?;
    let all = snapshot.records.len();
    if !snapshot.pending.is_empty() {
        app.ui.hint("`purlin state settle KEY` records an unknown outcome, with `--made ID` or `--not-made`");
    }
    if args.scope.scope().is_everything() && unread > 0 && args.format.format == Format::Text {
        app.ui.hint(&format!(
            "{unread} of {all} resources could not be checked: their drivers do not support reading, or they do not exist"
        ));
    }
    deploy::close(place.purlin, app).await?;
    Ok(status)
}
