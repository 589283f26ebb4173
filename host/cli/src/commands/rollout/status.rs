//! `purlin rollout status`

use std::time::Duration;

use purlin_host::{Purlin, RolloutReport, RolloutStatus};

use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::interrupts::Interrupts;
use crate::render;
use crate::report::FORMAT;
use crate::report::rollout::{Document, Progress, WholeRollout};
use crate::ui::Level;

/// How often a watch looks.
const LOOK: Duration = Duration::from_secs(1);

/// Show how far a roll-out is, in every environment that it covers.
///
/// Lists the environments that do not match it yet; with `--verbose`, all of them. The counts add up to all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollout status
  purlin rollout status 3 --watch

States of an environment: failed; needs-consent: something would be lost or deleted; in-progress;
closed: to deployments; pending: not reached yet; matching; left: somebody has deployed other
documents there since; superseded: by a later roll-out; undone; unchanged: had it before;
unreached: before it was undone; gone: destroyed.

With `--format json`; with `--watch`, a line whenever something changed, without `environments`:
  {\"format\": 1, \"rollout\": {\"number\", \"status\", \"why\", \"reason\", \"started\", \"by\",
   \"on\", \"changed\", \"waves\", \"opened\", \"pause_after\", \"max_failures\", \"supersedes\",
   \"counts\": {STATE: number}, \"environments\": [
     {\"org\", \"app\", \"env\", \"type\", \"wave\", \"state\", \"why\"}]}}")]
pub(super) struct Args {
    /// Its number [default: the latest].
    #[arg(value_name = "NUMBER")]
    number: Option<u64>,

    /// Show each change until the roll-out is over, paused or stopped.
    #[arg(short, long)]
    pub(super) watch: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let purlin = super::orchestrator(app)?;
    let number = match args.number {
        Some(number) => number,
        None => match purlin.rollouts().await.map_err(Failure::without_sources)?.last() {
            Some(latest) => latest.number,
            None => {
                return Err(Failure::input("there are no roll-outs")
                    .hint("`purlin rollout start FILE|DIR` brings changed documents to every environment"));
            }
        },
    };
    let mut report = read(&purlin, number).await?;
    if args.watch {
        let mut interrupts = Interrupts::new();
        let mut shown = None;
        loop {
            let progress = Progress::new(&report);
            if shown.as_ref() != Some(&progress) {
                match args.format.format {
                    Format::Json => app.ui.json_line(&progress),
                    Format::Text => app.ui.say(&render::rollout::progress(&report)),
                }
                shown = Some(progress);
            }
            if !matches!(report.rollout.status, RolloutStatus::Running | RolloutStatus::Undoing) {
                break;
            }
            tokio::select! {
                () = interrupts.next() => break,
                () = tokio::time::sleep(LOOK) => {}
            }
            report = read(&purlin, number).await?;
        }
    } else {
        match args.format.format {
            Format::Json => app.ui.json(&Document { format: FORMAT, rollout: WholeRollout::whole(&report) }),
            Format::Text => show(&report, app),
        }
    }
    purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}

/// Shows a report with what can be done.
pub(super) fn show(report: &RolloutReport, app: &App) {
    let everything = app.ui.level >= Level::Verbose;
    app.ui.data(&render::rollout::report(report, everything, app.ui.columns()));
    for hint in render::rollout::hints(report) {
        app.ui.hint(&hint);
    }
}

pub(super) async fn read(purlin: &Purlin, number: u64) -> Result<RolloutReport, Failure> {
    let report = purlin.rollout(number).await.map_err(Failure::without_sources)?;
    report.ok_or_else(|| super::unknown(number))
}
