//! `purlin state move`

use std::collections::BTreeSet;

use purlin_engine as engine;
use purlin_host::Move;
use purlin_model::Key;
use purlin_state::{Environment, Snapshot};

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::consent::NO_TERMINAL;
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::report::FORMAT;
use crate::report::state::{Moved, key};
use crate::text;

/// Move resources to another application or environment.
///
/// Use this to split an application, or to hand resources over. Records, secrets, old copies and uses of
/// installations move, and who uses them in other environments follows; the real resources do not change,
/// and no driver is called. What a resource depends on moves with it, or exists in the target under the
/// same key. Both environments, and those of users, are locked. If the
/// command is interrupted, neither can be deployed until the same command is run again. Without a
/// terminal, `--yes` is required.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state move postgres#shared.db password#shared.db --to-app orders
  purlin state move dns#shared.site --env dev --to-env preview --yes

With `--format json`:
  {\"format\": 1, \"from\": {\"org\", \"app\", \"env\"}, \"to\": {\"org\", \"app\", \"env\"},
   \"keys\": [key], \"changed\", \"dependents\": [urn], \"users\": [urn]}")]
pub(super) struct Args {
    /// The resources: keys (TYPE[.CLASS]#ID).
    #[arg(value_name = "KEY", required = true)]
    resources: Vec<String>,

    /// Move them to this organisation; by default the same one.
    #[arg(long, value_name = "ORG")]
    to_org: Option<String>,

    /// Move them to this application; by default the same one.
    #[arg(long, value_name = "APP")]
    to_app: Option<String>,

    /// Move them to this environment; by default the same one.
    #[arg(long, value_name = "ENV")]
    to_env: Option<String>,

    #[command(flatten)]
    place: PlaceArgs,

    /// Do not ask for confirmation.
    #[arg(short, long, aliases = crate::args::YES)]
    yes: bool,

    /// Move them even if resources that stay depend on them; those lose that dependency.
    #[arg(long)]
    force: bool,

    /// Move them to an environment that is not declared, or whose name is nearly that of another one.
    #[arg(long)]
    new_environment: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let json = args.format.format == Format::Json;
    if !args.yes && (json || !app.ui.is_interactive()) {
        return Err(Failure::input(NO_TERMINAL)
            .hint("`--yes` moves without asking; `purlin state list` shows what there is"));
    }
    let place = input::place_to_change(&args.place.documents(), app).await?;
    let from = place.environment();
    let to = target(args, &from)?;
    let of = async |environment| place.purlin.snapshot(environment).await.map_err(Failure::without_sources);
    let keys = keys(&args.resources, &from, &[&of(&from).await?, &of(&to).await?])?;
    let names = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    if !args.yes
        && !app
            .ui
            .confirm(&format!("Move {names} from {from} to {to}? The resources themselves do not change."))
    {
        app.ui.say("Nothing was changed.");
        return Ok(Status::Failed);
    }
    let wanted =
        Move { from: &from, to: &to, keys: &keys, force: args.force, new_environment: args.new_environment };
    let moved = place.purlin.move_resources(wanted).await.map_err(Failure::without_sources)?;
    place.purlin.close().await.map_err(Failure::without_sources)?;
    if json {
        app.ui.json(&Moved {
            format: FORMAT,
            from,
            to,
            keys: keys.iter().map(ToString::to_string).collect(),
            changed: moved.changed,
            dependents: moved.loosened.iter().map(ToString::to_string).collect(),
            users: moved.users.iter().map(ToString::to_string).collect(),
        });
        return Ok(Status::Done);
    }
    if !moved.changed {
        app.ui.say(&text::line(&format!("{names} were moved to {to} before; nothing was changed.")));
        return Ok(Status::Done);
    }
    app.ui.say(&text::line(&format!("Moved {names} from {from} to {to}.")));
    if !moved.users.is_empty() {
        let named = |urn| {
            format!(
                "{} of {}",
                key(urn),
                Environment::of_urn(urn).map(|of| of.to_string()).unwrap_or_default()
            )
        };
        let names = moved.users.iter().map(named).collect::<Vec<_>>().join(", ");
        app.ui.note(&format!("{names} followed: what they use is in {to} now"));
    }
    if !moved.loosened.is_empty() {
        let names = moved.loosened.iter().map(key).collect::<Vec<_>>().join(", ");
        app.ui.note(&format!(
            "{names} depended on them; the next `purlin up` compares these with the documents"
        ));
    }
    app.ui
        .hint("move them in the documents too; `purlin plan` of both environments shows whether they match");
    Ok(Status::Done)
}

/// The environment to move to.
fn target(args: &Args, from: &Environment) -> Result<Environment, Failure> {
    let part = |given: &Option<String>, same: &std::sync::Arc<str>| {
        given.as_deref().map_or(same.clone(), Into::into)
    };
    let to = Environment {
        org: part(&args.to_org, &from.org),
        app: part(&args.to_app, &from.app),
        env: part(&args.to_env, &from.env),
    };
    if to == *from {
        return Err(Failure::input(format!("the resources are in {from} already"))
            .hint("`--to-app` and `--to-env` name another application and environment"));
    }
    Ok(to)
}

/// The keys that the names stand for, in either environment: an interrupted move is run again.
fn keys(names: &[String], from: &Environment, snapshots: &[&Snapshot]) -> Result<Vec<Key>, Failure> {
    let records = snapshots.iter().flat_map(|snapshot| &snapshot.records);
    let known: BTreeSet<Key> = records.filter_map(|record| record.urn.key()).collect();
    let mut keys = BTreeSet::new();
    for name in names {
        let key =
            engine::find(name, &known).map_err(|wrong| naming::unrecorded(&wrong, &from.to_string()))?;
        keys.insert(key.clone());
    }
    Ok(keys.into_iter().collect())
}
