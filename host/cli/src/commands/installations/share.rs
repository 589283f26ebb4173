//! `purlin installations share`

use std::sync::Arc;

use purlin_host::InstallationState;
use purlin_requirements::LIST_OF_INSTALLATIONS;

use super::id;
use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::report::state::Edited;
use crate::text;

/// Change who may share an installation.
///
/// Calls no driver. Current users keep the installation. Purlin ignores the sharing settings of its
/// documents until `--as-written`; then the next `up` records them again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin installations share dev/db --group app-db
  purlin installations share /db --nobody
  purlin installations share dev/db --as-written

With `--format json`; `edit` is `share`:
  {\"format\": 1, \"edit\", \"urn\", \"key\", \"changed\"}")]
pub(super) struct Args {
    /// The installation: NAMESPACE/NAME, `/NAME` in the global namespace, or its URN.
    #[arg(value_name = "INSTALLATION")]
    installation: String,

    /// Share it in this group; the empty group is a group too.
    #[arg(long, value_name = "GROUP", required_unless_present_any = ["nobody", "as_written"])]
    group: Option<String>,

    /// Do not share it with any new users.
    #[arg(long, conflicts_with = "group")]
    nobody: bool,

    /// Restore the sharing settings of its documents.
    #[arg(long, conflicts_with_all = ["group", "nobody"])]
    as_written: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let purlin = input::state_of_all(app)?;
    let all = purlin.installations().await.map_err(Failure::without_sources)?;
    let one = find(&args.installation, &all)?;
    let session = purlin.begin_held(&one.environment).await.map_err(Failure::without_sources)?;
    let group = args.group.as_deref().map(Arc::from);
    let changed =
        session.share(&one.listed.urn, group, !args.as_written).await.map_err(Failure::without_sources)? > 0;
    session.release().await.map_err(Failure::without_sources)?;
    purlin.close().await.map_err(Failure::without_sources)?;
    if args.format.format == Format::Json {
        app.ui.json(&Edited::new("share", &one.listed.urn, changed));
        return Ok(Status::Done);
    }
    let name = id(one);
    let name = text::line(&name);
    app.ui.say(&match (&args.group, args.as_written, changed) {
        (_, _, false) => format!("`{name}` is already shared in this way; nothing changed."),
        (Some(group), ..) => format!("`{name}` is shared in the group `{}` now.", text::line(group)),
        (None, true, _) => format!("The next `purlin up` shares `{name}` as its documents say."),
        (None, false, _) => format!("`{name}` is no longer shared with new users."),
    });
    if !one.users.is_empty() && !args.as_written {
        let users = text::count(one.users.len(), "resource");
        app.ui.note(&format!("{users} of other environments already use it and keep it"));
    }
    Ok(Status::Done)
}

fn find<'a>(name: &str, all: &'a [InstallationState]) -> Result<&'a InstallationState, Failure> {
    let shown = text::line(name);
    let mut found = all.iter().filter(|one| id(one) == name || one.listed.urn.as_str() == name);
    let Some(one) = found.next() else {
        let failure = Failure::input(format!("there is no installation `{shown}`"));
        let ids: Vec<String> = all.iter().map(id).collect();
        return Err(naming::suggest(failure, name, ids.iter().map(String::as_str), LIST_OF_INSTALLATIONS));
    };
    match found.next() {
        None => Ok(one),
        Some(other) => Err(Failure::input(format!(
            "`{shown}` is the name of two installations: in {} and in {}",
            one.environment, other.environment
        ))
        .hint("name it by its URN; `purlin installations list --format json` shows it")),
    }
}
