//! `purlin schema`

use purlin_documents::{SchemaKind, schema};

use crate::app::App;
use crate::failure::{Failure, Status};

/// Print the JSON Schema of a kind of document, for editors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin schema definition > definition.schema.json
  purlin schema workspace

In an editor with the YAML language server, name the schema in the first line of a document:
  # yaml-language-server: $schema=definition.schema.json")]
pub(crate) struct Args {
    /// The kind of document.
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: String,
}

fn kinds() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(SchemaKind::ALL.iter().map(|kind| kind.name()))
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let kind = SchemaKind::from_name(&args.kind)
        .ok_or_else(|| Failure::input(format!("there is no document kind `{}`", args.kind)))?;
    app.ui.json(&schema(kind));
    Ok(Status::Done)
}
