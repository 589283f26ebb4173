//! `purlin state repair`

use purlin_host::Purlin;
use purlin_host::state::Report as HostReport;
use serde::Serialize;

use super::subject;
use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status, chain};
use crate::input;
use crate::report::FORMAT;
use crate::style::{DELETE, GOOD, paint};
use crate::text;

/// Look whether the state is whole, and put right what is not.
///
/// Everything is kept twice: in an index, and in the journal it was made from. Where one of them
/// is damaged it is made anew from the other. What reads in neither is named, and left out. The
/// old files are moved aside, into `stale/` in the state's folder; nothing is thrown away.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state repair --check    only look: status 1 where something is wrong
  purlin state repair

With `--format json`:
  {\"format\": 1, \"whole\", \"repaired\", \"findings\": […], \"lost\": […], \"moved\": […], \"records\"}")]
pub(super) struct Args {
    /// Only look; nothing is changed. Ends with status 1 where something is wrong.
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Debug, Serialize)]
struct Report {
    format: u8,
    /// Whether nothing is wrong, or was.
    whole: bool,
    /// Whether something was put right.
    repaired: bool,
    findings: Vec<String>,
    lost: Vec<String>,
    /// Where the old files lie.
    moved: Vec<String>,
    /// How many resources are recorded, in all environments.
    records: usize,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    // What the documents say is of no interest, and whether they are right: the state may be what
    // keeps anybody from finding out.
    let workspace = input::workspace(&input::load(&args.place.documents(), app)?, app);
    let purlin = input::orchestrator(&workspace, app)?;
    let folder = text::path(purlin.state_folder());
    if !purlin.state_folder().exists() {
        return Err(Failure::input(format!("there is no state in `{folder}`"))
            .hint("`--state DIR` names another folder"));
    }
    let found = purlin.verify_state(!args.check).map_err(subject::failure)?;
    let contradictions =
        if found.findings.is_empty() || !args.check { contradictions(&purlin).await } else { Vec::new() };
    purlin.close().await.map_err(subject::failure)?;
    let report = report(found, contradictions, args.check);
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            app.ui.data(&render(&report, &folder));
            if !report.whole && args.check {
                app.ui.hint("`purlin state repair` puts right what can be");
            }
            if !report.lost.is_empty() {
                app.ui.hint(
                    "what was lost still exists: `purlin import` takes it in again, before `purlin up` makes it twice",
                );
            }
        }
    }
    let good = report.whole || report.repaired && report.lost.is_empty();
    Ok(if good { Status::Done } else { Status::Failed })
}

/// What the records of an environment say against each other.
async fn contradictions(purlin: &Purlin) -> Vec<String> {
    let environments = match purlin.environments().await {
        Ok(environments) => environments,
        Err(error) => return vec![chain(error.to_string(), std::error::Error::source(&error))],
    };
    let mut found = Vec::new();
    for environment in environments {
        if let Err(error) = purlin.base(&environment).await {
            found.push(format!(
                "{environment}: {}",
                chain(error.to_string(), std::error::Error::source(&error))
            ));
        }
    }
    found
}

fn report(found: HostReport, contradictions: Vec<String>, check: bool) -> Report {
    let sound = contradictions.is_empty();
    let whole = found.is_whole() && sound;
    Report {
        format: FORMAT,
        whole,
        repaired: !whole && !check && sound,
        findings: found.findings.into_iter().chain(contradictions).collect(),
        lost: found.lost,
        moved: found.moved.iter().map(|path| path.display().to_string()).collect(),
        records: found.records,
    }
}

fn render(report: &Report, folder: &str) -> String {
    let records = text::count(report.records, "resource");
    if report.whole {
        return format!("{} The state in `{folder}` is whole: {records}.\n", paint(GOOD, "ok"));
    }
    let mut out = String::new();
    for finding in &report.findings {
        out.push_str(&format!("{} {}\n", paint(DELETE, "wrong:"), text::line(finding)));
    }
    for lost in &report.lost {
        out.push_str(&format!("{} {}\n", paint(DELETE, "lost:"), text::line(lost)));
    }
    for moved in &report.moved {
        out.push_str(&format!("moved: the old files lie in `{}`\n", text::line(moved)));
    }
    if report.repaired {
        out.push_str(&format!("{} The state in `{folder}` was repaired: {records}.\n", paint(GOOD, "ok")));
    }
    out
}
