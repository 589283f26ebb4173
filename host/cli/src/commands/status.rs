//! `purlin status`

use std::time::Duration;

use purlin_host::Purlin;
use purlin_state::Environment;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report::status::StatusReport;
use crate::surroundings;
use crate::ui::Level;

/// How often `--watch` updates.
const EVERY: Duration = Duration::from_secs(1);

/// Show the status of each resource: ready, waiting and for what, failed and why.
///
/// Reads only the record: the results of the last `up`, `reconcile` or `refresh`. Beyond 40 resources,
/// those that are ready with all their dependencies are only counted; `--verbose` shows them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin status
  purlin status --watch            beside `purlin reconcile --watch`
  purlin status --format json | jq -r '.resources[] | select(.status != \"ready\") | .key'

The status of a resource is the worst of its conditions ReferencesResolved, Synced and Ready:
`ready`, `waiting`, `failed`, `drifted`, `incomplete`, `interrupted`, `missing`, `needs-consent`,
`not-ready` or `paused`.

With `--format json`; with `--watch`, one line each time something changes:
  {\"format\": 1, \"environment\": {\"org\", \"app\", \"env\"},
   \"deployment\": {\"number\", \"outcome\", \"user\", \"at\"}, \"summary\": {STATUS: count},
   \"rejected\": {\"since\", \"message\", \"faults\"}, \"locked_by\",
   \"resources\": [{\"key\", \"urn\", \"status\", \"obstacle\", \"dependencies\", \"driver\", \"provider_id\",
     \"conditions\": [{\"type\", \"status\", \"reason\", \"message\", \"since\"}]}]}")]
pub(crate) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    /// Update every second, until Ctrl-C.
    #[arg(short, long)]
    watch: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

impl Args {
    /// Whether the command runs until it is stopped.
    pub(super) fn watches(&self) -> bool {
        self.watch
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let fail = Failure::without_sources;
    if !args.watch {
        let place = input::place(&args.place.documents(), app).await?;
        let report = report_of(&place.purlin, &place.environment()).await.map_err(fail)?;
        match args.format.format {
            Format::Json => app.ui.json(&report),
            Format::Text if report.resources.is_empty() => {
                app.ui.say(&format!("Nothing is recorded in {}.", place.environment()));
                input::hint_at_others(&place, app).await?;
            }
            Format::Text => app.ui.data(&shown(&report, app, None)),
        }
        place.purlin.close().await.map_err(fail)?;
        return Ok(Status::Done);
    }
    // Find the place once, so that faults of the documents are reported once, too.
    let place = input::place_as_written(&args.place.documents(), app).await?;
    let environment = place.environment();
    let mut screen = Screen::new();
    let mut last: Option<StatusReport> = None;
    loop {
        let report = report_of(&place.purlin, &environment).await.map_err(fail)?;
        let changed = last.as_ref() != Some(&report);
        match args.format.format {
            Format::Json if changed => app.ui.json_line(&report),
            Format::Json => {}
            Format::Text => screen.show(&report, changed, app),
        }
        last = Some(report);
        tokio::time::sleep(EVERY).await;
    }
}

async fn report_of(purlin: &Purlin, environment: &Environment) -> Result<StatusReport, purlin_host::Error> {
    // In this order: a run that ends meanwhile leaves no call open that nobody is said to be making.
    let held = purlin.holder_of(environment).await?;
    let snapshot = purlin.snapshot(environment).await?;
    let history = purlin.history(environment).await?;
    let holder = held.as_ref().map(|held| &held.holder);
    Ok(StatusReport::new(environment, (&snapshot, holder), &history))
}

fn shown(report: &StatusReport, app: &App, rows: Option<usize>) -> String {
    let look = render::status::StatusView {
        columns: app.ui.columns(),
        rows,
        everything: app.ui.level >= Level::Verbose && rows.is_none(),
        now: surroundings::now(),
    };
    render::status::render(report, look)
}

/// The text on the terminal, which the next update overwrites.
struct Screen {
    lines: usize,
}

impl Screen {
    fn new() -> Self {
        Self { lines: 0 }
    }

    fn show(&mut self, report: &StatusReport, changed: bool, app: &App) {
        let Some(rows) = app.ui.rows() else {
            // Without a terminal, print only changes.
            if changed {
                app.ui.data(&format!("{}\n", shown(report, app, None).trim_end()));
            }
            return;
        };
        let text = shown(report, app, Some(rows.saturating_sub(2)));
        // Move to the first line, then clear to the end of the screen.
        let up = if self.lines > 0 { format!("\u{1b}[{}A", self.lines) } else { String::new() };
        self.lines = text.lines().count();
        app.ui.data(&format!("{up}\r\u{1b}[J{text}"));
    }
}
