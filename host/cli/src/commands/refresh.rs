//! `purlin refresh`

use super::deploy::{self, Shown};
use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg, ScopeArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::text;

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
    let shown = Shown::new(args.format.format == Format::Json, app);
    let place = input::place_to_change(&args.documents, app).await?;
    let environment = place.environment();
    let fail = Failure::without_sources;
    if !place.purlin.is_recorded(&environment).await.map_err(fail)? {
        return deploy::nothing_recorded(&place, &shown, app).await;
    }
    let session = place.purlin.begin(&environment);
    let session = app.timings.wait("open state", session).await.map_err(fail)?;
    if let Some(documents) = &place.documents {
        session.use_inputs_of(documents, &place.context).await;
    }
    if deploy::recover(&session, &place.context, &shown, app, &fail).await? == Status::Failed {
        return Ok(Status::Failed);
    }
    let all = session.records().await.map_err(fail)?.len();
    if all == 0 {
        drop(session);
        let status = deploy::nothing_recorded(&place, &shown, app).await?;
        deploy::close(place.purlin, app).await?;
        return Ok(status);
    }
    let plan = session.plan_refresh(&place.context, &args.scope.scope()).await;
    let plan = plan.map_err(naming::failure_of_records)?;
    let unread = plan.unread();
    let mut status = deploy::run(&session, plan, None, &shown, app).await.map_err(fail)?;
    let open = session.open_calls().await.map_err(fail)?;
    if !open.is_empty() {
        status = Status::Failed;
        for key in &open {
            let key = text::line(key.as_str());
            let message = format!("the outcome of the last call on `{key}` is unknown");
            app.ui.warning(&message);
        }
        app.ui.hint("`purlin state settle KEY` records it, with `--made ID` or `--not-made`");
    }
    if args.scope.scope().is_everything() && unread > 0 && args.format.format == Format::Text {
        app.ui.hint(&format!(
            "{unread} of {all} resources could not be checked: their drivers do not support reading, or they do not exist"
        ));
    }
    drop(session);
    deploy::close(place.purlin, app).await?;
    Ok(status)
}
