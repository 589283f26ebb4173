//! `purlin state repair`

use purlin_host::Purlin;
use purlin_model::Workspace;
use purlin_state as state;
use serde::Serialize;

use crate::app::App;
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::failure::{Failure, Status};
use crate::input;
use crate::report::FORMAT;
use crate::style::{DELETE, GOOD, paint};
use crate::text;

/// Check the state for damage and repair it.
///
/// A damaged environment is restored from its readable parts. Unreadable parts are reported and omitted;
/// the next `purlin up` then reads all resources before it plans. Copies of the old files are kept in
/// `stale/`; in a database, damaged entries move to the table `stale`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin state repair --check    only check: status 1 if something is wrong
  purlin state repair

With `--format json`:
  {\"format\": 1, \"intact\", \"repaired\", \"findings\": […], \"lost\": […], \"moved\": […], \"records\"}")]
pub(super) struct Args {
    /// Only check, without writing. Exits with status 1 if something is wrong.
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Debug, Serialize)]
struct RepairReport {
    format: u8,
    /// Whether nothing was wrong.
    intact: bool,
    /// Whether the state was damaged and could be repaired.
    repaired: bool,
    /// What was found, including contradictions between records.
    #[serde(flatten)]
    found: state::RepairReport,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    // Ignore faults of the documents: a damaged state may be the reason why the user cannot correct
    // them.
    let workspace = input::workspace(&input::load(&args.place.documents(), app)?, app);
    let purlin = input::orchestrator(&workspace, app)?;
    let place = place(&purlin, &workspace, app);
    if !purlin.has_state() {
        return Err(Failure::input(format!("there is no state in `{place}`"))
            .hint("`--state DIR` names another folder"));
    }
    let found = purlin.verify_state(!args.check).await.map_err(Failure::without_sources)?;
    let mut contradictions = Vec::new();
    let mut left = !args.check || found.findings.is_empty();
    if left {
        (contradictions, left) = contradicting(&purlin, !args.check).await;
    }
    purlin.close().await.map_err(Failure::without_sources)?;
    let report = report(found, contradictions, !args.check && !left);
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            app.ui.data(&render(&report, &place));
            if !report.intact && args.check {
                app.ui.hint("`purlin state repair` repairs what can be repaired");
            }
            if !report.found.lost.is_empty() && !args.check {
                app.ui.hint(
                    "resources whose records were lost still exist: adopt them with `purlin import`, before `purlin up` creates them again",
                );
            }
        }
    }
    let good = report.intact || report.repaired && report.found.lost.is_empty();
    Ok(if good { Status::Done } else { Status::Failed })
}

/// The place of the state: its folder, or the address of its database.
fn place(purlin: &Purlin, workspace: &Workspace, app: &App) -> String {
    match workspace.database.is_some() {
        true => text::line(&purlin.state_place()).into_owned(),
        false => text::path(&input::short(purlin.state_folder(), &app.folder)),
    }
}

/// Finds contradictions between records, and repairs them if `repair` is set. Returns the
/// contradictions, and whether any are left.
async fn contradicting(purlin: &Purlin, repair: bool) -> (Vec<String>, bool) {
    let environments = match purlin.environments().await {
        Ok(environments) => environments,
        Err(error) => return (vec![error.message()], true),
    };
    let (mut found, mut left) = (Vec::new(), false);
    for environment in environments {
        let Err(error) = purlin.base(&environment).await else { continue };
        found.push(format!("in {environment}: {}", error.message()));
        let repaired = match purlin.begin_held(&environment).await {
            Ok(session) if repair => session.repair_contradictions().await.map(drop),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = repaired {
            found.push(format!("in {environment}: {}", error.message()));
        }
        left |= purlin.base(&environment).await.is_err();
    }
    (found, left)
}

fn report(mut found: state::RepairReport, contradictions: Vec<String>, sound: bool) -> RepairReport {
    found.findings.extend(contradictions);
    let intact = found.is_whole();
    RepairReport { format: FORMAT, intact, repaired: !intact && sound, found }
}

fn render(report: &RepairReport, place: &str) -> String {
    let state::RepairReport { findings, lost, moved, records, .. } = &report.found;
    let records = text::count(*records, "resource");
    if report.intact {
        return format!("{} The state in `{place}` is intact: {records}.\n", paint(GOOD, "ok"));
    }
    let mut out = String::new();
    for finding in findings {
        out.push_str(&format!("{} {}\n", paint(DELETE, "wrong:"), text::line(finding)));
    }
    for lost in lost {
        out.push_str(&format!("{} {}\n", paint(DELETE, "lost:"), text::line(lost)));
    }
    for moved in moved {
        let moved = moved.display().to_string();
        out.push_str(&format!("kept: a copy of the old file is in `{}`\n", text::line(&moved)));
    }
    if report.repaired && !lost.is_empty() {
        out.push_str(&format!("The state in `{place}` contains what could be saved: {records}.\n"));
    } else if report.repaired {
        out.push_str(&format!("{} The state in `{place}` was repaired: {records}.\n", paint(GOOD, "ok")));
    }
    out
}
