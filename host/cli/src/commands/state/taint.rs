//! `purlin state taint`

use super::subject::{self, Subject};
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::report::state::{Edited, key};
use crate::text;

/// Mark a resource for replacement on the next `up`, or remove the mark.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state taint postgres#modules.web.externals.db
  purlin state taint postgres#modules.web.externals.db --off

With `--format json`; `edit` is `taint` or `untaint`:
  {\"format\": 1, \"edit\", \"urn\", \"key\", \"changed\"}")]
pub(super) struct Args {
    /// The resource: a key (TYPE[.CLASS]#ID), or a URN of any environment.
    #[arg(value_name = "KEY|URN")]
    resource: String,

    /// Remove the mark.
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
    let name = text::line(&key(urn)).into_owned();
    let current = snapshot.records.iter().find(|record| record.urn == *urn && record.superseded.is_none());
    if current.is_some_and(|record| record.external) && !args.off {
        return Err(Failure::input(format!("`{name}` is only observed, so it cannot be replaced")));
    }
    let changed = subject.edit(async |session| session.taint(urn, !args.off).await).await? > 0;
    if args.format.format == Format::Json {
        let edit = if args.off { "untaint" } else { "taint" };
        app.ui.json(&Edited::new(edit, urn, changed));
        return Ok(Status::Done);
    }
    app.ui.say(&match (changed, args.off) {
        (true, false) => format!("Marked `{name}` for replacement on the next `purlin up`."),
        (true, true) => format!("Unmarked `{name}`."),
        (false, false) => format!("`{name}` is already marked; nothing was changed."),
        (false, true) => format!("`{name}` was not marked; nothing was changed."),
    });
    if current.is_some_and(|record| record.protect || record.pinned) && !args.off {
        app.ui.note("it is protected, so `up` does not replace it until the protection is removed");
    }
    Ok(Status::Done)
}
