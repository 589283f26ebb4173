//! `purlin schema`

use purlin_host::documents::{SchemaKind, schema};

use crate::app::App;
use crate::failure::{Failure, Status};

/// Print the JSON Schema of a kind of document, for editors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin schema definition > definition.schema.json
  purlin schema workspace

In an editor that knows the YAML language server, the first line of a document names its schema:
  # yaml-language-server: $schema=definition.schema.json")]
pub(crate) struct Args {
    /// Which kind.
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: String,
}

fn kinds() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(SchemaKind::ALL.map(|(name, _)| name))
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let kind = SchemaKind::from_name(&args.kind)
        .ok_or_else(|| Failure::input(format!("there is no kind of document `{}`", args.kind)))?;
    app.ui.json(&schema(kind));
    Ok(Status::Done)
}
