//! `purlin state settle`

use purlin_state::{Operation, RecordId};

use super::subject::{self, Subject};
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::report::state::{Edited, key};
use crate::text;

/// Record the outcome of an interrupted call.
///
/// If a run is killed during a call, and the driver cannot tell afterwards whether the call succeeded,
/// Purlin leaves the resource alone until you settle it. Check whether it exists, and record the answer.
/// The next `purlin up` continues from there: it updates a resource that exists to match the documents,
/// and creates one that does not. No driver is called.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state settle postgres#shared.db --made pg-4711
  purlin state settle postgres#shared.db --not-made

With `--format json`:
  {\"format\": 1, \"edit\": \"settle\", \"urn\", \"key\", \"changed\"}")]
pub(super) struct Args {
    /// The resource: a key (TYPE[.CLASS]#ID), or a URN of any environment.
    #[arg(value_name = "KEY|URN")]
    resource: String,

    /// Record that it exists, with this provider id.
    #[arg(long, value_name = "ID", required_unless_present = "not_made")]
    made: Option<String>,

    /// Record that it does not exist.
    #[arg(long, conflicts_with = "made")]
    not_made: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let subject = subject::find(&args.resource, &args.place, app).await?;
    let Subject { urn, snapshot, .. } = &subject;
    let exists_as = args.made.as_deref();
    if exists_as.is_some_and(str::is_empty) {
        return Err(Failure::input("the id is empty").hint("write the driver's id of the resource"));
    }
    let name = text::line(&key(urn)).into_owned();
    let current = RecordId::current(urn.clone());
    let intent = snapshot.pending.iter().find(|intent| intent.id() == current);
    subject.edit(async |session| session.settle(urn, exists_as).await).await?;
    if args.format.format == Format::Json {
        app.ui.json(&Edited::new("settle", urn, true));
        return Ok(Status::Done);
    }
    let call = match intent.map(|intent| &intent.operation) {
        Some(Operation::Update(_)) => "update",
        Some(Operation::Delete(_)) => "deletion",
        _ => "creation",
    };
    app.ui.say(&match exists_as {
        Some(id) => format!("Settled the {call} of `{name}`: it exists as `{}`.", text::line(id)),
        None => format!("Settled the {call} of `{name}`: it does not exist."),
    });
    Ok(Status::Done)
}
