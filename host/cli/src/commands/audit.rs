//! `purlin audit`

use std::time::Duration;

use purlin_state::Environment;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs, duration};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::audit::{Audit, Trail};
use crate::surroundings;
use crate::ui::Level;

/// How many entries are shown as text by default.
const SHOWN: usize = 20;

/// Show who changed the state, from where and why, newest first.
///
/// Each change of the state has one entry, written together with it: runs, and every edit, such as `purlin state
/// forget`. Give `--reason` with any command to say why. Each entry has the digest of the one before it, so that a
/// missing or changed entry is found. `state.audit.keep` in purlin.yaml says how long entries are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin audit
  purlin audit --all --since 7d
  purlin audit --all --verify    status 1 if an entry is missing or was changed
  purlin audit --format json | jq -r '.audits[].entries[] | [.time, .user, .action] | @tsv'

WHO is the user and the machine that the command names and, if the state is in a database, the
role that logged in there and its address.

With `--format json`; `environment` is null for what concerns the state as a whole,
`database_user` if the state is in a folder, and `resources` unless `action` is `run`:
  {\"format\": 1, \"audits\": [
    {\"environment\": {\"org\", \"app\", \"env\"},
     \"entries\": [{\"number\", \"time\", \"user\", \"host\", \"pid\", \"command\",
                  \"database_user\": {\"role\", \"address\"}, \"action\", \"subjects\": [urn],
                  \"deployment\", \"resources\", \"reason\", \"before\", \"digest\"}],
     \"faults\": […]}]}")]
pub(crate) struct Args {
    /// Show all environments, and what concerns the state as a whole.
    #[arg(long)]
    all: bool,

    /// Show only what happened in this time, such as `36h` or `7d`.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    since: Option<Duration>,

    /// Show at most this many of each environment [default: 20 as text without `--since`, else all].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    limit: Option<usize>,

    /// Only check the chain of entries. Exits with status 1 if one is missing or was changed.
    #[arg(long, conflicts_with_all = ["since", "limit"])]
    verify: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let fail = Failure::without_sources;
    let place = input::place(&args.place.documents(), app).await?;
    let environments = match args.all {
        true => {
            let mut all = place.purlin.environments().await.map_err(fail)?;
            all.push(Environment::fleet());
            all
        }
        false => vec![place.environment()],
    };
    let json = args.format.format == Format::Json;
    let since = args.since.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let since = since.map_or(0, |time| surroundings::now().saturating_sub(time));
    let most = if json || args.since.is_some() { usize::MAX } else { SHOWN };
    let most = args.limit.unwrap_or(most);
    let mut audits = Vec::with_capacity(environments.len());
    for environment in &environments {
        let trail = place.purlin.audit(environment).await.map_err(fail)?;
        audits.push(Trail::new(environment, &trail, since, most));
    }
    place.purlin.close().await.map_err(fail)?;
    let is_broken = audits.iter().any(|trail| !trail.faults.is_empty());
    match json {
        true => app.ui.json(&Audit::new(audits)),
        false if args.verify => audits.iter().for_each(|trail| app.ui.data(&render::audit::verdict(trail))),
        false => show(&audits, args, app),
    }
    Ok(if args.verify && is_broken { Status::Failed } else { Status::Done })
}

fn show(audits: &[Trail], args: &Args, app: &App) {
    let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
    let mut earlier = 0;
    let shown: Vec<&Trail> = audits.iter().filter(|trail| !trail.entries.is_empty()).collect();
    for (number, trail) in shown.iter().enumerate() {
        if args.all {
            let gap = if number > 0 { "\n" } else { "" };
            app.ui.data(&format!("{gap}{}", render::audit::heading(trail)));
        }
        app.ui.data(&render::audit::table(&trail.entries, columns));
        earlier += trail.kept.saturating_sub(trail.entries.len());
    }
    if shown.is_empty() {
        app.ui.say("No change of the state is recorded.");
    }
    if earlier > 0 && args.since.is_none() {
        app.ui.hint(&format!("there are {earlier} more before these; `--limit N` shows more"));
    }
    for trail in audits {
        for fault in &trail.faults {
            app.ui.warning(&format!("the audit of {}: {fault}", trail.name()));
        }
    }
}
