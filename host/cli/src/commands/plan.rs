//! `purlin plan`

use purlin_host::engine::PlanOptions;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render::plan::{Look, render};
use crate::report;
use crate::ui::Level;

/// Show what `up` would do; nothing is changed.
///
/// Compares the documents with what is recorded. Values that only exist once something is
/// provisioned are shown as `(known after apply)`, secrets as `[secret]`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin plan
  purlin plan --verbose              every change in full
  purlin plan --detailed-exitcode    for scripts: 0 nothing to do, 3 changes
  purlin plan --offline              without the drivers

With `--format json`:
  {\"format\": 1,
   \"steps\": [{\"key\", \"urn\", \"action\", \"reasons\", \"changes\": [{\"path\", \"before\", \"after\",
             \"unknown\", \"secret\", \"replaces\"}]}],
   \"summary\": {\"create\", \"update\", \"replace\", \"delete\", \"none\"}}")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Exit with status 3 when there is something to do.
    #[arg(long)]
    detailed_exitcode: bool,

    /// Ask no driver: inputs are not checked, and missing drivers do not matter.
    #[arg(long)]
    offline: bool,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let given = input::given(&args.documents, app)?;
    let purlin = input::orchestrator(&given.workspace, app)?;
    let options = PlanOptions { offline: args.offline, ..PlanOptions::default() };
    let plan = app.timings.wait("plan", purlin.plan(&given.documents, options)).await;
    let plan = plan.map_err(|error| given.failure(error))?;
    let report = report::plan::Plan::new(&plan);
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            let look = Look { columns: app.ui.columns(), everything: app.ui.level >= Level::Verbose };
            app.ui.data(&render(&report, look));
        }
    }
    drop(plan);
    purlin.close().await.map_err(|error| given.failure(error))?;
    let changes = report.summary.changes() > 0;
    Ok(if changes && args.detailed_exitcode { Status::Changes } else { Status::Done })
}
