//! `purlin rollout list`

use serde::Serialize;

use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::render;
use crate::report::FORMAT;
use crate::report::rollout::Entry;
use crate::ui::Level;

/// List the roll-outs of the state, the latest first.
///
/// The last 20 that are over are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin rollout list

With `--format json`, `status` being running, paused, stopped, done, undoing or undone:
  {\"format\": 1, \"rollouts\": [
    {\"number\", \"status\", \"why\", \"reason\", \"started\", \"by\", \"on\", \"changed\", \"waves\",
     \"opened\"}]}")]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct List {
    format: u8,
    rollouts: Vec<Entry>,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let purlin = super::orchestrator(app)?;
    let rollouts = purlin.rollouts().await.map_err(Failure::without_sources)?;
    let rollouts: Vec<Entry> = rollouts.iter().rev().map(Entry::new).collect();
    match args.format.format {
        Format::Json => app.ui.json(&List { format: FORMAT, rollouts }),
        Format::Text if rollouts.is_empty() => {
            app.ui.say("There are no roll-outs.");
            app.ui.hint("`purlin rollout start FILE|DIR` brings changed documents to every environment");
        }
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            app.ui.data(&render::rollout::list(&rollouts, columns));
        }
    }
    purlin.close().await.map_err(Failure::without_sources)?;
    Ok(Status::Done)
}
