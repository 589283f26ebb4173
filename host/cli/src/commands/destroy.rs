//! `purlin destroy`

use purlin_host::engine::DestroyOptions;

use super::deploy::{self, Shown};
use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg, ScopeArgs};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::input;

/// Delete everything that is recorded in an environment.
///
/// Works from the record and never from the documents, which only say which environment it is.
/// Dependents are deleted first. Without a terminal to ask on, `--yes` is required.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin destroy
  purlin destroy --yes --env staging
  purlin destroy --target 'dns#shared.www' --target-dependents

Events with `--format json` are those of `up`.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let shown = Shown::new(json, app);
    let place = input::place_to_delete(&args.documents, app).await?;
    let environment = place.environment();
    let fail = |error| Failure::host(error, &purlin_host::documents::SourceMap::default());
    if !place.purlin.environments().await.map_err(fail)?.contains(&environment) {
        return deploy::nothing_recorded(&place, &shown, app).await;
    }
    let session = place.purlin.begin(&environment);
    let session = app.timings.wait("open state", session).await.map_err(fail)?;
    if deploy::settle(&session, &place.context, &shown, app, &fail).await? == Status::Failed {
        return Ok(Status::Failed);
    }
    let options = DestroyOptions { scope: args.scope.scope() };
    let plan = session.plan_destroy(&place.context, options);
    let plan = app.timings.wait("plan", plan).await.map_err(fail)?;
    if plan.steps.is_empty() && args.scope.scope().is_everything() {
        // One that has only a history left is known, and has nothing to delete.
        drop(session);
        let status = deploy::nothing_recorded(&place, &shown, app).await?;
        deploy::close(place.purlin, app).await?;
        return Ok(status);
    }
    let question = match args.scope.scope().is_everything() {
        true => format!("Delete everything in {environment}?"),
        false => format!("Delete this in {environment}?"),
    };
    let status =
        deploy::carry_out(&session, plan, None, (&consent, &question), &shown, app).await.map_err(fail)?;
    drop(session);
    deploy::close(place.purlin, app).await?;
    Ok(status)
}
