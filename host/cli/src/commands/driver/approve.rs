//! `purlin driver approve`

use purlin_host::ApprovalChange;
use purlin_model::Workspace;
use serde::Serialize;

use super::WorkspaceArg;
use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::report::FORMAT;
use crate::style::{CREATE, DELETE, STRONG, paint};
use crate::{files, input, text};

/// Approve third-party drivers as they are now.
///
/// Writes purlin.lock beside purlin.yaml: version, digest, imports, requested access and grants of every
/// third-party driver. While the file exists, Purlin uses nothing else: it rejects another build, one
/// that requests more, or one with more grants before calling it. Shows the differences from the present
/// file, and does not ask for confirmation.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin driver inspect acme/postgres    inspect it
  purlin driver approve acme/postgres    approve it as it is
  purlin driver approve --check          check that everything is approved, for CI

Exit status: 0 success; 1 `--check` found something that is not approved; 2 a driver does not
exist or is not a driver.")]
pub(crate) struct Args {
    /// The drivers to approve [default: all third-party drivers].
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Only check whether everything is approved.
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    workspace: WorkspaceArg,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct ApprovalReport {
    format: u8,
    /// The path of the lock file.
    lock: String,
    /// Whether the file was written.
    written: bool,
    /// Whether everything was approved before.
    approved: bool,
    changes: Vec<ApprovalChange>,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let Some((workspace, sources)) = args.workspace.read(app)? else {
        return Err(Failure::input(
            "there is no purlin.yaml in this folder or above it, so there is no driver to approve",
        )
        .hint("`--file FILE` names one"));
    };
    // Inspecting drivers needs no key.
    let purlin = input::orchestrator(&Workspace { key: None, ..workspace }, app)?;
    let approval = app.timings.wait("ask drivers", purlin.approval(&args.names)).await;
    let approval = approval.map_err(|error| Failure::host(error, &sources))?;
    let approved = approval.is_approved();
    let path = text::path(&approval.path);
    // Without a driver to approve, do not create a lock file.
    let written = !args.check && !approval.changes.is_empty();
    if written {
        files::write(&approval.path, &approval.text)
            .map_err(|error| Failure::caused(format!("cannot write `{path}`"), &error))?;
    }
    let changed = !approval.changes.is_empty();
    match args.format.format {
        Format::Json => {
            let (lock, changes) = (path.clone(), approval.changes);
            app.ui.json(&ApprovalReport { format: FORMAT, lock, written, approved, changes });
        }
        Format::Text => app.ui.data(&render(&approval.changes)),
    }
    match (args.check, changed) {
        (false, true) => app.ui.say(&format!("Wrote `{path}`; keep it together with purlin.yaml.")),
        (false, false) => app.ui.say("Nothing to approve: nothing changed."),
        (true, _) if approved => app.ui.say("Everything is approved."),
        (true, _) => {
            app.ui.error("not everything is approved");
            app.ui.hint("`purlin driver inspect NAME` shows what a driver is, and `purlin driver approve` approves it");
            return Ok(Status::Failed);
        }
    }
    Ok(Status::Done)
}

fn render(changes: &[ApprovalChange]) -> String {
    let mut out = String::new();
    for change in changes {
        let title = format!("{} {}", change.driver, change.version);
        out.push_str(&format!("{}\n", paint(STRONG, text::line(&title))));
        let lines = change.removed.iter().map(|line| (DELETE, '-', line));
        for (style, sign, line) in lines.chain(change.added.iter().map(|line| (CREATE, '+', line))) {
            out.push_str(&format!("  {}\n", paint(style, format!("{sign} {}", text::line(line)))));
        }
    }
    out
}
