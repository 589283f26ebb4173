//! `purlin driver list`

use comfy_table::{ContentArrangement, Table, presets};
use purlin_host::{DriverOrigin, ListedDriver};
use serde::Serialize;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::FORMAT;
use crate::text;

/// List the available drivers: the built-in ones, and those of the workspace.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct DriverListReport {
    format: u8,
    drivers: Vec<Driver>,
}

#[derive(Serialize)]
struct Driver {
    name: String,
    aliases: Vec<String>,
    /// `built-in`, or the file, folder or reference of the driver.
    origin: String,
    versions: Vec<Version>,
    /// Whether the lock file approves the components in use; absent for built-in drivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<bool>,
    /// Components next to those in use that the lock file does not approve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Version {
    version: String,
    digest: String,
}

fn driver(info: ListedDriver) -> Driver {
    let (versions, error) = match info.versions {
        Ok(versions) => (versions, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    Driver {
        name: info.name,
        aliases: info.aliases,
        origin: match info.origin {
            DriverOrigin::BuiltIn => "built-in".to_owned(),
            DriverOrigin::Path(path) => path.display().to_string(),
            DriverOrigin::Oci(reference) => format!("oci://{reference}"),
        },
        versions: versions.into_iter().map(|(version, digest)| Version { version, digest }).collect(),
        pinned: info.pinned,
        skipped: info.skipped.iter().map(|file| text::path(file)).collect(),
        error,
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let place = input::place_as_written(&args.documents, app).await?;
    let drivers = app.timings.wait("load drivers", place.purlin.drivers()).await;
    let drivers = drivers.map_err(Failure::without_sources)?;
    let drivers: Vec<Driver> = drivers.into_iter().map(driver).collect();
    let wrong = drivers.iter().any(|driver| driver.error.is_some());
    match args.format.format {
        Format::Json => app.ui.json(&DriverListReport { format: FORMAT, drivers }),
        Format::Text => app.ui.data(&table(&drivers, app.ui.columns())),
    }
    Ok(if wrong { Status::Failed } else { Status::Done })
}

fn table(drivers: &[Driver], columns: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["DRIVER", "VERSION", "FROM", "LOCK", "ALIASES"]);
    if let Some(width) = columns.and_then(|columns| u16::try_from(columns).ok()) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for driver in drivers {
        let versions: Vec<&str> = driver.versions.iter().map(|version| version.version.as_str()).collect();
        let versions =
            driver.error.as_ref().map_or_else(|| versions.join(", "), |error| format!("unusable: {error}"));
        table.add_row(
            [&driver.name, &versions, &driver.origin, &lock(driver), &driver.aliases.join(", ")]
                .map(|cell| text::line(cell).into_owned()),
        );
    }
    lines(&table)
}

/// The driver's status in the lock file.
fn lock(driver: &Driver) -> String {
    match (driver.pinned, driver.skipped.as_slice()) {
        (None, _) => String::new(),
        (Some(false), _) => "not pinned".to_owned(),
        (Some(true), []) => "pinned".to_owned(),
        (Some(true), files) => format!("pinned, but for {}", files.join(", ")),
    }
}

/// A table as lines without trailing spaces.
fn lines(table: &Table) -> String {
    let mut out = String::new();
    for line in table.to_string().lines() {
        // Every cell is padded, including the first.
        let line = line.strip_prefix(' ').unwrap_or(line);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
