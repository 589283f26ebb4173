//! `purlin rollout pause`, `resume` and `undo`

use std::sync::Arc;

use purlin_host::{MayLose, Purlin, RolloutChange, RolloutState};

use super::follow::{self, FollowArgs};
use super::status;
use crate::app::App;
use crate::args::{Format, FormatArg, SelectionArgs};
use crate::consent::{Consent, ConsentArgs};
use crate::failure::{Failure, Status};
use crate::report::FORMAT;
use crate::report::rollout::{Document, WholeRollout};
use crate::text;

/// Begin no more environments.
///
/// Environments that have the roll-out keep it. `purlin rollout resume` goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollout pause 3

With `--format json`, as for `purlin rollout status`.")]
pub(super) struct PauseArgs {
    /// Its number.
    #[arg(value_name = "NUMBER")]
    number: u64,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

/// Go on with a roll-out that is paused or has stopped, or take its turns.
///
/// Environments that failed are tried again, and no longer stop it. With `--allow-data-loss`, what needs that consent
/// goes on as well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollout resume 3 --yes
  purlin rollout resume 3 --yes --allow-data-loss --environments shop/dev

With `--format json`, as for `purlin rollout start`.

Exit status: 0 every environment matches, or is no longer its own; 1 some do not.")]
pub(super) struct ResumeArgs {
    /// Its number.
    #[arg(value_name = "NUMBER")]
    number: u64,

    /// The environments for which `--allow-data-loss` is meant [default: all].
    #[command(flatten)]
    selection: SelectionArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

/// Restore the earlier documents in each environment that still has those of a roll-out.
///
/// Environments in which somebody has deployed since, or that a later roll-out has reached, stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollout undo 3

With `--format json`, as for `purlin rollout start`.

Exit status: 0 every environment is as before, or is no longer its own; 1 some are not.")]
pub(super) struct UndoArgs {
    /// Its number.
    #[arg(value_name = "NUMBER")]
    number: u64,

    #[command(flatten)]
    consent: ConsentArgs,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn pause(args: &PauseArgs, app: &App) -> Result<Status, Failure> {
    let purlin = super::orchestrator(app)?;
    change(&purlin, args.number, &RolloutChange::Pause).await?;
    let report = status::read(&purlin, args.number).await?;
    match args.format.format {
        Format::Json => app.ui.json(&Document { format: FORMAT, rollout: WholeRollout::whole(&report) }),
        Format::Text => status::show(&report, app),
    }
    purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}

pub(super) async fn resume(args: &ResumeArgs, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let purlin = Arc::new(super::orchestrator(app)?);
    let report = status::read(&purlin, args.number).await?;
    let selection = args.selection.selection();
    let may_lose = match args.consent.allow_data_loss {
        false if !selection.is_all() => {
            let message =
                "`--environments` and `--type` say where `--allow-data-loss` is meant, which is missing";
            return Err(Failure::input(message).hint("a roll-out goes on in all of its environments"));
        }
        false => MayLose::Nowhere,
        true if selection.is_all() => MayLose::Everywhere,
        true => {
            let selected = report
                .environments
                .iter()
                .filter(|one| selection.names(&one.environment) && selection.has_type(Some(&one.kind)));
            MayLose::In(selected.map(|one| one.environment.clone()).collect())
        }
    };
    if matches!(&may_lose, MayLose::In(selected) if selected.is_empty()) {
        return Err(Failure::input("the roll-out covers no environment that is selected")
            .hint(format!("`purlin rollout status {} --verbose` lists those that it covers", args.number)));
    }
    let left = report.environments.iter().filter(|one| !one.state.is_settled()).count();
    let question = format!("Go on with roll-out {} in {}?", args.number, text::count(left, "environment"));
    if consent.needs_confirmation() && !consent.agrees(&question, app) {
        return Ok(Status::Failed);
    }
    change(&purlin, args.number, &RolloutChange::Resume { may_lose }).await?;
    follow::run(purlin, args.number, &args.follow, json, app).await
}

pub(super) async fn undo(args: &UndoArgs, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    let consent = Consent::new(&args.consent, json, app)?;
    let purlin = Arc::new(super::orchestrator(app)?);
    let report = status::read(&purlin, args.number).await?;
    let is_touched = |state: RolloutState| {
        use RolloutState::{Failed, InProgress, Matching, NeedsConsent};
        matches!(state, Failed | InProgress | Matching | NeedsConsent)
    };
    let touched = report.environments.iter().filter(|one| is_touched(one.state)).count();
    let question = format!(
        "Restore the documents from before roll-out {} in {}?",
        args.number,
        text::count(touched, "environment")
    );
    if consent.needs_confirmation() && !consent.agrees(&question, app) {
        return Ok(Status::Failed);
    }
    let may_lose = if args.consent.allow_data_loss { MayLose::Everywhere } else { MayLose::Nowhere };
    change(&purlin, args.number, &RolloutChange::Undo { may_lose }).await?;
    follow::run(purlin, args.number, &args.follow, json, app).await
}

async fn change(purlin: &Purlin, number: u64, change: &RolloutChange) -> Result<(), Failure> {
    match purlin.change_rollout(number, change).await.map_err(Failure::without_sources)? {
        Some(_) => Ok(()),
        None => Err(super::unknown(number)),
    }
}
