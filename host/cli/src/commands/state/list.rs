//! `purlin state list`

use purlin_state::HeldLock;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::report::state::{List, Resource};
use crate::ui::Level;

/// List the recorded resources of an environment.
///
/// In a narrow terminal, the last columns are truncated; `--verbose` shows them in full.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state list
  purlin state list --all
  purlin state list --parts
  purlin state list --format json | jq -r '.resources[].urn'

A resource is ready; partial, if its driver could not finish; absent, if it was deleted to make
room for a new one; or pending, if a run was interrupted while creating it. `replaced` is an old
copy that will be deleted. Marks: external (only observed), tainted (to be replaced),
protected (never deleted).

With `--format json`:
  {\"format\": 1, \"resources\": [{\"urn\", \"key\", \"copy\", \"status\", \"marks\": […],
                               \"pending\": {\"operation\", \"since\", \"checkpoint\", \"idempotency_key\"},
                               \"driver\", \"provider_id\", \"dependencies\": […],
                               \"parts\": [{\"address\", \"type\", \"holds_data\"}]}]}")]
pub(super) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// List resources of every environment in the state.
    #[arg(long)]
    all: bool,

    /// List below each resource the objects that it consists of, as far as its driver foresaw them.
    #[arg(long)]
    parts: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place(&args.documents, app).await?;
    let fail = Failure::without_sources;
    let environments =
        if args.all { place.purlin.environments().await.map_err(fail)? } else { vec![place.environment()] };
    let mut all = Vec::new();
    for environment in &environments {
        let snapshot = place.purlin.snapshot(environment).await.map_err(fail)?;
        let holder = place.purlin.holder_of(environment).await.map_err(fail)?;
        all.push((environment, Resource::all(&snapshot), snapshot.closed_by, holder));
    }
    match args.format.format {
        Format::Json => {
            let resources = all.into_iter().flat_map(|(_, resources, ..)| resources).collect();
            app.ui.json(&List { format: FORMAT, resources });
        }
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            for (environment, resources, closed_by, holder) in &all {
                if args.all && !resources.is_empty() {
                    app.ui.data(&format!("{}\n", crate::text::line(&environment.to_string())));
                }
                if !resources.is_empty() {
                    app.ui.data(&render::state::table(resources, args.parts, columns));
                }
                if let Some(holder) = closed_by {
                    app.ui.note(&format!("{environment} is closed to deployments by {holder}"));
                }
                if let Some(HeldLock { holder, lease }) = holder {
                    let lease = lease.map_or_else(String::new, |lease| {
                        format!("; its lease ends in {} s unless it is renewed", lease.as_secs_f64().ceil())
                    });
                    app.ui.note(&format!("{environment} is in use by {holder}{lease}"));
                }
            }
            if all.iter().any(|(_, resources, ..)| resources.iter().any(|one| one.pending.is_some())) {
                app.ui.hint("`purlin up` and `purlin refresh` determine the outcome of pending calls");
            }
            if all.iter().all(|(_, resources, ..)| resources.is_empty()) {
                app.ui.say("Nothing is recorded.");
                input::hint_at_others(&place, app).await?;
            }
        }
    }
    place.purlin.close().await.map_err(fail)?;
    Ok(Status::Done)
}
