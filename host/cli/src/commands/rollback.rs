//! `purlin rollback`

use purlin_host::{Job, Purlin, UpOptions};
use purlin_state::{Deployment, Environment};

use super::deploy::{self, Conduct, RunOutput};
use super::history::find;
use crate::app::App;
use crate::args::{ChangeArgs, Format, FormatArg, PlaceArgs, PlanArgs};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::{input, surroundings, text};

/// Deploy the documents of an earlier deployment again.
///
/// Uses the original documents and context, with the current drivers, grants and state key. Otherwise it
/// works like `up`: it shows the plan, asks for confirmation, applies it, and adds an entry to the
/// history. Files are not changed: the next `up` deploys their contents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollback                to the last success before the latest deployment; after a
                                 rollback that failed or was interrupted, to the same target
  purlin rollback 12             to the documents of the 12th deployment
  purlin diff 12                 show what that would undo

Events with `--format json` are the same as for `up`.")]
pub(crate) struct Args {
    /// The deployment whose documents to use: its number or its id [default: the last that succeeded
    /// before the latest; an unsuccessful rollback continues].
    #[arg(value_name = "DEPLOYMENT", allow_negative_numbers = true)]
    deployment: Option<String>,

    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    changes: ChangeArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let shown = RunOutput::new(json, app);
    let place = input::place_to_delete(&args.place.documents(), app).await?;
    let environment = place.environment();
    let fail = Failure::without_sources;
    let history = place.purlin.history(&environment).await.map_err(fail)?;
    let deployment = match &args.deployment {
        Some(name) => find(name, &history, &environment.to_string())?,
        None => target(&history, &environment)?,
    };
    let id = surroundings::deployment_id();
    let documents = place.purlin.rollback_documents(&environment, &history, deployment, &id).await;
    let mut documents = documents.map_err(fail)?;
    documents.changes = args.changes.changes();
    if args.format.format == Format::Text {
        app.ui.note(&format!(
            "deploying the documents of deployment {} ({}, {}) again, with the current drivers",
            deployment.number,
            text::line(&deployment.holder.user),
            text::moment(deployment.holder.since)
        ));
    }
    let fail = |error| Failure::host(error, documents.sources());
    let options = UpOptions { plan: args.plan.options(), refresh: args.plan.refresh, ..UpOptions::default() };
    let job = Job::up(&documents, options);
    let conduct = Conduct { consent: Some(&consent), question: deploy::APPLY, retry_until: None };
    let status = deploy::run(&place.purlin, &job, conduct, &shown, app).await.map_err(fail)?.status;
    deploy::close(place.purlin, app).await?;
    if status == Status::Done && args.format.format == Format::Text {
        app.ui.hint("the files are unchanged, and the next `purlin up` deploys them");
    }
    Ok(status)
}

/// The target of a rollback that names no deployment.
fn target<'a>(history: &'a [Deployment], environment: &Environment) -> Result<&'a Deployment, Failure> {
    let Some(latest) = history.last() else {
        return Err(Failure::input(format!("nothing was deployed in {environment}"))
            .hint("`purlin up` deploys the documents"));
    };
    Purlin::rollback_target(history).ok_or_else(|| {
        Failure::input(format!(
            "there is nothing to go back to: no deployment with other documents succeeded before number {}",
            latest.number
        ))
        .hint("`purlin history` lists the deployments; `purlin rollback NUMBER` selects one")
    })
}
