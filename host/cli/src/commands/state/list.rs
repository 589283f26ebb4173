//! `purlin state list`

use comfy_table::{ContentArrangement, Table, presets};
use purlin_host::state::{Record, Status as RecordStatus};
use serde::Serialize;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::FORMAT;
use crate::text;

/// List the resources that are recorded in an environment.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state list
  purlin state list --all
  purlin state list --format json | jq -r '.resources[].urn'

With `--format json`:
  {\"format\": 1, \"resources\": [{\"urn\", \"key\", \"status\", \"driver\", \"provider_id\",
                               \"dependencies\"}]}")]
pub(super) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Of every environment that the state knows.
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct Report {
    format: u8,
    resources: Vec<Resource>,
}

#[derive(Serialize)]
struct Resource {
    urn: String,
    key: String,
    status: &'static str,
    driver: String,
    provider_id: String,
    dependencies: Vec<String>,
}

/// The word for a record's status.
pub(super) fn status(record: &Record) -> &'static str {
    match record.status {
        RecordStatus::Ready => "ready",
        RecordStatus::Partial { .. } => "partial",
    }
}

fn resource(record: &Record) -> Resource {
    Resource {
        urn: record.urn.to_string(),
        key: record.urn.key().map(|key| key.to_string()).unwrap_or_default(),
        status: status(record),
        driver: format!("{}@{}", record.driver.name, record.driver.version),
        provider_id: record.state.id.clone(),
        dependencies: record.dependencies.iter().map(ToString::to_string).collect(),
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place(&args.documents, app).await?;
    let fail = |error| Failure::host(error, &purlin_host::documents::SourceMap::default());
    let environments =
        if args.all { place.purlin.environments().await.map_err(fail)? } else { vec![place.environment()] };
    let mut all = Vec::new();
    for environment in &environments {
        all.push((environment, place.purlin.records(environment).await.map_err(fail)?));
    }
    match args.format.format {
        Format::Json => {
            let resources = all.iter().flat_map(|(_, records)| records).map(resource).collect();
            app.ui.json(&Report { format: FORMAT, resources });
        }
        Format::Text => {
            for (environment, records) in &all {
                if args.all {
                    app.ui.data(&format!("{environment}\n"));
                }
                if !records.is_empty() {
                    app.ui.data(&table(records, app.ui.columns()));
                }
            }
            if all.iter().all(|(_, records)| records.is_empty()) {
                app.ui.say("Nothing is recorded.");
                input::hint_at_others(&place, app).await?;
            }
        }
    }
    place.purlin.close().await.map_err(fail)?;
    Ok(Status::Done)
}

fn table(records: &[Record], columns: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["KEY", "STATUS", "DRIVER", "PROVIDER ID"]);
    if let Some(width) = columns.and_then(|columns| u16::try_from(columns).ok()) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for record in records {
        let resource = resource(record);
        table.add_row(
            [&resource.key, resource.status, &resource.driver, &resource.provider_id]
                .map(|cell| text::line(cell).into_owned()),
        );
    }
    lines(&table)
}

/// A table as lines without blanks at their ends.
pub(in crate::commands) fn lines(table: &Table) -> String {
    let mut out = String::new();
    for line in table.to_string().lines() {
        // Every cell is padded, the first one too.
        let line = line.strip_prefix(' ').unwrap_or(line);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
