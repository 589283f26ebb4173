//! `purlin outputs`

use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::FORMAT;
use crate::text;

/// Show what a deployment came to: the workloads' documents and the outputs of every resource.
///
/// From the record alone; documents only say which environment it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin outputs
  purlin outputs --format json | jq '.resources[\"dns.default#shared.web\"].host'

With `--format json`, and in YAML without it; secrets read \"[secret]\":
  {\"format\": 1, \"workloads\": {NAME: {\"metadata\", \"spec\"}}, \"resources\": {KEY: {…}}}")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Show secrets in clear.
    #[arg(long)]
    show_secrets: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct Report {
    format: u8,
    workloads: Map<String, Json>,
    resources: Map<String, Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place(&args.documents, app).await?;
    let fail = |error| Failure::host(error, &purlin_host::documents::SourceMap::default());
    let records = place.purlin.records(&place.environment()).await.map_err(fail)?;
    if records.is_empty() {
        app.ui.note(&format!("nothing is recorded in {}", place.environment()));
        input::hint_at_others(&place, app).await?;
    }
    let outputs = purlin_host::outputs(&records);
    let mut report =
        Report { format: FORMAT, workloads: Map::new(), resources: Map::new(), errors: Vec::new() };
    for (name, document) in &outputs.workloads {
        match document {
            Ok(document) => {
                report.workloads.insert(name.clone(), render::value::json(document, args.show_secrets));
            }
            Err(error) => report.errors.push(error.to_string()),
        }
    }
    for (key, outputs) in &outputs.resources {
        report.resources.insert(key.to_string(), render::value::json(outputs, args.show_secrets));
    }
    let wrong = !report.errors.is_empty();
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            report.errors.iter().for_each(|error| app.ui.error(error));
            let document = serde_json::json!({"workloads": report.workloads, "resources": report.resources});
            app.ui.data(&text::block(&render::value::yaml(&document)?));
        }
    }
    place.purlin.close().await.map_err(fail)?;
    Ok(if wrong { Status::Failed } else { Status::Done })
}
