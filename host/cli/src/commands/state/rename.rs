//! `purlin state rename`

use purlin_state::Environment;

use super::subject::{self, Subject};
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::report::state::{Edited, NamedResource, key};
use crate::text;

/// Rename a resource and every reference to it.
///
/// Use this if the name of a resource has changed in the documents; otherwise the next `up` would delete
/// it and create a new one. Documents can do the same, with `lifecycle.aliases`. No driver is called, and
/// the real resource does not change.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state rename postgres#modules.web.externals.db postgres#modules.web.externals.main
  purlin state rename postgres#shared.db postgres.large#shared.db

With `--format json`:
  {\"format\": 1, \"edit\": \"rename\", \"urn\", \"key\", \"changed\", \"to\": {\"urn\", \"key\"},
   \"dependents\": [urn]}")]
pub(super) struct Args {
    /// The resource: a key (TYPE[.CLASS]#ID), or a URN of any environment.
    #[arg(value_name = "OLD")]
    old: String,

    /// The new name: a key, or a URN of the same environment.
    #[arg(value_name = "NEW")]
    new: String,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let subject = subject::find(&args.old, &args.place, app).await?;
    let new = subject::urn(&args.new, &subject.context())?;
    let Subject { urn: old, environment, snapshot, .. } = &subject;
    if Environment::of_urn(&new).is_none_or(|other| other != *environment) {
        return Err(Failure::input(format!("`{new}` is in a different environment from `{}`", key(old)))
            .hint("`purlin state move` moves a resource to another environment"));
    }
    let changed = match new == *old {
        true => 0,
        false => subject.edit(async |session| session.rename(old, &new).await).await?,
    };
    let mut dependents: Vec<String> = snapshot
        .records
        .iter()
        .filter(|record| record.urn != *old && record.dependencies.contains(old))
        .map(|record| record.urn.to_string())
        .collect();
    dependents.dedup();
    match args.format.format {
        Format::Text if changed == 0 => app.ui.say("It already has this name; nothing was changed."),
        Format::Text => {
            let (old, new) = (key(old), key(&new));
            let also = match dependents.len() {
                0 => String::new(),
                1 => ", and in the 1 resource that depends on it".to_owned(),
                several => format!(", and in the {several} resources that depend on it"),
            };
            app.ui.say(&text::line(&format!("Renamed `{old}` to `{new}`{also}.")));
            app.ui.hint("`purlin plan` shows whether the documents use the new name");
        }
        Format::Json => app.ui.json(&Edited {
            to: Some(NamedResource::new(&new)),
            dependents: Some(dependents),
            ..Edited::new("rename", old, changed > 0)
        }),
    }
    Ok(Status::Done)
}
