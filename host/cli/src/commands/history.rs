//! `purlin history`

use purlin_state::Deployment;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::report::history::{DeploymentReport, Details, Entry, Firsts, History};
use crate::text;
use crate::ui::Level;

/// Show what was deployed in an environment, when and by whom, newest first.
///
/// A run that changed nothing leaves no entry. Give a number or an id to show one deployment with its
/// steps.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin history
  purlin history --limit 100
  purlin history 12                show the steps of the 12th deployment
  purlin history latest

The outcome is succeeded, failed, cancelled, or unfinished if the run was killed.
`documents` is the first deployment from the same documents; null if there were none, as for
`destroy`.

With `--format json`; a single deployment is under `deployment` and also has `steps`:
  {\"format\": 1,
   \"deployments\": [{\"number\", \"id\", \"command\", \"user\", \"host\", \"pid\", \"started\", \"ended\",
                    \"outcome\", \"documents\", \"done\": {\"create\", \"update\", \"replace\", \"delete\",
                    \"read\", \"adopt\"}, \"failed\"}]}
  {\"format\": 1, \"deployment\": {…, \"steps\": [{\"urn\", \"key\", \"action\", \"succeeded\"}]}}")]
pub(crate) struct Args {
    /// Show one deployment: its number, its id, or `latest`.
    #[arg(value_name = "DEPLOYMENT", allow_negative_numbers = true)]
    deployment: Option<String>,

    /// Show at most this many.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        conflicts_with = "deployment",
        allow_negative_numbers = true
    )]
    limit: usize,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place(&args.place.documents(), app).await?;
    let environment = place.environment();
    let fail = Failure::without_sources;
    let history = place.purlin.history(&environment).await.map_err(fail)?;
    let firsts = Firsts::of(&history);
    if let Some(name) = &args.deployment {
        let deployment = Details::new(find(name, &history, &environment.to_string())?, &firsts);
        match args.format.format {
            Format::Json => app.ui.json(&DeploymentReport { format: FORMAT, deployment }),
            Format::Text => app.ui.data(&render::history::details(&deployment)),
        }
        place.purlin.close().await.map_err(fail)?;
        return Ok(Status::Done);
    }
    let shown = history.iter().rev().take(args.limit);
    let deployments: Vec<Entry> = shown.map(|deployment| Entry::new(deployment, &firsts)).collect();
    let earlier = history.len() - deployments.len();
    match args.format.format {
        Format::Json => app.ui.json(&History { format: FORMAT, deployments }),
        Format::Text if history.is_empty() => {
            app.ui.say(&format!("Nothing was deployed in {environment}."));
            input::hint_at_others(&place, app).await?;
        }
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            app.ui.data(&render::history::table(&deployments, columns));
            if earlier > 0 {
                app.ui.hint(&format!("there are {earlier} more before these; `--limit N` shows more"));
            }
        }
    }
    place.purlin.close().await.map_err(fail)?;
    Ok(Status::Done)
}

/// Finds a deployment by its number, its id, or `latest`.
pub(super) fn find<'a>(
    name: &str,
    history: &'a [Deployment],
    environment: &str,
) -> Result<&'a Deployment, Failure> {
    let found = match name {
        "latest" => history.last(),
        _ => history
            .iter()
            .find(|deployment| name.parse() == Ok(deployment.number))
            .or_else(|| history.iter().find(|deployment| *deployment.id == *name)),
    };
    found.ok_or_else(|| {
        let failure =
            Failure::input(format!("there is no deployment `{}` in {environment}", text::line(name)));
        match (history.first(), history.last()) {
            (Some(first), Some(last)) if first.number == last.number => {
                failure.hint(format!("there is only number {}; `purlin history` shows it", last.number))
            }
            (Some(first), Some(last)) => failure.hint(format!(
                "the deployments have the numbers {} to {}; `purlin history` shows them",
                first.number, last.number
            )),
            _ => failure.hint("nothing was deployed yet"),
        }
    })
}
