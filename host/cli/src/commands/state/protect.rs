//! `purlin state protect`

use super::subject::{self, Subject};
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::report::state::{Edited, key};
use crate::text;

/// Protect a resource from deletion and replacement, whatever the documents say.
///
/// This is separate from `lifecycle.protect` in documents: either one protects, and `--off` removes only
/// the protection that this command set.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state protect postgres#modules.web.externals.db
  purlin state protect postgres#modules.web.externals.db --off

With `--format json`; `edit` is `protect` or `unprotect`:
  {\"format\": 1, \"edit\", \"urn\", \"key\", \"changed\"}")]
pub(super) struct Args {
    /// The resource: a key (TYPE[.CLASS]#ID), or a URN of any environment.
    #[arg(value_name = "KEY|URN")]
    resource: String,

    /// Remove the protection.
    #[arg(long)]
    off: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let subject = subject::find(&args.resource, &args.place, app).await?;
    let Subject { urn, snapshot, .. } = &subject;
    let changed = subject.edit(async |session| session.protect(urn, !args.off).await).await? > 0;
    if args.format.format == Format::Json {
        let edit = if args.off { "unprotect" } else { "protect" };
        app.ui.json(&Edited::new(edit, urn, changed));
        return Ok(Status::Done);
    }
    let name = text::line(&key(urn)).into_owned();
    app.ui.say(&match (changed, args.off) {
        (true, false) => {
            format!("`{name}` is protected: it is not deleted until `--off` removes the protection.")
        }
        (true, true) => format!("Removed the manual protection from `{name}`."),
        (false, false) => format!("`{name}` is already protected; nothing was changed."),
        (false, true) => format!("`{name}` had no manual protection; nothing was changed."),
    });
    if args.off && snapshot.records.iter().any(|record| record.urn == *urn && record.protect) {
        app.ui.note("the documents still protect it: `lifecycle.protect`, in the last deployment");
    }
    Ok(Status::Done)
}
