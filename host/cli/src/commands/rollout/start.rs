//! `purlin rollout start`

use std::path::PathBuf;

use futures::StreamExt as _;
use purlin_host::{RolloutOptions, Waves};

use super::follow::{self, FollowArgs};
use crate::app::App;
use crate::args::{AcceptArgs, Format, FormatArg, SelectionArgs};
use crate::commands::impact::{ProposedChange, plans};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::render;
use crate::render::plan::PlanView;
use crate::report::impact::{Effect, Environment, Groups, Summary};
use crate::ui::Level;

/// Start a roll-out of changed documents, and take its turns until what is left needs somebody.
///
/// The documents named here replace the recorded ones in each environment that was deployed from these files, as in
/// `purlin impact`, which shows the effects beforehand. Environments of the type `production` come last. A wave begins
/// once every environment of the one before matches; failures up to `--max-failures` do not hold it up.
///
/// Consent covers deletions and replacements in every environment; `--allow-data-loss` covers losses of data, too.
/// Without it, an environment in which data would be lost waits for consent.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollout start platform/ --wave by-type --pause-after 1 --reason 'a larger pool'
  purlin rollout start platform/ --wave 10% --max-failures 2 --yes
  purlin rollout start platform/ --environments 'shop/*' --type staging --yes

With `--format json`, a line for each turn that changed something or did not succeed, as for
`purlin reconcile --all`, and one whenever the roll-out gets further:
  {\"format\": 1, \"event\": \"rollout\", \"number\", \"status\", \"why\", \"reason\", \"started\",
   \"by\", \"on\", \"changed\", \"waves\", \"opened\", \"pause_after\", \"max_failures\",
   \"supersedes\", \"counts\": {STATE: number}}

Exit status: 0 every environment matches, or is no longer its own, or with `--detach` it is
recorded; 1 some environments do not match; 2 nothing was begun.")]
pub(super) struct Args {
    /// The changed documents: files, or folders (recursively).
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Go through the environments in waves: a number of environments, a part such as `10%`, or one type after
    /// the other with `by-type` [default: all at once].
    #[arg(long, value_name = "SIZE|PERCENT|by-type", value_parser = waves)]
    wave: Option<Waves>,

    /// Pause once after this many waves.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "wave")]
    pause_after: Option<u32>,

    /// Stop once more environments than this have failed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_failures: u32,

    /// Take the place of roll-outs about the same files that are not over, in each environment that both cover.
    #[arg(long)]
    supersede: bool,

    #[command(flatten)]
    accept: AcceptArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

/// Reads the size of waves.
fn waves(text: &str) -> Result<Waves, String> {
    let wrong = || "expected a number of environments, a part such as `10%`, or `by-type`".to_owned();
    if text == "by-type" {
        return Ok(Waves::ByType);
    }
    match text.strip_suffix('%') {
        Some(percent) => match percent.parse() {
            Ok(percent @ 1..=100) => Ok(Waves::Percent(percent)),
            _ => Err("a part is from `1%` to `100%`".to_owned()),
        },
        None => match text.parse() {
            Ok(0) => Err("a wave has one environment at least".to_owned()),
            Ok(size) => Ok(Waves::Of(size)),
            Err(_) => Err(wrong()),
        },
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let change = ProposedChange::read(&args.paths, &args.accept, &args.selection, app).await?;
    let ProposedChange { loaded, purlin, proposal, selected } = change;
    let fail = |error| Failure::host(error, &loaded.sources);
    let (mut impacts, mut groups, mut summary) = (Vec::new(), Groups::default(), Summary::default());
    let mut plans = Box::pin(plans(selected, &purlin, &proposal, false));
    while let Some(planned) = plans.next().await {
        let (selected, impact) = planned.map_err(|error| Failure::caused("a plan ended early", &error))?;
        let impact = impact.map_err(fail)?;
        if let Some(environment) = Environment::new(&selected, impact.clone()) {
            summary.count(&environment);
            if environment.effect != Effect::Unchanged {
                groups.add(environment);
            }
        }
        impacts.push((selected, impact));
    }
    drop(plans);
    if consent.needs_confirmation() {
        let look = PlanView::new(app.ui.columns(), app.ui.level >= Level::Verbose);
        app.ui.raw(&render::impact::text(&groups, &summary, look));
        if !consent.agrees("Roll this out?", app) {
            return Ok(Status::Failed);
        }
    }
    let options = RolloutOptions {
        waves: args.wave.unwrap_or_default(),
        pause_after: args.pause_after,
        max_failures: args.max_failures,
        reason: app.reason().map(Into::into),
        may_lose: args.consent.allow_data_loss,
        supersede: args.supersede,
    };
    let rollout = purlin.start_rollout(&proposal, &impacts, options).await.map_err(fail)?;
    follow::run(purlin, rollout.number, &args.follow, json, app).await
}
