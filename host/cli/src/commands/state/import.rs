//! `purlin state import`

use std::path::PathBuf;

use purlin_state as state;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::state::Transfer;
use crate::text;

/// Import a file that `purlin state export` wrote.
///
/// The file names its environment. Real resources may have changed since it was written, so the next
/// `purlin up` reads all resources before it plans. This command calls no driver.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state import dev.purlin
  purlin state import dev.purlin --replace    replace the existing record

With `--format json`:
  {\"format\": 1, \"file\", \"environment\": {\"org\", \"app\", \"env\"}, \"resources\"}")]
pub(super) struct Args {
    /// The file to import.
    #[arg(value_name = "FILE")]
    exported: PathBuf,

    /// Replace the existing record of the environment, which is lost.
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

impl Args {
    /// The part of the environment's name on the command line that differs from the file.
    fn other(&self, environment: &state::Environment) -> Option<String> {
        let context = &self.place.context;
        let named = [
            ("environment", &context.env, &environment.env),
            ("application", &context.app, &environment.app),
            ("organization", &context.org, &environment.org),
        ];
        let other =
            named.into_iter().find(|(_, named, is)| named.as_ref().is_some_and(|named| **named != ***is));
        other.map(|(kind, named, _)| {
            format!("the {kind} `{}`", text::line(named.as_deref().unwrap_or_default()))
        })
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let path = text::path(&args.exported);
    if !args.exported.is_file() {
        return Err(Failure::input(format!("there is no file `{path}`"))
            .hint("`purlin state export FILE` writes one"));
    }
    let export = state::Export::read(&args.exported).map_err(|error| failure(error.into()))?;
    if let Some(other) = args.other(export.environment()) {
        return Err(Failure::input(format!(
            "`{path}` is an export of {}, not of {other}",
            export.environment()
        ))
        .hint("the file names its environment; leave out `--env`, `--app` and `--org`"));
    }
    let workspace = input::workspace(&input::load(&args.place.documents(), app)?, app);
    let purlin = input::orchestrator(&workspace, app)?;
    let (environment, resources) = (export.environment().clone(), export.records());
    purlin.import_state(export, args.replace).await.map_err(failure)?;
    super::super::deploy::close(purlin, app).await?;
    match args.format.format {
        Format::Json => app.ui.json(&Transfer::new(&args.exported, &environment, resources)),
        Format::Text => {
            app.ui.say(&format!(
                "Recorded {environment} from `{path}`: {}.",
                text::count(resources, "resource")
            ));
            app.ui.hint("`purlin plan` shows how they differ from the real resources and from the documents");
        }
    }
    Ok(Status::Done)
}

fn failure(error: purlin_host::Error) -> Failure {
    match error {
        purlin_host::Error::State(error @ state::Error::Exists { .. }) => Failure::input(error.to_string())
            .hint("`--replace` replaces them with the content of the file; `purlin state export` saves them first"),
        purlin_host::Error::State(state::Error::WrongKey { expected, given, .. }) => Failure::input(format!(
            "the file is encrypted for `{expected}`, and the key of this state is `{given}`"
        ))
        .hint(format!("`purlin state export FILE --for {given}` writes one that this state can read")),
        purlin_host::Error::State(state::Error::Damaged { name, detail }) => {
            Failure::input(format!("`{}` cannot be read: {detail}", text::line(&name)))
        }
        error => Failure::without_sources(error),
    }
}
